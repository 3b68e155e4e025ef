// Questions about arrays that come from outside: saved states above all.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace odca {

inline bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}
inline bool none_negative(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return x >= 0.0; });
}

// No number lies outside -limit ... limit, or is none.
inline bool all_within(std::span<const double> values, double limit) {
  return std::all_of(values.begin(), values.end(), [=](double x) { return std::fabs(x) <= limit; });
}

}  // namespace odca
