// Merging, splitting, and the differences between states. S, the mass and every other sum over events are sums, so learners of one
// problem on disjoint data merge by adding them, a part of a learner has a share of each, and a delta is what was added to them.
// Windows differ in how states are first brought to a common time; standardised rows, in how they are brought to common units.
#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "odca/errors.hpp"
#include "odca/learner/learner.hpp"

namespace odca {

namespace {

void require_mergeable(const Config& config) {
  if (config.window.kind == Window::Kind::count)
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

// Multiplies the scale into v, so that two sums can be added.
void unscale(State& state) {
  for (int l = 0; l < state.lanes; ++l) {
    for (std::size_t at = l; at < state.dual.size(); at += state.lanes) state.dual[at] *= state.lane.scale[l];
    state.lane.bound[l] *= state.lane.scale[l];
    state.lane.scale[l] = 1.0;
  }
}

// Calls visit(sums of the state, the same sums of the other) for everything that adds.
template <class OtherState, class Visit>
void each_sum(State& state, OtherState& other, Visit&& visit) {
  using Other = std::conditional_t<std::is_const_v<OtherState>, std::span<const double>, std::span<double>>;
  LaneState& a = state.lane;
  auto& b = other.lane;
  visit(std::span<double>(state.dual), Other(other.dual));
  visit(std::span<double>(a.mass), Other(b.mass));
  visit(std::span<double>(a.squared_mass), Other(b.squared_mass));
  visit(std::span<double>(a.conjugate), Other(b.conjugate));
  visit(std::span<double>(a.saturated), Other(b.saturated));
  visit(std::span<double>(a.constant), Other(b.constant));
  visit(std::span<double>(a.loss), Other(b.loss));
  visit(std::span<double>(state.smooth), Other(other.smooth));
  visit(std::span<double>(&state.smooth_mass, 1), Other(&other.smooth_mass, 1));
}

void add_sums(State& into, const State& gain, double sign) {
  if (gain.features > into.features) into.resize(gain.features);
  each_sum(into, gain, [sign](std::span<double> sums, std::span<const double> gains) {
    for (std::size_t at = 0; at < gains.size(); ++at) sums[at] += sign * gains[at];
  });
  for (int l = 0; l < into.lanes; ++l)  // still a bound
    into.lane.bound[l] = std::min(into.lane.bound[l] + gain.lane.bound[l], 1e308);
  if (into.scaling.on) into.scaling.add_sums(gain.scaling, sign);
}

// If a delta says that the past has decayed, what is left is a small difference of large sums. Where little is left, its squares follow
// from the decay; where it is no more than rounding errors, nothing is left.
void mend_rounding(State& state, int l, const LaneState& before) {
  LaneState& lane = state.lane;
  const double left = lane.mass[l] / before.mass[l];
  if (std::fabs(left) < 1e-13) {
    lane.forget(l);
    for (std::size_t at = l; at < state.dual.size(); at += state.lanes) state.dual[at] = 0.0;
  } else if (left > 0.0 && left < 1e-5) {
    lane.squared_mass[l] = before.squared_mass[l] * left * left;
    lane.saturated[l] = std::clamp(lane.saturated[l], 0.0, lane.mass[l]);
  }
}

void keep_share(State& state, double share) {
  each_sum(state, state, [share](std::span<double> sums, std::span<double>) {
    for (double& sum : sums) sum *= share;
  });
  for (double& bound : state.lane.bound) bound *= share;
  if (state.scaling.on) state.scaling.multiply(share);
}

// What the standardised rows of a learner say about the original ones: with centre c_j and unit u_j,
//
//     b + sum_j w_j (x_j - c_j) u_j = (b - sum_j w_j u_j c_j) + sum_j (w_j u_j) x_j.
//
// Where w is linear in S, S and the sums of w can be brought to the units of x, added there, and brought back to the units of
// all events together: the merged model predicts the mean of what its parts predict. Under a penalty that thresholds or bounds
// weights this holds for the weights without it. (Without an intercept the constant is lost.)
void to_units_of_x(State& state, const Config& config) {
  const Units units(state.scaling, config.intercept);
  const double r0 = config.intercept ? config.shape.inverse_weight_of(0) : 1.0;
  for (std::int64_t j = config.intercept ? 1 : 0; j < state.features; ++j)
    for (int l = 0; l < state.lanes; ++l) {
      const std::size_t at = j * state.lanes + l;
      state.dual[at] *= units.factors[j];
      if (state.smoothing) state.smooth[at] *= units.factors[j];
      if (!config.intercept) continue;
      state.dual[l] -= state.dual[at] * units.centres[j] * config.shape.inverse_weight_of(j) / r0;
      if (state.smoothing) state.smooth[l] -= state.smooth[at] * units.centres[j];
    }
}

void from_units_of_x(State& state, const Config& config) {
  const Units units(state.scaling, config.intercept);
  const double r0 = config.intercept ? config.shape.inverse_weight_of(0) : 1.0;
  for (std::int64_t j = config.intercept ? 1 : 0; j < state.features; ++j)
    for (int l = 0; l < state.lanes; ++l) {
      const std::size_t at = j * state.lanes + l;
      if (config.intercept) {
        state.dual[l] += state.dual[at] * units.centres[j] * config.shape.inverse_weight_of(j) / r0;
        if (state.smoothing) state.smooth[l] += state.smooth[at] * units.centres[j];
      }
      const double per_unit = units.factors[j] > 0.0 ? 1.0 / units.factors[j] : 0.0;
      state.dual[at] *= per_unit;
      if (state.smoothing) state.smooth[at] *= per_unit;
    }
  for (int l = 0; l < state.lanes; ++l) {
    double& bound = state.lane.bound[l] = 0.0;
    for (std::size_t at = l; at < state.dual.size(); at += state.lanes)
      bound = std::max(bound, std::fabs(state.dual[at]));
  }
}

void require_one_kind(const State& one, const State& other) {
  const auto kind = one.scaling.kind, others = other.scaling.kind;
  if (kind != others && kind != Scaling::undecided && others != Scaling::undecided)
    throw InputError(
        "one learner has standardised dense rows, which are centred, the other sparse ones, which are not; "
        "let both learn from rows of one kind");
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

// The state with its lazy sums brought up to date, its scale multiplied in, decayed to a later clock, in the units of x.
State Learner::as_sums(State state, double clock) const {
  settle(state);
  unscale(state);
  const bool moves = config_.window.kind == Window::Kind::half_life && state.clock > -infinity;
  for (int l = 0; moves && l < state.lanes; ++l) {
    const double factor = config_.window.factor(l, clock - state.clock);
    fade(state, l, config_.has_decayed(l, state.lane.mass[l] * factor) ? 0.0 : factor);
  }
  if (state.scaling.on && !config_.window.keeps_events()) {
    to_units_of_x(state, config_);
    state.scaling.multiply(moves ? config_.window.longest_factor(clock - state.clock) : 1.0);
  }
  if (config_.window.uses_time()) state.clock = clock;
  return state;
}

// The reverse: a state from which a learner can continue.
State Learner::of_sums(State state) const {
  if (config_.window.keeps_events()) {
    rebuild(state);
    return state;
  }
  if (state.scaling.on) {
    state.scaling.refresh_all();
    from_units_of_x(state, config_);
  }
  for (int l = 0; l < state.lanes; ++l) {
    const double strength = config_.strength(l, state.lane);
    state.lane.q[l] = strength > 0.0 ? 1.0 / strength : 0.0;
  }
  return state;
}

// Adds the other's events to the buffer, with `shift` added to their numbers, and drops those that have expired.
void Learner::join_buffers(State& into, const State& other, std::uint64_t shift) const {
  for (std::size_t k = 0; k < other.buffer.size(); ++k) into.buffer.copy_from(other.buffer, other.buffer.at(k), shift);
  while (!into.buffer.empty() && config_.window.has_expired(into.buffer.entry(into.buffer.at(0)).time, into.clock))
    into.buffer.pop_oldest();
  into.buffer.compact();
}

// Adds sums (see as_sums) to this learner. On an exception the model is unchanged.
void Learner::absorb(const State& gain) {
  const auto only_writer = gate_.only_writer();
  const auto inside = gate_.inside();
  const double clock = std::max(state_.clock, gain.clock);
  Learner made(config_, state_);
  made.config_.shape.resize(std::max(state_.features, gain.features), config_.lanes);
  require_one_kind(state_, gain);
  State merged = as_sums(state_, clock);
  if (merged.scaling.kind == Scaling::undecided) merged.scaling.kind = gain.scaling.kind;
  const LaneState before = merged.lane;
  add_sums(merged, gain, 1.0);
  for (int l = 0; l < merged.lanes; ++l)
    if (gain.lane.mass[l] < 0.0) mend_rounding(merged, l, before);
  if (config_.window.keeps_events()) join_buffers(merged, gain, merged.count);
  merged.count += gain.count;
  made.state_ = made.of_sums(std::move(merged));
  made.require_sound("the merged learner");
  state_ = std::move(made.state_);
  config_.shape = std::move(made.config_.shape);
}

// Whether nothing was learned and nothing taken away: such a learner adds nothing to another one, not even its constant strength.
bool Learner::is_fresh() const {
  const auto inside = gate_.inside();
  return state_.count == 0 && state_.lane.constant == config_.prior_strength;
}

void Learner::merge(const Learner& other) {
  require_mergeable(config_);
  const Learner theirs(other);
  if (theirs.is_fresh() && theirs.state_.features <= scalars().features) return;
  if (is_fresh()) {
    const auto only_writer = gate_.only_writer();
    const auto inside = gate_.inside();
    const std::int64_t features = std::max(state_.features, theirs.state_.features);
    state_ = theirs.state_;
    grow(features);
    config_.shape.resize(state_.features, config_.lanes);
    return;
  }
  const double clock = std::max(theirs.state_.clock, scalars().clock);
  absorb(theirs.as_sums(theirs.state_, clock));
}

void Learner::become_part(int part, int parts) {
  require_mergeable(config_);
  if (parts < 1 || part < 0 || part >= parts) throw InputError("a part must be one of at least one");
  const auto only_writer = gate_.only_writer();
  const auto inside = gate_.inside();
  Learner made(config_, state_);
  State sums = as_sums(state_, state_.clock);
  keep_share(sums, 1.0 / parts);
  const auto whole = static_cast<std::uint64_t>(parts), own = static_cast<std::uint64_t>(part);
  sums.count = (sums.count + whole - 1 - own) / whole;
  if (config_.window.keeps_events()) {  // the events of a window are dealt out like cards
    EventBuffer dealt(sums.lanes, config_.scale);
    for (std::size_t k = 0; k < state_.buffer.size(); ++k) {
      const std::size_t id = state_.buffer.at(k);
      const std::uint64_t number = state_.buffer.entry(id).number;
      if (number % whole == own) dealt.copy_from(state_.buffer, id, number / whole - number);
    }
    sums.buffer = std::move(dealt);
  }
  made.state_ = made.of_sums(std::move(sums));
  made.require_sound("a part of this learner");
  state_ = std::move(made.state_);
}

State Learner::delta(const Learner& base) const {
  require_mergeable(config_);
  const Learner frozen(*this);  // the features must not grow during what follows
  const State before = base.state();
  const State& mine = frozen.state_;
  if (before.count > mine.count || before.features > mine.features || before.clock > mine.clock)
    throw InputError("delta needs an earlier state of this learner; the base has seen " + std::to_string(before.count) +
                     " events, this learner " + std::to_string(mine.count));
  if (config_.window.keeps_events()) require_untouched(config_.window, before, mine);
  State gain = frozen.as_sums(mine, mine.clock);
  Learner earlier(base.config_, before);
  earlier.grow(mine.features);
  add_sums(gain, earlier.as_sums(std::move(earlier.state_), mine.clock), -1.0);
  gain.count = mine.count - before.count;
  if (!config_.window.keeps_events()) return gain;
  EventBuffer fresh(mine.lanes, config_.scale);
  for (std::size_t k = 0; k < mine.buffer.size(); ++k) {
    const std::size_t id = mine.buffer.at(k);
    if (mine.buffer.entry(id).number >= before.count) fresh.copy_from(mine.buffer, id, -before.count);
  }
  gain.buffer = std::move(fresh);
  return gain;
}

void Learner::apply(State delta, const EventBuffer::Table& events) {
  require_mergeable(config_);
  if (delta.lanes != config_.lanes)
    throw InputError("the delta has " + std::to_string(delta.lanes) + " lanes, this learner " +
                     std::to_string(config_.lanes));
  State gain = checked(std::move(delta), events, Sums::of_a_delta);
  const Config& config = config_;
  const double clock = std::max(gain.clock, scalars().clock);
  if (config.window.kind == Window::Kind::half_life && gain.clock > -infinity) {
    for (int l = 0; l < gain.lanes; ++l) fade(gain, l, config.window.factor(l, clock - gain.clock));
    if (gain.scaling.on) gain.scaling.multiply(config.window.longest_factor(clock - gain.clock));
  }
  if (config.window.uses_time()) gain.clock = clock;
  absorb(gain);
}

}  // namespace odca
