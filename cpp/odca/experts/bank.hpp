// A bank of lanes that learn from one read of each row, and mixers of what they say: nothing to tune. docs/auto.md derives it.
//
// An event is brought to scale, every lane says its margin, three mixers mix them, and the mixture of the mixers is what the bank says. Then
// all of them learn, each by the scalar problem of the loss. Everything is decided by the order of the events: however they are cut into calls,
// the bank has the same bits. O(non-zeros x lanes) for an event.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "odca/experts/experts.hpp"
#include "odca/experts/feature_table.hpp"
#include "odca/experts/history.hpp"
#include "odca/experts/label_means.hpp"
#include "odca/experts/mixers.hpp"
#include "odca/math/batch.hpp"
#include "odca/problem/losses.hpp"
#include "odca/sync/fair_mutex.hpp"
#include "odca/sync/long_call.hpp"

namespace odca::bank {

enum class Task { two_classes, classes, numbers };

// Events of a call. Labels are 0 and 1, the places of classes, or numbers; no weights are all one, no times a tick for each event.
struct Events {
  const Batch& batch;
  const double* y = nullptr;
  const double* weight = nullptr;
  const double* time = nullptr;
};

class Bank {
 public:
  Bank(Task task, int classes);

  Task task() const { return task_; }
  int classes() const { return classes_; }
  // How many numbers the bank says of an event: log odds of the second class, log probabilities of all, or the number.
  int heads() const { return task_ == Task::classes ? classes_ : 1; }

  // Learns the events in order; returns what the bank said of each before, [event][head], of as many as were learned: all, unless it was
  // interrupted. A class behind those that are known is met at its event: from there on it has a head. What cannot be learned from is refused
  // before anything changes.
  // `margins` gets those of every lane, [event][head][lane], where it is given; there classes must not appear on the way.
  std::vector<double> learn(const Events& events, const Interrupted& interrupted = {},
                            std::vector<double>* margins = nullptr);
  std::vector<double> predict(const Batch& batch, const Interrupted& interrupted = {}) const;

  // Makes room for classes that have not come yet.
  void declare(int classes);

  std::int64_t count() const;
  std::int64_t features() const;
  // How much each lane is believed now, by Bayes' rule; they sum to one.
  PerLaneArray weights() const;
  std::vector<double> history() const;
  double mean_norm() const;

  // All that the bank is, as named arrays, and the reverse; InputError for what is no bank of this task.
  using State = std::vector<std::pair<std::string, std::vector<double>>>;
  State state() const;
  void restore(const State& state);

 private:
  // What is thought of one event.
  struct Thought {
    Batch::Scratch row;
    Features::Scaled scaled;
    // [head][lane]: as it is; bounded and centred; as a probability, or a number in range.
    std::vector<double> margin, bounded, likely;
    std::vector<double> told;   // [mixer][head]
    std::vector<double> mixed;  // [head]: probabilities, or the number
    std::vector<double> lambda, slopes;
    double simplex_margin = 0.0, kalman_margin = 0.0;
    double slope = 0.0, curvature = 0.0;  // of the loss at what is said: g^2 and q

    explicit Thought(int heads);
  };

  void require_sound(const Events& events) const;
  void read_parts(const State& state);
  void require_possible() const;
  void meet(int classes);
  void think(const Row& row, Thought& thought) const;
  void say(const Thought& thought, std::vector<double>& told) const;
  void mix_two(Thought& thought) const;
  void mix_classes(Thought& thought) const;
  void trust_bayes_with_the_unseen(Thought& thought) const;
  void mix_number(Thought& thought) const;
  void learn_one(Thought& thought, double y, double c, double time);
  void learn_two(Thought& thought, double y, double c, const Pace& pace);
  void learn_classes(Thought& thought, int y, double c, const Pace& pace);
  void learn_number(Thought& thought, double y, double c, const Pace& pace);
  void step_lanes(Thought& thought, double y, double c, const Pace& pace);
  double against_others(const Thought& thought, const double* p, int y, double* x) const;
  double loss_of(const Thought& thought, double y) const;
  Pace pace_at(double time);

  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    Features::each_part(self.features_, visit);
    ClassLabels::each_part(self.classes_seen_, visit);
    NumberLabels::each_part(self.numbers_seen_, visit);
    History::each_part(self.history_, visit);
    visit("bayes", self.bayes_.weight), visit("simplex", self.simplex_.weight), visit("top", self.top_.weight);
    visit("kalman", self.kalman_.weight), visit("covariance", self.kalman_.covariance);
    visit("residual", self.residual_.sum), visit("residual_mass", self.residual_.mass);
    visit("kalman_residual", self.kalman_residual_.sum), visit("kalman_residual_mass", self.kalman_residual_.mass);
    visit("weights", self.weights_.sum), visit("weighed", self.weights_.mass);
    visit("count", self.count_), visit("timed", self.timed_);
    visit("first_time", self.first_time_), visit("last_time", self.last_time_);
  }

  Task task_;
  int classes_;
  Features features_;
  ClassLabels classes_seen_;
  NumberLabels numbers_seen_;
  Bayes bayes_;
  Simplex simplex_;
  Kalman kalman_;
  Top top_;
  Fading residual_, kalman_residual_;  // squared, of numbers
  Fading weights_;                     // of events
  std::int64_t count_ = 0, timed_ = 0;
  double first_time_ = 0.0, last_time_ = 0.0;
  History history_;
  Logistic logistic_;
  std::mutex writing_;  // calls that write come one after another; the mutex opens between events
  mutable FairMutex mutex_;
};

}  // namespace odca::bank
