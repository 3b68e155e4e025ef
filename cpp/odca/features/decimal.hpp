// The double nearest to a decimal number of any length, whatever the language settings of the process are.
#pragma once

#include <charconv>
#include <limits>
#include <string>
#include <system_error>

#ifndef __cpp_lib_to_chars  // LLVM's standard library has from_chars of doubles since version 20 only
#include <clocale>
#include <cstdlib>
#ifdef __APPLE__
#include <xlocale.h>
#endif
#endif

namespace odca::text {

// [from, end) is digits [. digits] [e [+-] digits], without a sign. Too large: infinite. Too small: 0.
// `magnitude` is the exponent of a power of ten that is larger, by a factor of ten at most.
inline double nearest_double(const char* from, const char* end, [[maybe_unused]] long long magnitude) {
#ifdef __cpp_lib_to_chars
  double x = 0.0;
  if (std::from_chars(from, end, x).ec != std::errc::result_out_of_range) return x;
  return magnitude > 0 ? std::numeric_limits<double>::infinity() : 0.0;  // from_chars does not tell which
#else
  static const locale_t point_is_a_point = newlocale(LC_NUMERIC_MASK, "C", nullptr);
  return strtod_l(std::string(from, end).c_str(), nullptr, point_is_a_point);
#endif
}

}  // namespace odca::text
