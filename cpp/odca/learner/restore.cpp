// Restoring a saved state. Nothing in it is trusted: whatever could make a later step read outside its arrays, or
// put a number into the model that no step could produce, is refused.
#include <algorithm>
#include <cmath>
#include <string>

#include "odca/errors.hpp"
#include "odca/learner/learner.hpp"
#include "odca/math/checks.hpp"

namespace odca {

namespace {

void require(bool condition, const char* what) {
  if (!condition) throw InputError(std::string("this is not a valid state of this learner: ") + what);
}

void check_lanes(LaneState lane, int lanes, bool decays) {
  lane.each_field([&](auto, const auto& field) {
    require(field.size() == static_cast<std::size_t>(lanes), "a field per lane has the wrong length");
    require(all_finite(field), "a field per lane is not finite");
  });
  for (int l = 0; l < lanes; ++l) {
    require(lane.q[l] >= 0.0, "q must not be negative");
    require(decays ? lane.scale[l] >= smallest_scale && lane.scale[l] <= 1.0 : lane.scale[l] == 1.0,
            "the scale is not that of the window");
  }
}

void check_scaling(const Scaling& scaling, std::int64_t features, bool of_events) {
  require(scaling.features() == (scaling.on ? features : 0) && scaling.sums.size() % Scaling::sums_per_feature == 0 &&
              all_finite(scaling.sums),
          "the scaling's sums have the wrong length or are not finite");
  for (std::int64_t j = 0; of_events && j < scaling.features(); ++j) {
    for (const auto sum : {Scaling::mass, Scaling::second, Scaling::count, Scaling::unit})
      require(scaling.of(j)[sum] >= 0.0, "the scaling's sums must not be negative");
    require(scaling.is_up_to_date(j), "a feature's centre or unit is not that of the scaling's sums");
  }
  require(scaling.scale > 0.0 && scaling.scale <= 1.0 && scaling.kind <= Scaling::plain,
          "the scaling has an unknown kind or scale");
}

void check_table(const EventBuffer::Table& table, const State& state) {
  const std::size_t n = table.number.size();
  require(table.time.size() == n && table.reach.size() == n && table.size.size() == n && table.dense.size() == n,
          "the window's columns differ in length");
  require(table.facts.size() == n * EventBuffer::facts * state.lanes, "the window's facts have the wrong length");
  require(all_finite(table.time) && all_finite(table.reach) && all_finite(table.value) && all_finite(table.facts),
          "the window holds a number that is not finite");
  std::size_t values = 0, indices = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const std::int64_t size = table.size[k];
    require(size >= 0 && size <= state.features, "a row of the window has an impossible size");
    require(table.number[k] < state.count, "the window holds an event numbered beyond the count");
    require(table.reach[k] >= 1.0, "the window holds a reach below one");
    require(k == 0 || table.time[k - 1] <= table.time[k], "the window is not in order of time");
    values += size;
    require(values <= table.value.size(), "the window has too few values");
    if (table.dense[k]) continue;
    require(indices + size <= table.index.size(), "the window has too few indices");
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int32_t j = table.index[indices + i];
      require(j >= 0 && j < state.features && (i == 0 || table.index[indices + i - 1] < j),
              "a row of the window has indices out of range or out of order");
    }
    indices += size;
  }
  require(table.raw.size() == (state.scaling.on && state.sliding ? values : 0),
          "the window has too few or too many raw values");
  require(all_finite(table.raw), "the window holds a raw value that is not finite");
  require(values == table.value.size() && indices == table.index.size(),
          "the window has values or indices that belong to no row");
}

}  // namespace

// A mass that was rounded may come out below zero where one sum was taken from another.
State Learner::checked(State state, const EventBuffer::Table& table, Sums sums) const {
  const auto lanes = static_cast<std::size_t>(config_.lanes);
  require(state.dual.size() % lanes == 0 && all_finite(state.dual),
          "the dual sum has the wrong shape or is not finite");
  require(!config_.fixed_features || state.features == config_.fixed_features, "the number of features is fixed");
  require(state.features >= std::max<std::int64_t>(config_.shaped_features, config_.intercept ? 1 : 0),
          "it has fewer features than the options");
  require(state.features < (std::int64_t{1} << 31), "there are more features than an index can hold");
  require(state.features == static_cast<std::int64_t>(state.dual.size() / lanes), "the dual sum has the wrong length");
  constexpr std::int64_t most_work = std::int64_t{1} << 60;
  require(state.smooth_work >= 0 && state.smooth_work < most_work && state.evicted_work >= 0 &&
              state.evicted_work < most_work,
          "a count of work is out of range");
  require(!std::isnan(state.clock) && state.clock < infinity, "the clock is not a valid time");
  const Window::Kind window = config_.window.kind;
  check_lanes(state.lane, config_.lanes, window == Window::Kind::decay || window == Window::Kind::half_life);
  const std::size_t expected = state.smoothing ? state.dual.size() : 0;
  require(state.smooth.size() == expected && state.seen.size() == expected / lanes && all_finite(state.smooth),
          "the smoothed sums have the wrong shape or are not finite");
  require(std::isfinite(state.smooth_mass), "the smoothed mass is not finite");
  if (sums == Sums::of_events) {
    require(state.smooth_mass >= 0.0, "the smoothed mass must not be negative");
    for (const double mass : state.lane.mass) require(mass >= 0.0, "a mass must not be negative");
  }
  for (const Timeline::Position position : state.seen)
    require(position <= state.timeline.now(), "a feature was seen in the future");
  if (state.smoothing) {
    require(state.timeline.is_consistent(), "the timeline is inconsistent");
    require(!std::holds_alternative<KL>(config_.penalty) || state.timeline.now() == 0, "KL has no timeline");
    state.timeline.fit_tables();
  }
  check_scaling(state.scaling, state.features, sums == Sums::of_events);
  check_table(table, state);
  const Labels labels = labels_of(config_.loss);
  for (std::size_t at = 0; at < table.facts.size(); ++at) {  // label, weight, offset, dual, conjugate; by lane
    const std::size_t fact = at / lanes % EventBuffer::facts;
    require(fact != 0 || label_is_valid(labels, table.facts[at]),
            "the window holds a label outside the domain of the loss");
    require(fact != 1 || table.facts[at] >= 0.0, "the window holds a negative weight");
  }
  require(config_.window.keeps_events() || table.number.empty(), "only a sliding window holds events");
  state.buffer = EventBuffer::from_table(table, config_.lanes, config_.scale && config_.window.keeps_events());
  return state;
}

void Learner::set_state(State given, const EventBuffer::Table& table) {
  Learner made(config_, checked(std::move(given), table, Sums::of_events));
  LaneState& lane = made.state_.lane;
  for (int l = 0; l < config_.lanes; ++l) {
    const double strength = config_.strength(l, lane);
    lane.q[l] = lane.scale[l] * (strength > 0.0 ? 1.0 / strength : 0.0);
  }
  made.require_sound("this state");
  const auto only_writer = gate_.only_writer();
  const auto inside = gate_.inside();
  state_ = std::move(made.state_);
  config_.shape = std::move(made.config_.shape);
}

}  // namespace odca
