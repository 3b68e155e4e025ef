// The automatic mode: many experts that learn from one read of each row, and mixers that combine their predictions, so that nothing
// has to be tuned. experts.hpp declares the experts; docs/auto.md derives everything.
//
// An event's row is standardised, every expert predicts, three mixers combine the predictions, and a mixture of the mixers is the
// prediction. Then mixers and experts learn, each by the scalar problem of the loss. The state depends on the order of events
// alone: however they are split into calls, it has the same bits. An event costs O(non-zeros x experts).
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
#include "odca/experts/pace.hpp"
#include "odca/experts/saved_state.hpp"
#include "odca/math/batch.hpp"
#include "odca/problem/losses.hpp"
#include "odca/sync/fair_mutex.hpp"
#include "odca/sync/long_call.hpp"

namespace odca::experts {

enum class Task { two_classes, classes, numbers };

inline constexpr double margin_bound = 10.0, probability_bound = 30.0, least_probability = 1e-15;

// The events of a call. Labels are 0 and 1, indices of classes, or numbers. Without weights all are one; without times each event
// comes a tick after the one before.
struct Events {
  const Batch& batch;
  const double* y = nullptr;
  const double* weight = nullptr;
  const double* time = nullptr;
};

class Experts {
 public:
  Experts(Task task, int classes);

  Task task() const { return task_; }
  int classes() const { return classes_; }
  // How many numbers a prediction has: the log odds of the second class, the log probabilities of all, or the number.
  int heads() const { return task_ == Task::classes ? classes_ : 1; }

  // Learns the events in order. Returns the prediction of each from before it was learned, [event][head], for as many as were
  // learned: all, unless the call was interrupted. A label one above the known classes is a new class, which has a head from its
  // event on. Invalid input is refused before anything changes.
  // `margins`, if given, receives those of every expert, [event][head][expert]; no new class may appear then.
  std::vector<double> learn(const Events& events, const Interrupted& interrupted = {},
                            std::vector<double>* margins = nullptr);
  std::vector<double> predict(const Batch& batch, const Interrupted& interrupted = {}) const;

  // Makes room for classes that may appear later.
  void declare(int classes);

  std::int64_t count() const;
  std::int64_t features() const;
  // The weight of each expert by Bayes' rule, in the order of the table; they sum to one.
  std::vector<double> weights() const;
  std::vector<double> history() const;
  double mean_norm() const;

  // Everything that was learned, and the reverse. restore() throws InputError for what is no state of this task, and nothing has
  // changed then.
  SavedState state() const;
  void restore(const SavedState& state);

 private:
  // What is computed for one event.
  struct Workspace {
    Batch::Scratch row;
    ScaledRow scaled;
    // [head][slot]: the experts' margins; bounded and centred; as probabilities, or numbers in range.
    std::vector<double> margin, bounded, likely;
    std::vector<double> of_mixers;  // [mixer][head]
    std::vector<double> mixed;      // [head]: probabilities, or the number
    std::vector<double> lambda;     // [head][row slot]
    std::vector<double> slopes;     // [proportionate expert][head]
    double simplex_margin = 0.0, kalman_margin = 0.0;
    double slope = 0.0, curvature = 0.0;  // of the loss at the prediction: g^2 and q

    explicit Workspace(int heads);
  };

  void require_valid(const Events& events) const;
  void add_classes(int classes);

  void evaluate(const Row& row, Workspace& work) const;
  void write_margins(Workspace& work) const;
  void append_prediction(const Workspace& work, std::vector<double>& out) const;
  void mix_two(Workspace& work) const;
  void mix_classes(Workspace& work) const;
  void use_bayes_for_unseen_classes(Workspace& work) const;
  void mix_number(Workspace& work) const;

  void learn_one(Workspace& work, double y, double c, double time);
  void learn_two(Workspace& work, double y, double c, const Pace& pace);
  void learn_classes(Workspace& work, int y, double c, const Pace& pace);
  void learn_number(Workspace& work, double y, double c, const Pace& pace);
  void mixers_learn_number(Workspace& work, double y, double c, double variance, const Pace& pace);
  void step_experts(Workspace& work, double y, double c, const Pace& pace);
  void solve_classes(Workspace& work, int y, double sd, double* s) const;
  double against_others(const Workspace& work, const double* p, int y, double* x) const;
  double loss_of(const Workspace& work, double y) const;
  Pace pace_at(double time);

  int class_count() const { return task_ == Task::numbers ? 0 : classes_; }
  void read_parts(const SavedState::Parts& parts);
  void require_possible() const;

  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    FeatureTable::each_part(self.features_, visit);
    ClassLabels::each_part(self.class_labels_, visit);
    NumberLabels::each_part(self.number_labels_, visit);
    History::each_part(self.history_, visit);
    visit("bayes", self.bayes_.weight), visit("simplex", self.simplex_.weight), visit("top", self.top_.weight);
    visit("kalman", self.kalman_.weight), visit("covariance", self.kalman_.covariance);
    visit("residual", self.residual_.sum), visit("residual_mass", self.residual_.mass);
    visit("kalman_residual", self.kalman_residual_.sum), visit("kalman_residual_mass", self.kalman_residual_.mass);
    visit("weights", self.event_weights_.sum), visit("weighed", self.event_weights_.mass);
    visit("count", self.count_), visit("timed", self.timed_);
    visit("first_time", self.first_time_), visit("last_time", self.last_time_);
  }

  Task task_;
  int classes_;
  FeatureTable features_;
  ClassLabels class_labels_;
  NumberLabels number_labels_;
  Bayes bayes_;
  Simplex simplex_;
  Kalman kalman_;
  Top top_;
  FadingMean residual_, kalman_residual_;  // squared errors, of numbers
  FadingMean event_weights_;
  std::int64_t count_ = 0, timed_ = 0;
  double first_time_ = 0.0, last_time_ = 0.0;
  History history_;
  Logistic logistic_;
  std::mutex writing_;  // calls that write come one after another; the mutex opens between events
  mutable FairMutex mutex_;
};

}  // namespace odca::experts
