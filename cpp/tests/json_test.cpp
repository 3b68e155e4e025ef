#include "odca/ingest/json/json.hpp"

#include "text_support.hpp"

using namespace odca::test;
using odca::text::RoleNames;

namespace {

Block json(std::string_view text, const FeatureOptions& options = {}, const RoleNames& roles = {}) {
  Block block;
  odca::text::read_json(text, roles, options, true, block);
  check_block(block, options);
  return block;
}

Block json(std::string_view text, const RoleNames& roles) { return json(text, {}, roles); }

// The features of a valid line.
std::string one(std::string_view text, const FeatureOptions& options = {}) {
  const Block block = json(text, options);
  CHECK(faults(block) == Lines{});
  REQUIRE(block.size() == 1);
  return features(block)[0];
}

// What is wrong with a line. It leaves nothing behind.
std::string fault(std::string_view line, const FeatureOptions& options = {}, const RoleNames& roles = {}) {
  const Block block = json(line, options, roles);
  CHECK(block.size() == 0);
  CHECK(block.names.size() == 0);
  CHECK(block.label_names.size() == 0);
  REQUIRE(block.bad.size() == 1);
  return faults(block)[0];
}

std::string nested(int depth, const std::string& open, const std::string& close) {
  std::string out;
  for (int k = 0; k < depth; ++k) out += open;
  out += "1";
  for (int k = 0; k < depth; ++k) out += close;
  return out;
}

}  // namespace

TEST_CASE("json: what each value becomes") {
  CHECK(one(R"({"price": 3.2, "country": "NZ", "new": true, "old": false, "age": null, "size": NaN})") ==
        "price:3.2 country=NZ:1 new:1 old:0 age?:1 size?:1");
  CHECK(one("{}") == "");
  CHECK(one(R"( { "a" : 1 , "b" : [ ] , "c" : { } } )") == "a:1");
  CHECK(one("{\t\"a\":\t1\r}\r") == "a:1");
  CHECK(one(R"({"user": {"age": 3, "home": {"city": "Rome"}}})") == "user.age:3 user.home.city=Rome:1");
  CHECK(one(R"({"tags": ["a", "b", "a"]})") == "tags=a:2 tags=b:1");
  CHECK(one(R"({"size": [3, 4.5]})") == "size.0:3 size.1:4.5");
  CHECK(one(R"({"items": [{"price": 3}, {"price": 4}]})") == "items.0.price:3 items.1.price:4");
  CHECK(one(R"({"x": [1, "a", null, true, [2, "b"], {"y": 3}]})") ==
        "x.0:1 x=a:1 x.2?:1 x.3:1 x.4.0:2 x.4=b:1 x.5.y:3");
}

TEST_CASE("json: numbers of RFC 8259, and no others") {
  CHECK(one(R"({"a": [0, -0, 1.5, -1.5e3, 1E+2, 1e-2, 0.1, 1e-999]})") ==
        "a.0:0 a.1:-0 a.2:1.5 a.3:-1500 a.4:100 a.5:0.01 a.6:0.1 a.7:0");
  for (const char* number : {"01", "-01", "00", "+1", ".5", "-.5", "1.", "1.e3", "-", "1e", "1e+", "0x10", "1_000",
                             "--1", "1.2.3", "-NaN", "nan", "1,5", "Infinit"})
    fault("{\"a\": " + std::string(number) + "}");
  CHECK(has(fault(R"({"a": Infinity})"), "0:7 a number must be finite; got 'Infinity'"));
  CHECK(has(fault(R"({"a": -Infinity})"), "must be finite"));
  CHECK(has(fault(R"({"a": 1e999})"), "too large for a float: '1e999'"));
  CHECK(has(fault(R"({"a": 01})"), "begins with 0"));
}

TEST_CASE("json: strings and their escapes") {
  CHECK(one(R"({"a": "\"\\\/\b\f\n\r\t"})") == "a=\"\\/\b\f\n\r\t:1");
  CHECK(one(R"({"a": "\u00e9\u20AC\ud83d\ude00z"})") == "a=é€😀z:1");
  CHECK(one(R"({"\u0061b": 1})") == "ab:1");
  CHECK(one(R"({"é": "東京"})") == "é=東京:1");
  CHECK(one(R"({"a": ""})") == "a?:1");
  CHECK(one(R"({"a": "\u0000"})") == std::string("a=\0:1", 5));
  CHECK(one("{\"a\": \"\x7f\"}") == "a=\x7f:1");
  for (const char* text : {R"(\ud83d)", R"(\ude00)", R"(\ud83dx)", R"(\ud83d\n)", R"(\ud83d\ud83d)", R"(\ude00\ud83d)"})
    CHECK(has(fault("{\"a\": \"" + std::string(text) + "\"}"), "surrogate"));
  CHECK(has(fault(R"({"a": "\u12g4"})"), "four hexadecimal digits"));
  CHECK(has(fault(R"({"a": "\u12)"), "four hexadecimal digits"));
  CHECK(has(fault(R"({"a": "\x41"})"), "no escape '\\x'"));
  CHECK(has(fault(R"({"a": "\)"), "no escape"));
  CHECK(has(fault("{\"a\": \"b\tc\"}"), "control character, '\\x09'"));
  CHECK(has(fault("{\"a\x01\": 1}"), "control character"));
  CHECK(has(fault("{\"a\": \"b\xff\"}"), "not UTF-8"));
  CHECK(has(fault("{\"a\xed\xa0\x80\": 1}"), "not UTF-8"));
  CHECK(has(fault(R"({"a": "b)"), "does not end"));
  CHECK(has(fault(R"({"a)"), "does not end"));
}

TEST_CASE("json: a line is one object and nothing else") {
  for (const char* line : {"[1]",
                           "1",
                           "\"a\"",
                           "null",
                           "{",
                           "}",
                           "{\"a\"",
                           "{\"a\":",
                           "{\"a\": 1",
                           "{\"a\": 1,",
                           "{\"a\": 1,}",
                           "{,}",
                           "{\"a\" 1}",
                           "{\"a\": 1 \"b\": 2}",
                           "{a: 1}",
                           "{'a': 1}",
                           "{1: 2}",
                           "{\"a\": 1}}",
                           "{\"a\": 1} x",
                           "{} {}",
                           "{\"a\": [1,]}",
                           "{\"a\": [,]}",
                           "{\"a\": [1 2]}",
                           "{\"a\": [1}",
                           "{\"a\": {]}",
                           "{\"a\": }",
                           "{\"a\": tru}",
                           "{\"a\": truex}",
                           "{\"a\": True}",
                           "{\"a\": None}",
                           "{\"a\": 1} // comment",
                           "\xef\xbb\xbf{}",
                           "{\"a\": 1;}"})
    fault(line);
  CHECK(has(fault("{\"a\": 1"), "0:8 expected ',' or '}'; the line ends here"));
  CHECK(has(fault("{\"a\": 1} x"), "0:10 expected nothing behind the object; got 'x'"));
  CHECK(has(fault("[1]"),
            "0:1 expected an object in braces on each line, not a list of them (jq -c '.[]' makes lines of a list); "
            "got '[1]'"));
  CHECK(has(fault(std::string_view("{\"a\0\": 1}", 9)), "NUL"));
}

TEST_CASE("json: a key may not occur twice, however it is written") {
  CHECK(has(fault(R"({"a": 1, "a": 1})"), "0:10 'a' is there twice"));
  CHECK(has(fault(R"({"a": 1, "\u0061": 1})"), "twice"));
  CHECK(has(fault(R"({"a": {}, "a": {}})"), "twice"));
  CHECK(has(fault(R"({"a": {"b": 1, "b": 1}})"), "'a.b' is there twice"));
  CHECK(has(fault(R"({"a": {"b": 1}, "a.b": 2})"), "'a.b' is there twice"));
  CHECK(has(fault(R"({"a": [1], "a.0": 2})"), "'a.0' is there twice"));
  CHECK(one(R"({"a": {"b": 1}, "b": 2, "c": {"a": 3, "b": 4}})") == "a.b:1 b:2 c.a:3 c.b:4");
}

TEST_CASE("json: only equal paths are the same feature, however the keys are nested") {
  const Block block = json(R"({"a.b": 1, "c": 2})"
                           "\n"
                           R"({"a": {"b": 1, "c": 3}, "c": 4})"
                           "\n"
                           R"({"a.b": 1, "c": 5, "a": {"c": 6}})"
                           "\n");
  CHECK(features(block) == Lines{"a.b:1 c:2", "a.b:1 c:4 a.c:3", "a.b:1 c:5 a.c:6"});
}

TEST_CASE("json: an empty key is no name, unless it is below another or ignored") {
  CHECK(has(fault(R"({"": 1})"), "without a name"));
  CHECK(one(R"({"a": {"": 1}})") == "a.:1");
  CHECK(one(R"({"": {"a": 1}})") == ".a:1");
  FeatureOptions options;
  options.keep = {"a"};
  CHECK(one(R"({"": 1, "a": 2})", options) == "a:2");
}

TEST_CASE("json: objects and arrays may be nested at most 64 deep") {
  CHECK(json("{\"a\": " + nested(63, "[", "]") + "}").size() == 1);
  CHECK(has(fault("{\"a\": " + nested(64, "[", "]") + "}"), "64 deep"));
  CHECK(json(nested(64, "{\"a\":", "}")).size() == 1);
  CHECK(has(fault(nested(65, "{\"a\":", "}")), "64 deep"));
  CHECK(has(fault("{\"a\": " + std::string(1'000'000, '[')), "64 deep"));
  // The depth of one line does not affect the next.
  CHECK(json("{\"a\": " + nested(64, "[", "]") + "}\n{\"a\": " + nested(63, "[", "]") + "}").size() == 1);
}

TEST_CASE("json: the kind of a field says what its values become") {
  FeatureOptions options;
  options.categorical = {"id"}, options.numeric = {"n"}, options.text = {"t"};
  CHECK(one(R"({"id": 1.0, "n": "2.5", "t": "Hello, world", "m": "Hello, world"})", options) ==
        "id=1:1 n:2.5 t=hello:1 t=world:1 m=Hello, world:1");
  CHECK(one(R"({"id": [1, 2, true, null], "n": ["1", 2], "t": ["a b", 3]})", options) ==
        "id=1:1 id=2:1 id=true:1 id.3?:1 n.0:1 n.1:2 t=a:1 t=b:1 t.1=3:1");
  CHECK(one(R"({"id": {"x": 1}, "n": {"x": "1"}, "n.y": true})", options) == "id.x=1:1 n.x:1 n.y:1");
  CHECK(has(fault(R"({"n": "many"})", options), "'n' must be a number; got 'many'"));
  CHECK(one(R"({"n": ""})", options) == "n?:1");
  CHECK(has(fault(R"({"n": "1e999"})", options), "'n' must be finite"));
  options.missing = Missing::error;
  CHECK(has(fault(R"({"a": null})", options), "0:7 'a' is missing"));
}

TEST_CASE("json: ignoring or keeping a path applies to everything below it") {
  FeatureOptions options;
  options.ignore = {"user"};
  const char* const line = R"({"user": {"age": 3, "tags": ["a"]}, "user.x": 1, "users": 2, "a": {"user": 3}})";
  CHECK(one(line, options) == "users:2 a.user:3");
  CHECK(has(fault(R"({"user": {"age": x}})", options), "expected a value"));
  options.ignore = {"user.age"};
  CHECK(one(line, options) == "user.tags=a:1 user.x:1 users:2 a.user:3");
  options.keep = {"user"};
  CHECK(one(line, options) == "user.tags=a:1 user.x:1");
}

TEST_CASE("json: interactions include everything below a field") {
  FeatureOptions options;
  options.interactions = {{"user", "ad"}};
  CHECK(one(R"({"user": {"age": 3, "home": "NZ"}, "ad": 2})", options) ==
        "user.age:3 user.home=NZ:1 ad:2 user.age*ad:6 user.home=NZ*ad:2");
}

TEST_CASE("json: label, weight, offset, time, group, tag") {
  const RoleNames roles{.label = "y", .weight = "w", .offset = "meta.o", .group = "g", .time = "t", .tag = "id"};
  const Block block = json(R"({"y": 1, "w": 2, "meta": {"o": 0.5, "x": 1}, "t": 3.5, "g": 7, "id": "first"})"
                           "\n"
                           R"({"y": "yes", "id": 12.50})"
                           "\n"
                           R"({"y": true, "w": null})"
                           "\n"
                           R"({"y": null})"
                           "\n"
                           R"({"a": 1})"
                           "\n",
                           roles);
  CHECK(faults(block) == Lines{});
  CHECK(features(block) == Lines{"meta.x:1", "", "", "", "a:1"});
  CHECK(block.label[0] == 1.0);
  CHECK(block.label[2] == 1.0);
  for (const std::size_t row : {1, 3, 4}) CHECK(std::isnan(block.label[row]));
  CHECK(block.label_text == std::vector<std::int32_t>{-1, 0, -1, -1, -1});
  CHECK(block.label_names[0] == "yes");
  CHECK(block.weight.values() == std::vector<double>{2.0, 1.0, 1.0, 1.0, 1.0});
  CHECK(block.offset.values()[0] == 0.5);
  CHECK(block.time.values()[0] == 3.5);
  CHECK(std::isnan(block.time.values()[1]));
  CHECK(block.group.values()[0] == 7.0);
  CHECK(block.tag == Lines{"first", "12.50", "", "", ""});
  CHECK(has(fault(R"({"y": [1]})", {}, roles), "0:7 'y' must be a single value"));
  CHECK(has(fault(R"({"w": "2"})", {}, roles), "0:7 'w' must be a number; got '\"2\"'"));
  CHECK(has(fault(R"({"t": "yesterday"})", {}, roles), "0:7 't' must be a date such as"));
  CHECK(has(fault(R"({"t": "2024-02-30"})", {}, roles), "there is no such date in 't'"));
  CHECK(json(R"({"t": "1970-01-02T00:00:01.5Z"})", roles).time.values() == std::vector<double>{86401.5});
  CHECK(has(fault(R"({"g": true})", {}, roles), "'g' must be a number; got 'true'"));
  CHECK(has(fault(R"({"y": 1, "y": 2})", {}, roles), "twice"));
}

TEST_CASE("json: lines with other keys, or in another order") {
  const Block block =
      json("{\"a\": 1, \"b\": 2, \"c\": 3}\n\n{\"a\":4,\"c\":5}\n{\"b\": 6, \"a\": 7}\r\n{\"a\":8, \"b\" : 9}");
  CHECK(features(block) == Lines{"a:1 b:2 c:3", "a:4 c:5", "a:7 b:6", "a:8 b:9"});
  CHECK(block.line == std::vector<std::uint32_t>{0, 2, 3, 4});
}

TEST_CASE("json: after a bad line nothing is left of it") {
  const RoleNames roles{.label = "y", .weight = "w", .offset = "", .group = "", .time = "", .tag = "id"};
  const Block block =
      json("{\"a\": 1}\n{\"b\": 2, \"y\": \"no\", \"w\": 3, \"id\": \"x\", \"c\": }\n{\"c\": 3, \"b\": 4}\n", roles);
  CHECK(features(block) == Lines{"a:1", "c:3 b:4"});
  CHECK(block.names.size() == 3);
  CHECK(block.label_names.size() == 0);
  CHECK(block.weight.values().empty());
  CHECK(block.tag.empty());
}

namespace {

std::string random_value(Random& random, int depth) {
  static const char* const values[] = {"1",     "-2.5", "\"x\"", "\"y z\"",     "true",
                                       "false", "null", "NaN",   "\"\\u00e9\"", "[]"};
  if (depth < 3 && random.chance(0.2)) {
    std::string out = "{";
    for (std::int64_t k = random.below(3); k >= 0; --k)
      out += "\"" + std::string(1, static_cast<char>('a' + 3 * depth + k)) + "\":" + random_value(random, depth + 1) +
             (k ? "," : "");
    return out + "}";
  }
  if (random.chance(0.1)) return "[" + random_value(random, depth + 1) + ", " + random_value(random, depth + 1) + "]";
  return random.chance(0.03) ? "bad" : values[random.below(10)];
}

}  // namespace

TEST_CASE("json: any cut into blocks gives the same events") {
  const RoleNames roles{.label = "y", .weight = "w", .offset = "", .group = "", .time = "", .tag = "id"};
  Random random(5);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::string text;
    for (std::int64_t n = random.between(1, 30); n > 0; --n) {
      text +=
          "{\"y\": " + (random.chance(0.5) ? "\"l" + std::to_string(random.below(4)) + "\"" : random_value(random, 9));
      if (random.chance(0.3)) text += ", \"w\": " + std::to_string(random.below(9));
      for (const char key : {'a', 'b', 'c', 'd'})
        if (random.chance(0.7)) text += std::string(", \"") + key + "\": " + random_value(random, 0);
      text += random.chance(0.05) ? "}}\n" : random.chance(0.1) ? "}\r\n\n" : "}\n";
    }
    FeatureOptions options;
    options.space = random.chance(0.5) ? Space::names : Space::hashed;
    options.bits = 6;
    if (random.chance(0.5)) options.interactions = {{"a", "b"}, {"c", "c"}};
    if (random.chance(0.3)) options.text = {"a"};
    if (random.chance(0.3)) options.categorical = {"b"};
    const auto parse = [&](std::string_view part, const FeatureOptions& given, bool skip_bad, Block& block) {
      odca::text::read_json(part, roles, given, skip_bad, block);
    };
    check_cuts(text, options, random.chance(0.8), seed, parse);
  }
}
