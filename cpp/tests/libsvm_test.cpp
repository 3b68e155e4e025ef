#include "odca/ingest/libsvm/libsvm.hpp"

#include "text_support.hpp"

using namespace odca::test;

namespace {

Block libsvm(std::string_view text, Space space = Space::indices, bool skip_bad = true) {
  FeatureOptions options;
  options.space = space;
  Block block;
  odca::text::read_libsvm(text, options, skip_bad, block);
  check_block(block, options);
  return block;
}

// What is wrong with the one line.
std::string fault(const std::string& line) {
  const Block block = libsvm(line);
  CHECK(block.size() == 0);
  REQUIRE(block.bad.size() == 1);
  return faults(block)[0];
}

}  // namespace

TEST_CASE("libsvm: labels, indices and values") {
  const Block block = libsvm("1 1:2 3:-4.5\n-1\t2:1e-3 \n+0.5\n2 0:7 5:.5");
  CHECK(features(block) == Lines{"1:2 3:-4.5", "2:0.001", "", "0:7 5:0.5"});
  CHECK(block.label == std::vector<double>{1.0, -1.0, 0.5, 2.0});
  CHECK(block.line == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(block.width == 6);
  CHECK(block.lines == 4);
  CHECK(block.bytes == 39);
  CHECK(block.group.values().empty());
}

TEST_CASE("libsvm: indices may come in any order, but not twice") {
  CHECK(features(libsvm("1 3:1 1:2 2:3")) == Lines{"1:2 2:3 3:1"});
  CHECK(has(fault("1 3:1 3:2"), "twice"));
  CHECK(features(libsvm("1 3:1 3:2", Space::names)) == Lines{"3:3"});
}

TEST_CASE("libsvm: blank lines and comments are not events") {
  const Block block = libsvm("\n# a comment\n  \t\n1 1:2 # another: 3:4\n\r\n-1 1:3#x\n");
  CHECK(features(block) == Lines{"1:2", "1:3"});
  CHECK(block.line == std::vector<std::uint32_t>{3, 5});
  CHECK(block.bad_count == 0);
  CHECK(block.lines == 6);
}

TEST_CASE("libsvm: Windows line endings, and a missing one at the end, are accepted") {
  CHECK(features(libsvm("1 1:2\r\n-1 1:3\r\n")) == features(libsvm("1 1:2\n-1 1:3")));
}

TEST_CASE("libsvm: a query is a group") {
  const Block block = libsvm("1 1:2\n1 qid:7 1:2\n2 qid:8\n1 1:3\n");
  const auto& group = block.group.values();
  REQUIRE(group.size() == 4);
  CHECK(std::isnan(group[0]));
  CHECK(group[1] == 7.0);
  CHECK(group[2] == 8.0);
  CHECK(std::isnan(group[3]));
  CHECK(has(fault("1 qid:"), "'qid:'"));
  CHECK(has(fault("1 qid:x 1:2"), "'x'"));
  CHECK(has(fault("1 qid: 7 1:2"), "query"));
  CHECK(has(fault("1 qid:1.5 1:2"), "0:7 the query after 'qid:' must be a whole number below 2^53; got '1.5'"));
  CHECK(has(fault("1 qid:9007199254740993 1:2"), "whole number"));  // read as a double it is 2^53
  CHECK(has(fault("1 1:2 qid:7"), "'qid:7'"));
}

TEST_CASE("libsvm: an error says what cannot be read, and where") {
  CHECK(has(fault("x 1:2"), "0:1 the label must be a number; got 'x'"));
  CHECK(has(fault("nan 1:2"), "must be a number; got 'nan'"));
  CHECK(has(fault("1e999 1:2"), "too large"));
  CHECK(has(fault("1 1:"), "0:5 a value must be a number; got ''"));
  CHECK(has(fault("1 1: 2"), "0:5 a value must be a number; got ''"));
  CHECK(has(fault("1 :1"), "0:3 expected index:value; got ':1'"));
  CHECK(has(fault("1 1"), "expected index:value; got '1'"));
  CHECK(has(fault("1 -1:2"), "expected index:value"));
  CHECK(has(fault("1 a:2"), "expected index:value"));
  CHECK(has(fault("1 1:2:3"), "0:5 a value must be a number; got '2:3'"));
  CHECK(has(fault("1 1:nan"), "'nan'"));
  CHECK(has(fault("1 1:inf"), "'inf'"));
  CHECK(has(fault("1 1:1e999"), "too large"));
  CHECK(has(fault("1 1:-1e999"), "too large"));
  CHECK(has(fault("1 9223372036854775808:1"), "above"));
  CHECK(has(fault("1 99999999999999999999999999:1"), "above"));
  CHECK(has(fault("1 33554432:1"), "above"));
  CHECK(features(libsvm("1 33554431:1")) == Lines{"33554431:1"});
  CHECK(has(fault(std::string("1 1:2\0 2:3", 10)), "0:6 there is a NUL byte"));
}

TEST_CASE("libsvm: indices used as names, or hashed, have no upper limit") {
  CHECK(features(libsvm("1 9223372036854775808:1", Space::names)) == Lines{"9223372036854775808:1"});
  const Block block = libsvm("1 9223372036854775808:1 5:2", Space::hashed);
  CHECK(block.width == 1 << 18);
  CHECK(block.rows.index.size() == 2);
}

TEST_CASE("libsvm: a bad line is skipped, or ends the reading") {
  const std::string text = "1 1:2\n1 x\n-1 1:3\n";
  const Block skipped = libsvm(text), stopped = libsvm(text, Space::indices, false);
  CHECK(features(skipped) == Lines{"1:2", "1:3"});
  CHECK(skipped.bad_count == 1);
  CHECK_FALSE(skipped.stopped);
  CHECK(skipped.lines == 3);
  CHECK(features(stopped) == Lines{"1:2"});
  CHECK(stopped.stopped);
  CHECK(stopped.lines == 1);
  CHECK(stopped.bytes == 6);
  CHECK(stopped.bad[0].line == 1);
}

TEST_CASE("libsvm: any cut into blocks gives the same events") {
  Random random(3);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::string text;
    for (std::int64_t n = random.between(1, 30); n > 0; --n) {
      text += random.chance(0.1) ? "bad" : std::to_string(random.below(3));
      if (random.chance(0.3)) text += " qid:" + std::to_string(random.below(5));
      for (std::int64_t k = random.below(6); k > 0; --k)
        text += " " + std::to_string(random.below(8)) + ":" + show(random.bell());
      text += random.chance(0.1) ? "\n\n" : random.chance(0.1) ? "\r\n" : "\n";
    }
    FeatureOptions options;
    options.space = Space(random.below(3));
    options.bits = 4;
    check_cuts(text, options, random.chance(0.7), seed, odca::text::read_libsvm);
  }
}

TEST_CASE("libsvm: any number of blanks may separate features") {
  for (const Space space : {Space::indices, Space::names, Space::hashed}) {
    FeatureOptions options;
    options.space = space;
    check_blanks("1", options, odca::text::read_libsvm);
  }
}

TEST_CASE("libsvm: a hashed index is its own hash, modulo the number of bits") {
  FeatureOptions options;
  options.space = Space::hashed, options.bits = 8;
  Block block;
  odca::text::read_libsvm("1 03:0.5 255:1 256:0.5 259:0.25 7:1 8:1 9:1 010:1", options, false, block);
  CHECK(features(block) == Lines{"0:0.5 3:0.75 7:1 8:1 9:1 10:1 255:1"});
}

TEST_CASE("libsvm: features that are numbers get no trend of a date that the learned events had") {
  FeatureOptions options;
  options.space = Space::indices, options.predicts = options.trend = true;
  options.date_spans = {10, {{"a", 1.7e9, 1.7e9, 1.71e9, 10, 0}}};
  const std::string text = "1 1:2\n28\n1 3:1\n";
  Block block;
  odca::text::read_libsvm(text, options, true, block);
  CHECK(features(block) == Lines{"1:2", "", "3:1"});
  check_cuts(text, options, true, 4, odca::text::read_libsvm);
}
