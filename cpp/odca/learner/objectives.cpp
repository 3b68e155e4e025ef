// Primal and dual objectives of the weighted problem (paper, eq. primal_problem and eq. dual_problem).
#include <cmath>

#include "odca/errors.hpp"
#include "odca/learner/learner.hpp"
#include "odca/step/solve.hpp"

namespace odca {

void Learner::require_value() const {
  const auto* custom = std::get_if<Custom>(&config_.loss);
  if (custom && !custom->worth)
    throw InputError("an objective needs the loss's value; give the loss object a method value(z, y)");
}

// A R(w)
double Learner::penalty_value(const std::vector<double>& weights, int lane) const {
  const int lanes = config_.lanes;
  const double strength = config_.strength(lane, state_.lane);
  return std::visit(
      [&](const auto& penalty) {
        if constexpr (std::is_same_v<std::decay_t<decltype(penalty)>, KL>) {
          return strength * relative_entropy(penalty, weights, lane, lanes);
        } else {
          double total = 0.0;
          for (std::int64_t j = 0; j < state_.features; ++j)
            total += with_penalty_of(config_, penalty, j, [&](const auto& own) {
              return value_times(strength / config_.shape.inverse_weight_of(j), own, weights[j * lanes + lane],
                                 config_.shape.mean_of(j * lanes + lane));
            });
          return total;
        }
      },
      config_.penalty);
}

// A R*(S / A)
double Learner::penalty_conjugate(int lane) const {
  const double q = state_.lane.q[lane], strength = config_.strength(lane, state_.lane);
  return std::visit(
      [&](const auto& penalty) {
        if constexpr (std::is_same_v<std::decay_t<decltype(penalty)>, KL>) {
          return strength * log_sum_exp(penalty, state_, lane, q);
        } else {
          double total = 0.0;
          for (std::int64_t j = 0; j < state_.features; ++j) {
            const double r = config_.shape.inverse_weight_of(j);
            const std::size_t at = j * config_.lanes + lane;
            total += with_penalty_of(config_, penalty, j, [&](const auto& own) {
              return conjugate_times(strength / r, own, q * state_.dual[at] * r, config_.shape.mean_of(at));
            });
          }
          return total;
        }
      },
      config_.penalty);
}

std::vector<double> Learner::dual_objective_unlocked() const {
  require_value();
  std::vector<double> value(config_.lanes, 0.0);
  for (int l = 0; l < config_.lanes; ++l) {
    const double mass = state_.lane.mass[l];
    if (mass > 0.0) value[l] = -(state_.lane.conjugate[l] + penalty_conjugate(l)) / mass;
  }
  return value;
}

std::vector<double> Learner::primal_objective_unlocked() const {
  require_value();
  const std::vector<double> w = weights_of(all_lanes(), false);
  std::vector<double> value(config_.lanes, 0.0);
  pass_->add_losses(w, false, value.data());
  for (int l = 0; l < config_.lanes; ++l) {
    const double mass = state_.lane.mass[l];
    value[l] = mass > 0.0 ? (value[l] + penalty_value(w, l)) / mass : 0.0;
  }
  return value;
}

std::vector<double> Learner::duality_gap_unlocked() const {
  std::vector<double> gap = primal_objective_unlocked();
  const std::vector<double> dual = dual_objective_unlocked();
  for (int l = 0; l < config_.lanes; ++l) gap[l] -= dual[l];
  return gap;
}

std::vector<double> Learner::dual_objective() const {
  const auto inside = gate_.inside();
  return of_chosen(dual_objective_unlocked());
}

std::vector<double> Learner::primal_objective() const {
  const auto inside = gate_.inside();
  require_events("the primal objective");
  return of_chosen(primal_objective_unlocked());
}

std::vector<double> Learner::duality_gap() const {
  const auto inside = gate_.inside();
  require_events("the duality gap");
  return of_chosen(duality_gap_unlocked());
}

std::vector<double> Learner::penalty_term(bool smoothed) const {
  const auto inside = gate_.inside();
  const std::vector<double> w = weights_of(all_lanes(), smoothed);
  std::vector<double> value;
  for (const int l : chosen()) {
    const double mass = state_.lane.mass[config_.source_of(l)];
    value.push_back(mass > 0.0 ? penalty_value(w, l) / mass : 0.0);
  }
  return value;
}

}  // namespace odca
