// How predictions are mixed, and how the mixers learn: for two classes, for several, for numbers.
#include <algorithm>
#include <cmath>

#include "odca/experts/log_loss_solve.hpp"
#include "odca/experts/mixture.hpp"

namespace odca::experts {

namespace {

// In standard deviations of the errors: how far a number may lie from that of the best expert.
constexpr double reach_in_deviations = 10.0;
constexpr double least_variance = 1e-280;  // of residuals: the inverse of a smaller one is no number

// Multiplies logarithms of likelihoods by c, up to a constant that they share.
void multiply_logs(double c, int n, double* logs) {
  if (c == 1.0) return;
  double high = -infinity;
  for (int k = 0; k < n; ++k) high = std::max(high, logs[k] *= c);
  for (int k = 0; k < n; ++k) logs[k] -= high;
}

// Likelihoods of an event of weight c, up to a factor that they share: the best of them does not underflow, however large c is.
void raise_to(double c, int n, double* likelihood) {
  if (c == 1.0) return;
  for (int k = 0; k < n; ++k) likelihood[k] = log(std::max(likelihood[k], tiny));
  multiply_logs(c, n, likelihood);
  for (int k = 0; k < n; ++k) likelihood[k] = exp(likelihood[k]);
}

}  // namespace

// g^2 and q of the loss, at what the mixture says now: there the experts take their steps.
void Experts::measure_slope(Workspace& t, double y) const {
  if (task_ == Task::numbers) {
    const UnitLoss unit = unit_loss();
    const double r = number_labels_.empty() ? 0.0 : unit.residual(t.mixed[0], 0.0, y);
    t.slope = r * r, t.curvature = unit.curvature(t.mixed[0]);
    return;
  }
  const int n = heads();
  t.slope = t.curvature = 0.0;
  for (int k = 0; k < n; ++k) {
    const double g = t.mixed[k] - (n == 1 ? y : k == y ? 1.0 : 0.0);
    t.slope += g * g / n, t.curvature += t.mixed[k] * (1.0 - t.mixed[k]) / n;
  }
}

// Two classes

void Experts::mix_two(Workspace& t) const {
  PerExpert wide{};
  for (int k = 0; k < in_use(); ++k) {
    t.bounded[k] = clip(t.margin[k], -margin_bound, margin_bound);
    wide[k] = clip(t.margin[k], -probability_bound, probability_bound);
  }
  sigmoid_many(in_fours(in_use()), wide.data(), t.likely.data());
  t.simplex_margin = dot(in_use(), simplex_.weight, t.bounded.data());
  t.kalman_margin = dot(in_use(), kalman_.weight, t.bounded.data());
  const double margins[2] = {t.simplex_margin, t.kalman_margin};
  t.of_mixers[0] = dot(in_use(), bayes_.weight, t.likely.data());
  sigmoid_many(2, margins, &t.of_mixers[1]);
  t.mixed[0] = clip(top_.mix(t.of_mixers.data()), least_probability, 1.0 - least_probability);
}

void Experts::learn_two(Workspace& t, double y, double c, const Pace& pace) {
  const auto likelihood = [&](double p) { return y > 0.0 ? p : 1.0 - p; };
  double of_mixers[mixers] = {likelihood(t.of_mixers[0]), likelihood(t.of_mixers[1]), likelihood(t.of_mixers[2])};
  PerExpert of_experts;
  for (int k = 0; k < in_use(); ++k) of_experts[k] = likelihood(t.likely[k]);
  raise_to(c, mixers, of_mixers), raise_to(c, in_use(), of_experts.data());
  top_.learn(of_mixers, pace.top_share);
  bayes_.learn(of_experts.data(), pace.bayes_share);
  const Kalman::Gain gain = kalman_.gain_of(t.bounded.data());
  const double margin[2] = {t.simplex_margin, t.kalman_margin};
  const double slope[2] = {c * simplex_.variance(t.bounded.data()) / simplex_strength, c * gain.variance};
  const double label[2] = {y, y};
  double lambda[2];
  LogLossSolve::solve(2, margin, slope, label, lambda);
  simplex_.learn(t.bounded.data(), c * lambda[0], simplex_strength, pace.simplex_share);
  const double q = c * std::max(t.of_mixers[2] * (1.0 - t.of_mixers[2]), 1e-6);
  kalman_.learn(gain, c * lambda[1], q / (1.0 + q * gain.variance), pace.kalman_memory);
  class_labels_.learn(static_cast<int>(y), c, pace);
}

// Classes

void Experts::mix_classes(Workspace& t) const {
  const int n = classes_;
  double *const likely = t.likely.data(), *const bounded = t.bounded.data(), *const of_mixers = t.of_mixers.data();
  const double* const margin = t.margin.data();
  const int all = in_fours(in_use());
  PerExpert high, mean{}, total{};
  high.fill(-infinity);
  for (int at = 0; at < n * slots; at += slots)
    for (int k = 0; k < all; ++k) high[k] = maximum(margin[at + k], high[k]), mean[k] += margin[at + k];
  for (double& each : mean) each /= n;
  for (int at = 0; at < n * slots; at += slots)
    for (int k = 0; k < all; ++k) {
      likely[at + k] = margin[at + k] - high[k];
      bounded[at + k] = clip(margin[at + k] - mean[k], -margin_bound, margin_bound);
    }
  for (int at = 0; at < n * slots; at += slots) exp_many(all, likely + at);
  for (int at = 0; at < n * slots; at += slots)
    for (int k = 0; k < all; ++k) total[k] += likely[at + k];
  for (int at = 0; at < n * slots; at += slots)
    for (int k = 0; k < all; ++k) likely[at + k] /= total[k];
  for (int c = 0; c < n; ++c) {
    of_mixers[c] = dot(in_use(), bayes_.weight, likely + c * slots);
    of_mixers[n + c] = dot(in_use(), simplex_.weight, bounded + c * slots);
    of_mixers[2 * n + c] = dot(in_use(), kalman_.weight, bounded + c * slots);
  }
  softmax(n, of_mixers + n), softmax(n, of_mixers + 2 * n);
  if (class_labels_.some_are_unseen()) use_bayes_for_unseen_classes(t);
  for (int c = 0; c < n; ++c) {
    const double of_class[mixers] = {t.of_mixers[c], t.of_mixers[n + c], t.of_mixers[2 * n + c]};
    t.mixed[c] = std::max(top_.mix(of_class), least_probability);
  }
}

// Of a class that was declared and never seen all experts say much the same, and weights that are not on the simplex could turn that
// into anything: such classes have the probability that Bayes gives them.
void Experts::use_bayes_for_unseen_classes(Workspace& t) const {
  const int n = classes_;
  for (int m = 1; m < mixers; ++m) {
    double* const p = &t.of_mixers[m * n];
    double unseen = 0.0, seen = 0.0;
    for (int c = 0; c < n; ++c)
      (class_labels_.is_unseen(c) ? unseen : seen) += class_labels_.is_unseen(c) ? t.of_mixers[c] : p[c];
    const double factor = (1.0 - unseen) / std::max(seen, least_probability);
    for (int c = 0; c < n; ++c) p[c] = class_labels_.is_unseen(c) ? t.of_mixers[c] : p[c] * factor;
  }
}

// The event as one of two classes, y or not: x is each expert's margin for y, less its margins for the others by their probability.
// Returns the log odds of y.
double Experts::against_others(const Workspace& t, const double* p, int y, double* x) const {
  const double others = std::max(1.0 - p[y], 1e-12);
  for (int k = 0; k < in_use(); ++k) x[k] = t.bounded[y * slots + k];
  for (int c = 0; c < classes_; ++c) {
    if (c == y) continue;
    const double part = p[c] / others;
    for (int k = 0; k < in_use(); ++k) x[k] -= part * t.bounded[c * slots + k];
  }
  return log(std::max(p[y], least_probability) / others);
}

void Experts::learn_classes(Workspace& t, int y, double c, const Pace& pace) {
  const int n = classes_;
  double of_mixers[mixers] = {t.of_mixers[y], t.of_mixers[n + y], t.of_mixers[2 * n + y]};
  PerExpert of_experts, x{};
  for (int k = 0; k < in_use(); ++k) of_experts[k] = t.likely[y * slots + k];
  raise_to(c, mixers, of_mixers), raise_to(c, in_use(), of_experts.data());
  top_.learn(of_mixers, pace.top_share);
  bayes_.learn(of_experts.data(), pace.bayes_share);
  double margin = against_others(t, &t.of_mixers[n], y, x.data());
  const double slope = c * simplex_.variance(x.data()) / simplex_strength;
  simplex_.learn(x.data(), c * logistic_.lambda(margin, slope, 1.0), simplex_strength, pace.simplex_share);
  margin = against_others(t, &t.of_mixers[2 * n], y, x.data());
  const Kalman::Gain gain = kalman_.gain_of(x.data());
  double q = 1e-6;
  for (int k = 0; k < n; ++k) q += 0.5 * c * t.of_mixers[2 * n + k] * (1.0 - t.of_mixers[2 * n + k]);
  kalman_.learn(gain, c * logistic_.lambda(margin, c * gain.variance, 1.0), q / (1.0 + q * gain.variance),
                pace.kalman_memory);
  class_labels_.learn(y, c, pace);
}

// Numbers

Experts::Reach Experts::reach_of(const Workspace& t) const {
  const auto leader =
      static_cast<std::size_t>(std::max_element(bayes_.weight.begin(), bayes_.weight.end()) - bayes_.weight.begin());
  const UnitLoss unit = unit_loss();
  const double least = std::min(unit.variance(residual_), unit.variance(kalman_residual_));
  return {leader, within_range(t.margin[leader]), reach_in_deviations * std::sqrt(least)};
}

void Experts::mix_number(Workspace& t) const {
  const auto [_, centre, reach] = reach_of(t);
  const double base = number_labels_.base(loss_);
  for (int k = 0; k < in_use(); ++k) {
    const double z = within_range(t.margin[k]);
    t.likely[k] = reach > 0.0 ? clip(z, centre - reach, centre + reach) : z;
    t.bounded[k] = z - base;
  }
  t.kalman_margin = base + dot(in_use(), kalman_.weight, t.bounded.data());
  // Bayes mixes what is predicted, as the mixture of the mixers does; the others mix margins.
  PerExpert answers{};  // with zeros after the last
  for (int k = 0; k < in_use(); ++k) answers[k] = loss_.answer(t.likely[k]);
  t.of_mixers[0] = loss_.margin(dot(in_use(), bayes_.weight, answers.data()));
  t.of_mixers[1] = dot(in_use(), simplex_.weight, t.likely.data());
  t.of_mixers[2] = within_range(t.kalman_margin);
  const double of_mixers[mixers] = {loss_.answer(t.of_mixers[0]), loss_.answer(t.of_mixers[1]),
                                    loss_.answer(t.of_mixers[2])};
  t.mixed[0] = loss_.margin(top_.mix(of_mixers));
}

void Experts::learn_number(Workspace& t, double y, double c, const Pace& pace) {
  const UnitLoss unit = unit_loss();
  if (!number_labels_.empty()) {  // else nothing was known before it, so it says nothing about the experts
    const double slope = unit.slope(t.mixed[0], y);
    residual_.add(slope * slope, c, pace.residual_memory);
  }
  if (unit.variance(residual_) > least_variance) mixers_learn_number(t, y, c, pace);
  if (loss_.is_quantile() && !number_labels_.empty())
    offsets_.learn(unit, curvature_.size(), in_use(), t.margin.data(), y, c);
  number_labels_.learn(y, c, pace);
}

// Each as for squared error, with the residual of the loss; and likelihoods e^(-loss / variance).
void Experts::mixers_learn_number(Workspace& t, double y, double c, const Pace& pace) {
  const UnitLoss unit = unit_loss();
  const double variance = unit.variance(residual_);
  std::array<double, in_fours(expert_count + mixers)> e{};
  double* const of_mixers = &e[expert_count];
  const auto exponent = [&](double z) { return -std::min(unit.cost(z, y) / variance, 30.0); };
  for (int k = 0; k < in_use(); ++k) e[k] = exponent(t.likely[k]);
  for (int m = 0; m < mixers; ++m) of_mixers[m] = exponent(t.of_mixers[m]);
  multiply_logs(c, in_use(), e.data()), multiply_logs(c, mixers, of_mixers);
  exp_many(static_cast<int>(e.size()), e.data());
  top_.learn(of_mixers, pace.top_share);
  bayes_.learn(e.data(), pace.bayes_share);
  const double strength = variance * simplex_strength;
  const double slope = c * simplex_.variance(t.bounded.data()) / strength;
  const double simplex_residual = unit.residual(t.of_mixers[1], slope, y);
  simplex_.learn(t.bounded.data(), c * simplex_residual / (1.0 + slope), strength, pace.simplex_share);
  const double kalman_slope = unit.slope(t.kalman_margin, y);
  kalman_residual_.add(kalman_slope * kalman_slope, c, pace.residual_memory);
  const Kalman::Gain gain = kalman_.gain_of(t.bounded.data());
  const double noise = std::max(unit.variance(kalman_residual_), 1e-12 * variance);
  const double q = c * unit.curvature(t.kalman_margin);
  kalman_.learn(gain, unit.residual(t.kalman_margin, c * gain.variance / noise, y) * (c / (noise + c * gain.variance)),
                q / (noise + q * gain.variance), pace.kalman_memory);
}

}  // namespace odca::experts
