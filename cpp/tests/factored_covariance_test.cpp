// The factored covariance is the plain one, as long as that is sound, and stays sound after it is not.
#include "odca/math/factored_covariance.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "random.hpp"

using namespace odca::test;
using odca::FactoredCovariance;

namespace {

constexpr int size = 7;

std::vector<double> direction(Random& random, int n) {
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& each : x) each = random.bell();
  return x;
}

double observe(FactoredCovariance& p, const std::vector<double>& x, double q, std::vector<double>& gain) {
  FactoredCovariance::Direction along;
  p.look_along(x.data(), along);
  p.observe(along, q, gain.data());
  return along.variance;
}

}  // namespace

TEST_CASE("An observation narrows the factors as it narrows the covariance") {
  Random random(0);
  FactoredCovariance factored;
  for (int j = 0; j < size; ++j) factored.append(0.5 + j);
  std::vector<double> plain = factored.dense(), gain(size);
  for (int event = 0; event < 200; ++event) {
    const std::vector<double> x = direction(random, size);
    const double q = std::exp(random.bell());
    std::vector<double> px(size, 0.0);
    double variance = 0.0;
    for (int i = 0; i < size; ++i)
      for (int k = 0; k < size; ++k) px[i] += plain[i * size + k] * x[k];
    for (int i = 0; i < size; ++i) variance += x[i] * px[i];
    CHECK(observe(factored, x, q, gain) == doctest::Approx(variance).epsilon(1e-10));
    for (int i = 0; i < size; ++i) CHECK(gain[i] == doctest::Approx(px[i]).epsilon(1e-9));
    for (int i = 0; i < size; ++i)
      for (int k = 0; k < size; ++k) plain[i * size + k] -= px[i] * px[k] * q / (1.0 + q * variance);
    factored.multiply(1.01);
    for (double& each : plain) each *= 1.01;
  }
  const std::vector<double> out = factored.dense();
  double trace = 0.0;
  for (int i = 0; i < size; ++i) trace += out[i * size + i];
  for (int i = 0; i < size * size; ++i) CHECK(out[i] == doctest::Approx(plain[i]).epsilon(1e-8));
  CHECK(factored.trace() == doctest::Approx(trace).epsilon(1e-12));
}

TEST_CASE("Factors of a covariance give it back") {
  Random random(1);
  FactoredCovariance p;
  for (int j = 0; j < size; ++j) p.append(1.0);
  std::vector<double> gain(size);
  for (int event = 0; event < 50; ++event) observe(p, direction(random, size), 1.0, gain);
  const std::vector<double> once = p.dense(), twice = FactoredCovariance::of(once, size, 1e-300).dense();
  for (std::size_t k = 0; k < once.size(); ++k) CHECK(twice[k] == doctest::Approx(once[k]).epsilon(1e-12));
}

TEST_CASE("Nearly collinear observations that are forgotten leave every variance positive after a million events") {
  Random random(2);
  FactoredCovariance p;
  for (int j = 0; j < size; ++j) p.append(1.0);
  std::vector<double> gain(size);
  for (int event = 0; event < 1000000; ++event) {
    std::vector<double> x(size, random.bell());
    for (double& each : x) each += 1e-9 * random.bell();
    observe(p, x, 1e6, gain);
    const double trace = event % 16 == 0 ? p.trace() : 0.0;
    if (trace > 0.0 && trace < size) p.multiply(std::min(1.03, size / trace));
  }
  FactoredCovariance::Direction along;
  for (int j = 0; j < size; ++j) {
    std::vector<double> unit(size, 0.0);
    unit[j] = 1.0;
    p.look_along(unit.data(), along);
    CHECK(along.variance > 0.0);
    CHECK(along.variance < 10.0 * size);
  }
}
