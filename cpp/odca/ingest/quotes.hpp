// Double quotes around the fields of CSV (RFC 4180, read as files are written).
//
// A quote opens a field only where the field begins; anywhere else it is a character like others. The field goes on to the next quote
// that is not doubled, over ends of lines too, if a delimiter or the end of a line follows that quote. A field that is closed in its
// line may have text behind its quote, which belongs to it. One that is not closed ends with its line.
#pragma once

#include <array>
#include <cstring>
#include <string_view>

namespace odca::text {

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Characters of a kind, looked up instead of compared one by one.
class Characters {
 public:
  constexpr explicit Characters(std::string_view all) {
    for (const char c : all) is_[static_cast<unsigned char>(c)] = true;
  }
  constexpr bool has(char c) const { return is_[static_cast<unsigned char>(c)]; }

 private:
  std::array<bool, 256> is_{};
};

class Quoting {
 public:
  // Quotes mean nothing.
  constexpr Quoting() : delimiters_("") {}
  // Fields lie between these characters.
  constexpr explicit Quoting(std::string_view delimiters) : delimiters_(delimiters), on_(true) {}

  bool on() const { return on_; }

  // Whether a quote is where a field begins. Its line begins at `line`.
  bool opens(const char* quote, const char* line) const {
    while (quote != line && is_blank_between(quote[-1])) --quote;
    return quote == line || delimiters_.has(quote[-1]);
  }

  // The next quote that is not doubled; null if there is none.
  static const char* next_single(const char* p, const char* end) {
    while ((p = static_cast<const char*>(std::memchr(p, '"', static_cast<std::size_t>(end - p))))) {
      if (p + 1 == end || p[1] != '"') return p;
      p += 2;
    }
    return nullptr;
  }

  enum class After { field_end, text, unknown };
  // What follows a closing quote. Unknown is what lies behind a text that is not `complete`.
  After after(const char* quote, const char* end, bool complete) const {
    const char* p = quote + 1;
    while (p != end && (is_blank_between(*p) || *p == '\r')) ++p;
    if (p == end) return complete ? After::field_end : After::unknown;
    return *p == '\n' || delimiters_.has(*p) ? After::field_end : After::text;
  }

 private:
  bool is_blank_between(char c) const { return is_blank(c) && !delimiters_.has(c); }

  Characters delimiters_;
  bool on_ = false;
};

// Where the line ends that begins at `from`: behind its newline, or at the end of the text. Null if the text is not `complete` and its
// rest could move that end.
inline const char* line_end(const char* const from, const char* const end, const Quoting& quoting, bool complete) {
  const auto behind_newline = [&](const char* p) -> const char* {
    const auto* const found = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
    return found ? found + 1 : complete ? end : nullptr;
  };
  const char* behind = behind_newline(from);
  const char* p = from;
  while (quoting.on() && behind &&
         (p = static_cast<const char*>(std::memchr(p, '"', static_cast<std::size_t>(behind - p))))) {
    if (!quoting.opens(p, from)) {
      ++p;
      continue;
    }
    const char* const close = Quoting::next_single(p + 1, end);
    if (close && close < behind) {
      p = close + 1;
      continue;
    }
    if (!close) return complete ? behind : nullptr;
    switch (quoting.after(close, end, complete)) {
      case Quoting::After::text: return behind;
      case Quoting::After::unknown: return nullptr;
      case Quoting::After::field_end: break;
    }
    p = close + 1;
    behind = behind_newline(p);
  }
  return behind;
}

// Lines of a text from `begin` on: how many, up to `most`, and where they end.
struct Lines {
  std::size_t count = 0, end = 0;
};

inline Lines whole_lines(std::string_view text, std::size_t begin, const Quoting& quoting, std::size_t most) {
  const char *const first = text.data(), *const end = first + text.size();
  Lines found{0, begin};
  while (found.count < most && found.end < text.size()) {
    const char* const behind = line_end(first + found.end, end, quoting, false);
    if (!behind) break;
    ++found.count;
    found.end = static_cast<std::size_t>(behind - first);
  }
  return found;
}

// Where the last whole line ends, from `begin` on, where a line begins; `begin` if none is whole.
inline std::size_t last_line_end(std::string_view text, std::size_t begin, const Quoting& quoting) {
  const char *const first = text.data(), *const end = first + text.size();
  const char* from = first + begin;
  while (true) {
    // No line before that of the next quote needs a look.
    const void* const quote = quoting.on() ? std::memchr(from, '"', static_cast<std::size_t>(end - from)) : nullptr;
    const char* const to = quote ? static_cast<const char*>(quote) : end;
    const std::size_t newline = std::string_view(from, static_cast<std::size_t>(to - from)).rfind('\n');
    if (newline != std::string_view::npos) from += newline + 1;
    const char* const behind = quote ? line_end(from, end, quoting, false) : nullptr;
    if (!behind) return static_cast<std::size_t>(from - first);
    from = behind;
  }
}

}  // namespace odca::text
