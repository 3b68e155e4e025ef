// What the mixers say of an event, and learn from it: of two classes, of several, of numbers.
#include <algorithm>
#include <cmath>

#include "odca/experts/bank.hpp"
#include "odca/experts/log_loss_solve.hpp"

namespace odca::bank {

namespace {

// Of the errors: what a lane says is taken for no further from what the best one says.
constexpr double near_in_deviations = 10.0;
constexpr double least_variance = 1e-280;  // of residuals: the inverse of a smaller one is no number

// Logarithms of likelihoods times c, up to what they share.
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

void softmax(int n, double* z) {
  double high = -infinity, total = 0.0;
  for (int c = 0; c < n; ++c) high = std::max(high, z[c]);
  for (int c = 0; c < n; ++c) total += z[c] = exp(z[c] - high);
  for (int c = 0; c < n; ++c) z[c] /= total;
}

}  // namespace

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

}  // namespace odca::bank
