// Several lanes learn one model, each in its own way (with another strength, another window), and the one that has
// predicted best lately answers.
//
//     loss of a lane <- forgetting * loss + c Q(margin; y)      with the margin from before the event was learned
//
// This is the problem of the paper under an exponential window (C2), solved over the lanes: the one that answers has the
// smallest weighted loss. The half-life H of the losses is how fast the choice follows the stream. If one lane was ahead
// of another by G an event for long, it leads by G / (1 - f) with f = 2^(-1/H). If it then falls behind by g an event, its
// lead after n events is (G f^n - g (1 - f^n)) / (1 - f), which is gone after n = H log2(1 + G / g) events: after one
// half-life where it loses as much as it gained. A mean over all events would hold on for as long as it had been right.
//
// The candidates of model m are the lanes m * candidates ... m * candidates + candidates - 1. A choice depends on the
// events alone, not on how they were split into calls.
//
// A candidate may be the average of another one, its source, whose window is infinite and whose penalty is l2, so that its
// weights are w = S / A. The average is
//
//     m_N = k_N m_(N-1) + (1 - k_N) w_N,     k_N = min(N / (N + 1), averaging):
//
// at first the mean of w_0 = 0, w_1, ..., w_N, later over about the last thousand events. It needs no solution of its own. With a
// scalar a and a vector U that begins as 0,
//
//     a_N = k_N a_(N-1) + (1 - k_N) / A_N
//     U_N = f_N (U_(N-1) + c lambda h),      f_N = k_N a_(N-1) / a_N,
//
// it is m_N = a_N (S_N - U_N): insert S_(N-1) = S_N - c lambda h into its definition. So U is the sum of a lane like any other, which adds
// what its source adds and then forgets by f. Its strength, the constant of its lane, is 1 / a. m does not depend on where a begins;
// it begins at the 1 / A of its source's first event, so that a lane with a mass always has a strength.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "odca/problem/config.hpp"

namespace odca::choice {

inline constexpr double forgetting = 0.9993070929904525;  // 2^(-1/1000): half as much every thousand events
inline constexpr double worst = 1e300;                    // a lane whose loss overflowed stays comparable
inline constexpr double averaging = 0.999;
inline constexpr std::uint64_t counted = 999;  // as long as N is less, k_N is N / (N + 1)

// k_N
inline double averaging_at(std::uint64_t count) {
  return count < counted ? static_cast<double>(count) / static_cast<double>(count + 1) : averaging;
}

// The lane that answers for a model: of several that are as good, the first.
inline int lane_of(const Config& config, const LaneState& state, int model) {
  const int first = model * config.candidates;
  int best = first;
  for (int l = first + 1; l < first + config.candidates; ++l)
    if (state.loss[l] < state.loss[best]) best = l;
  return best;
}

// lanes[model]
inline void choose(const Config& config, const LaneState& state, std::vector<int>& lanes) {
  lanes.resize(static_cast<std::size_t>(config.models()));
  for (int m = 0; m < config.models(); ++m) lanes[m] = lane_of(config, state, m);
}

inline void add_loss(LaneState& state, int lane, double weight, double value) {
  double& loss = state.loss[lane];
  loss = forgetting * loss + weight * value;
  if (!(loss < worst)) loss = worst;
}

}  // namespace odca::choice
