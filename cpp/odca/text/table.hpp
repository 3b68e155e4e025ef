// Events out of tables: what the columns are, and rows of columns in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "odca/text/block.hpp"
#include "odca/text/fields.hpp"

namespace odca::text {

// What a column is to an event.
enum class Role { feature, label, weight, offset, time, group, tag, ignored };

// How the values of a feature's column are meant.
enum class Kind {
  number,
  category,
  text,  // split into words
  date,  // categories of the calendar, fields of their own: <name>.month (1 to 12), <name>.weekday (0 for Monday), and, where
         // the time of day is known, <name>.hour. The calendar is that of UTC
  any,  // a number if it is one, else a category
};

struct TableColumn {
  std::string name;
  Role role = Role::feature;
  Kind kind = Kind::any;
  bool is_time = false;  // a feature that is the event's time too
};

// Strings by their numbers: a dictionary, as Arrow calls it. -1 is a missing value.
struct Codes {
  std::span<const std::int32_t> codes;
  std::span<const std::string_view> strings;
};

// Dates, in seconds since 1970. NaN is a missing value.
struct Dates {
  std::span<const double> seconds;
  bool with_time = false;  // whether they have a time of day
};

// Numbers (NaN is a missing value), strings, or dates. Whole numbers from 2^53 on, which a double cannot tell apart, are
// passed as strings if they name something.
using Values = std::variant<std::span<const double>, Codes, Dates>;

struct ValueColumn {
  TableColumn column;
  Values values;
};

// The first `rows` of the columns. A string is read as a cell of a CSV file is: both make the same events. A row is a line of the
// block.
void read_table(const std::vector<ValueColumn>& columns, std::int64_t rows, const FeatureOptions& options,
                bool skip_bad, Block& block);

}  // namespace odca::text
