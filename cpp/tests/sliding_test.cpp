// Windows that keep their events: what leaves, S-DCA over what stays, unlearning.
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

TEST_CASE("a sliding window forgets what has left, however heavy it was") {
  for (const double heavy : {1.0, 1e6, 1e12, 1e18})
    for (const std::int64_t width : {4, 400}) {  // many features make a rebuild expensive
      Config config =
          make_config(odca::named_loss("huber", 1.0), odca::L2{}, {.kind = Window::Kind::count, .length = 3});
      Stream stream =
          make_stream({.rows = 80, .width = width, .density = 2.0 / width, .zero_weight = 0.0}, Labels::any, 11);
      stream.weight[40] = heavy;
      Learner learner(config);
      Definition definition(config, stream);
      for (std::int64_t n = 0; n < stream.rows; ++n) {
        std::vector<double> lambda(1);
        learner.learn(stream.call(n, n + 1).events, {nullptr, lambda.data()}, {});
        definition.add(lambda);
        CAPTURE(heavy);
        CAPTURE(width);
        CAPTURE(n);
        const long double wanted = definition.sums(0, width).mass;
        REQUIRE(std::fabs(learner.scalars().lane.mass[0] - wanted) <= 1e-9L * wanted);
        if (n < 40 || n > 43) check_sums(learner, definition);
      }
    }
}

TEST_CASE("a sliding window whose events all have weight zero has the prior's weights") {
  for (const std::int64_t width : {2, 500}) {
    Config config =
        make_config(odca::named_loss("squared_error", 0.0), odca::L2{}, {.kind = Window::Kind::count, .length = 2});
    config.prior_strength = {0.0};
    Stream stream = make_stream({.rows = 4, .width = width, .density = 1.0, .zero_weight = 0.0}, Labels::any, 12);
    stream.weight = {0.3, 0.1, 0.0, 0.0};  // 0.3 + 0.1 - 0.3 - 0.1 is not zero in floating point
    for (std::size_t k = 0; k < stream.value.size(); ++k) stream.value[k] = stream.index[k] < 2 ? stream.value[k] : 0.0;
    Learner learner(config);
    for (std::int64_t n = 0; n < 4; ++n) learn(learner, stream, n, n + 1);
    CAPTURE(width);
    CHECK(learner.scalars().lane.mass[0] == doctest::Approx(0.0).scale(1e-300));
    for (const double w : learner.weights(false)) CHECK(w == 0.0);
  }
}

TEST_CASE("rounding errors do not accumulate over a long stream through a short window") {
  // Events far on their side of the margin (dual 0) come and go with weights that are not exact in binary.
  Config config = make_config(odca::named_loss("hinge", 0.0), odca::L2{}, {.kind = Window::Kind::count, .length = 5});
  Learner learner(config);
  Stream stream;
  Random random(13);
  stream.width = 1;
  stream.rows = 40000;
  for (std::int64_t n = 0; n < stream.rows; ++n) {
    stream.index.push_back(0);
    stream.value.push_back(random.chance(0.001) ? 100.0 : 1.0);
    stream.start.push_back(n + 1);
    stream.y.push_back(1.0);
    stream.weight.push_back(random.uniform(0.1, 3.0));
    stream.offset.push_back(random.chance(0.001) ? 0.0 : 10.0);
    stream.time.push_back(0.0);
  }
  learn(learner, stream);
  long double mass = 0.0L;
  for (std::int64_t n = stream.rows - 5; n < stream.rows; ++n) mass += stream.weight[n];
  CHECK(std::fabs(learner.scalars().lane.mass[0] - mass) <= 1e-14L * mass);
}

TEST_CASE("weak duality holds on a window, and S-DCA closes the gap") {
  for (const NamedLoss& named : all_losses)
    for (const NamedPenalty& penalty : all_penalties)
      for (const int lanes : {1, 2}) {
        Config config = make_config(named.loss(), penalty.make(6), {.kind = Window::Kind::count, .length = 25}, lanes);
        config.rho.assign(lanes, 0.1);
        if (config.fixed_features == 0) config.shape = make_shape(6, lanes, 19);
        Learner learner(config);
        learn(learner, make_stream({.rows = 60, .width = 6, .lanes = lanes}, labels_of(config.loss), 20));
        CAPTURE(named.name);
        CAPTURE(penalty.name);
        std::vector<double> dual = learner.dual_objective(), primal = learner.primal_objective();
        for (int l = 0; l < lanes; ++l) REQUIRE(primal[l] >= dual[l] - 1e-12);
        for (std::uint64_t pass = 0; pass < 3; ++pass) {
          learner.refine(1, 0.0, pass, {});
          const std::vector<double> next = learner.dual_objective();
          for (int l = 0; l < lanes; ++l) REQUIRE(next[l] >= dual[l] - 1e-12);
          dual = next;
        }
        learner.refine(400, 1e-9, 0, {});
        dual = learner.dual_objective(), primal = learner.primal_objective();
        const std::vector<double> gap = learner.duality_gap();
        for (int l = 0; l < lanes; ++l) {
          CHECK(gap[l] == primal[l] - dual[l]);
          CHECK(primal[l] >= dual[l] - 1e-12);
          CHECK(primal[l] - dual[l] <= 1e-6 * (1.0 + std::fabs(dual[l])));
        }
      }
}

TEST_CASE("refining depends only on the seed, and not on how the events were split into calls") {
  const Config config =
      make_config(odca::named_loss("log_loss", 0.0), odca::L2{}, {.kind = Window::Kind::count, .length = 20}, 2, 0.9);
  const Stream stream = make_stream({.rows = 50, .width = 5, .lanes = 2}, Labels::probability, 23);
  Learner whole(config), split(config), other(config);
  learn(whole, stream);
  learn(other, stream);
  for (std::int64_t n = 0; n < stream.rows; ++n) learn(split, stream, n, n + 1);
  whole.refine(2, 0.0, 5, {});
  split.refine(2, 0.0, 5, {});
  other.refine(2, 0.0, 6, {});
  CHECK(first_difference(whole.state(), split.state()) == "");
  CHECK_FALSE(whole.same_state(other));
}

TEST_CASE("unlearning removes one event exactly") {
  const Config config = make_config(odca::named_loss("squared_error", 0.0), odca::L2{},
                                    {.kind = Window::Kind::count, .length = 10}, 1, 0.9);
  const Stream stream = make_stream({.rows = 30, .width = 5}, Labels::any, 24);
  Learner learner(config);
  std::vector<double> lambda(30);
  learner.learn(stream.call(0, 30).events, {nullptr, lambda.data()}, {});
  const std::vector<double> smoothed = learner.weights(true);
  learner.unlearn(25);
  std::vector<long double> wanted(5);
  long double mass = 0.0L;
  for (std::int64_t n = 20; n < 30; ++n) {
    if (n == 25) continue;
    mass += stream.weight[n];
    for (std::int64_t k = stream.start[n]; k < stream.start[n + 1]; ++k)
      wanted[stream.index[k]] += static_cast<long double>(stream.weight[n]) * lambda[n] * stream.value[k];
  }
  const std::vector<double> dual = learner.dual_sum();
  for (std::size_t j = 0; j < 5; ++j) CHECK(std::fabs(dual[j] - wanted[j]) <= 1e-14L * (1.0L + std::fabs(wanted[j])));
  CHECK(std::fabs(learner.scalars().lane.mass[0] - mass) <= 1e-14L);
  CHECK(learner.scalars().events == 9);
  CHECK(learner.scalars().count == 30);
  close_to(learner.weights(true), smoothed, 1e-14);  // predictions from before are unchanged
  CHECK_THROWS_AS(learner.unlearn(25), InputError);
  CHECK_THROWS_AS(learner.unlearn(3), InputError);
  CHECK_THROWS_AS(learner.unlearn(30), InputError);
}

TEST_CASE("operations that need stored events are refused without them") {
  Learner learner(make_config(odca::named_loss("hinge", 0.0), odca::L2{}, {}));
  CHECK_THROWS_AS(learner.refine(1, 0.0, 0, {}), InputError);
  CHECK_THROWS_AS(learner.unlearn(0), InputError);
  CHECK_THROWS_AS(learner.primal_objective(), InputError);
}
