// The scalar sums of all lanes, in loops that a compiler can turn into packs: no branch, and no array that overlaps another.
#pragma once

#include <cmath>
#include <cstdint>

#include "odca/problem/config.hpp"

namespace odca {

// 1 / A, and 0 if A = 0.
inline double inverse_of(double strength) { return strength > 0.0 ? 1.0 / strength : 0.0; }

namespace lane_sums {

// Whether 1 / A is one to learn with: not so large that sums of it overflow, and not so small that it vanished.
inline bool is_sound(double inverse, double mass, double most) {
  return (inverse <= most) & ((inverse != 0.0) | !(mass > 0.0));
}

namespace detail {

[[gnu::always_inline]] inline bool find_rates(int lanes, double most, const double* __restrict rho,
                                              const double* __restrict mass, const double* __restrict constant,
                                              const double* __restrict scale, const double* __restrict weight,
                                              double* __restrict q, double* __restrict alpha) {
  std::int64_t unsound = 0;
  for (int l = 0; l < lanes; ++l) {
    const double inverse = inverse_of(rho[l] * mass[l] + constant[l]);
    q[l] = scale[l] * inverse;
    alpha[l] = weight[l] * inverse;
    unsound |= is_sound(inverse, mass[l], most) ? 0 : 1;
  }
  return unsound == 0;
}

[[gnu::always_inline]] inline bool add_event(int lanes, double reach, double owed, double inverse,
                                             const double* __restrict mass, const double* __restrict conjugate,
                                             const double* __restrict q, const double* __restrict weight,
                                             const double* __restrict step, double* __restrict squared_mass,
                                             double* __restrict bound) {
  std::int64_t large = 0;
  for (int l = 0; l < lanes; ++l) {
    squared_mass[l] += weight[l] * weight[l];
    const double grown = bound[l] + std::fabs(step[l]) * reach,
                 sums = std::fabs(conjugate[l]) + owed + squared_mass[l] + mass[l];
    bound[l] = grown < 1e308 ? grown : 1e308;
    const double by_dual = q[l] * inverse, weight_by_dual = by_dual > 1.0 ? by_dual : 1.0;
    const bool fits = (bound[l] * weight_by_dual < largest_weight) & (sums < infinity);
    large |= fits ? 0 : 1;
  }
  return large == 0;
}

}  // namespace detail

// q = scale / A and alpha = c / A of an event with these weights. False if A is no strength to learn with.
[[gnu::always_inline]] inline bool find_rates(int lanes, const Config& config, LaneState& state, double most,
                                              const double* weight, double* alpha) {
  return detail::find_rates(lanes, most, config.rho.data(), state.mass.data(), state.constant.data(),
                            state.scale.data(), weight, state.q.data(), alpha);
}

// The squared masses and bounds with an event whose v grows by step times h. `reach` is at least max |h_j|, `owed` what the conjugate
// lacks at most, `inverse` the largest 1 / a_j. False if a sum may be too large: then it has to be looked at.
[[gnu::always_inline]] inline bool add_event(int lanes, LaneState& state, const double* weight, const double* step,
                                             double reach, double owed, double inverse) {
  return detail::add_event(lanes, reach, owed, inverse, state.mass.data(), state.conjugate.data(), state.q.data(),
                           weight, step, state.squared_mass.data(), state.bound.data());
}

}  // namespace lane_sums
}  // namespace odca
