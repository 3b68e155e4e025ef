#include "odca/step/scaling.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "odca/learner/learner.hpp"
#include "support.hpp"

using namespace odca;
using odca::test::Random;

TEST_CASE("a scaling has the mean and the standard deviation of its events") {
  Scaling scaling;
  scaling.on = true;
  scaling.kind = Scaling::centred;
  scaling.resize(1);
  const double values[] = {1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0, 1e9 + 6.0};
  for (const double x : values) CHECK(scaling.add(0, x, 1.0));
  CHECK(scaling.of(0)[Scaling::centre] == doctest::Approx(1e9 + 3.0).epsilon(1e-15));
  CHECK(1.0 / scaling.of(0)[Scaling::unit] == doctest::Approx(std::sqrt(3.5)).epsilon(1e-12));
  scaling.remove(0, values[3], 1.0);
  CHECK(scaling.of(0)[Scaling::centre] == doctest::Approx(1e9 + 2.0).epsilon(1e-15));
  CHECK(1.0 / scaling.of(0)[Scaling::unit] == doctest::Approx(std::sqrt(2.0 / 3.0)).epsilon(1e-12));
  CHECK_FALSE(scaling.add(0, 1e200, 1.0));
}

TEST_CASE("for sparse features the scale is that of the non-zero values") {
  Scaling scaling;
  scaling.on = true;
  scaling.kind = Scaling::plain;
  scaling.resize(2);
  for (const double x : {0.0, 3.0, 0.0, -4.0}) scaling.add(0, x, 1.0);
  CHECK(scaling.of(0)[Scaling::centre] == 0.0);
  CHECK(scaling.of(0)[Scaling::unit] == doctest::Approx(1.0 / std::sqrt(12.5)));
  CHECK(scaling.of(1)[Scaling::unit] == 0.0);  // never seen
  scaling.remove(0, 3.0, 1.0);
  scaling.remove(0, -4.0, 1.0);
  CHECK(scaling.of(0)[Scaling::mass] == 0.0);
}

namespace {

// Learns dense rows of two features, one call each.
void learn_rows(Learner& learner, Random& random, int rows, double size) {
  for (int n = 0; n < rows; ++n) {
    const double values[] = {size * random.bell(), 100.0 + random.bell()}, y = random.sign();
    Events events;
    events.batch.matrix = DenseMatrix<double>{reinterpret_cast<const char*>(values), sizeof values, sizeof(double)};
    events.batch.rows = 1;
    events.batch.width = 2;
    events.y = {&y, 1, 0, 0.0};
    events.weight.otherwise = 1.0;
    learner.learn(events, {}, {});
  }
}

Config scaled(Window window) {
  Config config;
  config.loss = named_loss("hinge", 0.0);
  config.penalty = L2{};
  config.window = window;
  config.rho = {0.1};
  config.prior_strength = {0.0};
  config.kappa = 0.5;
  config.scale = true;
  return config;
}

}  // namespace

TEST_CASE("scaling works with windows, copies and lanes") {
  Window sliding, fading;
  sliding.kind = Window::Kind::count, sliding.length = 7;
  fading.parameter = {0.5};
  for (const Window& window : {sliding, fading, Window()}) {
    Learner learner(scaled(window));
    Random random(1);
    learn_rows(learner, random, 40, 1.0);
    learn_rows(learner, random, 5, 1e12);  // outliers come and go
    learn_rows(learner, random, 40, 1.0);
    const Learner copy(learner);
    CHECK(copy.same_state(learner));
    const auto more = learner.with_lanes({0, -1, 0}, {false, false, true});
    const std::vector<double> w = more->weights(false);
    CHECK(w[0] == -w[2]);
    CHECK(w[1] == 0.0);
    const Units units = learner.units();
    CHECK(std::isfinite(units.factors[0]));
    CHECK(units.centres[1] == doctest::Approx(100.0).epsilon(0.05));
  }
}

TEST_CASE("A count that a file claims too small never becomes negative") {
  Scaling scaling;
  scaling.on = true, scaling.kind = Scaling::centred;
  scaling.resize(1);
  for (const double x : {1.0, 3.0, -4.0}) scaling.add(0, x, 1.0);
  scaling.of(0)[Scaling::count] = 0.5;
  scaling.remove(0, 3.0, 1.0);
  CHECK(scaling.of(0)[Scaling::count] == 0.0);
  scaling.remove(0, -4.0, 1.0);
  CHECK(scaling.of(0)[Scaling::count] == 0.0);
}
