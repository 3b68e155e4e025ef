// Three ways to mix what the lanes say. Each sees an event as one number for each lane, and learns by the scalar problem of the loss.
#pragma once

#include <algorithm>
#include <array>

#include "odca/experts/experts.hpp"
#include "odca/math/pack4.hpp"

namespace odca::bank {

using PerLaneArray = std::array<double, lanes>;

inline double dot(const double* a, const double* b) {
  double sum = 0.0;
  for (int k = 0; k < lanes; ++k) sum += a[k] * b[k];
  return sum;
}

inline PerLaneArray prior_weights() {
  PerLaneArray out{};
  for (int k = 0; k < lanes; ++k) out[k] = prior_parts[k] / prior_total;
  return out;
}

// Makes weights sum to one, and gives a share of them back to the prior: no lane is ever out of the race.
inline void share_out(PerLaneArray& w, double share) {
  double total = 0.0;
  for (const double each : w) total += each;
  const double keep = (1.0 - share) / total;
  for (int k = 0; k < lanes; ++k) w[k] = std::max(keep * w[k] + share * (prior_parts[k] / prior_total), least_weight);
}

// Bayes' rule over the lanes' likelihoods, with a fixed share.
struct Bayes {
  PerLaneArray weight = prior_weights();

  void learn(const double* likelihood, double share) {
    for (int k = 0; k < lanes; ++k) weight[k] *= std::max(likelihood[k], least_likelihood);
    share_out(weight, share);
  }
};

// O-DCA under KL at a constant strength a: weights on the simplex, margin x'w. z(t) is taken as its tangent, of slope Var_w(x)/a.
struct Simplex {
  PerLaneArray weight = prior_weights();

  double variance(const double* x) const {
    double mean = 0.0, square = 0.0;
    for (int k = 0; k < lanes; ++k) mean += weight[k] * x[k], square += weight[k] * x[k] * x[k];
    return std::max(square - mean * mean, 0.0);
  }

  // S <- S + lambda x
  void learn(const double* x, double lambda, double strength, double share) {
    PerLaneArray e;
    double high = -infinity;
    for (int k = 0; k < lanes; ++k) e[k] = lambda * x[k] / strength, high = std::max(high, e[k]);
    for (double& each : e) each -= high;
    exp_many(lanes, e.data());
    for (int k = 0; k < lanes; ++k) weight[k] *= e[k];
    share_out(weight, share);
  }
};

// Any weights, of which a mean and a covariance are known: a proximal step in the metric of the covariance, which then loses what was
// learned and gains what is forgotten, up to what it was at the start.
struct Kalman {
  PerLaneArray weight = prior_weights();
  std::array<double, lanes * lanes> covariance = wide();

  // Symmetric, and no variance or correlation that cannot be.
  bool is_sound() const {
    for (int i = 0; i < lanes; ++i)
      for (int k = 0; k <= i; ++k) {
        const double c = covariance[i * lanes + k], both = covariance[i * lanes + i] * covariance[k * lanes + k];
        if (c != covariance[k * lanes + i] || !(covariance[i * lanes + i] > 0.0) || c * c > both * (1.0 + 1e-9))
          return false;
      }
    return true;
  }

  // What an event is to it: C x, and x'C x.
  struct View {
    PerLaneArray gain;
    double variance;
  };
  View look(const double* x) const {
    static_assert(lanes == 12);
    Four a{}, b{}, c{};
    for (int i = 0; i < lanes; ++i) {
      const double* row = covariance.data() + i * lanes;
      const Four v = Four::all(x[i]);
      a += v * Four::from(row), b += v * Four::from(row + 4), c += v * Four::from(row + 8);
    }
    View out;
    a.to(out.gain.data()), b.to(out.gain.data() + 4), c.to(out.gain.data() + 8);
    out.variance = std::max(dot(out.gain.data(), x), 0.0);
    return out;
  }

  // w += lambda C x; C -= known C x x'C, where known = q / (1 + q x'C x) for a curvature q of the loss.
  void learn(const View& view, double lambda, double known, double memory) {
    const PerLaneArray& g = view.gain;
    double trace = 0.0;
    for (int i = 0; i < lanes; ++i) {
      weight[i] += lambda * g[i];
      trace += covariance[i * lanes + i] - known * g[i] * g[i];
    }
    const double room = lanes * kalman_variance / std::max(trace, tiny);
    const Four wider = Four::all(std::max(1.0, std::min(1.0 / memory, room)));
    const Four g0 = Four::from(g.data()), g1 = Four::from(g.data() + 4), g2 = Four::from(g.data() + 8);
    for (int i = 0; i < lanes; ++i) {
      double* row = covariance.data() + i * lanes;
      const Four part = Four::all(g[i]), lost = Four::all(known);  // known (g g'): symmetric to the bit
      ((Four::from(row) - lost * (part * g0)) * wider).to(row);
      ((Four::from(row + 4) - lost * (part * g1)) * wider).to(row + 4);
      ((Four::from(row + 8) - lost * (part * g2)) * wider).to(row + 8);
      row[i] += kalman_floor;  // rounding never makes it indefinite
    }
  }

 private:
  static std::array<double, lanes * lanes> wide() {
    std::array<double, lanes * lanes> out{};
    for (int k = 0; k < lanes; ++k) out[k * lanes + k] = kalman_variance;
    return out;
  }
};

// Bayes' rule over the mixers.
struct Top {
  std::array<double, mixers> weight = {1.0 / mixers, 1.0 / mixers, 1.0 / mixers};

  double mix(const double* told) const { return weight[0] * told[0] + weight[1] * told[1] + weight[2] * told[2]; }

  void learn(const double* likelihood, double share) {
    double total = 0.0;
    for (int m = 0; m < mixers; ++m) total += weight[m] *= std::max(likelihood[m], least_likelihood);
    for (double& w : weight) w = std::max((1.0 - share) * w / total + share / mixers, least_weight);
  }
};

}  // namespace odca::bank
