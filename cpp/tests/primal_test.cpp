#include "odca/baselines/primal.hpp"

#include <doctest/doctest.h>

#include "odca/baselines/dual_ascent.hpp"
#include "random.hpp"

using namespace odca;
using odca::test::Random;

namespace {

constexpr std::int64_t rows = 300, width = 40;

// Rows of a few features each.
struct Problem {
  std::vector<std::int32_t> start{0}, index;
  std::vector<double> value, y;

  explicit Problem(std::uint64_t seed) {
    Random random(seed);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int32_t j = 0; j < width; ++j)
        if (random.chance(0.15)) index.push_back(j), value.push_back(random.bell());
      start.push_back(static_cast<std::int32_t>(index.size()));
      y.push_back(random.sign());
    }
  }

  Batch batch() const {
    Batch out;
    out.matrix = SparseMatrix<std::int32_t, double>{start.data(), index.data(), value.data(),
                                                    static_cast<std::int64_t>(index.size())};
    out.rows = rows, out.width = width;
    return out;
  }
};

PrimalLearner make(bool implicit, double rate, double rho, double kappa, std::vector<double> start = {}) {
  return PrimalLearner(
      {named_loss("log_loss", 0.0), implicit, PrimalOptions::Rate::constant, rate, rho, 0.0, kappa, std::move(start)});
}

// The definition, in dense vectors: the weights, the smoothed weights, and their margins.
struct Slow {
  std::vector<double> w, smoothed, margins;
};

Slow slow(const Problem& problem, double rate, double rho, bool implicit, double kappa, std::vector<double> start) {
  const AnyLoss any = named_loss("log_loss", 0.0);
  const auto& loss = std::get<Logistic>(any);
  Slow out{start, start, {}};
  std::vector<double>&w = out.w, sum(width);
  double mass = 0.0;
  for (std::size_t i = 0; i < rows; ++i) {
    double z = 0.0, norm = 0.0, smoothed = 0.0;
    const auto each = [&](auto visit) {
      for (auto k = static_cast<std::size_t>(problem.start[i]); k < static_cast<std::size_t>(problem.start[i + 1]); ++k)
        visit(static_cast<std::size_t>(problem.index[k]), problem.value[k]);
    };
    each([&](std::size_t j, double h) { z += h * w[j], norm += h * h, smoothed += h * out.smoothed[j]; });
    out.margins.push_back(smoothed);
    const double keep = 1.0 - rate * rho;
    const double lambda =
        implicit ? loss.lambda(keep * z, rate * norm, problem.y[i]) : loss.lambda(z, 0.0, problem.y[i]);
    for (double& each_w : w) each_w *= keep;
    each([&](std::size_t j, double h) { w[j] += rate * lambda * h; });
    mass = kappa * mass + 1.0;
    for (std::size_t j = 0; j < width; ++j) sum[j] = kappa * sum[j] + w[j], out.smoothed[j] = sum[j] / mass;
  }
  return out;
}

}  // namespace

TEST_CASE("steps in the primal equal their definition, however fast the weights shrink and the past decays") {
  for (const bool implicit : {false, true})
    for (const double rho : {0.0, 0.01, 1.0, 4.5, 5.0})
      for (const double kappa : {0.0, 1e-3, 0.5, 0.999, 1.0})
        for (const double first : {0.0, 0.7}) {
          const Problem problem(static_cast<std::uint64_t>(100.0 * rho));
          const std::vector<double> start(width, first);
          PrimalLearner learner = make(implicit, 0.2, rho, kappa, start);
          std::vector<double> margins(rows);
          learner.learn(problem.batch(), problem.y.data(), margins.data(), {});
          const Slow expected = slow(problem, 0.2, rho, implicit, kappa, start);
          const std::vector<double> got = learner.weights(), smoothed = learner.smoothed_weights();
          for (std::size_t j = 0; j < width; ++j) {
            REQUIRE(std::fabs(got[j] - expected.w[j]) < 1e-12);
            REQUIRE(std::fabs(smoothed[j] - expected.smoothed[j]) < 1e-12);
          }
          for (std::size_t i = 0; i < rows; ++i) REQUIRE(std::fabs(margins[i] - expected.margins[i]) < 1e-12);
        }
}

TEST_CASE("before the first event the smoothed weights are the initial ones") {
  const PrimalLearner learner = make(false, 0.1, 0.1, 0.9, {1.0, 2.0});
  CHECK(learner.smoothed_weights() == std::vector<double>{1.0, 2.0});
}

TEST_CASE("a row that is not finite leaves the learner unchanged") {
  Problem problem(5);
  PrimalLearner learner = make(false, 0.1, 0.1, 1.0);
  std::vector<double> margins(rows);
  learner.learn(problem.batch(), problem.y.data(), margins.data(), {});
  const std::vector<double> before = learner.weights();
  problem.value.back() = infinity;
  CHECK_THROWS_AS(learner.learn(problem.batch(), problem.y.data(), margins.data(), {}), InputError);
  CHECK(learner.weights() == before);
  CHECK(learner.count() == rows);
}

TEST_CASE("an ascent that fails or is stopped leaves duals and weights unchanged") {
  Problem problem(6);
  DualAscent ascent(named_loss("log_loss", 0.0), 0.05, rows, width);
  std::vector<std::int64_t> order(rows);
  for (std::int64_t i = 0; i < rows; ++i) order[static_cast<std::size_t>(i)] = i;
  ascent.visit(problem.batch(), problem.y.data(), order, {});
  const std::vector<double> duals = ascent.duals(), w = ascent.weights();
  std::vector<std::int64_t> many;
  for (int k = 0; k < 20'000; ++k) many.insert(many.end(), order.begin(), order.end());
  int asked = 0;
  ascent.visit(problem.batch(), problem.y.data(), many, [&] { return ++asked > 1; });
  CHECK(asked == 2);
  CHECK(ascent.duals() == duals);
  problem.value.back() = infinity;
  CHECK_THROWS_AS(ascent.visit(problem.batch(), problem.y.data(), order, {}), InputError);
  CHECK(ascent.duals() == duals);
  CHECK(ascent.weights() == w);
}

TEST_CASE("coordinate ascent converges to duals that are the slopes at their margins") {
  const Problem problem(7);
  DualAscent ascent(named_loss("log_loss", 0.0), 0.05, rows, width);
  Random random(8);
  std::vector<std::int64_t> order(100 * rows);
  for (std::int64_t& row : order) row = random.below(rows);
  ascent.visit(problem.batch(), problem.y.data(), order, {});
  const std::vector<double> w = ascent.weights();
  std::vector<double> sum(width);
  for (std::size_t i = 0; i < rows; ++i) {
    double z = 0.0;
    for (auto k = static_cast<std::size_t>(problem.start[i]); k < static_cast<std::size_t>(problem.start[i + 1]); ++k) {
      z += problem.value[k] * w[static_cast<std::size_t>(problem.index[k])];
      sum[static_cast<std::size_t>(problem.index[k])] += ascent.duals()[i] * problem.value[k];
    }
    REQUIRE(ascent.duals()[i] == doctest::Approx(problem.y[i] / (1.0 + std::exp(problem.y[i] * z))).epsilon(1e-8));
  }
  for (std::size_t j = 0; j < width; ++j) REQUIRE(w[j] == doctest::Approx(sum[j] / (0.05 * rows)).epsilon(1e-10));
}
