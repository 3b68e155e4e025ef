// lambda of the log loss for several experts at once, to a few parts in a million: enough for a step, at half the time.
//
// The iteration is the core's (Logistic::lambda_near); only the first guess is made here. lambda_many() of problem/losses.hpp solves
// to the last digits, which would change results.
#pragma once

#include <cmath>

#include "odca/math/pack4.hpp"
#include "odca/problem/losses.hpp"

namespace odca::experts {

// Within a few percent.
inline double rough_log(double x) {
  return static_cast<double>(to_bits(x) - to_bits(1.0)) * (0.69314718055994530942 / 4503599627370496.0);
}

// For an even number of experts; t is the label, 0 or 1.
inline void solve(const Logistic& loss, int n, const double* p, const double* s, double t, double* lambda) {
  for (int k = 0; k < n; k += pack_width) {
    Pack start;
    for (int i = 0; i < pack_width; ++i) {
      const double at = p[k + i], slope = s[k + i];
      const bool positive = at + slope * (t - 0.5) >= 0.0;
      const double m = positive ? at - slope * (1.0 - t) : -at - slope * t;
      const double z = rough_log(1.0 + slope) - rough_log(1.0 + std::fabs(m));
      start[i] = positive ? z : -z;
    }
    store(loss.lambda_near(start, load(p + k), load(s + k), Pack{t, t}), lambda + k);
  }
}

}  // namespace odca::experts
