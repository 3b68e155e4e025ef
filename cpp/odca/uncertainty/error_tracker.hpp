// How far from the truth predictions are: what turns them into intervals and sets that hold the coverage they promise, on any stream.
// docs/intervals.md derives the rule and its guarantee; tests/uncertainty/slow_tracker.py is the same in slow, literal Python.
//
// An event's score says how badly it was predicted before it was learned: y - z for a number, minus the log odds of the true class for a
// class. Numbers are divided by how large errors have been lately. Its rank p is the share of earlier scores that are at least as bad.
// The interval of coverage 1 - alpha holds whatever would have a rank p of at least a. With a = alpha that is exact for events that come
// in any order. Under drift it is not, so log(a/(1-a)) is corrected after every event, for each of twelve alphas:
//
//     theta <- theta + rate (alpha - [the event was missed])
//
// Misses beyond alpha of the events are therefore (theta before - theta after) / rate, over any stretch of any stream; and theta is bounded.
#pragma once

#include <array>
#include <vector>

#include "odca/math/fading_mean.hpp"
#include "odca/uncertainty/score_histogram.hpp"

namespace odca::uncertainty {

enum class Scores { numbers, classes };

// How fast it adapts: the rate above, and what the two means of the size of errors keep at an event.
struct Pace {
  double rate, short_memory, long_memory;

  static constexpr Pace of(double rate, double short_events, double long_events) {
    return {rate, 1.0 - 1.0 / short_events, 1.0 - 1.0 / long_events};
  }
};
// While labels keep coming in, coverage is held over every stretch of events. Once they stop, no correction comes any more: then the mean
// over many events is what to go by. Chosen on eleven streams (docs/intervals.md).
inline constexpr Pace live_pace = Pace::of(0.25, 8.0, 128.0), steady_pace = Pace::of(0.002, 1024.0, 1024.0);

// Shares of events that may be missed, for which the level is corrected. Those between are interpolated.
inline constexpr auto alphas =
    std::to_array<double>({0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9});
inline constexpr int levels = static_cast<int>(alphas.size());
using PerLevel = std::array<double, levels>;

// Of scores; infinite where too little is known.
struct Bounds {
  double lower, upper;
};

// The score of a class that was said to have these log odds. Those that a float cannot tell from certainty count alike.
inline double score_of_class(double log_odds) { return -clip(log_odds, -34.0, 34.0); }
inline constexpr double score_of_unknown_class = 34.0;
inline double score_of_probability(double p) { return score_of_class(log(p / std::max(1.0 - p, tiny))); }

class ErrorTracker {
 public:
  ErrorTracker(Scores scores, Pace pace);

  // Of the very first event nothing was known that it could be predicted from: its score does not count.
  void add(double score, double weight);
  // What covers a share of `coverage`, in (0, 1), of the scores to come.
  Bounds bounds(double coverage) const;

  // The number of events, and how much of their weight the bounds held that were given for them: of each level.
  double events() const { return event_weights_.mass; }
  PerLevel coverage_held() const;

  // Becomes what it would be of its own events and the other's: weights add, levels and sizes are averaged by weight.
  void merge(const ErrorTracker& other);
  // Keeps a share of the weight.
  void keep_share(double share);
  // The same scores, from now on at another pace.
  ErrorTracker at_pace(Pace pace) const;

  // Everything that was learned; nothing if there was no event. And the reverse: false if it cannot be.
  std::vector<double> numbers() const;
  bool read(const std::vector<double>& numbers);

 private:
  double size() const { return 0.5 * (short_size_.mean() + long_size_.mean()); }
  void rank(double score, double c);
  double log_odds_of_rank(ScoreHistogram::Place at, bool positive) const;
  void correct_levels(double log_odds, double c);
  double level_of(double alpha) const;
  bool is_sound() const;

  template <class Self, class Visit>
  static void each_number(Self& self, Visit&& visit) {
    for (auto* mean : {&self.event_weights_, &self.short_size_, &self.long_size_}) visit(mean->sum), visit(mean->mass);
    visit(self.sized_);
    for (auto& each : self.theta_) visit(each);
    for (auto& each : self.missed_) visit(each);
    ScoreHistogram::each_number(self.histogram_, visit);
  }

  Scores scores_;
  Pace pace_;
  ScoreHistogram histogram_;           // of scores, relative to the size of errors
  PerLevel theta_, missed_{};          // missed: weight
  FadingMean event_weights_;           // of all events: only ratios of weights matter
  FadingMean short_size_, long_size_;  // |score|, of numbers
  double sized_ = 0.0;                 // how many events those know
};

// The scores of a model's predictions, each made before its event was learned: for a time in which labels keep coming in, and for one
// in which they do not.
struct Uncertainty {
  ErrorTracker live, steady;

  explicit Uncertainty(Scores scores) : live(scores, live_pace), steady(scores, steady_pace) {}

  // For a model whose answer is the same in both cases. From 2,048 events on, `steady` takes about 1,024 while their number doubles.
  void add(double score, double weight);
  void merge(const Uncertainty& other) { live.merge(other.live), steady.merge(other.steady); }
  void keep_share(double share) { live.keep_share(share), steady.keep_share(share); }
};

}  // namespace odca::uncertainty
