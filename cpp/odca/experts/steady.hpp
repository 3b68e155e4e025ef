// The steady answer: what to predict while no labels are coming in.
//
// The live answer leans on experts that follow the last labels, and on mixing weights that were learned one event ahead. Once labels
// stop, both stay at whatever came last. The steady answer mixes only the members that experts.hpp names: weights that remember the
// whole stream, averages of weights, and the base rate of the labels. Their mixing weights s lie on the simplex, so the answer is
//
//     z = base + sum_k s_k (b_k + w_k'x + q (c_k + v_k'p))
//
// one linear model in the user's units, of x and of the products p of features, once pairs were chosen (mixture.hpp). c_k + v_k'p is
// what the expert's twin with products adds, and q the share of the twins.
//
// s is learned as it will be used: on events some way ahead. After 16 events, and whenever their number has doubled since, the members
// are frozen, and until the next time the frozen members predict what comes. So a model of n events is judged by how it would have
// done on the n events after, had the labels stopped. Where nothing carries over any longer, because the stream has changed, members are
// frozen anew after n/2 events: those from before the change have nothing more to say. (Events of weight 0 do not count.) s is O-DCA's own solution of this problem under KL, the paper's third
// regulariser, at a strength of 10 plus 0.01 for each event it was judged by, over an exponential window: what does not carry over
// loses its weight to what does, and to the base rate if nothing does.
//
// q is learned in the same way, as the weight of the second of two: the members' mixture without and with all of their products. Products
// that helped on the events before often harm on later ones that are different, so they have to show that they are worth much: q begins
// at 0.01, and its strength is 10 plus 0.05 for each event. s does not depend on q. About 4,096 events at most are judged between two freezes,
// evenly spaced, so that in the long run both the judging and the freezing cost next to nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "odca/experts/experts.hpp"
#include "odca/experts/feature_table.hpp"
#include "odca/experts/label_means.hpp"
#include "odca/experts/number_loss.hpp"
#include "odca/experts/pairs.hpp"
#include "odca/math/aligned.hpp"
#include "odca/math/row.hpp"
#include "odca/problem/losses.hpp"
#include "odca/problem/product_terms.hpp"

namespace odca::experts {

// A margin far beyond all use, where a sum overflows. Sums of its squares are still numbers, whatever they weigh.
inline constexpr double largest_margin = 1e140;
inline double within_numbers(double z) { return z == z ? clip(z, -largest_margin, largest_margin) : 0.0; }

class SteadyMixer {
 public:
  // The weights of the members; they sum to one.
  const PerMember& weight() const { return weight_; }
  // Where a quantile is predicted, what is added to the mixture: the quantile of what it missed. Some experts follow the level of the
  // labels (quantile_offsets.hpp), and all are judged some way ahead.
  double offset() const { return offset_; }
  // Whether there are products; and their weights, q s.
  bool has_products() const { return has_products_; }
  PerMember product_weight() const {
    PerMember out{};
    for (int m = 0; m < row_members; ++m) out[m] = product_share_ * weight_[m];
    return out;
  }

  // Whether the members are to be frozen after so many events: twice as many as the last time, or half as many more where nothing of
  // what was frozen carries over any longer, as after a sudden change.
  bool is_due(std::int64_t events) const {
    const std::int64_t next =
        weight_[row_members] > nothing_carries_over ? frozen_at_ + frozen_at_ / 2 : 2 * frozen_at_;
    return events >= std::max(first_freeze, next);
  }
  // What the experts with products have learned of these, and by which pairs.
  struct Products {
    const FeatureTable& table;
    const Pairs& pairs;
  };
  void freeze(std::int64_t events, const FeatureTable& features, const Products* products, std::vector<double> base);

  // Whether the event of this number is one to be judged by.
  bool judges(std::int64_t event) const {
    return is_frozen() && event % std::max<std::int64_t>(frozen_at_ / most_judged, 1) == 0;
  }
  [[gnu::always_inline]] void prefetch(std::int64_t feature) const {
    const auto at = static_cast<std::size_t>(feature) * constant_.size();
    if (at < slopes_.size()) __builtin_prefetch(&slopes_[at]);
  }
  // Judges the frozen members by the event of this number, if it is one to be judged by: y is a class, or a number with a loss. Then it
  // returns how badly their mixture predicted it, as a score of uncertainty/error_tracker.hpp.
  std::optional<double> judge(std::int64_t event, const Row& row, double y, double c, const NumberLoss* loss);

  // Takes `part` of what the other has learned and the rest of its own. The frozen members stay those of this one: if the other's are
  // not the same, which they are in the parts of a model until one of them freezes its own, they are to be frozen anew.
  void merge(const SteadyMixer& other, double part);
  bool has_frozen_as(const SteadyMixer& other) const;
  // How many features the frozen members know; after how many events they were frozen, and how that is counted in a part of a model.
  std::int64_t frozen_features() const {
    return is_frozen() ? static_cast<std::int64_t>(slopes_.size() / constant_.size()) : 0;
  }
  std::int64_t frozen_at() const { return frozen_at_; }
  void count_frozen_at(std::int64_t events) { frozen_at_ = events; }

  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    visit("steady_sum", self.sum_), visit("steady_mass", self.mass_), visit("steady_product_sum", self.product_sum_);
    visit("steady_residual", self.residual_.sum), visit("steady_residual_mass", self.residual_.mass);
    visit("frozen", self.slopes_), visit("frozen_constant", self.constant_), visit("frozen_base", self.base_);
    visit("frozen_pairs", self.frozen_pairs_), visit("frozen_forms", self.frozen_forms_);
    visit("frozen_products", self.product_slopes_), visit("frozen_product_constant", self.product_constant_);
    visit("frozen_at", self.frozen_at_);
  }
  // Of other losses of numbers than squared error.
  template <class Self, class Visit>
  static void each_loss_part(Self& self, Visit&& visit) {
    MeanCurvature::each_part(self.curvature_, "steady_residual_", visit);
    visit("steady_offset", self.offset_);
  }
  // After these were read. False if they do not fit together, or not to experts that learned from so many events, with or without
  // products.
  bool complete(std::int64_t events, const FeatureTable& features, bool with_products);

 private:
  static constexpr std::int64_t first_freeze = 16, most_judged = 4096;
  static constexpr double strength = 10.0, strength_by_event = 0.01;
  static constexpr double nothing_carries_over = 0.9;  // of the weight is the base rate's
  static constexpr double prior_of_products = 0.01, product_strength_by_event = 0.05;

  int heads() const { return static_cast<int>(base_.size()); }
  bool is_frozen() const { return !base_.empty(); }
  void freeze_products(const FeatureTable& features, const Products& products);
  void leave_products();
  void number_terms();
  bool products_fit(const FeatureTable& features, bool with_products) const;
  void write_margins(const Row& row, double* z) const;
  void add_products(const Row& row, double* z) const;
  std::vector<double> mixed(const double* of_members) const;
  // The scalar problem of the event: what each member says, so that larger is better, and lambda. And the score of the mixture, and
  // its margin for numbers.
  struct Solved {
    double lambda, score, margin = 0.0;
  };
  Solved solve_number(const double* z, double y, double c, const NumberLoss& loss, PerMember& x);
  Solved solve_class(const double* z, int y, double c, PerMember& x) const;
  // The same for the share of products, of which each member adds so much, [head][member slot].
  Solved solve_products(const double* z, const double* added, double y, double c, const NumberLoss* loss,
                        double& gain) const;
  double spread(const PerMember& x) const;
  double total_strength() const { return strength + strength_by_event * mass_; }
  double product_strength() const { return strength + product_strength_by_event * mass_; }
  void update_weight();

  PerMember sum_{};          // S
  double mass_ = 0.0;        // of the events that it was judged by, under the window
  FadingMean residual_;      // squared slopes of the loss, of numbers
  MeanCurvature curvature_;  // of the loss, at the mixture of the frozen members
  double offset_ = 0.0;
  ModelVector slopes_;        // of the frozen members, [feature][head][member slot]
  ModelVector constant_;      // [head][member slot]
  std::vector<double> base_;  // [head]
  // What the frozen twins add to their members: the products' pairs, [term][2], centre and scale of both features, [term][4], the slopes
  // along the products, [term][head][member slot], and constants, [head][member slot].
  std::vector<std::int64_t> frozen_pairs_;
  std::vector<double> frozen_forms_;
  ModelVector product_slopes_, product_constant_;
  ProductTerms terms_;        // of these pairs and forms
  double product_sum_ = 0.0;  // S of the products, less that of the members without
  bool has_products_ = false;
  double product_share_ = 0.0;  // q
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
