// A call either succeeds or leaves the model unchanged.
//
// For a call that is large compared to the model the whole state is copied first. For a small one the coordinates it
// changes are logged as they change. Anything that touches every coordinate at once (a fold, the end of a smoothing block,
// a rebuild) turns the log into a copy first: such work is amortised, so the copy is too. A transaction that was
// never started stores nothing.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "odca/step/state.hpp"

namespace odca {

class Transaction {
 public:
  explicit Transaction(State& state) : state_(state) {}

  void begin(std::int64_t work) {
    // A copied coordinate costs a quarter of a logged one, the many parts of a state as much as some hundred coordinates.
    logging_ = 4 * work < state_.features + state_.buffer.stored() + 500;
    if (!logging_) {
      before_ = state_;
      return;
    }
    features_.clear();
    values_.clear();
    seen_.clear();
    moments_.clear();
    smooth_.clear();
    mark_.lane.clear();
    state_.lane.each_field([this](auto, auto& field) {
      for (const double x : field) mark_.lane.push_back(x);
    });
    mark_.features = state_.features;
    mark_.count = state_.count;
    mark_.clock = state_.clock;
    mark_.scale = state_.scaling.scale;
    mark_.kind = state_.scaling.kind;
    mark_.rough = state_.scaling.rough;
    mark_.smooth_mass = state_.smooth_mass;
    mark_.smooth_work = state_.smooth_work;
    mark_.evicted_work = state_.evicted_work;
    mark_.buffer = state_.buffer.mark();
    mark_.began_block = state_.timeline.now() > 0;
    if (mark_.began_block) state_.timeline.mark(mark_.timeline);
  }

  // To be called before the row's coordinates change.
  void about_to_change(const Row& row) {
    if (!logging_) return;
    const auto lanes = static_cast<std::size_t>(state_.lanes), size = static_cast<std::size_t>(row.size);
    const std::size_t logged = features_.size(), values = values_.size();
    features_.resize(logged + size);
    values_.resize(values + size * lanes * (state_.smoothing ? 2 : 1));
    std::int64_t* feature = features_.data() + logged;
    double* value = values_.data() + values;
    const std::size_t moments = moments_.size();
    if (state_.scaling.on) moments_.resize(moments + Scaling::sums_per_feature * size);
    double* moment = moments_.data() + moments;
    const double* const dual = state_.dual.data();
    row.each([&](std::int64_t j, double) {
      const std::size_t at = static_cast<std::size_t>(j) * lanes;
      *feature++ = j;
      for (std::size_t l = 0; l < lanes; ++l) *value++ = dual[at + l];
      if (state_.scaling.on) moment = std::copy_n(state_.scaling.of(j), Scaling::sums_per_feature, moment);
      if (!state_.smoothing) return;
      for (std::size_t l = 0; l < lanes; ++l) *value++ = state_.smooth[at + l];
      seen_.push_back(state_.seen[static_cast<std::size_t>(j)]);
    });
  }

  // To be called before all smoothed sums change at once, and before any of them has changed alone.
  void about_to_change_smoothed_sums() {
    if (logging_ && smooth_.empty()) smooth_ = state_.smooth;
  }

  // To be called before every coordinate changes, or the buffer is rearranged.
  void about_to_change_everything() {
    if (!logging_) return;
    before_ = state_;
    undo(before_);
    logging_ = false;
  }

  void commit() {
    state_.buffer.compact();
    end();
  }

  void roll_back() {
    if (logging_)
      undo(state_);
    else
      state_ = std::move(before_);
    end();
  }

  bool may_rearrange() const { return !logging_; }

 private:
  struct Mark {
    std::vector<double> lane;  // field by field
    std::int64_t features, smooth_work, evicted_work;
    std::uint64_t count;
    double clock, smooth_mass, scale;
    std::uint8_t kind, rough;
    EventBuffer::Mark buffer;
    bool began_block;  // whether the timeline was not empty
    Timeline::Mark timeline;
  };

  // Short logs keep their capacity for the next call.
  void end() {
    if (!logging_) before_ = State();
    logging_ = false;
    if (values_.capacity() <= 1 << 16) return;
    features_ = {}, values_ = {}, seen_ = {}, moments_ = {}, smooth_ = {};
  }

  void undo(State& state) const {
    const auto lanes = static_cast<std::size_t>(state.lanes);
    auto value = values_.end();
    auto moment = moments_.end();
    const auto put_back = [&](ModelVector& vector, std::int64_t j) {
      value -= static_cast<std::ptrdiff_t>(lanes);
      std::copy_n(value, lanes, vector.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(j) * lanes));
    };
    for (std::size_t k = features_.size(); k-- > 0;) {
      if (state.smoothing) {
        put_back(state.smooth, features_[k]);
        state.seen[static_cast<std::size_t>(features_[k])] = seen_[k];
      }
      if (state.scaling.on) {
        moment -= Scaling::sums_per_feature;
        std::copy_n(moment, Scaling::sums_per_feature, state.scaling.of(features_[k]));
      }
      put_back(state.dual, features_[k]);
    }
    if (!smooth_.empty()) state.smooth = smooth_;
    state.lane.each_field([marked = mark_.lane.begin()](auto, auto& field) mutable {
      for (double& x : field) x = *marked++;
    });
    state.count = mark_.count;
    state.clock = mark_.clock;
    state.scaling.scale = mark_.scale;
    state.scaling.kind = mark_.kind;
    state.scaling.rough = mark_.rough;
    state.smooth_mass = mark_.smooth_mass;
    state.smooth_work = mark_.smooth_work;
    state.evicted_work = mark_.evicted_work;
    state.buffer.rewind(mark_.buffer);
    if (mark_.began_block)
      state.timeline.rewind(mark_.timeline);
    else if (state.smoothing)
      state.timeline.clear();
    state.resize(mark_.features);
  }

  State& state_;
  bool logging_ = false;
  State before_;  // a copy, if not logging
  Mark mark_;     // if logging: the scalars, and
  std::vector<std::int64_t> features_;
  std::vector<double> values_, moments_;
  std::vector<Timeline::Position> seen_;  // the previous values, oldest first
  ModelVector smooth_;                    // all smoothed sums, if they change at once
};

}  // namespace odca
