#include "odca/problem/losses.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "support.hpp"

using namespace odca::test;
using odca::infinity;
using odca::Labels;

namespace {

constexpr long double epsilon = 0x1p-53L;   // half an ulp of 1
constexpr long double underflow = 1e-306L;  // where exp gives up

struct Slopes {
  long double lo, hi;
};

// The sub-gradient of each loss as a textbook has it: nothing here is shared with losses.hpp.
Slopes textbook_slopes(const std::string& name, long double a, long double z, long double y) {
  const auto one = [](long double x) { return Slopes{x, x}; };
  const auto step = [&](long double x, long double below, long double above) {
    return x < 0.0L ? one(below) : x > 0.0L ? one(above) : Slopes{below, above};
  };
  const long double d = z - y, m = y * z;
  if (name == "squared_error") return one(d);
  if (name == "absolute_error") return step(d, -1.0L, 1.0L);
  if (name == "quantile") return step(d, -a, 1.0L - a);
  if (name == "expectile") return one(d < 0.0L ? 2.0L * a * d : 2.0L * (1.0L - a) * d);
  if (name == "huber") return one(std::clamp(d, -a, a));
  if (name == "epsilon_insensitive") return d < 0.0L ? step(d + a, -1.0L, 0.0L) : step(d - a, 0.0L, 1.0L);
  if (name == "squared_epsilon_insensitive") return one(2.0L * (std::max(d - a, 0.0L) - std::max(-d - a, 0.0L)));
  if (name == "hinge") {
    const Slopes in_margin = step(m - 1.0L, -1.0L, 0.0L);
    return y > 0.0L ? in_margin : Slopes{-in_margin.hi, -in_margin.lo};
  }
  if (name == "smooth_hinge") return one(-y * std::clamp((1.0L - m) / a, 0.0L, 1.0L));
  if (name == "squared_hinge") return one(-2.0L * y * std::max(1.0L - m, 0.0L));
  if (name == "modified_huber") return one(m < -1.0L ? -4.0L * y : -2.0L * y * std::max(1.0L - m, 0.0L));
  if (name == "poisson") return one(expl(z) - y);
  REQUIRE(name == "log_loss");
  const long double t = std::max(y, 0.0L);
  // sigma(z) - t without cancellation for the hard labels.
  if (t == 1.0L) return one(-1.0L / (1.0L + expl(z)));
  return one(z < 0.0L ? expl(z) / (1.0L + expl(z)) - t : 1.0L / (1.0L + expl(-z)) - t);
}

// The lambda with lambda in -dQ(p + s lambda), by bisection.
long double textbook_lambda(const NamedLoss& loss, long double p, long double s, long double y) {
  const auto direction = [&](long double t) {
    const Slopes at = textbook_slopes(loss.name, loss.parameter, p + s * t, y);
    return t + at.hi < 0.0L ? 1 : t + at.lo > 0.0L ? -1 : 0;
  };
  const int way = direction(0.0L);
  if (way == 0) return 0.0L;
  const Slopes at_p = textbook_slopes(loss.name, loss.parameter, p, y);
  long double from = 0.0L, to = way > 0 ? -at_p.lo : -at_p.hi;
  if (direction(to) != -way) return to;
  // The answer may be hundreds of powers of two below `to`.
  while (from == 0.0L) {
    const long double lower = to * 0x1p-32L;
    const int turn = direction(lower);
    if (turn == 0) return lower;
    (turn == way ? from : to) = lower;
  }
  for (;;) {
    const long double middle = from + 0.5L * (to - from);
    if (middle == from || middle == to) return middle;
    const int turn = direction(middle);
    if (turn == 0) return middle;
    (turn == way ? from : to) = middle;
  }
}

struct Range {
  long double lo = INFINITY, hi = -INFINITY;
  void take(long double x) { lo = std::min(lo, x), hi = std::max(hi, x); }
};

// All that lambda may be if p, y, s (and what the loss adds to them) were each wrong by a few roundings.
Range allowed(const NamedLoss& loss, double p, double s, double y, long double roundings) {
  const long double by = roundings * epsilon;
  const Labels labels = labels_of(loss.loss());
  const bool margin_loss = labels == Labels::plus_minus_one;
  const long double dp = by * (std::fabs(p) + (margin_loss ? 1.0L : std::fabs(y)) + loss.parameter);
  Range range;
  for (const long double up : {-1.0L, 1.0L})
    for (const long double us : {-1.0L, 1.0L})
      for (const long double uy : {-1.0L, 1.0L}) {
        const bool is_class = margin_loss || (labels == Labels::probability && (y == -1.0 || y == 1.0));
        const long double label = is_class ? y : y * (1.0L + uy * by);
        range.take(textbook_lambda(loss, p + up * dp, s * (1.0L + us * by), label));
      }
  range.lo -= by * std::fabs(range.lo) + underflow;
  range.hi += by * std::fabs(range.hi) + underflow;
  return range;
}

double lambda_of(const odca::AnyLoss& loss, double p, double s, double y) {
  return std::visit([&](const auto& l) { return l.lambda(p, s, y); }, loss);
}

double draw_p(const NamedLoss& loss, Random& random) {
  if (loss.name == "poisson") return random.chance(0.5) ? random.uniform(-30.0, 12.0) : random.bell();
  return random.sign() * random.magnitude(-40, random.chance(0.2) ? 40 : 4);
}

double draw_y(const NamedLoss& loss, Random& random) {
  const Labels labels = labels_of(loss.loss());
  if (labels == Labels::nonnegative) return random.chance(0.3) ? random.magnitude(-20, 20) : draw_label(labels, random);
  if (labels == Labels::any && random.chance(0.3)) return random.sign() * random.magnitude(-20, 20);
  return draw_label(labels, random);
}

}  // namespace

TEST_CASE("the logistic dual computed from a hint is nearly the one computed without") {
  const odca::Logistic loss;
  for (const double y : {-1.0, 0.0, 0.3, 1.0})
    for (const double s : {0.0, 1e-6, 0.1, 4.0, 125.0, 1e6})
      for (const double p : {-300.0, -5.0, -0.1, 0.0, 2.0, 40.0}) {
        const double exact = loss.lambda(p, s, y), root = p + s * exact;
        for (const double from : {root, root + 1e-3, root - 0.5, 0.0, -50.0, 700.0}) {
          const double near = loss.lambda_near(from, p, s, y);
          CHECK(std::fabs(near - exact) <= 3e-5);
          CHECK(near >= std::max(y, 0.0) - 1.0);
          CHECK(near <= std::max(y, 0.0));
        }
        CHECK(std::fabs(loss.lambda_near(root, p, s, y) - exact) <= 1e-12);
      }
}

TEST_CASE("lambda solves its inclusion for every loss and every s from 1e-300 to 1e300") {
  for (const NamedLoss& named : all_losses) {
    CAPTURE(named.name);
    const odca::AnyLoss loss = named.loss();
    Random random(11);
    for (int i = 0; i < 1200; ++i) {
      const double s = i % 2 ? random.magnitude(-996, 996) : random.magnitude(-10, 10);
      const double p = draw_p(named, random), y = draw_y(named, random);
      const double got = lambda_of(loss, p, s, y);
      const Range range = allowed(named, p, s, y, 16.0L);
      CAPTURE(p);
      CAPTURE(s);
      CAPTURE(y);
      CAPTURE(got);
      CAPTURE(static_cast<double>(range.lo));
      CAPTURE(static_cast<double>(range.hi));
      REQUIRE(got >= range.lo);
      REQUIRE(got <= range.hi);
    }
  }
}

TEST_CASE("at s = 0 lambda is the negative slope, and at a kink the element nearest to zero") {
  for (const NamedLoss& named : all_losses) {
    CAPTURE(named.name);
    const odca::AnyLoss loss = named.loss();
    Random random(12);
    for (int i = 0; i < 600; ++i) {
      const double p = draw_p(named, random), y = draw_y(named, random);
      const Range range = allowed(named, p, 0.0, y, 16.0L);
      CAPTURE(p);
      CAPTURE(y);
      REQUIRE(lambda_of(loss, p, 0.0, y) >= range.lo);
      REQUIRE(lambda_of(loss, p, 0.0, y) <= range.hi);
    }
  }
  CHECK(lambda_of(odca::named_loss("hinge", 0.0), 1.0, 0.0, 1.0) == 0.0);
  CHECK(lambda_of(odca::named_loss("hinge", 0.0), -1.0, 0.0, -1.0) == 0.0);
  CHECK(lambda_of(odca::named_loss("absolute_error", 0.0), 3.0, 0.0, 3.0) == 0.0);
  CHECK(lambda_of(odca::named_loss("quantile", 0.3), 3.0, 0.0, 3.0) == 0.0);
  CHECK(lambda_of(odca::named_loss("epsilon_insensitive", 0.5), 2.5, 0.0, 3.0) == 0.0);
  CHECK(lambda_of(odca::named_loss("epsilon_insensitive", 0.5), 3.5, 0.0, 3.0) == 0.0);
}

TEST_CASE("a lane has the same bits as a single one, whatever its neighbours") {
  for (const NamedLoss& named : all_losses) {
    CAPTURE(named.name);
    std::visit(
        [&](const auto& loss) {
          Random random(13);
          for (int round = 0; round < 300; ++round)
            for (int n = 1; n <= 9; ++n) {
              std::vector<double> p, s, y, got(n, -77.0);
              for (int l = 0; l < n; ++l) {
                // Easy and hard problems side by side, also those without strength.
                s.push_back(random.chance(0.1) ? 0.0 : random.magnitude(-996, random.chance(0.5) ? 2 : 996));
                p.push_back(draw_p(named, random));
                y.push_back(draw_y(named, random));
              }
              odca::lambda_many(loss, n, p.data(), s.data(), y.data(), got.data());
              for (int l = 0; l < n; ++l) {
                CAPTURE(p[l]);
                CAPTURE(s[l]);
                CAPTURE(y[l]);
                REQUIRE(same_bits(got[l], loss.lambda(p[l], s[l], y[l])));
              }
            }
        },
        named.loss());
  }
}

TEST_CASE("conjugates of lanes have the same bits as single ones, also at the ends of the domain and outside") {
  const odca::Logistic loss;
  Random random(14);
  for (int round = 0; round < 300; ++round)
    for (int n = 1; n <= 9; ++n) {
      std::vector<double> lambda, y, got(n, -77.0);
      for (int l = 0; l < n; ++l) {
        y.push_back(random.chance(0.5) ? random.sign() : random.unit());
        const double t = std::max(y[l], 0.0);
        lambda.push_back(random.chance(0.2) ? t - random.below(2) : random.uniform(t - 1.1, t + 0.1));
      }
      odca::conjugate_many(loss, n, lambda.data(), y.data(), got.data());
      for (int l = 0; l < n; ++l) {
        CAPTURE(lambda[l]);
        CAPTURE(y[l]);
        REQUIRE(same_bits(got[l], loss.conjugate(lambda[l], y[l])));
      }
    }
}

TEST_CASE("value, slope and conjugate are consistent") {
  for (const NamedLoss& named : all_losses) {
    CAPTURE(named.name);
    std::visit(
        [&](const auto& loss) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(loss)>, odca::Custom>) {
            Random random(14);
            for (int i = 0; i < 2000; ++i) {
              const double z = 3.0 * random.bell(), y = draw_label(loss.labels, random);
              CAPTURE(z);
              CAPTURE(y);
              // The sub-gradient is the textbook's.
              const auto [lo, hi] = loss.subgradient(z, y);
              const Slopes wanted = textbook_slopes(named.name, named.parameter, z, y);
              REQUIRE(lo == doctest::Approx(static_cast<double>(wanted.lo)).epsilon(1e-13));
              REQUIRE(hi == doctest::Approx(static_cast<double>(wanted.hi)).epsilon(1e-13));
              // Fenchel-Young: equality at lambda = -Q'(z), an inequality at any other.
              const double value = loss.value(z, y), lambda = -lo;
              REQUIRE(value >= -1e-15 - (loss.labels == Labels::nonnegative ? 1e3 : 0.0));
              REQUIRE(value + loss.conjugate(lambda, y) == doctest::Approx(-lambda * z).epsilon(1e-12).scale(8.0));
              const double other = lambda + random.bell();
              REQUIRE(value + loss.conjugate(other, y) >= -other * z - 1e-12);
            }
          }
        },
        named.loss());
  }
}

TEST_CASE("the value of every loss is the integral of its textbook slope") {
  for (const NamedLoss& named : all_losses) {
    CAPTURE(named.name);
    const odca::AnyLoss loss = named.loss();
    const auto value = [&](double z, double y) {
      return std::visit([&](const auto& l) { return l.value(z, y); }, loss);
    };
    Random random(15);
    for (int i = 0; i < 60; ++i) {
      const double y = draw_label(labels_of(loss), random), from = 2.0 * random.bell(), to = from + random.unit();
      long double integral = 0.0L;
      const int pieces = 1000;
      for (int k = 0; k < pieces; ++k) {
        const long double z = from + (to - from) * (k + 0.5L) / pieces;
        integral += textbook_slopes(named.name, named.parameter, z, y).lo * (to - from) / pieces;
      }
      // The midpoint rule errs by at most h^2 Q'' / 24 where Q is smooth, and h times the jump, once, at a kink.
      CHECK(value(to, y) - value(from, y) == doctest::Approx(static_cast<double>(integral)).epsilon(1e-3).scale(2.0));
    }
  }
}

TEST_CASE("a kink's sub-gradient has two ends, whatever the side of the label") {
  const auto ends = [](const char* name, double a, double z, double y) {
    const odca::Interval at = std::visit([&](const auto& l) { return l.subgradient(z, y); }, odca::named_loss(name, a));
    return std::pair(at.lo, at.hi);
  };
  CHECK(ends("hinge", 0.0, 1.0, 1.0) == std::pair(-1.0, 0.0));
  CHECK(ends("hinge", 0.0, -1.0, -1.0) == std::pair(0.0, 1.0));
  CHECK(ends("absolute_error", 0.0, 2.0, 2.0) == std::pair(-1.0, 1.0));
  CHECK(ends("quantile", 0.25, 2.0, 2.0) == std::pair(-0.25, 0.75));
  CHECK(ends("epsilon_insensitive", 0.5, 1.5, 2.0) == std::pair(-1.0, 0.0));
  CHECK(ends("epsilon_insensitive", 0.5, 2.5, 2.0) == std::pair(0.0, 1.0));
  CHECK(ends("smooth_hinge", 0.5, 1.0, 1.0) == std::pair(0.0, 0.0));
}

TEST_CASE("a dual is saturated exactly at the boundary of its domain") {
  const odca::AnyLoss hinge = odca::named_loss("hinge", 0.0), quantile = odca::named_loss("quantile", 0.25);
  const auto saturated = [](const odca::AnyLoss& loss, double l, double y) {
    return std::visit([&](const auto& each) { return each.saturated(l, y); }, loss);
  };
  CHECK(saturated(hinge, 1.0, 1.0));
  CHECK(saturated(hinge, -1.0, -1.0));
  CHECK_FALSE(saturated(hinge, 0.0, 1.0));  // the other end of the domain: this event does not pull at all
  CHECK_FALSE(saturated(hinge, 0.999, 1.0));
  CHECK(saturated(quantile, 0.25, 5.0));
  CHECK(saturated(quantile, -0.75, 5.0));
  CHECK_FALSE(saturated(quantile, 0.75, 5.0));
  CHECK_FALSE(saturated(odca::named_loss("squared_error", 0.0), 1e300, 1.0));
  CHECK_FALSE(saturated(odca::named_loss("log_loss", 0.0), 1.0, 1.0));
}

TEST_CASE("a dual outside its domain has an infinite conjugate") {
  const auto conjugate = [](const char* name, double a, double l, double y) {
    return std::visit([&](const auto& each) { return each.conjugate(l, y); }, odca::named_loss(name, a));
  };
  CHECK(conjugate("hinge", 0.0, 1.0001, 1.0) == infinity);
  CHECK(conjugate("hinge", 0.0, -0.0001, 1.0) == infinity);
  CHECK(conjugate("hinge", 0.0, -1.0, -1.0) == -1.0);
  CHECK(conjugate("log_loss", 0.0, 1.0001, 1.0) == infinity);
  CHECK(conjugate("log_loss", 0.0, 1.0, 1.0) == 0.0);
  CHECK(conjugate("log_loss", 0.0, -1.0, -1.0) == 0.0);
  CHECK(conjugate("poisson", 0.0, 2.0001, 2.0) == infinity);
  CHECK(conjugate("poisson", 0.0, 2.0, 2.0) == 0.0);
}

TEST_CASE("labels are valid exactly in the loss's domain") {
  using odca::label_is_valid;
  for (const double y : {-1.0, 1.0}) CHECK(label_is_valid(Labels::plus_minus_one, y));
  for (const double y : {0.0, 0.5, 2.0, infinity, std::nan("")}) CHECK_FALSE(label_is_valid(Labels::plus_minus_one, y));
  for (const double y : {-1.0, 0.0, 0.25, 1.0}) CHECK(label_is_valid(Labels::probability, y));
  for (const double y : {-0.5, 1.5, -infinity, std::nan("")}) CHECK_FALSE(label_is_valid(Labels::probability, y));
  for (const double y : {0.0, 1e300}) CHECK(label_is_valid(Labels::nonnegative, y));
  for (const double y : {-1e-300, infinity, std::nan("")}) CHECK_FALSE(label_is_valid(Labels::nonnegative, y));
  for (const double y : {-1e300, 0.0, 1e300}) CHECK(label_is_valid(Labels::any, y));
  for (const double y : {infinity, -infinity, std::nan("")}) CHECK_FALSE(label_is_valid(Labels::any, y));
}

TEST_CASE("a loss given by its gradient gets the lambda of the formula") {
  for (const char* name : {"squared_error", "huber", "hinge", "log_loss"}) {
    CAPTURE(name);
    const NamedLoss named{name, 0.7};
    const odca::AnyLoss loss = named.loss();
    odca::Custom custom;
    custom.gradient = [&](double z, double y) { return static_cast<double>(textbook_slopes(name, 0.7L, z, y).lo); };
    Random random(16);
    for (int i = 0; i < 500; ++i) {
      const double p = 2.0 * random.bell(), s = random.magnitude(-10, 10), y = random.sign();
      const double wanted = lambda_of(loss, p, s, y);
      // The bisection sees z = p + s t rounded: that moves t by a rounding of z over s.
      const double rounding = 1e-15 * (1.0 + std::fabs(p) / s);
      CAPTURE(p);
      CAPTURE(s);
      CAPTURE(y);
      REQUIRE(std::fabs(custom.lambda(p, s, y) - wanted) <= 4.0 * rounding);
    }
  }
}

TEST_CASE("a loss given by its dual needs nothing else") {
  odca::Custom custom;
  custom.dual = [](double p, double s, double y) { return p + 10.0 * s + 100.0 * y; };
  CHECK(custom.lambda(1.0, 2.0, 3.0) == 321.0);
  odca::Pack p, zero = {};
  for (int k = 0; k < odca::pack_width; ++k) p[k] = k + 1.0;
  const odca::Pack got = custom.lambda(p, zero, zero);
  for (int k = 0; k < odca::pack_width; ++k) CHECK(got[k] == k + 1.0);
  CHECK_THROWS_AS(custom.value(1.0, 1.0), std::invalid_argument);
  CHECK_THROWS_AS(custom.conjugate(1.0, 1.0), std::invalid_argument);
}

TEST_CASE("an unknown name of a loss is refused") {
  CHECK_THROWS_AS(odca::named_loss("hinges", 0.0), std::invalid_argument);
}
