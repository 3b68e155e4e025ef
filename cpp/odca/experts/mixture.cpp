// One event: from its row to the prediction, and what the experts learn from it.
#include "odca/experts/mixture.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace odca::experts {

namespace {

constexpr double largest = 1e100;           // squares of it, summed over any stream, are still numbers
constexpr std::int64_t constant_work = 16;  // of an event, in features

// Before anything is allocated for them.
int checked_classes(Task task, int classes) {
  if (task != Task::numbers && (classes < 2 || classes > most_classes))
    throw InputError("there must be at least two classes, and at most a million; got " + std::to_string(classes));
  return classes;
}

int checked_products(int products) {
  if (products < Pairs::automatic || products > Pairs::most)
    throw InputError("there must be at most " + std::to_string(Pairs::most) + " products of features; got " +
                     std::to_string(products));
  return products;
}

double log_odds(double p) { return log(std::max(p, least_probability) / std::max(1.0 - p, least_probability)); }

void require_numbers(const Row& row, std::int64_t number) {
  bool sound = true;
  for (std::int64_t i = 0; i < row.size; ++i) sound &= std::fabs(row.value[i]) <= largest;
  if (!sound) throw InputError("", at_row_of_x(number), " must hold numbers, of at most 1e100");
}

// Predictions of a call: those from `begin` on are for so many classes.
struct Stretch {
  std::size_t begin;
  int classes;
};

// All of them as log probabilities of the classes that there are at the end.
std::vector<double> with_all_classes(std::vector<double> predictions, const std::vector<Stretch>& stretches) {
  if (stretches.size() == 1) return predictions;
  const auto wide = static_cast<std::size_t>(stretches.back().classes);
  std::vector<double> out;
  for (std::size_t n = 0; n < stretches.size(); ++n) {
    const std::size_t heads = stretches[n].classes == 2 ? 1 : static_cast<std::size_t>(stretches[n].classes);
    const std::size_t end = n + 1 < stretches.size() ? stretches[n + 1].begin : predictions.size();
    for (std::size_t at = stretches[n].begin; at < end; at += heads) {
      const double* from = &predictions[at];
      out.resize(out.size() + wide, log(least_probability));
      double* const to = out.data() + out.size() - wide;
      if (heads > 1)
        std::copy(from, from + heads, to);
      else
        to[0] = -log(1.0 + exp(from[0])), to[1] = -log(1.0 + exp(-from[0]));
    }
  }
  return out;
}

}  // namespace

Experts::Workspace::Workspace(int heads)
    : margin(static_cast<std::size_t>(heads * slots)),
      bounded(margin.size()),
      likely(margin.size()),
      of_mixers(static_cast<std::size_t>(heads * mixers)),
      mixed(static_cast<std::size_t>(heads)),
      odds(static_cast<std::size_t>(heads * (2 * row_slots + full_experts))),
      slopes(odds.size()),
      label(odds.size()),
      lambda(odds.size()),
      said(static_cast<std::size_t>(heads * said_width)) {}

Experts::Experts(Task task, int classes, int products, const NumberLoss& loss)
    : task_(task),
      classes_(checked_classes(task, classes)),
      features_(task == Task::classes ? classes : 1),
      products_(features_.heads(), FeatureTable::Matrices::without),
      pairs_(checked_products(products)),
      class_labels_(task == Task::numbers ? 0 : classes),
      loss_(loss),
      uncertainty_(task == Task::numbers ? uncertainty::Scores::numbers : uncertainty::Scores::classes) {}

// Learning and predicting

Experts::Learned Experts::learn(const Events& events, const Interrupted& interrupted, std::vector<double>* margins) {
  const auto only_writer = gate_.only_writer();
  auto inside = gate_.inside();
  require_valid(events);
  const Batch& batch = events.batch;
  if (batch.rows > 0 && !batch.widens) features_.grow(batch.features());
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(batch.rows * heads()));
  std::vector<Stretch> stretches{{0, classes_}};
  std::unique_ptr<Workspace> kept = take_workspace();
  Workspace earlier(events.asked ? heads() : 0);
  const std::vector<Origin> origins = origins_of(events);
  LongCall call(inside, interrupted);
  std::int64_t row = 0;
  for (bool stopped = false; row < batch.rows && !stopped; ++row) {
    const double y = events.y[row];
    const std::uint64_t before = changes_++;
    const bool is_new = task_ != Task::numbers && y >= classes_;
    if (is_new) {
      add_classes(static_cast<int>(y) + 1);
      stretches.push_back({out.size(), classes_});
      kept = std::make_unique<Workspace>(heads()), earlier = Workspace(events.asked ? heads() : 0);
    }
    Workspace& work = *kept;
    const Row h = batch.row(row, work.row);
    const bool is_judged_next = steady_.judges(learned_from() + 2);  // most likely: an event of weight 0 is not counted
    // All at once, features that come from memory would wait for each other.
    const auto fetch_next = [&](int part) {
      const auto fetch = [&](std::int64_t feature) {
        features_.prefetch(feature);
        if (is_judged_next) steady_.prefetch(feature);
      };
      batch.peek(row + 1, fetch, part, 4);
    };
    fetch_next(0);
    if (batch.widens && h.size > 0) features_.grow(h.feature(h.size - 1) + 1);
    const bool is_learned = !events.weight || events.weight[row] > 0.0;
    if (!is_evaluated(h, before, work)) {
      standardise(h, work);
      if (is_learned) update_density(h, work);
      write_margins(work), mix(work);
    }
    fetch_next(1);
    append_answer(h, work, false, out);
    if (margins)
      for (auto z = work.margin.begin(); z != work.margin.end(); z += slots)
        margins->insert(margins->end(), z, z + expert_count);
    const Late late = late_event(events.asked ? &origins[static_cast<std::size_t>(row)] : nullptr, work);
    const bool was_informed = late.delay > 0.0 && late.informed;
    if (was_informed) write_asked(late, earlier.margin.data()), mix(earlier);
    const double* const answer = &out[out.size() - static_cast<std::size_t>(heads())];
    const double score = is_new         ? uncertainty::score_of_unknown_class
                         : was_informed ? score_of(late_answer(late).data(), late.heads, y)
                                        : score_of(answer, heads(), y);
    fetch_next(2);
    uncertainty_.live.add(score, events.weight ? events.weight[row] : 1.0);
    fetch_next(3);
    learn_one(h, work, was_informed ? earlier : work, late, y, events.weight ? events.weight[row] : 1.0,
              events.time ? events.time[row] : std::nan(""));
    stopped = call.should_stop((h.size + constant_work) * first_label_expert);
  }
  spare_ = std::move(kept);
  return {row, with_all_classes(std::move(out), stretches)};
}

std::vector<double> Experts::predict(const Batch& batch, Answer answer, const Interrupted& interrupted,
                                     Asked* asked) const {
  auto inside = gate_.inside();
  const std::uint64_t before = changes_;
  LongCall call(inside, interrupted);
  std::vector<double> out = predict_inside(call, batch, answer, asked);
  if (changes_ == before) return out;
  // Another call changed the model while it was let in. Again, by a copy; or, if that would cost more than to predict, with nobody let in.
  LongCall alone(interrupted);
  if (batch.stored() < features_.size()) return predict_inside(alone, batch, answer, asked);
  const Experts copy(*this, inside);
  inside.unlock();
  return copy.predict_inside(alone, batch, answer, asked);
}

// Ends early if the model changes meanwhile.
std::vector<double> Experts::predict_inside(LongCall& call, const Batch& batch, Answer answer, Asked* asked) const {
  if (asked) *asked = {{}, heads(), learned_from()};
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(batch.rows * heads()));
  std::unique_ptr<Workspace> kept = take_workspace();
  Workspace& work = *kept;
  const std::uint64_t before = changes_;
  bool stopped = false;
  for (std::int64_t row = 0; row < batch.rows && !stopped && changes_ == before; ++row) {
    const Row h = batch.row(row, work.row);
    batch.peek(row + 1, [&](std::int64_t feature) { features_.prefetch(feature); });
    require_numbers(h, row);
    if (answer == Answer::steady)
      append_steady_prediction(h, out);
    else
      evaluate(h, work), append_answer(h, work, asked != nullptr, out);
    if (asked) asked->said.insert(asked->said.end(), work.said.begin(), work.said.end());
    stopped = call.should_stop((h.size + constant_work) * first_label_expert);
  }
  spare_ = std::move(kept);
  return out;
}

std::unique_ptr<Experts::Workspace> Experts::take_workspace() const {
  if (spare_ && spare_->mixed.size() == static_cast<std::size_t>(heads())) return std::move(spare_);
  return std::make_unique<Workspace>(heads());
}

void Experts::require_valid(const Events& events) const {
  if (events.asked) {
    std::int64_t rows = 0;
    for (const Asked& each : *events.asked) require_fitting_inside(each, each.rows()), rows += each.rows();
    if (rows != events.batch.rows) throw InputError("what was asked must be about as many events as there are");
  }
  Batch::Scratch scratch;
  double known = classes_;
  for (std::int64_t row = 0; row < events.batch.rows; ++row) {
    require_numbers(events.batch.row(row, scratch), row);
    const double y = events.y[row];
    if (task_ == Task::numbers && !loss_.is_label(y))
      throw InputError("", at_row(row), " of y is " + show(y) + ", but counts must not be negative");
    if (task_ == Task::numbers ? !(std::fabs(y) <= largest) : !(y >= 0.0 && y <= known && y == std::floor(y)))
      throw InputError(
          "", at_row(row),
          " of y is " + show(y) + ", which is no " +
              (task_ == Task::numbers ? "number of at most 1e100" : "index of a class, or of the next one"));
    if (y == known && known < static_cast<double>(most_classes)) ++known;
    if (events.weight && !(events.weight[row] >= 0.0 && events.weight[row] <= most_event_weight))
      throw InputError("", at_row(row), " of sample_weight must lie between 0 and 1e6");
    if (events.time && !std::isfinite(events.time[row])) throw InputError("", at_row(row), " of time must be finite");
  }
}

// Two classes: log odds of the second. Classes: log probabilities. Numbers: what the margin stands for.
void Experts::append_prediction(const Workspace& work, std::vector<double>& out) const {
  const std::size_t begin = out.size();
  out.insert(out.end(), work.mixed.begin(), work.mixed.end());
  if (task_ == Task::two_classes) out[begin] = log_odds(out[begin]);
  if (task_ == Task::classes) log_many(heads(), &out[begin]);
  if (task_ == Task::numbers) out[begin] = loss_.answer(out[begin]);
}

void Experts::evaluate(const Row& row, Workspace& work) const {
  if (is_evaluated(row, changes_, work)) return;
  standardise(row, work);
  write_margins(work);
  mix(work);
  work.state = {changes_, features_.size()};
}

bool Experts::is_evaluated(const Row& row, std::uint64_t changes, const Workspace& work) const {
  return work.state == State{changes, features_.size()} && work.scaled.changed.empty() &&
         work.scaled_products.changed.empty() && work.scaled.is_of(row);
}

void Experts::standardise(const Row& row, Workspace& work) const {
  features_.standardise(row, work.scaled);
  if (has_products()) standardise_products(work);
}

void Experts::standardise_products(Workspace& work) const {
  pairs_.write(work.scaled, work.paired, work.products);
  products_.standardise(as_row(work.products), work.scaled_products);
}

// Before a row is learned that was standardised: if features become dense or sparse by it, they are so from now on.
void Experts::update_density(const Row& row, Workspace& work) {
  if (!work.scaled.changed.empty()) features_.update_density(row), standardise(row, work);
  if (!has_products() || work.scaled_products.changed.empty()) return;
  products_.update_density(as_row(work.products));
  standardise_products(work);
}

void Experts::mix(Workspace& work) const {
  switch (task_) {
    case Task::two_classes: return mix_two(work);
    case Task::classes: return mix_classes(work);
    case Task::numbers: return mix_number(work);
  }
}

void Experts::learn_one(const Row& row, Workspace& work, Workspace& asked, const Late& late, double y, double c,
                        double time) {
  ++count_;
  const double weight = c;
  if (c > 0.0) {
    event_weights_.add(c, 1.0, 1.0);
    c = std::max(c / event_weights_.mean(), tiny);  // only the ratios of weights matter
    const Pace pace = pace_at(time);
    const bool first = features_.mass() == 0.0;  // before it, no scale is known
    const double learned = task_ == Task::numbers ? label_to_learn(work, y, c) : y;
    if (const auto score = steady_.judge(learned_from(), row, learned, c, task_ == Task::numbers ? &loss_ : nullptr))
      uncertainty_.steady.add(*score + (y - learned), weight);
    judge_answers(late, learned, c, pace);
    features_.count_row(work.scaled, c);
    const bool has_new_products = has_products() && products_.mass() == 0.0;
    if (has_products()) products_.count_row(work.scaled_products, c);
    if (task_ == Task::numbers && !number_labels_.empty()) curvature_.learn(loss_, work.mixed[0], learned, c);
    measure_slope(work, learned);
    switch (task_) {
      case Task::two_classes: learn_two(asked, y, c, pace); break;
      case Task::classes: learn_classes(asked, static_cast<int>(y), c, pace); break;
      case Task::numbers: learn_number(asked, learned, c, pace); break;
    }
    if (first) FeatureTable::write_counts(work.scaled);
    if (has_new_products) FeatureTable::write_counts(work.scaled_products);
    if (!first) step_experts(work, learned, c, pace, !has_new_products);
    learn_pairs(work, learned, c);
    if (pairs_.is_due(learned_from())) choose_pairs();
    if (steady_.is_due(learned_from())) freeze_members();
  }
  history_.add(count_, std::isnan(time) ? 0.0 : last_time_, c * loss_of(asked, y),
               [&]() -> const PerExpert& { return bayes_.weight; });
}

// Before anything learns from it. How wrong the answers were is judged by the label itself.
double Experts::label_to_learn(const Workspace& work, double y, double c) {
  if (number_labels_.empty()) return y;  // nothing was known before it
  PerExpert answers{};                   // with zeros after the last
  for (int k = 0; k < in_use(); ++k) answers[k] = loss_.answer(work.margin[k]);
  const LabelBound::Event event{loss_.answer(work.mixed[0]),
                                {answers.data(), static_cast<std::size_t>(in_use())},
                                number_labels_.is_in_range(y),
                                work.scaled,
                                features_.mass() + 1.0};
  return label_bound_.learn(y, event, c);
}

double Experts::loss_of(const Workspace& work, double y) const {
  switch (task_) {
    case Task::two_classes: return -log(y > 0.0 ? work.mixed[0] : 1.0 - work.mixed[0]);
    case Task::classes: return -log(work.mixed[static_cast<std::size_t>(y)]);
    default: return loss_.is_squared() ? (y - work.mixed[0]) * (y - work.mixed[0]) : loss_.excess(work.mixed[0], y);
  }
}

// How badly an answer of so many heads predicted y: see uncertainty/error_tracker.hpp.
double Experts::score_of(const double* answer, int heads, double y) const {
  if (task_ == Task::numbers) return within_numbers(y - answer[0]);
  if (y >= std::max(heads, 2)) return uncertainty::score_of_unknown_class;
  if (heads == 1) return uncertainty::score_of_class(y > 0.0 ? answer[0] : -answer[0]);
  return uncertainty::score_of_probability(exp(answer[static_cast<int>(y)]));
}

uncertainty::Uncertainty Experts::uncertainty() const {
  const auto inside = gate_.inside();
  return uncertainty_;
}

// A tick is the mean time between two events so far: in a steady stream each event is one. Late events do not advance the clock.
Pace Experts::pace_at(double time) {
  if (std::isnan(time)) return {};
  if (timed_++ == 0) {
    first_time_ = last_time_ = time;
    return {};
  }
  const double passed = std::max(0.5 * time - 0.5 * last_time_, 0.0);  // halves: whole differences may overflow
  last_time_ = std::max(last_time_, time);
  const double typical = (0.5 * last_time_ - 0.5 * first_time_) / static_cast<double>(timed_ - 1);
  return Pace::after(typical > 0.0 ? std::min(passed / typical, 1e6) : 0.0);
}

// Reading

int Experts::classes() const {
  const auto inside = gate_.inside();
  return classes_;
}

int Experts::answer_width() const {
  const auto inside = gate_.inside();
  return heads();
}

std::int64_t Experts::count() const {
  const auto inside = gate_.inside();
  return count_;
}

std::int64_t Experts::features() const {
  const auto inside = gate_.inside();
  return features_.size();
}

std::vector<double> Experts::weights() const {
  const auto inside = gate_.inside();
  return {bayes_.weight.begin(), bayes_.weight.begin() + expert_count};
}

double Experts::mean_norm() const {
  const auto inside = gate_.inside();
  return features_.mass() > 0.0 ? features_.mean_norm() : 0.0;
}

std::vector<double> Experts::history() const {
  const auto inside = gate_.inside();
  return history_.rows();
}

}  // namespace odca::experts
