// A value of an event before it becomes features, wherever it comes from: a cell, a token of JSON, an object of Python.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "odca/errors.hpp"
#include "odca/features/dates.hpp"

namespace odca::text {

struct Value {
  enum class Type { missing, number, boolean, text, date };

  Type type = Type::missing;
  double number = 0.0;          // of a boolean 1 or 0. NaN is a missing value
  std::string_view text = {};   // of a number: its digits, if it is a whole one that a double may not hold
  Moment moment = {};           // of a date
  std::string_view where = {};  // the part of the line that a fault shows and points to

  static Value of_number(double number, std::string_view where = {}) { return {Type::number, number, {}, {}, where}; }
  static Value of_boolean(bool truth, std::string_view where = {}) {
    return {Type::boolean, truth ? 1.0 : 0.0, {}, {}, where};
  }
  static Value of_text(std::string_view text, std::string_view where = {}) {
    return {Type::text, 0.0, text, {}, where};
  }
  static Value of_date(Moment moment, std::string_view where = {}) { return {Type::date, 0.0, {}, moment, where}; }
  static Value none(std::string_view where = {}) { return {Type::missing, 0.0, {}, {}, where}; }

  bool is_missing() const {
    return type == Type::missing || (type == Type::number && std::isnan(number)) ||
           (type == Type::date && std::isnan(moment.seconds));
  }
};

// Whole numbers below are all doubles.
inline constexpr double exact_below = 9007199254740992.0;

// A number as the name of a category: 3 and 3.0 are both "3".
std::string category_of(double number);
// The same of a number or a boolean.
std::string category_of(const Value& value);

// true, True, TRUE and the same of false: 1 and 0. Nothing else is a boolean.
inline bool read_boolean(std::string_view text, double& out) {
  for (const std::string_view word : {"true", "True", "TRUE"})
    if (text == word) return out = 1.0, true;
  for (const std::string_view word : {"false", "False", "FALSE"})
    if (text == word) return out = 0.0, true;
  return false;
}

// The whole text as a number, which may be too large for a double: infinite.
inline bool is_number(std::string_view text, double& out) {
  const char* const end = text.data() + text.size();
  return !text.empty() && read_number(text.data(), end, out) == end;
}

// Whether a text says that a number is infinite. A model cannot use it; it is no name of a class either.
bool is_infinity(std::string_view text);

// A date, or a text or a number that is to be one. `day_first` is the order of 7/8/2024.
DateCheck moment_of(const Value& value, bool day_first, Moment& out);
// The same; a Fault that speaks of `what`, with this remedy for the `field`, if there is none.
Moment read_moment(const std::string& what, const Value& value, bool day_first, const char* remedy = "",
                   std::string_view field = {});

}  // namespace odca::text
