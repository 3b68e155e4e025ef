#include "odca/learner/shard.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "odca/errors.hpp"
#include "odca/learner/schedule.hpp"
#include "odca/math/checks.hpp"

namespace odca {

namespace {

Config of_shard(const Learner& problem) {
  Config config = problem.config();
  config.kappa = 0.0;  // there is no stream of weights to smooth
  config.shape.resize(config.shaped_features, config.lanes);
  return config;
}

Ids everyone(const EventBuffer& buffer) {
  Ids ids(buffer.size());
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

}  // namespace

Shard::Shard(const Learner& problem, const Events& events, const Interrupted& interrupted)
    : learner_(of_shard(problem)) {
  if (problem.config().scale || problem.config().candidates > 1)
    throw InputError("a shard needs one problem whose rows are not standardised");
  learner_.require_value();
  LongCall call(interrupted);
  learner_.grow(events.batch.features());
  learner_.state_.buffer.reserve(static_cast<std::size_t>(events.batch.rows), events.batch.stored());
  learner_.pass_->enlist(events, call);
  const EventBuffer& buffer = learner_.state_.buffer;
  if (learner_.config_.window.uses_time())
    for (std::size_t id = 0; id < buffer.size(); ++id)
      learner_.state_.clock = std::max(learner_.state_.clock, buffer.entry(id).time);
  const std::size_t n = buffer.size() * lanes();
  for (auto* each : {&duals_.dual, &duals_.conjugate, &duals_.next_dual, &duals_.next_conjugate}) each->assign(n, 0.0);
}

void Shard::require_size(const std::vector<double>& given, std::size_t size, const char* what) const {
  if (share_.empty()) throw InputError("a shard must join the others first");
  if (given.size() != size || !all_finite(given))
    throw InputError(std::string(what) + " must be " + std::to_string(size) + " finite numbers; got " +
                     std::to_string(given.size()));
}

void Shard::join(std::int64_t features, double clock, const std::vector<double>& constant) {
  State& state = learner_.state_;
  if (features < state.features || constant.size() != lanes() || !share_.empty())
    throw InputError("a shard joins once, with the features of all shards and a constant strength for each lane");
  learner_.grow(features);
  if (learner_.config_.window.uses_time()) state.clock = std::max(state.clock, clock);
  learner_.weigh_by_window();
  state.lane.constant = constant;
  for (std::size_t l = 0; l < lanes(); ++l)
    share_.push_back(learner_.config_.strength(static_cast<int>(l), state.lane));
  learner_.pass_->restate_duals();
  read(duals_.dual, duals_.conjugate);
  duals_.next_dual = duals_.dual, duals_.next_conjugate = duals_.conjugate;
}

bool Shard::learn(std::uint64_t seed, const Interrupted& interrupted) {
  State& state = learner_.state_;
  require_size(share_, lanes(), "the strength");
  for (std::size_t id = 0; id < state.buffer.size(); ++id) std::fill_n(state.buffer.duals(id), lanes(), 0.0);
  std::fill(state.dual.begin(), state.dual.end(), 0.0);
  std::fill(state.lane.bound.begin(), state.lane.bound.end(), 0.0);
  const std::vector<double> mass = state.lane.mass;
  for (std::size_t l = 0; l < lanes(); ++l) {
    state.lane.constant[l] = share_[l] - learner_.config_.rho[l] * mass[l];
    state.lane.mass[l] = 0.0;
    state.lane.q[l] = state.lane.constant[l] > 0.0 ? 1.0 / state.lane.constant[l] : 0.0;
  }
  LongCall call(interrupted);
  Ids ids = everyone(state.buffer);
  Order(true, seed, length_of_runs(state.buffer)).arrange(ids);
  std::vector<double> margin(ids.size() * lanes());
  const bool whole = learner_.pass_->admit(ids, margin.data(), call) == ids.size();
  state.lane.mass = mass;
  learner_.pass_->restate_duals();
  read(duals_.dual, duals_.conjugate);
  duals_.next_dual = duals_.dual, duals_.next_conjugate = duals_.conjugate;
  return whole;
}

void Shard::respond(const std::vector<double>& w) {
  require_size(w, learner_.state_.dual.size(), "the weights");
  learner_.pass_->respond(w);
  learner_.pass_->restate_duals();
  read(duals_.dual, duals_.conjugate);
  duals_.next_dual = duals_.dual, duals_.next_conjugate = duals_.conjugate;
}

Shard::Sums Shard::sums() {
  put(std::vector<double>(lanes(), 0.0));
  State state = learner_.state_;
  learner_.rebuild(state);
  return {{state.dual.begin(), state.dual.end()},
          state.lane.mass,
          state.lane.squared_mass,
          state.lane.conjugate,
          state.lane.saturated};
}

std::vector<double> Shard::losses(const std::vector<double>& w) const {
  require_size(w, learner_.state_.dual.size(), "the weights");
  std::vector<double> sums(lanes(), 0.0);
  learner_.pass_->add_losses(w, false, sums.data());
  return sums;
}

std::vector<double> Shard::sizes_of_losses() const {
  std::vector<double> sums(lanes(), 0.0);
  learner_.pass_->add_losses(std::vector<double>(learner_.state_.dual.size(), 0.0), true, sums.data());
  return sums;
}

std::vector<double> Shard::squares() const {
  const EventBuffer& buffer = learner_.state_.buffer;
  std::vector<double> sums(static_cast<std::size_t>(features()), 0.0);
  for (std::size_t id = 0; id < buffer.size(); ++id) {
    const double weight = *std::max_element(buffer.weights(id), buffer.weights(id) + lanes());
    buffer.row(id).each([&](std::int64_t j, double x) { sums[static_cast<std::size_t>(j)] += weight * x * x; });
  }
  return sums;
}

Shard::Move Shard::ascend(const std::vector<double>& x, const std::vector<double>& sigma,
                          const std::vector<double>& steps, std::int64_t passes, std::uint64_t seed,
                          const Interrupted& interrupted) {
  State& state = learner_.state_;
  LaneState& lane = state.lane;
  require_size(x, state.dual.size(), "the common sum");
  require_size(sigma, lanes(), "sigma");
  require_size(steps, steps.size() / lanes() * lanes(), "the steps");
  if (std::any_of(sigma.begin(), sigma.end(), [](double each) { return each < 1.0; }))
    throw InputError("sigma must be at least 1");
  put(std::vector<double>(lanes(), 0.0));
  for (std::size_t l = 0; l < lanes(); ++l) {
    const double strength = sigma[l] * share_[l];
    lane.constant[l] = strength - learner_.config_.rho[l] * lane.mass[l];
    lane.scale[l] = 1.0;
    lane.q[l] = strength > 0.0 ? 1.0 / strength : 0.0;
    lane.bound[l] = 0.0;
    for (std::size_t at = l; at < x.size(); at += lanes()) {
      state.dual[at] = strength * x[at];
      lane.bound[l] = std::max(lane.bound[l], std::fabs(state.dual[at]));
    }
  }
  Move move;
  move.losses = losses(learner_.weights_of(learner_.all_lanes(), false));
  LongCall call(interrupted);
  Ids ids = everyone(state.buffer);
  std::erase_if(ids, [&](std::size_t id) {
    const double* const c = state.buffer.weights(id);
    return std::all_of(c, c + lanes(), [](double each) { return each == 0.0; });
  });
  Order order(true, seed, length_of_runs(state.buffer));
  Sweep sweep(0);
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    order.arrange(ids);
    if (learner_.pass_->revisit(ids, sweep, call) < ids.size()) break;
    if (std::none_of(sweep.moved.begin(), sweep.moved.end(), [](auto each) { return each != 0; })) break;
  }
  learner_.pass_->restate_duals();
  read(duals_.next_dual, duals_.next_conjugate);

  // dS from the duals themselves, without the rounding errors of the visits.
  move.gain.assign(state.dual.size(), 0.0);
  for (std::size_t id = 0; id < state.buffer.size(); ++id)
    for (std::size_t l = 0; l < lanes(); ++l) {
      const std::size_t at = id * lanes() + l;
      const double moved = state.buffer.weights(id)[l] * (duals_.next_dual[at] - duals_.dual[at]);
      if (moved != 0.0)
        state.buffer.row(id).each([&](std::int64_t j, double h) { move.gain[j * lanes() + l] += moved * h; });
    }
  for (auto step = steps.begin(); step != steps.end(); step += static_cast<std::ptrdiff_t>(lanes())) {
    put({step, step + static_cast<std::ptrdiff_t>(lanes())});
    const std::vector<double> sums = conjugate_sums();
    move.conjugate.insert(move.conjugate.end(), sums.begin(), sums.end());
  }
  return move;
}

void Shard::take(const std::vector<double>& step) {
  require_size(step, lanes(), "the step");
  put(step);
  read(duals_.dual, duals_.conjugate);
  duals_.next_dual = duals_.dual, duals_.next_conjugate = duals_.conjugate;
}

void Shard::put(const std::vector<double>& step) {
  EventBuffer& buffer = learner_.state_.buffer;
  bool between = false;
  for (std::size_t id = 0; id < buffer.size(); ++id)
    for (std::size_t l = 0; l < lanes(); ++l) {
      const std::size_t at = id * lanes() + l;
      const bool whole = step[l] == 1.0, none = step[l] == 0.0;
      between |= !whole && !none;
      const double from = duals_.dual[at], to = duals_.next_dual[at];
      buffer.duals(id)[l] = whole ? to : none ? from : from + step[l] * (to - from);
      buffer.conjugates(id)[l] = whole ? duals_.next_conjugate[at] : duals_.conjugate[at];
    }
  if (between) learner_.pass_->restate_duals();
}

void Shard::read(std::vector<double>& dual, std::vector<double>& conjugate) const {
  const EventBuffer& buffer = learner_.state_.buffer;
  for (std::size_t id = 0; id < buffer.size(); ++id)
    for (std::size_t l = 0; l < lanes(); ++l) {
      dual[id * lanes() + l] = buffer.duals(id)[l];
      conjugate[id * lanes() + l] = buffer.conjugates(id)[l];
    }
}

std::vector<double> Shard::conjugate_sums() const {
  const EventBuffer& buffer = learner_.state_.buffer;
  std::vector<double> sums(lanes(), 0.0);
  for (std::size_t id = 0; id < buffer.size(); ++id)
    for (std::size_t l = 0; l < lanes(); ++l)
      if (buffer.weights(id)[l] > 0.0) sums[l] += buffer.weights(id)[l] * buffer.conjugates(id)[l];
  return sums;
}

void Shard::restore(Duals duals) {
  for (const auto* each : {&duals.dual, &duals.conjugate, &duals.next_dual, &duals.next_conjugate})
    if (each->size() != duals_.dual.size() || !all_finite(*each))
      throw InputError("these are not the duals of this shard: their number differs, or one is not finite");
  duals_ = std::move(duals);
}

}  // namespace odca
