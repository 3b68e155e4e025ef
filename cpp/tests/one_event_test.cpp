// Non-blocking calls of one event, and features that appear with their rows.
#include <doctest/doctest.h>

#include <cmath>
#include <thread>

#include "support.hpp"

using namespace odca::test;
using odca::Learner;
using odca::Row;

namespace {

// A loss that uses its learner from another thread, by non-blocking calls.
odca::Custom looking_loss(const Learner*& self, bool& entered) {
  odca::Custom loss;
  loss.dual = [&](double p, double s, double y) {
    std::thread([&] {
      double margin = 0.0;
      entered = self->try_predict({}, 0.0, false, &margin);
    }).join();
    return (y - p) / (1.0 + s);
  };
  return loss;
}

}  // namespace

TEST_CASE("a non-blocking learn gives the same bits") {
  for (const auto& penalty : all_penalties)
    for (const auto& window : all_windows(2))
      for (const double kappa : {0.0, 0.9}) {
        CAPTURE(penalty.name);
        CAPTURE(window.name);
        const auto config = make_config(odca::named_loss("log_loss", 0.0), penalty.make(9), window.window, 2, kappa);
        Learner one(config), other(config);
        const Stream stream = make_stream({.lanes = 2}, odca::Labels::probability, 211);
        for (std::int64_t i = 0; i < stream.rows; ++i) {
          learn(one, stream, i, i + 1);
          REQUIRE(other.try_learn(stream.call(i, i + 1).events, {}));
        }
        CHECK(first_difference(one.state(), other.state()) == "");
      }
}

TEST_CASE("a non-blocking prediction gives the same bits") {
  for (const auto& penalty : all_penalties)
    for (const double kappa : {0.0, 0.9})
      for (const int lanes : {1, 3})
        for (const bool dense : {true, false}) {
          CAPTURE(penalty.name);
          Learner learner(make_config(odca::named_loss("huber", 0.7), penalty.make(9), {}, lanes, kappa));
          const Stream stream = make_stream({.lanes = lanes, .dense = dense}, odca::Labels::any, 212);
          learn(learner, stream);
          for (std::int64_t i = 0; i < stream.rows; ++i) {
            std::vector<double> waiting(lanes), at_once(lanes);
            const auto call = stream.call(i, i + 1);
            learner.predict(call.events.batch, {}, true, waiting.data(), {});
            odca::Batch::Scratch scratch;
            REQUIRE(learner.try_predict(call.events.batch.row(0, scratch), 0.0, true, at_once.data()));
            CHECK(same_bits(waiting, at_once));
          }
        }
}

TEST_CASE("a non-blocking call fails while the model is in use, and if it would be long") {
  const Learner* self = nullptr;
  bool entered = true;
  Learner learner(make_config(looking_loss(self, entered), odca::L2{}, {}));
  self = &learner;
  const Stream stream = make_stream({.rows = 1, .width = 3}, odca::Labels::any, 213);
  learn(learner, stream);
  CHECK_FALSE(entered);
  const Stream wide = make_stream({.rows = 1, .width = 20000, .density = 1.0}, odca::Labels::any, 214);
  CHECK_FALSE(learner.try_learn(wide.call(0, 1).events, {}));
  CHECK(learner.scalars().count == 1);
  CHECK(learner.scalars().features == 3);
}

TEST_CASE("a refused non-blocking call leaves the model unchanged") {
  Learner learner(make_config(odca::named_loss("hinge", 0.0), odca::L2{}, {}, 1, 0.9));
  Stream stream = make_stream({.rows = 5, .width = 4}, odca::Labels::plus_minus_one, 215);
  learn(learner, stream, 0, 4);
  const odca::State before = learner.state();
  stream.y[4] = 0.5;
  CHECK_THROWS_AS(learner.try_learn(stream.call(4, 5).events, {}), odca::InputError);
  CHECK(first_difference(learner.state(), before) == "");
  double margin = 0.0;
  const double nan = std::nan("");
  CHECK_THROWS_AS(learner.try_predict(Row{nullptr, &nan, 1}, 0.0, false, &margin), odca::InputError);
  CHECK(learner.try_predict({}, 1.5, false, &margin));
  CHECK(margin == 1.5);
}

TEST_CASE("features of a batch appear when one row at a time would add them") {
  for (const auto& window : all_windows(1))
    for (const double kappa : {0.0, 0.5, 1.0}) {
      CAPTURE(window.name);
      const auto config = make_config(odca::named_loss("huber", 0.7), odca::L2{}, window.window, 1, kappa);
      Learner whole(config), single(config), failing(config);
      Stream stream = make_stream({.rows = 400, .width = 60, .growing = true}, odca::Labels::any, 216);
      for (std::int64_t i = 0; i < stream.rows; ++i) {
        auto call = stream.call(i, i + 1);
        call.events.batch.widens = true;
        single.learn(call.events, {}, {});
      }
      auto call = stream.call(0, stream.rows);
      call.events.batch.widens = true;
      whole.learn(call.events, {}, {});
      CHECK(first_difference(whole.state(), single.state()) == "");
      stream.offset.back() = odca::infinity;
      const odca::State before = failing.state();
      CHECK_THROWS_AS(failing.learn(call.events, {}, {}), odca::InputError);
      CHECK(first_difference(failing.state(), before) == "");
    }
}

TEST_CASE("the weights of selected features equal those in the full vector") {
  for (const auto& penalty : all_penalties)
    for (const bool smoothed : {false, true}) {
      CAPTURE(penalty.name);
      Learner learner(make_config(odca::named_loss("huber", 0.7), penalty.make(9), {}, 2, 0.9));
      learn(learner, make_stream({.lanes = 2}, odca::Labels::any, 217));
      const std::vector<double> all = learner.weights(smoothed);
      const std::vector<std::int32_t> asked = {3, -1, 8, 1000};
      const std::vector<double> some = learner.weights_at(asked, smoothed);
      CHECK(same_bits(some, {all[6], all[7], 0.0, 0.0, all[16], all[17], 0.0, 0.0}));
    }
}
