#include "odca/ingest/csv/guess.hpp"

#include <algorithm>
#include <utility>

#include "odca/features/cells.hpp"
#include "odca/features/field_names.hpp"
#include "odca/features/unicode.hpp"
#include "odca/ingest/csv/cell.hpp"

namespace odca::text {

namespace {

enum class Cell { missing, number, date, boolean, other };

// An infinite number is none that a model can use, but a column that has one is a column of numbers: to read it is a fault.
bool is_infinity(std::string_view cell) {
  if (cell.front() == '+' || cell.front() == '-') cell.remove_prefix(1);
  for (const std::string_view word : {"inf", "Inf", "INF", "infinity", "Infinity", "INFINITY"})
    if (cell == word) return true;
  return false;
}

Cell look_at(std::string_view cell) {
  double number = 0.0;
  Moment moment;
  if (is_missing_word(cell)) return Cell::missing;
  if (is_number(cell, number) || is_infinity(cell)) return Cell::number;
  if (read_boolean(cell, number)) return Cell::boolean;
  return read_date(cell, moment) == DateCheck::other ? Cell::other : Cell::date;
}

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

std::vector<Cell> look_at_line(std::string_view line, CsvForm form) {
  std::vector<Cell> out;
  each_csv_cell(line, form, [&](std::string_view cell) { out.push_back(look_at(cell)); });
  return out;
}

// What the cells of a column are that are not missing.
struct Seen {
  bool number = false, date = false, boolean = false, other = false;

  Kind kind() const {
    if (other || number + date + boolean > 1) return Kind::category;
    return number ? Kind::number : date ? Kind::date : boolean ? Kind::boolean : Kind::any;
  }
};

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

char guess_delimiter(std::string_view sample, bool quoted) {
  char best = ',';
  Cut most;
  for (const char delimiter : {',', '\t', ';', '|'}) {
    const Cut cut = cut_by(sample, {delimiter, quoted});
    if (cut.cells > 1 && most < cut) best = delimiter, most = cut;
  }
  return best;
}

bool guess_header(std::string_view sample, CsvForm form) {
  const std::vector<Cell> cells = look_at_line(first_csv_line(sample, form).line, form);
  const auto has = [&](Cell kind) { return std::find(cells.begin(), cells.end(), kind) != cells.end(); };
  if (has(Cell::number) || has(Cell::date) || !(has(Cell::other) || has(Cell::boolean))) return false;
  const std::vector<Kind> below = guess_kinds(sample, form, cells.size(), true);
  return std::any_of(below.begin(), below.end(), [](Kind kind) { return kind == Kind::number || kind == Kind::date; });
}

std::string header_fault(const std::vector<std::string>& names) {
  FieldNames seen;
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (names[k].empty())
      return "the column " + std::to_string(k + 1) +
             " of the header has no name. Give it one, or say the columns' names";
    if (const auto place = static_cast<std::size_t>(seen.add(names[k])); place < k)
      return "the columns " + std::to_string(place + 1) + " and " + std::to_string(k + 1) +
             " of the header are both named " + shown(names[k]) + ". Rename one, or say the columns' names";
  }
  return {};
}

std::vector<Kind> guess_kinds(std::string_view sample, CsvForm form, std::size_t columns, bool header) {
  std::vector<Seen> seen(columns);
  each_line(sample, form, [&](std::string_view line) {
    if (std::exchange(header, false)) return;
    const std::vector<Cell> cells = look_at_line(line, form);
    if (cells.size() != columns) return;
    for (std::size_t k = 0; k < columns; ++k) {
      seen[k].number |= cells[k] == Cell::number;
      seen[k].date |= cells[k] == Cell::date;
      seen[k].boolean |= cells[k] == Cell::boolean;
      seen[k].other |= cells[k] == Cell::other;
    }
  });
  std::vector<Kind> kinds;
  for (const Seen& each : seen) kinds.push_back(each.kind());
  return kinds;
}

}  // namespace odca::text
