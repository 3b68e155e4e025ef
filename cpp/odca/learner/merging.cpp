// Merging. S, the mass and every other sum over events are sums, so learners of one problem on disjoint data merge
// by adding them. Windows differ in how the parts are first brought to a common time.
#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "odca/errors.hpp"
#include "odca/learner/learner.hpp"
#include "odca/step/choice.hpp"

namespace odca {

namespace {

void require_mergeable(const Config& config) {
  if (config.scale)
    throw InputError(
        "learners with scale=True cannot be merged: each has standardised its rows in its own units; "
        "standardise the data beforehand, in the same way for all");
  const Window& window = config.window;
  if (window.kind == Window::Kind::count)
    throw InputError(
        "a Sliding(length) window cannot be merged: the parts have no common order of events; "
        "use Sliding(duration=...) with event times");
}

// Decays S and every sum of one lane by `factor`.
void fade(State& state, int lane, double factor) {
  LaneState& s = state.lane;
  for (std::size_t at = lane; at < state.dual.size(); at += state.lanes) state.dual[at] *= factor;
  s.mass[lane] *= factor;
  s.squared_mass[lane] *= factor * factor;
  s.conjugate[lane] *= factor;
  s.saturated[lane] *= factor;
  s.bound[lane] *= factor;
}

// The same for what decays with every event, whatever the window.
void fade_by_events(State& state, double smooth_factor, double loss_factor) {
  for (double& sum : state.smooth) sum *= smooth_factor;
  state.smooth_mass *= smooth_factor;
  for (double& loss : state.lane.loss) loss *= loss_factor;
}

// Multiplies the scale into v, so that two sums can be added.
void unscale(State& state) {
  for (int l = 0; l < state.lanes; ++l) {
    for (std::size_t at = l; at < state.dual.size(); at += state.lanes) state.dual[at] *= state.lane.scale[l];
    state.lane.bound[l] *= state.lane.scale[l];
    state.lane.scale[l] = 1.0;
  }
}

void add_vectors(std::span<double> into, std::span<const double> gain, double sign) {
  for (std::size_t at = 0; at < gain.size(); ++at) into[at] += sign * gain[at];
}

void add_sums(State& into, const State& gain, double sign) {
  if (gain.features > into.features) into.resize(gain.features);
  add_vectors(into.dual, gain.dual, sign);
  add_vectors(into.lane.mass, gain.lane.mass, sign);
  add_vectors(into.lane.squared_mass, gain.lane.squared_mass, sign);
  add_vectors(into.lane.conjugate, gain.lane.conjugate, sign);
  add_vectors(into.lane.saturated, gain.lane.saturated, sign);
  add_vectors(into.lane.bound, gain.lane.bound, 1.0);  // still a bound
  for (double& bound : into.lane.bound) bound = std::min(bound, 1e308);
  add_vectors(into.lane.loss, gain.lane.loss, sign);
  add_vectors(into.lane.constant, gain.lane.constant, sign);
  add_vectors(into.smooth, gain.smooth, sign);
  into.smooth_mass += sign * gain.smooth_mass;
}

// A delta of a sliding window is its new events; it cannot describe old events whose duals were refined or unlearned.
void require_untouched(const Window& window, const State& before, const State& mine) {
  std::map<std::uint64_t, const double*> duals;
  for (std::size_t k = 0; k < mine.buffer.size(); ++k) {
    const std::size_t id = mine.buffer.at(k);
    duals[mine.buffer.entry(id).number] = mine.buffer.duals(id);
  }
  for (std::size_t k = 0; k < before.buffer.size(); ++k) {
    const std::size_t id = before.buffer.at(k);
    if (window.has_expired(before.buffer.entry(id).time, mine.clock)) continue;
    const auto found = duals.find(before.buffer.entry(id).number);
    if (found == duals.end() || !std::equal(found->second, found->second + mine.lanes, before.buffer.duals(id)))
      throw InputError(
          "a delta cannot describe events that were refined or unlearned since the base; take the base after that");
  }
}

}  // namespace

// The state with its lazy sums brought up to date, its scale multiplied in, decayed to a later clock.
State Learner::level(State state, double clock) const {
  settle(state);
  unscale(state);
  if (config_.window.kind == Window::Kind::half_life && state.clock > -infinity)
    for (int l = 0; l < state.lanes; ++l) {
      const double factor = config_.window.factor(l, clock - state.clock);
      fade(state, l, config_.has_decayed(l, state.lane.mass[l] * factor) ? 0.0 : factor);
    }
  if (config_.window.uses_time()) state.clock = clock;
  return state;
}

// Adds the other's events to the buffer, with `shift` added to their numbers, and drops those that have expired.
void Learner::join_buffers(State& into, const State& other, std::uint64_t shift) const {
  for (std::size_t k = 0; k < other.buffer.size(); ++k) into.buffer.copy_from(other.buffer, other.buffer.at(k), shift);
  while (!into.buffer.empty() && config_.window.has_expired(into.buffer.entry(into.buffer.at(0)).time, into.clock))
    into.buffer.pop_oldest();
  into.buffer.compact();
}

void Learner::finish_sums(State& state) const {
  if (config_.window.keeps_events()) {
    rebuild(state);
    return;
  }
  for (int l = 0; l < state.lanes; ++l) {
    const double strength = config_.strength(l, state.lane);
    state.lane.q[l] = strength > 0.0 ? 1.0 / strength : 0.0;
  }
}

// Decays the past by the factors of a delta, and adds its gain. On an exception the model is unchanged.
void Learner::absorb(const Delta& delta) {
  const State& other = delta.gain;
  const auto only_writer = gate_.only_writer();
  const auto inside = gate_.inside();
  const double clock = std::max(state_.clock, other.clock);
  Learner made(config_, state_);
  made.config_.shape.resize(std::max(state_.features, other.features), config_.lanes);
  State& merged = made.state_;
  merged = made.level(std::move(merged), clock);
  const State gain = made.level(other, clock);
  for (int l = 0; l < merged.lanes; ++l) fade(merged, l, delta.factor[l]);
  fade_by_events(merged, delta.smooth_factor, delta.loss_factor);
  add_sums(merged, gain, 1.0);
  if (config_.window.keeps_events()) join_buffers(merged, gain, merged.count);
  merged.count += gain.count;
  made.finish_sums(merged);
  made.require_sound("the merged learner");
  state_ = std::move(merged);
  config_.shape = std::move(made.config_.shape);
}

void Learner::merge(const Learner& other) {
  require_mergeable(config_);
  absorb({.gain = other.state(), .factor = std::vector<double>(config_.lanes, 1.0)});
}

Delta Learner::delta(const Learner& base) const {
  require_mergeable(config_);
  const Learner frozen(*this);  // the features must not grow during what follows
  const State before = base.state();
  const State& mine = frozen.state_;
  if (before.count > mine.count || before.features > mine.features || before.clock > mine.clock)
    throw InputError("delta needs an earlier state of this learner; the base has seen " + std::to_string(before.count) +
                     " events, this learner " + std::to_string(mine.count));
  if (config_.window.keeps_events()) require_untouched(config_.window, before, mine);
  Delta delta;
  const std::uint64_t events = mine.count - before.count;
  delta.gain = frozen.level(mine, mine.clock);
  State faded = frozen.level(before, mine.clock);
  delta.smooth_factor = power(config_.kappa, events);
  delta.loss_factor = power(choice::forgetting, events);
  for (int l = 0; l < mine.lanes; ++l) {
    const bool by_events = config_.window.kind == Window::Kind::decay;
    const bool averages = config_.is_average(l);
    const double before_strength = averages ? before.lane.constant[l] : 0.0;
    const double ratio = before_strength > 0.0 ? mine.lane.constant[l] / before_strength : 1.0;
    delta.factor.push_back(averages    ? std::min(1.0, choice::averaging_between(before.count, mine.count) * ratio)
                           : by_events ? power(config_.window.of_lane(l), events)
                                       : 1.0);
    fade(faded, l, delta.factor[l]);
  }
  fade_by_events(faded, delta.smooth_factor, delta.loss_factor);
  add_sums(delta.gain, faded, -1.0);
  delta.gain.count = events;
  if (config_.window.keeps_events()) {
    EventBuffer fresh(mine.lanes);
    for (std::size_t k = 0; k < mine.buffer.size(); ++k) {
      const std::size_t id = mine.buffer.at(k);
      if (mine.buffer.entry(id).number >= before.count) fresh.copy_from(mine.buffer, id, -before.count);
    }
    delta.gain.buffer = std::move(fresh);
  }
  return delta;
}

void Learner::apply(const Delta& delta) {
  require_mergeable(config_);
  if (delta.gain.lanes != config_.lanes)
    throw InputError("the delta has " + std::to_string(delta.gain.lanes) + " lanes, this learner " +
                     std::to_string(config_.lanes));
  absorb(delta);
}

}  // namespace odca
