// A joint step of all duals, for smooth losses under l2 with few features.
//
// S-DCA changes one dual at a time, which is slow if many events share few coordinates. Then Newton's method on the
// primal is cheap: with lambda_n = -Q'(z_n) and c_n = Q''(z_n) at some w,
//
//     (A a + sum delta c h h') d = sum delta lambda h - A a (w - w0)
//
// and the duals of the model w + d that this leads to are lambda_n - c_n h_n'd: then S = A a (w + d - w0), exactly. The
// duals of the last iterate are clipped to their domains, and the step is shortened until the dual objective rises.
#pragma once

#include <cmath>
#include <vector>

#include "odca/math/row.hpp"
#include "odca/problem/config.hpp"
#include "odca/step/state.hpp"
#include "odca/sync/long_call.hpp"

namespace odca {

template <class Loss>
class JointStep {
 public:
  JointStep(const Config& config, const Loss& loss, State& state)
      : config_(config), loss_(loss), state_(state), features_(static_cast<std::size_t>(state.features)) {}

  // The cost of one iteration, in non-zeros of a visit (a product in the Hessian or its factors takes a third or a quarter
  // of the time of one); infinite if such a step is not possible.
  double cost(const std::vector<std::size_t>& ids) const {
    if (!loss_.is_smooth() || features_ > most_features) return infinity;
    const auto m = static_cast<double>(features_);
    double work = m * m * m / 24.0;
    for (const std::size_t id : ids) {
      const auto n = static_cast<double>(state_.buffer.entry(id).size);
      work += n * (n + 1.0) / 6.0 + 32.0;
    }
    return work * config_.lanes;
  }

  // Iterates until the primal objective is within the lane's tolerance, or stops decreasing. Returns the number of
  // iterations, or -1 if interrupted; then nothing has changed.
  int take(const std::vector<std::size_t>& ids, const std::vector<double>& tolerance, LongCall& call) {
    int iterations = 0;
    for (int l = 0; l < config_.lanes; ++l) {
      if (state_.lane.mass[l] == 0.0) continue;
      begin(ids, l);
      for (int n = 0; n < most_iterations; ++n) {
        ++iterations;
        if (!linearise(l, call)) return -1;
        if (!factorise()) break;
        double promise = 0.0;  // twice the decrease of the quadratic model
        for (std::size_t j = 0; j < features_; ++j) promise += downhill_[j] * d_[j];
        for (Member& each : members_) each.along = project(each.id, d_);
        if (!(promise > 0.1 * tolerance[l] * state_.lane.mass[l])) break;
        if (!descend(l, promise)) break;
      }
      move(l);
    }
    return iterations;
  }

 private:
  static constexpr std::size_t most_features = 1024;  // 8 MB of Hessian
  static constexpr int most_iterations = 30;

  struct Member {
    std::size_t id;
    double weight, z, lambda, curvature, along;  // along: h'd
  };

  double* hessian_row(std::size_t j) { return hessian_.data() + j * features_; }  // of its lower triangle

  double project(std::size_t id, const std::vector<double>& vector) const {
    double z = 0.0;
    dot<1>(state_.buffer.row(id), vector.data(), 1, &z);
    return z;
  }

  // Starts from the current model.
  void begin(const std::vector<std::size_t>& ids, int l) {
    for (auto* each : {&change_, &stiffness_, &downhill_, &d_}) each->assign(features_, 0.0);
    std::vector<double> w(features_);
    for (std::size_t j = 0; j < features_; ++j) {
      const std::size_t at = j * config_.lanes + l;
      const double r = config_.shape.inverse_weight_of(j);
      stiffness_[j] = config_.strength(l, state_.lane) / r;
      change_[j] = state_.lane.q[l] * state_.dual[at] * r;
      w[j] = config_.shape.mean_of(at) + change_[j];
    }
    start_ = w;
    members_.clear();
    for (const std::size_t id : ids)
      if (const double weight = state_.buffer.weights(id)[l]; weight > 0.0)
        members_.push_back({id, weight, state_.buffer.offsets(id)[l] + project(id, w), 0.0, 0.0, 0.0});
  }

  // The Hessian and the right-hand side. False if interrupted.
  bool linearise(int l, LongCall& call) {
    hessian_.assign(features_ * features_, 0.0);
    for (std::size_t j = 0; j < features_; ++j) {
      hessian_row(j)[j] = stiffness_[j];
      downhill_[j] = -stiffness_[j] * change_[j];
    }
    for (Member& each : members_) {
      const Row h = state_.buffer.row(each.id);
      if (call.should_stop(h.size * h.size / 2 + 16)) return false;
      const double y = state_.buffer.labels(each.id)[l];
      each.lambda = loss_.lambda(each.z, 0.0, y);
      each.curvature = loss_.curvature_at(each.lambda, y);
      const double step = each.weight * each.lambda;
      add<1>(h, &step, downhill_.data(), 1);
      if (each.curvature > 0.0) add_square(h, each.weight * each.curvature);
    }
    return true;
  }

  // Hessian += c h h'
  void add_square(const Row& h, double c) {
    for (std::int64_t i = 0; i < h.size; ++i) {
      double* row = hessian_row(static_cast<std::size_t>(h.feature(i)));
      const double step = c * h.value[i];
      if (h.index)
        for (std::int64_t k = 0; k <= i; ++k) row[h.index[k]] += step * h.value[k];
      else
        for (std::int64_t k = 0; k <= i; ++k) row[k] += step * h.value[k];
    }
  }

  // Cholesky, and d. False if the Hessian is not positive in this arithmetic.
  bool factorise() {
    const auto inner = [](const double* a, const double* b, std::size_t n) {
      return detail::sum_in_four(static_cast<std::int64_t>(n), [=](std::int64_t i) { return a[i] * b[i]; });
    };
    for (std::size_t j = 0; j < features_; ++j) {
      double* row = hessian_row(j);
      for (std::size_t k = 0; k < j; ++k) row[k] = (row[k] - inner(row, hessian_row(k), k)) / hessian_row(k)[k];
      const double pivot = row[j] - inner(row, row, j);
      if (!(pivot > 0.0) || !std::isfinite(pivot)) return false;
      row[j] = std::sqrt(pivot);
      d_[j] = (downhill_[j] - inner(row, d_.data(), j)) / row[j];
    }
    for (std::size_t j = features_; j-- > 0;) {
      d_[j] /= hessian_row(j)[j];
      for (std::size_t k = 0; k < j; ++k) d_[k] -= hessian_row(j)[k] * d_[j];
    }
    return true;
  }

  // Moves to w + td, halving t until the primal objective decreases by a fraction of the predicted amount.
  bool descend(int l, double promise) {
    const auto objective = [&](double t) {
      double total = 0.0;
      for (const Member& each : members_)
        total += each.weight * loss_.value(each.z + t * each.along, state_.buffer.labels(each.id)[l]);
      for (std::size_t j = 0; j < features_; ++j) {
        const double change = change_[j] + t * d_[j];
        total += 0.5 * stiffness_[j] * change * change;
      }
      return total;
    };
    const double now = objective(0.0);
    for (double t = 1.0; t > 1e-3; t *= 0.5) {
      if (!(objective(t) <= now - 1e-4 * t * promise)) continue;
      for (std::size_t j = 0; j < features_; ++j) change_[j] += t * d_[j];
      for (Member& each : members_) each.z += t * each.along;
      return true;
    }
    return false;
  }

  // Moves towards the duals of w + d, half as far each time the dual objective would not rise.
  void move(int l) {
    EventBuffer& buffer = state_.buffer;
    const auto dual_of = [&](const Member& each) -> double& { return buffer.duals(each.id)[l]; };
    for (Member& each : members_)
      each.along = loss_.inside(each.lambda, each.lambda - each.curvature * each.along, buffer.labels(each.id)[l]);
    for (double t = 1.0; t > 0.1; t *= 0.5) {
      double rise = 0.0;
      std::fill(d_.begin(), d_.end(), 0.0);  // the change of S
      for (Member& each : members_) {
        const double from = dual_of(each), y = buffer.labels(each.id)[l];
        each.lambda = from + t * (each.along - from);
        rise -= each.weight * (loss_.conjugate(each.lambda, y) - loss_.conjugate(from, y) +
                               buffer.offsets(each.id)[l] * (each.lambda - from));
        const double step = each.weight * (each.lambda - from);
        add<1>(buffer.row(each.id), &step, d_.data(), 1);
      }
      for (std::size_t j = 0; j < features_; ++j)  // the increase of A R*(S / A)
        rise -= d_[j] * (start_[j] + 0.5 * d_[j] / stiffness_[j]);
      if (!(rise > 0.0)) continue;
      for (const Member& each : members_) dual_of(each) = each.lambda;
      for (std::size_t j = 0; j < features_; ++j) state_.dual[j * config_.lanes + l] += d_[j];
      return;
    }
  }

  const Config& config_;
  const Loss& loss_;
  State& state_;
  std::size_t features_;
  std::vector<Member> members_;
  // [feature]: the initial w, the current w - w0, A a, the negative gradient, the step
  std::vector<double> hessian_, start_, change_, stiffness_, downhill_, d_;
};

}  // namespace odca
