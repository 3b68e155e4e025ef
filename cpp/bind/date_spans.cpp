#include "bind/date_spans.hpp"

#include <cmath>
#include <limits>

#include "bind/arrays.hpp"
#include "bind/state.hpp"
#include "bind/topics.hpp"
#include "odca/errors.hpp"
#include "odca/features/dates.hpp"

namespace odca::bind {

namespace {

constexpr std::size_t numbers_of_a_span = 5;  // reference, first, last, count, missing

bool is_moment(double seconds) { return seconds >= text::first_moment && seconds < text::behind_last_moment; }

text::DateSpans joined(const text::DateSpans& mine, const text::DateSpans& theirs) {
  text::DateSpans out = mine;
  out.join(theirs);
  return out;
}

}  // namespace

SavedDates saved(const text::DateSpans& spans) {
  SavedDates out{spans.events, {}};
  for (const text::DateSpan& each : spans.spans)
    out.second.emplace_back(each.field, each.reference, each.first, each.last, each.count, each.missing);
  return out;
}

text::DateSpans spans_from(const SavedDates& saved) {
  constexpr std::int64_t most = std::int64_t{1} << 53;
  text::DateSpans out;
  out.events = saved.first;
  bool sound = out.events >= 0 && out.events < most;
  for (const auto& [field, reference, first, last, count, missing] : saved.second) {
    sound &= out.find(field) < 0 && (!reference || is_moment(*reference)) && is_moment(first) && is_moment(last) &&
             first <= last && count >= 0 && missing >= 0 && count <= out.events && missing <= out.events - count;
    if (!sound) break;
    text::DateSpan& span = out.of(field);
    span.reference = reference, span.first = first, span.last = last, span.count = count;
    span.missing = missing;
  }
  if (!sound) throw InputError("the days of its dates are not possible");
  return out;
}

void add_date_arrays(const text::DateSpans& spans, Arrays& out) {
  if (spans.empty()) return;
  std::vector<std::uint8_t> fields;
  std::vector<std::int64_t> ends;
  std::vector<double> dates;
  for (const text::DateSpan& each : spans.spans) {
    fields.insert(fields.end(), each.field.begin(), each.field.end());
    ends.push_back(static_cast<std::int64_t>(fields.size()));
    const double none = std::numeric_limits<double>::quiet_NaN();
    for (const double number : {each.reference.value_or(none), each.first, each.last, static_cast<double>(each.count),
                                static_cast<double>(each.missing)})
      dates.push_back(number);
  }
  out["date_fields"] = to_numpy(std::move(fields));
  out["date_field_ends"] = to_numpy(std::move(ends));
  out["date_events"] = to_numpy(std::vector<std::int64_t>{spans.events});
  out["dates"] = to_numpy(std::move(dates));
}

text::DateSpans spans_from(const Arrays& arrays) {
  SavedDates found{0, {}};
  if (!arrays.contains("dates")) return {};
  for (const char* const name : date_arrays)
    if (!arrays.contains(name)) throw InputError(std::string("its dates have no array ") + name);
  const auto fields = to_vector(named_array<std::uint8_t>(nb::object(arrays["date_fields"]), "date_fields"));
  const auto ends = to_vector(named_array<std::int64_t>(nb::object(arrays["date_field_ends"]), "date_field_ends"));
  const auto events = to_vector(named_array<std::int64_t>(nb::object(arrays["date_events"]), "date_events"));
  const auto dates = to_vector(named_array<double>(nb::object(arrays["dates"]), "dates"));
  if (events.size() != 1 || dates.size() != numbers_of_a_span * ends.size())
    throw InputError("its dates are not as many as their fields");
  found.first = events[0];
  std::int64_t begin = 0;
  for (std::size_t k = 0; k < ends.size(); ++k) {
    const double* const of = &dates[numbers_of_a_span * k];
    if (ends[k] < begin || ends[k] > static_cast<std::int64_t>(fields.size()) ||
        !(of[3] >= 0.0 && of[3] < 0x1p53 && of[4] >= 0.0 && of[4] < 0x1p53))
      throw InputError("the days of its dates are not possible");
    found.second.emplace_back(std::string(fields.begin() + begin, fields.begin() + ends[k]),
                              std::isnan(of[0]) ? std::nullopt : std::optional(of[0]), of[1], of[2],
                              static_cast<std::int64_t>(of[3]), static_cast<std::int64_t>(of[4]));
    begin = ends[k];
  }
  return spans_from(found);
}

void bind_date_spans(nb::module_& m) {
  m.def(
      "joined_dates",
      [](const SavedDates& mine, const SavedDates& theirs) {
        return saved(joined(spans_from(mine), spans_from(theirs)));
      },
      nb::arg("mine"), nb::arg("theirs"), "The days of the dates of both; the references are those of the first.");
}

}  // namespace odca::bind
