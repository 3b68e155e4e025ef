// Events out of tables in memory, column by column: Arrow, Parquet, data frames.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "odca/features/block.hpp"
#include "odca/features/columns.hpp"
#include "odca/features/feature_options.hpp"

namespace odca::text {

// Strings by their numbers: a dictionary, as Arrow calls it. -1 is a missing value.
struct CodedStrings {
  std::span<const std::int32_t> codes;
  std::span<const std::string_view> strings;
};

// Dates, in seconds since 1970. NaN is a missing value.
struct Dates {
  std::span<const double> seconds;
  bool with_time = false;  // whether they have a time of day
};

// Arrays and maps, such as the words of a text or a sparse vector: the elements of row r are those from begins[r] to before
// begins[r + 1]. What JSON makes of them is made here: a string belongs to the column as a word does, a number to its place in the
// array ("v.0") or to its key in the map ("v.price").
struct Arrays {
  std::span<const std::int64_t> begins;   // one more than there are rows
  std::span<const std::uint8_t> missing;  // 1 for a row that has no array
  std::optional<CodedStrings> keys;       // of the elements of maps
  std::variant<std::span<const double>, CodedStrings> elements;
};

// Numbers (NaN is a missing value), strings, dates, or arrays of numbers or strings. Whole numbers from 2^53 on, which a double cannot tell apart, are
// passed as strings if they name something.
using Values = std::variant<std::span<const double>, CodedStrings, Dates, Arrays>;

struct ValueColumn {
  TableColumn column;
  Values values;
};

// The first `rows` of the columns. A string is read as a cell of a CSV file is: both make the same events. A row is a line of the
// block.
void read_table(const std::vector<ValueColumn>& columns, std::int64_t rows, const FeatureOptions& options,
                bool skip_bad, Block& block);

}  // namespace odca::text
