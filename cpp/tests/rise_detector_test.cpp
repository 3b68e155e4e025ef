#include "odca/metrics/rise_detector.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "odca/metrics/curve.hpp"

using odca::Curve;
using odca::RiseDetector;

TEST_CASE("a rise is noticed soon, and its beginning is known") {
  RiseDetector detector;
  for (int event = 0; event < 3000; ++event) detector.add(event % 2 ? 0.1 : 0.3, 1.0);
  CHECK(detector.count() == 0);
  for (int event = 0; event < 100; ++event) detector.add(2.0, 1.0);
  REQUIRE(detector.count() == 1);
  CHECK(detector.alarms()[0].since == 3001);
  CHECK(detector.alarms()[0].event < 3030);
  CHECK(detector.alarms()[0].before == doctest::Approx(0.2));
  CHECK(detector.alarms()[0].after == doctest::Approx(2.0));
}

TEST_CASE("events of weight zero and unknown losses count as events only") {
  RiseDetector one, other;
  for (int event = 0; event < 500; ++event) {
    one.add(event, 1.0);
    other.add(event, 1.0);
    other.add(1e9, 0.0);
    other.add(std::numeric_limits<double>::quiet_NaN(), 1.0);
  }
  CHECK(other.events() == 3 * one.events());
  REQUIRE(one.count() == 1);
  REQUIRE(other.count() == 1);
  CHECK(other.alarms()[0].event == 3 * one.alarms()[0].event - 2);
}

TEST_CASE("a state is restored to the bit, and an invalid one is refused") {
  RiseDetector detector;
  for (int event = 0; event < 1000; ++event) detector.add(event % 7 + (event > 600 ? 40 : 0), 1.0);
  const std::vector<double> state = detector.state();
  CHECK(RiseDetector::restored(state).state() == state);
  for (std::size_t place = 0; place < state.size(); ++place) {
    std::vector<double> spoilt = state;
    spoilt[place] = -1.0;
    CHECK_THROWS_AS(RiseDetector::restored(spoilt), odca::InputError);
  }
  CHECK_THROWS_AS(RiseDetector::restored({state.begin(), state.end() - 1}), odca::InputError);
  CHECK_THROWS_AS(RiseDetector::restored({}), odca::InputError);
}

TEST_CASE("a curve keeps few points, at multiples of a power of two") {
  Curve curve(2);
  for (int event = 1; event <= 5000; ++event)
    if (curve.is_due(event)) curve.push(std::array{static_cast<double>(event), 0.5 * event});
  const std::vector<double>& points = curve.points();
  CHECK(curve.every() == 64);
  REQUIRE(points.size() == 2 * (5000 / 64));
  for (std::size_t at = 0; at < points.size(); at += 2) CHECK(points[at] == 64.0 * static_cast<double>(at / 2 + 1));
}
