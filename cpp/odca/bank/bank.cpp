#include "odca/bank/bank.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

namespace odca::bank {

namespace {

constexpr double largest = 1e100;  // squares of it, summed over any stream, are still numbers
constexpr double near_in_deviations =
    10.0;  // of the errors: what lanes say is taken for no further from what the best one says
constexpr double least_variance = 1e-280;   // of residuals: the inverse of a smaller one is no number
constexpr std::int64_t constant_work = 16;  // of an event, in features
constexpr double most_classes = 1 << 20;

double log_odds(double p) { return log(std::max(p, least_probability) / std::max(1.0 - p, least_probability)); }

void require_numbers(const Row& row, std::int64_t number) {
  bool sound = true;
  for (std::int64_t i = 0; i < row.size; ++i) sound &= std::fabs(row.value[i]) <= largest;
  if (!sound) throw InputError(at_row(number) + " of X must hold numbers, of at most 1e100");
}

void multiply_logs(double c, int n, double* logs) {
  if (c == 1.0) return;
  double high = -infinity;
  for (int k = 0; k < n; ++k) high = std::max(high, logs[k] *= c);
  for (int k = 0; k < n; ++k) logs[k] -= high;
}

// Likelihoods of an event that weighs c, up to a factor that they share: the best of them stays a number, however large c is.
void raise_to(double c, int n, double* likelihood) {
  if (c == 1.0) return;
  for (int k = 0; k < n; ++k) likelihood[k] = log(std::max(likelihood[k], tiny));
  multiply_logs(c, n, likelihood);
  for (int k = 0; k < n; ++k) likelihood[k] = exp(likelihood[k]);
}

// Within a few percent, for a start.
double rough_log(double x) {
  return static_cast<double>(to_bits(x) - to_bits(1.0)) * (0.69314718055994530942 / 4503599627370496.0);
}

// lambda of the log loss, label t, for an even number of lanes at once.
void solve(const Logistic& loss, int n, const double* p, const double* s, double t, double* out) {
  for (int k = 0; k < n; k += 2) {
    Pack start;
    for (int i = 0; i < 2; ++i) {
      const double at = p[k + i], slope = s[k + i];
      const bool positive = at + slope * (t - 0.5) >= 0.0;
      const double m = positive ? at - slope * (1.0 - t) : -at - slope * t;
      const double z = rough_log(1.0 + slope) - rough_log(1.0 + std::fabs(m));
      start[i] = positive ? z : -z;
    }
    const Pack lambda = loss.lambda_near(start, load(p + k), load(s + k), Pack{t, t});
    std::memcpy(out + k, &lambda, sizeof lambda);
  }
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

void softmax(int n, double* z) {
  double high = -infinity, total = 0.0;
  for (int c = 0; c < n; ++c) high = std::max(high, z[c]);
  for (int c = 0; c < n; ++c) total += z[c] = exp(z[c] - high);
  for (int c = 0; c < n; ++c) z[c] /= total;
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
  const std::lock_guard inside(gate_);
  require_sound(events);
  const Batch& batch = events.batch;
  if (batch.rows > 0 && !batch.widens) features_.grow(batch.features());
  std::vector<double> told;
  told.reserve(static_cast<std::size_t>(batch.rows * heads()));
  Thought thought(heads());
  Lookout lookout(gate_, interrupted);
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
    if (lookout.look((h.size + constant_work) * row_lanes)) break;
  }
  return told;
}

std::vector<double> Bank::predict(const Batch& batch, const Interrupted& interrupted) const {
  const std::lock_guard inside(gate_);
  std::vector<double> told;
  told.reserve(static_cast<std::size_t>(batch.rows * heads()));
  Thought thought(heads());
  int known = classes_;
  Lookout lookout(gate_, interrupted);
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    if (classes_ != known) {  // met by somebody else while the gate was open
      told = with_more_classes(told, known, classes_);
      thought = Thought(heads());
      known = classes_;
    }
    const Row h = batch.row(row, thought.row);
    require_numbers(h, row);
    think(h, thought);
    say(thought, told);
    if (lookout.look((h.size + constant_work) * row_lanes)) break;
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
      throw InputError(at_row(row) + " of y is " + show(y) + ", which is no " +
                       (task_ == Task::numbers ? "number of at most 1e100" : "place of a class, or of the next one"));
    if (y == known && known < most_classes) ++known;
    if (events.weight && !(events.weight[row] >= 0.0 && events.weight[row] <= 1e6))
      throw InputError(at_row(row) + " of sample_weight must lie between 0 and 1e6");
    if (events.time && !std::isfinite(events.time[row])) throw InputError(at_row(row) + " of time must be finite");
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

// Two classes

void Bank::mix_two(Thought& t) const {
  PerLaneArray wide;
  for (int k = 0; k < lanes; ++k) {
    t.bounded[k] = clip(t.margin[k], -margin_bound, margin_bound);
    wide[k] = clip(t.margin[k], -probability_bound, probability_bound);
  }
  sigmoid_many(lanes, wide.data(), t.likely.data());
  t.simplex_margin = dot(simplex_.weight.data(), t.bounded.data());
  t.kalman_margin = dot(kalman_.weight.data(), t.bounded.data());
  const double margins[2] = {t.simplex_margin, t.kalman_margin};
  t.told[0] = dot(bayes_.weight.data(), t.likely.data());
  sigmoid_many(2, margins, &t.told[1]);
  t.mixed[0] = clip(top_.mix(t.told.data()), least_probability, 1.0 - least_probability);
}

void Bank::learn_two(Thought& t, double y, double c, const Pace& pace) {
  const auto likelihood = [&](double p) { return y > 0.0 ? p : 1.0 - p; };
  double of_mixers[mixers] = {likelihood(t.told[0]), likelihood(t.told[1]), likelihood(t.told[2])};
  PerLaneArray of_lanes;
  for (int k = 0; k < lanes; ++k) of_lanes[k] = likelihood(t.likely[k]);
  raise_to(c, mixers, of_mixers), raise_to(c, lanes, of_lanes.data());
  top_.learn(of_mixers, pace.top_share);
  bayes_.learn(of_lanes.data(), pace.bayes_share);
  const Kalman::View view = kalman_.look(t.bounded.data());
  const double margin[2] = {t.simplex_margin, t.kalman_margin};
  const double slope[2] = {c * simplex_.variance(t.bounded.data()) / simplex_strength, c * view.variance};
  double lambda[2];
  solve(logistic_, 2, margin, slope, y, lambda);
  simplex_.learn(t.bounded.data(), c * lambda[0], simplex_strength, pace.simplex_share);
  const double q = c * std::max(t.told[2] * (1.0 - t.told[2]), 1e-6);
  kalman_.learn(view, c * lambda[1], q / (1.0 + q * view.variance), pace.kalman_memory);
  classes_seen_.learn(static_cast<int>(y), c, pace);
  t.slope = (t.mixed[0] - y) * (t.mixed[0] - y), t.curvature = t.mixed[0] * (1.0 - t.mixed[0]);
}

// Classes

void Bank::mix_classes(Thought& t) const {
  const int n = classes_;
  PerLaneArray high, mean{}, total{};
  high.fill(-infinity);
  for (int c = 0; c < n; ++c)
    for (int k = 0; k < lanes; ++k) {
      const double z = t.margin[c * lanes + k];
      high[k] = std::max(high[k], z), mean[k] += z;
    }
  for (int c = 0; c < n; ++c) {
    double* p = &t.likely[c * lanes];
    for (int k = 0; k < lanes; ++k) {
      const double z = t.margin[c * lanes + k];
      p[k] = z - high[k];
      t.bounded[c * lanes + k] = clip(z - mean[k] / n, -margin_bound, margin_bound);
    }
    exp_many(lanes, p);
    for (int k = 0; k < lanes; ++k) total[k] += p[k];
  }
  for (int c = 0; c < n; ++c) {
    double* p = &t.likely[c * lanes];
    for (int k = 0; k < lanes; ++k) p[k] /= total[k];
    t.told[c] = dot(bayes_.weight.data(), p);
    t.told[n + c] = dot(simplex_.weight.data(), &t.bounded[c * lanes]);
    t.told[2 * n + c] = dot(kalman_.weight.data(), &t.bounded[c * lanes]);
  }
  softmax(n, &t.told[n]), softmax(n, &t.told[2 * n]);
  if (classes_seen_.some_are_unseen()) trust_bayes_with_the_unseen(t);
  for (int c = 0; c < n; ++c) {
    const double of_class[mixers] = {t.told[c], t.told[n + c], t.told[2 * n + c]};
    t.mixed[c] = std::max(top_.mix(of_class), least_probability);
  }
}

// Of a class that never came the lanes agree, and weights that are not on the simplex can make anything of that: there Bayes has the word.
void Bank::trust_bayes_with_the_unseen(Thought& t) const {
  const int n = classes_;
  for (int m = 1; m < mixers; ++m) {
    double* told = &t.told[m * n];
    double unseen = 0.0, seen = 0.0;
    for (int c = 0; c < n; ++c)
      (classes_seen_.is_unseen(c) ? unseen : seen) += classes_seen_.is_unseen(c) ? t.told[c] : told[c];
    for (int c = 0; c < n; ++c)
      told[c] = classes_seen_.is_unseen(c) ? t.told[c] : told[c] * ((1.0 - unseen) / std::max(seen, least_probability));
  }
}

// The event as one of two classes, "y and no other": what each lane says for y, less what it says for the others by their probability. Returns
// the log odds of y.
double Bank::against_others(const Thought& t, const double* p, int y, double* x) const {
  const double others = std::max(1.0 - p[y], 1e-12);
  for (int k = 0; k < lanes; ++k) x[k] = t.bounded[y * lanes + k];
  for (int c = 0; c < classes_; ++c) {
    if (c == y) continue;
    const double part = p[c] / others;
    for (int k = 0; k < lanes; ++k) x[k] -= part * t.bounded[c * lanes + k];
  }
  return log(std::max(p[y], least_probability) / others);
}

void Bank::learn_classes(Thought& t, int y, double c, const Pace& pace) {
  const int n = classes_;
  double of_mixers[mixers] = {t.told[y], t.told[n + y], t.told[2 * n + y]};
  PerLaneArray of_lanes, x;
  for (int k = 0; k < lanes; ++k) of_lanes[k] = t.likely[y * lanes + k];
  raise_to(c, mixers, of_mixers), raise_to(c, lanes, of_lanes.data());
  top_.learn(of_mixers, pace.top_share);
  bayes_.learn(of_lanes.data(), pace.bayes_share);
  double margin = against_others(t, &t.told[n], y, x.data());
  const double slope = c * simplex_.variance(x.data()) / simplex_strength;
  simplex_.learn(x.data(), c * logistic_.lambda(margin, slope, 1.0), simplex_strength, pace.simplex_share);
  margin = against_others(t, &t.told[2 * n], y, x.data());
  const Kalman::View view = kalman_.look(x.data());
  double q = 1e-6;
  for (int k = 0; k < n; ++k) q += 0.5 * c * t.told[2 * n + k] * (1.0 - t.told[2 * n + k]);
  kalman_.learn(view, c * logistic_.lambda(margin, c * view.variance, 1.0), q / (1.0 + q * view.variance),
                pace.kalman_memory);
  classes_seen_.learn(y, c, pace);
  t.slope = t.curvature = 0.0;
  for (int k = 0; k < n; ++k) {
    const double g = t.mixed[k] - (k == y ? 1.0 : 0.0);
    t.slope += g * g / n, t.curvature += t.mixed[k] * (1.0 - t.mixed[k]) / n;
  }
}

// Numbers

void Bank::mix_number(Thought& t) const {
  const auto leader = std::max_element(bayes_.weight.begin(), bayes_.weight.end()) - bayes_.weight.begin();
  const double centre = numbers_seen_.within_range(t.margin[static_cast<std::size_t>(leader)]);
  const double reach = near_in_deviations * std::sqrt(std::min(residual_.mean(), kalman_residual_.mean()));
  for (int k = 0; k < lanes; ++k) {
    const double z = numbers_seen_.within_range(t.margin[k]);
    t.likely[k] = reach > 0.0 ? clip(z, centre - reach, centre + reach) : z;
    t.bounded[k] = z - numbers_seen_.mean();
  }
  t.kalman_margin = numbers_seen_.mean() + dot(kalman_.weight.data(), t.bounded.data());
  t.told[0] = dot(bayes_.weight.data(), t.likely.data());
  t.told[1] = dot(simplex_.weight.data(), t.likely.data());
  t.told[2] = numbers_seen_.within_range(t.kalman_margin);
  t.mixed[0] = top_.mix(t.told.data());
}

void Bank::learn_number(Thought& t, double y, double c, const Pace& pace) {
  const bool first = numbers_seen_.empty();  // nothing is known before it, so it tells nothing about the lanes
  const double r = first ? 0.0 : y - t.mixed[0];
  if (!first) residual_.add(r * r, c, pace.residual_memory);
  const double variance = residual_.mean();
  if (variance > least_variance) {
    std::array<double, lanes + mixers + 1> e{};  // one more makes it even
    const auto exponent = [&](double z) { return -std::min(0.5 * (y - z) * (y - z) / variance, 30.0); };
    for (int k = 0; k < lanes; ++k) e[k] = exponent(t.likely[k]);
    for (int m = 0; m < mixers; ++m) e[lanes + m] = exponent(t.told[m]);
    multiply_logs(c, lanes, e.data()), multiply_logs(c, mixers, &e[lanes]);
    exp_many(lanes + mixers + 1, e.data());
    top_.learn(&e[lanes], pace.top_share);
    bayes_.learn(e.data(), pace.bayes_share);
    const double strength = variance * simplex_strength;
    const double slope = c * simplex_.variance(t.bounded.data()) / strength;
    simplex_.learn(t.bounded.data(), c * (y - t.told[1]) / (1.0 + slope), strength, pace.simplex_share);
    const double miss = y - t.kalman_margin;
    kalman_residual_.add(miss * miss, c, pace.residual_memory);
    const Kalman::View view = kalman_.look(t.bounded.data());
    const double known = c / (std::max(kalman_residual_.mean(), 1e-12 * variance) + c * view.variance);
    kalman_.learn(view, miss * known, known, pace.kalman_memory);
  }
  numbers_seen_.learn(y, c, pace);
  t.slope = r * r, t.curvature = 1.0;
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
  const std::lock_guard inside(gate_);
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
  const std::lock_guard inside(gate_);
  return count_;
}

std::int64_t Bank::features() const {
  const std::lock_guard inside(gate_);
  return features_.size();
}

PerLaneArray Bank::weights() const {
  const std::lock_guard inside(gate_);
  return bayes_.weight;
}

double Bank::mean_norm() const {
  const std::lock_guard inside(gate_);
  return features_.mass() > 0.0 ? features_.mean_norm() : 0.0;
}

std::vector<double> Bank::history() const {
  const std::lock_guard inside(gate_);
  return history_.rows();
}

// State

namespace {

template <class Numbers>
std::vector<double> as_numbers(const Numbers& values) {
  return {values.begin(), values.end()};
}
std::vector<double> as_numbers(double value) { return {value}; }
std::vector<double> as_numbers(std::int64_t value) { return {static_cast<double>(value)}; }

template <class Memory>
bool read(const std::vector<double>& from, std::vector<double, Memory>& to) {
  to.assign(from.begin(), from.end());
  return true;
}
template <std::size_t N>
bool read(const std::vector<double>& from, std::array<double, N>& to) {
  if (from.size() != N) return false;
  std::copy(from.begin(), from.end(), to.begin());
  return true;
}
bool read(const std::vector<double>& from, double& to) {
  if (from.size() != 1) return false;
  to = from[0];
  return true;
}
bool read(const std::vector<double>& from, std::int64_t& to) {
  if (from.size() != 1 || from[0] != std::floor(from[0]) || from[0] < 0.0 || from[0] > 0x1p53) return false;
  to = static_cast<std::int64_t>(from[0]);
  return true;
}

template <class Numbers>
bool on_the_simplex(const Numbers& weights) {
  double total = 0.0;
  for (const double w : weights) total += w;
  return std::all_of(weights.begin(), weights.end(), [](double w) { return w > 0.0; }) && std::fabs(total - 1.0) < 1e-9;
}

}  // namespace

Bank::State Bank::state() const {
  const std::lock_guard inside(gate_);
  State out;
  each_part(*this, [&](const char* name, const auto& value) { out.emplace_back(name, as_numbers(value)); });
  return out;
}

void Bank::restore(const State& state) {
  const std::lock_guard only_writer(writing_);
  Bank made(task_, classes_);
  std::size_t parts = 0;
  each_part(made, [&](const char* name, auto& value) {
    const auto found = std::find_if(state.begin(), state.end(), [&](const auto& part) { return part.first == name; });
    if (found == state.end()) throw InputError(std::string("it has no ") + name);
    const bool finite =
        std::all_of(found->second.begin(), found->second.end(), [](double x) { return std::isfinite(x); });
    if (!finite || !read(found->second, value))
      throw InputError(std::string("its ") + name + " is not what a bank has");
    ++parts;
  });
  if (parts != state.size() || !made.features_.complete() || !made.classes_seen_.complete() || !made.history_.fits())
    throw InputError("its parts do not go together");
  if (!made.kalman_.is_sound() || !made.classes_seen_.is_sound() || !made.numbers_seen_.is_sound() ||
      made.residual_.sum < 0.0 || made.kalman_residual_.sum < 0.0 || made.residual_.mass < 0.0 ||
      made.kalman_residual_.mass < 0.0)
    throw InputError("what it has counted cannot be");
  if (!on_the_simplex(made.bayes_.weight) || !on_the_simplex(made.simplex_.weight) || !on_the_simplex(made.top_.weight))
    throw InputError("its weights do not lie on the simplex");
  const std::lock_guard inside(gate_);
  features_ = std::move(made.features_), classes_seen_ = std::move(made.classes_seen_);
  numbers_seen_ = made.numbers_seen_, bayes_ = made.bayes_, simplex_ = made.simplex_, kalman_ = made.kalman_;
  top_ = made.top_, residual_ = made.residual_, kalman_residual_ = made.kalman_residual_;
  weights_ = made.weights_;
  count_ = made.count_, timed_ = made.timed_, first_time_ = made.first_time_, last_time_ = made.last_time_;
  history_ = std::move(made.history_);
}

}  // namespace odca::bank
