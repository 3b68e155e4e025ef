// Pieces of a line that libsvm's and VW's text have in common.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "odca/features/number.hpp"
#include "odca/ingest/lines.hpp"
#include "odca/ingest/separators.hpp"

namespace odca::text {

inline const char* behind_blanks(const char* p, const char* end) {
  while (p != end && is_blank(*p)) ++p;
  return p;
}

// What lies between blanks, piece by piece.
class Tokens {
 public:
  explicit Tokens(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  // Empty at the end.
  std::string_view next() {
    at_ = behind_blanks(at_, end_);
    const char* const from = at_;
    while (at_ != end_ && !is_blank(*at_)) ++at_;
    return {from, static_cast<std::size_t>(at_ - from)};
  }

 private:
  const char *at_, *end_;
};

// The whole token as a finite number. `what` it is goes into the fault.
inline double finite(std::string_view token, const char* what) {
  double number = 0.0;
  const char* const end = token.data() + token.size();
  if (token.empty() || read_number(token.data(), end, number) != end)
    throw Fault{std::string(what) + " must be a number; got " + shown(token), token};
  if (!std::isfinite(number)) throw Fault{std::string(what) + " is too large for a float: " + shown(token), token};
  return number;
}

// Features that are written plainly, name:value and a blank, from here on: take(name, value) as long as it returns true. Returns what
// follows them, which may be such a feature too, near the end of the line. Eight characters from a name on can be read.
template <char... separators, class Take>
const char* read_plain_features(const char* p, const char* const end, Take take) {
  Separators<separators...> found(p, end);
  while (true) {
    const char *const colon = found.next(), *const blank = found.next();
    if (colon == p || end - colon <= read_ahead || blank == end || *colon != ':' || *blank != ' ') return p;
    double value = 0.0;
    if (!read_plain(colon + 1, blank - colon - 1, value)) return p;
    if (!take(std::string_view(p, static_cast<std::size_t>(colon - p)), value)) return p;
    p = blank + 1;
  }
}

// The number that such a name is, if it is one of at most eight digits; else -1.
inline std::int64_t plain_number(std::string_view name) {
  if (name.size() > 8) return -1;
  const std::uint64_t digits = eight::only(eight::load(name.data()), static_cast<std::int64_t>(name.size()));
  return eight::others(digits) ? -1 : static_cast<std::int64_t>(eight::number(digits));
}

}  // namespace odca::text
