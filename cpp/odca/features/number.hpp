// Decimal numbers out of text, correctly rounded.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "odca/features/decimal.hpp"

namespace odca::text {

constexpr bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Eight characters that are to be digits, as a number; the first of them is the lowest byte.
namespace eight {

inline std::uint64_t load(const char* from) {
  std::uint64_t x;
  std::memcpy(&x, from, 8);
  if constexpr (std::endian::native == std::endian::big) x = __builtin_bswap64(x);
  return x ^ 0x3030303030303030;  // digits are 0 to 9 now
}

// A high bit in every byte that is no digit; but those above the first of them mean nothing.
inline std::uint64_t others(std::uint64_t x) { return ((x + 0x7676767676767676) | x) & 0x8080808080808080; }

// The first `count` of them moved to the end, zeros before them. 1 to 8.
inline std::uint64_t only(std::uint64_t x, std::int64_t count) { return x << (64 - 8 * count); }

// Three multiplications add up pairs, fours and eights.
inline std::uint64_t number(std::uint64_t x) {
  x = x * 10 + (x >> 8);
  return (((x & 0xff000000ff) * 0xf424000000064 + (x >> 16 & 0xff000000ff) * 0x271000000001) >> 32) & 0xffffffff;
}

}  // namespace eight

inline constexpr std::uint64_t whole_powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

// Appends the digits from `p` on to the number m (which wraps around beyond 19) and returns what follows them.
inline const char* read_digits(const char* p, const char* const end, std::uint64_t& m) {
  while (end - p >= 8) {
    const std::uint64_t x = eight::load(p), others = eight::others(x);
    const int digits = others ? std::countr_zero(others) / 8 : 8;
    if (digits == 0) return p;
    m = m * whole_powers[digits] + eight::number(eight::only(x, digits));
    p += digits;
    if (digits < 8) return p;
  }
  for (; p != end && is_digit(*p); ++p) m = m * 10 + static_cast<std::uint64_t>(*p - '0');
  return p;
}

inline constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                           1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// [-] d.ddd or d, as most numbers of text are written: one digit, and perhaps a point and up to eight more. False if the `length`
// characters are anything else. The result is that of read_number. So many characters from `from` on must be readable:
inline constexpr std::int64_t read_ahead = 11;
inline bool read_plain(const char* from, std::int64_t length, double& out) {
  const bool negative = *from == '-';
  from += negative, length -= negative;
  const std::uint64_t first = static_cast<unsigned char>(from[0] - '0');
  const std::int64_t behind = length - 2;
  if (first > 9) return false;
  double x = static_cast<double>(first);
  if (length != 1) {
    if (behind < 1 || behind > 8 || from[1] != '.') return false;
    const std::uint64_t rest = eight::only(eight::load(from + 2), behind);
    if (eight::others(rest)) return false;
    const std::uint64_t m = first * whole_powers[behind] + eight::number(rest);
    x = static_cast<double>(m) / powers_of_ten[behind];
  }
  out = negative ? -x : x;
  return true;
}

// Reads [+-] digits [. digits] [e [+-] digits] and returns what follows it; `from` itself if there is no number there.
// A number that is too large for a double becomes infinite, one that is too small 0.
//
// Up to 19 digits make an exact integer m below 2^64. If m is at most 2^53 and the power of ten at most 22, both are exact
// doubles, and one multiplication or division rounds once: the result is the nearest double. All else goes to nearest_double().
inline const char* read_number(const char* const from, const char* const end, double& out) {
  const char* p = from;
  const bool negative = p != end && *p == '-';
  if (p != end && (*p == '-' || *p == '+')) ++p;
  const char* const unsigned_part = p;
  std::uint64_t m = 0;
  for (; p != end && is_digit(*p); ++p) m = m * 10 + static_cast<std::uint64_t>(*p - '0');
  std::int64_t digits = p - unsigned_part, exponent = 0;
  if (p != end && *p == '.') {
    const char* const point = p;
    p = read_digits(p + 1, end, m);
    exponent = point + 1 - p;
    digits -= exponent;
  }
  if (digits == 0) return from;
  if (p != end && (*p | 0x20) == 'e') {
    const char* q = p + 1;
    const bool down = q != end && *q == '-';
    if (q != end && (*q == '-' || *q == '+')) ++q;
    if (q != end && is_digit(*q)) {
      std::int64_t e = 0;
      for (; q != end && is_digit(*q); ++q)
        if (e < 1'000'000'000'000'000) e = e * 10 + (*q - '0');
      exponent += down ? -e : e;
      p = q;
    }
  }
  if (digits <= 19 && m <= (std::uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
    const double x = static_cast<double>(m);
    const double scaled = exponent < 0 ? x / powers_of_ten[-exponent] : x * powers_of_ten[exponent];
    out = negative ? -scaled : scaled;
    return p;
  }
  for (const char* q = unsigned_part; q != p && (*q == '0' || *q == '.'); ++q) digits -= *q == '0';
  const double x = nearest_double(unsigned_part, p, digits + exponent);
  out = negative ? -x : x;
  return p;
}

}  // namespace odca::text
