// Several lanes learn one model, each in its own way (with another strength), and the one that has predicted best answers.
//
//     loss of a lane <- forgetting * loss + c Q(margin; y)      with the margin from before the event was learned
//
// The candidates of model m are the lanes m * candidates ... m * candidates + candidates - 1. A choice depends on the
// events alone, not on how they were split into calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "odca/problem/config.hpp"

namespace odca::choice {

inline constexpr double forgetting = 0.9993070929904525;  // 2^(-1/1000): half as much every thousand events
inline constexpr double worst = 1e300;                    // a lane whose loss overflowed stays comparable

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
