// Hammers models from several threads at once, for a build under ThreadSanitizer: odca_races [seconds].
//
// Threads learn, predict, copy, save, merge and make calls that are refused. At the end each model must hold exactly what was not
// refused. ThreadSanitizer reports everything that two threads touched without the gate of the model.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../support.hpp"
#include "odca/experts/mixture.hpp"
#include "odca/learner/learner.hpp"
#include "odca/models/event_model.hpp"

using namespace odca::test;
using odca::Batch;
using odca::EventModel;
using odca::InputError;
using odca::Labels;
using odca::Learner;
using odca::experts::Answer;
using odca::experts::Experts;
using odca::experts::Task;

namespace {

using Clock = std::chrono::steady_clock;

int failures = 0;

void require(bool holds, const char* what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  ++failures;
}

// Each work(until) in a thread of its own.
void all_at_once(Clock::time_point until, const std::vector<std::function<void(Clock::time_point)>>& works) {
  std::vector<std::thread> threads;
  threads.reserve(works.size());
  for (const auto& work : works) threads.emplace_back(work, until);
  for (std::thread& thread : threads) thread.join();
}

// Calls turn(n) for n = 0, 1, ... until then.
template <class Turn>
auto again(Turn turn) {
  return [turn](Clock::time_point until) mutable {
    for (int n = 0; Clock::now() < until; ++n) turn(n);
  };
}

template <class Call>
bool is_refused(Call&& call) {
  try {
    call();
  } catch (const InputError&) {
    return true;
  }
  return false;
}

void hammer_learner(const odca::Config& config, Clock::time_point until) {
  const Stream stream = make_stream({.rows = 600, .width = 200, .density = 0.1}, Labels::probability, 1);
  Stream spoilt = stream;
  spoilt.y[400] = std::nan("");
  Learner learner(config), other(config);
  learn(other, stream, 0, 5);
  const odca::EventBuffer::Table no_events{};
  std::atomic<std::uint64_t> expected = 0;
  const auto teach = again([&](int n) {
    const auto call = stream.call(0, n % 3 == 0 ? stream.rows : 1, config.intercept);
    if (n % 3 || !learner.try_learn(call.events, {})) learner.learn(call.events, {}, [] { return false; });
    expected += static_cast<std::uint64_t>(call.events.batch.rows);
  });
  const auto read = again([&](int n) {
    const auto call = stream.call(0, n % 2 ? 1 : stream.rows, config.intercept);
    std::vector<double> out(static_cast<std::size_t>(call.events.batch.rows * config.lanes));
    learner.predict(call.events.batch, {}, true, out.data(), [] { return false; });
    require(std::all_of(out.begin(), out.end(), [](double z) { return std::isfinite(z); }), "margins are numbers");
    const Learner copy(learner);
    require(copy.scalars().features == static_cast<std::int64_t>(copy.weights(false).size()) / config.lanes,
            "a copy is whole");
    learner.dual_objective(), learner.state(), learner.same_state(other);
  });
  const auto merge = again([&](int) {
    if (config.window.keeps_events()) return;
    learner.merge(other);
    expected += 5;
  });
  const auto fail = again([&](int) {
    const auto call = spoilt.call(0, spoilt.rows, config.intercept);
    require(is_refused([&] { learner.learn(call.events, {}, {}); }), "a label that is no number is refused");
  });
  all_at_once(until, {teach, teach, read, merge, fail});
  require(learner.scalars().count == expected, "a learner counts what was not refused");
}

void hammer_experts(Task task, int classes, Clock::time_point until) {
  Stream stream = make_stream({.rows = 300, .width = 100, .density = 0.2}, Labels::any, 2);
  if (task != Task::numbers)
    for (std::size_t k = 0; k < stream.y.size(); ++k) stream.y[k] = static_cast<double>(k % 3);
  Stream spoilt = stream;
  spoilt.y[200] = std::nan("");
  Experts experts(task, classes), other(task, classes);
  const auto few = stream.call(0, 5);
  other.learn({few.events.batch, stream.y.data()});
  std::atomic<std::int64_t> expected = 0;
  const auto teach = again([&](int n) {
    const auto call = stream.call(0, n % 3 ? 5 : stream.rows);
    expected += experts.learn({call.events.batch, stream.y.data()}, [] { return false; }).events;
  });
  const auto read = again([&](int n) {
    const auto call = stream.call(0, n % 2 ? 1 : stream.rows);
    odca::experts::Asked asked;
    const std::vector<double> answers = experts.predict(call.events.batch, Answer::live, [] { return false; }, &asked);
    require(std::all_of(answers.begin(), answers.end(), [](double z) { return std::isfinite(z); }),
            "answers are numbers");
    require(asked.said.size() * 1u == answers.size() * odca::experts::said_width, "what is kept fits what was said");
    experts.predict(call.events.batch, Answer::steady);
    experts.explain(few.events.batch, Answer::live), experts.linear(), experts.history(), experts.weights();
    experts.require_fitting(asked, call.events.batch.rows);
    const Experts copy(experts);
    Experts restored(task, copy.classes());
    require(copy.classes() == classes || task != Task::numbers, "numbers have no classes");
    if (task == Task::numbers) restored.restore(copy.state());
    experts.classes(), experts.answer_width(), experts.features(), experts.count();
  });
  const auto merge = again([&](int) {
    experts.merge(other, {}, {});
    expected += 5;
    experts.declare(3);
  });
  const auto fail = again([&](int) {
    const auto call = spoilt.call(0, spoilt.rows);
    require(is_refused([&] { experts.learn({call.events.batch, spoilt.y.data()}); }),
            "a label that is no number is refused");
  });
  all_at_once(until, {teach, teach, read, merge, fail});
  require(experts.count() == expected, "experts count what was not refused");
}

// Names and model, as the bindings use them: what belongs to the names goes on under the interpreter lock, which is let go of to learn and
// to wait.
class NamedModel {
 public:
  // Learns one event of these names. Its label is refused if it is no number.
  void learn(const std::vector<std::string>& names, double y) {
    std::unique_lock gil(gil_);
    if (!model_.turn().try_lock()) {
      gil.unlock();
      model_.turn().lock();
      gil.lock();
    }
    const std::unique_lock turn(model_.turn(), std::adopt_lock);
    odca::text::EventReader reader(model_.space(), false);
    reader.begin_call();
    read(reader, names, gil);
    reader.finish_event();
    model_.learn(reader, {}, [&](const Batch& batch) {
      gil.unlock();
      struct Back {
        std::unique_lock<std::mutex>& gil;
        ~Back() { gil.lock(); }
      } back{gil};
      return experts_.learn({batch, &y}).events;
    });
  }

  void predict(const std::vector<std::string>& names) {
    std::unique_lock gil(gil_);
    odca::text::EventReader reader(model_.space(), true);
    reader.begin_call();
    read(reader, names, gil);
    reader.finish_known_event();
    const Batch batch = model_.batch(reader, reader.rows());
    gil.unlock();
    experts_.predict(batch);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (std::int32_t k = 0; k < model_.space().names().size(); ++k) out.emplace_back(model_.space().names()[k]);
    return out;
  }
  const Experts& experts() const { return experts_; }

 private:
  // Values may be Python code, which lets other threads run.
  static void read(odca::text::EventReader& reader, const std::vector<std::string>& names,
                   std::unique_lock<std::mutex>& gil) {
    reader.begin_event();
    for (const std::string& name : names) {
      reader.builder().number(reader.builder().field(name), 1.0, "");
      gil.unlock();
      std::this_thread::yield();
      gil.lock();
    }
  }

  std::mutex gil_;
  EventModel model_{odca::text::FeatureOptions{}, false, 0};
  Experts experts_{Task::numbers, 0};
};

void hammer_names(Clock::time_point until) {
  NamedModel model;
  std::mutex mutex;
  std::vector<std::string> expected;
  const auto teach = [&](int thread) {
    return again([&, thread](int n) {
      const std::string own = std::to_string(thread) + "-" + std::to_string(n);
      if (n % 3 == 0) {
        require(is_refused([&] { model.learn({"refused" + own, "common"}, std::nan("")); }), "no label is refused");
        return;
      }
      model.learn({"a" + own, "common", "b" + own}, 1.0);
      const std::scoped_lock hold(mutex);
      for (const char* kind : {"a", "b"}) expected.push_back(kind + own);
    });
  };
  const auto look = again([&](int n) { model.predict({"a0-" + std::to_string(n), "never", "common"}); });
  all_at_once(until, {teach(0), teach(1), teach(2), look, look});
  std::vector<std::string> names = model.names();
  require(model.experts().features() == static_cast<std::int64_t>(names.size()), "every name has a feature");
  require(model.experts().count() == static_cast<std::int64_t>(expected.size()) / 2,
          "the events of all names were learned");
  for (std::size_t k = 0; k + 1 < names.size(); ++k)
    if (names[k][0] == 'a') {
      const std::string& next = names[k + 1] == "common" ? names[k + 2] : names[k + 1];
      require(next == "b" + names[k].substr(1), "names of one event are consecutive");
    }
  expected.emplace_back("common");
  std::sort(names.begin(), names.end()), std::sort(expected.begin(), expected.end());
  require(names == expected, "names are those of the events that were learned");
}

}  // namespace

int main(int count, char** words) {
  const double seconds = count > 1 ? std::atof(words[1]) : 10.0;
  const auto share = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds / 6.0));
  odca::Config plain = make_config(odca::named_loss("log_loss", 0.0), odca::Separable{.delta = 0.01}, {}, 2, 0.9);
  plain.intercept = true;
  hammer_learner(plain, Clock::now() + share);
  hammer_learner(make_config(odca::named_loss("log_loss", 0.0), odca::L2{},
                             {.kind = odca::Window::Kind::count, .length = 50}, 1, 0.9),
                 Clock::now() + share);
  hammer_experts(Task::numbers, 0, Clock::now() + share);
  hammer_experts(Task::two_classes, 2, Clock::now() + 2 * share);
  hammer_names(Clock::now() + share);
  std::printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
