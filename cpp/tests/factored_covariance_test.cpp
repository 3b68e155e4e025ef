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

FactoredCovariance::Direction along(const FactoredCovariance& p, std::vector<double> x) {
  FactoredCovariance::Direction out;
  x.resize(p.padded_size(), 0.0);
  p.look_along(x.data(), out);
  return out;
}

double observe(FactoredCovariance& p, const std::vector<double>& x, double q, std::vector<double>& gain) {
  FactoredCovariance::Direction seen = along(p, x);
  gain.resize(p.padded_size());
  p.observe(seen, q, gain.data());
  return seen.variance;
}

FactoredCovariance learned(std::uint64_t seed, int events) {
  Random random(seed);
  FactoredCovariance p;
  for (int j = 0; j < size; ++j) p.append(1.0);
  std::vector<double> gain;
  for (int event = 0; event < events; ++event) observe(p, direction(random, size), 1.0, gain);
  return p;
}

void check_same(const std::vector<double>& a, const std::vector<double>& b, double within) {
  REQUIRE(a.size() == b.size());
  for (std::size_t k = 0; k < a.size(); ++k) CHECK(std::fabs(a[k] - b[k]) <= within);
}

}  // namespace

TEST_CASE("An observation narrows the factors as it narrows the covariance") {
  Random random(0);
  FactoredCovariance factored;
  for (int j = 0; j < size; ++j) factored.append(0.5 + j);
  std::vector<double> plain = factored.dense(), gain;
  for (int event = 0; event < 200; ++event) {
    const std::vector<double> x = direction(random, size);
    const double q = std::exp(random.bell());
    std::vector<double> px(size, 0.0);
    double variance = 0.0;
    for (int i = 0; i < size; ++i)
      for (int k = 0; k < size; ++k) px[i] += plain[i * size + k] * x[k];
    for (int i = 0; i < size; ++i) variance += x[i] * px[i];
    check_same(factored.times(x), px, 1e-9);
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

TEST_CASE("The precision is the inverse, and gives the covariance back") {
  const FactoredCovariance p = learned(1, 50);
  const std::vector<double> plain = p.dense(), precision = p.precision();
  std::vector<double> product(size * size, 0.0), identity(size * size, 0.0);
  for (int i = 0; i < size; ++i) {
    identity[i * size + i] = 1.0;
    for (int j = 0; j < size; ++j)
      for (int k = 0; k < size; ++k) product[i * size + j] += plain[i * size + k] * precision[k * size + j];
  }
  check_same(product, identity, 1e-12);
  check_same(FactoredCovariance::of_precision(precision, size, 1e-9).dense(), plain, 1e-14);
}

TEST_CASE("Some coordinates have their part of the covariance") {
  const FactoredCovariance p = learned(2, 50);
  const std::vector<int> places = {0, 2, 3, 6};
  std::vector<double> expected;
  for (const int i : places)
    for (const int k : places) expected.push_back(p.dense()[i * size + k]);
  check_same(p.of_some(places).dense(), expected, 1e-15);
}

TEST_CASE("Whatever was sound stays sound, however certain an observation is") {
  Random random(3);
  FactoredCovariance p = learned(3, 50);
  std::vector<double> gain;
  for (int event = 0; event < 200; ++event) {
    const double widest = p.trace();
    observe(p, direction(random, size), std::pow(10.0, 100.0 * random.bell()), gain);
    CHECK(p.is_sound(size));
    CHECK(p.trace() <= widest * (1.0 + 1e-9));
  }
}

TEST_CASE("Nearly collinear observations that are forgotten leave every variance positive after a million events") {
  Random random(2);
  FactoredCovariance p;
  for (int j = 0; j < size; ++j) p.append(1.0);
  std::vector<double> gain;
  for (int event = 0; event < 1000000; ++event) {
    std::vector<double> x(size, random.bell());
    for (double& each : x) each += 1e-9 * random.bell();
    observe(p, x, 1e6, gain);
    p.multiply(p.room_for(1.0 / 0.998, size));
  }
  CHECK(p.is_sound(size));
  CHECK(p.trace() <= size * (1.0 + 1e-9));
  for (int j = 0; j < size; ++j) {
    std::vector<double> unit(size, 0.0);
    unit[j] = 1.0;
    CHECK(along(p, unit).variance > 0.0);
  }
}

TEST_CASE(
    "The room up to a bound of the trace is that which the trace itself leaves, whatever was observed and appended "
    "before") {
  Random random(5);
  FactoredCovariance p;
  std::vector<double> gain;
  int at_bound = 0;
  for (int event = 0; event < 2000; ++event) {
    if (event % 300 == 0) p.append(1.0);
    observe(p, direction(random, p.size()), event / 200 % 2 == 0 ? 1e-4 : 1.0, gain);
    const double left = p.size() / p.trace(), room = p.room_for(1.02, p.size());
    CHECK(room == std::max(1.0, std::min(1.02, left)));
    at_bound += room < 1.02;
    p.multiply(room);
  }
  CHECK(at_bound > 10);
  CHECK(at_bound < 1900);
}

TEST_CASE("Saved columns are those that are read, and none that end within a column are") {
  const FactoredCovariance p = learned(4, 30);
  std::vector<std::vector<double>> saved;
  FactoredCovariance::each_part(p, [&](const char*, const auto& part) {
    if constexpr (requires { part.packed(); }) {
      saved.push_back(part.packed());
    }
  });
  REQUIRE(saved.size() == 1);
  CHECK(saved[0].size() == size * (size - 1) / 2);
  FactoredCovariance read = learned(5, 1);
  FactoredCovariance::each_part(read, [&](const char*, auto& part) {
    if constexpr (requires { part.packed(); }) {
      CHECK(part.unpack(saved[0]));
      CHECK(part.packed() == saved[0]);
      saved[0].pop_back();
      CHECK(!part.unpack(saved[0]));
    }
  });
}
