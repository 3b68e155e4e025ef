// An event, from the row to what all have learned of it.
#include "odca/experts/bank.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "odca/experts/log_loss_solve.hpp"

namespace odca::bank {

namespace {

constexpr double largest = 1e100;           // squares of it, summed over any stream, are still numbers
constexpr std::int64_t constant_work = 16;  // of an event, in features
constexpr double most_classes = 1 << 20;

double log_odds(double p) { return log(std::max(p, least_probability) / std::max(1.0 - p, least_probability)); }

void require_numbers(const Row& row, std::int64_t number) {
  bool sound = true;
  for (std::int64_t i = 0; i < row.size; ++i) sound &= std::fabs(row.value[i]) <= largest;
  if (!sound) throw InputError("", at_row_of_x(number), " must hold numbers, of at most 1e100");
}

// What was said of `before` classes, as log probabilities of `after` ones.
std::vector<double> with_more_classes(const std::vector<double>& told, int before, int after) {
  const std::size_t heads = before == 2 ? 1 : static_cast<std::size_t>(before), wider = static_cast<std::size_t>(after);
  std::vector<double> out(told.size() / heads * wider, log(least_probability));
  for (std::size_t row = 0; row < told.size() / heads; ++row) {
    const double* from = &told[row * heads];
    double* to = &out[row * wider];
    if (heads > 1)
      std::copy(from, from + heads, to);
    else
      to[0] = -log(1.0 + exp(from[0])), to[1] = -log(1.0 + exp(-from[0]));
  }
  return out;
}

}  // namespace

Pace Pace::after(double ticks) {
  Pace out;
  if (ticks == 1.0) return out;
  const auto fade = [&](double memory) { return memory > 0.0 ? exp(ticks * log(memory)) : ticks > 0.0 ? 0.0 : 1.0; };
  for (double& memory : out.mean_memory) memory = fade(memory);
  for (double* memory : {&out.short_memory, &out.kalman_memory, &out.residual_memory}) *memory = fade(*memory);
  for (double* share : {&out.bayes_share, &out.simplex_share, &out.top_share}) *share = 1.0 - fade(1.0 - *share);
  return out;
}

Bank::Thought::Thought(int heads)
    : margin(static_cast<std::size_t>(heads * lanes)),
      bounded(margin.size()),
      likely(margin.size()),
      told(static_cast<std::size_t>(heads * mixers)),
      mixed(static_cast<std::size_t>(heads)),
      lambda(static_cast<std::size_t>(heads * row_lanes)),
      slopes(static_cast<std::size_t>(heads)) {}

Bank::Bank(Task task, int classes)
    : task_(task),
      classes_(classes),
      features_(task == Task::classes ? std::max(classes, 1) : 1),
      classes_seen_(task == Task::numbers ? 0 : std::max(classes, 1)) {
  if (task != Task::numbers && (classes < 2 || classes > most_classes))
    throw InputError("there must be at least two classes, and at most a million; got " + std::to_string(classes));
}

// Learning and predicting

std::vector<double> Bank::learn(const Events& events, const Interrupted& interrupted, std::vector<double>* margins) {
  const std::lock_guard only_writer(writing_);
  const std::lock_guard inside(mutex_);
  require_sound(events);
  const Batch& batch = events.batch;
  if (batch.rows > 0 && !batch.widens) features_.grow(batch.features());
  std::vector<double> told;
  told.reserve(static_cast<std::size_t>(batch.rows * heads()));
  Thought thought(heads());
  LongCall call(mutex_, interrupted);
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    const double y = events.y[row];
    if (task_ != Task::numbers && y >= classes_) {
      const int before = classes_;
      meet(static_cast<int>(y) + 1);
      told = with_more_classes(told, before, classes_);
      thought = Thought(heads());
    }
    const Row h = batch.row(row, thought.row);
    batch.peek(row + 1, [&](std::int64_t feature) { features_.prefetch(feature); });
    if (batch.widens && h.size > 0) features_.grow(h.feature(h.size - 1) + 1);
    if (!events.weight || events.weight[row] > 0.0) features_.settle(h);
    think(h, thought);
    say(thought, told);
    if (margins) margins->insert(margins->end(), thought.margin.begin(), thought.margin.end());
    learn_one(thought, y, events.weight ? events.weight[row] : 1.0, events.time ? events.time[row] : std::nan(""));
    if (call.look((h.size + constant_work) * row_lanes)) break;
  }
  return told;
}

std::vector<double> Bank::predict(const Batch& batch, const Interrupted& interrupted) const {
  const std::lock_guard inside(mutex_);
  std::vector<double> told;
  told.reserve(static_cast<std::size_t>(batch.rows * heads()));
  Thought thought(heads());
  int known = classes_;
  LongCall call(mutex_, interrupted);
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    if (classes_ != known) {  // met by somebody else while the mutex was open
      told = with_more_classes(told, known, classes_);
      thought = Thought(heads());
      known = classes_;
    }
    const Row h = batch.row(row, thought.row);
    require_numbers(h, row);
    think(h, thought);
    say(thought, told);
    if (call.look((h.size + constant_work) * row_lanes)) break;
  }
  return told;
}

void Bank::require_sound(const Events& events) const {
  Batch::Scratch scratch;
  double known = classes_;
  for (std::int64_t row = 0; row < events.batch.rows; ++row) {
    require_numbers(events.batch.row(row, scratch), row);
    const double y = events.y[row];
    if (task_ == Task::numbers ? !(std::fabs(y) <= largest) : !(y >= 0.0 && y <= known && y == std::floor(y)))
      throw InputError(
          "", at_row(row),
          " of y is " + show(y) + ", which is no " +
              (task_ == Task::numbers ? "number of at most 1e100" : "place of a class, or of the next one"));
    if (y == known && known < most_classes) ++known;
    if (events.weight && !(events.weight[row] >= 0.0 && events.weight[row] <= 1e6))
      throw InputError("", at_row(row), " of sample_weight must lie between 0 and 1e6");
    if (events.time && !std::isfinite(events.time[row])) throw InputError("", at_row(row), " of time must be finite");
  }
}

// Two classes: log odds of the second. Classes: log probabilities. Numbers: the number.
void Bank::say(const Thought& thought, std::vector<double>& told) const {
  for (const double mixed : thought.mixed)
    told.push_back(task_ == Task::numbers ? mixed : task_ == Task::two_classes ? log_odds(mixed) : log(mixed));
}

void Bank::think(const Row& row, Thought& thought) const {
  features_.scale(row, thought.scaled);
  for (int c = 0; c < heads(); ++c) {
    double* z = &thought.margin[c * lanes];
    double base = numbers_seen_.mean();
    if (task_ == Task::numbers) numbers_seen_.write_means(z + row_lanes);
    if (task_ == Task::two_classes) classes_seen_.write_odds(z + row_lanes, base);
    if (task_ == Task::classes) classes_seen_.write_logs(c, z + row_lanes, base);
    for (int k = 0; k < row_lanes; ++k) z[k] = base;
  }
  features_.add_margins(thought.scaled, thought.margin.data());
  switch (task_) {
    case Task::two_classes: return mix_two(thought);
    case Task::classes: return mix_classes(thought);
    case Task::numbers: return mix_number(thought);
  }
}

void Bank::learn_one(Thought& thought, double y, double c, double time) {
  ++count_;
  if (c > 0.0) {
    weights_.add(c, 1.0, 1.0);
    c /= weights_.mean();  // only how events weigh beside each other counts
    const Pace pace = pace_at(time);
    const bool first = features_.mass() == 0.0;  // no scale is known before it
    features_.count_row(thought.scaled, c);
    switch (task_) {
      case Task::two_classes: learn_two(thought, y, c, pace); break;
      case Task::classes: learn_classes(thought, static_cast<int>(y), c, pace); break;
      case Task::numbers: learn_number(thought, y, c, pace); break;
    }
    if (!first) step_lanes(thought, y, c, pace);
  }
  history_.add(count_, std::isnan(time) ? 0.0 : last_time_, c * loss_of(thought, y), [&] { return bayes_.weight; });
}

double Bank::loss_of(const Thought& thought, double y) const {
  switch (task_) {
    case Task::two_classes: return -log(y > 0.0 ? thought.mixed[0] : 1.0 - thought.mixed[0]);
    case Task::classes: return -log(thought.mixed[static_cast<std::size_t>(y)]);
    default: return (y - thought.mixed[0]) * (y - thought.mixed[0]);
  }
}

// A tick is the mean time between two events so far: in a steady stream each event is one. What is late ticks not.
Pace Bank::pace_at(double time) {
  if (std::isnan(time)) return {};
  if (timed_++ == 0) {
    first_time_ = last_time_ = time;
    return {};
  }
  const double passed = std::max(time - last_time_, 0.0);
  last_time_ = std::max(last_time_, time);
  const double typical = (last_time_ - first_time_) / static_cast<double>(timed_ - 1);
  return Pace::after(typical > 0.0 ? std::min(passed / typical, 1e6) : 0.0);
}

// The row lanes

void Bank::step_lanes(Thought& t, double y, double c, const Pace& pace) {
  const double sd = task_ == Task::numbers ? numbers_seen_.deviation() : 1.0;
  double s[row_lanes];
  features_.prepare_steps(t.scaled, c, t.slope, t.curvature, sd, pace.short_memory, s);
  if (task_ == Task::numbers) {
    for (int k = 0; k < row_lanes; ++k) t.lambda[k] = (y - t.margin[k]) / (1.0 + s[k]);
  } else if (task_ == Task::two_classes) {
    solve(logistic_, row_lanes, t.margin.data(), s, y, t.lambda.data());
  } else {
    features_.proportionate_slopes(t.scaled, sd, t.slopes.data());
    for (int k = 0; k < classes_; ++k) {
      double margin[row_lanes];
      for (int l = 0; l < row_lanes; ++l) {
        const double p = t.likely[k * lanes + l];
        margin[l] = std::max(p, least_probability) / std::max(1.0 - p, least_probability);
      }
      log_many(row_lanes, margin);
      s[proportionate] = t.slopes[k];
      solve(logistic_, row_lanes, margin, s, static_cast<int>(y) == k ? 1.0 : 0.0, &t.lambda[k * row_lanes]);
    }
  }
  features_.step(t.scaled, t.lambda.data(), sd);
}

// Classes that come later

void Bank::declare(int classes) {
  const std::lock_guard only_writer(writing_);
  const std::lock_guard inside(mutex_);
  if (classes > most_classes) throw InputError("there are at most a million classes; got " + std::to_string(classes));
  if (task_ != Task::numbers && classes > classes_) meet(classes);
}

void Bank::meet(int classes) {
  std::vector<int> source(static_cast<std::size_t>(classes), -1);
  std::vector<double> factor(source.size(), 1.0);
  for (int c = 0; c < classes_; ++c) source[c] = c;
  classes_seen_ = classes_seen_.with_classes(source);
  if (task_ == Task::two_classes)
    source[0] = source[1] = 0, factor[0] = -0.5, factor[1] = 0.5;  // z is the logits -z/2, z/2
  features_ = features_.with_heads(source, factor);
  task_ = Task::classes;
  classes_ = classes;
}

// What it knows

std::int64_t Bank::count() const {
  const std::lock_guard inside(mutex_);
  return count_;
}

std::int64_t Bank::features() const {
  const std::lock_guard inside(mutex_);
  return features_.size();
}

PerLaneArray Bank::weights() const {
  const std::lock_guard inside(mutex_);
  return bayes_.weight;
}

double Bank::mean_norm() const {
  const std::lock_guard inside(mutex_);
  return features_.mass() > 0.0 ? features_.mean_norm() : 0.0;
}

std::vector<double> Bank::history() const {
  const std::lock_guard inside(mutex_);
  return history_.rows();
}

}  // namespace odca::bank
