// What holds of every state, whether it was learned, solved, merged or restored: its sums go together, and its weights are numbers of a
// size that leaves room for predictions.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "odca/errors.hpp"
#include "odca/learner/learner.hpp"
#include "odca/math/checks.hpp"

namespace odca {

namespace {

constexpr double slack = 1e-6;  // sums of many terms are rounded, above all where events have left

bool is_at_most(double a, double b, double rounded) { return a <= b * (1.0 + slack) + slack * rounded; }

// delta_n are numbers >= 0 with these sums, or a share of such sums: a learner that was split has a share of the number of events,
// which is rounded, so that number bounds nothing. Squares of small weights underflow.
bool are_sums_of_weights(double mass, double squared_mass, double peak) {
  return squared_mass >= -slack * peak * peak &&
         (mass > 0.0 ? mass < 1e-150 || squared_mass > 0.0 : is_at_most(squared_mass, 0.0, peak * peak));
}

bool all_below_largest(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::fabs(x) < largest_weight; });
}

}  // namespace

const char* Learner::fault_of_sums(const std::vector<double>& largest) const {
  const LaneState& lane = state_.lane;
  for (std::size_t l = 0; l < largest.size(); ++l) {
    if (!std::isfinite(lane.mass[l] + lane.squared_mass[l] + lane.conjugate[l] + lane.q[l]))
      return "a sum is not finite";
    const double strength = config_.strength(static_cast<int>(l), lane);
    if (!(strength >= 0.0 && std::isfinite(strength))) return "the strength is out of range";
    const bool has_prior = !config_.is_average(static_cast<int>(l)) && config_.prior_strength[l] > 0.0;
    if (has_prior ? !(lane.constant[l] > 0.0) : lane.constant[l] < 0.0) return "a constant strength is lost";
    const double peak = lane.peak_mass[l];
    if (!are_sums_of_weights(lane.mass[l], lane.squared_mass[l], peak) ||
        !is_at_most(lane.saturated[l], lane.mass[l], peak) || !is_at_most(-lane.saturated[l], 0.0, peak))
      return "its masses do not go together";
    if (!is_at_most(largest[l], lane.bound[l], lane.peak_bound[l])) return "the dual sum is larger than its bound";
  }
  return all_finite(lane.loss) ? nullptr : "a loss is not finite";
}

// Bounds from the largest numbers alone mostly say that no weight is too large; else every weight is looked at.
const char* Learner::fault_of_weights(const std::vector<double>& largest) const {
  constexpr const char* too_large = "its weights would overflow";
  // An average (choice.hpp) is a multiple of its source's sum, less its own.
  const auto of_source = [&](std::size_t l) {
    const auto source = static_cast<std::size_t>(config_.source_of(static_cast<int>(l)));
    if (source == l || !(state_.lane.constant[l] > 0.0)) return 0.0;
    return largest[source] * config_.shape.largest_inverse * state_.lane.scale[source] / state_.lane.constant[l];
  };
  const double reach = state_.smoothing ? state_.timeline.reach() : 0.0;
  double smoothed = 0.0;
  for (const double sum : state_.smooth) smoothed = std::max(smoothed, std::fabs(sum));
  bool are_small = true, are_smooth = smoothed < largest_weight * std::min(state_.smooth_mass, 1.0);
  for (std::size_t l = 0; l < largest.size(); ++l) {
    if (!(largest[l] < largest_weight)) return too_large;
    const double slope = largest[l] * config_.shape.largest_inverse;
    are_small &= slope * state_.lane.q[l] + of_source(l) < largest_weight;
    are_smooth &= config_.shape.is_plain() && slope * reach < largest_weight;
  }
  if (!are_small && !all_below_largest(weights_of(all_lanes(), false))) return too_large;
  if (state_.smoothing && !are_smooth && !all_below_largest(weights_of(all_lanes(), true))) return too_large;
  return nullptr;
}

// A sliding window's sums are those of its events: otherwise they would not come out as zero when these have left.
bool Learner::window_makes_sums() const {
  if (!config_.window.keeps_events()) return true;
  State sums = state_;
  rebuild(sums);
  for (int l = 0; l < state_.lanes; ++l) {
    const LaneState &now = state_.lane, &due = sums.lane;
    const double rounded = slack * std::max(now.peak_mass[l], due.mass[l]);
    const double largest = slack * std::max(std::min(now.peak_bound[l], 2048.0 * due.bound[l]), due.bound[l]);
    if (!(std::fabs(now.mass[l] - due.mass[l]) <= rounded) ||
        !(std::fabs(now.saturated[l] - due.saturated[l]) <= rounded) || !std::isfinite(due.conjugate[l]) ||
        !(std::fabs(now.squared_mass[l] - due.squared_mass[l]) <= rounded * std::max(now.peak_mass[l], due.mass[l])))
      return false;
    if (due.bound[l] > 0.0)
      for (std::size_t at = l; at < state_.dual.size(); at += state_.lanes)
        if (!(std::fabs(state_.dual[at] - sums.dual[at]) <= largest)) return false;
  }
  return true;
}

void Learner::require_sound(const char* what) const {
  std::vector<double> largest(state_.lane.mass.size(), 0.0);  // |v_j| of each lane
  const double* v = state_.dual.data();
  for (std::int64_t j = 0; j < state_.features; ++j)
    for (double& each : largest) each = std::max(each, std::fabs(*v++));
  const char* fault = fault_of_sums(largest);
  if (!fault) fault = fault_of_weights(largest);
  if (!fault && state_.count > most_events) fault = "it has more events than can be counted";
  if (!fault && !window_makes_sums()) fault = "its sums are not those of the events in its window";
  if (fault) throw InputError(std::string(what) + " is not possible: " + fault);
}

}  // namespace odca
