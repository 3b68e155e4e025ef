// A model of events: names and model change together, or not at all.
//
// A call that learns holds the model's turn from its first name to its last event. New names are added once their events have been
// learned: none if the call fails, those of the learned events if it is interrupted. The same holds for the history. The learner (or the experts) is passed in with
// each call.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "odca/features/event_space.hpp"
#include "odca/math/batch.hpp"
#include "odca/sync/fair_mutex.hpp"

namespace odca {

class EventModel {
 public:
  // `fixed_features`: the number of features if it is fixed, otherwise 0.
  EventModel(text::FeatureOptions options, bool intercept, std::int64_t fixed_features)
      : space_(std::move(options), intercept, fixed_features), fixed_features_(fixed_features) {
    if (space_.options().need_the_past())
      history_ = std::make_unique<text::History>(space_.options(), space_.first_index());
  }

  text::EventSpace& space() { return space_; }
  const text::EventSpace& space() const { return space_; }

  // Null if no feature is one of the past.
  text::History* history() const { return history_.get(); }

  // The lock of a call that may add names, held until the model has learned them too.
  FairMutex& turn() { return turn_; }

  // The rows of the events of a call as a matrix, which lives as long as they do. They hold the intercept already.
  Batch batch(const text::EventReader& reader, const SparseRows& rows) const {
    Batch out;
    out.matrix = SparseMatrix<std::int32_t, double>{rows.start.data(), rows.index.data(), rows.value.data(),
                                                    static_cast<std::int64_t>(rows.index.size())};
    out.rows = rows.size();
    out.width = fixed_features_ ? fixed_features_ : space_.width(reader.fresh().size());
    out.widens = !space_.is_hashed() && fixed_features_ == 0;
    return out;
  }

  // Learns the events that the reader holds, by learn(batch), which returns how many were learned and leaves the model as it was if it
  // throws. The caller has the turn.
  template <class Learn>
  void learn(text::EventReader& reader, const text::KnownOfEvents& known, Learn&& learn) {
    space_.require_room(reader.fresh());
    std::int64_t learned = 0;
    if (history_) {
      history_->extend(reader.block(), known, extended_);
      try {
        learned = learn(batch(reader, extended_));
      } catch (...) {
        history_->keep_first(0);
        throw;
      }
      history_->keep_first(learned);
    } else {
      learned = learn(batch(reader, reader.rows()));
    }
    space_.append(reader.fresh(), reader.fresh_after(learned));
    if (space_.options().trend) space_.add_dates(reader.block().date_spans(learned));
  }

 private:
  text::EventSpace space_;
  std::int64_t fixed_features_;
  std::unique_ptr<text::History> history_;
  SparseRows extended_;  // the rows of the call that learns, with their history
  FairMutex turn_;
};

}  // namespace odca
