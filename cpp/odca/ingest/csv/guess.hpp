// What a table is, from a sample of its text (whole lines): what separates the cells, whether the first line is a header, and
// what the columns hold.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "odca/features/tally.hpp"
#include "odca/ingest/csv/cell.hpp"

namespace odca::text {

// The cells of the first line that is not blank, without quotes. Throws a Fault if it is not UTF-8.
std::vector<std::string> csv_fields(std::string_view text, CsvForm form);

// Comma, tab, semicolon or bar: that which cuts the most lines into as many cells as the first; of these the one that makes the
// most cells. A comma if none cuts the first, but not where the cells between others are numbers with a decimal comma.
char guess_delimiter(std::string_view sample, bool quoted);

// The comma or the point, with which most numbers are written that have one; 0 if none has, or if only thousands may be written with it.
// Where commas separate cells, it is a point.
char guess_decimal(std::string_view sample, CsvForm form);

// Whether no cell of the first line is a number or a date, while a column below it is of these. A table that is strings all over does not
// tell: false.
bool guess_header(std::string_view sample, CsvForm form, const MissingValues& missing);

// What is wrong with the names of a header: one is empty, or there twice. Nothing if all is well.
std::string header_fault(const std::vector<std::string>& names);

// The cells of each of so many columns, below the header if there is one. Lines that do not have so many cells say nothing here; to read
// them is a fault.
std::vector<Tally> tally_columns(std::string_view sample, CsvForm form, std::size_t columns, bool header,
                                 const MissingValues& missing);

}  // namespace odca::text
