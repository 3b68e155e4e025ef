// What numbers are judged by: squared error, absolute error, a quantile's loss, or that of counts (Poisson).
//
// Experts and mixers are derived for squared error: its residual is y - p, its curvature one. Any other loss Q takes its place by its
// unit and its residual. With kappa, the mean curvature of Q along the stream, Q / kappa has the mean curvature one, like squared error;
// so rates, priors and strengths mean what they mean there. Its exact dual step at the margin p with slope s is
//
//     lambda' = lambda(p, s / kappa; y) / kappa        lambda of problem/losses.hpp
//
// and squared error would take the same step if its residual were
//
//     e(p, s; y) = (1 + s) lambda'
//
// which is y - p for squared error itself. So every formula of least squares holds with e in place of y - p. E e(p, 0)^2 is what the
// variance of the residuals is there: divided by it, Q / kappa is a log likelihood, as E Q'' = E Q'^2 holds for these. docs/auto.md says
// more.
//
// For absolute error and quantiles, the curvature of the expected loss is the density of the residuals at zero, times the jump of the
// slope there. Counts have a log link: the margin is the logarithm of the predicted mean, and the curvature is that mean.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "odca/errors.hpp"
#include "odca/math/fading_mean.hpp"
#include "odca/math/functions.hpp"
#include "odca/problem/losses.hpp"

namespace odca::experts {

// Labels are at most 1e100; what is further off counts as this far.
inline constexpr double largest_miss = 1e101;

class NumberLoss {
 public:
  NumberLoss() : NumberLoss(named_loss("squared_error", 0.0)) {}
  explicit NumberLoss(const AnyLoss& loss) : loss_(loss) {
    const auto* const pieces = std::get_if<PiecewiseQuadratic>(&loss);
    is_squared_ = loss == named_loss("squared_error", 0.0);
    has_log_link_ = std::holds_alternative<Poisson>(loss);
    const bool is_quantile = pieces && *pieces == PiecewiseQuadratic{.lo = pieces->lo, .hi = pieces->hi} &&
                             pieces->lo < 0.0 && pieces->hi > 0.0 && std::isfinite(pieces->hi - pieces->lo);
    if (is_quantile) jump_ = pieces->hi - pieces->lo, quantile_ = pieces->hi / jump_;
    if (!is_squared_ && !has_log_link_ && !is_quantile)
      throw InputError("the automatic mode has squared_error, absolute_error, quantile and poisson for numbers");
  }

  bool is_squared() const { return is_squared_; }
  bool has_log_link() const { return has_log_link_; }
  bool is_quantile() const { return jump_ > 0.0; }
  double jump() const { return jump_; }          // of the slope, where the residual is zero
  double quantile() const { return quantile_; }  // that the prediction is
  bool is_label(double y) const { return !has_log_link_ || y >= 0.0; }

  // From a margin to what is predicted, and back. Margins of counts are bounded, so that means and their squares are numbers.
  double answer(double z) const { return has_log_link_ ? exp(bounded(z)) : z; }
  double answer_slope(double z) const { return has_log_link_ ? answer(z) : 1.0; }
  double margin(double answer) const { return has_log_link_ ? log(answer) : answer; }

  double lambda(double p, double s, double y) const {
    if (!has_log_link_) return std::get<PiecewiseQuadratic>(loss_).lambda(p, s, y);
    const double lambda = std::get<Poisson>(loss_).lambda(bounded(p), s, y);
    // The exponential of a logarithm differs from the number by rounding. A scale must not be made of that.
    return s == 0.0 && std::fabs(lambda) <= rounding * y ? 0.0 : lambda;
  }
  // Above the least that a prediction of y can have.
  double excess(double z, double y) const {
    if (!has_log_link_) return std::get<PiecewiseQuadratic>(loss_).value(z, y);
    const double least = y > 0.0 ? y - y * log(y) : 0.0;
    return std::max(std::get<Poisson>(loss_).value(bounded(z), y) - least, 0.0);
  }

  bool operator==(const NumberLoss& other) const { return loss_ == other.loss_; }

 private:
  static constexpr double largest_log = 300.0, rounding = 1e-13;

  static double bounded(double z) { return clip(z, -largest_log, largest_log); }

  AnyLoss loss_;
  bool is_squared_ = false, has_log_link_ = false;
  double jump_ = 0.0, quantile_ = 0.0;
};

// A loss in units of its mean curvature kappa. Before anything is known of kappa (0), residuals are those of squared error.
struct UnitLoss {
  const NumberLoss& loss;
  double kappa;

  double residual(double p, double s, double y) const {
    if (loss.is_squared() || kappa == 0.0) return y - p;
    return (1.0 + s) * (loss.lambda(p, s / kappa, y) / kappa);
  }
  double cost(double z, double y) const { return kappa > 0.0 ? loss.excess(z, y) / kappa : 0.0; }
  double curvature(double z) const { return loss.has_log_link() ? loss.answer(z) / kappa : 1.0; }

  // Slopes are kept as they are, so that what was known of them holds in every unit. From the mean of their squares to that of
  // e(p, 0)^2.
  double slope(double z, double y) const { return kappa > 0.0 ? kappa * residual(z, 0.0, y) : 0.0; }
  double variance(const FadingMean& squares) const { return kappa > 0.0 ? squares.mean() / (kappa * kappa) : 0.0; }
};

// kappa along a stream, from what was predicted. Of a quantile it is the jump of the slope times the density of the residuals at zero:
// the mean of a triangular kernel, whose width is in proportion to the mean of |y - z| and narrower for quantiles far out. Of counts it
// is the mean label.
class MeanCurvature {
 public:
  double size() const { return size_.mean(); }
  double kappa(const NumberLoss& loss) const {
    if (loss.is_squared()) return 1.0;
    if (loss.has_log_link()) return (size_.sum + 0.5) / (size_.mass + 0.5);
    const double d = width(loss);
    if (!(d > 0.0)) return 0.0;
    return loss.jump() * std::max((near_.sum + prior * prior_share) / (near_.mass + prior), least_share) / d;
  }

  void learn(const NumberLoss& loss, double z, double y, double c) {
    if (loss.is_squared()) return;
    if (loss.has_log_link()) return size_.add(y, c, slow_memory);
    const double miss = std::min(std::fabs(y - z), largest_miss);
    size_.add(miss, c, size_memory);
    const double d = width(loss);
    if (d > 0.0) near_.add(std::max(1.0 - miss / d, 0.0), c, slow_memory);
  }

  void merge(const MeanCurvature& other, double part) {
    size_.merge(other.size_, part), near_.merge(other.near_, part);
  }

  // `whose` comes before the names.
  template <class Self, class Visit>
  static void each_part(Self& self, const std::string& whose, Visit&& visit) {
    visit((whose + "size").c_str(), self.size_.sum), visit((whose + "size_mass").c_str(), self.size_.mass);
    visit((whose + "near").c_str(), self.near_.sum), visit((whose + "near_mass").c_str(), self.near_.mass);
  }
  bool is_sound() const { return size_.is_sound(largest_miss) && near_.is_sound(1.0); }

 private:
  static constexpr double size_memory = 0.998, slow_memory = 1.0 - 1.0 / 4096;
  static constexpr double prior = 8.0, prior_share = 0.5, least_share = 0.02;

  double width(const NumberLoss& loss) const {
    return 2.0 * square_root(loss.quantile() * (1.0 - loss.quantile())) * size_.mean();
  }

  FadingMean size_, near_;
};

}  // namespace odca::experts
