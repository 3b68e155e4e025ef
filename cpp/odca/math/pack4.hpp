// Four doubles at once, as two packs, and functions of arrays. Every element is computed by itself, so no build
// changes a bit.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "odca/math/functions.hpp"

namespace odca {

inline void store(const Pack& x, double* to) { std::memcpy(to, &x, sizeof x); }

struct Pack4 {
  Pack low{}, high{};

  static Pack4 of(double a, double b, double c, double d) { return {Pack{a, b}, Pack{c, d}}; }
  static Pack4 all(double a) { return of(a, a, a, a); }
  static Pack4 from(const double* p) { return {load(p), load(p + 2)}; }
  void to(double* p) const { store(low, p), store(high, p + 2); }

  friend Pack4 operator+(const Pack4& a, const Pack4& b) { return {a.low + b.low, a.high + b.high}; }
  friend Pack4 operator-(const Pack4& a, const Pack4& b) { return {a.low - b.low, a.high - b.high}; }
  friend Pack4 operator*(const Pack4& a, const Pack4& b) { return {a.low * b.low, a.high * b.high}; }
  Pack4& operator+=(const Pack4& b) { return *this = *this + b; }
};

// Calls visit(0), visit(1), ... for each of `Count` packs: numbers known at compile time, so that packs stay in registers.
template <int Count, class Visit>
[[gnu::always_inline]] inline void each_pack4(Visit&& visit) {
  [&]<int... Place>(std::integer_sequence<int, Place...>) {
    (visit(std::integral_constant<int, Place>{}), ...);
  }(std::make_integer_sequence<int, Count>{});
}

// In place.
inline void exp_many(int n, double* x) {
  for (int k = 0; k < n; ++k) x[k] = exp(x[k]);
}
inline void log_many(int n, double* x) {
  for (int k = 0; k < n; ++k) x[k] = log(x[k]);
}
// n is even.
inline void sigmoid_many(int n, const double* z, double* p) {
  for (int k = 0; k < n; k += pack_width) {
    const Pack x = load(z + k), e = exp(Pack(-magnitude(x))), a = 1.0 / (1.0 + e);
    store(select(x >= 0.0, a, Pack(e * a)), p + k);
  }
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
