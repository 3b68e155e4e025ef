// Losses Q(z; y), seen through their dual.
//
// The step needs one thing from a loss: its dual variable along a line,
//
//     lambda(p, s, y):  the lambda with  lambda in -dQ(p + s*lambda; y),  s >= 0,
//
// the first-order condition of eq. mainAlgorithm1 when z(t) = p + t s. Eleven of the thirteen losses are
// one function with different parameters (PiecewiseQuadratic); the logistic and the Poisson loss require root finding.
// A loss works on scalars only. `value`, `conjugate` (of -lambda) and `subgradient` serve objectives and tests.
#pragma once

#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "odca/math/functions.hpp"

namespace odca {

enum class Labels { any, plus_minus_one, probability, nonnegative };

struct Interval {
  double lo, hi;
};

// Q*(-lambda) = -lambda y + e|lambda| + k lambda^2/2  for lambda in [lo, hi],  k = k_positive or k_negative
// by the sign of lambda. For a margin loss (y = -1 or +1) the interval is y * [0, hi].
//
// Minimising Q*(-t) + s t^2/2 + p t over t gives lambda = clip(soft(y - p, e) / (s + k), lo, hi), and the
// same formula at s = 0 gives -Q'(p): the loss itself is the biconjugate, lambda r - e|lambda| - k lambda^2/2
// at r = y - z. Where s + k = 0 the quotient is read as its limit, with 0/0 = 0.
struct PiecewiseQuadratic {
  double e = 0.0;
  double k_positive = 0.0, k_negative = 0.0;
  double lo = -infinity, hi = infinity;
  Labels labels = Labels::any;

  template <class V>
  V lower(const V& y) const {
    if (labels != Labels::plus_minus_one) return broadcast<V>(lo);
    return maximum(minimum(V(y * infinity), broadcast<V>(0.0)), broadcast<V>(-hi));
  }
  template <class V>
  V upper(const V& y) const {
    if (labels != Labels::plus_minus_one) return broadcast<V>(hi);
    return minimum(maximum(V(y * infinity), broadcast<V>(0.0)), broadcast<V>(hi));
  }

  template <class V>
  [[gnu::always_inline]] V lambda(const V& p, const V& s, const V& y) const {
    const V r = y - p;
    const V t = r - clip(r, broadcast<V>(-e), broadcast<V>(e));
    V k = broadcast<V>(k_positive);
    if (k_positive != k_negative) k = select(t > 0.0, k, broadcast<V>(k_negative));
    return clip(t / maximum(s + k, broadcast<V>(tiny)), lower(y), upper(y));
  }

  double curvature(double lambda) const { return select(lambda > 0.0, k_positive, k_negative); }

  [[gnu::always_inline]] double value(double z, double y) const {
    const double l = lambda(z, 0.0, y);
    return l * (y - z) - e * std::fabs(l) - 0.5 * curvature(l) * l * l;
  }

  double conjugate(double l, double y) const {
    return l < lower(y) || l > upper(y) ? infinity : conjugate_inside(l, y);
  }
  double conjugate_inside(double l, double y) const { return -l * y + e * std::fabs(l) + 0.5 * curvature(l) * l * l; }

  Interval subgradient(double z, double y) const {
    const double r = y - z, l = lambda(z, 0.0, y);
    const bool kink_above = r == e && k_positive == 0.0, kink_below = r == -e && k_negative == 0.0;
    return {kink_above ? -upper(y) : -l, kink_below ? -lower(y) : -l};
  }

  // For steps of all duals at once: whether Q has a second derivative (almost everywhere), that derivative at the z
  // where -Q' is lambda, and the lambda in the domain nearest to `to`.
  bool is_smooth() const { return k_positive > 0.0 && k_negative > 0.0; }
  double curvature_at(double l, double y) const {
    const bool moves = l > lower(y) && l < upper(y) && (l != 0.0 || e == 0.0);
    return moves ? 1.0 / curvature(l) : 0.0;
  }
  double inside(double, double to, double y) const { return clip(to, lower(y), upper(y)); }

  // Whether the dual is at the boundary of its domain: the event has the largest influence it can have.
  bool saturated(double l, double y) const { return (l != 0.0) & ((l == lower(y)) | (l == upper(y))); }

  bool operator==(const PiecewiseQuadratic&) const = default;
};

// Q = log(1 + e^z) - t z with t = max(y, 0) in [0, 1]; y = -1 and y = 0 both mean the negative class.
// Q*(-lambda) = a log a + (1-a) log(1-a) with a = t - lambda = sigma(z).
//
// lambda = t - sigma(z) at the root of z = p + s (t - sigma(z)). The equation is the same for -z and 1 - t,
// so let z >= 0; with m = p - s (1 - t) and o = sigma(-z) it reads G(z) = z - m - s o = 0, G concave and
// increasing. Halley's iteration; the last step, below 1e-5, carries sigma along by its Taylor series.
struct Logistic {
  static constexpr Labels labels = Labels::probability;
  static constexpr double moderate_s = 32.0;  // above, the first guess needs a logarithm
  static constexpr double last_step = 1e-5;
  static constexpr double last_step_near = 0.03;  // of an iteration that is repeated at every visit

  template <class V>
  struct Root {
    V z, opposite;  // z and sigma(-z)
  };

  static constexpr int most_steps = 60;

  // Where nothing can overflow: with e = e^-z, D = 1 + e, u = 1 - v and n = u e - v, all of it times a power of D is
  //
  //     G D = (z - p) D - s n,   G' D^2 = D^2 + s e,   G'' D^3 = s e (e - 1),   lambda = n / D
  //
  // so that Halley's step needs one division. It begins at z = p, and e follows z by the exponential of a short step: the one of p is
  // the only one that is computed in full. (p and lambda here are those of the problem for z >= 0.)
  static constexpr double near_p = 100.0, near_s = 4.0;
  static constexpr double short_step = 1.0 / 3;  // of an exponential that needs no reduction

  template <class V>
  static V near(const V& given_p, const V& s, const V& y) {
    const Reflected<V> at = reflected(given_p, s, y);
    const V p = at.sign * given_p, u = 1.0 - at.v;
    V z = p, e = exp_near(V(-p));
    auto done = s < 0.0;
    for (int step = 0; step < most_steps; ++step) {
      const V one_e = 1.0 + e, se = s * e, g = (z - p) * one_e + s * (at.v - u * e), slope = one_e * one_e + se;
      const V d = -(g * (slope * one_e)) / (slope * slope - (g * se) * (0.5 * e - 0.5));
      const auto is_last = magnitude(d) <= last_step;
      const V carried = e - e * (d * (1.0 - 0.5 * d));
      z = done ? z : z + d;
      if (all(done | is_last)) {
        e = done ? e : carried;
        break;
      }
      const V followed = all(magnitude(d) <= short_step) ? e * detail::exp_reduced(V(-d)) : followed_far(e, z, d);
      e = done ? e : (is_last ? carried : followed);
      done = done | is_last;
    }
    return at.sign * ((u * e - at.v) / (1.0 + e));
  }
  template <class V>
  [[gnu::noinline]] static V followed_far(const V& e, const V& z, const V& d) {
    return magnitude(d) <= short_step ? e * detail::exp_reduced(V(-d)) : exp_near(V(-z));
  }

  // One step of Halley's iteration from z, on G * unit; elements where `done` is set stay as they are.
  template <class V, class Mask>
  static void improve(Root<V>& root, const V& m, const V& unit, const V& unit_s, double last, Mask& done) {
    const V& z = root.z;
    const V e = exp(V(-z));
    const V sigma = 1.0 / (1.0 + e);
    const V o = e * sigma;
    const V g = unit * (z - m) - unit_s * o;
    const V w = unit_s * o * sigma;
    const V slope = unit + w;
    const V moved = maximum(V(z - g * slope / (slope * slope - 0.5 * g * w * (o - sigma))), broadcast<V>(0.0));
    const V d = moved - z;
    const V carried = o * (1.0 - sigma * d * (1.0 - 0.5 * (sigma - o) * d));
    root = {done ? z : moved, done ? root.opposite : carried};
    done = done | (magnitude(d) <= last);
  }

  template <class V, class Mask>
  static Root<V> polish(const V& z, const V& m, const V& s, const V& unit, double last, Mask done) {
    const V unit_s = unit * s;
    Root<V> root{z, broadcast<V>(0.5)};
    for (int step = 0; step < most_steps; ++step) {
      improve(root, m, unit, unit_s, last, done);
      if (all(done)) break;
    }
    return root;
  }

  // log(z - m) + log(1 + e^z) = log s is nearly a straight line in z when s is large.
  static double far_start(double m, double s) {
    const double floor = std::max(m, 0.0), log_s = log(s);
    double z = std::max(floor + tiny, std::min(floor + log1p(s), log_s - log(1.0 + std::fabs(m))));
    for (int iteration = 0; iteration < 6; ++iteration) {
      const double gap = std::max(z - m, 1e-300), e = exp(-z);
      const double psi = log(gap) + z + log1p(e) - log_s;
      const double before = std::exchange(z, std::max(z - psi / (1.0 / gap + 1.0 / (1.0 + e)), 0.5 * (z + floor)));
      if (std::fabs(z - before) < 0.25) break;  // close enough for the final iteration
    }
    return z;
  }

  // sigma has a rounding error of order v + o (1 + z), the line (z - p) / s one of (|p| + z) / s: use the more accurate one.
  template <class V>
  static V finish(const Root<V>& root, const V& p, const V& s, const V& t, const V& v, const V& sign) {
    const V& z = root.z;
    const V& o = root.opposite;
    const V from_sigma = sign * (o - v);
    const V from_line = (sign * z - p) / maximum(s, broadcast<V>(tiny));
    const V lambda = magnitude(p) + z < s * (v + o * (1.0 + z)) ? from_line : from_sigma;
    return clip(lambda, V(t - 1.0), t);
  }

  template <class V>
  V lambda(const V& p, const V& s, const V& y) const {
    const auto is_near = (magnitude(p) <= near_p) & (s <= near_s);
    if (all(is_near)) return near(p, s, y);
    const V far = from_start(p, s, y, [](const V&, const V& m, const V& s) {
      Start<V> start{maximum(m, broadcast<V>(0.0)), broadcast<V>(1.0), last_step};
      if (any(s > moderate_s)) prepare_far(start.z, start.unit, m, s);
      return start;
    });
    return any(is_near) ? (is_near ? near(p, s, y) : far) : far;
  }

  // Nearly the same, from a z expected to be near the root: the remaining error is of third order in the last
  // step, and a dual need not be the exact maximiser to be valid. Since G is concave, the iteration converges
  // monotonically from the left of the root, and one step from the right leads to its left: any z will do.
  template <class V>
  V lambda_near(const V& z, const V& p, const V& s, const V& y) const {
    return from_start(p, s, y, [&](const V& sign, const V& m, const V& s) {
      return Start<V>{maximum(maximum(V(sign * z), m), broadcast<V>(0.0)), 1.0 / square_root(1.0 + s), last_step_near};
    });
  }

  template <class V>
  struct Start {
    V z, unit;
    double last;
  };

  // The problem for z >= 0: that of sign z, with 1 - t = v and m as above.
  template <class V>
  struct Reflected {
    V t, sign, v, m;
  };
  template <class V>
  static Reflected<V> reflected(const V& p, const V& s, const V& y) {
    const V t = maximum(y, broadcast<V>(0.0));
    const auto positive = p + s * (t - 0.5) >= 0.0;
    const V sign = select(positive, broadcast<V>(1.0), broadcast<V>(-1.0));
    const V v = select(positive, 1.0 - t, t);
    return {t, sign, v, sign * p - s * v};
  }

  template <class V, class StartAt>
  static V from_start(const V& p, const V& s, const V& y, StartAt&& start_at) {
    const auto [t, sign, v, m] = reflected(p, s, y);
    const Start<V> start = start_at(sign, m, s);
    return finish(polish(start.z, m, s, start.unit, start.last, s < 0.0), p, s, t, v, sign);
  }

  static void prepare_far(double& start, double& unit, double m, double s) {
    if (s <= moderate_s) return;
    start = far_start(m, s);
    unit = 1.0 / square_root(s);  // keeps G and the square of its slope inside the range of a double
  }
  template <class V>
  static void prepare_far(V& start, V& unit, const V& m, const V& s) {
    for (int i = 0; i < width_of<V>; ++i) {
      double start_i = start[i], unit_i = unit[i];
      prepare_far(start_i, unit_i, m[i], s[i]);
      start[i] = start_i;
      unit[i] = unit_i;
    }
  }

  double value(double z, double y) const {  // the same bits for (-z, -y), and exact where the loss is small
    return log1p(exp(-std::fabs(z))) + (std::max(z, 0.0) - std::max(y, 0.0) * z);
  }
  double conjugate(double l, double y) const {
    const double t = std::max(y, 0.0);
    const Pack ab = {t - l, 1.0 - t + l};
    if (ab[0] < 0.0 || ab[1] < 0.0) return infinity;
    const Pack terms = ab * log(maximum(ab, broadcast<Pack>(tiny)));  // 0 log 0 = 0
    return terms[0] + terms[1];
  }
  // The same number.
  template <class V>
  V conjugate(const V& l, const V& y) const {
    const V zero = broadcast<V>(0.0), least = broadcast<V>(tiny), t = y < zero ? zero : y;
    const V a = t - l, b = 1.0 - t + l;
    const V sum = a * log(maximum(a, least)) + b * log(maximum(b, least));
    return select((a < 0.0) | (b < 0.0), broadcast<V>(infinity), sum);
  }
  Interval subgradient(double z, double y) const {
    const double l = lambda(z, 0.0, y);
    return {-l, -l};
  }
  bool is_smooth() const { return true; }
  double curvature_at(double l, double y) const {
    const double t = std::max(y, 0.0);
    return std::max((t - l) * (1.0 - t + l), 0.0);
  }
  // The conjugate is infinitely steep at the ends: keep a tenth of the distance to them.
  double inside(double from, double to, double y) const {
    const double t = std::max(y, 0.0);
    return clip(to, from - 0.9 * (1.0 - t + from), from + 0.9 * (t - from));
  }
  bool saturated(double, double) const { return false; }

  bool operator==(const Logistic&) const = default;
};

// Q = e^z - y z;  Q*(-lambda) = a log a - a with a = y - lambda = e^z.
//
// z + s e^z = p + s y =: c. With omega + log omega = c + log s: s e^z = omega. e^c is never formed.
struct Poisson {
  static constexpr Labels labels = Labels::nonnegative;

  double lambda(double p, double s, double y) const {
    if (s < tiny) return y - exp(p);
    const double c = p + s * y;
    if (c > 1e300) return (log(y + p / s) - p) / s;  // s e^z dwarfs z
    const double omega = wright_omega(c + log(s));
    // e^z has a rounding error of order omega (1 + |c| + omega) / s, the line (z - p) / s one of (1 + |z| + |p|) / s.
    if (1.0 + std::fabs(c - omega) + std::fabs(p) < omega * (1.0 + std::fabs(c) + omega))
      return (log(omega / s) - p) / s;
    return y - exp(c - omega);
  }
  template <class V>
  V lambda(const V& p, const V& s, const V& y) const {
    V out = p;
    for (int i = 0; i < width_of<V>; ++i) out[i] = lambda(p[i], s[i], y[i]);
    return out;
  }

  double value(double z, double y) const { return exp(z) - y * z; }
  double conjugate(double l, double y) const {
    const double a = y - l;
    if (a < 0.0) return infinity;
    return a > 0.0 ? a * log(a) - a : 0.0;
  }
  Interval subgradient(double z, double y) const { return {exp(z) - y, exp(z) - y}; }
  bool is_smooth() const { return true; }
  double curvature_at(double l, double y) const { return std::max(y - l, 0.0); }
  double inside(double from, double to, double y) const { return std::min(to, from + 0.9 * (y - from)); }
  bool saturated(double, double) const { return false; }

  bool operator==(const Poisson&) const = default;
};

// A custom loss: its lambda, or its gradient from which lambda is bracketed; its value if objectives are wanted.
struct Custom {
  static constexpr Labels labels = Labels::any;

  std::function<double(double, double, double)> dual;  // lambda(p, s, y)
  std::function<double(double, double)> gradient;      // dQ(z; y), used if `dual` is empty
  std::function<double(double, double)> worth;         // Q(z; y), may be empty

  double lambda(double p, double s, double y) const {
    if (dual) return dual(p, s, y);
    // t + Q'(p + s t) is increasing in t and changes sign between 0 and -Q'(p).
    double from = 0.0, to = -gradient(p, y);
    for (int iteration = 0; iteration < 200 && s > 0.0; ++iteration) {
      const double middle = from + 0.5 * (to - from);
      if (middle == from || middle == to) break;
      const double excess = middle + gradient(p + s * middle, y);
      (excess < 0.0) == (from < to) ? from = middle : to = middle;
    }
    return to;
  }
  template <class V>
  V lambda(const V& p, const V& s, const V& y) const {
    V out = p;
    for (int i = 0; i < width_of<V>; ++i) out[i] = lambda(p[i], s[i], y[i]);
    return out;
  }

  double value(double z, double y) const {
    if (!worth) throw std::invalid_argument("the loss has no value(z, y), which objectives need");
    return worth(z, y);
  }
  // Fenchel-Young: Q*(-l) = -l z - Q(z) at a z where l is the dual; without that z there is no formula.
  double conjugate(double, double) const {
    throw std::invalid_argument(
        "a custom loss has no formula for its conjugate, which is known at the learned duals only");
  }
  Interval subgradient(double z, double y) const {
    const double l = lambda(z, 0.0, y);
    return {-l, -l};
  }
  bool saturated(double, double) const { return false; }

  bool operator==(const Custom& other) const { return this == &other; }
};

// Q*(-lambda) at the solution of a step, where lambda is inside its domain and z is known too. A custom loss has no
// other formula.
template <class Loss>
double conjugate_at(const Loss& loss, double lambda, double, double y) {
  return loss.conjugate(lambda, y);
}
inline double conjugate_at(const PiecewiseQuadratic& loss, double lambda, double, double y) {
  return loss.conjugate_inside(lambda, y);
}
inline double conjugate_at(const Custom& loss, double lambda, double z, double y) {
  return loss.worth ? -lambda * z - loss.worth(z, y) : 0.0;  // without a value it is never read: see Learner
}

// lambda if the margin is likely to stay near z: only losses that need root finding benefit from the hint.
template <class Loss, class V>
V lambda_near(const Loss& loss, const V&, const V& p, const V& s, const V& y) {
  return loss.lambda(p, s, y);
}
template <class V>
V lambda_near(const Logistic& loss, const V& z, const V& p, const V& s, const V& y) {
  return loss.lambda_near(z, p, s, y);
}

// Calls visit(pack, l) for n lanes from l = 0 on, where `pack` is of the type in which to compute the next ones. A pack and a single double
// take the same steps, so a lane never depends on its neighbours.
template <class Visit>
[[gnu::always_inline]] inline void in_packs(int n, Visit visit) {
  int l = 0;
  for (; l + width_of<WidePack> <= n; l += width_of<WidePack>) visit(WidePack{}, l);
  for (; l + width_of<Pack> <= n; l += width_of<Pack>) visit(Pack{}, l);
  for (; l < n; ++l) visit(double{}, l);
}

// lambda of n lanes at once.
template <class Loss>
void lambda_many(const Loss& loss, int n, const double* p, const double* s, const double* y, double* out) {
  in_packs(n, [&](auto pack, int l) {
    using V = decltype(pack);
    store(loss.lambda(load<V>(p + l), load<V>(s + l), load<V>(y + l)), out + l);
  });
}

// Q*(-lambda) of n lanes at once.
inline void conjugate_many(const Logistic& loss, int n, const double* lambda, const double* y, double* out) {
  in_packs(n, [&](auto pack, int l) {
    using V = decltype(pack);
    store(loss.conjugate(load<V>(lambda + l), load<V>(y + l)), out + l);
  });
}

using AnyLoss = std::variant<PiecewiseQuadratic, Logistic, Poisson, Custom>;

inline Labels labels_of(const AnyLoss& loss) {
  return std::visit([](const auto& l) { return l.labels; }, loss);
}

// Without a branch on y: labels are what branch prediction is worst at.
inline bool label_is_valid(Labels labels, double y) {
  switch (labels) {
    case Labels::plus_minus_one: return std::fabs(y) == 1.0;
    case Labels::probability: return (y == -1.0) | ((y >= 0.0) & (y <= 1.0));
    case Labels::nonnegative: return y >= 0.0 && y < infinity;
    case Labels::any: break;
  }
  return std::isfinite(y);
}

// The losses by scikit-learn's names. `a` is the parameter of the loss.
inline AnyLoss named_loss(std::string_view name, double a) {
  using PQ = PiecewiseQuadratic;
  const Labels margin = Labels::plus_minus_one;
  if (name == "squared_error") return PQ{.k_positive = 1, .k_negative = 1};
  if (name == "absolute_error") return PQ{.lo = -1, .hi = 1};
  if (name == "quantile") return PQ{.lo = a - 1, .hi = a};
  if (name == "expectile") return PQ{.k_positive = 0.5 / a, .k_negative = 0.5 / (1 - a)};
  if (name == "huber") return PQ{.k_positive = 1, .k_negative = 1, .lo = -a, .hi = a};
  if (name == "epsilon_insensitive") return PQ{.e = a, .lo = -1, .hi = 1};
  if (name == "squared_epsilon_insensitive") return PQ{.e = a, .k_positive = 0.5, .k_negative = 0.5};
  if (name == "hinge") return PQ{.hi = 1, .labels = margin};
  if (name == "smooth_hinge") return PQ{.k_positive = a, .k_negative = a, .hi = 1, .labels = margin};
  if (name == "squared_hinge") return PQ{.k_positive = 0.5, .k_negative = 0.5, .labels = margin};
  if (name == "modified_huber") return PQ{.k_positive = 0.5, .k_negative = 0.5, .hi = 4, .labels = margin};
  if (name == "log_loss") return Logistic{};
  if (name == "poisson") return Poisson{};
  throw std::invalid_argument("there is no loss named '" + std::string(name) + "'");
}

}  // namespace odca
