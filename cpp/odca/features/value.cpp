#include "odca/features/value.hpp"

#include <algorithm>
#include <cstring>

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

bool is_missing_word(std::string_view cell) {
  static constexpr std::string_view words[] = {"NA",  "NaN",      "nan",    "?",       "null",    "NULL",    "None",
                                               "N/A", "n/a",      "#N/A",   "<NA>",    "NaT",     "-nan",    "-NaN",
                                               "#NA", "#N/A N/A", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"};
  if (cell.empty()) return true;
  constexpr std::size_t longest = 8;
  if (cell.size() > longest || !std::strchr("Nn?#<-1", cell.front())) return false;
  return std::find(std::begin(words), std::end(words), cell) != std::end(words);
}

Moment read_moment(const std::string& what, const std::string& hint, const Value& value) {
  Moment moment = value.moment;
  if (value.type == Value::Type::text) switch (read_date(value.text, moment)) {
      case DateCheck::date: return moment;
      case DateCheck::impossible:
        throw Fault{"there is no such date in " + what + ": " + shown(value.text), value.where};
      default:
        throw Fault{what + " must be a date such as 2024-07-31 or 2024-07-31T13:05:00; got " + shown(value.text) + hint,
                    value.where};
    }
  if (!(moment.seconds >= first_moment && moment.seconds < behind_last_moment))
    throw Fault{"there is no such date in " + what + ": " + show(moment.seconds) +
                    " seconds since 1970 are not in the years 0 to 9999",
                value.where};
  return moment;
}

}  // namespace odca::text
