// One cell of a line of CSV; what quotes mean is said in `quotes.hpp`. Blanks around a cell are not part of it; those inside its quotes
// are.
#pragma once

#include <string>
#include <string_view>

#include "odca/ingest/lines.hpp"
#include "odca/ingest/tokens.hpp"

namespace odca::text {

// How cells are told from each other.
struct CsvForm {
  char delimiter = ',';
  bool quoted = true;          // else quotes are characters like others
  bool decimal_comma = false;  // numbers are written with a comma: decimal_comma.hpp

  Quoting quoting() const { return quoted ? Quoting({&delimiter, 1}) : Quoting(); }
};

class CsvCell {
 public:
  explicit CsvCell(CsvForm form) : form_(form) {}

  // Takes the cell that starts at p, and returns its end: a delimiter's place, or the line's end.
  const char* take(const char* p, const char* const end) {
    while (p != end && skipped(*p)) ++p;
    return form_.quoted && p != end && *p == '"' ? take_quoted(p, end) : take_plain(p, end);
  }

  std::string_view text() const { return text_; }    // without quotes
  std::string_view where() const { return where_; }  // as it stands in the line
  // How many cells so far had a quote that was not closed, or was closed before their end.
  std::int64_t stray_quotes() const { return stray_quotes_; }

 private:
  bool skipped(char c) const { return is_blank(c) && c != form_.delimiter; }
  static std::string_view between(const char* from, const char* to) {
    return {from, static_cast<std::size_t>(to - from)};
  }
  // Without the blanks at its end.
  const char* trimmed(const char* from, const char* last) const {
    while (last != from && skipped(last[-1])) --last;
    return last;
  }
  const char* cell_end(const char* p, const char* const end) const {
    while (p != end && *p != form_.delimiter) ++p;
    return p;
  }

  const char* take_plain(const char* const from, const char* const end) {
    const char* const p = cell_end(from, end);
    text_ = where_ = between(from, trimmed(from, p));
    return p;
  }

  const char* take_quoted(const char* const from, const char* const end) {
    const char* const close = Quoting::next_single(from + 1, end);
    const char* p = close ? close + 1 : end;
    unquoted_.clear();
    append_inside(from + 1, close ? close : end);
    where_ = between(from, p);
    while (p != end && skipped(*p)) ++p;
    const bool text_behind = close && p != end && *p != form_.delimiter;
    if (text_behind) {
      p = cell_end(p, end);
      unquoted_.append(close + 1, trimmed(close + 1, p));
      where_ = between(from, trimmed(from, p));
    }
    stray_quotes_ += !close || text_behind;
    text_ = unquoted_;
    return p;
  }

  // Of two quotes one.
  void append_inside(const char* p, const char* const end) {
    while (const auto* const quote = static_cast<const char*>(std::memchr(p, '"', static_cast<std::size_t>(end - p)))) {
      unquoted_.append(p, quote + 1);
      p = quote + 2;
    }
    unquoted_.append(p, end);
  }

  CsvForm form_;
  std::string unquoted_;
  std::string_view text_, where_;
  std::int64_t stray_quotes_ = 0;
};

// Calls visit(text) for each cell of a line; returns how many stray quotes there are.
template <class Visit>
std::int64_t each_csv_cell(std::string_view line, CsvForm form, Visit&& visit) {
  CsvCell cell(form);
  const char *p = line.data(), *const end = p + line.size();
  while (true) {
    p = cell.take(p, end);
    visit(cell.text());
    if (p == end) return cell.stray_quotes();
    ++p;
  }
}

// Such a line holds no row, of however many columns.
inline bool is_blank_line(std::string_view line, char delimiter) {
  for (const char c : line)
    if (!is_blank(c) || c == delimiter) return false;
  return true;
}

// The first line of a text that is not blank; empty if there is none.
struct FirstLine {
  std::string_view line;
  std::uint32_t number = 0, next_number = 0;  // its own, from 0, and that of the line behind it
  std::size_t next = 0;                       // where that begins
};

inline FirstLine first_csv_line(std::string_view text, CsvForm form) {
  const Quoting quoting = form.quoting();
  FirstLine first;
  while (first.next < text.size() && is_blank_line(first.line, form.delimiter)) {
    std::uint32_t breaks = 0;
    first.line = next_line(text, first.next, quoting, breaks);
    first.number = first.next_number;
    first.next_number += breaks;
  }
  if (is_blank_line(first.line, form.delimiter)) first.line = {};
  return first;
}

}  // namespace odca::text
