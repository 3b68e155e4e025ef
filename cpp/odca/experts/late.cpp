// Labels that come later. docs/auto.md derives what follows.
//
// The mixers learn how good the experts' margins are when they are used: those that were given when the event was asked about. So
// an expert that goes by the last labels is judged by what it can know when labels are late. Everything else learns from where it is
// now: an implicit step needs the margin of the weights that it changes.
#include <algorithm>
#include <cmath>

#include "odca/experts/mixture.hpp"
#include "odca/math/checks.hpp"

namespace odca::experts {

namespace {

constexpr double least_variance = 1e-280;

double sigmoid(double z) { return 1.0 / (1.0 + exp(-clip(z, -probability_bound, probability_bound))); }

}  // namespace

// Asking

// The live answer, or the mixture of both.
void Experts::append_answer(const Row& row, Workspace& work, bool is_kept, std::vector<double>& out) const {
  if (is_kept || late_.mixes()) write_said(row, work);
  if (!late_.mixes()) return append_prediction(work, out);
  for (const double each : late_answer({work.said.data(), heads(), 0.0, true})) out.push_back(each);
}

// What was said of an event, [head].
std::vector<double> Experts::late_answer(const Late& event) const {
  std::vector<double> out;
  const double w = late_.steady;
  for (int c = 0; c < event.heads; ++c) {
    const double live = event.said[c * said_width + live_said], steady = event.said[c * said_width + steady_said];
    const auto mixed = [&](double a, double b) { return (1.0 - w) * a + w * b; };
    if (task_ == Task::numbers)
      out.push_back(mixed(live, steady));
    else if (event.heads == 1)
      out.push_back(log(mixed(sigmoid(live), sigmoid(steady)) / mixed(sigmoid(-live), sigmoid(-steady))));
    else
      out.push_back(log(std::max(mixed(exp(live), exp(steady)), least_probability)));
  }
  return out;
}

// How much the mixture of both changes with each, by head, at what was said (log probabilities of several classes).
Experts::Shares Experts::shares_of_answers(const Workspace& work) const {
  Shares out;
  const double w = late_.steady;
  for (int c = 0; c < heads(); ++c) {
    const double live = work.said[c * said_width + live_said], steady = work.said[c * said_width + steady_said];
    const auto put = [&](double of_live, double of_steady, double total) {
      out.live.push_back(total > 0.0 ? (1.0 - w) * of_live / total : 0.0);
      out.steady.push_back(total > 0.0 ? w * of_steady / total : 0.0);
    };
    if (task_ == Task::numbers) {
      loss_.has_log_link() ? put(live, steady, (1.0 - w) * live + w * steady) : put(1.0, 1.0, 1.0);
    } else if (task_ == Task::two_classes) {
      const double p = (1.0 - w) * sigmoid(live) + w * sigmoid(steady);
      put(sigmoid(live) * sigmoid(-live), sigmoid(steady) * sigmoid(-steady), p * (1.0 - p));
    } else {
      const double p = (1.0 - w) * exp(live) + w * exp(steady);
      put(exp(live), exp(steady), p > least_probability ? p : 0.0);
    }
  }
  return out;
}

// [head][margin of each expert, live answer, steady answer]
void Experts::write_said(const Row& row, Workspace& work) const {
  std::vector<double> live, steady;
  append_prediction(work, live);
  append_steady_prediction(row, steady);
  if (task_ == Task::classes) {  // from logits to log probabilities
    const double high = *std::max_element(steady.begin(), steady.end());
    double total = 0.0;
    for (const double z : steady) total += exp(z - high);
    for (double& z : steady) z = z - high - log(total);
  }
  for (int c = 0; c < heads(); ++c) {
    double* const said = &work.said[c * said_width];
    std::transform(&work.margin[c * slots], &work.margin[c * slots] + expert_count, said, within_numbers);
    said[live_said] = within_numbers(live[c]), said[steady_said] = steady[c];
  }
}

// Learning

void Experts::require_fitting(const Asked& asked, std::int64_t rows) const {
  const auto inside = gate_.inside();
  require_fitting_inside(asked, rows);
}

void Experts::require_fitting_inside(const Asked& asked, std::int64_t rows) const {
  const bool possible = asked.heads == 1 || (asked.heads > 2 && asked.heads <= heads());
  if (!possible || asked.said.size() != static_cast<std::size_t>(rows * asked.heads * said_width) || asked.after < 0 ||
      asked.after > learned_from())
    throw InputError(
        "what was asked does not fit these events. Give what this model returned when it was asked about them");
  if (!all_within(asked.said, largest_margin)) throw InputError("what was asked must hold numbers of at most 1e140");
}

std::vector<Experts::Origin> Experts::origins_of(const Events& events) {
  std::vector<Origin> out;
  if (events.asked)
    for (const Asked& each : *events.asked)
      for (std::int64_t row = 0; row < each.rows(); ++row) out.push_back({&each, row});
  return out;
}

Experts::Late Experts::late_event(const Origin* origin, const Workspace& work) const {
  if (!origin || origin->asked->after == learned_from()) return {work.said.data(), heads(), 0.0, true};
  const Asked& asked = *origin->asked;
  return {asked.said.data() + origin->row * asked.heads * said_width, asked.heads,
          static_cast<double>(learned_from() - asked.after), asked.after > 0};
}

// The experts' margins of an event that was asked about, [head][slot]. Of a class that came since, they are what experts that never
// saw it say: beyond the base rate, the mean of the others.
void Experts::write_asked(const Late& event, double* margin) const {
  const bool were_two = event.heads == 1 && task_ == Task::classes;
  const int known = were_two ? 2 : event.heads;
  if (were_two) {
    write_asked_of_two(event.said, margin);
  } else {
    // The margins of experts that read rows are relative to a uniform guess, which more classes lower.
    const bool is_wider = event.heads < heads();
    const double shift =
        is_wider ? class_labels_.base_log_of_unseen(classes_) - class_labels_.base_log_of_unseen(event.heads) : 0.0;
    for (int c = 0; c < event.heads; ++c)
      for (int k = 0; k < expert_count; ++k)
        margin[c * slots + k] = event.said[c * said_width + k] + (table[k].reads_rows() ? shift : 0.0);
  }
  if (known == heads()) return;
  const std::vector<double> base = bases();
  double* const added = margin + known * slots;
  for (int k = 0; k < expert_count; ++k) {
    if (!table[k].reads_rows()) continue;
    double beyond = 0.0;
    for (int c = 0; c < known; ++c) beyond += margin[c * slots + k] - base[c];
    added[k] = class_labels_.base_log_of_unseen(classes_) + beyond / known;
  }
  class_labels_.write_logs_of_unseen(added + first_label_expert);
  for (int c = known + 1; c < heads(); ++c) std::copy_n(added, expert_count, margin + c * slots);
}

// Log odds z of two classes as margins of several: those of experts that read rows are z apart, around the base rates; the others are
// probabilities.
void Experts::write_asked_of_two(const double* said, double* margin) const {
  const std::vector<double> base = bases();
  const double middle = 0.5 * (base[0] + base[1]);
  for (int k = 0; k < expert_count; ++k) {
    const double z = said[k];
    margin[k] = table[k].reads_rows() ? middle - 0.5 * z : log(sigmoid(-z));
    margin[slots + k] = table[k].reads_rows() ? middle + 0.5 * z : log(sigmoid(z));
  }
}

// Learns how good the live and the steady answer were.
void Experts::judge_answers(const Late& event, double y, double c, const Pace& pace) {
  if (event.delay > 0.0) late_.begin();
  if (!late_.mixes() || !event.informed) return;
  double live = 0.0, steady = 0.0;
  if (task_ == Task::numbers) {
    const UnitLoss unit = unit_loss();
    const double of_live = loss_.margin(event.said[live_said]), of_steady = loss_.margin(event.said[steady_said]);
    const double slope = (1.0 - late_.steady) * unit.slope(of_live, y) + late_.steady * unit.slope(of_steady, y);
    late_.residual.add(slope * slope, c, pace.residual_memory);
    const double variance = unit.variance(late_.residual);
    if (!(variance > least_variance && std::isfinite(variance))) return;
    live = unit.cost(of_live, y) / variance, steady = unit.cost(of_steady, y) / variance;
  } else {
    const auto of_label = static_cast<std::size_t>(y);
    const bool is_new = of_label >= static_cast<std::size_t>(std::max(event.heads, 2));
    if (is_new || class_labels_.is_unseen(static_cast<int>(y))) return;  // neither answer knew of the class
    const auto loss = [&](int answer) {
      if (event.heads > 1) return -event.said[of_label * said_width + static_cast<std::size_t>(answer)];
      return -log(sigmoid(y > 0.0 ? event.said[answer] : -event.said[answer]));
    };
    live = loss(live_said), steady = loss(steady_said);
  }
  late_.learn(live, steady, c, event.delay, pace.bayes_share);
}

}  // namespace odca::experts
