// The state of a learner, as a model file may hold it: refused, or a learner whose weights and predictions are finite, that learns on
// and is restored to the same bits. The first bytes choose the problem, the others what is changed in the state.
#include "odca/learner/learner.hpp"

#include "changes.hpp"
#include "odca/errors.hpp"
#include "tests/support.hpp"

namespace {

using namespace odca;
using fuzz::Changes;

Learner learner_of(Changes& input) {
  const unsigned first = input.byte(), second = input.byte();
  const int lanes = 1 + static_cast<int>(first >> 7);
  const auto& loss = test::all_losses[first % 16 % std::size(test::all_losses)];
  const auto& penalty = test::all_penalties[(first >> 4) % 8 % std::size(test::all_penalties)];
  const auto windows = test::all_windows(lanes);
  const double kappas[] = {0.0, 0.9, 1.0, 0.0};
  Config config = test::make_config(loss.loss(), penalty.make(9), windows[second % 8 % windows.size()].window, lanes,
                                    kappas[second >> 3 & 3]);
  const bool is_simplex = std::holds_alternative<KL>(config.penalty);
  config.intercept = !is_simplex && second >> 5 & 1;
  config.scale = !is_simplex && second >> 6 & 1;
  if (!is_simplex && !config.scale && second >> 7) config.shape = test::make_shape(3, lanes, 1);
  return Learner(std::move(config));
}

test::Stream stream_for(const Learner& learner, std::int64_t rows) {
  return test::make_stream({.rows = rows, .lanes = learner.config().lanes}, labels_of(learner.config().loss), 7);
}

// Every field of a state and its window, by turns, until the input ends.
void change(State& state, EventBuffer::Table& table, Changes& input) {
  while (!input.done()) {
    const unsigned wanted = input.byte();
    unsigned number = 0;
    const auto visit = [&](const char*, auto& field) {
      if constexpr (requires { input.change(field); })
        if (number++ == wanted % 40) input.change(field);
    };
    state.each_field(visit);
    state.scaling.each_field(visit);
    table.each_field(visit);
    visit("raw", table.raw);
    if (state.smoothing)
      state.timeline.each_field([&](const char* name, auto& field) {
        if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::vector<Timeline::Level>>)
          for (auto& level : field) level.each_field(visit);
        else
          visit(name, field);
      });
  }
  state.features = static_cast<std::int64_t>(state.dual.size()) / state.lanes;
}

void restore(Learner& learner, State state) {
  const EventBuffer::Table table = state.buffer.table();
  state.buffer = EventBuffer(state.lanes);
  learner.set_state(std::move(state), table);
}

void check_weights(const Learner& learner) {
  for (const bool smoothed : {false, true})
    for (const double w : learner.weights(smoothed)) fuzz::check(std::isfinite(w), "weights are finite");
}

// Predicts and learns; what is refused leaves the state as it was.
void use(Learner& learner) {
  check_weights(learner);
  const test::Stream more = stream_for(learner, 6);
  auto call = more.call(0, more.rows, learner.config().intercept);
  std::vector<double> time(static_cast<std::size_t>(more.rows), std::max(learner.scalars().clock, 0.0) + 1.0);
  call.events.time = time.data();
  std::vector<double> margin(static_cast<std::size_t>(more.rows * learner.config().models()));
  const State before = learner.state();
  try {
    learner.predict(call.events.batch, {nullptr, 0, 0, 0.0}, true, margin.data(), {});
    learner.learn(call.events, {margin.data()}, {});
    for (const double each : margin) fuzz::check(std::isfinite(each), "predictions are finite");
  } catch (const InputError&) {
    fuzz::check(learner.state() == before, "what is refused changes nothing");
  }
  check_weights(learner);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Changes input(fuzz::as_text(data, size));
  Learner learner = learner_of(input);
  test::learn(learner, stream_for(learner, 30));
  State state = learner.state();
  EventBuffer::Table table = state.buffer.table();
  state.buffer = EventBuffer(state.lanes);
  change(state, table, input);
  try {
    learner.set_state(std::move(state), table);
  } catch (const InputError&) {
    return 0;
  }
  for (int round = 0; round < 2; ++round) {
    Learner again(learner);
    restore(again, learner.state());
    fuzz::check(again.state() == learner.state(), "a state that was read and written is the same");
    use(learner);
  }
  return 0;
}
