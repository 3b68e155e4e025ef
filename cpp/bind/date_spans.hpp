// The days of the dates that were learned, as plain values and as arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/history.hpp"
#include "odca/features/date_spans.hpp"

namespace odca::bind {

// The number of events; and for each field its name, its reference, its first and last date, and how many of its dates there are, and are missing.
using SavedDates =
    std::pair<std::int64_t,
              std::vector<std::tuple<std::string, std::optional<double>, double, double, std::int64_t, std::int64_t>>>;

SavedDates saved(const text::DateSpans& spans);
// Throws InputError for what `saved` cannot have made.
text::DateSpans spans_from(const SavedDates& saved);

// The same in the arrays of a history; nothing if there are none.
void add_date_arrays(const text::DateSpans& spans, Arrays& out);
text::DateSpans spans_from(const Arrays& arrays);
inline constexpr const char* date_arrays[] = {"date_fields", "date_field_ends", "date_events", "dates"};

}  // namespace odca::bind
