#include "odca/features/builder.hpp"

#include <cmath>
#include <map>

#include "odca/errors.hpp"
#include "odca/features/history.hpp"
#include "odca/math/functions.hpp"
#include "text_support.hpp"

using namespace odca::test;
using odca::FeatureHash;
using odca::text::Builder;
using odca::text::Fault;

namespace {

// One event, written by fill(builder).
template <class Fill>
Block built(const FeatureOptions& options, Fill&& fill, bool paths = false) {
  Block block;
  Builder builder(options, block, paths);
  fill(builder);
  builder.finish("");
  builder.close();
  check_block(block, options);
  return block;
}

void add_ab(Builder& builder) {
  builder.number(builder.field("a"), 2.0, "");
  builder.category(builder.field("b"), "x", "");
  builder.named(builder.field("a"), "n", 3.0);
  builder.number(builder.field("c"), 5.0, "");
}

FeatureOptions crossed(std::vector<std::vector<std::string>> interactions, Space space = Space::names) {
  FeatureOptions options;
  options.space = space;
  options.interactions = std::move(interactions);
  return options;
}

}  // namespace

TEST_CASE("builder: numbers, categories, names in a field, missing values") {
  const Block block = built({}, [](Builder& builder) {
    builder.number(builder.field("price"), 3.2, "");
    builder.category(builder.field("country"), "NZ", "");
    builder.named(builder.field("ad"), "name", 0.5);
    builder.missing(builder.field("age"), "");
  });
  CHECK(features(block) == Lines{"price:3.2 country=NZ:1 age?:1 ad^name:0.5"});
}

TEST_CASE("builder: a missing value is indicated, ignored or a fault") {
  FeatureOptions options;
  options.missing = Missing::ignore;
  const auto fill = [](Builder& builder) { builder.missing(builder.field("age"), ""); };
  CHECK(features(built(options, fill)) == Lines{""});
  options.missing = Missing::error;
  CHECK_THROWS_AS(built(options, fill), Fault);
}

TEST_CASE("builder: interactions of fields") {
  const std::string plain = "a:2 b=x:1 a^n:3 c:5";
  CHECK(features(built(crossed({{"a", "b"}}), add_ab)) == Lines{plain + " a*b=x:2 a^n*b=x:3"});
  CHECK(features(built(crossed({{"c", "b", "a"}}), add_ab)) == Lines{plain + " c*b=x*a:10 c*b=x*a^n:15"});
  CHECK(features(built(crossed({{"a", "a"}}), add_ab)) == Lines{plain + " a*a:4 a*a^n:6 a^n*a^n:9"});
  CHECK(features(built(crossed({{"a", "c", "a"}}), add_ab)) == Lines{plain + " a*a*c:20 a*a^n*c:30 a^n*a^n*c:45"});
  CHECK(features(built(crossed({{"a", "z"}}), add_ab)) == Lines{plain});
}

TEST_CASE("builder: an interaction requested twice is made once") {
  CHECK(features(built(crossed({{"a", "b"}, {"b", "a"}}), add_ab)) == Lines{"a:2 b=x:1 a^n:3 c:5 a*b=x:2 a^n*b=x:3"});
}

TEST_CASE("builder: an ignored field does not interact") {
  FeatureOptions options = crossed({{"a", "c"}});
  options.ignore = {"c"};
  Block block;
  Builder builder(options, block);
  CHECK_FALSE(builder.field("c").kept);
  CHECK(builder.field("c").slot == -1);
  CHECK(builder.field("a").slot == 0);
}

TEST_CASE("builder: hashed and named features are the same, products included") {
  const std::vector<std::vector<std::string>> interactions = {{"a", "b"}, {"a", "a", "c"}, {"b", "c"}};
  const Block named = built(crossed(interactions), add_ab);
  const Block hashed = built(crossed(interactions, Space::hashed), add_ab);
  std::map<std::int32_t, double> wanted;
  for (std::size_t k = 0; k < named.rows.index.size(); ++k)
    wanted[static_cast<std::int32_t>(named.names.hash(named.rows.index[k]) & 0x3ffff)] += named.rows.value[k];
  REQUIRE(hashed.rows.index.size() == wanted.size());
  std::size_t k = 0;
  for (const auto& [index, value] : wanted) {
    CHECK(hashed.rows.index[k] == index);
    CHECK(hashed.rows.value[k++] == value);
  }
}

TEST_CASE("builder: a product that overflows is a fault") {
  const auto fill = [](Builder& builder) {
    builder.number(builder.field("a"), 1e200, "");
    builder.number(builder.field("b"), 1e200, "");
  };
  CHECK_THROWS_AS(built(crossed({{"a", "b"}}), fill), Fault);
  CHECK_THROWS_AS(built(crossed({{"a", "b"}}, Space::hashed), fill), Fault);
}

TEST_CASE("builder: words and n-grams are counted") {
  FeatureOptions options;
  const auto fill = [](Builder& builder) { builder.text(builder.field("t"), "The cat, the CAT the", ""); };
  CHECK(features(built(options, fill)) == Lines{"t=the:3 t=cat:2"});
  options.texts.words = 2;
  CHECK(features(built(options, fill)) == Lines{"t=the:3 t=cat:2 t=the cat:2 t=cat the:2"});
  options.texts.words = 3;
  const Block block = built(options, [](Builder& builder) { builder.text(builder.field("t"), "a b c", ""); });
  CHECK(features(block) == Lines{"t=a:1 t=b:1 t=a b:1 t=c:1 t=b c:1 t=a b c:1"});
  options.space = Space::hashed, options.texts.words = 1;
  double most = 0.0;
  for (const double count : built(options, fill).rows.value) most = std::max(most, count);
  CHECK(most == 3.0);
}

TEST_CASE("builder: series of characters are counted within words and the blanks around them") {
  FeatureOptions options;
  options.texts.words = 0, options.texts.fewest_characters = 3, options.texts.most_characters = 4;
  const auto characters = [&](std::string_view text) {
    return features(built(options, [&](Builder& builder) { builder.text(builder.field("t"), text, ""); }));
  };
  CHECK(characters("I'm") == Lines{"t.chars= i':1 t.chars=i'm:1 t.chars='m :1 t.chars= i'm:1 t.chars=i'm :1"});
  CHECK(characters("a  b") == Lines{"t.chars= a :1 t.chars= b :1"});  // shorter than any series but one
  CHECK(
      characters("\xc3\x9c\xe2\x80\x83\xff x") ==
      Lines{
          "t.chars= \xc3\xbc :1 t.chars= x :1"});  // by characters, not bytes; a wide blank, and a byte that is not UTF-8
  CHECK(characters(" ") == Lines{""});
  options.texts.length = 1;
  CHECK(characters("ab") == Lines{"t.chars= a :1"});
}

TEST_CASE("builder: counts of a text are scaled, and its features have a norm of one") {
  FeatureOptions options;
  options.texts.sublinear = true;
  const auto fill = [](Builder& builder) { builder.text(builder.field("t"), "b a b b b", ""); };
  const Block logarithms = built(options, fill);
  CHECK(logarithms.rows.value == std::vector<double>{1.0 + odca::log(4.0), 1.0});
  options.texts.sublinear = false, options.texts.unit_norm = true;
  const Block unit = built(options, fill);
  CHECK(unit.rows.value == std::vector<double>{4.0 / std::sqrt(17.0), 1.0 / std::sqrt(17.0)});
}

TEST_CASE("document counts: an event is weighted by the events before it, and what is taken back was not counted") {
  FeatureOptions options;
  options.texts.inverse_frequencies = true;
  Block block;
  Builder builder(options, block);
  for (const char* text : {"a b", "a c", "a a"}) {
    builder.text(builder.field("t"), text, "");
    builder.finish("");
  }
  builder.close();
  odca::text::History history(options);
  odca::SparseRows rows;
  history.extend(block, {}, rows);
  CHECK(rows.value == std::vector<double>{1.0, 1.0, 1.0, odca::log(2.0) + 1.0, 2.0});
  history.keep_first(2);
  const odca::text::History::Saved saved = history.saved();
  CHECK(saved.documents.events == 2);
  CHECK(saved.documents.count == std::vector<std::int64_t>{2, 1, 1});
  history.extend_for_now(block, {}, rows);
  CHECK(rows.value[0] == 1.0);
  CHECK(rows.value[1] == odca::log(3.0 / 2.0) + 1.0);
  CHECK(history.saved().documents.events == 2);
  odca::text::History other(options);
  CHECK_THROWS_AS(other.restore(saved, 2), odca::InputError);
  other.restore(saved, 3);
  CHECK(other.saved().documents.count == saved.documents.count);
}

TEST_CASE("builder: a fault leaves nothing of the event behind") {
  for (const Space space : {Space::names, Space::hashed}) {
    const FeatureOptions options = crossed({{"a", "b"}}, space);
    Block block, untouched;
    Builder builder(options, block), other(options, untouched);
    const auto good = [](Builder& to, double value) {
      to.number(to.field("a"), value, "");
      to.label("yes", "");
      to.finish("");
    };
    good(builder, 1.0), good(other, 1.0);
    builder.number(builder.field("new"), 3.0, "");
    add_ab(builder);
    builder.label("no", "");
    builder.label(2.0);
    builder.weight(2.0), builder.offset(3.0), builder.time(4.0), builder.group(5.0), builder.tag("t", "");
    builder.forget();
    good(builder, 2.0), good(other, 2.0);
    for (Builder* each : {&builder, &other}) {
      each->number(each->field("c"), 4.0, "");
      each->number(each->field("new"), 5.0, "");
      each->category(each->field("b"), "x", "");
      each->finish("");
      each->close();
    }
    CHECK(block.label_names.size() == 1);
    CHECK(block.weight.values().empty());
    CHECK(block.tag.empty());
    CHECK(std::isnan(block.label[1]));
    CHECK(features(block) == features(untouched));
    Gatherer ours(space == Space::names), theirs(space == Space::names);
    ours.add(std::move(block)), theirs.add(std::move(untouched));
    CHECK(ours.done() == theirs.done());
  }
}

TEST_CASE("builder: columns are filled in for events without a number") {
  Block block;
  const FeatureOptions options;
  Builder builder(options, block);
  builder.finish("");
  builder.weight(2.0), builder.tag("t", "");
  builder.finish("");
  builder.finish("");
  builder.close();
  CHECK(block.weight.values() == std::vector<double>{1.0, 2.0, 1.0});
  CHECK(block.tag == Lines{"", "t", ""});
  CHECK(block.offset.values().empty());
}

TEST_CASE("builder: remaining events keep their numbers") {
  Block block;
  FeatureOptions options;
  Builder builder(options, block);
  for (int event = 0; event < 8; ++event) {
    if (event >= 4) builder.weight(event);
    builder.finish("");
  }
  builder.close();
  block.keep({0, 0, 0, 0, 0, 1, 0, 1});
  CHECK(block.weight.values() == std::vector<double>{5.0, 7.0});
}

TEST_CASE("builder: an option for a path applies to everything below it, unless that has its own") {
  FeatureOptions options = crossed({{"user", "ad"}, {"user.age", "ad"}});
  options.ignore = {"raw"}, options.categorical = {"user", "raw"}, options.numeric = {"user.age"};
  Block block;
  Builder builder(options, block, true);
  CHECK_FALSE(builder.field("raw").kept);
  CHECK_FALSE(builder.field("raw.x").kept);
  CHECK_FALSE(builder.field("raw.x.y").kept);
  CHECK(builder.field("rawx").kept);
  CHECK(builder.field("user").kind == odca::text::Kind::category);
  CHECK(builder.field("user.id").kind == odca::text::Kind::category);
  CHECK(builder.field("user.age").kind == odca::text::Kind::number);
  CHECK(builder.field("user.age.years").kind == odca::text::Kind::number);
  CHECK(builder.field("use").kind == odca::text::Kind::any);
  CHECK(builder.field("user.id").slot == builder.field("user").slot);
  CHECK(builder.field("user.age.years").slot == builder.field("user.age").slot);
  CHECK(builder.field("user.age").slot != builder.field("user").slot);
  options.keep = {"user.age", "raw"};
  Builder keeping(options, block, true);
  CHECK_FALSE(keeping.field("user").kept);
  CHECK(keeping.field("user.age").kept);
  CHECK(keeping.field("user.age.years").kept);
  CHECK_FALSE(keeping.field("raw.x").kept);
  Builder plain(options, block);
  CHECK_FALSE(plain.field("user.age.years").kept);
}
