// Loops over arrays give each element the bits that it has by itself; packs of four are four numbers.
#include <doctest/doctest.h>

#include "odca/experts/log_loss_solve.hpp"
#include "odca/math/pack4.hpp"
#include "odca/math/row_sums.hpp"
#include "support.hpp"

using namespace odca::test;

namespace {

constexpr int size = 203;

std::vector<double> numbers(Random& random, int low, int high, int count = size) {
  std::vector<double> out(static_cast<std::size_t>(count));
  for (double& x : out) x = random.sign() * random.magnitude(low, high);
  return out;
}

}  // namespace

TEST_CASE("lambdas have the same bits, solved for together or one by one") {
  using odca::experts::LogLossSolve;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const std::vector<double> p = numbers(random, -10, 6);
    std::vector<double> s = numbers(random, -20, 10), y(size), together(size), single(size);
    for (double& each : s) each = random.chance(0.1) ? 0.0 : std::fabs(each);
    for (double& each : y) each = random.chance(0.5) ? 1.0 : 0.0;
    LogLossSolve::solve(size, p.data(), s.data(), y.data(), together.data());
    for (std::size_t k = 0; k < size; ++k) {
      LogLossSolve::solve(1, &p[k], &s[k], &y[k], &single[k]);
      REQUIRE(std::fabs(single[k] - odca::Logistic().lambda(p[k], s[k], y[k])) < 1e-4);
    }
    REQUIRE(same_bits(together, single));
  }
}

TEST_CASE("rows are added in order, however many are read at a time") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const auto rows = static_cast<int>(random.below(12)), width = static_cast<int>(4 * random.between(1, 12));
    const std::vector<double> w = numbers(random, -20, 10, rows * width), h = numbers(random, -5, 5, rows);
    std::vector<double> z = numbers(random, -5, 5, width), slow = z;
    odca::add_rows(rows, h.data(), [&](std::int64_t i) { return w.data() + i * width; }, width, z.data());
    for (int i = 0; i < rows; ++i)
      for (int k = 0; k < width; ++k)
        slow[static_cast<std::size_t>(k)] +=
            h[static_cast<std::size_t>(i)] * w[static_cast<std::size_t>(i * width + k)];
    REQUIRE(same_bits(z, slow));
  }
}

TEST_CASE("packs of four compute each element by itself, and transposing turns rows into columns") {
  using odca::Pack4;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const std::vector<double> x = numbers(random, -20, 10, 16), y = numbers(random, -5, 5, 16);
    std::vector<double> out(16), slow(16);
    for (int i = 0; i < 16; i += 4) {
      const Pack4 a = Pack4::from(&x[i]), b = Pack4::from(&y[i]);
      const Pack4 root = square_root(a * a / (b * b));
      select(a > b, a + b, root - a).to(&out[i]);
      for (int k = i; k < i + 4; ++k)
        slow[k] = x[k] > y[k] ? x[k] + y[k] : std::sqrt(x[k] * x[k] / (y[k] * y[k])) - x[k];
      REQUIRE(any(a > b) == (x[i] > y[i] || x[i + 1] > y[i + 1] || x[i + 2] > y[i + 2] || x[i + 3] > y[i + 3]));
      REQUIRE(sum(a) == (x[i] + x[i + 1]) + (x[i + 2] + x[i + 3]));
    }
    REQUIRE(same_bits(out, slow));
    Pack4 rows[4];
    for (int i = 0; i < 4; ++i) rows[i] = Pack4::from(&x[4 * i]);
    transpose(rows[0], rows[1], rows[2], rows[3]);
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 4; ++k) REQUIRE(rows[i][k] == x[4 * k + i]);
  }
}
