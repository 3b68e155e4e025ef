// One cell of a line of CSV (RFC 4180). Blanks around a cell are not part of it; those inside its quotes are.
#pragma once

#include <string>
#include <string_view>

#include "odca/ingest/lines.hpp"
#include "odca/ingest/tokens.hpp"

namespace odca::text {

class CsvCell {
 public:
  explicit CsvCell(char delimiter) : delimiter_(delimiter) {}

  // Takes the cell that starts at p, and returns its end: a delimiter's place, or the line's end.
  const char* take(const char* p, const char* const end) {
    while (p != end && skipped(*p)) ++p;
    return p != end && *p == '"' ? take_quoted(p, end) : take_plain(p, end);
  }

  std::string_view text() const { return text_; }    // without quotes
  std::string_view where() const { return where_; }  // as it stands in the line

 private:
  bool skipped(char c) const { return is_blank(c) && c != delimiter_; }
  static std::string_view between(const char* from, const char* to) {
    return {from, static_cast<std::size_t>(to - from)};
  }

  const char* take_plain(const char* const from, const char* const end) {
    const char* p = from;
    for (; p != end && *p != delimiter_; ++p)
      if (*p == '"')
        throw Fault{
            "a quote stands inside a cell that does not begin with one. Quote the whole cell and double the quotes "
            "inside",
            between(p, p + 1)};
    const char* last = p;
    while (last != from && skipped(last[-1])) --last;
    text_ = where_ = between(from, last);
    return p;
  }

  const char* take_quoted(const char* const from, const char* const end) {
    unquoted_.clear();
    const char* p = from + 1;
    while (true) {
      const auto* const quote = static_cast<const char*>(std::memchr(p, '"', static_cast<std::size_t>(end - p)));
      if (!quote) throw Fault{"a quote is opened here and never closed", between(from, from + 1)};
      unquoted_.append(p, quote);
      p = quote + 1;
      if (p == end || *p != '"') break;
      unquoted_ += '"';
      ++p;
    }
    text_ = unquoted_, where_ = between(from, p);
    while (p != end && skipped(*p)) ++p;
    if (p != end && *p != delimiter_)
      throw Fault{"expected the next cell behind a closing quote; got " + shown(between(p, end), 10) +
                      ". Quotes inside a quoted cell are doubled",
                  between(p, p + 1)};
    return p;
  }

  char delimiter_;
  std::string unquoted_;
  std::string_view text_, where_;
};

// Calls visit(text) for each cell of a line.
template <class Visit>
void each_csv_cell(std::string_view line, char delimiter, Visit&& visit) {
  CsvCell cell(delimiter);
  const char *p = line.data(), *const end = p + line.size();
  while (true) {
    p = cell.take(p, end);
    visit(cell.text());
    if (p == end) return;
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

inline FirstLine first_csv_line(std::string_view text, char delimiter) {
  FirstLine first;
  while (first.next < text.size() && is_blank_line(first.line, delimiter)) {
    std::uint32_t breaks = 0;
    first.line = next_line(text, first.next, true, breaks);
    first.number = first.next_number;
    first.next_number += breaks;
  }
  if (is_blank_line(first.line, delimiter)) first.line = {};
  return first;
}

}  // namespace odca::text
