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
  for (auto* each : {&kept_.dual, &kept_.conjugate, &kept_.next_dual, &kept_.next_conjugate}) each->assign(n, 0.0);
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
  read(kept_.dual, kept_.conjugate);
  kept_.next_dual = kept_.dual, kept_.next_conjugate = kept_.conjugate;
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
  read(kept_.dual, kept_.conjugate);
  kept_.next_dual = kept_.dual, kept_.next_conjugate = kept_.conjugate;
  return whole;
}

void Shard::respond(const std::vector<double>& w) {
  require_size(w, learner_.state_.dual.size(), "the weights");
  learner_.pass_->respond(w);
  learner_.pass_->restate_duals();
  read(kept_.dual, kept_.conjugate);
  kept_.next_dual = kept_.dual, kept_.next_conjugate = kept_.conjugate;
}

Shard::Sums Shard::sums() {
  put();
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

Shard::Move Shard::ascend(const std::vector<double>& x, const std::vector<double>& momentum, std::int64_t passes,
                          std::uint64_t seed, const Interrupted& interrupted) {
  State& state = learner_.state_;
  LaneState& lane = state.lane;
  require_size(x, state.dual.size(), "the common sum");
  require_size(momentum, lanes(), "the momentum");
  if (std::any_of(momentum.begin(), momentum.end(), [](double each) { return !(each >= 0.0 && each < 1.0); }))
    throw InputError("the momentum must be at least 0 and below 1");
  put();
  kept_.x = x;
  kept_.last_x.resize(x.size()), kept_.last_move.resize(x.size());
  for (std::size_t l = 0; l < lanes(); ++l) {
    lane.constant[l] = share_[l] - learner_.config_.rho[l] * lane.mass[l];
    lane.scale[l] = 1.0;
    lane.q[l] = share_[l] > 0.0 ? 1.0 / share_[l] : 0.0;
  }
  // Ahead, the sum of all shards is further by their moves; of that, the duals of this one have not made their own.
  const auto begin_at = [&](const std::vector<double>& ahead) {
    std::fill(lane.bound.begin(), lane.bound.end(), 0.0);
    for (std::size_t at = 0; at < x.size(); ++at) {
      const std::size_t l = at % lanes();
      double sum = share_[l] * x[at];
      if (ahead[l] > 0.0) sum += ahead[l] * (share_[l] * (x[at] - kept_.last_x[at]) - kept_.last_move[at]);
      state.dual[at] = sum;
      lane.bound[l] = std::max(lane.bound[l], std::fabs(sum));
    }
  };
  Move move;
  begin_at(std::vector<double>(lanes(), 0.0));
  move.losses = losses(learner_.weights_of(learner_.all_lanes(), false));
  begin_at(momentum);
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
  read(kept_.next_dual, kept_.next_conjugate);
  move.conjugate = conjugate_sums();

  // dS from the duals themselves, without the rounding errors of the visits.
  kept_.move.assign(state.dual.size(), 0.0);
  for (std::size_t id = 0; id < state.buffer.size(); ++id)
    for (std::size_t l = 0; l < lanes(); ++l) {
      const std::size_t at = id * lanes() + l;
      const double moved = state.buffer.weights(id)[l] * (kept_.next_dual[at] - kept_.dual[at]);
      if (moved != 0.0)
        state.buffer.row(id).each([&](std::int64_t j, double h) { kept_.move[j * lanes() + l] += moved * h; });
    }
  move.gain = kept_.move;
  return move;
}

void Shard::take(const std::vector<double>& whether) {
  require_size(whether, lanes(), "what is taken");
  const auto make = [&](std::vector<double>& now, const std::vector<double>& next) {
    for (std::size_t at = 0; at < now.size(); ++at)
      if (whether[at % lanes()] != 0.0) now[at] = next[at];
  };
  make(kept_.dual, kept_.next_dual), make(kept_.conjugate, kept_.next_conjugate);
  if (!kept_.x.empty()) make(kept_.last_x, kept_.x), make(kept_.last_move, kept_.move);
  kept_.next_dual = kept_.dual, kept_.next_conjugate = kept_.conjugate;
  put();
}

void Shard::put() {
  EventBuffer& buffer = learner_.state_.buffer;
  for (std::size_t id = 0; id < buffer.size(); ++id) {
    std::copy_n(&kept_.dual[id * lanes()], lanes(), buffer.duals(id));
    std::copy_n(&kept_.conjugate[id * lanes()], lanes(), buffer.conjugates(id));
  }
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

void Shard::restore(Kept kept) {
  const auto is_one_of = [](const std::vector<double>& given, std::size_t size, bool may_be_empty) {
    return (given.size() == size || (may_be_empty && given.empty())) && all_finite(given);
  };
  bool fits = kept.last_x.size() == kept.last_move.size() && kept.x.size() == kept.move.size() &&
              kept.x.size() <= kept.last_x.size();
  for (const auto* each : {&kept.dual, &kept.conjugate, &kept.next_dual, &kept.next_conjugate})
    fits &= is_one_of(*each, kept_.dual.size(), false);
  for (const auto* each : {&kept.x, &kept.last_x, &kept.move, &kept.last_move})
    fits &= is_one_of(*each, learner_.state_.dual.size(), true);
  if (!fits) throw InputError("this is not the state of this shard: a size differs, or a number is not finite");
  kept_ = std::move(kept);
}

}  // namespace odca
