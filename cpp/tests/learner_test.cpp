#include "odca/learner/learner.hpp"

#include <doctest/doctest.h>

#include "definition.hpp"
#include "odca/errors.hpp"
#include "support.hpp"

using namespace odca::test;
using odca::Config;
using odca::InputError;
using odca::Labels;
using odca::Learner;
using odca::Window;

namespace {

// Calls visit(config, stream, seed) for every loss, penalty, window, kappa and number of lanes.
template <class Visit>
void for_every_configuration(const std::vector<double>& kappas, const StreamOptions& base, Visit visit) {
  std::uint64_t seed = 100;
  for (const int lanes : {1, 3})
    for (const NamedLoss& loss : all_losses)
      for (const NamedPenalty& penalty : all_penalties)
        for (const NamedWindow& window : all_windows(lanes))
          for (const double kappa : kappas) {
            CAPTURE(loss.name);
            CAPTURE(penalty.name);
            CAPTURE(window.name);
            CAPTURE(kappa);
            CAPTURE(lanes);
            ++seed;
            StreamOptions options = base;
            options.lanes = lanes;
            Config config = make_config(loss.loss(), penalty.make(options.width), window.window, lanes, kappa);
            const bool simplex = config.fixed_features > 0;
            config.intercept = !simplex && seed % 2;
            if (!simplex && seed % 3 == 0) config.shape = make_shape(4, lanes, seed);
            options.dense = seed % 5 == 0;
            options.growing = !simplex && !options.dense;
            visit(config, make_stream(options, labels_of(config.loss), seed), seed);
          }
}

}  // namespace

TEST_CASE("every learner follows the paper, event by event") {
  for_every_configuration({0.0}, {.rows = 40, .width = 7}, [](const Config& config, const Stream& stream, auto) {
    Learner learner(config);
    Definition definition(config, stream);
    for (std::int64_t n = 0; n < stream.rows; ++n) {
      CAPTURE(n);
      const std::vector<double> before = learner.weights(false);
      std::vector<double> margin(config.lanes), lambda(config.lanes), slope(config.lanes);
      std::vector<std::uint8_t> saturated(config.lanes);
      const auto call = stream.call(n, n + 1, config.intercept);
      learner.learn(call.events, {margin.data(), lambda.data(), slope.data(), saturated.data()}, {});
      definition.add(lambda);
      for (int l = 0; l < config.lanes; ++l) {
        const auto [sum, size] = definition.margin(n, before, l);
        REQUIRE(std::fabs(margin[l] - (stream.offset[n * config.lanes + l] + sum)) <= 1e-13L * (1.0L + size));
        REQUIRE(slope[l] >= 0.0);
      }
      check_optimal(learner, definition, stream, n, lambda);
      if (n % 9 == 0) check_sums(learner, definition);
    }
    check_sums(learner, definition);
    REQUIRE(learner.scalars().count == static_cast<std::uint64_t>(stream.rows));
  });
}

TEST_CASE("any split of a stream into calls gives the same bits, and reading the model changes nothing") {
  for_every_configuration({0.0, 0.9, 1.0}, {.rows = 36, .width = 6},
                          [](const Config& config, const Stream& stream, std::uint64_t seed) {
                            Random random(seed);
                            // All have seen all columns from the start: how many there are is part of the model.
                            Stream wide = stream;
                            wide.growing = false;
                            Learner whole(config), split(config);
                            std::vector<double> all(wide.rows * config.lanes), parts(wide.rows * config.lanes);
                            whole.learn(wide.call(0, wide.rows, config.intercept).events, {all.data()}, {});
                            for (std::int64_t from = 0; from < wide.rows;) {
                              const std::int64_t to = std::min(wide.rows, from + random.between(0, 5));
                              const auto call = wide.call(from, to, config.intercept);
                              split.learn(call.events, {parts.data() + from * config.lanes}, {});
                              std::vector<double> ignored((to - from) * config.lanes);
                              split.predict(call.events.batch, {}, random.chance(0.5), ignored.data(), {});
                              split.weights(true);
                              split.dual_objective();
                              from = to;
                            }
                            REQUIRE(first_difference(whole.state(), split.state()) == "");
                            REQUIRE(whole.same_state(split));
                            REQUIRE(same_bits(all, parts));
                            REQUIRE(same_bits(whole.weights(true), split.weights(true)));
                            for (const double w : whole.weights(true)) REQUIRE(std::isfinite(w));
                          });
}

TEST_CASE("the smoothed weights are the mean of the weights after each event") {
  std::uint64_t seed = 3000;
  for (const int lanes : {1, 3})
    for (const NamedPenalty& penalty : all_penalties)
      for (const NamedWindow& window : all_windows(lanes))
        for (const double kappa : {0.3, 0.99, 1.0}) {
          CAPTURE(penalty.name);
          CAPTURE(window.name);
          CAPTURE(kappa);
          CAPTURE(lanes);
          ++seed;
          // Several hundred events: the lazy sums go through several blocks.
          const StreamOptions options{.rows = 250, .width = 8, .lanes = lanes, .density = 0.25};
          Config config =
              make_config(odca::named_loss("log_loss", 0.0), penalty.make(options.width), window.window, lanes, kappa);
          const bool simplex = config.fixed_features > 0;
          config.intercept = !simplex && seed % 2;
          if (!simplex && seed % 3 == 0) config.shape = make_shape(4, lanes, seed);
          const Stream stream = make_stream(options, Labels::probability, seed);
          Learner learner(config);
          std::vector<long double> sum;
          long double mass = 0.0L;
          for (std::int64_t n = 0; n < stream.rows; ++n) {
            learn(learner, stream, n, n + 1);
            const std::vector<double> weights = learner.weights(false);
            sum.resize(weights.size());
            for (std::size_t at = 0; at < weights.size(); ++at) sum[at] = kappa * sum[at] + weights[at];
            mass = kappa * mass + 1.0L;
            if (n % 23 != 0 && n != stream.rows - 1) continue;
            const std::vector<double> smoothed = learner.weights(true);
            for (std::size_t at = 0; at < weights.size(); ++at) {
              CAPTURE(n);
              REQUIRE(std::fabs(smoothed[at] - sum[at] / mass) <= 1e-12L * (1.0L + std::fabs(sum[at] / mass)));
            }
          }
        }
}

TEST_CASE("with smoothing the reported margin uses the smoothed weights, as predict does") {
  for (const NamedPenalty& penalty : all_penalties) {
    const Stream stream = make_stream({.rows = 60, .width = 6, .lanes = 2}, Labels::plus_minus_one, 7);
    Learner learner(make_config(odca::named_loss("hinge", 0.0), penalty.make(6), {}, 2, 0.9));
    for (std::int64_t n = 0; n < stream.rows; ++n) {
      const auto call = stream.call(n, n + 1);
      std::vector<double> shown(2), predicted(2), plain(2);
      learner.predict(call.events.batch, call.events.offset, true, predicted.data(), {});
      learner.predict(call.events.batch, call.events.offset, false, plain.data(), {});
      learner.learn(call.events, {shown.data()}, {});
      CAPTURE(penalty.name);
      for (int l = 0; l < 2; ++l) REQUIRE(shown[l] == doctest::Approx(predicted[l]).epsilon(1e-12));
      if (n == 30) CHECK(plain != predicted);
    }
  }
}

TEST_CASE("each lane equals a separate learner") {
  for_every_configuration({0.0, 0.9}, {.rows = 30, .width = 6}, [](const Config& config, const Stream& stream, auto) {
    if (config.lanes == 1) return;
    Learner together(config);
    learn(together, stream);
    const std::vector<double> weights = together.weights(true);
    for (int l = 0; l < config.lanes; ++l) {
      Config own = config;
      own.lanes = 1;
      own.rho = {config.rho[l]};
      own.prior_strength = {config.prior_strength[l]};
      own.window.parameter = {config.window.of_lane(l)};
      own.shape.mean.clear();
      for (std::size_t at = l; at < config.shape.mean.size(); at += config.lanes)
        own.shape.mean.push_back(config.shape.mean[at]);
      Stream column = stream;
      column.lanes = 1;
      for (auto [part, all] : {std::pair(&column.y, &stream.y), std::pair(&column.weight, &stream.weight),
                               std::pair(&column.offset, &stream.offset)}) {
        part->clear();
        for (std::size_t at = l; at < all->size(); at += config.lanes) part->push_back((*all)[at]);
      }
      Learner alone(own);
      learn(alone, column);
      std::vector<double> of_lane;
      for (std::size_t at = l; at < weights.size(); at += config.lanes) of_lane.push_back(weights[at]);
      // The same numbers, added up in another order. A kink may turn a rounding into a little more.
      close_to(of_lane, alone.weights(true), 1e-7);
    }
  });
}

TEST_CASE("without mass the weights are the prior, and an event of weight zero only advances the clock") {
  for (const NamedPenalty& penalty : all_penalties)
    for (const NamedWindow& window : all_windows(2)) {
      Config config = make_config(odca::named_loss("squared_error", 0.0), penalty.make(5), window.window, 2, 0.9);
      const bool simplex = config.fixed_features > 0;
      if (!simplex) config.shape = make_shape(5, 2, 17);
      Stream stream = make_stream({.rows = 30, .width = 5, .lanes = 2, .late = 0.0}, Labels::any, 18);
      std::fill(stream.weight.begin(), stream.weight.end(), 0.0);
      Learner learner(config);
      const std::vector<double> prior = learner.weights(false);
      learn(learner, stream);
      CAPTURE(penalty.name);
      CAPTURE(window.name);
      CHECK(same_bits(learner.weights(false), prior));
      for (std::size_t at = 0; at < prior.size(); ++at)
        CHECK(prior[at] ==
              doctest::Approx(simplex ? 0.2 : static_cast<double>(map_of(config, at / 2, 0.0L, config.shape.mean[at])))
                  .epsilon(1e-15));
      close_to(learner.weights(true), prior, 1e-14);
      CHECK(learner.scalars().count == 30);
      CHECK(learner.scalars().lane.mass == std::vector<double>{0.0, 0.0});
      CHECK(learner.dual_objective() == std::vector<double>{0.0, 0.0});
    }
}

TEST_CASE("a past that has decayed to nothing leaves the prior") {
  // Weights of zero, event after event: the mass falls by a half each time, through all powers of two.
  for (const NamedPenalty& penalty : all_penalties)
    for (const double kappa : {0.0, 0.9}) {
      Config config =
          make_config(odca::named_loss("squared_error", 0.0), penalty.make(4), {.parameter = {0.5}}, 2, kappa);
      config.rho = {1e-4, 0.0};
      config.prior_strength = {0.0, 0.5};
      Learner learner(config);
      const Stream first =
          make_stream({.rows = 5, .width = 4, .lanes = 2, .density = 1.0, .zero_weight = 0.0}, Labels::any, 5);
      learn(learner, first);
      Stream silent = make_stream({.rows = 1200, .width = 4, .lanes = 2, .density = 0.5}, Labels::any, 6);
      std::fill(silent.weight.begin(), silent.weight.end(), 0.0);
      CAPTURE(penalty.name);
      CAPTURE(kappa);
      for (std::int64_t n = 0; n < silent.rows; ++n) {
        CAPTURE(n);
        REQUIRE_NOTHROW(learn(learner, silent, n, n + 1));
        for (const double w : learner.weights(false)) REQUIRE(std::isfinite(w));
      }
      CHECK(learner.scalars().lane.mass == std::vector<double>{0.0, 0.0});
      const std::vector<double> prior = Learner(config).weights(false);
      if (!prior.empty()) CHECK(same_bits(learner.weights(false), prior));
      for (const double v : learner.dual_sum()) CHECK(v == 0.0);
    }
}

TEST_CASE("gaps in time of any length are handled") {
  for (const double gap : {1.0, 60.0, 64.0, 65.0, 999.0, 1000.0, 1001.0, 1e6, 1e300})
    for (const double rho : {1e-2, 1e-12}) {
      Config config = make_config(odca::named_loss("log_loss", 0.0), odca::Separable{.delta = 1e-3},
                                  {.kind = Window::Kind::half_life, .parameter = {1.0}}, 1, 0.5);
      config.rho = {rho};
      Stream stream = make_stream({.rows = 40, .width = 5, .zero_weight = 0.0, .late = 0.0}, Labels::probability, 9);
      for (std::int64_t n = 20; n < 40; ++n) stream.time[n] += gap;
      Learner learner(config);
      CAPTURE(gap);
      CAPTURE(rho);
      REQUIRE_NOTHROW(learn(learner, stream, 0, 20));
      // The first event after the gap may be one of weight zero.
      stream.weight[20] = 0.0;
      REQUIRE_NOTHROW(learn(learner, stream, 20, 21));
      for (const double w : learner.weights(false)) REQUIRE(std::isfinite(w));
      REQUIRE_NOTHROW(learn(learner, stream, 21, 40));
      Definition definition(config, stream);
      for (const double w : learner.weights(true)) REQUIRE(std::isfinite(w));
      CHECK(learner.scalars().clock == stream.time[39]);
    }
}

TEST_CASE("objectives and refining require the value of a custom loss before anything changes") {
  odca::Custom loss;
  loss.dual = [](double p, double s, double y) { return (y - p) / (1.0 + s); };
  Learner learner(make_config(loss, odca::L2{}, {.kind = Window::Kind::count, .length = 5}));
  learn(learner, make_stream({.rows = 8, .width = 3}, Labels::any, 28));
  const odca::State before = learner.state();
  CHECK_THROWS_AS(learner.refine(1, 0.0, 0, {}), InputError);
  CHECK_THROWS_AS(learner.dual_objective(), InputError);
  CHECK_THROWS_AS(learner.primal_objective(), InputError);
  CHECK(first_difference(learner.state(), before) == "");
}

TEST_CASE("a feature the model has never seen has weight zero, and predicting does not add it") {
  Learner learner(make_config(odca::named_loss("squared_error", 0.0), odca::L2{}, {}, 2));
  learn(learner, make_stream({.rows = 20, .width = 3, .lanes = 2}, Labels::any, 25));
  for (const bool dense : {false, true}) {
    const Stream wide = make_stream({.rows = 20, .width = 30, .lanes = 2, .dense = dense}, Labels::any, 26);
    const auto call = wide.call(0, 20);
    std::vector<double> got(40);
    learner.predict(call.events.batch, {}, false, got.data(), {});
    const std::vector<double> weights = learner.weights(false);
    const Definition definition(learner.config(), wide);
    for (std::int64_t n = 0; n < 20; ++n)
      for (int l = 0; l < 2; ++l) {
        const auto [sum, size] = definition.margin(n, weights, l);
        REQUIRE(std::fabs(got[n * 2 + l] - sum) <= 1e-14L * (1.0L + size));
      }
    CHECK(learner.scalars().features == 3);
  }
}

TEST_CASE("an update that would overflow is refused, and the model remains usable") {
  for (const int lanes : {1, 2}) {
    Learner learner(make_config(odca::named_loss("squared_error", 0.0), odca::L2{}, {}, lanes));
    Stream stream =
        make_stream({.rows = 10, .width = 3, .lanes = lanes, .density = 1.0, .zero_weight = 0.0}, Labels::any, 27);
    learn(learner, stream);
    const odca::State before = learner.state();
    Stream huge = stream;
    for (double& y : huge.y) y = 1e300;
    for (double& c : huge.weight) c = 1e100;
    CHECK_THROWS_AS(learn(learner, huge), InputError);
    CHECK(first_difference(learner.state(), before) == "");
    huge = stream;
    for (double& h : huge.value) h = 1e154;
    for (double& b : huge.offset) b = 1e308;
    CHECK_THROWS_AS(learn(learner, huge), InputError);
    CHECK(first_difference(learner.state(), before) == "");
    learn(learner, stream);
    for (const double w : learner.weights(false)) CHECK(std::isfinite(w));
  }
}
