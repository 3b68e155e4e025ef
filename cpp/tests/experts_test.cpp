// The experts: weights on the simplex, any split, finite numbers whatever comes, states that come back.
#include "odca/experts/mixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "odca/errors.hpp"
#include "support.hpp"

using namespace odca::test;
using odca::InputError;
using odca::experts::Answer;
using odca::experts::Experts;
using odca::experts::SavedState;
using odca::experts::Task;

namespace {

struct Kind {
  Task task;
  int classes;
};
constexpr Kind kinds[] = {{Task::two_classes, 2}, {Task::classes, 2}, {Task::classes, 5}, {Task::numbers, 2}};

// Plain events, or extreme ones.
Stream expert_stream(const Kind& kind, std::uint64_t seed, bool hard, StreamOptions options = {.rows = 300}) {
  Random random(seed);
  options.dense = seed % 2 == 0;
  options.growing = !options.dense && seed % 3 == 0;
  Stream out = make_stream(options, odca::Labels::any, seed);
  if (kind.task == Task::numbers)
    for (double& y : out.y) y = hard ? random.sign() * random.magnitude(-1070, 331) : y + 3.0;
  else
    for (double& y : out.y) y = static_cast<double>(random.below(kind.classes));
  if (!hard) return out;
  for (double& x : out.value)
    if (random.chance(0.5)) x *= random.magnitude(-1070, 329);
  for (double& c : out.weight)
    if (c > 0.0) c = random.magnitude(random.chance(0.2) ? -1070 : -20, 18);
  for (double& t : out.time) t = random.chance(0.3) ? random.sign() * random.magnitude(-1070, 1022) : out.time[0];
  return out;
}

std::vector<double> learn(Experts& experts, const Stream& stream, std::int64_t from, std::int64_t to) {
  const auto call = stream.call(from, to);
  std::vector<double> predicted =
      experts.learn({call.events.batch, stream.y.data() + from, stream.weight.data() + from, stream.time.data() + from})
          .predictions;
  REQUIRE(static_cast<std::int64_t>(predicted.size()) == (to - from) * experts.answer_width());
  return predicted;
}
std::vector<double> learn(Experts& experts, const Stream& stream) { return learn(experts, stream, 0, stream.rows); }

std::vector<double> predict(const Experts& experts, const Stream& stream, std::int64_t from, std::int64_t to) {
  return experts.predict(stream.call(from, to).events.batch);
}

std::vector<double> predict_steadily(const Experts& experts, const Stream& stream, std::int64_t from, std::int64_t to) {
  return experts.predict(stream.call(from, to).events.batch, Answer::steady);
}

std::string first_difference(const Experts& a, const Experts& b) {
  const SavedState::Parts left = a.state().parts, right = b.state().parts;
  for (std::size_t k = 0; k < left.size(); ++k)
    if (!same_bits(left[k].second, right[k].second)) return left[k].first;
  return "";
}

const std::vector<double>& part(const SavedState& state, const std::string& name) {
  return std::find_if(state.parts.begin(), state.parts.end(), [&](const auto& each) { return each.first == name; })
      ->second;
}

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

void require_simplex(const std::vector<double>& weights) {
  double total = 0.0;
  for (const double w : weights) {
    REQUIRE(w > 0.0);
    total += w;
  }
  REQUIRE(std::fabs(total - 1.0) < 1e-12);
}

// By its factors, if it has them: a matrix is positive definite just then.
bool is_positive(std::vector<double> a, int size) {
  for (int k = 0; k < size; ++k) {
    if (!(a[k * size + k] > 0.0)) return false;
    for (int i = k + 1; i < size; ++i) {
      const double factor = a[i * size + k] / a[k * size + k];
      for (int j = k; j < size; ++j) a[i * size + j] -= factor * a[k * size + j];
    }
  }
  return true;
}

void require_sound(const Experts& experts) {
  const SavedState state = experts.state();
  for (const auto& each : state.parts) {
    CAPTURE(each.first);
    REQUIRE(all_finite(each.second));
  }
  for (const char* name : {"bayes", "simplex", "top"}) require_simplex(part(state, name));
  std::vector<double> weights = experts.weights();  // zeros for experts that have not joined yet
  const std::size_t in_use = part(state, "bayes").size();
  REQUIRE(std::all_of(weights.begin() + static_cast<std::ptrdiff_t>(in_use), weights.end(),
                      [](double w) { return w == 0.0; }));
  weights.resize(in_use);
  require_simplex(weights);
  double total = 0.0;
  for (const double w : experts.steady_weights()) {
    REQUIRE(w >= 0.0);
    total += w;
  }
  REQUIRE(std::fabs(total - 1.0) < 1e-12);
  const odca::experts::LinearModel linear = experts.linear();
  REQUIRE(all_finite(linear.weight));
  REQUIRE(all_finite(linear.intercept));
  REQUIRE(all_finite(linear.product_weight));
  const std::vector<double>& covariance = part(state, "covariance");
  const int size = static_cast<int>(in_use);
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < i; ++j) REQUIRE(same_bits(covariance[i * size + j], covariance[j * size + i]));
  REQUIRE(is_positive(covariance, size));
}

}  // namespace

TEST_CASE("any split of a stream into calls gives the same experts and the same predictions") {
  for (const Kind& kind : kinds)
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const Stream stream = expert_stream(kind, seed, seed > 4);
      Experts whole(kind.task, kind.classes), parts(kind.task, kind.classes);
      const std::vector<double> predicted = learn(whole, stream);
      std::vector<double> in_parts;
      Random random(seed);
      for (std::int64_t from = 0, to = 0; from < stream.rows; from = to) {
        to = std::min(stream.rows, from + random.between(0, 40));
        for (const double each : learn(parts, stream, from, to)) in_parts.push_back(each);
      }
      REQUIRE(same_bits(predicted, in_parts));
      REQUIRE(
          same_bits(predict_steadily(whole, stream, 0, stream.rows), predict_steadily(parts, stream, 0, stream.rows)));
      REQUIRE(first_difference(whole, parts) == "");
    }
}

TEST_CASE("experts predict before they learn what predict() would have returned, also for features never seen") {
  for (const Kind& kind : kinds) {
    const Stream stream = expert_stream(kind, 8, false, {.rows = 60, .width = 40});
    Experts experts(kind.task, kind.classes);
    for (std::int64_t i = 0; i < stream.rows; ++i) {
      const std::vector<double> before = predict(experts, stream, i, i + 1);  // the first time there is nothing at all
      REQUIRE(same_bits(before, learn(experts, stream, i, i + 1)));
    }
    const Stream wider = expert_stream(kind, 10, false, {.rows = 20, .width = 400});
    Experts again(kind.task, kind.classes);
    again.restore(experts.state());
    REQUIRE(all_finite(predict(experts, wider, 0, wider.rows)));
    REQUIRE(all_finite(predict_steadily(experts, wider, 0, wider.rows)));
    REQUIRE(first_difference(experts, again) == "");
  }
}

TEST_CASE("whatever comes, numbers are finite, weights on the simplex and the covariance positive") {
  for (const Kind& kind : kinds)
    for (std::uint64_t seed = 20; seed < 60; ++seed) {
      const Stream stream = expert_stream(kind, seed, true);
      Experts experts(kind.task, kind.classes);
      for (std::int64_t from = 0; from < stream.rows; from += 20) {
        REQUIRE(all_finite(learn(experts, stream, from, from + 20)));
        REQUIRE(all_finite(predict_steadily(experts, stream, from, from + 20)));
        require_sound(experts);
      }
      Experts again(kind.task, kind.classes);
      again.restore(experts.state());
      REQUIRE(first_difference(experts, again) == "");
    }
}

TEST_CASE("restored experts go on as those that were saved") {
  for (const Kind& kind : kinds)
    for (const std::int64_t middle : {0, 1, 100}) {
      const Stream stream = expert_stream(kind, 12, false);
      Experts straight(kind.task, kind.classes), first(kind.task, kind.classes), second(kind.task, kind.classes);
      learn(straight, stream);
      learn(first, stream, 0, middle);
      learn(second, stream, 0, 50);  // what it was before does not matter
      second.restore(first.state());
      learn(second, stream, middle, stream.rows);
      REQUIRE(first_difference(straight, second) == "");
    }
}

TEST_CASE("a damaged state is refused, and nothing has changed") {
  for (const Kind& kind : kinds) {
    const Stream stream = expert_stream(kind, 14, false);
    Experts experts(kind.task, kind.classes), before(kind.task, kind.classes);
    learn(experts, stream), learn(before, stream);
    const SavedState state = experts.state();
    const auto refuse = [&](const std::function<void(SavedState::Parts&)>& spoil) {
      SavedState spoilt = state;
      spoil(spoilt.parts);
      CHECK_THROWS_AS(experts.restore(spoilt), InputError);
    };
    for (std::size_t k = 0; k < state.parts.size(); ++k) {
      CAPTURE(state.parts[k].first);
      refuse([&](auto& s) { s.erase(s.begin() + static_cast<std::ptrdiff_t>(k)); });
      refuse([&](auto& s) { s[k].second.push_back(1.0); });
      refuse([&](auto& s) { s.push_back(s[k]); });
      if (state.parts[k].second.empty()) continue;
      refuse([&](auto& s) { s[k].second.pop_back(); });
      refuse([&](auto& s) { s[k].second.front() = std::nan(""); });
      refuse([&](auto& s) { s[k].second.back() = odca::infinity; });
      if (state.parts[k].first == "bayes" || state.parts[k].first == "simplex" || state.parts[k].first == "top") {
        refuse([&](auto& s) { s[k].second.front() += 0.1; });
        refuse([&](auto& s) { s[k].second[0] -= 1.0, s[k].second[1] += 1.0; });
      }
    }
    refuse([](auto& s) { s.clear(); });
    CHECK(first_difference(experts, before) == "");
  }
}

// Differences between the answers of two heads, which for classes are what probabilities depend on.
TEST_CASE("the steady answer is the linear model that linear() returns") {
  for (const Kind& kind : kinds) {
    const Stream stream = expert_stream(kind, 26, false, {.rows = 400, .width = 12});
    Experts experts(kind.task, kind.classes);
    for (std::int64_t from = 0; from < stream.rows; from += 40) {
      learn(experts, stream, from, from + 40);
      const odca::experts::LinearModel linear = experts.linear();
      const std::vector<double> answers = predict_steadily(experts, stream, 0, stream.rows);
      const auto call = stream.call(0, stream.rows);
      odca::Batch::Scratch scratch;
      const auto heads = static_cast<std::size_t>(experts.answer_width()), features = linear.weight.size() / heads;
      for (std::int64_t i = 0; i < stream.rows; ++i) {
        std::vector<double> z = linear.intercept;
        call.events.batch.row(i, scratch).each([&](std::int64_t j, double x) {
          if (static_cast<std::size_t>(j) >= features) return;
          for (std::size_t c = 0; c < heads; ++c) z[c] += x * linear.weight[c * features + static_cast<std::size_t>(j)];
        });
        linear.products.each_product(call.events.batch.row(i, scratch), [&](std::size_t k, double p) {
          for (std::size_t c = 0; c < heads; ++c) z[c] += p * linear.product_weight[k * heads + c];
        });
        const double* const answer = &answers[static_cast<std::size_t>(i) * heads];
        for (std::size_t c = 0; c < heads; ++c)
          REQUIRE(std::fabs(heads == 1 ? z[c] - answer[c] : z[c] - z[0] - (answer[c] - answer[0])) < 1e-9);
      }
    }
  }
}

TEST_CASE("a class that appears during a steady prediction leaves numbers, however large the margins are") {
  const Kind kind = kinds[0];
  Stream stream = expert_stream(kind, 28, false, {.rows = 15'000, .width = 300, .density = 1.0});
  Experts experts(kind.task, kind.classes);
  learn(experts, stream, 0, 200);
  for (double& x : stream.value) x *= 1e90;
  bool added = false;
  const std::vector<double> answers = experts.predict(stream.call(0, stream.rows).events.batch, Answer::steady,
                                                      [&] { return experts.declare(3), added = true, false; });
  REQUIRE(added);
  REQUIRE(static_cast<std::int64_t>(answers.size()) == 3 * stream.rows);
  CHECK(all_finite(answers));
}

TEST_CASE("an event that cannot be learned from changes nothing") {
  for (const Kind& kind : kinds) {
    Stream stream = expert_stream(kind, 16, false);
    Experts experts(kind.task, kind.classes), before(kind.task, kind.classes);
    learn(experts, stream), learn(before, stream);
    const auto refuse = [&](double& number, double value) {
      std::swap(number, value);
      const auto call = stream.call(0, stream.rows);
      CHECK_THROWS_AS(experts.learn({call.events.batch, stream.y.data(), stream.weight.data(), stream.time.data()}),
                      InputError);
      std::swap(number, value);
    };
    for (const double value : {std::nan(""), odca::infinity, -1.0e101}) {
      refuse(stream.value.back(), value);
      refuse(stream.y.back(), value);
      refuse(stream.weight.back(), value);
    }
    refuse(stream.weight.back(), 2e6);
    refuse(stream.time.back(), odca::infinity);
    if (kind.task != Task::numbers) refuse(stream.y.back(), kind.classes + 1), refuse(stream.y.back(), 0.5);
    CHECK(first_difference(experts, before) == "");
  }
  CHECK_THROWS_AS(Experts(Task::two_classes, 1), InputError);
  CHECK_THROWS_AS(Experts(Task::classes, -2), InputError);
}

TEST_CASE("more classes may appear") {
  for (const Kind& kind : kinds) {
    const Stream stream = expert_stream(kind, 18, false);
    Experts experts(kind.task, kind.classes);
    learn(experts, stream);
    CHECK_THROWS_AS(experts.declare(2'000'000), InputError);
    experts.declare(kind.classes + 2);
    if (kind.task == Task::numbers) {
      CHECK(experts.answer_width() == 1);
      continue;
    }
    CHECK(experts.classes() == kind.classes + 2);
    REQUIRE(static_cast<int>(predict(experts, stream, 0, 10).size()) == 10 * (kind.classes + 2));
    const Kind wider{Task::classes, kind.classes + 2};
    REQUIRE(all_finite(learn(experts, expert_stream(wider, 19, false))));
    require_sound(experts);
  }
}

TEST_CASE("classes that appear one after another move every number of the table only a few times") {
  constexpr std::int64_t features = 10;
  for (const int classes : {16, 128, 1024}) {
    odca::experts::FeatureTable table(1);
    table.grow(features);
    std::int64_t moved = 0;
    for (int heads = 3; heads <= classes; ++heads) {
      std::vector<int> source(static_cast<std::size_t>(heads), -1);
      for (int c = 0; c < table.heads(); ++c) source[static_cast<std::size_t>(c)] = c;
      const int room = table.room();
      table.arrange_heads({source, std::vector<double>(source.size(), 1.0), 16});
      if (table.room() != room) moved += features * heads;
      REQUIRE(table.heads() == heads);
      REQUIRE(table.room() >= heads);
      REQUIRE(table.room() <= 2 * heads);
    }
    CHECK(moved <= 3 * features * classes);
  }
}

TEST_CASE("room for classes that have not appeared changes no bit, and no file holds it") {
  const Kind kind{Task::classes, 9};
  Stream stream = expert_stream(kind, 30, false, {.rows = 600, .width = 40});
  for (std::int64_t row = 0; row < stream.rows; ++row)
    stream.y[static_cast<std::size_t>(row)] =
        std::min(stream.y[static_cast<std::size_t>(row)], static_cast<double>(2 + row / 50));
  for (std::size_t c = 2; c < 9; ++c) stream.y[50 * (c - 2)] = static_cast<double>(c);
  Experts with_room(Task::two_classes, 2);
  for (std::int64_t row = 0; row < stream.rows; row += 50) {
    const Task task = with_room.classes() > 2 ? Task::classes : Task::two_classes;
    Experts without(task, with_room.classes());  // as a file holds it
    without.restore(with_room.state());
    const int before = with_room.classes();
    const std::vector<double> said = learn(with_room, stream, row, row + 50),
                              again = learn(without, stream, row, row + 50);
    REQUIRE(same_bits(said, again));
    REQUIRE(first_difference(with_room, without) == "");
    REQUIRE(with_room.classes() == (row < 350 ? before + 1 : before));
    REQUIRE(part(with_room.state(), "constant").size() ==
            odca::experts::record::weights +
                static_cast<std::size_t>(with_room.classes()) * odca::experts::row_experts);
  }
}

TEST_CASE("an interrupted call stops between two events, with those learned that came before") {
  const Kind kind{Task::classes, 5};
  const Stream stream =
      expert_stream(kind, 22, false, {.rows = 4000, .width = 300, .density = 1.0, .zero_weight = 0.0, .late = 0.0});
  Experts stopped(kind.task, kind.classes), prefix(kind.task, kind.classes);
  const auto call = stream.call(0, stream.rows);
  const std::int64_t learned =
      stopped.learn({call.events.batch, stream.y.data(), stream.weight.data(), stream.time.data()}, [] { return true; })
          .events;
  REQUIRE(learned > 0);
  REQUIRE(learned < stream.rows);
  CHECK(stopped.count() == learned);
  learn(prefix, stream, 0, learned);
  CHECK(first_difference(stopped, prefix) == "");
}

TEST_CASE("experts can predict, be saved, be restored and get new classes while they learn") {
  const Kind kind = kinds[0];
  const Stream stream = expert_stream(kind, 24, false, {.rows = 6000, .width = 60});
  Experts experts(kind.task, kind.classes);
  const SavedState empty = experts.state();
  std::atomic<bool> done = false;
  std::atomic<int> faults = 0, looks = 0;
  std::thread reader([&] {
    while (!done) {
      const std::size_t heads = predict(experts, stream, 0, 50).size() / 50;
      faults += heads != 1 && heads != 3;
      faults += !all_finite(part(experts.state(), "table"));
      ++looks;
    }
  });
  std::thread writer([&] {
    for (int n = 0; n < 5; ++n) experts.restore(empty), std::this_thread::yield();
    experts.declare(3);
  });
  while (looks == 0) std::this_thread::yield();
  for (std::int64_t from = 0; from < stream.rows; from += 2000) learn(experts, stream, from, from + 2000);
  writer.join();
  done = true;
  reader.join();
  CHECK(faults == 0);
  require_sound(experts);
}
