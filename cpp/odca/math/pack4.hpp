// Four doubles at once: one register at the level AVX2, two elsewhere (level/level.hpp). Every element is computed by itself, so no
// level changes a bit.
//
// For sources that are compiled for every level, and for headers that only these include. The namespaces keep the linker from
// taking one for the other.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "odca/math/functions.hpp"

namespace odca {

#ifdef __AVX2__
inline namespace wide {

using Four = double __attribute__((vector_size(32)));
using FourBits = std::int64_t __attribute__((vector_size(32)));

struct Mask4 {
  FourBits bits;

  friend Mask4 operator&(const Mask4& a, const Mask4& b) { return {a.bits & b.bits}; }
  friend Mask4 operator|(const Mask4& a, const Mask4& b) { return {a.bits | b.bits}; }
  // As the lowest four bits of a number.
  friend unsigned bits_of(const Mask4& mask) { return static_cast<unsigned>(_mm256_movemask_pd((__m256d)mask.bits)); }
  friend bool any(const Mask4& mask) { return bits_of(mask) != 0; }
};

struct Pack4 {
  Four four{};

  static Pack4 of(double a, double b, double c, double d) { return {Four{a, b, c, d}}; }
  static Pack4 all(double a) { return {Four{a, a, a, a}}; }
  static Pack4 from(const double* p) {
    Pack4 out;
    std::memcpy(&out.four, p, sizeof out.four);
    return out;
  }
  void to(double* p) const { std::memcpy(p, &four, sizeof four); }
  double operator[](int n) const { return four[n]; }

  friend Pack4 operator+(const Pack4& a, const Pack4& b) { return {a.four + b.four}; }
  friend Pack4 operator-(const Pack4& a, const Pack4& b) { return {a.four - b.four}; }
  friend Pack4 operator*(const Pack4& a, const Pack4& b) { return {a.four * b.four}; }
  friend Pack4 operator/(const Pack4& a, const Pack4& b) { return {a.four / b.four}; }
  friend Mask4 operator>(const Pack4& a, const Pack4& b) { return {a.four > b.four}; }
  friend Mask4 operator>=(const Pack4& a, const Pack4& b) { return {a.four >= b.four}; }
  friend Mask4 operator==(const Pack4& a, const Pack4& b) { return {a.four == b.four}; }
  friend Mask4 operator!=(const Pack4& a, const Pack4& b) { return {a.four != b.four}; }
  Pack4& operator+=(const Pack4& b) { return *this = *this + b; }

  friend Pack4 select(const Mask4& mask, const Pack4& a, const Pack4& b) { return {mask.bits ? a.four : b.four}; }
  friend Pack4 square_root(const Pack4& x) { return {(Four)_mm256_sqrt_pd((__m256d)x.four)}; }
  friend Pack low_half(const Pack4& x) { return __builtin_shufflevector(x.four, x.four, 0, 1); }
  friend Pack high_half(const Pack4& x) { return __builtin_shufflevector(x.four, x.four, 2, 3); }
};

// Rows become columns.
[[gnu::always_inline]] inline void transpose(Pack4& a, Pack4& b, Pack4& c, Pack4& d) {
  const Four ab_even = __builtin_shufflevector(a.four, b.four, 0, 4, 2, 6);
  const Four ab_odd = __builtin_shufflevector(a.four, b.four, 1, 5, 3, 7);
  const Four cd_even = __builtin_shufflevector(c.four, d.four, 0, 4, 2, 6);
  const Four cd_odd = __builtin_shufflevector(c.four, d.four, 1, 5, 3, 7);
  a.four = __builtin_shufflevector(ab_even, cd_even, 0, 1, 4, 5);
  b.four = __builtin_shufflevector(ab_odd, cd_odd, 0, 1, 4, 5);
  c.four = __builtin_shufflevector(ab_even, cd_even, 2, 3, 6, 7);
  d.four = __builtin_shufflevector(ab_odd, cd_odd, 2, 3, 6, 7);
}

}  // namespace wide
#else
inline namespace narrow {

struct Mask4 {
  PackBits low, high;

  friend Mask4 operator&(const Mask4& a, const Mask4& b) { return {a.low & b.low, a.high & b.high}; }
  friend Mask4 operator|(const Mask4& a, const Mask4& b) { return {a.low | b.low, a.high | b.high}; }
  friend unsigned bits_of(const Mask4& mask) {
    return static_cast<unsigned>((mask.low[0] & 1) | (mask.low[1] & 2) | (mask.high[0] & 4) | (mask.high[1] & 8));
  }
  friend bool any(const Mask4& mask) { return odca::any(PackBits(mask.low | mask.high)); }
};

struct Pack4 {
  Pack low{}, high{};

  static Pack4 of(double a, double b, double c, double d) { return {Pack{a, b}, Pack{c, d}}; }
  static Pack4 all(double a) { return of(a, a, a, a); }
  static Pack4 from(const double* p) { return {load(p), load(p + 2)}; }
  void to(double* p) const { std::memcpy(p, &low, sizeof low), std::memcpy(p + 2, &high, sizeof high); }
  double operator[](int n) const { return n < 2 ? low[n] : high[n - 2]; }

  friend Pack4 operator+(const Pack4& a, const Pack4& b) { return {a.low + b.low, a.high + b.high}; }
  friend Pack4 operator-(const Pack4& a, const Pack4& b) { return {a.low - b.low, a.high - b.high}; }
  friend Pack4 operator*(const Pack4& a, const Pack4& b) { return {a.low * b.low, a.high * b.high}; }
  friend Pack4 operator/(const Pack4& a, const Pack4& b) { return {a.low / b.low, a.high / b.high}; }
  friend Mask4 operator>(const Pack4& a, const Pack4& b) { return {a.low > b.low, a.high > b.high}; }
  friend Mask4 operator>=(const Pack4& a, const Pack4& b) { return {a.low >= b.low, a.high >= b.high}; }
  friend Mask4 operator==(const Pack4& a, const Pack4& b) { return {a.low == b.low, a.high == b.high}; }
  friend Mask4 operator!=(const Pack4& a, const Pack4& b) { return {a.low != b.low, a.high != b.high}; }
  Pack4& operator+=(const Pack4& b) { return *this = *this + b; }

  friend Pack4 select(const Mask4& mask, const Pack4& a, const Pack4& b) {
    return {odca::select(mask.low, a.low, b.low), odca::select(mask.high, a.high, b.high)};
  }
  friend Pack4 square_root(const Pack4& x) { return {odca::square_root(x.low), odca::square_root(x.high)}; }
  friend Pack low_half(const Pack4& x) { return x.low; }
  friend Pack high_half(const Pack4& x) { return x.high; }
};

[[gnu::always_inline]] inline void transpose(Pack4& a, Pack4& b, Pack4& c, Pack4& d) {
  const auto turn = [](Pack& x, Pack& y) {
    const Pack first = __builtin_shufflevector(x, y, 0, 2), second = __builtin_shufflevector(x, y, 1, 3);
    x = first, y = second;
  };
  turn(a.low, b.low), turn(a.high, b.high), turn(c.low, d.low), turn(c.high, d.high);
  std::swap(a.high, c.low), std::swap(b.high, d.low);
}

}  // namespace narrow
#endif

// The largest whole numbers that are not above x, for 0 <= x < 2^51.
inline Pack4 floor_of(const Pack4& x) {
  const Pack4 whole = Pack4::all(0x1p52), rounded = (x + whole) - whole;
  return select(rounded > x, rounded - Pack4::all(1.0), rounded);
}

// In a fixed order.
inline double sum(const Pack4& x) { return (x[0] + x[1]) + (x[2] + x[3]); }

// Calls visit(0), visit(1), ... for each of `Count` packs: numbers known at compile time, so that packs stay in registers.
template <int Count, class Visit>
[[gnu::always_inline]] inline void each_pack4(Visit&& visit) {
  [&]<int... Place>(std::integer_sequence<int, Place...>) {
    (visit(std::integral_constant<int, Place>{}), ...);
  }(std::make_integer_sequence<int, Count>{});
}

}  // namespace odca
