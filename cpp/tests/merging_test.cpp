#include <doctest/doctest.h>

#include "definition.hpp"
#include "odca/errors.hpp"
#include "odca/learner/learner.hpp"
#include "support.hpp"

using namespace odca::test;
using odca::Config;
using odca::InputError;
using odca::Labels;
using odca::Learner;
using odca::Window;

namespace {

bool can_merge(const Window& window) { return window.kind != Window::Kind::count; }

// The same model up to rounding: every sum, the weights, and what comes of further events.
void same_model(const Learner& got, const Learner& wanted, double tolerance) {
  REQUIRE(got.scalars().count == wanted.scalars().count);
  REQUIRE(got.scalars().clock == wanted.scalars().clock);
  REQUIRE(got.scalars().events == wanted.scalars().events);
  close_to(got.scalars().lane.mass, wanted.scalars().lane.mass, tolerance);
  close_to(got.scalars().lane.squared_mass, wanted.scalars().lane.squared_mass, tolerance);
  close_to(got.dual_sum(), wanted.dual_sum(), tolerance);
  close_to(got.dual_objective(), wanted.dual_objective(), tolerance);
  close_to(got.weights(false), wanted.weights(false), 10.0 * tolerance);
  close_to(got.weights(true), wanted.weights(true), 10.0 * tolerance);
}

// Calls visit(config, stream) for every penalty and every window that can be merged.
template <class Visit>
void for_every_mergeable(Visit visit) {
  std::uint64_t seed = 500;
  for (const int lanes : {1, 3})
    for (const NamedPenalty& penalty : all_penalties)
      for (const NamedWindow& window : all_windows(lanes))
        for (const double kappa : {0.0, 0.9}) {
          if (!can_merge(window.window)) continue;
          CAPTURE(penalty.name);
          CAPTURE(window.name);
          CAPTURE(kappa);
          CAPTURE(lanes);
          Config config = make_config(odca::named_loss("log_loss", 0.0), penalty.make(6), window.window, lanes, kappa);
          const bool simplex = config.fixed_features > 0;
          if (!simplex && ++seed % 2) config.shape = make_shape(3, lanes, seed);
          config.intercept = !simplex && seed % 3 == 0;
          const StreamOptions options{.rows = 60, .width = 6, .lanes = lanes, .growing = !simplex};
          visit(config, make_stream(options, Labels::probability, ++seed));
        }
}

}  // namespace

TEST_CASE("without decay the merged sums are the sums of the parts, and the dual value no worse than their mean") {
  for (const NamedPenalty& penalty : all_penalties)
    for (const double kappa : {0.0, 0.9}) {
      Config config = make_config(odca::named_loss("hinge", 0.0), penalty.make(6), {}, 2, kappa);
      config.prior_strength = {0.0, 0.0};
      const Stream one = make_stream({.rows = 50, .width = 6, .lanes = 2}, Labels::plus_minus_one, 81);
      const Stream two = make_stream({.rows = 30, .width = 6, .lanes = 2}, Labels::plus_minus_one, 82);
      Learner a(config), b(config);
      learn(a, one);
      learn(b, two);
      Learner merged(a);
      merged.merge(b);
      CAPTURE(penalty.name);
      CHECK(merged.scalars().count == 80);
      const std::vector<double> sum_a = a.dual_sum(), sum_b = b.dual_sum(), sum = merged.dual_sum();
      for (std::size_t at = 0; at < sum.size(); ++at) CHECK(same_bits(sum[at], sum_a[at] + sum_b[at]));
      for (int l = 0; l < 2; ++l) {
        const double mass_a = a.scalars().lane.mass[l], mass_b = b.scalars().lane.mass[l];
        CHECK(same_bits(merged.scalars().lane.mass[l], mass_a + mass_b));
        const double mean = (mass_a * a.dual_objective()[l] + mass_b * b.dual_objective()[l]) / (mass_a + mass_b);
        CHECK(merged.dual_objective()[l] >= mean - 1e-14);
      }
    }
}

TEST_CASE("merging does not depend on the order or the grouping") {
  for_every_mergeable([](const Config& config, const Stream& stream) {
    Learner a(config), b(config), c(config);
    learn(a, stream, 0, 25);
    learn(b, stream, 25, 45);
    learn(c, stream, 45, 60);
    Learner ab(a), ba(b), bc(b), a_bc(a);
    ab.merge(b);
    ba.merge(a);
    bc.merge(c);
    a_bc.merge(bc);
    Learner ab_c(ab);
    ab_c.merge(c);
    same_model(ab, ba, 1e-12);
    same_model(ab_c, a_bc, 1e-12);
    for (const double w : ab_c.weights(true)) REQUIRE(std::isfinite(w));
  });
}

TEST_CASE("merging with an empty learner changes nothing but rounding") {
  for_every_mergeable([](const Config& config, const Stream& stream) {
    Learner learner(config), empty(config);
    learn(learner, stream);
    Learner merged(learner), other_way(empty);
    merged.merge(empty);
    other_way.merge(learner);
    same_model(merged, learner, 1e-12);
    same_model(other_way, learner, 1e-12);
  });
}

TEST_CASE("a merged learner can learn, be saved and be restored") {
  for_every_mergeable([](const Config& config, const Stream& stream) {
    Learner a(config), b(config);
    learn(a, stream, 0, 20);
    learn(b, stream, 20, 40);
    a.merge(b);
    Learner restored(config);
    const odca::State state = a.state();
    REQUIRE_NOTHROW(restored.set_state(state, state.buffer.table()));
    learn(a, stream, 40, 60);
    learn(restored, stream, 40, 60);
    REQUIRE(first_difference(a.state(), restored.state()) == "");
    for (const double w : a.weights(true)) REQUIRE(std::isfinite(w));
  });
}

TEST_CASE("parts of different widths merge, whichever is the wider") {
  for (const bool wider_into : {false, true})
    for (const double kappa : {0.0, 0.9}) {
      Config config = make_config(odca::named_loss("squared_error", 0.0), odca::Separable{.delta = 0.01}, {}, 2, kappa);
      config.shape = make_shape(2, 2, 83);
      Learner narrow(config), wide(config);
      learn(narrow, make_stream({.rows = 20, .width = 3, .lanes = 2}, Labels::any, 84));
      learn(wide, make_stream({.rows = 20, .width = 700, .lanes = 2, .density = 0.02}, Labels::any, 85));
      Learner merged(wider_into ? narrow : wide);
      merged.merge(wider_into ? wide : narrow);
      CHECK(merged.scalars().features == 700);
      for (const double w : merged.weights(true)) REQUIRE(std::isfinite(w));
      learn(merged, make_stream({.rows = 20, .width = 700, .lanes = 2, .density = 0.02}, Labels::any, 86));
    }
}

TEST_CASE("under half-life windows both parts are decayed to the later clock") {
  const Config config = make_config(odca::named_loss("squared_error", 0.0), odca::L2{},
                                    {.kind = Window::Kind::half_life, .parameter = {2.0}});
  Stream early = make_stream({.rows = 10, .width = 3, .late = 0.0}, Labels::any, 87), later = early;
  for (double& t : later.time) t += 6.0;
  Learner a(config), b(config);
  learn(a, early);
  learn(b, later);
  Learner merged(a);
  merged.merge(b);
  // b is a, three half-lives later: together they are 9/8 of b.
  CHECK(merged.scalars().clock == later.time.back());
  CHECK(merged.scalars().lane.mass[0] == doctest::Approx(1.125 * b.scalars().lane.mass[0]).epsilon(1e-14));
  const std::vector<double> sum = merged.dual_sum(), of_b = b.dual_sum();
  for (std::size_t j = 0; j < sum.size(); ++j) CHECK(sum[j] == doctest::Approx(1.125 * of_b[j]).epsilon(1e-13));
}

TEST_CASE("sliding windows merge by time and drop expired events") {
  const Config config = make_config(odca::named_loss("squared_error", 0.0), odca::L2{},
                                    {.kind = Window::Kind::duration, .duration = 4.0});
  Stream early = make_stream({.rows = 12, .width = 3, .zero_weight = 0.0, .late = 0.0}, Labels::any, 88), later = early;
  for (std::int64_t n = 0; n < 12; ++n)
    early.time[n] = 0.5 * static_cast<double>(n), later.time[n] = early.time[n] + 3.0;
  Learner a(config), b(config);
  learn(a, early);
  learn(b, later);
  CHECK(a.scalars().events == 8);
  Learner merged(a);
  merged.merge(b);
  CHECK(merged.scalars().clock == 8.5);
  CHECK(merged.scalars().events == 10);  // times after 4.5: two of a and eight of b
  const odca::EventBuffer::Table table = merged.state().buffer.table();
  CHECK(std::is_sorted(table.time.begin(), table.time.end()));
  CHECK(table.time.front() == 5.0);
  long double mass = 0.0L;
  for (std::int64_t n = 0; n < 12; ++n)
    for (const Stream* part : {&early, &later})
      if (part->time[n] > 4.5) mass += part->weight[n];
  CHECK(std::fabs(merged.scalars().lane.mass[0] - mass) <= 1e-14L * mass);
}

TEST_CASE("applying a delta to its base gives the later state") {
  for_every_mergeable([](const Config& config, const Stream& stream) {
    Learner learner(config);
    learn(learner, stream, 0, 30);
    Learner base(learner);
    learn(learner, stream, 30, 60);
    const odca::State delta = learner.delta(base);
    CHECK(delta.count == 30);
    base.apply(delta, delta.buffer.table());
    same_model(base, learner, 1e-11);
  });
}

TEST_CASE("the parts of a learner merge to it, and have its weights unless the events of a window were dealt out") {
  for_every_mergeable([](const Config& config, const Stream& stream) {
    Learner learner(config);
    learn(learner, stream);
    for (const int parts : {1, 3, 8}) {
      Learner merged(learner);
      merged.become_part(0, parts);
      if (!config.window.keeps_events()) close_to(merged.weights(false), learner.weights(false), 1e-11);
      for (int part = 1; part < parts; ++part) {
        Learner other(learner);
        other.become_part(part, parts);
        merged.merge(other);
      }
      same_model(merged, learner, 1e-12);
    }
    CHECK_THROWS_AS(learner.become_part(3, 3), InputError);
  });
}

TEST_CASE("a delta without events changes nothing but rounding") {
  for_every_mergeable([](const Config& config, const Stream& stream) {
    Learner learner(config);
    learn(learner, stream, 0, 30);
    Learner copy(learner);
    const odca::State delta = learner.delta(learner);
    copy.apply(delta, delta.buffer.table());
    same_model(copy, learner, 1e-12);
  });
}

TEST_CASE("learners that cannot be merged are refused, and nothing changes") {
  const Config config =
      make_config(odca::named_loss("squared_error", 0.0), odca::L2{}, {.kind = Window::Kind::count, .length = 5});
  const Stream stream = make_stream({.rows = 10, .width = 3}, Labels::any, 89);
  Learner a(config), b(config);
  learn(a, stream);
  const odca::State before = a.state();
  CHECK_THROWS_AS(a.merge(b), InputError);
  CHECK_THROWS_AS(a.delta(b), InputError);
  CHECK_THROWS_AS(a.apply(odca::State{}, {}), InputError);
  CHECK(first_difference(a.state(), before) == "");

  const Config infinite = make_config(odca::named_loss("squared_error", 0.0), odca::L2{}, {});
  Learner earlier(infinite), later(infinite);
  learn(later, stream);
  CHECK_THROWS_AS(earlier.delta(later), InputError);  // the wrong way round
  Learner two_lanes(make_config(odca::named_loss("squared_error", 0.0), odca::L2{}, {}, 2));
  CHECK_THROWS_AS(two_lanes.apply(later.delta(earlier), {}), InputError);
}

TEST_CASE("a merge that would overflow is refused, and nothing changes") {
  Learner learner(make_config(odca::named_loss("squared_error", 0.0), odca::L2{}, {}));
  Stream stream = make_stream({.rows = 1, .width = 3, .density = 1.0}, Labels::any, 114);
  stream.weight = {1.2e154};  // its square is a number, twice its square is not
  learn(learner, stream);
  const Learner other(learner);
  const odca::State before = learner.state();
  CHECK_THROWS_AS(learner.merge(other), InputError);
  CHECK(first_difference(learner.state(), before) == "");
}

TEST_CASE("a delta is refused where events of the base were refined or unlearned since") {
  Learner learner(make_config(odca::named_loss("squared_error", 0.0), odca::L2{},
                              {.kind = Window::Kind::duration, .duration = 1000.0}));
  const Stream stream = make_stream({.rows = 20, .width = 3, .zero_weight = 0.0}, Labels::any, 115);
  learn(learner, stream, 0, 10);
  const Learner base(learner);
  learn(learner, stream, 10, 20);
  CHECK(learner.delta(base).count == 10);
  Learner refined(learner), unlearned(learner);
  refined.refine(1, 0.0, 0, {});
  unlearned.unlearn(3);
  CHECK_THROWS_AS(refined.delta(base), InputError);
  CHECK_THROWS_AS(unlearned.delta(base), InputError);
}

TEST_CASE("a learner merged with itself counts everything twice") {
  Learner learner(make_config(odca::named_loss("squared_error", 0.0), odca::L2{}, {}, 1, 0.9));
  learn(learner, make_stream({.rows = 20, .width = 3}, Labels::any, 90));
  const double mass = learner.scalars().lane.mass[0];
  const std::vector<double> smoothed = learner.weights(true);
  learner.merge(learner);
  CHECK(learner.scalars().count == 40);
  CHECK(learner.scalars().lane.mass[0] == 2.0 * mass);
  close_to(learner.weights(true), smoothed, 1e-14);
}
