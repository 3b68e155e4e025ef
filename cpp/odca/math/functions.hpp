// Our own exp and log, for two reasons.
//
// They are branch-free, so that one source serves both a double and a pack of lanes; and they
// use only +, -, *, / in a fixed order, so that a model has the same bits on every machine (libm picks
// FMA variants at run time). Accurate to about 2 ulp, checked by cpp/tests/math_test.cpp.
//
// Every function is a template over V: `double`, or `Pack` (two doubles, a GCC/Clang vector type
// that every 64-bit machine has, with the same result in each element).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace odca {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double tiny = std::numeric_limits<double>::min();  // smallest normal number

inline constexpr int pack_width = 2;
using Pack = double __attribute__((vector_size(8 * pack_width)));
using PackBits = std::int64_t __attribute__((vector_size(8 * pack_width)));

// The widest pack of this build: four doubles where the registers are that wide.
#ifdef __AVX2__
using WidePack = double __attribute__((vector_size(32)));
using WidePackBits = std::int64_t __attribute__((vector_size(32)));
#else
using WidePack = Pack;
#endif

template <class V>
inline constexpr int width_of = sizeof(V) / sizeof(double);

template <class V>
struct Bits;
template <>
struct Bits<double> {
  using type = std::int64_t;
};
template <>
struct Bits<Pack> {
  using type = PackBits;
};

#ifdef __AVX2__
template <>
struct Bits<WidePack> {
  using type = WidePackBits;
};
#endif

template <class V>
using bits_t = typename Bits<V>::type;

inline std::int64_t to_bits(double x) { return std::bit_cast<std::int64_t>(x); }
inline double from_bits(std::int64_t b) { return std::bit_cast<double>(b); }
inline PackBits to_bits(const Pack& x) { return (PackBits)x; }
inline Pack from_bits(const PackBits& b) { return (Pack)b; }

inline bool any(bool condition) { return condition; }
inline bool any(const PackBits& condition) {
  std::int64_t joined = 0;
  for (int i = 0; i < pack_width; ++i) joined |= condition[i];
  return joined != 0;
}
inline bool all(bool condition) { return condition; }
inline bool all(const PackBits& condition) {
  std::int64_t joined = -1;
  for (int i = 0; i < pack_width; ++i) joined &= condition[i];
  return joined != 0;
}

#ifdef __AVX2__
inline WidePackBits to_bits(const WidePack& x) { return (WidePackBits)x; }
inline WidePack from_bits(const WidePackBits& b) { return (WidePack)b; }
inline bool any(const WidePackBits& condition) { return _mm256_movemask_pd((__m256d)condition) != 0; }
inline bool all(const WidePackBits& condition) { return _mm256_movemask_pd((__m256d)condition) == 15; }
inline WidePack select(const WidePackBits& condition, const WidePack& a, const WidePack& b) {
  return condition ? a : b;
}
inline WidePack square_root(const WidePack& x) { return (WidePack)_mm256_sqrt_pd((__m256d)x); }
#endif

template <class V>
inline V broadcast(double x) {
  return V{} + x;
}

template <class V = Pack>
inline V load(const double* from) {
  V out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

template <class V>
inline void store(const V& numbers, double* to) {
  std::memcpy(to, &numbers, sizeof numbers);
}

// a where the condition holds, else b, without a branch: for conditions that branch prediction cannot guess.
inline double select(bool condition, double a, double b) {
  const std::int64_t mask = -static_cast<std::int64_t>(condition);
  return from_bits((to_bits(a) & mask) | (to_bits(b) & ~mask));
}
inline Pack select(const PackBits& condition, const Pack& a, const Pack& b) { return condition ? a : b; }

inline double square_root(double x) { return std::sqrt(x); }
inline Pack square_root(const Pack& x) { return Pack{std::sqrt(x[0]), std::sqrt(x[1])}; }

template <class V>
inline V minimum(const V& a, const V& b) {
  return a < b ? a : b;
}
template <class V>
inline V maximum(const V& a, const V& b) {
  return a > b ? a : b;
}
template <class V>
inline V clip(const V& x, const V& lo, const V& hi) {
  return minimum(maximum(x, lo), hi);
}
template <class V>
inline V magnitude(const V& x) {
  return maximum(x, -x);
}

namespace detail {
inline constexpr double ln2_high = 0x1.62e42fefa38p-1;  // the leading bits of ln 2: k * ln2_high is exact
inline constexpr double ln2_low = 0x1.ef35793c7673p-45;
inline constexpr double log2_e = 0x1.71547652b82fep+0;
inline constexpr double round_to_integer = 0x1.8p52;  // adding it leaves the nearest integer in the low bits

// e^r - 1 - r for |r| <= ln(2)/2: the Taylor polynomial of degree 13 (remainder 4e-18), summed as a tree.
template <class V>
inline V exp_tail(const V& r) {
  const V r2 = r * r, r4 = r2 * r2;
  const V b = 0.5 + r * (1.0 / 6), c = 1.0 / 24 + r * (1.0 / 120), d = 1.0 / 720 + r * (1.0 / 5040);
  const V e = 1.0 / 40320 + r * (1.0 / 362880), f = 1.0 / 3628800 + r * (1.0 / 39916800);
  const V g = 1.0 / 479001600 + r * (1.0 / 6227020800.0);
  return r2 * b + r4 * ((c + r2 * d) + r4 * ((e + r2 * f) + r4 * g));
}
template <class V>
inline V exp_reduced(const V& r) {
  return (1.0 + r) + exp_tail(r);
}
}  // namespace detail

// e^x; exactly 0 below -707 and infinity above 709.7.
template <class V>
inline V exp(const V& x) {
  const V inside = clip(x, broadcast<V>(-707.0), broadcast<V>(709.7));
  const V shifted = inside * detail::log2_e + detail::round_to_integer;
  const V k = shifted - detail::round_to_integer;
  const V r = (inside - k * detail::ln2_high) - k * detail::ln2_low;
  // Twice e^r 2^(k-1): k may be 1024, one more than the exponent field holds.
  const V half = from_bits(to_bits(detail::exp_reduced(r)) + ((to_bits(shifted) - 1) << 52));
  const V bounded = x > 709.7 ? broadcast<V>(infinity) : 2.0 * half;
  return x < -707.0 ? broadcast<V>(0.0) : bounded;
}

// e^x for |x| <= 700: the same number, with nothing to bound.
template <class V>
inline V exp_near(const V& x) {
  const V shifted = x * detail::log2_e + detail::round_to_integer;
  const V k = shifted - detail::round_to_integer;
  const V r = (x - k * detail::ln2_high) - k * detail::ln2_low;
  return from_bits(to_bits(detail::exp_reduced(r)) + (to_bits(shifted) << 52));
}

// log x for x > 0 (subnormal numbers too); -infinity at +0.
//
// x = 2^k m with m in [sqrt(1/2), sqrt 2); log m = 2 artanh(s), s = (m-1)/(m+1), |s| <= 0.172.
template <class V>
inline V log(const V& x) {
  const auto is_small = x < tiny;
  const V scaled = is_small ? x * 0x1p54 : x;
  const bits_t<V> offset = to_bits(scaled) - to_bits(0x1.6a09e667f3bcdp-1);  // sqrt(1/2)
  const bits_t<V> exponent = offset >> 52;
  const V m = from_bits(to_bits(scaled) - (exponent << 52));
  const V k_unscaled = from_bits(exponent + to_bits(detail::round_to_integer)) - detail::round_to_integer;
  const V k = is_small ? k_unscaled - 54.0 : k_unscaled;
  const V f = m - 1.0;
  const V s = f / (2.0 + f);
  const V z = s * s, z2 = z * z, z4 = z2 * z2;
  const V a = 1.0 / 3 + z * (1.0 / 5), b = 1.0 / 7 + z * (1.0 / 9), c = 1.0 / 11 + z * (1.0 / 13);
  const V d = 1.0 / 15 + z * (1.0 / 17), e = 1.0 / 19 + z * (1.0 / 21);
  const V tail = z * ((a + z2 * b) + z4 * ((c + z2 * d) + z4 * e));
  const V result = k * detail::ln2_high + (2.0 * s + (2.0 * s * tail + k * detail::ln2_low));
  return x > 0.0 ? result : broadcast<V>(-infinity);
}

// e^x - 1 for |x| <= 1/3, accurate for small x.
inline double small_expm1(double x) { return x + detail::exp_tail(x); }

// log(1 + x) for x > -1/2, accurate for small x.
template <class V>
inline V log1p(const V& x) {
  const V u = 1.0 + x;
  return log(u) + (x - (u - 1.0)) / u;
}

// 2^x for x <= 0, the decay of x half-lives; 0 below -1000, where nothing of the past is left.
inline double exp2_decay(double x) {
  if (x < -1000.0) return 0.0;
  const double k = (x + detail::round_to_integer) - detail::round_to_integer;
  const double fraction = detail::exp_reduced((x - k) * 0.69314718055994530942);
  return std::ldexp(fraction, static_cast<int>(k));
}

// base^n by repeated squaring: multiplications only, so the same on every machine.
inline double power(double base, std::uint64_t n) {
  double result = 1.0;
  for (; n > 0; n >>= 1, base *= base)
    if (n & 1) result *= base;
  return result;
}

// The midpoint of two numbers in the ordering of doubles: bisecting this way takes at most 64 steps.
inline double middle_double(double a, double b) {
  const auto rank = [](double x) {
    const std::int64_t bits = to_bits(x);
    return bits < 0 ? std::numeric_limits<std::int64_t>::min() - bits : bits;
  };
  const std::int64_t low = rank(a), middle = low + ((rank(b) / 2) - (low / 2));
  return from_bits(middle < 0 ? std::numeric_limits<std::int64_t>::min() - middle : middle);
}

// The Wright omega function: the w > 0 with w + log w = x.
//
// Newton's iteration on log w, which is convex and increasing in it, from a start that is accurate in both tails.
inline double wright_omega(double x) {
  double u = x <= 1.0 ? x - log1p(exp(x)) * 0.5 : log(x - log(x) + log(x) / x);  // u = log w
  for (int iteration = 0; iteration < 8; ++iteration) {
    const double w = exp(u);
    const double residual = (u - x) + w;
    const double step = residual / (1.0 + w);
    // Halley's correction makes the convergence cubic.
    const double corrected = step / (1.0 - 0.5 * step * w / (1.0 + w));
    u -= corrected;
    if (std::fabs(corrected) <= 1e-6 * (1.0 + std::fabs(u))) break;
  }
  const double w = exp(u);
  return w - w * (((u - x) + w) / (1.0 + w));  // one step in w itself: log w is only known to its own ulp
}

// When a scale falls below this, a power of two is moved from it into the numbers that it multiplies, which is exact.
inline constexpr double smallest_scale = 0x1p-64;

struct PowerOfTwo {
  int exponent;
  // In two factors, because 2^exponent itself may lie below the smallest double.
  double once = std::ldexp(1.0, exponent / 2), again = std::ldexp(1.0, exponent - exponent / 2);

  void multiply(double& x) const { x = x * once * again; }
};

// scale <- mantissa of scale * factor; returns the power of two that was split off.
inline PowerOfTwo split_scale(double& scale, double factor) {
  int scale_exponent = 0, factor_exponent = 0;
  scale = std::frexp(scale, &scale_exponent) * std::frexp(factor, &factor_exponent);
  return PowerOfTwo{scale_exponent + factor_exponent};
}

}  // namespace odca
