// The events in a piece of text, and the faults of the lines that could not be read.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "odca/features/date_spans.hpp"
#include "odca/features/name_table.hpp"
#include "odca/features/texts.hpp"
#include "odca/math/sparse_rows.hpp"

namespace odca::text {

// A line that cannot be read: what was expected and what was found. Thrown by parsers, caught by `read_lines`.
struct Fault {
  std::string message;
  std::string_view where;   // the part of the line that is at fault
  const char* remedy = "";  // a sentence with the option that would help in braces
  std::string field = {};   // the field that the option is about
};

// Values of a field that are not what its other values are, and were taken for missing.
struct Misfits {
  std::string field;
  std::int64_t count = 0;
  std::uint32_t line = 0;  // of the first
  std::string text;        // that it holds
};

// A number per event that not every event has: weights, offsets, times. Events without one have `otherwise`. Empty if none has one.
class OptionalNumbers {
 public:
  explicit OptionalNumbers(double otherwise) : otherwise_(otherwise) {}
  void set(std::size_t row, double number) {
    if (values_.empty()) first_ = row;
    values_.resize(row, otherwise_);
    values_.push_back(number);
  }
  void cut(std::size_t rows) {  // removes the numbers after the first `rows`
    if (values_.size() > rows) values_.resize(rows <= first_ ? 0 : rows);
  }
  void move(std::size_t from, std::size_t to) {
    if (!values_.empty()) values_[to] = values_[from];
  }
  void keep_first(std::size_t rows) {
    if (!values_.empty()) values_.resize(rows);
  }
  OptionalNumbers part(std::size_t first, std::size_t last) const {
    OptionalNumbers out(otherwise_);
    if (!values_.empty())
      out.values_.assign(values_.begin() + static_cast<std::ptrdiff_t>(first),
                         values_.begin() + static_cast<std::ptrdiff_t>(last));
    return out;
  }
  void fill(std::size_t rows) {
    if (!values_.empty()) values_.resize(rows, otherwise_);
  }
  const std::vector<double>& values() const { return values_; }

 private:
  double otherwise_;
  std::size_t first_ = 0;  // the first row that has a number of its own
  std::vector<double> values_;
};

struct Block {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  // A feature that has a name is its number among those that were `known` before the text was read; if it is new, that is
  // the number of these and its own among `names`, until it is resolved.
  SparseRows rows;
  std::int64_t width = 0;                // the features' indices are below
  std::vector<double> label;             // a number, or `none`
  std::vector<std::int32_t> label_text;  // else the text's number in `label_names`, or -1
  OptionalNumbers weight{1.0}, offset{0.0}, time{none}, group{none};
  std::vector<std::uint32_t> line;         // of every event, 0 for the text's first
  std::vector<std::string> tag;            // of every event, if any has one
  std::shared_ptr<const NameTable> known;  // or null
  NameTable names, label_names;            // in the order in which the text brings them

  // What history needs of every event: the values of its `numbers`, NaN if they are missing; and for each of its `groups` the number
  // of the key in `history_keys`, or -1.
  std::vector<double> history_number;
  std::vector<std::int32_t> history_key;
  NameTable history_keys;
  // The dates that have a trend: the event, the number of the field in `date_fields`, and the seconds since 1970, NaN if it is missing;
  // in the order of events.
  struct Dated {
    std::uint32_t row;
    std::int32_t field;
    double seconds;
  };
  std::vector<Dated> dated;
  std::vector<std::string> date_fields;
  Texts texts;  // of every event, where their features depend on the events before; their indices are as in `rows`

  struct BadLine {
    std::uint32_t line;
    std::int64_t column;  // a character, from 1; 0 if it is the line as a whole
    std::string message, remedy, field;
  };
  std::vector<BadLine> bad;    // the first few
  std::int64_t bad_count = 0;  // all
  // Cells of CSV whose quote is not closed, or is closed before the cell ends: how many, and the line of the first.
  std::int64_t stray_quotes = 0;
  std::uint32_t first_stray_quote = 0;
  std::vector<Misfits> misfits;  // by field
  bool stopped = false;          // at the first bad line: what follows was not read
  std::uint32_t lines = 0;       // that were read, the bad one not included where it stopped
  std::int64_t bytes = 0;        // the same, in bytes

  std::int64_t size() const { return rows.size(); }
  std::int32_t n_known() const { return known ? known->size() : 0; }

  // The events from `first` to before `last`, with nothing about bad lines. The names of the text are resolved.
  Block part(std::size_t first, std::size_t last) const;

  // The days of the dates of the first `events`; the reference of a field is its first date.
  DateSpans date_spans(std::int64_t events) const;

  // Only the events that are marked stay. `kept` has an entry for each.
  void keep(const std::vector<std::uint8_t>& kept);
};

}  // namespace odca::text
