// One gate for all models: who may be at a model, re-entry from the same thread, and what a forked process can do with its copy.
#include "odca/sync/gate.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "odca/experts/mixture.hpp"
#include "odca/features/vocabulary.hpp"
#include "odca/learner/learner.hpp"
#include "support.hpp"

using namespace odca::test;
using odca::Gate;
using odca::InputError;
using odca::experts::Experts;

namespace {

// What `work` does in a child process: 0 if it returns, 1 if it throws an InputError, else something else. It ends a deadlock.
int in_child(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    try {
      work();
    } catch (const InputError&) {
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Calls `look` while another thread holds what `hold` returns.
template <class Hold, class Look>
void while_held(Hold hold, Look look) {
  std::atomic<bool> held = false, done = false;
  std::thread other([&] {
    const auto holding = hold();
    held = true;
    while (!done) std::this_thread::yield();
  });
  while (!held) std::this_thread::yield();
  look();
  done = true;
  other.join();
}

}  // namespace

TEST_CASE("in a child process a gate is free that nobody held") {
  const Gate gate;
  CHECK(in_child([&] { gate.only_writer(), gate.inside(), gate.try_only_writer(), gate.try_inside(); }) == 0);
}

TEST_CASE("a child process does not wait for a reader that does not exist there") {
  const Gate gate;
  while_held([&] { return gate.inside(); },
             [&] {
               CHECK(in_child([&] {
                       const auto only_writer = gate.only_writer();
                       const auto inside = gate.inside();
                     }) == 0);
               CHECK(in_child([&] {
                       if (!gate.try_inside()) _exit(2);
                     }) == 0);
             });
}

TEST_CASE("a child process refuses a model that another thread was changing") {
  const Gate gate;
  while_held([&] { return gate.only_writer(); },
             [&] {
               CHECK(in_child([&] { gate.inside(); }) == 1);
               CHECK(in_child([&] { gate.only_writer(); }) == 1);
               CHECK(in_child([&] { gate.try_inside(); }) == 1);
               CHECK(in_child([&] {  // again and again, and in its own children
                       for (int n = 0; n < 3; ++n) try {
                           gate.inside();
                           _exit(2);
                         } catch (const InputError&) {
                         }
                       _exit(in_child([&] { gate.only_writer(); }));
                     }) == 1);
             });
  CHECK(in_child([&] { gate.only_writer(); }) == 0);  // and the parent knows nothing of it
}

TEST_CASE("a child process can use names that another thread only looked at") {
  odca::text::Vocabulary names;
  const std::string name = "a";
  names.restore(name, {1});
  std::atomic<bool> looking = false, done = false;
  std::thread other([&] {
    names.each([&](std::string_view) {
      looking = true;
      while (!done) std::this_thread::yield();
    });
  });
  while (!looking) std::this_thread::yield();
  CHECK(in_child([&] {
          if (names.size() != 1) _exit(2);
          names.restore(name, {1});
        }) == 0);
  done = true;
  other.join();
}

TEST_CASE("threads that waited in the parent are forgotten in the child") {
  odca::FairMutex mutex;
  mutex.lock();
  std::thread waiting([&] {
    mutex.lock();
    mutex.unlock();
  });
  while (!mutex.has_waiters()) std::this_thread::yield();
  CHECK(in_child([&] {  // the thread that forks holds the mutex in the child too
          mutex.unlock();
          mutex.lock();
          if (mutex.has_waiters()) _exit(2);
          mutex.unlock();
        }) == 0);
  mutex.unlock();
  waiting.join();
}

TEST_CASE("several threads of a child process may be the first to use a gate") {
  const Gate gate;
  int count = 0;
  CHECK(in_child([&] {
          std::vector<std::thread> threads;
          for (int t = 0; t < 4; ++t)
            threads.emplace_back([&] {
              for (int n = 0; n < 1000; ++n) {
                const auto inside = gate.inside();
                ++count;
              }
            });
          for (std::thread& thread : threads) thread.join();
          if (count != 4000) _exit(2);
        }) == 0);
}

TEST_CASE(
    "a model that is called again from inside its own call refuses what would change it, and answers between events") {
  const Stream stream =
      make_stream({.rows = 3000, .width = 300, .dense = true, .density = 1.0}, odca::Labels::any, 121);
  const auto call = stream.call(0, stream.rows);
  const auto one = stream.call(0, 1);
  Experts experts(odca::experts::Task::numbers, 0);
  int asked = 0;
  experts.learn({call.events.batch, stream.y.data()}, [&] {
    CHECK_THROWS_AS(experts.learn({one.events.batch, stream.y.data()}), InputError);
    CHECK_THROWS_AS(experts.merge(experts, {}, {}), InputError);
    CHECK_THROWS_AS(experts.restore(experts.state()), InputError);
    CHECK(experts.predict(one.events.batch).size() == 1);
    return ++asked, false;
  });
  CHECK(asked > 0);
  CHECK(experts.count() == stream.rows);
}

TEST_CASE("so does a learner") {
  constexpr int lanes = 256;  // so that the call lasts for several checks for interrupts
  const Stream stream = make_stream({.rows = 3000, .width = 300, .lanes = lanes, .dense = true, .density = 1.0},
                                    odca::Labels::plus_minus_one, 121);
  const auto call = stream.call(0, stream.rows), one = stream.call(0, 1);
  odca::Learner learner(make_config(odca::named_loss("log_loss", 0.0), odca::L2{}, {}, lanes));
  int asked = 0;
  std::vector<double> seen(lanes);
  learner.learn(call.events, {}, [&] {
    CHECK_THROWS_AS(learner.learn(one.events, {}, {}), InputError);
    CHECK_THROWS_AS(learner.merge(learner), InputError);
    learner.predict(one.events.batch, {}, false, seen.data(), {});
    return ++asked, false;
  });
  CHECK(asked > 0);
  CHECK(learner.state().count == static_cast<std::uint64_t>(stream.rows));
}

TEST_CASE("all events of one prediction of the experts are answered by the same model") {
  // One row over and over: every answer of a call must be the same number.
  const Stream stream = make_stream({.rows = 400, .width = 100, .dense = true, .density = 1.0}, odca::Labels::any, 122);
  for (const std::int64_t rows : {3000, 40}) {  // more numbers than features, by a copy; and fewer, with nobody let in
    Experts experts(odca::experts::Task::numbers, 0);
    const auto call = stream.call(0, stream.rows);
    odca::Batch same = stream.call(0, 1).events.batch;
    std::get<odca::DenseMatrix<double>>(same.matrix).row_stride = 0;
    same.rows = rows;
    odca::Batch wide = call.events.batch;
    std::atomic<bool> done = false;
    int looks = 0, mixed = 0;
    std::thread learning([&] {
      for (int n = 0; n < 30 || looks < 20; ++n) experts.learn({wide, stream.y.data()});
      done = true;
    });
    while (!done) {
      const std::vector<double> answers = experts.predict(same);
      for (const double answer : answers) mixed += !same_bits(answer, answers.front());
      ++looks;
    }
    learning.join();
    CHECK(mixed == 0);
  }
}

TEST_CASE("experts that cannot be merged are as they were") {
  const Stream stream = make_stream({.rows = 50, .width = 10}, odca::Labels::any, 123);
  Experts two(odca::experts::Task::two_classes, 2), three(odca::experts::Task::classes, 3);
  std::vector<double> y(stream.rows);
  for (std::size_t k = 0; k < y.size(); ++k) y[k] = static_cast<double>(k % 2);
  const auto call = stream.call(0, stream.rows);
  two.learn({call.events.batch, y.data()}), three.learn({call.events.batch, y.data()});
  const auto before = two.state().parts;
  const std::vector<std::int64_t> too_far(20, std::int64_t{1} << 60);  // there is no memory for it
  CHECK_THROWS(two.merge(three, too_far, {}));
  CHECK(two.classes() == 2);
  const auto after = two.state().parts;
  REQUIRE(after.size() == before.size());
  for (std::size_t k = 0; k < after.size(); ++k) CHECK(same_bits(after[k].second, before[k].second));
}
