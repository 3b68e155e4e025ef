#include "odca/metrics/column_watch.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "odca/errors.hpp"
#include "random.hpp"

using odca::ColumnWatch;
using odca::test::Random;

namespace {

// A number x; and a category c, which is missing now and then.
void name_all(ColumnWatch& watch) {
  for (const char* key : {"x", "c\xfe",
                          "c\xff"
                          "one",
                          "c\xff"
                          "two"})
    watch.name(key);
}

ColumnWatch named() {
  ColumnWatch watch;
  name_all(watch);
  return watch;
}

void add(ColumnWatch& watch, Random& random, int count, double mean, double missing = 0.05) {
  for (int k = 0; k < count; ++k) {
    const std::int32_t index[] = {0, random.chance(missing) ? 1 : random.chance(0.7) ? 2 : 3};
    const double value[] = {mean + random.bell(), 1.0};
    watch.add(index, value, 2);
  }
}

}  // namespace

TEST_CASE("a column that changes is noticed, and others are not") {
  for (const bool is_number : {true, false}) {
    ColumnWatch watch = named();
    Random random(1);
    add(watch, random, 20'000, 5.0);
    REQUIRE(watch.count() == 0);
    if (is_number)
      add(watch, random, 5000, 6.0);
    else
      add(watch, random, 5000, 5.0, 0.3);
    REQUIRE(watch.count() == 1);
    const ColumnWatch::Change& change = watch.changes().front();
    CHECK(watch.column_name(change.column) == (is_number ? "x" : "c"));
    CHECK(change.what == (is_number ? ColumnWatch::What::larger : ColumnWatch::What::missing));
    CHECK(change.since > 19'900);
    CHECK(change.since <= change.event);
    CHECK(change.before == doctest::Approx(is_number ? 5.0 : 0.05).epsilon(0.2));
    CHECK(change.after == doctest::Approx(is_number ? 6.0 : 0.3).epsilon(0.2));
  }
}

TEST_CASE("a value that was not there before is new") {
  ColumnWatch watch = named();
  Random random(2);
  add(watch, random, 10'000, 0.0);
  watch.name(
      "c\xff"
      "three");
  for (int k = 0; k < 3000; ++k) {
    const std::int32_t index[] = {0, random.chance(0.1) ? 4 : random.chance(0.7) ? 2 : 3};
    const double value[] = {random.bell(), 1.0};
    watch.add(index, value, 2);
  }
  REQUIRE(watch.count() == 1);
  CHECK(watch.changes().front().what == ColumnWatch::What::fresh);
}

TEST_CASE("parts of dates, products and gaps of unknown columns are not columns") {
  ColumnWatch watch;
  for (const char* key : {"at.hour\xff"
                          "3",
                          "at.trend.2024",
                          "a\xfd"
                          "b",
                          "z\xfe"})
    watch.name(key);
  CHECK(watch.names().empty());
  watch.name("z");
  CHECK(watch.names() == std::vector<std::string>{"z"});
}

TEST_CASE("a watch is restored to the bit, wherever it was saved, and an invalid one is refused") {
  ColumnWatch whole = named();
  Random random(3);
  add(whole, random, 9000, 1.0), add(whole, random, 4000, 3.0);
  for (const int saved_at : {5, 500, 9100, 12'999}) {
    ColumnWatch watch = named();
    Random again(3);
    add(watch, again, std::min(saved_at, 9000), 1.0);
    if (saved_at > 9000) add(watch, again, saved_at - 9000, 3.0);
    ColumnWatch later = ColumnWatch::restored(watch.names(), watch.state());
    CHECK(later.state() == watch.state());
    name_all(later);
    if (saved_at < 9000) add(later, again, 9000 - saved_at, 1.0);
    add(later, again, saved_at < 9000 ? 4000 : 13'000 - saved_at, 3.0);
    CHECK(later.state() == whole.state());
  }
  const std::vector<double> state = whole.state();
  for (std::size_t k = 0; k < state.size(); ++k) {
    for (const double wrong : {-2.0, std::numeric_limits<double>::quiet_NaN(), 1e300, 0.5}) {
      std::vector<double> changed = state;
      changed[k] = wrong;
      try {
        ColumnWatch found = ColumnWatch::restored(whole.names(), changed);
        name_all(found);
        add(found, random, 2000, 2.0);
      } catch (const odca::InputError&) {
      }
    }
  }
  CHECK_THROWS_AS(ColumnWatch::restored({"x", "x"}, state), odca::InputError);
  CHECK_THROWS_AS(ColumnWatch::restored(whole.names(), {1.0}), odca::InputError);
}

TEST_CASE("joined watches keep the changes of both") {
  ColumnWatch one = named(), other = named();
  Random random(4);
  for (ColumnWatch* watch : {&one, &other}) add(*watch, random, 9000, 1.0), add(*watch, random, 2000, 3.0);
  REQUIRE(one.count() == 1);
  REQUIRE(other.count() == 1);
  const ColumnWatch both = one.joined(other);
  CHECK(both.count() == 2);
  CHECK(both.events() == 22'000);
  CHECK(both.changes()[1].event == other.changes()[0].event + 11'000);
  CHECK(both.column_name(both.changes()[1].column) == "x");
}
