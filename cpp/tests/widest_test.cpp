// Loops in wide registers have the bits of the same loops in narrow ones.
#include "odca/math/widest.hpp"

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

// A loop that changes numbers, in the registers that every machine has, and in the widest ones.
template <class Loop>
void require_same_bits(const std::vector<double>& x, const Loop& loop) {
  std::vector<double> narrow = x, wide = x;
  loop(narrow.data());
  odca::widest([&] { loop(wide.data()); });
  REQUIRE(same_bits(narrow, wide));
}

}  // namespace

TEST_CASE("exp and log have the same bits in wide registers") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    std::vector<double> x = numbers(random, -20, 10);
    require_same_bits(x, [](double* out) { odca::exp_many(size, out); });
    for (double& each : x) each = std::fabs(each);
    require_same_bits(x, [](double* out) { odca::log_many(size, out); });
  }
}

TEST_CASE("lambdas have the same bits in wide registers, and solved for together or one by one") {
  using odca::experts::LogLossSolve;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const std::vector<double> p = numbers(random, -10, 6);
    std::vector<double> s = numbers(random, -20, 10), y(size), together(size), single(size);
    for (double& each : s) each = random.chance(0.1) ? 0.0 : std::fabs(each);
    for (double& each : y) each = random.chance(0.5) ? 1.0 : 0.0;
    require_same_bits(p, [&](double* out) { LogLossSolve::solve(size, p.data(), s.data(), y.data(), out); });
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
