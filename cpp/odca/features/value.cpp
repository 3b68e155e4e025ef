#include "odca/features/value.hpp"

#include "odca/features/block.hpp"
#include "odca/features/quoting.hpp"

namespace odca::text {

std::string category_of(double number) {
  if (std::abs(number) < exact_below && number == std::trunc(number))
    return std::to_string(static_cast<std::int64_t>(number));
  return show(number);
}

std::string category_of(const Value& value) {
  if (value.type == Value::Type::boolean) return value.number != 0.0 ? "true" : "false";
  return value.text.empty() ? category_of(value.number) : std::string(value.text);
}

bool is_infinity(std::string_view text) {
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) text.remove_prefix(1);
  for (const std::string_view word : {"inf", "Inf", "INF", "infinity", "Infinity", "INFINITY"})
    if (text == word) return true;
  return false;
}

DateCheck moment_of(const Value& value, bool day_first, Moment& out) {
  double number = value.number;
  switch (value.type) {
    case Value::Type::date:
      out = value.moment;
      return out.seconds >= first_moment && out.seconds < behind_last_moment ? DateCheck::date : DateCheck::impossible;
    case Value::Type::text:
      if (!is_number(value.text, number)) return read_date(value.text, out, day_first);
      return date_of_number(number, out);
    case Value::Type::number: return date_of_number(number, out);
    default: return DateCheck::other;
  }
}

Moment read_moment(const std::string& what, const Value& value, bool day_first, const char* remedy,
                   std::string_view field) {
  Moment moment;
  const DateCheck found = moment_of(value, day_first, moment);
  if (found == DateCheck::date) return moment;
  const std::string written = value.type == Value::Type::text ? std::string(value.text) : category_of(value);
  if (found == DateCheck::other)
    throw Fault{what + " must be a date such as 2024-07-31 or 2024-07-31T13:05:00; got " + shown(written), value.where,
                remedy, std::string(field)};
  if (value.type != Value::Type::date)
    throw Fault{"there is no such date in " + what + ": " + shown(written), value.where,
                written.find('/') == std::string::npos ? "" : "Say whether the day comes first ({day_first}).", ""};
  throw Fault{"there is no such date in " + what + ": " + show(value.moment.seconds) +
                  " seconds since 1970 are not in the years 0 to 9999",
              value.where};
}

}  // namespace odca::text
