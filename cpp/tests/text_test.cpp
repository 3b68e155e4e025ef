#include <doctest/doctest.h>
#include <algorithm>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "odca/features/number.hpp"
#include "odca/features/unicode.hpp"
#include "odca/features/vocabulary.hpp"
#include "odca/ingest/lines.hpp"
#include "odca/ingest/separators.hpp"
#include "random.hpp"
#include "text_support.hpp"

using namespace odca;
using odca::test::Random;
using text::NameTable;

namespace {

std::uint64_t hash_of(std::string_view name) { return FeatureHash().add(name).mixed(); }

// Names

void check_table(const NameTable& table, const std::vector<std::string>& wanted,
                 std::uint64_t (*hash)(std::string_view)) {
  REQUIRE(table.size() == static_cast<std::int32_t>(wanted.size()));
  for (std::int32_t k = 0; k < table.size(); ++k) {
    REQUIRE(table[k] == wanted[static_cast<std::size_t>(k)]);
    REQUIRE(table.find(hash(table[k]), table[k]) == k);
  }
}

// Names are added and removed at random; the table must agree with a list.
void check_random_table(std::uint64_t seed, int turns, std::uint64_t (*hash)(std::string_view)) {
  Random random(seed);
  NameTable table;
  std::vector<std::string> wanted;
  for (int turn = 0; turn < turns; ++turn) {
    if (random.chance(0.02)) {
      const auto size = random.between(0, static_cast<std::int64_t>(wanted.size()));
      table.cut(static_cast<std::int32_t>(size));
      wanted.resize(static_cast<std::size_t>(size));
    }
    const std::int64_t which = random.below(turns);  // of any length: what fits into a slot, and what does not
    const std::string name = std::string(static_cast<std::size_t>(which % 21), 'n') + std::to_string(which);
    const auto known = std::find(wanted.begin(), wanted.end(), name) - wanted.begin();
    const bool is_new = known == static_cast<std::ptrdiff_t>(wanted.size());
    REQUIRE(table.find(hash(name), name) == (is_new ? -1 : known));
    REQUIRE(table.add(hash(name), name) == known);
    if (is_new) wanted.push_back(name);
  }
  check_table(table, wanted, hash);
}

}  // namespace

TEST_CASE("names are numbered in order of appearance") {
  NameTable table;
  std::vector<std::string> wanted;
  CHECK(table.find(hash_of("a"), "a") == -1);
  for (int k = 0; k < 100'000; ++k) {
    wanted.push_back("name " + std::to_string(k));
    REQUIRE(table.add(hash_of(wanted.back()), wanted.back()) == k);
    REQUIRE(table.add(hash_of(wanted.back()), wanted.back()) == k);
  }
  check_table(table, wanted, hash_of);
}

TEST_CASE("the empty name is a name") {
  NameTable table;
  CHECK(table.add(hash_of(""), std::string_view()) == 0);
  CHECK(table.find(hash_of(""), "") == 0);
  CHECK(table.add(hash_of("a"), "a") == 1);
  CHECK(table[0].empty());
  table.cut(0);
  CHECK(table.find(hash_of(""), "") == -1);
}

TEST_CASE("names may be removed and added again") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) check_random_table(seed, 1500, hash_of);
}

TEST_CASE("names with colliding hashes are distinguished") {
  check_random_table(1, 600, [](std::string_view) { return std::uint64_t{42}; });
  check_random_table(2, 600, [](std::string_view name) { return hash_of(name) % 7; });
  check_random_table(3, 600, [](std::string_view name) { return hash_of(name) | 0xffffffff; });
}

// Numbers

namespace {

// read_number against strtod, which rounds correctly too, and from_chars where that has an answer.
void check_number(const std::string& text) {
  INFO(text);
  double got = -7.0;
  const char* const end = text.data() + text.size();
  REQUIRE(text::read_number(text.data(), end, got) == end);
  REQUIRE(std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr)));
#ifdef __cpp_lib_to_chars
  double other = 0.0;
  const std::size_t plus = text.starts_with('+');
  if (std::from_chars(text.data() + plus, end, other).ec == std::errc{})
    REQUIRE(std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(other));
#endif
}

std::string random_digits(Random& random, std::int64_t most) {
  std::string out;
  const double zeros = random.chance(0.3) ? 0.8 : 0.1;
  for (std::int64_t k = random.between(0, most); k > 0; --k)
    out += random.chance(zeros) ? '0' : static_cast<char>('0' + random.below(10));
  return out;
}

std::string random_decimal(Random& random) {
  const std::int64_t most = random.chance(0.02) ? 800 : random.chance(0.3) ? 30 : 8;
  std::string out = random.chance(0.3) ? "-" : random.chance(0.1) ? "+" : "";
  std::string whole = random_digits(random, most), part = random_digits(random, most);
  if (whole.empty() && part.empty()) whole = "0";
  out += whole;
  if (!part.empty() || random.chance(0.1)) out += "." + part;
  if (random.chance(0.5)) {
    constexpr std::int64_t sizes[] = {5, 30, 330, 1200};
    const std::int64_t size = sizes[random.below(4)];
    out += random.chance(0.5) ? 'e' : 'E';
    const std::int64_t exponent = random.between(-size, size);
    out += (exponent >= 0 && random.chance(0.5) ? "+" : "") + std::to_string(exponent);
  }
  return out;
}

// The point in the middle of two doubles, written out in full or cut off, is where rounding is decided.
std::string random_halfway(Random& random) {
  double x = std::bit_cast<double>(random.next() & 0x7fffffffffffffff);
  if (random.chance(0.2)) x = std::bit_cast<double>(random.next() & 0x000fffffffffffff);  // denormal
  if (!std::isfinite(x)) x = 1.0;
  const double above = std::nextafter(x, 1e308);
  const long double middle = (static_cast<long double>(x) + static_cast<long double>(above)) / 2;
  char out[900];
  const int digits = random.chance(0.5) ? 780 : static_cast<int>(random.between(15, 40));
  std::snprintf(out, sizeof out, "%.*Le", digits, middle);
  return out;
}

}  // namespace

TEST_CASE("every decimal number is rounded to the nearest double") {
  Random random(7);
  for (int n = 0; n < 1'000'000; ++n) check_number(random_decimal(random));
  for (int n = 0; n < 50'000; ++n) check_number(random_halfway(random));
}

TEST_CASE("numbers at the limits of a double") {
  const std::string zeros(400, '0');
  for (const std::string text : {"0",
                                 "-0",
                                 "0e999",
                                 "0e99999999999999999999",
                                 "-0.000e-99999999999999999999",
                                 "1e999",
                                 "-1e999",
                                 "1e-999",
                                 "1e99999999999999999999",
                                 "1e-99999999999999999999",
                                 "9007199254740993",
                                 "9007199254740992e22",
                                 "1e23",
                                 "4.9406564584124654e-324",
                                 "2.4703282292062327e-324",
                                 "2.4703282292062328e-324",
                                 "2.2250738585072011e-308",
                                 "1.7976931348623157e308",
                                 "1.7976931348623158e308",
                                 "1.7976931348623159e308",
                                 "18446744073709551616",
                                 "18446744073709551615",
                                 "123456789012345678901234567890",
                                 "0.1234567890123456789012345678901234567890"})
    check_number(text);
  check_number("0." + zeros + "1e400");
  check_number("0." + zeros + "1e401");
  check_number("1" + zeros + "e-400");
  check_number("1" + zeros);
  check_number(zeros + zeros + "5");
  check_number("." + zeros + zeros + "5");
}

TEST_CASE("the fast parser of plain numbers agrees with the general one") {
  Random random(11);
  constexpr char alphabet[] = "0123456789012345678901234567890123456789..-+e x";
  int plain = 0;
  for (int turn = 0; turn < 300'000; ++turn) {
    std::string number;
    if (random.chance(0.7)) {
      number = std::string(random.chance(0.3), '-') + static_cast<char>('0' + random.below(10));
      if (random.chance(0.9)) number += '.';
    }
    for (auto k = random.between(0, 9); k > 0; --k) number += alphabet[random.below(sizeof alphabet - 1)];
    if (number.empty()) continue;
    const std::string padded = number + std::string(text::read_ahead, turn % 2 ? ' ' : '7');
    const char* const from = padded.data();
    double fast = 0.0, slow = 0.0;
    if (!text::read_plain(from, static_cast<std::int64_t>(number.size()), fast)) continue;
    ++plain;
    REQUIRE(text::read_number(from, from + number.size(), slow) == from + number.size());
    REQUIRE(std::bit_cast<std::uint64_t>(fast) == std::bit_cast<std::uint64_t>(slow));
  }
  CHECK(plain > 50'000);
  double out = 0.0;
  for (const char* const number : {"1.25", "-0.5", "7", "-3", "0.12345678"})
    CHECK(text::read_plain((number + std::string(text::read_ahead, ' ')).data(),
                           static_cast<std::int64_t>(std::strlen(number)), out));
  for (const char* const number : {"1.", ".5", "12", "1e3", "--1", "0.123456789", "1.2x", "x", "-", "+1"})
    CHECK_FALSE(text::read_plain((number + std::string(text::read_ahead, ' ')).data(),
                                 static_cast<std::int64_t>(std::strlen(number)), out));
}

TEST_CASE("the parts of a line are found, also near its ends") {
  Random random(12);
  for (int turn = 0; turn < 3000; ++turn) {
    std::string line;
    for (auto k = random.between(0, 200); k > 0; --k)
      line += random.chance(0.3) ? ":| "[random.below(3)] : static_cast<char>(random.between(1, 255));
    const std::vector<char> exact(line.begin(), line.end());  // no byte beyond it may be read
    const char *const begin = exact.data(), *const end = begin + exact.size();
    text::Separators<':', ' '> parts(begin, end);
    for (const char* p = begin; p != end; ++p)
      if (*p == ':' || *p == ' ') REQUIRE(parts.next() == p);
    REQUIRE(parts.next() == end);
    REQUIRE(parts.next() == end);
  }
}

TEST_CASE("text that is not a number is not consumed") {
  const auto length = [](std::string_view text) {
    double out = 0.0;
    return text::read_number(text.data(), text.data() + text.size(), out) - text.data();
  };
  for (const char* text : {"", "-", "+", ".", "-.", "e5", ".e5", "nan", "inf", "--1", "+-1", "x1", " 1"})
    CHECK(length(text) == 0);
  CHECK(length("1e") == 1);
  CHECK(length("1e+") == 1);
  CHECK(length("1e-x") == 1);
  CHECK(length("1.") == 2);
  CHECK(length(".5") == 2);
  CHECK(length("1.5.5") == 3);
  CHECK(length("0x10") == 1);
  CHECK(length("1e5e5") == 3);
}

// Lines

TEST_CASE("line ends are counted, also inside an open quote") {
  const auto breaks = [](std::string_view text) {
    std::uint32_t all = 0, some = 0;
    for (std::size_t at = 0; at < text.size(); all += some) text::next_line(text, at, text::Quoting(","), some);
    return all;
  };
  CHECK(breaks("a\nb\n") == 2);
  CHECK(breaks("a\nb") == 2);
  CHECK(breaks("\"a\nb\"\nc") == 3);
  CHECK(breaks("a\n\"b\n") == 2);
  CHECK(breaks("a\n\"b\nc") == 3);
  CHECK(breaks("a\n\"b\nc\"\nd\"\n") == 4);
}

// Unicode

TEST_CASE("UTF-8 is validated as the standard says") {
  for (const std::string text : {"", "abc", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                 "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa9z"})
    CHECK(text::is_utf8(text));
  for (const std::string text : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2g", "\xe0\x9f\xbf",
                                 "\xed\xa0\x80", "\xed\xbf\xbf", "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                                 "\xf5\x80\x80\x80", "\xf0\x90\x80", "a\xff", "\xfd", "\xfe"})
    CHECK_FALSE(text::is_utf8(text));
  CHECK(
      text::is_utf8("a\xff"
                    "b\xfd"
                    "c\xfe",
                    true));
  CHECK_FALSE(text::is_utf8("a\xfc", true));
}

TEST_CASE("every character survives the round trip through UTF-8") {
  for (std::uint32_t point = 0; point <= 0x10ffff; ++point) {
    std::string out;
    text::append_utf8(point, out);
    REQUIRE(text::is_utf8(out) == !(point >= 0xd800 && point < 0xe000));
  }
}

TEST_CASE("words are lower-cased, without the characters between them") {
  const auto words = [](std::string_view text) {
    std::vector<std::string> out;
    std::string word;
    for (std::size_t at = 0; text::next_word(text, at, word);) out.push_back(word);
    return out;
  };
  using Words = std::vector<std::string>;
  CHECK(words("").empty());
  CHECK(words(" .,;-").empty());
  CHECK(words("Hello, World_2!") == Words{"hello", "world_2"});
  CHECK(words("it's") == Words{"it", "s"});
  CHECK(words("ÉCOLE Ärger ΣΊΣΥΦΟΣ ЁЖИК straße") == Words{"école", "ärger", "σΊσυφοσ", "ёжик", "straße"});
  CHECK(words("a×b÷c «d» e—f 東京。大阪") == Words{"a", "b", "c", "d", "e", "f", "東京", "大阪"});
  CHECK(words("a\xff"
              "b \xc3") == Words{"a", "b"});
}

// Vocabulary

namespace {

text::Block block_of(const std::vector<std::string>& names) {
  text::Block block;
  for (const std::string& name : names) block.names.add(hash_of(name), name);
  return block;
}

}  // namespace

TEST_CASE("a vocabulary numbers new names and finds old ones") {
  text::Vocabulary vocabulary;
  using Places = std::vector<std::int32_t>;
  CHECK(vocabulary.absorb(block_of({"a", "b"}), true) == Places{0, 1});
  CHECK(vocabulary.absorb(block_of({"c", "b", "d"}), false) == Places{-1, 1, -1});
  CHECK(vocabulary.absorb(block_of({"c", "b", "d"}), true) == Places{2, 1, 3});
  CHECK(vocabulary.absorb(block_of({"d", "c"}), false) == Places{3, 2});
}

TEST_CASE("resolved rows are sorted, and features without an index are dropped") {
  text::Block block = block_of({"a", "b", "c"});
  block.rows.index = {0, 1, 2, 0}, block.rows.value = {1.0, 2.0, 3.0, 4.0};
  block.rows.start = {0, 4, 4};
  text::Vocabulary::resolve({5, -1, 2}, 6, block);
  CHECK(block.rows.index == std::vector<std::int32_t>{2, 5});
  CHECK(block.rows.value == std::vector<double>{3.0, 5.0});
  CHECK(block.rows.start == std::vector<std::int32_t>{0, 2, 2});
  CHECK(block.width == 6);
}

TEST_CASE("a vocabulary survives the round trip") {
  text::Vocabulary vocabulary, again;
  std::vector<std::string> names = {"", "a",
                                    "b\xff"
                                    "c",
                                    "a\xfe", "é"};
  text::Block block = block_of(names);
  const std::uint64_t product =
      FeatureHash().add("a").times(FeatureHash().add("é")).times(FeatureHash().add("z")).mixed();
  block.names.add(product,
                  "a\xfd"
                  "é\xfd"
                  "z");
  vocabulary.absorb(block, true);
  again.restore(vocabulary.bytes(), vocabulary.ends());
  CHECK(again.bytes() == vocabulary.bytes());
  CHECK(again.ends() == vocabulary.ends());
  for (std::int32_t k = 0; k < block.names.size(); ++k) CHECK(again.known()->hash(k) == block.names.hash(k));
  CHECK(again.absorb(block, false) == vocabulary.absorb(block, false));
}

TEST_CASE("an invalid vocabulary is refused, and the old one is kept") {
  text::Vocabulary vocabulary;
  vocabulary.restore("ab", {1, 2});
  using Ends = std::vector<std::int64_t>;
  for (const Ends& ends : {Ends{2, 1}, Ends{1}, Ends{1, 3}, Ends{-1, 2}, Ends{1, 1}})
    CHECK_THROWS_AS(vocabulary.restore("aa", ends), InputError);
  CHECK_THROWS_AS(vocabulary.restore("aa", {1, 2}), InputError);
  CHECK_THROWS_AS(vocabulary.restore("\x80", {1}), InputError);
  CHECK(vocabulary.bytes() == "ab");
}

TEST_CASE("a name of a million factors is read like any other") {
  const std::string name(1'000'000, product_mark);
  text::Vocabulary vocabulary;
  vocabulary.restore(name, {1'000'000});
  CHECK(vocabulary.size() == 1);
}
