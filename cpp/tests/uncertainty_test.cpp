#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "odca/uncertainty/error_tracker.hpp"
#include "random.hpp"

using odca::test::Random;
using odca::uncertainty::ErrorTracker;
using odca::uncertainty::live_pace;
using odca::uncertainty::ScoreHistogram;
using odca::uncertainty::Scores;

TEST_CASE("a score lies in its bin, and its quantile leads back to it") {
  Random random(1);
  for (int n = 0; n < 2000; ++n) {
    const double score = random.bell() * std::exp2(random.uniform(-11.0, 11.0));
    ScoreHistogram one;
    const ScoreHistogram::Place at = ScoreHistogram::place_of(score);
    CHECK(at.bin >= 0);
    CHECK(at.bin < ScoreHistogram::bins);
    one.add(at, 1.0);
    CHECK(one.quantile(one.below(at)) == doctest::Approx(score).epsilon(1e-9));
    CHECK(one.above(at) + one.below(at) == doctest::Approx(one.total()));
  }
}

TEST_CASE("scores of any size have a place") {
  for (const double score : {0.0, -0.0, 1e-300, -1e-300, 1e300, -1e300, odca::infinity, -odca::infinity}) {
    const ScoreHistogram::Place at = ScoreHistogram::place_of(score);
    CHECK(at.part >= 0.0);
    CHECK(at.part <= 1.0);
    CHECK((at.bin >= ScoreHistogram::bins / 2) == (score >= 0.0));
  }
}

TEST_CASE("a tracker keeps its sums sound for a long time, and is read back to the bit") {
  Random random(2);
  ErrorTracker tracker(Scores::numbers, live_pace);
  for (int n = 0; n < 700'000; ++n) tracker.add(random.bell(), 1.0);
  ErrorTracker twin(Scores::numbers, live_pace);
  REQUIRE(twin.read(tracker.numbers()));
  CHECK(twin.numbers() == tracker.numbers());
  const auto [lower, upper] = tracker.bounds(0.9);
  CHECK(lower < -0.5);
  CHECK(upper > 0.5);
}

TEST_CASE("what cannot have been saved is not read, and nothing has changed then") {
  ErrorTracker tracker(Scores::classes, live_pace);
  for (int n = 0; n < 100; ++n) tracker.add(n % 7 - 3.0, 1.0);
  const std::vector<double> before = tracker.numbers();
  for (const std::size_t at : {std::size_t{0}, std::size_t{7}, std::size_t{32}, before.size() - 1}) {
    std::vector<double> changed = before;
    changed[at] = -100.0;
    CHECK_FALSE(tracker.read(changed));
  }
  CHECK_FALSE(tracker.read({1.0}));
  CHECK(tracker.numbers() == before);
}
