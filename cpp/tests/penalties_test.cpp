#include "odca/problem/penalties.hpp"

#include <doctest/doctest.h>

#include "odca/step/solve.hpp"
#include "support.hpp"

using namespace odca::test;
using odca::infinity;
using odca::L2;
using odca::Line;
using odca::Separable;

namespace {

const Separable separables[] = {{.delta = 0.3},
                                {.lo = 0.0},
                                {.delta = 0.3, .lo = 0.0},
                                {.lo = -0.5, .hi = 0.7},
                                {.delta = 0.3, .lo = -0.5, .hi = 0.7},
                                {.delta = 0.3, .lo = -infinity, .hi = 0.0},
                                {.delta = 0.0, .lo = 0.0, .hi = 0.0}};

// A prior mean inside the bounds, sometimes on one of them.
double draw_mean(const Separable& penalty, Random& random) {
  const double lo = std::max(penalty.lo, -1.0), hi = std::min(penalty.hi, 1.0);
  return random.chance(0.2) ? lo : random.chance(0.2) ? hi : random.uniform(lo, hi);
}

// x w - r(w), what the map must maximise over lo <= w <= hi.
template <class Penalty>
double gain(const Penalty& penalty, double x, double w, double w0) {
  return x * w - value_times(1.0, penalty, w, w0);
}

}  // namespace

TEST_CASE("the map attains the conjugate's supremum") {
  Random random(21);
  for (const Separable& penalty : separables)
    for (int i = 0; i < 3000; ++i) {
      const double x = 2.0 * random.bell(), w0 = draw_mean(penalty, random), w = penalty.map(x, w0);
      CAPTURE(x);
      CAPTURE(w0);
      REQUIRE(w >= penalty.lo);
      REQUIRE(w <= penalty.hi);
      const double best = gain(penalty, x, w, w0);
      REQUIRE(conjugate_times(1.0, penalty, x, w0) == doctest::Approx(best).epsilon(1e-14));
      for (const double step : {1e-3, 0.1, 1.0})
        for (const double other : {w - step, w + step})
          if (other >= penalty.lo && other <= penalty.hi) REQUIRE(gain(penalty, x, other, w0) <= best + 1e-15);
    }
  for (int i = 0; i < 1000; ++i) {
    const double x = random.bell(), w0 = random.bell(), w = L2{}.map(x, w0);
    for (const double step : {-0.1, 0.1}) REQUIRE(gain(L2{}, x, w + step, w0) < gain(L2{}, x, w, w0));
  }
}

TEST_CASE("l2 is the separable penalty without threshold and bounds") {
  Random random(22);
  for (int i = 0; i < 1000; ++i) {
    const double x = random.bell(), w0 = random.bell(), w = random.bell();
    REQUIRE(same_bits(L2{}.map(x, w0), Separable{}.map(x, w0)));
    REQUIRE(same_bits(value_times(2.0, L2{}, w, w0), value_times(2.0, Separable{}, w, w0)));
    REQUIRE(same_bits(conjugate_times(2.0, L2{}, x, w0), conjugate_times(2.0, Separable{}, x, w0)));
    REQUIRE(L2{}.line(x, w0) == Separable{}.line(x, w0));
  }
}

TEST_CASE("value and conjugate equal their definitions under any strength") {
  Random random(27);
  for (const Separable& penalty : separables)
    for (int i = 0; i < 500; ++i) {
      const double x = 2.0 * random.bell(), w0 = draw_mean(penalty, random), w = random.bell();
      const double strength = random.magnitude(-900, 900);
      const long double d = static_cast<long double>(w) - w0, value = penalty.delta * std::fabs(d) + 0.5L * d * d;
      REQUIRE(std::fabs(value_times(strength, penalty, w, w0) - strength * value) <= 1e-14L * strength * value);
      const double at = penalty.map(x, w0);
      const long double back = static_cast<long double>(at) - w0;
      const long double best = static_cast<long double>(x) * at - penalty.delta * std::fabs(back) - 0.5L * back * back;
      const double got = conjugate_times(strength, penalty, x, w0);
      REQUIRE(std::fabs(got - strength * best) <= 1e-14L * strength * (1.0L + x * x));
    }
  // Weights whose square overflows, under a strength that compensates.
  CHECK(value_times(1e-300, L2{}, 1e200, 0.0) == doctest::Approx(0.5e100).epsilon(1e-14));
  CHECK(conjugate_times(1e-300, L2{}, 1e200, 0.0) == doctest::Approx(0.5e100).epsilon(1e-14));
}

TEST_CASE("a line passes through the map, and is flat where a threshold or a bound is active") {
  Random random(23);
  for (const Separable& penalty : separables)
    for (int i = 0; i < 3000; ++i) {
      const double x = 2.0 * random.bell(), w0 = draw_mean(penalty, random);
      const Line<double> line = penalty.line(x, w0);
      CAPTURE(x);
      CAPTURE(w0);
      REQUIRE(line.intercept + line.slope * x == doctest::Approx(penalty.map(x, w0)).epsilon(1e-15).scale(4.0));
      const double nearby = 1e-9;
      const double rise = (penalty.map(x + nearby, w0) - penalty.map(x - nearby, w0)) / (2.0 * nearby);
      // Away from kinks the slope is the derivative; at a kink it is one of the two one-sided ones.
      if (penalty.line(x - nearby, w0) == penalty.line(x + nearby, w0))
        REQUIRE(line.slope == doctest::Approx(rise).epsilon(1e-6));
      REQUIRE((line.slope == 0.0 || line.slope == 1.0));
    }
}

TEST_CASE("two x share a line only if all between them do") {
  Random random(24);
  for (const Separable& penalty : separables)
    for (int i = 0; i < 3000; ++i) {
      const double a = 2.0 * random.bell(), b = 2.0 * random.bell(), w0 = draw_mean(penalty, random);
      if (penalty.line(a, w0) != penalty.line(b, w0)) continue;
      const Line<double> line = penalty.line(a, w0);
      for (double share = 0.0; share <= 1.0; share += 0.125) {
        const double x = a + share * (b - a);
        REQUIRE(penalty.map(x, w0) == doctest::Approx(line.intercept + line.slope * x).epsilon(1e-15).scale(4.0));
      }
    }
}

TEST_CASE("a pack of lines has the same bits as single ones") {
  Random random(25);
  for (const Separable& penalty : separables)
    for (int i = 0; i < 2000; ++i) {
      odca::Pack x, w0;
      for (int k = 0; k < odca::pack_width; ++k) {
        x[k] = random.chance(0.1) ? penalty.delta * random.sign() : 2.0 * random.bell();
        w0[k] = draw_mean(penalty, random);
      }
      const auto lines = penalty.line(x, w0);
      for (int k = 0; k < odca::pack_width; ++k) {
        const Line<double> line = penalty.line(x[k], w0[k]);
        REQUIRE(same_bits(lines.intercept[k], line.intercept));
        REQUIRE(same_bits(lines.slope[k], line.slope));
      }
    }
}

TEST_CASE("on the simplex the map is the softmax, and attains the conjugate") {
  Random random(26);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t features = random.between(1, 12);
    const int lanes = static_cast<int>(random.between(1, 3)), lane = static_cast<int>(random.below(lanes));
    odca::KL penalty;
    long double prior = 0.0L;
    for (std::int64_t j = 0; j < features; ++j) penalty.log_prior.push_back(-5.0 * random.unit());
    for (const double each : penalty.log_prior) prior += expl(each);
    for (double& each : penalty.log_prior) each = static_cast<double>(each - logl(prior));
    odca::State state = make_config(odca::named_loss("squared_error", 0.0), penalty, {}, lanes).empty_state();
    state.resize(features);
    // Also sums so large that e^x alone would overflow.
    const double size = random.magnitude(-3, 12), q = random.unit();
    for (double& v : state.dual) v = size * random.bell();
    std::vector<double> w(state.dual.size(), -1.0);
    odca::softmax(penalty, state, lane, q, w.data() + lane, lanes);

    long double top = -INFINITY, total = 0.0L, sum = 0.0L, entropy = 0.0L, inner = 0.0L;
    const auto x = [&](std::int64_t j) {
      return static_cast<long double>(penalty.log_prior[j]) +
             static_cast<long double>(q) * state.dual[j * lanes + lane];
    };
    for (std::int64_t j = 0; j < features; ++j) top = std::max(top, x(j));
    for (std::int64_t j = 0; j < features; ++j) total += expl(x(j) - top);
    for (std::int64_t j = 0; j < features; ++j) {
      const double got = w[j * lanes + lane];
      sum += got;
      // q v and log pi are rounded before they are exponentiated: that is what the tolerance allows.
      const long double wanted = expl(x(j) - top) / total,
                        rounding = 1e-15L * (4.0L + std::fabs(x(j)) + std::fabs(top));
      REQUIRE(std::fabs(got - wanted) <= wanted * rounding + 1e-300L);
      if (wanted > 0.0L) entropy += wanted * (logl(wanted) - penalty.log_prior[j]);
      inner += wanted * (x(j) - penalty.log_prior[j]);
    }
    CHECK(static_cast<double>(sum) == doctest::Approx(1.0).epsilon(1e-14));
    CHECK(odca::log_sum_exp(penalty, state, lane, q) ==
          doctest::Approx(static_cast<double>(inner - entropy)).epsilon(1e-14).scale(1.0 + size));
  }
}
