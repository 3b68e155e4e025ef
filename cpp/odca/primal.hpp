// What O-DCA is compared with: methods that step in the primal, in one form.
//
//     w_N = (1 - mu rho) w_{N-1} + mu lambda h_N,   lambda = -Q'(z; y)
//
//     at the margin before the step, z = h'w_{N-1}     stochastic gradient      eq. SGD, eq. SGD_SVM
//     at the margin behind it,       z = h'w_N         stochastic proximal      eq. SPG
//
// Behind the step z = p + s lambda with p = (1 - mu rho) h'w_{N-1} and s = mu |h|^2: the same scalar problem as O-DCA's.
// mu is constant, 1/(rho N) (Pegasos), or mu / (epsilon + |h|^2) (normalised).
//
// w = scale v, so that shrinking costs nothing. The mean of all w_n is (sum v + rest) / N, where `sum` is that of the scales: a change
// d of v at event n belongs to the events from n on alone, so that rest loses sum_{n-1} d.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "odca/batch.hpp"
#include "odca/errors.hpp"
#include "odca/losses.hpp"

namespace odca {

struct PrimalOptions {
  enum class Rate { constant, pegasos, normalised };

  AnyLoss loss;
  bool implicit = false;
  Rate kind = Rate::constant;
  double rate = 0.0, rho = 0.0, epsilon = 0.0;
  bool average = false;
};

class PrimalLearner {
 public:
  explicit PrimalLearner(PrimalOptions options) : options_(std::move(options)) {}

  std::int64_t count() const { return state_.count; }
  std::size_t features() const { return state_.v.size(); }

  // Learns the rows in order; `margins` are those from before each. An error leaves the model as it was.
  void learn(const Batch& batch, const double* y, double* margins) {
    const State before = state_;
    try {
      state_.resize(static_cast<std::size_t>(batch.features()), options_.average);
      Batch::Scratch scratch;
      std::visit(
          [&](const auto& loss) {
            for (std::int64_t row = 0; row < batch.rows; ++row)
              margins[row] = step(loss, batch.row(row, scratch), y[row], row);
          },
          options_.loss);
    } catch (...) {
      state_ = before;
      throw;
    }
  }

  std::vector<double> weights() const {
    std::vector<double> out(state_.v);
    for (double& w : out) w *= state_.scale;
    return out;
  }

  // The mean of the weights after each event.
  std::vector<double> mean_weights() const {
    std::vector<double> out(state_.v.size());
    const double events = state_.count ? static_cast<double>(state_.count) : 1.0;
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = (state_.sum * state_.v[j] + state_.rest[j]) / events;
    return out;
  }

 private:
  struct State {
    std::vector<double> v, rest;
    double scale = 1.0, sum = 0.0;
    std::int64_t count = 0;

    void resize(std::size_t features, bool average) {
      if (features > v.size()) v.resize(features);
      if (average) rest.resize(v.size());
    }
  };

  template <class Loss>
  double step(const Loss& loss, const Row& h, double y, std::int64_t row) {
    double norm = 0.0;
    const double margin = state_.scale * dot_and_norm(h, state_.v.data(), norm);
    if (!std::isfinite(norm) || !std::isfinite(margin))
      throw InputError(at_row(row) + " of X or its prediction is not finite; scale the features, or lower the rate");
    ++state_.count;
    const double mu = rate(norm), keep = 1.0 - mu * options_.rho;
    const double lambda = options_.implicit ? loss.lambda(keep * margin, mu * norm, y) : loss.lambda(margin, 0.0, y);
    shrink(keep);
    move(h, mu * lambda / state_.scale);
    state_.sum += state_.scale;
    return margin;
  }

  double rate(double norm) const {
    switch (options_.kind) {
      case PrimalOptions::Rate::pegasos: return 1.0 / (options_.rho * static_cast<double>(state_.count));
      case PrimalOptions::Rate::normalised: return options_.rate / (options_.epsilon + norm);
      default: return options_.rate;
    }
  }

  void shrink(double keep) {
    constexpr double smallest =
        1.0 / 128;  // v is not much larger than w: the mean is the difference of two sums of such
    state_.scale *= keep;
    if (state_.scale > smallest) return;
    for (std::size_t j = 0; j < state_.rest.size(); ++j) state_.rest[j] += state_.sum * state_.v[j];
    for (double& v : state_.v) v *= state_.scale;
    state_.scale = 1.0, state_.sum = 0.0;
  }

  void move(const Row& h, double step) {
    if (step == 0.0) return;
    add<1>(h, &step, state_.v.data(), 1);
    const double back = -step * state_.sum;
    if (options_.average) add<1>(h, &back, state_.rest.data(), 1);
  }

  PrimalOptions options_;
  State state_;
};

}  // namespace odca
