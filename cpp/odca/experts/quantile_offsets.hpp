// What experts miss, for absolute error and quantiles.
//
// The dual step of a quantile's loss knows of a label only on which side of the margin it lies, and is bounded: right for experts that
// learn how the quantile depends on the row, too slow for those that follow the labels closely. Those (Expert::follows_level), and those
// that know the labels alone, follow the level of the labels by squared error, and the quantile lies above or below it. So each
// expert k predicts z_k + u_k, where u_k is the quantile of what z_k missed, mostly in the last 500 events. u_k takes the dual steps of
// the loss, in a unit that has the shape of the mixture's residuals and the size of the expert's own.
#pragma once

#include <algorithm>
#include <cmath>

#include "odca/experts/experts.hpp"
#include "odca/experts/number_loss.hpp"
#include "odca/math/checks.hpp"

namespace odca::experts {

class QuantileOffsets {
 public:
  void add_to(int count, double* margin) const {
    for (int k = 0; k < count; ++k) margin[k] += offset_[k];
  }

  // `margin` of the first so many experts, with their offsets. The unit is that of the mixture's predictions, which miss by `size` on
  // average.
  void learn(const UnitLoss& unit, double size, int count, const double* margin, double y, double c) {
    mass_ = mass_ * memory + c;
    const double s = c / mass_;
    for (int k = 0; k < count; ++k) {
      miss_[k] = miss_[k] * memory + c * std::min(std::fabs(y - margin[k]), largest_miss);
      const double own = miss_[k] / mass_;
      if (!(own > 0.0 && size > 0.0)) continue;
      const UnitLoss of_expert{unit.loss, unit.kappa * (size / own)};
      const double moved = offset_[k] + s / (1.0 + s) * of_expert.residual(margin[k], s, y);
      offset_[k] = clip(moved, -largest_miss, largest_miss);
    }
  }
  void join_products() {
    for (int k = 0; k < product_experts; ++k)
      offset_[first_product_expert + k] = offset_[k], miss_[first_product_expert + k] = miss_[k];
  }

  void merge(const QuantileOffsets& other, double part) {
    mass_ += part * (other.mass_ - mass_);
    for (int k = 0; k < expert_count; ++k)
      offset_[k] += part * (other.offset_[k] - offset_[k]), miss_[k] += part * (other.miss_[k] - miss_[k]);
  }

  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    visit("offsets", self.offset_), visit("offset_misses", self.miss_), visit("offset_mass", self.mass_);
  }
  bool is_sound() const {
    return mass_ >= 0.0 && mass_ <= 1e40 && all_within(offset_, largest_miss) && none_negative(miss_) &&
           all_within(miss_, largest_miss * mass_ * (1.0 + 1e-9));
  }

 private:
  static constexpr double memory = 0.998;

  PerExpert offset_{}, miss_{};  // u; the fading sums of what was missed, which share a mass
  double mass_ = 0.0;
};

}  // namespace odca::experts
