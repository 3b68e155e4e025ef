#include "odca/ingest/json/cursor.hpp"

#include <cmath>

#include "odca/features/number.hpp"
#include "odca/features/unicode.hpp"
#include "odca/ingest/lines.hpp"

namespace odca::text {

namespace {

// A byte that ends a string, or makes it more than what is written.
bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

}  // namespace

void JsonCursor::fail_expecting(const char* what) const {
  const std::string came =
      at_ == end_ ? "the line ends here. An object must be on one line" : "got " + shown(rest(), 20);
  throw Fault{std::string("expected ") + what + "; " + came, rest()};
}

std::string_view JsonCursor::string() {
  expect('"', "a string in double quotes");
  const char* const from = at_;
  while (at_ != end_ && is_plain(*at_)) ++at_;
  if (at_ != end_ && *at_ == '"') return {from, static_cast<std::size_t>(at_++ - from)};
  unescaped_.assign(from, at_);
  while (at_ != end_ && *at_ != '"') {
    if (*at_ == '\\') {
      unescape();
    } else if (static_cast<unsigned char>(*at_) >= 0x20) {
      unescaped_ += *at_++;
    } else {
      throw Fault{"there is a control character, " + shown({at_, 1}) + ", in a string. Escape it", {at_, 1}};
    }
  }
  const std::string_view inside = since(from);
  if (at_ == end_) throw Fault{"a string does not end: " + shown(inside), inside};
  if (!is_utf8(inside)) throw Fault{"a string is not UTF-8: " + shown(inside), inside};
  ++at_;
  return unescaped_;
}

// From a backslash on.
void JsonCursor::unescape() {
  const char* const from = at_++;
  const char c = at_ == end_ ? '\0' : *at_++;
  static constexpr std::string_view shorts = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
  if (const std::size_t which = shorts.find(c); which != std::string_view::npos) {
    unescaped_ += meant[which];
    return;
  }
  if (c != 'u') throw Fault{"there is no escape " + shown(since(from)) + " in JSON", since(from)};
  std::uint32_t point = code_unit();
  if (point >= 0xd800 && point < 0xdc00 && skip("\\u")) {
    const std::uint32_t low = code_unit();
    point = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((point & 0x3ff) << 10 | (low & 0x3ff)) : 0xd800;
  }
  if (point >= 0xd800 && point < 0xe000)
    throw Fault{"half a surrogate pair is no character: " + shown(since(from)), since(from)};
  append_utf8(point, unescaped_);
}

// The four digits behind \u.
std::uint32_t JsonCursor::code_unit() {
  std::uint32_t unit = 0;
  for (int k = 0; k < 4; ++k) {
    const unsigned char c = at_ == end_ ? '\0' : static_cast<unsigned char>(*at_);
    const unsigned char letter = (c | 0x20) - 'a';
    if (!is_digit(static_cast<char>(c)) && letter > 5) fail_expecting("four hexadecimal digits behind \\u");
    unit = unit << 4 | (letter <= 5 ? letter + 10u : c - '0' + 0u);
    ++at_;
  }
  return unit;
}

Value JsonCursor::number() {
  const char* const from = at_;
  const char* p = from + (*from == '-');
  const char* const digits = p;
  while (p != end_ && is_digit(*p)) ++p;
  if (p == digits) {
    if (skip("-Infinity")) throw Fault{"a number must be finite; got " + shown(since(from)), since(from)};
    fail_expecting("a number");
  }
  if (*digits == '0' && p - digits > 1)
    throw Fault{"a number begins with 0: " + shown({from, static_cast<std::size_t>(p - from)}), rest()};
  if (p != end_ && *p == '.' && (p + 1 == end_ || !is_digit(p[1])))
    throw Fault{"a number has no digit behind its point", rest()};
  Value out = Value::of_number(0.0);
  at_ = read_number(from, end_, out.number);
  out.where = since(from);
  if (!std::isfinite(out.number)) throw Fault{"a number is too large for a float: " + shown(out.where), out.where};
  if (std::abs(out.number) >= exact_below && at_ == p) out.text = out.where;  // a whole number: its digits say more
  return out;
}

Value JsonCursor::other(char first) {
  const char* const from = at_;
  if (first == '"') {
    const std::string_view text = string();
    return Value::of_text(text, since(from));
  }
  if (skip("true")) return Value::of_boolean(true, since(from));
  if (skip("false")) return Value::of_boolean(false, since(from));
  if (skip("null") || skip("NaN")) return Value::none(since(from));
  if (skip("Infinity")) throw Fault{"a number must be finite; got " + shown(since(from)), since(from)};
  fail_expecting("a value");
}

}  // namespace odca::text
