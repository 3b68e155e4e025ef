// The steady answer: what to predict while no labels are coming in.
//
// The live answer leans on experts that follow the last labels, and on mixing weights that were learned one event ahead. Once labels
// stop, both stay at whatever came last. The steady answer mixes only the members that experts.hpp names: weights that remember the
// whole stream, averages of weights, and the base rate of the labels. Their mixing weights s lie on the simplex, so the answer is
//
//     z = base + sum_k s_k (b_k + w_k'x)
//
// one linear model in the user's units.
//
// s is learned as it will be used: on events some way ahead. After 16 events, and whenever their number has doubled since, the members
// are frozen, and until the next time the frozen members predict what comes. So a model of n events is judged by how it would have
// done on the n events after, had the labels stopped. (Events of weight 0 do not count.) s is O-DCA's own solution of this problem under KL, the paper's third
// regulariser, at a strength of 10 plus 0.01 for each event it was judged by, over an exponential window: what does not carry over
// loses its weight to what does, and to the base rate if nothing does. About 4,096 events at most are judged between two freezes,
// evenly spaced, so that in the long run both the judging and the freezing cost next to nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "odca/experts/experts.hpp"
#include "odca/experts/feature_table.hpp"
#include "odca/experts/label_means.hpp"
#include "odca/math/aligned.hpp"
#include "odca/math/row.hpp"
#include "odca/problem/losses.hpp"

namespace odca::experts {

// A margin far beyond all use, where a sum overflows. Sums of its squares are still numbers, whatever they weigh.
inline constexpr double largest_margin = 1e140;
inline double within_numbers(double z) { return z == z ? clip(z, -largest_margin, largest_margin) : 0.0; }

class SteadyMixer {
 public:
  // The weights of the members; they sum to one.
  const PerMember& weight() const { return weight_; }

  // Whether the members are to be frozen after so many events.
  bool is_due(std::int64_t events) const { return events >= std::max(first_freeze, 2 * frozen_at_); }
  void freeze(std::int64_t events, const FeatureTable& features, std::vector<double> base);

  // Judges the frozen members by the event of this number, if it is one to be judged by: y is a class, or a number. Then it returns how
  // badly their mixture predicted it, as a score of uncertainty/error_tracker.hpp.
  std::optional<double> judge(std::int64_t event, const Row& row, double y, double c, bool is_number);

  // Takes `part` of what the other has learned and the rest of its own. The members are to be frozen anew after it.
  void merge(const SteadyMixer& other, double part);

  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    visit("steady_sum", self.sum_), visit("steady_mass", self.mass_);
    visit("steady_residual", self.residual_.sum), visit("steady_residual_mass", self.residual_.mass);
    visit("frozen", self.slopes_), visit("frozen_constant", self.constant_), visit("frozen_base", self.base_);
    visit("frozen_at", self.frozen_at_);
  }
  // After these were read. False if they do not fit together, or not to experts that learned from so many events.
  bool complete(std::int64_t events, const FeatureTable& features);

 private:
  static constexpr std::int64_t first_freeze = 16, most_judged = 4096;
  static constexpr double strength = 10.0, strength_by_event = 0.01;

  int heads() const { return static_cast<int>(base_.size()); }
  void write_margins(const Row& row, double* z) const;
  // The scalar problem of the event: what each member says, so that larger is better, and lambda. And the score of the mixture.
  struct Solved {
    double lambda, score;
  };
  Solved solve_number(const double* z, double y, double c, PerMember& x);
  Solved solve_class(const double* z, int y, double c, PerMember& x) const;
  double spread(const PerMember& x) const;
  double total_strength() const { return strength + strength_by_event * mass_; }
  void update_weight();

  PerMember sum_{};           // S
  double mass_ = 0.0;         // of the events that it was judged by, under the window
  FadingMean residual_;       // squared errors, of numbers
  ModelVector slopes_;        // of the frozen members, [feature][head][member slot]
  ModelVector constant_;      // [head][member slot]
  std::vector<double> base_;  // [head]
  std::int64_t frozen_at_ = 0;
  PerMember weight_ = equal_weights();
  Logistic logistic_;

  static constexpr PerMember equal_weights() {
    PerMember out{};
    for (int m = 0; m < member_count; ++m) out[m] = 1.0 / member_count;
    return out;
  }
};

}  // namespace odca::experts
