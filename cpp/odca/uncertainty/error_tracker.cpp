#include "odca/uncertainty/error_tracker.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace odca::uncertainty {

namespace {

constexpr double largest_score = 1e140;  // sums of it are still numbers
constexpr double largest_weight = 1e100;
constexpr double first_sizes = 8.0;     // events whose size is measured before any is ranked
constexpr double largest_error = 10.0;  // in sizes: one wild label does not make the next intervals wide
constexpr double least_theta = -9.0;    // a level below every rank: nothing is missed there
constexpr double most_correction = 6.0;

const PerLevel log_odds_of_alphas = [] {
  PerLevel out;
  for (int k = 0; k < levels; ++k) out[k] = log(alphas[k] / (1.0 - alphas[k]));
  return out;
}();
const PerLevel largest_theta = [] {
  PerLevel out = log_odds_of_alphas;
  for (double& each : out) each += most_correction;
  return out;
}();

}  // namespace

ErrorTracker::ErrorTracker(Scores scores, Pace pace) : scores_(scores), pace_(pace), theta_(log_odds_of_alphas) {}

void ErrorTracker::add(double score, double weight) {
  if (!(weight > 0.0)) return;
  weight = std::min(weight, largest_weight);
  event_weights_.add(weight, 1.0, 1.0);
  if (event_weights_.mass == 1.0) return;
  score = clip(score, -largest_score, largest_score);
  const double c = weight / event_weights_.mean();
  if (scores_ == Scores::classes) {
    rank(score, c);
    return;
  }
  double error = std::fabs(score);
  if (sized_ >= first_sizes) {
    const double typical = size();
    rank(score == 0.0 ? 0.0 : score / std::max(typical, tiny), c);
    if (typical > 0.0) error = std::min(error, largest_error * typical);
  }
  short_size_.add(error, c, pace_.short_memory), long_size_.add(error, c, pace_.long_memory);
  sized_ += 1.0;
}

void ErrorTracker::rank(double score, double c) {
  const ScoreHistogram::Place at = ScoreHistogram::place_of(score);
  correct_levels(score == 0.0 && scores_ == Scores::numbers ? infinity : log_odds_of_rank(at, score > 0.0), c);
  histogram_.add(at, c);
}

// log(p/(1-p)) of the rank p of a score. Of numbers each tail has half of the misses, and the interval holds the prediction, so a
// score is only ever missed in the tail of its sign, and never if it is 0.
double ErrorTracker::log_odds_of_rank(ScoreHistogram::Place at, bool positive) const {
  const double total = histogram_.total();
  double worse = 0.0;
  if (scores_ == Scores::classes)
    worse = histogram_.above(at);
  else
    worse = std::min(2.0 * (positive ? histogram_.above(at) : histogram_.below(at)), total);
  return log((worse + histogram_.unit()) / std::max(total - worse, tiny));
}

void ErrorTracker::correct_levels(double log_odds, double c) {
  int missed = levels;  // the first level that missed it: what misses it with more coverage misses it with less
  while (missed > 0 && log_odds < theta_[missed - 1]) --missed;
  const double step = pace_.rate * c, all = histogram_.total() + histogram_.unit();
  const auto raise = [&](int k) { theta_[k] = minimum(theta_[k] + step * alphas[k], largest_theta[k]); };
  int first = 0;  // the first level that there are enough events for
  while (first < levels && alphas[first] * all < histogram_.unit()) ++first;
  if (first == 0)  // as is usual: a loop of fixed length is faster
    for (int k = 0; k < levels; ++k) raise(k);
  else
    for (int k = first; k < levels; ++k) raise(k);
  for (int k = missed; k < levels; ++k) {
    theta_[k] = maximum(theta_[k] - step, least_theta);
    missed_[k] += c;
  }
}

// a: between the levels by the log odds of alpha; beyond the first and the last with the same correction as there.
double ErrorTracker::level_of(double alpha) const {
  PerLevel theta = theta_;
  for (int k = levels - 1; k > 0; --k) theta[k - 1] = std::min(theta[k - 1], theta[k]);
  const PerLevel& at = log_odds_of_alphas;
  const double wanted = log(alpha / (1.0 - alpha));
  double found = 0.0;
  if (wanted <= at[0]) {
    found = theta[0] + (wanted - at[0]);
  } else if (wanted >= at[levels - 1]) {
    found = theta[levels - 1] + (wanted - at[levels - 1]);
  } else {
    int k = 1;
    while (at[k] < wanted) ++k;
    found = theta[k - 1] + (wanted - at[k - 1]) / (at[k] - at[k - 1]) * (theta[k] - theta[k - 1]);
  }
  return 1.0 / (1.0 + exp(-found));
}

Bounds ErrorTracker::bounds(double coverage) const {
  const double total = histogram_.total(), unit = histogram_.unit();
  const double worse = level_of(1.0 - coverage) * (total + unit) - unit;
  if (!(worse > 0.0)) return {-infinity, infinity};
  if (scores_ == Scores::classes) return {-infinity, histogram_.quantile(total - worse)};
  const double unit_of_score = size();
  return {std::min(histogram_.quantile(0.5 * worse), 0.0) * unit_of_score,
          std::max(histogram_.quantile(total - 0.5 * worse), 0.0) * unit_of_score};
}

PerLevel ErrorTracker::coverage_held() const {
  PerLevel out;
  for (int k = 0; k < levels; ++k) out[k] = 1.0 - missed_[k] / std::max(events(), 1.0);
  return out;
}

void ErrorTracker::merge(const ErrorTracker& other) {
  const double here = event_weights_.mass, there = other.event_weights_.mass;
  if (there == 0.0) return;
  const double part = there / (here + there);
  for (int k = 0; k < levels; ++k) {
    theta_[k] += part * (other.theta_[k] - theta_[k]);
    missed_[k] += other.missed_[k];
  }
  short_size_.merge(other.short_size_, part), long_size_.merge(other.long_size_, part);
  event_weights_.add(other.event_weights_);
  histogram_.merge(other.histogram_);
  sized_ = std::max(sized_, other.sized_);
}

void ErrorTracker::keep_share(double share) {
  histogram_.scale(share);
  event_weights_.sum *= share, event_weights_.mass *= share;
  for (double& each : missed_) each *= share;
}

ErrorTracker ErrorTracker::at_pace(Pace pace) const {
  ErrorTracker out = *this;
  out.pace_ = pace;
  return out;
}

std::vector<double> ErrorTracker::numbers() const {
  std::vector<double> out;
  if (events() > 0.0) each_number(*this, [&](double number) { out.push_back(number); });
  return out;
}

bool ErrorTracker::read(const std::vector<double>& numbers) {
  ErrorTracker made(scores_, pace_);
  std::size_t count = 0;
  if (!numbers.empty())
    each_number(made, [&](double& number) { number = count < numbers.size() ? numbers[count] : 0.0, ++count; });
  if (count != numbers.size() || !made.is_sound()) return false;
  *this = made;
  return true;
}

bool ErrorTracker::is_sound() const {
  bool sound = histogram_.is_sound() && sized_ >= 0.0;
  sound &= event_weights_.is_sound(largest_weight);
  sound &= short_size_.is_sound(largest_score) && long_size_.is_sound(largest_score);
  for (int k = 0; k < levels; ++k)
    sound &=
        theta_[k] >= least_theta && theta_[k] <= largest_theta[k] && missed_[k] >= 0.0 && std::isfinite(missed_[k]);
  return sound;
}

void Uncertainty::add(double score, double weight) {
  live.add(score, weight);
  const auto count = static_cast<std::uint64_t>(std::llround(live.events()));  // shares of events add up to rounding
  const std::uint64_t apart = std::max<std::uint64_t>(std::bit_floor(count) / 1024, 1);  // a power of two
  if ((count & (apart - 1)) == 0) steady.add(score, weight);
}

}  // namespace odca::uncertainty
