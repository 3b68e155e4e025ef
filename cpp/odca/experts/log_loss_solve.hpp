// lambda of the log loss for several lanes at once, to a few parts in a million.
#pragma once

#include <cmath>
#include <cstring>

#include "odca/problem/losses.hpp"

namespace odca::bank {

// Within a few percent, for a start.
inline double rough_log(double x) {
  return static_cast<double>(to_bits(x) - to_bits(1.0)) * (0.69314718055994530942 / 4503599627370496.0);
}

// lambda of the log loss, label t, for an even number of lanes at once.
inline void solve(const Logistic& loss, int n, const double* p, const double* s, double t, double* out) {
  for (int k = 0; k < n; k += 2) {
    Pack start;
    for (int i = 0; i < 2; ++i) {
      const double at = p[k + i], slope = s[k + i];
      const bool positive = at + slope * (t - 0.5) >= 0.0;
      const double m = positive ? at - slope * (1.0 - t) : -at - slope * t;
      const double z = rough_log(1.0 + slope) - rough_log(1.0 + std::fabs(m));
      start[i] = positive ? z : -z;
    }
    const Pack lambda = loss.lambda_near(start, load(p + k), load(s + k), Pack{t, t});
    std::memcpy(out + k, &lambda, sizeof lambda);
  }
}

}  // namespace odca::bank
