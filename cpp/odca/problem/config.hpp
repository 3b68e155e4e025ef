// The configuration of a learner. It never changes, except that `shape` grows with the features.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "odca/problem/losses.hpp"
#include "odca/problem/penalties.hpp"
#include "odca/problem/product_terms.hpp"
#include "odca/problem/windows.hpp"
#include "odca/step/state.hpp"

namespace odca {

// Penalty weights a_j and prior means w0_j of the features; empty if all are 1 and 0.
struct Shape {
  std::vector<double> inverse_weight;  // [feature]
  std::vector<double> mean;            // [feature][lane]
  double largest_inverse = 1.0;        // of the weights, or 1

  bool is_plain() const { return inverse_weight.empty(); }
  void find_largest() {
    for (const double each : inverse_weight) largest_inverse = std::max(largest_inverse, each);
  }
  void resize(std::int64_t features, int lanes) {
    if (is_plain()) return;
    inverse_weight.resize(static_cast<std::size_t>(features), 1.0);
    mean.resize(static_cast<std::size_t>(features) * static_cast<std::size_t>(lanes), 0.0);
  }
  double inverse_weight_of(std::int64_t j) const {
    return is_plain() ? 1.0 : inverse_weight[static_cast<std::size_t>(j)];
  }
  double mean_of(std::size_t at) const { return is_plain() ? 0.0 : mean[at]; }
};

// Products of features with weights that are not learned: they add to the offset of every row.
struct FixedProducts {
  ProductTerms terms;
  std::vector<double> weight;  // [term][lane]

  bool empty() const { return terms.empty(); }
  // out[k] += the sum over the terms for lane k * stride
  template <class Numbers>
  void add(const Row& row, std::size_t lanes, std::size_t stride, Numbers&& out) const {
    terms.each_product(row, [&](std::size_t term, double p) {
      const double* const v = &weight[term * lanes];
      for (std::size_t l = 0; l < lanes; l += stride) out[l / stride] += v[l] * p;
    });
  }
};

// Weights and dual sums beyond this are refused as overflow: whatever a model holds is finite, and so is what it predicts for ordinary
// rows.
inline constexpr double largest_weight = 1e300;
// That a state counts, learned or restored.
inline constexpr std::uint64_t most_events = std::uint64_t{1} << 60;

struct Config {
  AnyLoss loss;
  std::string label_rule = "the loss is not defined for every y", label_hint;  // for the message about an invalid label
  AnyPenalty penalty;
  Window window;
  int lanes = 1;
  int candidates = 1;  // lanes that learn one model in different ways, of which the best answers: step/choice.hpp
  std::vector<int> average_of;              // [candidate] whose average it is, or -1; empty if there are no averages
  std::vector<double> rho, prior_strength;  // [lane]
  double kappa = 0.0;
  bool intercept = false;
  bool scale = false;               // standardise the rows
  std::int64_t fixed_features = 0;  // 0 if features may appear at any time
  FixedProducts products;
  Shape shape;
  std::int64_t shaped_features = 0;  // how many features the shape was given for

  State empty_state() const {
    State state(lanes, candidates > 1, kappa, std::holds_alternative<Separable>(penalty), window.keeps_events(), scale);
    state.lane.constant = prior_strength;
    return state;
  }

  int models() const { return lanes / candidates; }

  // The lane whose problem a lane solves: itself, unless it is the average of another.
  int source_of(int lane) const {
    const int candidate = lane % candidates;
    return average_of.empty() || average_of[candidate] < 0 ? lane : lane - candidate + average_of[candidate];
  }
  bool is_average(int lane) const { return source_of(lane) != lane; }

  // The smallest strength A for which sums of 1 / A do not overflow: smoothing adds many of them.
  double least_strength() const { return kappa > 0.0 ? 1e-300 : 1e-305; }

  // Whether a lane's mass is so small that 1 / A would soon overflow; the past is then forgotten.
  bool has_decayed(int lane, double mass) const {
    const auto l = static_cast<std::size_t>(lane);
    return mass < tiny || (!is_average(lane) && rho[l] * mass + prior_strength[l] < least_strength());
  }

  // A. Its constant part is in the state: a part of a split learner has its share of it.
  double strength(int lane, const LaneState& state) const {
    const auto l = static_cast<std::size_t>(lane);
    return rho[l] * state.mass[l] + state.constant[l];
  }
};

// Calls use(penalty) with the penalty of one feature: the intercept is always under l2, never
// thresholded and never bounded.
template <class Penalty, class Use>
auto with_penalty_of(const Config& config, const Penalty& penalty, std::int64_t feature, Use&& use) {
  return config.intercept && feature == 0 ? use(L2{}) : use(penalty);
}

}  // namespace odca
