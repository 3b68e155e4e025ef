// How fast the mixture forgets: what one event leaves of every fading sum, and the share of the mixing weights that goes back to
// the prior.
#pragma once

#include <array>

#include "odca/experts/experts.hpp"
#include "odca/math/functions.hpp"

namespace odca::experts {

template <Kind kind>
inline constexpr auto memories_of = [] {
  std::array<double, count_of<kind>> out{};
  for (int n = 0; n < count_of<kind>; ++n) out[n] = table[places_of<kind>[n]].memory;
  return out;
}();

struct Pace {
  std::array<double, label_experts> label_memory = memories_of<Kind::mean_label>;
  std::array<double, recent_experts> recent_memory = memories_of<Kind::recent_newton>;
  std::array<double, full_experts> full_memory = memories_of<Kind::full_newton>;
  double kalman_memory = 0.998, residual_memory = 0.998;
  double bayes_share = 2e-4, simplex_share = 2e-5, top_share = 2e-3;

  // For an event that comes so many ticks after the one before; a tick is the mean time between two events.
  static Pace after(double ticks) {
    Pace out;
    if (ticks == 1.0) return out;
    const auto fade = [&](double memory) { return memory > 0.0 ? exp(ticks * log(memory)) : ticks > 0.0 ? 0.0 : 1.0; };
    for (double& memory : out.label_memory) memory = fade(memory);
    for (double& memory : out.recent_memory) memory = fade(memory);
    for (double& memory : out.full_memory) memory = fade(memory);
    for (double* memory : {&out.kalman_memory, &out.residual_memory}) *memory = fade(*memory);
    for (double* share : {&out.bayes_share, &out.simplex_share, &out.top_share}) *share = 1.0 - fade(1.0 - *share);
    return out;
  }
};

}  // namespace odca::experts
