#include "odca/metrics/class_tally.hpp"

#include <doctest/doctest.h>

#include "random.hpp"

using odca::ClassTally;
using odca::test::Random;

namespace {

void add(ClassTally& tally, std::int32_t label, double weight, std::int32_t chosen = ClassTally::nobody) {
  tally.add({label, chosen, 0.0, weight, nullptr, nullptr, 0});
}

}  // namespace

TEST_CASE("the no-change and majority baselines use the previous events only") {
  ClassTally tally;
  for (const std::int32_t label : {0, 1, 1, 0, 1}) add(tally, label, 1.0, 1);
  CHECK(tally.weight == 5.0);
  CHECK(tally.hits == 3.0);
  CHECK(tally.no_change == 1.0);
  CHECK(tally.majority == 1.0);  // the predictions were: none, 0, 0 (which came first), 1, 1
  CHECK(tally.leader == 1);
  CHECK(tally.class_weight == std::vector<double>{2.0, 3.0});
}

TEST_CASE("an event of weight zero counts as the previous label, but not for the majority") {
  ClassTally tally;
  add(tally, 1, 0.0);
  CHECK(tally.leader == ClassTally::nobody);
  add(tally, 1, 2.0);
  CHECK(tally.no_change == 2.0);
  CHECK(tally.leader == 1);
}

TEST_CASE("with a third class the two-class statistics stop") {
  ClassTally tally;
  const double margin = 0.5, p = 0.75;
  tally.add({1, 1, 0.1, 1.0, &margin, &p, 0});
  CHECK(tally.rank_weight[static_cast<std::size_t>(2 * ClassTally::ranks + ClassTally::rank_of(margin))] == 1.0);
  CHECK(tally.gaps[11] == -0.25);  // 0.75 * 15 = 11.25
  CHECK(tally.surprise == doctest::Approx(-std::log(0.75)));
  tally.add({2, 1, 0.1, 1.0, &margin, &p, 0});
  CHECK(std::count(tally.rank_weight.begin(), tally.rank_weight.end(), 0.0) == 4 * ClassTally::ranks);
  CHECK(std::count(tally.gaps.begin(), tally.gaps.begin() + ClassTally::bins, 0.0) == ClassTally::bins);
  CHECK(tally.gaps[ClassTally::bins + 11] == 0.5);  // -0.25 and 0.75
  CHECK(tally.surprise > 36.0);                     // nothing was stated for it
}

TEST_CASE("the bins are monotone in the margin") {
  Random random(1);
  for (int turn = 0; turn < 20000; ++turn) {
    const double a = random.sign() * random.magnitude(-30, 30), b = random.sign() * random.magnitude(-30, 30);
    REQUIRE((a <= b) <= (ClassTally::rank_of(a) <= ClassTally::rank_of(b)));
    REQUIRE(ClassTally::rank_of(a) >= 0);
    REQUIRE(ClassTally::rank_of(a) < 2 * ClassTally::ranks);
  }
  CHECK(ClassTally::rank_of(1e300) == 2 * ClassTally::ranks - 1);
  CHECK(ClassTally::rank_of(-1e300) == 0);
}
