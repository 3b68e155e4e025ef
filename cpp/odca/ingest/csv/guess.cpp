#include "odca/ingest/csv/guess.hpp"

#include <algorithm>
#include <utility>

#include "odca/features/field_names.hpp"
#include "odca/features/unicode.hpp"
#include "odca/features/value.hpp"
#include "odca/ingest/csv/cell.hpp"
#include "odca/ingest/csv/decimal_comma.hpp"

namespace odca::text {

namespace {

// Calls visit(line) for each line that is not blank.
template <class Visit>
void each_line(std::string_view text, CsvForm form, Visit&& visit) {
  const Quoting quoting = form.quoting();
  std::uint32_t breaks = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = next_line(text, at, quoting, breaks);
    if (!is_blank_line(line, form.delimiter)) visit(line);
  }
}

// How many lines have as many cells as the first, and how many that are.
struct Cut {
  std::size_t lines = 0, cells = 0;
  bool operator<(const Cut& other) const { return lines != other.lines ? lines < other.lines : cells < other.cells; }
};

Cut cut_by(std::string_view sample, CsvForm form) {
  Cut cut;
  each_line(sample, form, [&](std::string_view line) {
    std::size_t cells = 0;
    each_csv_cell(line, form, [&](std::string_view) { ++cells; });
    if (cut.cells == 0) cut.cells = cells;
    cut.lines += cells == cut.cells;
  });
  return cut;
}

}  // namespace

std::vector<std::string> csv_fields(std::string_view text, CsvForm form) {
  std::vector<std::string> out;
  const std::string_view line = first_csv_line(text, form).line;
  each_csv_cell(line, form, [&](std::string_view cell) {
    out.emplace_back(cell);
    if (!is_utf8(cell))
      throw Fault{"the field " + std::to_string(out.size()) + " is not UTF-8: " + shown(cell) +
                      ". Convert the file: iconv -f LATIN1 -t UTF-8",
                  cell};
  });
  return out;
}

namespace {

// How many cells are numbers with a decimal comma, or with a point, and how many there are.
struct Decimals {
  std::int64_t commas = 0, uncertain = 0, points = 0, cells = 0;
};

Decimals decimals_of(std::string_view sample, CsvForm form) {
  Decimals out;
  each_line(sample, form, [&](std::string_view line) {
    each_csv_cell(line, form, [&](std::string_view cell) {
      ++out.cells;
      const CommaNumber comma = comma_number(cell);
      double number = 0.0;
      if (comma.is_one)
        ++(comma.is_certain ? out.commas : out.uncertain);
      else if (cell.find('.') != std::string_view::npos && is_number(cell, number))
        ++out.points;
    });
  });
  return out;
}

}  // namespace

char guess_decimal(std::string_view sample, CsvForm form) {
  if (form.delimiter == ',' || sample.find(',') == std::string_view::npos) return '.';
  const Decimals found = decimals_of(sample, form);
  if (found.commas == 0 && found.points == 0) return 0;
  return found.commas > found.points ? ',' : '.';
}

char guess_delimiter(std::string_view sample, bool quoted) {
  char best = ',';
  Cut most;
  for (const char delimiter : {',', '\t', ';', '|'}) {
    const Cut cut = cut_by(sample, {delimiter, quoted});
    if (cut.cells > 1 && most < cut) best = delimiter, most = cut;
  }
  if (best != ',') return best;
  for (const char delimiter : {'\t', ';', '|'}) {  // commas within numbers separate nothing
    const Cut cut = cut_by(sample, {delimiter, quoted});
    const Decimals found =
        cut.cells > 1 && cut.lines == most.lines ? decimals_of(sample, {delimiter, quoted}) : Decimals{};
    if (2 * (found.commas + found.uncertain) > found.cells) return delimiter;
  }
  return best;
}

bool guess_header(std::string_view sample, CsvForm form, const MissingValues& missing) {
  Tally first;
  std::size_t columns = 0;
  std::string number;
  each_csv_cell(first_csv_line(sample, form).line, form, [&](std::string_view cell) {
    first.add(form.decimal_comma ? with_point(cell, number) : cell, missing);
    ++columns;
  });
  if (first.has_numbers_or_dates() || first.missing() == first.count()) return false;
  std::size_t place = 0;
  const std::vector<Tally> below = tally_columns(sample, form, columns, true, missing);
  return std::any_of(below.begin(), below.end(), [&](const Tally& each) {
    const Kind kind = each.kind("column " + std::to_string(place++));
    return kind == Kind::number || kind == Kind::date;
  });
}

std::string header_fault(const std::vector<std::string>& names) {
  FieldNames seen;
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (names[k].empty()) return "the column " + std::to_string(k + 1) + " of the header has no name. Give it one";
    if (const auto place = static_cast<std::size_t>(seen.add(names[k])); place < k)
      return "the columns " + std::to_string(place + 1) + " and " + std::to_string(k + 1) +
             " of the header are both named " + shown(names[k]) + ". Rename one";
  }
  return {};
}

std::vector<Tally> tally_columns(std::string_view sample, CsvForm form, std::size_t columns, bool header,
                                 const MissingValues& missing) {
  std::vector<Tally> tallies(columns);
  std::vector<std::string> cells;
  std::string number;
  each_line(sample, form, [&](std::string_view line) {
    if (std::exchange(header, false)) return;
    std::size_t count = 0;
    each_csv_cell(line, form, [&](std::string_view cell) {
      if (count == cells.size()) cells.emplace_back();
      cells[count++] = cell;
    });
    if (count != columns) return;
    for (std::size_t k = 0; k < columns; ++k)
      tallies[k].add(form.decimal_comma ? with_point(cells[k], number) : cells[k], missing);
  });
  return tallies;
}

}  // namespace odca::text
