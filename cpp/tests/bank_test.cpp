// The bank: weights on the simplex, any split, finite numbers whatever the input, saved and restored states.
#include "odca/experts/bank.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "odca/errors.hpp"
#include "support.hpp"

using namespace odca::test;
using odca::InputError;
using odca::bank::Bank;
using odca::bank::Task;

namespace {

constexpr int lanes = odca::bank::lanes;

struct Kind {
  Task task;
  int classes;
};
constexpr Kind kinds[] = {{Task::two_classes, 2}, {Task::classes, 2}, {Task::classes, 5}, {Task::numbers, 2}};

// Ordinary events, or pathological ones.
Stream bank_stream(const Kind& kind, std::uint64_t seed, bool hard, StreamOptions options = {.rows = 300}) {
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

std::vector<double> learn(Bank& bank, const Stream& stream, std::int64_t from, std::int64_t to) {
  const auto call = stream.call(from, to);
  std::vector<double> told =
      bank.learn({call.events.batch, stream.y.data() + from, stream.weight.data() + from, stream.time.data() + from});
  REQUIRE(static_cast<std::int64_t>(told.size()) == (to - from) * bank.heads());
  return told;
}
std::vector<double> learn(Bank& bank, const Stream& stream) { return learn(bank, stream, 0, stream.rows); }

std::vector<double> predict(const Bank& bank, const Stream& stream, std::int64_t from, std::int64_t to) {
  return bank.predict(stream.call(from, to).events.batch);
}

std::string first_difference(const Bank& a, const Bank& b) {
  const Bank::State left = a.state(), right = b.state();
  for (std::size_t k = 0; k < left.size(); ++k)
    if (!same_bits(left[k].second, right[k].second)) return left[k].first;
  return "";
}

const std::vector<double>& part(const Bank::State& state, const std::string& name) {
  return std::find_if(state.begin(), state.end(), [&](const auto& each) { return each.first == name; })->second;
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

// By Cholesky factorisation, which exists if and only if the matrix is positive definite.
bool is_positive(std::vector<double> a) {
  for (int k = 0; k < lanes; ++k) {
    if (!(a[k * lanes + k] > 0.0)) return false;
    for (int i = k + 1; i < lanes; ++i) {
      const double factor = a[i * lanes + k] / a[k * lanes + k];
      for (int j = k; j < lanes; ++j) a[i * lanes + j] -= factor * a[k * lanes + j];
    }
  }
  return true;
}

void require_sound(const Bank& bank) {
  const Bank::State state = bank.state();
  for (const auto& each : state) {
    CAPTURE(each.first);
    REQUIRE(all_finite(each.second));
  }
  for (const char* name : {"bayes", "simplex", "top"}) require_simplex(part(state, name));
  const auto weights = bank.weights();
  require_simplex({weights.begin(), weights.end()});
  const std::vector<double>& covariance = part(state, "covariance");
  for (int i = 0; i < lanes; ++i)
    for (int j = 0; j < i; ++j) REQUIRE(same_bits(covariance[i * lanes + j], covariance[j * lanes + i]));
  REQUIRE(is_positive(covariance));
}

}  // namespace

TEST_CASE("any split of a stream into calls gives the same bank and the same predictions") {
  for (const Kind& kind : kinds)
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const Stream stream = bank_stream(kind, seed, seed > 4);
      Bank whole(kind.task, kind.classes), parts(kind.task, kind.classes);
      const std::vector<double> told = learn(whole, stream);
      std::vector<double> told_in_parts;
      Random random(seed);
      for (std::int64_t from = 0, to = 0; from < stream.rows; from = to) {
        to = std::min(stream.rows, from + random.between(0, 40));
        for (const double each : learn(parts, stream, from, to)) told_in_parts.push_back(each);
      }
      REQUIRE(same_bits(told, told_in_parts));
      REQUIRE(first_difference(whole, parts) == "");
    }
}

TEST_CASE("learning returns the prediction from before the event, also for features never seen") {
  for (const Kind& kind : kinds) {
    const Stream stream = bank_stream(kind, 8, false, {.rows = 60, .width = 40});
    Bank bank(kind.task, kind.classes);
    for (std::int64_t i = 0; i < stream.rows; ++i) {
      const std::vector<double> before = predict(bank, stream, i, i + 1);  // at first the model is empty
      REQUIRE(same_bits(before, learn(bank, stream, i, i + 1)));
    }
    const Stream wider = bank_stream(kind, 10, false, {.rows = 20, .width = 400});
    Bank again(kind.task, kind.classes);
    again.restore(bank.state());
    REQUIRE(all_finite(predict(bank, wider, 0, wider.rows)));
    REQUIRE(first_difference(bank, again) == "");
  }
}

TEST_CASE("whatever the input, numbers stay finite, weights on the simplex and the covariance positive") {
  for (const Kind& kind : kinds)
    for (std::uint64_t seed = 20; seed < 60; ++seed) {
      const Stream stream = bank_stream(kind, seed, true);
      Bank bank(kind.task, kind.classes);
      for (std::int64_t from = 0; from < stream.rows; from += 20) {
        REQUIRE(all_finite(learn(bank, stream, from, from + 20)));
        require_sound(bank);
      }
      Bank again(kind.task, kind.classes);
      again.restore(bank.state());
      REQUIRE(first_difference(bank, again) == "");
    }
}

TEST_CASE("a restored bank continues like the saved one") {
  for (const Kind& kind : kinds)
    for (const std::int64_t middle : {0, 1, 100}) {
      const Stream stream = bank_stream(kind, 12, false);
      Bank straight(kind.task, kind.classes), first(kind.task, kind.classes), second(kind.task, kind.classes);
      learn(straight, stream);
      learn(first, stream, 0, middle);
      learn(second, stream, 0, 50);  // its previous state does not matter
      second.restore(first.state());
      learn(second, stream, middle, stream.rows);
      REQUIRE(first_difference(straight, second) == "");
    }
}

TEST_CASE("an invalid state is refused, and the bank is unchanged") {
  for (const Kind& kind : kinds) {
    const Stream stream = bank_stream(kind, 14, false);
    Bank bank(kind.task, kind.classes), before(kind.task, kind.classes);
    learn(bank, stream), learn(before, stream);
    const Bank::State state = bank.state();
    const auto refuse = [&](const std::function<void(Bank::State&)>& spoil) {
      Bank::State spoilt = state;
      spoil(spoilt);
      CHECK_THROWS_AS(bank.restore(spoilt), InputError);
    };
    for (std::size_t k = 0; k < state.size(); ++k) {
      CAPTURE(state[k].first);
      refuse([&](auto& s) { s.erase(s.begin() + static_cast<std::ptrdiff_t>(k)); });
      refuse([&](auto& s) { s[k].second.push_back(1.0); });
      refuse([&](auto& s) { s.push_back(s[k]); });
      if (state[k].second.empty()) continue;
      refuse([&](auto& s) { s[k].second.pop_back(); });
      refuse([&](auto& s) { s[k].second.front() = std::nan(""); });
      refuse([&](auto& s) { s[k].second.back() = odca::infinity; });
      if (state[k].first == "bayes" || state[k].first == "simplex" || state[k].first == "top") {
        refuse([&](auto& s) { s[k].second.front() += 0.1; });
        refuse([&](auto& s) { s[k].second[0] -= 1.0, s[k].second[1] += 1.0; });
      }
    }
    refuse([](auto& s) { s.clear(); });
    CHECK(first_difference(bank, before) == "");
  }
}

TEST_CASE("an event that cannot be learned from leaves the bank unchanged") {
  for (const Kind& kind : kinds) {
    Stream stream = bank_stream(kind, 16, false);
    Bank bank(kind.task, kind.classes), before(kind.task, kind.classes);
    learn(bank, stream), learn(before, stream);
    const auto refuse = [&](double& number, double value) {
      std::swap(number, value);
      const auto call = stream.call(0, stream.rows);
      CHECK_THROWS_AS(bank.learn({call.events.batch, stream.y.data(), stream.weight.data(), stream.time.data()}),
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
    CHECK(first_difference(bank, before) == "");
  }
  CHECK_THROWS_AS(Bank(Task::two_classes, 1), InputError);
  CHECK_THROWS_AS(Bank(Task::classes, -2), InputError);
}

TEST_CASE("classes can be added") {
  for (const Kind& kind : kinds) {
    const Stream stream = bank_stream(kind, 18, false);
    Bank bank(kind.task, kind.classes);
    learn(bank, stream);
    CHECK_THROWS_AS(bank.declare(2'000'000), InputError);
    bank.declare(kind.classes + 2);
    if (kind.task == Task::numbers) {
      CHECK(bank.heads() == 1);
      continue;
    }
    CHECK(bank.classes() == kind.classes + 2);
    REQUIRE(static_cast<int>(predict(bank, stream, 0, 10).size()) == 10 * (kind.classes + 2));
    const Kind wider{Task::classes, kind.classes + 2};
    REQUIRE(all_finite(learn(bank, bank_stream(wider, 19, false))));
    require_sound(bank);
  }
}

TEST_CASE("an interrupted call stops between two events and keeps what it has learned") {
  const Kind kind{Task::classes, 5};
  const Stream stream =
      bank_stream(kind, 22, false, {.rows = 4000, .width = 300, .density = 1.0, .zero_weight = 0.0, .late = 0.0});
  Bank stopped(kind.task, kind.classes), prefix(kind.task, kind.classes);
  const auto call = stream.call(0, stream.rows);
  const std::vector<double> told = stopped.learn(
      {call.events.batch, stream.y.data(), stream.weight.data(), stream.time.data()}, [] { return true; });
  const auto learned = static_cast<std::int64_t>(told.size()) / stopped.heads();
  REQUIRE(learned > 0);
  REQUIRE(learned < stream.rows);
  CHECK(stopped.count() == learned);
  learn(prefix, stream, 0, learned);
  CHECK(first_difference(stopped, prefix) == "");
}

TEST_CASE("a bank can predict, be saved, restored and given classes while it learns") {
  const Kind kind = kinds[0];
  const Stream stream = bank_stream(kind, 24, false, {.rows = 6000, .width = 60});
  Bank bank(kind.task, kind.classes);
  const Bank::State empty = bank.state();
  std::atomic<bool> done = false;
  std::atomic<int> faults = 0, looks = 0;
  std::thread reader([&] {
    while (!done) {
      const std::size_t heads = predict(bank, stream, 0, 50).size() / 50;
      faults += heads != 1 && heads != 3;
      faults += !all_finite(part(bank.state(), "table"));
      ++looks;
    }
  });
  std::thread writer([&] {
    for (int n = 0; n < 5; ++n) bank.restore(empty), std::this_thread::yield();
    bank.declare(3);
  });
  while (looks == 0) std::this_thread::yield();
  for (std::int64_t from = 0; from < stream.rows; from += 2000) learn(bank, stream, from, from + 2000);
  writer.join();
  done = true;
  reader.join();
  CHECK(faults == 0);
  require_sound(bank);
}
