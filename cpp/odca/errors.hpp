// Errors are part of the interface: what, where, what came, what to do.
#pragma once

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace odca {

// One event of a call: its place there, and how a message names it.
struct EventPlace {
  std::int64_t row;
  std::string name;
  std::int64_t column = -1;  // of X, the intercept not counted; -1 if no single value is at fault
};

inline EventPlace at_row(std::int64_t row) { return {row, "row " + std::to_string(row)}; }
inline EventPlace at_row_of_x(std::int64_t row, std::int64_t column = -1) {
  return {row, "row " + std::to_string(row) + " of X", column};
}

// The caller's data or request is at fault; the model is as it was. Becomes an odca.errors.InputError, which is a ValueError.
struct InputError : std::invalid_argument {
  explicit InputError(const std::string& message) : std::invalid_argument(message), event_message(message) {}

  // One event is at fault, which the message names: "<before>row 3<after>".
  InputError(const std::string& before, const EventPlace& place, const std::string& after)
      : std::invalid_argument(before + place.name + after),
        row(place.row),
        column(place.column),
        event_message(before + "the event" + after) {}

  std::int64_t row = -1, column = -1;
  std::string event_message;  // for a caller that names the event itself, as a line of a file
};

// A number as a person would write it: the shortest form that reads back the same.
inline std::string show(double x) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x).ptr;
  return std::string(buffer, end);
}

}  // namespace odca
