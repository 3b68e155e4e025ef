// Errors are part of the interface: what, where, what came, what to do.
#pragma once

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace odca {

// The caller's data or request is at fault; the model is as it was. Becomes a ValueError.
struct InputError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// A number as a person would write it: the shortest form that reads back the same.
inline std::string show(double x) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x).ptr;
  return std::string(buffer, end);
}

inline std::string at_row(std::int64_t row) { return "row " + std::to_string(row); }

}  // namespace odca
