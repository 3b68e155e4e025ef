// Four lanes at once, as two packs: every element is computed by itself, so no build changes a bit.
#pragma once

#include <cstring>

#include "odca/math/functions.hpp"

namespace odca::bank {

struct Four {
  Pack low{}, high{};

  static Four of(double a, double b, double c, double d) { return {Pack{a, b}, Pack{c, d}}; }
  static Four all(double a) { return of(a, a, a, a); }
  static Four from(const double* p) { return {load(p), load(p + 2)}; }
  void to(double* p) const {
    std::memcpy(p, &low, sizeof low);
    std::memcpy(p + 2, &high, sizeof high);
  }

  friend Four operator+(const Four& a, const Four& b) { return {a.low + b.low, a.high + b.high}; }
  friend Four operator-(const Four& a, const Four& b) { return {a.low - b.low, a.high - b.high}; }
  friend Four operator*(const Four& a, const Four& b) { return {a.low * b.low, a.high * b.high}; }
  friend Four operator/(const Four& a, const Four& b) { return {a.low / b.low, a.high / b.high}; }
  Four& operator+=(const Four& b) { return *this = *this + b; }
};

// An even number of them, in place.
inline void exp_many(int n, double* x) {
  for (int k = 0; k < n; k += 2) {
    const Pack e = exp(load(x + k));
    std::memcpy(x + k, &e, sizeof e);
  }
}
inline void log_many(int n, double* x) {
  for (int k = 0; k < n; k += 2) {
    const Pack l = log(load(x + k));
    std::memcpy(x + k, &l, sizeof l);
  }
}
inline void sigmoid_many(int n, const double* z, double* p) {
  for (int k = 0; k < n; k += 2) {
    const Pack x = load(z + k), e = exp(Pack(-magnitude(x))), a = 1.0 / (1.0 + e);
    const Pack s = select(x >= 0.0, a, Pack(e * a));
    std::memcpy(p + k, &s, sizeof s);
  }
}

}  // namespace odca::bank
