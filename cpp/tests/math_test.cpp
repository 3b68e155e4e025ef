#include "odca/math/functions.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

#include "support.hpp"

using namespace odca::test;
using odca::infinity;
using odca::Pack;
using odca::tiny;

namespace {

// The largest error of f in ulp over n draws.
template <class Function, class Truth, class Draw>
double worst_ulps(int n, Function f, Truth truth, Draw draw) {
  double worst = 0.0;
  for (int i = 0; i < n; ++i) {
    const double x = draw();
    const double error = ulps(f(x), truth(static_cast<long double>(x)));
    if (error > worst) worst = error;
  }
  return worst;
}

template <class Function>
bool pack_equals_scalars(Function f, Random& random, double (*draw)(Random&)) {
  for (int i = 0; i < 20000; ++i) {
    Pack x;
    for (int k = 0; k < odca::pack_width; ++k) x[k] = draw(random);
    const Pack got = f(x);
    for (int k = 0; k < odca::pack_width; ++k)
      if (!same_bits(got[k], f(x[k]))) return false;
  }
  return true;
}

// w + log w = x, in long double.
long double true_omega(long double x) {
  long double w = x < 1.0L ? expl(x < -1.0L ? x : x / 2.0L) : x;
  for (int i = 0; i < 100; ++i) {
    // In log w below 1, where w itself may be tiny; in w above.
    const long double residual = w + logl(w) - x;
    const long double next = w < 1.0L ? w * expl(-residual / (1.0L + w)) : w - residual * w / (1.0L + w);
    if (std::fabs(next - w) <= 1e-19L * std::fabs(next)) return next;
    w = next;
  }
  return w;
}

}  // namespace

TEST_CASE("exp is within 2 ulp over its whole range") {
  Random random(1);
  const auto f = [](double x) { return odca::exp(x); };
  const auto truth = [](long double x) { return expl(x); };
  CHECK(worst_ulps(200000, f, truth, [&] { return random.uniform(-707.0, 709.7); }) <= 2.0);
  CHECK(worst_ulps(200000, f, truth, [&] { return random.uniform(-1.0, 1.0); }) <= 2.0);
  CHECK(worst_ulps(100000, f, truth, [&] { return random.sign() * random.magnitude(-1074, 8); }) <= 2.0);
  // Either side of the points where the power of two changes.
  for (int k = -1019; k <= 1023; ++k) {
    const double edge = (k + 0.5) * 0.69314718055994530942;
    for (const double x : {std::nextafter(edge, -infinity), edge, std::nextafter(edge, infinity)})
      REQUIRE(ulps(odca::exp(x), expl(x)) <= 2.0);
  }
}

TEST_CASE("exp is exact at zero and has the documented limits") {
  CHECK(same_bits(odca::exp(0.0), 1.0));
  CHECK(same_bits(odca::exp(-0.0), 1.0));
  CHECK(ulps(odca::exp(-707.0), expl(-707.0L)) <= 2.0);
  CHECK(same_bits(odca::exp(std::nextafter(-707.0, -infinity)), 0.0));
  CHECK(same_bits(odca::exp(-1e308), 0.0));
  CHECK(same_bits(odca::exp(-infinity), 0.0));
  CHECK(ulps(odca::exp(709.7), expl(static_cast<long double>(709.7))) <= 2.0);
  CHECK(odca::exp(std::nextafter(709.7, infinity)) == infinity);
  CHECK(odca::exp(1e308) == infinity);
  CHECK(odca::exp(infinity) == infinity);
}

TEST_CASE("log is within 2 ulp over all positive doubles") {
  Random random(2);
  const auto f = [](double x) { return odca::log(x); };
  const auto truth = [](long double x) { return logl(x); };
  CHECK(worst_ulps(200000, f, truth, [&] { return random.magnitude(-1074, 1023); }) <= 2.0);
  CHECK(worst_ulps(200000, f, truth, [&] { return random.uniform(0.25, 4.0); }) <= 2.0);
  // Near 1 the result is small: the error must be small relative to it, not to 1.
  CHECK(worst_ulps(200000, f, truth, [&] { return 1.0 + random.sign() * random.magnitude(-52, -2); }) <= 2.0);
}

TEST_CASE("log is right at the edges of its domain") {
  CHECK(same_bits(odca::log(1.0), 0.0));
  CHECK(odca::log(0.0) == -infinity);
  const double smallest = 0x1p-1074;
  const double largest = std::numeric_limits<double>::max();
  for (const double x : {smallest, std::nextafter(tiny, 0.0), tiny, largest, std::nextafter(1.0, 0.0),
                         std::nextafter(1.0, 2.0), std::sqrt(0.5), std::sqrt(2.0)})
    CHECK_MESSAGE(ulps(odca::log(x), logl(x)) <= 2.0, "at " << x);
}

TEST_CASE("log1p keeps small arguments to 3 ulp") {
  Random random(3);
  const auto f = [](double x) { return odca::log1p(x); };
  const auto truth = [](long double x) { return log1pl(x); };
  CHECK(worst_ulps(200000, f, truth, [&] { return random.magnitude(-1074, 1022); }) <= 3.0);
  CHECK(worst_ulps(200000, f, truth, [&] { return random.magnitude(-60, 3); }) <= 3.0);
  CHECK(same_bits(odca::log1p(0.0), 0.0));
  CHECK(same_bits(odca::log1p(0x1p-1074), 0x1p-1074));
}

TEST_CASE("exp2_decay is within 2 ulp and exact at whole half-lives") {
  Random random(4);
  const auto truth = [](long double x) { return exp2l(x); };
  CHECK(worst_ulps(200000, odca::exp2_decay, truth, [&] { return random.uniform(-1000.0, 0.0); }) <= 2.0);
  CHECK(worst_ulps(100000, odca::exp2_decay, truth, [&] { return -random.magnitude(-1074, 3); }) <= 2.0);
  for (int k = 0; k <= 1000; ++k) REQUIRE(same_bits(odca::exp2_decay(-k), std::ldexp(1.0, -k)));
  CHECK(same_bits(odca::exp2_decay(std::nextafter(-1000.0, -infinity)), 0.0));
  CHECK(same_bits(odca::exp2_decay(-1e300), 0.0));
}

TEST_CASE("exp2_decay never grows with the elapsed time") {
  Random random(5);
  for (int i = 0; i < 100000; ++i) {
    const double x = -random.uniform(0.0, 3.0);
    REQUIRE(odca::exp2_decay(x) <= 1.0);
    // A hundredth more than the error bound: decays by neighbouring times may round alike, but not cross.
    REQUIRE(odca::exp2_decay(x - 1e-14) <= odca::exp2_decay(x));
  }
}

TEST_CASE("wright_omega solves w + log w = x to 5 ulp") {
  Random random(6);
  const auto worst = [&](auto draw) { return worst_ulps(40000, odca::wright_omega, true_omega, draw); };
  CHECK(worst([&] { return random.uniform(-700.0, -30.0); }) <= 5.0);
  CHECK(worst([&] { return random.uniform(-30.0, 1.0); }) <= 5.0);
  CHECK(worst([&] { return random.uniform(1.0, 30.0); }) <= 5.0);
  CHECK(worst([&] { return random.magnitude(4, 20); }) <= 5.0);
  CHECK(worst([&] { return random.magnitude(20, 996); }) <= 5.0);
  CHECK(ulps(odca::wright_omega(1.0), 1.0L) <= 1.0);
}

TEST_CASE("a pack has the same bits as its scalars") {
  Random random(7);
  CHECK(pack_equals_scalars([](const auto& x) { return odca::exp(x); }, random,
                            [](Random& r) { return r.uniform(-720.0, 720.0); }));
  CHECK(pack_equals_scalars([](const auto& x) { return odca::log(x); }, random,
                            [](Random& r) { return r.chance(0.01) ? 0.0 : r.magnitude(-1074, 1023); }));
  CHECK(pack_equals_scalars([](const auto& x) { return odca::log1p(x); }, random,
                            [](Random& r) { return r.magnitude(-1074, 1022); }));
  CHECK(pack_equals_scalars([](const auto& x) { return odca::magnitude(x); }, random,
                            [](Random& r) { return r.sign() * r.magnitude(-10, 10); }));
}

TEST_CASE("any and all look at every element of a pack") {
  const odca::PackBits none = {}, every = ~none;
  CHECK_FALSE(odca::any(none));
  CHECK_FALSE(odca::all(none));
  CHECK(odca::any(every));
  CHECK(odca::all(every));
  for (int k = 0; k < odca::pack_width; ++k) {
    odca::PackBits one = none, rest = every;
    one[k] = -1;
    rest[k] = 0;
    CHECK(odca::any(one));
    CHECK_FALSE(odca::all(one));
    CHECK(odca::any(rest));
    CHECK_FALSE(odca::all(rest));
  }
}

TEST_CASE("clip keeps what is inside and returns the nearer end outside") {
  CHECK(odca::clip(0.5, 0.0, 1.0) == 0.5);
  CHECK(odca::clip(-2.0, 0.0, 1.0) == 0.0);
  CHECK(odca::clip(2.0, 0.0, 1.0) == 1.0);
  CHECK(odca::clip(-infinity, 0.0, 1.0) == 0.0);
  CHECK(odca::clip(infinity, -infinity, infinity) == infinity);
}
