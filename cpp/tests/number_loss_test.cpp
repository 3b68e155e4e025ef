// A loss of numbers stands in for squared error by its unit and its residual.
#include "odca/experts/number_loss.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "odca/metrics/running_quantile.hpp"
#include "random.hpp"

using namespace odca;
using experts::MeanCurvature;
using experts::NumberLoss;
using experts::UnitLoss;
using odca::test::Random;

namespace {

const AnyLoss losses[] = {named_loss("absolute_error", 0.0), named_loss("quantile", 0.9), named_loss("poisson", 0.0)};

}  // namespace

TEST_CASE("squared error's residual is the residual, to the bit") {
  const NumberLoss squared;
  const UnitLoss unit{squared, 1.0};
  Random random(1);
  for (int n = 0; n < 1000; ++n) {
    const double p = random.bell(), s = std::exp2(random.uniform(-20.0, 20.0)), y = random.bell();
    CHECK(unit.residual(p, s, y) == y - p);
    CHECK(unit.residual(p, s, y) / (1.0 + s) ==
          std::get<PiecewiseQuadratic>(named_loss("squared_error", 0.0)).lambda(p, s, y));
    CHECK(unit.cost(p, y) == 0.5 * (y - p) * (y - p));
  }
}

TEST_CASE("the step by the residual solves the scalar problem of the loss in its unit") {
  Random random(2);
  for (const AnyLoss& each : losses) {
    const NumberLoss loss(each);
    for (int n = 0; n < 2000; ++n) {
      const double kappa = std::exp2(random.uniform(-8.0, 8.0)), s = std::exp2(random.uniform(-10.0, 10.0));
      const double p = random.bell(), y = std::floor(std::exp2(random.uniform(0.0, 5.0)));
      const UnitLoss unit{loss, kappa};
      const double lambda = unit.residual(p, s, y) / (1.0 + s);
      const double z = p + s * lambda;  // minimises Q(z) / kappa + (z - p)^2 / 2s
      const auto objective = [&](double at) { return unit.cost(at, y) + 0.5 * (at - p) * (at - p) / s; };
      const double step = 1e-4 * (1.0 + std::fabs(z));
      CHECK(objective(z) <= objective(z + step) + 1e-12 * (1.0 + std::fabs(objective(z))));
      CHECK(objective(z) <= objective(z - step) + 1e-12 * (1.0 + std::fabs(objective(z))));
    }
  }
}

TEST_CASE("the mean curvature of a quantile is the density of the residuals at zero, times the jump of the slope") {
  Random random(3);
  const NumberLoss absolute(losses[0]);
  MeanCurvature curvature;
  for (int n = 0; n < 20'000; ++n) curvature.learn(absolute, 0.0, 5.0 * random.bell(), 1.0);
  const double density = 1.0 / (5.0 * std::sqrt(2.0 * 3.14159265358979));
  CHECK(curvature.kappa(absolute) == doctest::Approx(2.0 * density).epsilon(0.15));
}

TEST_CASE("a running quantile is near the quantile, and is read back to the bit") {
  Random random(4);
  RunningQuantile running(0.9);
  for (int n = 0; n < 20'000; ++n) running.learn(random.uniform(0.0, 1.0), 1.0);
  CHECK(running.value() == doctest::Approx(0.9).epsilon(0.02));
  RunningQuantile twin(0.9);
  REQUIRE(twin.restore(running.state()));
  CHECK(twin.state() == running.state());
}

TEST_CASE("losses that the automatic mode does not have are refused") {
  CHECK_THROWS_AS(NumberLoss(named_loss("huber", 1.0)), InputError);
  CHECK_THROWS_AS(NumberLoss(named_loss("hinge", 0.0)), InputError);
}
