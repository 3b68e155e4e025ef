// The quantile of the labels so far, in constant memory: a baseline for losses of quantiles. It takes the dual steps of the loss at a
// constant, whose strength is the number of labels.
#pragma once

#include <array>
#include <cmath>

#include "odca/experts/number_loss.hpp"
#include "odca/math/checks.hpp"

namespace odca {

class RunningQuantile {
 public:
  using State = std::array<double, 6>;

  explicit RunningQuantile(double q) : loss_(named_loss("quantile", q)) {}

  double value() const { return value_; }

  void learn(double y, double c) {
    if (!(c > 0.0)) return;
    if (mass_ == 0.0) value_ = y;
    curvature_.learn(loss_, value_, y, c);
    mass_ += c;
    const double s = c / mass_;
    const experts::UnitLoss unit{loss_, curvature_.kappa(loss_)};
    value_ = clip(value_ + s / (1.0 + s) * unit.residual(value_, s, y), -experts::largest_miss, experts::largest_miss);
  }

  State state() const {
    State out{value_, mass_};
    std::size_t n = 2;
    experts::MeanCurvature::each_part(curvature_, "", [&](const char*, double each) { out[n++] = each; });
    return out;
  }
  // False for numbers that state() cannot have returned.
  bool restore(const State& state) {
    value_ = state[0], mass_ = state[1];
    std::size_t n = 2;
    experts::MeanCurvature::each_part(curvature_, "", [&](const char*, double& each) { each = state[n++]; });
    return all_finite(state) && std::fabs(value_) <= experts::largest_miss && mass_ >= 0.0 && curvature_.is_sound();
  }

 private:
  experts::NumberLoss loss_;
  experts::MeanCurvature curvature_;
  double value_ = 0.0, mass_ = 0.0;
};

}  // namespace odca
