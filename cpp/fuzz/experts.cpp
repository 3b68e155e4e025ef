// The state of the automatic mode, as a model file may hold it: refused, or experts whose answers are finite, that learn on and are
// restored to the same bits. The first bytes choose the task, the others what is changed in the state.
#include "changes.hpp"
#include "odca/errors.hpp"
#include "odca/experts/mixture.hpp"
#include "tests/support.hpp"

namespace {

using namespace odca;
using experts::Experts;
using experts::SavedState;
using experts::Task;
using fuzz::Changes;

constexpr std::int64_t rows = 40, width = 5;

std::vector<double> labels_of(Task task, int classes) {
  std::vector<double> y;
  for (std::int64_t row = 0; row < rows; ++row)
    y.push_back(task == Task::numbers ? 0.3 * static_cast<double>(row % 7) : static_cast<double>(row * row % classes));
  return y;
}

experts::NumberLoss loss_of(unsigned choice) {
  const char* const names[] = {"squared_error", "absolute_error", "quantile", "poisson"};
  return experts::NumberLoss(named_loss(names[choice % 4], 0.9));
}

void check_finite(const std::vector<double>& values) {
  for (const double each : values) fuzz::check(std::isfinite(each), "answers are finite");
}

void use(Experts& model, const test::Stream& stream, Task task) {
  const auto call = stream.call(0, stream.rows);
  const Batch& batch = call.events.batch;
  const std::vector<double> y = labels_of(task, std::max(model.classes(), 2));
  for (const auto answer : {experts::Answer::live, experts::Answer::steady}) check_finite(model.predict(batch, answer));
  std::vector<experts::Asked> asked(1);
  model.predict(batch, experts::Answer::live, {}, &asked[0]);
  check_finite(asked[0].said);
  check_finite(model.learn({batch, y.data()}).predictions);
  check_finite(model.learn({batch, y.data(), nullptr, nullptr, &asked}).predictions);
  const experts::LinearModel linear = model.linear();
  check_finite(linear.weight), check_finite(linear.intercept), check_finite(linear.product_weight);
  for (const auto& [name, values] : model.state().parts) check_finite(values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Changes input(fuzz::as_text(data, size));
  const unsigned first = input.byte();
  const Task task = Task(first % 3);
  int classes = task == Task::classes ? 3 + static_cast<int>(first >> 2 & 1) : 2;
  const experts::NumberLoss loss = loss_of(first >> 5);
  Experts model(task, classes, experts::Pairs::automatic, loss);
  const test::Stream stream =
      test::make_stream({.rows = rows, .width = width, .dense = (first >> 3 & 1) != 0}, Labels::any, 3);
  const std::vector<double> y = labels_of(task, classes);
  const auto call = stream.call(0, rows);
  model.learn({call.events.batch, y.data(), nullptr, first >> 4 & 1 ? stream.time.data() : nullptr});
  SavedState state = model.state();
  while (!input.done()) {
    const unsigned wanted = input.byte();
    if (wanted == 255)
      input.change(state.version);
    else if (wanted == 254)
      input.change(state.experts);
    else if (wanted == 253)
      classes = static_cast<int>(input.byte());
    else
      input.change(state.parts[wanted % state.parts.size()].second);
  }
  const auto restore = [&](int with_classes, const SavedState& from) {
    const Task of_classes = with_classes > 2 ? Task::classes : Task::two_classes;
    return Experts::restored(task == Task::numbers ? task : of_classes, with_classes, from, loss);
  };
  std::unique_ptr<Experts> restored;
  try {
    restored = restore(classes, state);
  } catch (const InputError&) {
    return 0;
  }
  for (int round = 0; round < 2; ++round) {
    const SavedState saved = restored->state();
    const auto again = restore(restored->classes(), saved);
    fuzz::check(again->state().parts == saved.parts, "a state that was read and written is the same");
    use(*restored, stream, task);
  }
  return 0;
}
