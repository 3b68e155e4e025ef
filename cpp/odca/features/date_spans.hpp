// Which days the dates of the learned events lie in, by field: what the trend of a date is known for.
//
// The trend of a field is a line, and outside of the learned days nobody knows where it goes. So a prediction holds it flat there: a
// date after the last learned one has the trend of that. In the same way, a month (a weekday, an hour) that does not occur between the
// first and the last learned date counts as that of the nearest one: no weight is known for it. An event without a date has the trend of
//
//   the middle of the learned days     when it is predicted by a model whose events all had a date
//   the `reference`, a fixed day       otherwise, both when it is learned and when it is predicted
//
// A field that not every learned event had is not missing where it is absent: such an event has no trend, as when it was learned.
//
// Counts are sums and ends are minima and maxima: spans of several blocks, or models, are joined in any order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "odca/features/dates.hpp"

namespace odca::text {

struct DateSpan {
  std::string field;
  std::optional<double> reference;  // in seconds since 1970, like all of them
  double first = 0.0, last = 0.0;   // of the learned dates, if there are any
  std::int64_t count = 0;           // of the learned events that have a date
  std::int64_t missing = 0;         // of those where it is missing

  double held(double seconds) const { return count > 0 ? std::clamp(seconds, first, last) : seconds; }
  double middle() const { return first + 0.5 * (last - first); }
  CalendarParts held_calendar(double seconds) const;

  void join(const DateSpan& other) {
    if (!reference) reference = other.reference;
    if (other.count > 0) {
      first = count > 0 ? std::min(first, other.first) : other.first;
      last = count > 0 ? std::max(last, other.last) : other.last;
    }
    count += other.count, missing += other.missing;
  }
};

// Months, days and hours are numbered consecutively, so that the learned ones are a range; `cycle` many of them have different names.
inline CalendarParts DateSpan::held_calendar(double seconds) const {
  const CalendarParts own = calendar(seconds);
  if (held(seconds) == seconds) return own;
  const CalendarParts begin = calendar(first), nearest = calendar(held(seconds));
  const auto occurs = [](int part, int from, std::int64_t steps, int cycle) {
    return (part - from + cycle) % cycle <= steps;
  };
  const auto steps = [&](double unit) {
    return static_cast<std::int64_t>(std::floor(last / unit) - std::floor(first / unit));
  };
  const int months = 12 * (year_part(last).year - year_part(first).year) + calendar(last).month - begin.month;
  return {occurs(own.month, begin.month, months, 12) ? own.month : nearest.month,
          occurs(own.weekday, begin.weekday, steps(86'400.0), 7) ? own.weekday : nearest.weekday,
          occurs(own.hour, begin.hour, steps(3'600.0), 24) ? own.hour : nearest.hour};
}

struct DateSpans {
  std::int64_t events = 0;      // that were learned
  std::vector<DateSpan> spans;  // in the order of the names of their fields

  template <class Spans>
  static auto place(Spans& spans, std::string_view field) {
    return std::lower_bound(spans.begin(), spans.end(), field, [](const DateSpan& span, std::string_view name) {
      return std::string_view(span.field).compare(name) < 0;
    });
  }

  bool empty() const { return spans.empty(); }
  // Its number, or -1.
  std::int32_t find(std::string_view field) const {
    const auto at = place(spans, field);
    return at != spans.end() && at->field == field ? static_cast<std::int32_t>(at - spans.begin()) : -1;
  }
  DateSpan& of(std::string_view field) {
    const auto at = place(spans, field);
    if (at != spans.end() && at->field == field) return *at;
    return *spans.insert(at, DateSpan{std::string(field), {}, 0.0, 0.0, 0, 0});
  }
  // Whether all events had a date there; or had the field, at least.
  bool is_complete(const DateSpan& span) const { return events > 0 && span.count == events; }
  bool is_always_there(const DateSpan& span) const { return events > 0 && span.count + span.missing == events; }

  void join(const DateSpans& other) {
    events += other.events;
    for (const DateSpan& each : other.spans) of(each.field).join(each);
  }
};

}  // namespace odca::text
