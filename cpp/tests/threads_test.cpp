// Several threads may use one learner, and a long call can be stopped.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "odca/errors.hpp"
#include "odca/learner/learner.hpp"
#include "support.hpp"

using namespace odca::test;
using odca::Config;
using odca::Labels;
using odca::Learner;
using odca::Window;

namespace {

// One thread learns in calls of 400 events; others copy and predict meanwhile.
void check_concurrent(const Config& config, const Stream& stream) {
  Learner learner(config);
  std::atomic<bool> done = false;
  std::vector<std::unique_ptr<Learner>> copies;
  std::atomic<int> unequal = 0, backwards = 0, looks = 0, copies_made = 0;
  std::thread copier([&] {
    while (!done && copies.size() < 40) {
      copies.push_back(std::make_unique<Learner>(learner));
      ++copies_made;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  std::thread predictor([&] {
    // The same row twice: both must see the same model.
    const Stream twice = [&] {
      Stream out = stream;
      out.index.insert(out.index.end(), stream.index.begin(), stream.index.begin() + stream.start[1]);
      out.value.insert(out.value.end(), stream.value.begin(), stream.value.begin() + stream.start[1]);
      out.index.erase(out.index.begin() + stream.start[1], out.index.begin() + stream.start[stream.rows]);
      out.value.erase(out.value.begin() + stream.start[1], out.value.begin() + stream.start[stream.rows]);
      out.start = {0, stream.start[1], 2 * stream.start[1]};
      out.rows = 2;
      return out;
    }();
    const auto call = twice.call(0, 2, config.intercept);
    std::uint64_t last = 0;
    while (!done) {
      std::vector<double> out(2 * config.lanes);
      learner.predict(call.events.batch, {}, config.kappa > 0.0, out.data(), {});
      for (int l = 0; l < config.lanes; ++l) unequal += !same_bits(out[l], out[config.lanes + l]);
      const std::uint64_t count = learner.scalars().count;
      backwards += count < last;
      last = count;
      ++looks;
    }
  });
  while (copies_made == 0 || looks == 0) std::this_thread::yield();
  for (std::int64_t from = 0; from < stream.rows; from += 400) {
    const auto call = stream.call(from, std::min(stream.rows, from + 400), config.intercept);
    learner.learn(call.events, {}, {});
  }
  done = true;
  copier.join();
  predictor.join();
  CHECK(unequal == 0);
  CHECK(backwards == 0);
  for (const auto& copy : copies) {
    // A copy is the model between two events: with the rest of the stream it becomes the final one.
    learn(*copy, stream, static_cast<std::int64_t>(copy->scalars().count), stream.rows);
    REQUIRE(first_difference(copy->state(), learner.state()) == "");
  }
}

// A slow loss, so that a call lasts long enough to be observed.
odca::AnyLoss slow_loss() {
  odca::Custom loss;
  loss.dual = [](double p, double s, double y) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
    while (std::chrono::steady_clock::now() < until) continue;
    return (y - p) / (1.0 + s);
  };
  loss.worth = [](double z, double y) { return 0.5 * (y - z) * (y - z); };
  return loss;
}

}  // namespace

TEST_CASE("a learner can be copied and used for prediction while it learns") {
  for (const int lanes : {1, 3})
    for (const Window& window : {Window{}, Window{.kind = Window::Kind::count, .length = 50}}) {
      Config config =
          make_config(odca::named_loss("log_loss", 0.0), odca::Separable{.delta = 0.01}, window, lanes, 0.9);
      config.shape = make_shape(5, lanes, 101);
      config.intercept = true;
      check_concurrent(
          config, make_stream({.rows = 8000, .width = 300, .lanes = lanes, .density = 0.05}, Labels::probability, 102));
    }
}

TEST_CASE("a learner can be copied while new features appear") {
  for (int round = 0; round < 5; ++round) {
    Config config = make_config(odca::named_loss("squared_error", 0.0), odca::L2{}, {}, 1, 0.9);
    config.shape = make_shape(1, 1, 103);
    const Stream stream =
        make_stream({.rows = 1000, .width = 2000, .density = 0.002, .growing = true}, Labels::any, 104);
    Learner learner(config);
    std::atomic<bool> done = false;
    int faults = 0;
    std::thread copier([&] {
      while (!done) {
        const Learner copy(learner);
        const auto features = static_cast<std::size_t>(copy.scalars().features);
        faults += copy.config().shape.mean.size() != features || copy.weights(true).size() != features;
      }
    });
    for (std::int64_t n = 0; n < stream.rows; n += 5) learn(learner, stream, n, n + 5);
    done = true;
    copier.join();
    CHECK(faults == 0);
  }
}

TEST_CASE("several threads may learn at once, and every call is atomic") {
  Config config = make_config(odca::named_loss("squared_error", 0.0), odca::L2{}, {});
  Learner learner(config);
  const Stream stream = make_stream({.rows = 1200, .width = 20, .zero_weight = 0.0}, Labels::any, 105);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t from = 400 * t; from < 400 * (t + 1); from += 50) learn(learner, stream, from, from + 50);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(learner.scalars().count == 1200);
  long double mass = 0.0L;
  for (const double c : stream.weight) mass += c;
  CHECK(learner.scalars().lane.mass[0] == doctest::Approx(static_cast<double>(mass)).epsilon(1e-12));
}

TEST_CASE("learners can be compared and merged both ways at once") {
  Config config = make_config(odca::named_loss("squared_error", 0.0), odca::L2{}, {});
  const Stream stream = make_stream({.rows = 50, .width = 10, .zero_weight = 0.0}, Labels::any, 106);
  Learner a(config), b(config);
  learn(a, stream);
  learn(b, stream);
  std::thread one([&] {
    for (int n = 0; n < 20; ++n) a.same_state(b), a.merge(b);
  });
  for (int n = 0; n < 20; ++n) b.same_state(a), b.merge(a);
  one.join();
  CHECK(a.scalars().count + b.scalars().count >= 2000);  // it came to an end
}

TEST_CASE("a reader does not wait for the end of a long call") {
  Config config = make_config(slow_loss(), odca::L2{}, {});
  Learner learner(config);
  const Stream stream = make_stream({.rows = 600, .width = 2000, .dense = true, .density = 1.0}, Labels::any, 107);
  std::atomic<bool> learning = true;
  std::thread writer([&] {
    learn(learner, stream);
    learning = false;
  });
  std::uint64_t seen_in_the_middle = 0;
  while (learning) {
    const std::uint64_t count = learner.scalars().count;
    if (learning && count > 0) seen_in_the_middle = count;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  writer.join();
  CHECK(seen_in_the_middle > 0);
  CHECK(seen_in_the_middle <= 600);
}

TEST_CASE("an interrupted call stops between two events and keeps what it has learned") {
  for (const double kappa : {0.0, 0.9}) {
    Config config = make_config(slow_loss(), odca::L2{}, {.kind = Window::Kind::count, .length = 20}, 1, kappa);
    Learner stopped(config), prefix(config);
    const Stream stream = make_stream({.rows = 600, .width = 2000, .dense = true, .density = 1.0}, Labels::any, 108);
    int asked = 0;
    const auto call = stream.call(0, stream.rows);
    const std::int64_t learned = stopped.learn(call.events, {}, [&] { return ++asked == 2; });
    CHECK(asked == 2);
    REQUIRE(learned > 0);
    REQUIRE(learned < stream.rows);
    CHECK(stopped.scalars().count == static_cast<std::uint64_t>(learned));
    learn(prefix, stream, 0, learned);
    CHECK(first_difference(stopped.state(), prefix.state()) == "");
    learn(stopped, stream, learned, learned + 5);
    CHECK(stopped.scalars().count == static_cast<std::uint64_t>(learned) + 5);
  }
}

TEST_CASE("if the interrupt check throws, the call is undone") {
  Config config = make_config(slow_loss(), odca::L2{}, {}, 1, 0.9);
  Learner learner(config);
  const Stream stream = make_stream({.rows = 600, .width = 2000, .dense = true, .density = 1.0}, Labels::any, 109);
  learn(learner, stream, 0, 3);
  const odca::State before = learner.state();
  const auto call = stream.call(3, stream.rows);
  const odca::Interrupted throws = []() -> bool { throw std::runtime_error("no answer"); };
  CHECK_THROWS_AS(learner.learn(call.events, {}, throws), std::runtime_error);
  CHECK(first_difference(learner.state(), before) == "");
  learn(learner, stream, 3, 5);  // and the mutex is open again
  CHECK(learner.scalars().count == 5);
}

TEST_CASE("a learner cannot be used from inside its own loss") {
  const Learner* self = nullptr;
  odca::Custom loss;
  loss.dual = [&](double, double, double) { return self->weights(false).at(0); };
  Learner learner(make_config(loss, odca::L2{}, {}));
  self = &learner;
  CHECK_THROWS_AS(learn(learner, make_stream({.rows = 3, .width = 2}, Labels::any, 111)), odca::InputError);
  CHECK(learner.scalars().count == 0);  // and the mutex is free
}

TEST_CASE("a long prediction can be interrupted") {
  Learner learner(make_config(odca::named_loss("squared_error", 0.0), odca::L2{}, {}));
  const Stream stream = make_stream({.rows = 1, .width = 2000, .dense = true, .density = 1.0}, Labels::any, 112);
  learn(learner, stream);
  // One row, a million times.
  odca::Batch batch = stream.call(0, 1).events.batch;
  std::get<odca::DenseMatrix<double>>(batch.matrix).row_stride = 0;
  batch.rows = 1000000;
  std::vector<double> out(1000000, -7.0);
  learner.predict(batch, {}, false, out.data(), [] { return true; });
  CHECK(out.front() != -7.0);
  CHECK(out.back() == -7.0);
}

TEST_CASE("refining can be interrupted, and leaves sums consistent with the duals") {
  odca::AnyLoss loss = slow_loss();
  std::get<odca::Custom>(loss).worth = [](double z, double y) { return 0.5 * (y - z) * (y - z); };
  Config config = make_config(loss, odca::L2{}, {.kind = Window::Kind::count, .length = 100});
  Learner learner(config);
  const Stream stream = make_stream({.rows = 100, .width = 2000, .dense = true, .density = 1.0}, Labels::any, 110);
  learn(learner, stream);
  int asked = 0;
  learner.refine(1000000, 0.0, 0, [&] { return ++asked == 2; });
  CHECK(asked == 2);
  for (const double w : learner.weights(false)) CHECK(std::isfinite(w));
  const odca::State state = learner.state();
  std::vector<long double> sum(2000);
  for (std::size_t k = 0; k < state.buffer.size(); ++k) {
    const std::size_t id = state.buffer.at(k);
    const long double step = static_cast<long double>(state.buffer.weights(id)[0]) * state.buffer.duals(id)[0];
    state.buffer.row(id).each([&](std::int64_t j, double h) { sum[j] += step * h; });
  }
  const std::vector<double> dual = learner.dual_sum();
  for (std::size_t j = 0; j < 2000; ++j) REQUIRE(std::fabs(dual[j] - sum[j]) <= 1e-13L * (1.0L + std::fabs(sum[j])));
}
