#include "odca/ingest/csv/csv.hpp"

#include <algorithm>
#include <cmath>

#include "odca/errors.hpp"
#include "odca/features/cells.hpp"
#include "odca/ingest/csv/cell.hpp"
#include "odca/ingest/csv/decimal_comma.hpp"

namespace odca::text {

namespace {

class Reader {
 public:
  Reader(std::size_t text_size, const std::vector<TableColumn>& columns, CsvForm form, const FeatureOptions& options,
         Block& block)
      : text_size_(text_size),
        block_(block),
        cells_(columns, options, block),
        cell_(form),
        form_(form),
        delimiter_(form.delimiter) {
    // Numbers are read up to where they end, so nothing that can be part of one separates them.
    if (is_digit(delimiter_) || std::string_view("\"\n\r+-.eE").find(delimiter_) != std::string_view::npos)
      throw InputError("the delimiter cannot be " + shown({&delimiter_, 1}));
    if (columns.empty()) throw InputError("a table needs a column");
  }

  void read(std::string_view line) {
    if (is_blank_line(line, delimiter_)) return;
    try {
      read_row(line);
    } catch (const Fault&) {
      check_count(line);  // cells that stand in the wrong columns are not what is wrong
      throw;
    }
  }

  void forget() {
    cells_.forget();
    stray_quotes_ = cell_.stray_quotes();
  }
  void close() { cells_.close(); }

 private:
  void read_row(std::string_view line) {
    const char *p = line.data(), *const end = p + line.size();
    const CellPlan *plan = cells_.plans().data(), *const last = plan + cells_.plans().size() - 1;
    while (true) {
      p = read_cell(*plan, p, end);
      if (p == end || plan == last) break;
      ++p, ++plan;
    }
    if (p != end || plan != last) check_count(line);
    cells_.finish(line);
    if (cell_.stray_quotes() != stray_quotes_) note_stray_quotes();
    if (block_.size() == 1) reserve(line.size());
  }

  void note_stray_quotes() {
    if (block_.stray_quotes == 0) block_.first_stray_quote = block_.lines;
    block_.stray_quotes += cell_.stray_quotes() - stray_quotes_;
    stray_quotes_ = cell_.stray_quotes();
  }

  // Room for as many rows as there will be if all are like the first: to grow costs more than to read.
  void reserve(std::size_t line_size) {
    const std::size_t rows = text_size_ / (line_size + 1) * 9 / 8 + 1;
    const std::size_t features = std::min(rows * block_.rows.index.size(), text_size_);  // a feature needs a character
    block_.rows.index.reserve(features), block_.rows.value.reserve(features), block_.rows.start.reserve(rows + 1);
    block_.label.reserve(rows), block_.label_text.reserve(rows), block_.line.reserve(rows);
  }

  // Most cells are numbers: they are read where they stand.
  const char* read_cell(const CellPlan& plan, const char* const p, const char* const end) {
    if (plan.is_number && form_.decimal_comma) return read_comma_cell(plan, p, end);
    if (plan.is_number) {
      double value = 0.0;
      const char* const behind = read_number(p, end, value);
      if (behind != p && (behind == end || *behind == delimiter_) && std::isfinite(value)) {
        cells_.number(plan, value, {p, static_cast<std::size_t>(behind - p)});
        return behind;
      }
    }
    const char* const behind = cell_.take(p, end);
    cells_.string(plan, cell_.text(), cell_.where());
    return behind;
  }

  const char* read_comma_cell(const CellPlan& plan, const char* const p, const char* const end) {
    const char* const behind = cell_.take(p, end);
    cells_.string(plan, with_point(cell_.text(), number_), cell_.where());
    return behind;
  }

  void check_count(std::string_view line) const {
    std::size_t count = 0;
    const std::int64_t stray_quotes = each_csv_cell(line, form_, [&](std::string_view) { ++count; });
    if (count != cells_.plans().size())
      throw Fault{"the row has " + std::to_string(count) + (count == 1 ? " field" : " fields") + ", expected " +
                      std::to_string(cells_.plans().size()) +
                      (stray_quotes ? ". A quote in it is not closed, or is closed before its field ends" : ""),
                  {},
                  stray_quotes ? "If quotes are characters like others there, say so ({quote})." : ""};
  }

  std::size_t text_size_;
  Block& block_;
  Cells cells_;
  CsvCell cell_;
  CsvForm form_;
  char delimiter_;
  std::string number_;
  std::int64_t stray_quotes_ = 0;  // of the rows before
};

void check_header(std::string_view line, const std::vector<TableColumn>& columns, CsvForm form) {
  std::size_t place = 0;
  each_csv_cell(line, form, [&](std::string_view name) {
    const bool is_unnamed = name.empty() && place < columns.size() && columns[place].name == std::to_string(place + 1);
    if (place < columns.size() && !is_unnamed && name != columns[place].name)
      throw Fault{"the header names column " + std::to_string(place + 1) + " " + shown(name) + ", expected " +
                      shown(columns[place].name) + ". The columns must be those that were read before, in their order",
                  {}};
    ++place;
  });
  if (place != columns.size())
    throw Fault{"the header has " + std::to_string(place) + (place == 1 ? " name" : " names") + ", expected " +
                    std::to_string(columns.size()),
                {}};
}

}  // namespace

void read_csv(std::string_view text, const std::vector<TableColumn>& columns, CsvForm form, bool header,
              const FeatureOptions& options, bool skip_bad, Block& block) {
  Reader reader(text.size(), columns, form, options, block);
  const FirstLine first = header ? first_csv_line(text, form) : FirstLine{};
  if (!first.line.empty()) {
    block.lines = first.number;
    block.bytes = first.line.data() - text.data();
    if (!attempt(first.line, false, block, [&] { check_header(first.line, columns, form); }, [] {})) return;
  }
  block.lines = first.next_number;
  const auto read = [&](std::string_view line) { reader.read(line); };
  block.bytes = 0;
  read_lines(text.substr(first.next), form.quoting(), skip_bad, block, read, [&] { reader.forget(); });
  block.bytes += static_cast<std::int64_t>(first.next);
  reader.close();
}

}  // namespace odca::text
