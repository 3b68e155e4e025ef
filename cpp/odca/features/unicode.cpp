#include "odca/features/unicode.hpp"

namespace odca::text {

namespace {

struct Decoded {
  std::uint32_t point;
  std::size_t length;  // 0 if it is not UTF-8
};

Decoded decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[at + k]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return {lead, 0};
  std::uint32_t point = lead & (0x7f >> length);
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xc0) != 0x80) return {lead, 0};
    point = point << 6 | (byte(k) & 0x3f);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xd800 && point < 0xe000;
  return {point, point < least[length] || surrogate || point > 0x10ffff ? 0 : length};
}

bool is_word(std::uint32_t point) {
  if (point < 0x80) return (point | 0x20) - 'a' < 26 || point - '0' < 10 || point == '_';
  if (point < 0xc0) return point == 0xaa || point == 0xb5 || point == 0xba;
  return point != 0xd7 && point != 0xf7 && !(point >= 0x2000 && point < 0x2070) && !(point >= 0x3000 && point < 0x3040);
}

bool is_blank(std::uint32_t point) {
  if (point <= 0x20) return point == 0x20 || (point >= 9 && point <= 13) || point >= 0x1c;
  if (point < 0x1680) return point == 0x85 || point == 0xa0;
  return point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x2028 || point == 0x2029 ||
         point == 0x202f || point == 0x205f || point == 0x3000;
}

std::uint32_t lower(std::uint32_t point) {
  if (point - 'A' < 26) return point + 32;
  if (point < 0xc0) return point;
  if (point <= 0xde && point != 0xd7) return point + 32;                      // Latin-1
  if (point >= 0x391 && point <= 0x3ab && point != 0x3a2) return point + 32;  // Greek
  if (point >= 0x410 && point <= 0x42f) return point + 32;                    // Cyrillic
  if (point >= 0x400 && point <= 0x40f) return point + 80;
  return point;
}

}  // namespace

void append_utf8(std::uint32_t point, std::string& out) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (point >> shift & 0x3f)); };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xc0 | point >> 6), tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xe0 | point >> 12), tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | point >> 18), tail(12), tail(6), tail(0);
  }
}

bool is_utf8(std::string_view text, bool marks) {
  for (std::size_t at = 0; at < text.size();) {
    if (marks && static_cast<unsigned char>(text[at]) >= 0xfd) {
      ++at;
      continue;
    }
    const Decoded next = decode(text, at);
    if (!next.length) return false;
    at += next.length;
  }
  return true;
}

bool next_word(std::string_view text, std::size_t& at, std::string& word) {
  word.clear();
  while (at < text.size()) {
    const Decoded next = decode(text, at);
    const bool part = next.length && is_word(next.point);  // what is not UTF-8 is between words
    if (!part && !word.empty()) return true;
    if (part) append_utf8(lower(next.point), word);
    at += next.length ? next.length : 1;
  }
  return !word.empty();
}

bool next_token(std::string_view text, std::size_t& at, std::string& token, std::vector<std::size_t>& ends) {
  token.clear(), ends.clear();
  while (at < text.size()) {
    const Decoded next = decode(text, at);
    const bool part = next.length && !is_blank(next.point);
    if (!part && !token.empty()) return true;
    if (part) append_utf8(lower(next.point), token), ends.push_back(token.size());
    at += next.length ? next.length : 1;
  }
  return !token.empty();
}

std::string_view first_characters(std::string_view text, std::int64_t count) {
  if (static_cast<std::int64_t>(text.size()) <= count) return text;
  std::size_t at = 0;
  for (; count > 0 && at < text.size(); --count) {
    const std::size_t length = decode(text, at).length;
    at += length ? length : 1;
  }
  return text.substr(0, at);
}

}  // namespace odca::text
