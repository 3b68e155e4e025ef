// Baselines for O-DCA: methods that take steps in the primal, in one form.
//
//     w_N = (1 - mu rho) w_{N-1} + mu lambda h_N,   lambda = -Q'(z; y)
//
//     at the margin before the step, z = h'w_{N-1}     stochastic gradient      eq. SGD, eq. SGD_SVM
//     at the margin after it,        z = h'w_N         stochastic proximal      eq. SPG
//
// After the step z = p + s lambda with p = (1 - mu rho) h'w_{N-1} and s = mu |h|^2: the same scalar problem as O-DCA's.
// mu is constant, 1/(rho N) (Pegasos), or mu / (epsilon + |h|^2) (normalised).
//
// w = scale v, so that shrinking w is free. The smoothed sum u_N = sum_n kappa^(N-n) w_n is kept as ahead v + fade rest: a change d of v
// affects only the events from now on, so (ahead / fade) d is subtracted from rest, and applying kappa is free too.
#pragma once

#include <cmath>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "odca/errors.hpp"
#include "odca/math/batch.hpp"
#include "odca/problem/losses.hpp"
#include "odca/sync/long_call.hpp"

namespace odca {

struct PrimalOptions {
  enum class Rate { constant, pegasos, normalised };

  AnyLoss loss;
  bool implicit = false;
  Rate kind = Rate::constant;
  double rate = 0.0, rho = 0.0, epsilon = 0.0;
  double kappa = 0.0;         // 0: no smoothing
  std::vector<double> start;  // w_0
};

class PrimalLearner {
 public:
  explicit PrimalLearner(PrimalOptions options) : options_(std::move(options)) { state_.v = options_.start; }

  std::int64_t count() const { return state_.count; }

  // Learns the rows in order; `margins` are those before each event, of the smoothed weights if there are any. An error or Ctrl-C
  // leaves the model unchanged.
  void learn(const Batch& batch, const double* y, double* margins, const Interrupted& interrupted) {
    State before = state_;
    LongCall call(interrupted);
    bool stopped = false;
    try {
      state_.resize(static_cast<std::size_t>(batch.features()), options_.kappa > 0.0);
      Batch::Scratch scratch;
      std::visit(
          [&](const auto& loss) {
            for (std::int64_t n = 0; n < batch.rows && !stopped; ++n) {
              const Row row = batch.row(n, scratch);
              margins[n] = step(loss, row, y[n], n);
              stopped = call.should_stop(row.size);
            }
          },
          options_.loss);
    } catch (...) {
      state_ = std::move(before);
      throw;
    }
    if (stopped) state_ = std::move(before);
  }

  std::vector<double> weights() const {
    std::vector<double> out(state_.v);
    for (double& w : out) w *= state_.scale;
    return out;
  }

  // w-bar; w itself without smoothing, or before the first event.
  std::vector<double> smoothed_weights() const {
    if (!state_.is_smoothed()) return weights();
    std::vector<double> out(state_.v.size());
    for (std::size_t j = 0; j < out.size(); ++j)
      out[j] = (state_.ahead * state_.v[j] + state_.fade * state_.rest[j]) / state_.mass;
    return out;
  }

 private:
  // Bounds that keep v not much larger than w, and rest not much larger than u, so that no digits cancel.
  static constexpr double smallest = 1.0 / 128;

  struct State {
    std::vector<double> v, rest;
    double scale = 1.0, ahead = 0.0, fade = 1.0, mass = 0.0;  // mass: sum_n kappa^(N-n)
    std::int64_t count = 0;

    bool is_smoothed() const { return mass > 0.0; }
    void resize(std::size_t features, bool smoothed) {
      if (features > v.size()) v.resize(features);
      if (smoothed) rest.resize(v.size());
    }
  };

  template <class Loss>
  double step(const Loss& loss, const Row& h, double y, std::int64_t row) {
    double norm = 0.0;
    const double along = dot_and_norm(h, state_.v.data(), norm), margin = state_.scale * along;
    const double predicted = state_.is_smoothed() ? smoothed_margin(h, along) : margin;
    if (!std::isfinite(norm) || !std::isfinite(margin) || !std::isfinite(predicted))
      throw InputError("", at_row_of_x(row), " or its prediction is not finite; scale the features, or lower the rate");
    ++state_.count;
    const double mu = rate(norm), keep = 1.0 - mu * options_.rho;
    const double lambda = options_.implicit ? loss.lambda(keep * margin, mu * norm, y) : loss.lambda(margin, 0.0, y);
    shrink(keep);
    move(h, mu * lambda / state_.scale);
    if (options_.kappa > 0.0) smooth();
    return predicted;
  }

  double smoothed_margin(const Row& h, double along) const {
    double kept = 0.0;
    dot<1>(h, state_.rest.data(), 1, &kept);
    return (state_.ahead * along + state_.fade * kept) / state_.mass;
  }

  double rate(double norm) const {
    switch (options_.kind) {
      case PrimalOptions::Rate::pegasos: return 1.0 / (options_.rho * static_cast<double>(state_.count));
      case PrimalOptions::Rate::normalised: return options_.rate / (options_.epsilon + norm);
      default: return options_.rate;
    }
  }

  void shrink(double keep) {
    state_.scale *= keep;
    if (state_.scale > smallest) return;
    const double share = state_.ahead / state_.fade;
    for (std::size_t j = 0; j < state_.rest.size(); ++j) state_.rest[j] += share * state_.v[j];
    for (double& v : state_.v) v *= state_.scale;
    state_.scale = 1.0, state_.ahead = 0.0;
  }

  void move(const Row& h, double step) {
    if (step == 0.0) return;
    add<1>(h, &step, state_.v.data(), 1);
    const double back = -step * state_.ahead / state_.fade;
    if (options_.kappa > 0.0) add<1>(h, &back, state_.rest.data(), 1);
  }

  // Adds w_N to the smoothed sum.
  void smooth() {
    state_.mass = options_.kappa * state_.mass + 1.0;
    state_.ahead = options_.kappa * state_.ahead + state_.scale;
    state_.fade *= options_.kappa;
    if (state_.fade > smallest) return;
    for (double& rest : state_.rest) rest *= state_.fade;
    state_.fade = 1.0;
  }

  PrimalOptions options_;
  State state_;
};

}  // namespace odca
