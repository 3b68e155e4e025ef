// Functions of arrays. Every element is computed by itself, so no level of instruction sets changes a bit.
#pragma once

#include <algorithm>
#include <cstdint>

#include "odca/math/functions.hpp"

namespace odca {

// In place.
inline void exp_many(int n, double* x) {
  for (int k = 0; k < n; ++k) x[k] = exp(x[k]);
}
inline void log_many(int n, double* x) {
  for (int k = 0; k < n; ++k) x[k] = log(x[k]);
}
inline void sigmoid_many(int n, const double* z, double* p) {
  for (int k = 0; k < n; ++k) {
    const double e = exp(-magnitude(z[k])), a = 1.0 / (1.0 + e);
    p[k] = select(z[k] >= 0.0, a, e * a);
  }
}

inline bool all_finite(const double* x, int n) {
  std::int64_t others = 0;  // as wide as a double, so that packs of them can be counted
  for (int k = 0; k < n; ++k) others |= x[k] - x[k] == 0.0 ? 0 : 1;
  return others == 0;
}

inline void softmax(int n, double* z) {
  double high = -infinity, total = 0.0;
  for (int c = 0; c < n; ++c) high = std::max(high, z[c]);
  for (int c = 0; c < n; ++c) z[c] -= high;
  exp_many(n, z);
  for (int c = 0; c < n; ++c) total += z[c];
  for (int c = 0; c < n; ++c) z[c] /= total;
}

}  // namespace odca
