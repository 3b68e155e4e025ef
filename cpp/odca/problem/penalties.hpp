// Penalties R(w) = sum_j a_j r(w_j), and the simplex: value, conjugate and map = grad R*  (paper, table reg).
//
// A coordinate's weight is a piecewise linear function of x = S_j / (A a_j), so a penalty returns the line on
// which x lies: w = intercept + slope * x. Both the bracketed solve and the lazy smoothing rely on this.
#pragma once

#include <cmath>
#include <variant>
#include <vector>

#include "odca/math/functions.hpp"

namespace odca {

template <class V>
struct Line {
  V intercept, slope;
  bool operator==(const Line&) const = default;
};

// r(w) = (w - w0)^2 / 2;  w = w0 + x.
struct L2 {
  Line<double> line(double, double w0) const { return {w0, 1.0}; }
  double map(double x, double w0) const { return w0 + x; }
  double threshold() const { return 0.0; }

  bool operator==(const L2&) const = default;
};

// r(w) = delta |w - w0| + (w - w0)^2 / 2 + indicator(lo <= w <= hi),  lo <= w0 <= hi;
// w = clip(w0 + soft(x, delta), lo, hi). Elastic net, non-negative and box are special cases.
struct Separable {
  double delta = 0.0, lo = -infinity, hi = infinity;

  // Flat where the threshold keeps w at w0 or a bound is active; slope one elsewhere.
  template <class V>
  Line<V> line(const V& x, const V& w0) const {
    const V held = clip(x, broadcast<V>(-delta), broadcast<V>(delta));
    const V free = w0 + (x - held);
    const V w = clip(free, broadcast<V>(lo), broadcast<V>(hi));
    const auto moves = (x != held) & (w == free);
    return {moves ? w0 - held : w, moves ? broadcast<V>(1.0) : broadcast<V>(0.0)};
  }
  double map(double x, double w0) const { return clip(w0 + (x - clip(x, -delta, delta)), lo, hi); }
  bool is_unbounded() const { return lo == -infinity && hi == infinity; }
  double threshold() const { return delta; }

  bool operator==(const Separable&) const = default;
};

// R(w) = sum_j w_j log(w_j / pi_j) on the simplex;  w = softmax(x + log pi),  R*(x) = log sum_j pi_j e^(x_j).
struct KL {
  std::vector<double> log_prior;

  bool operator==(const KL&) const = default;
};

// strength * r(w), and strength * r*(x) with r*(x) = sup_w x w - r(w), which the map attains. The strength enters the
// products early: under a tiny strength x and w may be so large that their squares overflow.
template <class Penalty>
double value_times(double strength, const Penalty& penalty, double w, double w0) {
  const double d = w - w0;
  return 0.5 * (strength * d) * d + strength * penalty.threshold() * std::fabs(d);
}
template <class Penalty>
double conjugate_times(double strength, const Penalty& penalty, double x, double w0) {
  const double w = penalty.map(x, w0), d = w - w0;
  return (strength * x) * w0 + ((strength * d) * (x - 0.5 * d) - strength * penalty.threshold() * std::fabs(d));
}

using AnyPenalty = std::variant<L2, Separable, KL>;

}  // namespace odca
