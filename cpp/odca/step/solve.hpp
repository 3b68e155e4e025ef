// One scalar dual problem:  find lambda in -dQ(z(lambda); y),  z(t) = b + h' grad R*(x + t alpha h).
//
// A Projection is what the step needs to know about a row: the margin h'w at a given q, and z near any t as a line
// z = c + kappa t. Under l2 there is one line, and the loss's formula gives the answer. Under other penalties the line
// at t gives a new t by the same formula, until the line repeats, inside a bracket known from the start.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "odca/math/pack4.hpp"
#include "odca/math/row.hpp"
#include "odca/problem/config.hpp"
#include "odca/step/state.hpp"

namespace odca {

struct Tangent {
  double c, kappa;  // z near t is c + kappa t
  bool operator==(const Tangent&) const = default;
};

struct DualSolution {
  double lambda, slope, z;
};

// `tangent(t)` must be the tangent of a non-decreasing z, `line` the one at 0. lambda lies between 0 and -Q'(z(0)).
//
// If the line at t leads to a larger t, the solution is larger too: every evaluation tightens the bracket on one side.
// Where z is piecewise linear, a t that solves the line it lies on is exact. If the strides do
// not halve, the iteration is cycling: then, and outside the bracket, the next t is an end of the bracket that was not tried
// yet (the dual may be saturated there), else its middle; after many steps, its middle in the ordering of doubles.
template <class Loss, class TangentAt>
DualSolution solve_bracketed(const Loss& loss, double y, Tangent line, TangentAt&& tangent) {
  double t = loss.lambda(line.c, line.kappa, y), stride = infinity;
  if (t == 0.0) return {t, line.kappa, line.c};
  const double end = clip(loss.lambda(line.c, 0.0, y), -1e300, 1e300);
  double lo = std::min(0.0, end), hi = std::max(0.0, end);
  bool lo_tried = false, hi_tried = false;  // an end that was already evaluated is not the solution
  bool solves_line = true;
  for (int iteration = 0; iteration < 200; ++iteration) {
    const Tangent here = tangent(t);
    if (solves_line && here == line) break;
    line = here;
    const double next = loss.lambda(line.c, line.kappa, y);
    if (next == t) break;
    const bool upwards = next > t;
    upwards ? (lo = t, lo_tried = true) : (hi = t, hi_tried = true);
    solves_line = (lo_tried ? next > lo : next >= lo) && (hi_tried ? next < hi : next <= hi) &&
                  std::fabs(next - t) <= 0.5 * stride;
    const double from = t;
    if (solves_line)
      t = next;
    else if (upwards ? !hi_tried : !lo_tried)
      t = upwards ? hi : lo;
    else
      t = iteration < 20 ? lo + 0.5 * (hi - lo) : middle_double(lo, hi);
    stride = std::fabs(t - from);
    // The bracket is two neighbouring numbers.
    if (!solves_line && ((t == lo && lo_tried) || (t == hi && hi_tried))) break;
    if (solves_line && stride <= 4e-16 * std::fabs(t)) break;
  }
  return {t, line.kappa, line.c + line.kappa * t};
}

// project() reads the row and returns its squared norm; margin() and solve() then refer to that row.
template <class Penalty, int Lanes>
class Projection;

// z(t) = p + t s: p = q sum h_j v_j / a_j + h'w0,  s = alpha sum h_j^2 / a_j.
template <int Lanes>
class Projection<L2, Lanes> {
 public:
  explicit Projection(int lanes) : lanes_(Lanes ? Lanes : lanes) {
    for (auto* each : {&dot_, &base_, &p_, &s_}) set_lanes(*each, lanes_);
  }

  [[gnu::always_inline]] double project(const Config& config, const L2&, const State& state, const Row& row) {
    if (!config.shape.is_plain()) return project_shaped(config, state, row);
    if constexpr (Lanes == 1) {
      dot_[0] = dot_and_norm(row, state.dual.data(), norm_);
    } else {
      norm_ = squared_norm(row);
      dot<Lanes>(row, state.dual.data(), lanes_, dot_.data());
    }
    return norm_;
  }

  // Instead of project(): a row that was read elsewhere, under no penalty weights.
  double take(double dot, double norm) {
    dot_[0] = dot;
    return norm_ = norm;
  }

  // solve() as if v[.][lane] were smaller by step[lane] times the row: for an event whose contribution is already in v.
  template <class Loss>
  [[gnu::always_inline]] void solve_without(const double* step, const Loss& loss, const L2&, const double* q,
                                            const double* alpha, const double* offset, const double* y, double* lambda,
                                            double* slope, double* z) {
    for (int l = 0; l < lanes_; ++l) {
      z[l] = offset[l] + (base_[l] + q[l] * dot_[l]);
      p_[l] = offset[l] + (base_[l] + q[l] * (dot_[l] - step[l] * norm_));
      slope[l] = alpha[l] * norm_;
    }
    for (int l = 0; l < lanes_; ++l) {
      lambda[l] = lambda_near(loss, z[l], p_[l], slope[l], y[l]);
      z[l] = p_[l] + slope[l] * lambda[l];
    }
  }

  double margin(const L2&, int lane, double q) const { return base_[lane] + q * dot_[lane]; }

  template <class Loss>
  [[gnu::always_inline]] void solve(const Loss& loss, const L2&, const double* q, const double* alpha,
                                    const double* offset, const double* y, double* lambda, double* slope, double* z) {
    for (int l = 0; l < lanes_; ++l) {
      p_[l] = offset[l] + (base_[l] + q[l] * dot_[l]);
      s_[l] = alpha[l] * norm_;
    }
    if constexpr (Lanes == 1)
      lambda[0] = loss.lambda(p_[0], s_[0], y[0]);
    else
      lambda_many(loss, lanes_, p_.data(), s_.data(), y, lambda);
    for (int l = 0; l < lanes_; ++l) {
      slope[l] = s_[l];
      z[l] = p_[l] + s_[l] * lambda[l];
    }
  }

 private:
  [[gnu::noinline]] double project_shaped(const Config& config, const State& state, const Row& row) {
    std::fill(dot_.begin(), dot_.end(), 0.0);
    std::fill(base_.begin(), base_.end(), 0.0);
    norm_ = 0.0;
    row.each([&](std::int64_t j, double h) {
      const double r = config.shape.inverse_weight[j];
      norm_ += h * h * r;
      for (int l = 0; l < lanes_; ++l) {
        dot_[l] += h * (state.dual[j * lanes_ + l] * r);
        base_[l] += h * config.shape.mean[j * lanes_ + l];
      }
    });
    return squared_norm(row);
  }

  int lanes_;
  double norm_ = 0.0;
  PerLane<Lanes> dot_, base_, p_, s_;
};

// The row's coordinates are stored contiguously, padded to whole packs; every t costs one vectorised pass over them.
template <int Lanes>
class Projection<Separable, Lanes> {
 public:
  explicit Projection(int lanes) : lanes_(Lanes ? Lanes : lanes) {}

  double project(const Config& config, const Separable&, const State& state, const Row& row) {
    padded_ = (row.size + 3) / 4 * 4;
    intercept_ = config.intercept;
    plain_ = config.shape.is_plain();
    const std::size_t needed = padded_ * lanes_;
    if (v_.size() < needed) {
      for (auto* each : {&h_, &rate_}) each->resize(padded_);
      for (auto* each : {&v_, &mean_}) each->resize(needed);
    }
    std::copy_n(row.value, row.size, h_.data());
    for (int l = 0; l < lanes_; ++l) gather(row, state.dual.data() + l, v_.data() + l * padded_);
    if (!plain_) shape_row(config.shape, row);
    for (std::int64_t i = row.size; i < padded_; ++i) {
      h_[i] = rate_[i] = 0.0;
      for (int l = 0; l < lanes_; ++l) v_[l * padded_ + i] = mean_[l * padded_ + i] = 0.0;
    }
    if (intercept_) {
      intercept_rate_ = rates()[0];
      h_[0] = 0.0;  // the row's first coordinate is the intercept, which lies on a line of its own
    }
    return squared_norm(row);
  }

  template <class... Problem>
  void solve_without(const double* step, const Problem&... problem) {
    for (int l = 0; l < lanes_; ++l) {
      double* v = v_.data() + l * padded_;
      if (intercept_) v[0] -= step[l] * intercept_rate_;
      for (std::int64_t i = intercept_ ? 1 : 0; i < padded_; ++i) v[i] -= step[l] * rates()[i];
    }
    solve(problem...);
  }

  double margin(const Separable& penalty, int lane, double q) const { return tangent(penalty, lane, q, 0.0, 0.0).c; }

  // The next solve() returns the margins at these q too, which it computes along with the tangents at 0.
  void ask_for_margins(const double* at_q, double* margin) { asked_q_ = at_q, asked_margin_ = margin; }

  template <class Loss>
  void solve(const Loss& loss, const Separable& penalty, const double* q, const double* alpha, const double* offset,
             const double* y, double* lambda, double* slope, double* z) {
    for (int l = 0; l < lanes_; ++l) {
      const auto moved = [&, b = offset[l]](const Tangent& line) { return Tangent{b + line.c, line.kappa}; };
      const Tangent first = asked_q_ ? margin_and_tangent(penalty, l, asked_q_[l], q[l], alpha[l], asked_margin_[l])
                                     : tangent(penalty, l, q[l], alpha[l], 0.0);
      const DualSolution solution = solve_bracketed(
          loss, y[l], moved(first), [&](double t) { return moved(tangent(penalty, l, q[l], alpha[l], t)); });
      lambda[l] = solution.lambda;
      slope[l] = solution.slope;
      z[l] = solution.z;
    }
    asked_q_ = nullptr;
  }

 private:
  // out[i] = v[j][lane] of the row's i-th feature
  void gather(const Row& row, const double* v, double* out) const {
    if (const std::int32_t* j = row.index)
      for (std::int64_t i = 0; i < row.size; ++i) out[i] = v[static_cast<std::int64_t>(j[i]) * lanes_];
    else
      for (std::int64_t i = 0; i < row.size; ++i) out[i] = v[i * lanes_];
  }

  void shape_row(const Shape& shape, const Row& row) {
    for (std::int64_t i = 0; i < row.size; ++i) {
      const std::int64_t j = row.feature(i);
      const double r = shape.inverse_weight[j];
      rate_[i] = row.value[i] * r;
      for (int l = 0; l < lanes_; ++l) {
        v_[l * padded_ + i] *= r;
        mean_[l * padded_ + i] = shape.mean[j * lanes_ + l];
      }
    }
  }

  // h_j / a_j
  const double* rates() const { return plain_ ? h_.data() : rate_.data(); }

  // Coordinate i moves as x_i + t alpha h_i / a_i; the lines on which they all lie at t add up to z's.
  Tangent tangent(const Separable& penalty, int lane, double q, double alpha, double t) const {
    const double *v = v_.data() + lane * padded_, *mean = mean_.data() + lane * padded_, *rates = this->rates();
    LineSums sums;
    if (is_elastic_net(penalty)) {  // the same lines, with fewer cases
      for (std::int64_t i = 0; i < padded_; i += 4) {
        const Pack4 x = Pack4::all(q) * Pack4::from(v + i), rate = Pack4::all(alpha) * Pack4::from(rates + i);
        sums.add(penalty.delta, Pack4::from(h_.data() + i), x, rate, x + Pack4::all(t) * rate);
      }
    } else {
      for (std::int64_t i = 0; i < padded_; i += pack_width) {
        const Pack h = load(h_.data() + i), x = q * load(v + i), rate = alpha * load(rates + i);
        const auto line = penalty.line(Pack(x + t * rate), load(mean + i));
        sums.c += h * (line.intercept + line.slope * x);
        sums.kappa += h * (line.slope * rate);
      }
    }
    return with_intercept(sums.total(), lane, q, alpha);
  }

  // The tangent at t = 0, and the margin at another q.
  Tangent margin_and_tangent(const Separable& penalty, int lane, double margin_q, double q, double alpha,
                             double& margin) const {
    if (!is_elastic_net(penalty)) {
      margin = this->margin(penalty, lane, margin_q);
      return tangent(penalty, lane, q, alpha, 0.0);
    }
    const double *const v = v_.data() + lane * padded_, *const rates = this->rates();
    LineSums shown, sums;
    for (std::int64_t i = 0; i < padded_; i += 4) {
      const Pack4 h = Pack4::from(h_.data() + i), each = Pack4::from(v + i);
      shown.add(penalty.delta, h, Pack4::all(margin_q) * each);
      const Pack4 x = Pack4::all(q) * each, rate = Pack4::all(alpha) * Pack4::from(rates + i);
      sums.add(penalty.delta, h, x, rate, x + Pack4::all(0.0) * rate);
    }
    margin = with_intercept(shown.total(), lane, margin_q, 0.0).c;
    return with_intercept(sums.total(), lane, q, alpha);
  }

  // Two running sums each, in an order that never changes; computed four coordinates at a time.
  struct LineSums {
    Pack c{}, kappa{};

    // Coordinates under the elastic net that are at `at` on their way from x.
    [[gnu::always_inline]] void add(double delta, const Pack4& h, const Pack4& x, const Pack4& rate, const Pack4& at) {
      const Pack4 held = held_by(delta, at), zero = Pack4::all(0.0);
      const Mask4 moves = at != held;
      add_to(c, h * select(moves, x - held, zero));
      add_to(kappa, h * select(moves, rate, zero));
    }
    // The same at rest.
    [[gnu::always_inline]] void add(double delta, const Pack4& h, const Pack4& x) {
      const Pack4 held = held_by(delta, x);
      add_to(c, h * select(x != held, x - held, Pack4::all(0.0)));
    }
    Tangent total() const { return {c[0] + c[1], kappa[0] + kappa[1]}; }

   private:
    static Pack4 held_by(double delta, const Pack4& x) {
      const Pack4 low = Pack4::all(-delta), high = Pack4::all(delta), raised = select(x > low, x, low);
      return select(high > raised, raised, high);
    }
    static void add_to(Pack& sum, const Pack4& terms) { sum += low_half(terms), sum += high_half(terms); }
  };

  bool is_elastic_net(const Separable& penalty) const { return plain_ && penalty.is_unbounded(); }

  Tangent with_intercept(Tangent sum, int lane, double q, double alpha) const {
    if (intercept_) {
      sum.c += mean_[lane * padded_] + q * v_[lane * padded_];
      sum.kappa += alpha * intercept_rate_;
    }
    return sum;
  }

  int lanes_;
  std::int64_t padded_ = 0;
  std::vector<double> h_, rate_, v_, mean_;  // h_j, h_j / a_j if not plain; by lane: v_j / a_j, w0_j
  bool intercept_ = false, plain_ = true;
  double intercept_rate_ = 0.0;
  const double* asked_q_ = nullptr;  // [lane]
  double* asked_margin_ = nullptr;
};

// softmax of x = q v + log pi. `weights` is the lane's w, `top` the largest x: one function, so that w has the
// same bits for every caller.
inline void softmax(const KL& penalty, const State& state, int lane, double q, double* weights, int stride) {
  double top = -infinity;
  for (std::int64_t j = 0; j < state.features; ++j) {
    weights[j * stride] = penalty.log_prior[j] + q * state.dual[j * state.lanes + lane];
    top = std::max(top, weights[j * stride]);
  }
  double total = 0.0;
  for (std::int64_t j = 0; j < state.features; ++j) total += weights[j * stride] = exp(weights[j * stride] - top);
  for (std::int64_t j = 0; j < state.features; ++j) weights[j * stride] /= total;
}

// log sum_j pi_j e^(q v_j), the conjugate. Near x = 0 the result is as small as x, and is not computed as 1 + small.
inline double log_sum_exp(const KL& penalty, const State& state, int lane, double q) {
  double top = -infinity, total = 0.0, largest = 0.0;
  const auto x = [&](std::int64_t j) { return q * state.dual[j * state.lanes + lane]; };
  for (std::int64_t j = 0; j < state.features; ++j) {
    top = std::max(top, penalty.log_prior[j] + x(j));
    largest = std::max(largest, std::fabs(x(j)));
  }
  if (largest < 0.3) {
    for (std::int64_t j = 0; j < state.features; ++j) total += exp(penalty.log_prior[j]) * small_expm1(x(j));
    return log1p(total);
  }
  for (std::int64_t j = 0; j < state.features; ++j) total += exp(penalty.log_prior[j] + x(j) - top);
  return top + log(total);
}

// R(w) = sum_j w_j log(w_j / pi_j) - w_j + pi_j: the same on the simplex, and each term is small where w_j is near pi_j.
inline double relative_entropy(const KL& penalty, const std::vector<double>& w, int lane, int lanes) {
  double total = 0.0;
  for (std::size_t j = 0; j < penalty.log_prior.size(); ++j) {
    const double prior = exp(penalty.log_prior[j]), away = w[j * lanes + lane] / prior - 1.0;
    const double log_ratio = away > -0.5 ? log1p(away) : log(std::max(1.0 + away, 1e-300));
    total += prior * ((1.0 + away) * log_ratio - away);
  }
  return total;
}

// Every coordinate of the simplex moves when the strength does: one pass over all of them, then only the row's
// own weights change with t.
template <int Lanes>
class Projection<KL, Lanes> {
 public:
  explicit Projection(int lanes) : taken_out_(static_cast<std::size_t>(lanes), 0.0) {}

  double project(const Config&, const KL& penalty, const State& state, const Row& row) {
    penalty_ = &penalty;
    state_ = &state;
    row_ = row;
    std::fill(taken_out_.begin(), taken_out_.end(), 0.0);
    return squared_norm(row);
  }

  template <class... Problem>
  void solve_without(const double* step, const Problem&... problem) {
    std::copy_n(step, taken_out_.size(), taken_out_.begin());
    solve(problem...);
  }

  double margin(const KL&, int lane, double q) {
    const double top = spread(lane, q);
    double total = exp(rest_ - top), sum = 0.0;
    for (std::int64_t i = 0; i < row_.size; ++i) {
      const double weight = exp(x_[i] - top);
      total += weight;
      sum += weight * row_.value[i];
    }
    return sum / total;
  }

  template <class Loss>
  void solve(const Loss& loss, const KL&, const double* q, const double* alpha, const double* offset, const double* y,
             double* lambda, double* slope, double* z) {
    for (int l = 0; l < state_->lanes; ++l) {
      spread(l, q[l]);
      const auto at = [&](double t) { return tangent(t, alpha[l], offset[l]); };
      const DualSolution solution = solve_bracketed(loss, y[l], at(0.0), at);
      lambda[l] = solution.lambda;
      slope[l] = solution.slope;
      z[l] = solution.z;
    }
  }

 private:
  // x of the row's coordinates, and the logarithm of the weight of all others; returns the largest of these.
  double spread(int lane, double q) {
    const State& state = *state_;
    const auto x = [&](std::int64_t j) { return penalty_->log_prior[j] + q * state.dual[j * state.lanes + lane]; };
    x_.resize(row_.size);
    double top_rest = -infinity, top = -infinity;
    std::int64_t i = 0;
    for (std::int64_t j = 0; j < state.features; ++j) {
      if (i < row_.size && row_.feature(i) == j)
        top = std::max(top, x_[i] = x(j) - q * (taken_out_[lane] * row_.value[i])), ++i;
      else
        top_rest = std::max(top_rest, x(j));
    }
    double total = 0.0;
    i = 0;
    for (std::int64_t j = 0; j < state.features; ++j) {
      if (i < row_.size && row_.feature(i) == j)
        ++i;
      else
        total += exp(x(j) - top_rest);
    }
    rest_ = total > 0.0 ? top_rest + log(total) : -infinity;
    return std::max(top, rest_);
  }

  // z(t) = sum_i w_i(t) h_i and its slope alpha Var_w(h), the other coordinates having h = 0.
  Tangent tangent(double t, double alpha, double offset) {
    double top = rest_;
    for (std::int64_t i = 0; i < row_.size; ++i) top = std::max(top, x_[i] + t * alpha * row_.value[i]);
    const double rest = exp(rest_ - top);
    double total = rest, first = 0.0;
    weight_.resize(row_.size);
    for (std::int64_t i = 0; i < row_.size; ++i) {
      weight_[i] = exp(x_[i] + t * alpha * row_.value[i] - top);
      total += weight_[i];
      first += weight_[i] * row_.value[i];
    }
    const double z = first / total;
    double second = rest * z * z;
    for (std::int64_t i = 0; i < row_.size; ++i) {
      const double from_mean = row_.value[i] - z;
      second += weight_[i] * from_mean * from_mean;
    }
    const double kappa = alpha * (second / total);
    return {offset + z - kappa * t, kappa};
  }

  const KL* penalty_ = nullptr;
  const State* state_ = nullptr;
  Row row_;
  std::vector<double> taken_out_, x_, weight_;
  double rest_ = 0.0;
};

}  // namespace odca
