#include "odca/ingest/vw/vw.hpp"

#include "text_support.hpp"

using namespace odca::test;

namespace {

Block vw(std::string_view text, const FeatureOptions& options = {}, bool skip_bad = true) {
  Block block;
  odca::text::read_vw(text, options, skip_bad, block);
  check_block(block, options);
  return block;
}

std::string fault(const std::string& line) {
  const Block block = vw(line);
  CHECK(block.size() == 0);
  CHECK(block.names.size() == 0);
  REQUIRE(block.bad.size() == 1);
  return faults(block)[0];
}

}  // namespace

TEST_CASE("vw: namespaces, names and values") {
  CHECK(features(vw("1 |ad price:2 new |user age:-3.5e1\n")) == Lines{"ad^price:2 ad^new:1 user^age:-35"});
  CHECK(features(vw("1 | price:2 new")) == Lines{"price:2 new:1"});
  CHECK(features(vw("|a x|b y|a z")) == Lines{"a^x:1 b^y:1 a^z:1"});
  CHECK(features(vw("|a x:0 y:1e-400")) == Lines{"a^x:0 a^y:0"});
}

TEST_CASE("vw: a namespace's weight multiplies its values, and only there") {
  CHECK(features(vw("|a:2 x:3 y |b z |a w")) == Lines{"a^x:6 a^y:2 b^z:1 a^w:1"});
  CHECK(has(fault("|a: x"), "the weight of a namespace must be a number; got ''"));
  CHECK(has(fault("|a:x y"), "got 'x'"));
  CHECK(has(fault("|:2 y"), "0:2 expected the name of a namespace before its weight"));
  CHECK(has(fault("|a:1e999 y"), "too large"));
  CHECK(has(fault("|a:1e300 y:1e300"), "too large"));
}

TEST_CASE("vw: a repeated namespace adds to the first") {
  CHECK(features(vw("|a x:1 |a x:2")) == Lines{"a^x:3"});
  FeatureOptions hashed;
  hashed.space = Space::hashed;
  CHECK(vw("|a x:1 |a x:2", hashed).rows.value == std::vector<double>{3.0});
}

TEST_CASE("vw: values of one feature may not add up to infinity") {
  FeatureOptions options;
  for (const Space space : {Space::names, Space::hashed}) {
    options.space = space;
    const Block block = vw("|a x:1e308 x:1e308\n|a x:1e308 x:-1e308\n|a x:1e308 y:1e308", options);
    CHECK(block.bad_count == 1);
    CHECK(block.line == std::vector<std::uint32_t>{1, 2});
  }
}

TEST_CASE("vw: label, importance, initial prediction, tag") {
  const Block block = vw("1 2 0.5 'first|a x\n-1 |a x\n|a x\n1 third|a x\n'fourth |a x\n1 3 |a x\n");
  CHECK(block.label[0] == 1.0);
  CHECK(block.label[1] == -1.0);
  CHECK(std::isnan(block.label[2]));
  CHECK(std::isnan(block.label[4]));
  CHECK(block.weight.values() == std::vector<double>{2.0, 1.0, 1.0, 1.0, 1.0, 3.0});
  CHECK(block.offset.values() == std::vector<double>{0.5, 0.0, 0.0, 0.0, 0.0, 0.0});
  CHECK(block.tag == Lines{"first", "", "", "third", "fourth", ""});
  CHECK(has(fault("x |a y"), "the label must be a number; got 'x'"));
  CHECK(has(fault("1 x |a y"), "the importance must be a number; got 'x'"));
  CHECK(has(fault("1 1 x |a y"), "the initial prediction must be a number; got 'x'"));
  CHECK(has(fault("1 1 1 1 |a y"), "expected a tag or '|'"));
  CHECK(has(fault("1 'tag 2 |a y"), "behind the tag"));
  CHECK(has(fault("nan |a y"), "'nan'"));
  CHECK(has(fault("1 \xff|a y"), "not UTF-8"));
}

TEST_CASE("vw: features without a name are numbered within their namespace") {
  CHECK(features(vw("| :2 x :3\n|a :1 |b :2\n")) == Lines{"0:2 x:1 1:3", "a^0:1 b^0:2"});
}

TEST_CASE("vw: a value that is a word makes a category") {
  CHECK(features(vw("| colour:red |ad:2 colour:http://x size:2")) ==
        Lines{"colour=red:1 ad^colour=http://x:2 ad^size:4"});
  CHECK(features(vw("| a:x|b y")) == Lines{"a=x:1 b^y:1"});
  CHECK(features(vw("| a:e5 a:nano a:infinite")) == Lines{"a=e5:1 a=nano:1 a=infinite:1"});
  for (const char* value : {"-", "+", ".", "--1", "+x", ":", ":x", "1x", "nan", "NaN", "-nan", "inf", "Infinity"})
    CHECK(has(fault(std::string("| a:") + value), "0:5 the value of a feature must be a number; got"));
  CHECK(has(fault("| :x"), "must be a number; got 'x'"));
  CHECK(has(fault("| a:x\xffy"), "not UTF-8"));
  CHECK(has(fault("| a\xff:y"), "not UTF-8"));
}

TEST_CASE("vw: a bar alone is an event without features") {
  const Block block = vw("|\n1 |\n||\n1 |a\n| \n1 |a |b");
  CHECK(features(block) == Lines{"", "", "", "", "", ""});
  CHECK(block.bad_count == 0);
}

TEST_CASE("vw: blank lines are not events, and every event has a bar") {
  CHECK(vw("\n \t\n\r\n").size() == 0);
  CHECK(has(fault("1 x y"), "expected a bar"));
}

TEST_CASE("vw: an error says what cannot be read, and where") {
  CHECK(has(fault("|a x:"), "0:6 the value of a feature must be a number; got ''"));
  CHECK(has(fault("|a x: 2"), "got ''"));
  CHECK(has(fault("|a x:1:2"), "0:6 the value of a feature must be a number; got '1:2'"));
  CHECK(has(fault("|a x:nan"), "'nan'"));
  CHECK(has(fault("|é 東京:1x"), "0:7 "));  // a place is a character, not a byte
  CHECK(has(fault("|a x:1e999"), "too large"));
  CHECK(has(fault("|a x:2y|b z"), "got '2y'"));
  CHECK(has(fault(std::string("|a x\0y", 6)), "0:5 there is a NUL byte"));
  CHECK(has(fault("|a x\x80"), "not UTF-8"));
}

TEST_CASE("vw: bytes that mark categories may not be part of a name") {
  CHECK(has(fault("|a x\xffy"), "not UTF-8"));
  CHECK(has(fault("|a\xfe x"), "not UTF-8"));
  CHECK(has(fault("| x\xfdy"), "not UTF-8"));
  FeatureOptions hashed;
  hashed.space = Space::hashed;
  CHECK(vw("|a x\xffy", hashed).bad_count == 0);
}

TEST_CASE("vw: Windows line endings, and a missing one at the end, are accepted") {
  CHECK(features(vw("1 |a x\r\n1 |a y:2\r\n")) == features(vw("1 |a x\n1 |a y:2")));
}

TEST_CASE("vw: a carriage return inside a line is not part of a name") {
  CHECK(has(fault("| a\rb"), "0:4 there is a carriage return inside the line"));
  CHECK(has(fault("| a\r\r"), "0:4 there is a carriage return"));
}

TEST_CASE("vw: fields are kept or ignored") {
  FeatureOptions options;
  options.ignore = {"a"};
  CHECK(features(vw("|a x |b y | z", options)) == Lines{"b^y:1 z:1"});
  CHECK(features(vw("|a x:red |b y:red", options)) == Lines{"b^y=red:1"});
  CHECK(has(faults(vw("|a x:1y |b y", options)).at(0), "'1y'"));
  options.ignore = {}, options.keep = {"a"};
  CHECK(features(vw("|a x |b y |a.b z", options)) == Lines{"a^x:1"});
}

TEST_CASE("vw: any cut into blocks gives the same events") {
  Random random(4);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::string text;
    for (std::int64_t n = random.between(1, 30); n > 0; --n) {
      if (random.chance(0.7)) text += std::to_string(random.below(3)) + (random.chance(0.3) ? " 2 " : " ");
      if (random.chance(0.2)) text += "'t" + std::to_string(n);
      for (std::int64_t k = random.below(4); k > 0; --k) {
        text += std::string("|") + "abc"[random.below(3)] + " ";
        for (std::int64_t i = random.below(4); i > 0; --i)
          text += "w" + std::to_string(random.below(20)) + (random.chance(0.5) ? ":" + show(random.bell()) : "") + " ";
      }
      text += random.chance(0.1) ? (random.chance(0.5) ? " |x y:1bad\n" : " |x y:word\n") : "|\n";
    }
    FeatureOptions options;
    options.space = random.chance(0.5) ? Space::names : Space::hashed;
    options.bits = 5;
    if (random.chance(0.5)) options.interactions = {{"a", "b"}, {"c", "c"}, {"a", "b", "c"}};
    check_cuts(text, options, random.chance(0.7), seed, odca::text::read_vw);
  }
}

TEST_CASE("vw: any number of blanks may separate features") {
  for (const Space space : {Space::names, Space::hashed})
    for (const char* const head : {"1 |", "1 |n", "1 |n:2", "1 't |a x |"}) {
      FeatureOptions options;
      options.space = space;
      check_blanks(head, options, odca::text::read_vw);
    }
}

TEST_CASE("vw: a numeric name outside namespaces is its own hash") {
  FeatureOptions options;
  options.space = Space::hashed, options.bits = 20;
  CHECK(features(vw("| 12:0.5 7:1 0:1 1048577:0.25 3 4 5 6", options)) ==
        Lines{"0:1 1:0.25 3:1 4:1 5:1 6:1 7:1 12:0.5"});
  CHECK(features(vw("| 012:0.5 b:1 c:1 d:1 e:1", options)) != features(vw("| 12:0.5 b:1 c:1 d:1 e:1", options)));
  CHECK(features(vw("|n 12:0.5 b:1 c:1 d:1 e:1", options)) != features(vw("| 12:0.5 b:1 c:1 d:1 e:1", options)));
}
