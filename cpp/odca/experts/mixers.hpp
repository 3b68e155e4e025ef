// Three ways to combine the experts' predictions into one. Each sees an event as one number for each expert, and learns by the
// scalar problem of the loss.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "odca/experts/experts.hpp"
#include "odca/math/many.hpp"

namespace odca::experts {

inline constexpr int mixers = 3;  // Bayes, simplex, Kalman

inline constexpr double simplex_strength = 10.0, kalman_variance = 0.25, kalman_floor = 1e-9;
inline constexpr double least_likelihood = 1e-13;
inline constexpr double least_weight = 1e-30;  // where no time passes, no weight goes back to the prior

// The sum of term(k) over the first so many experts, in four running sums. Terms of the padding must be 0.
template <class Term>
[[gnu::always_inline]] inline double sum_of(int count, Term&& term) {
  double sum[4] = {};
  for (int k = 0; k < count; k += 4)
    for (int n = 0; n < 4; ++n) sum[n] += term(k + n);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Where one is padded with zeros, the other may be padded with any numbers.
inline double dot(int count, const PerExpert& a, const double* b) {
  return sum_of(count, [&](int k) { return a[k] * b[k]; });
}

// Makes weights sum to one, and gives a share of them back to the prior, so that every expert can recover.
inline void share_with_prior(int count, PerExpert& w, double share) {
  static constexpr PerExpert plain = prior_weights(plain_experts), all = prior_weights(expert_count);
  const PerExpert& prior = count == plain_experts ? plain : all;
  const double keep = (1.0 - share) / sum_of(count, [&](int k) { return w[k]; });
  for (int k = 0; k < count; ++k) w[k] = std::max(keep * w[k] + share * prior[k], least_weight);
}

// Experts with products begin as those without, and take half of their weight: the mixture stays what it is.
inline void split_with_products(PerExpert& w) {
  for (int k = 0; k < product_experts; ++k) w[k] = w[first_product_expert + k] = std::max(0.5 * w[k], least_weight);
}

// From weights a to the weighted geometric mean a^(1 - part) b^part, which sums to one again.
template <std::size_t Size>
void merge_weights(std::array<double, Size>& a, const std::array<double, Size>& b, double part, int count) {
  double total = 0.0;
  for (int k = 0; k < count; ++k) total += a[k] = exp((1.0 - part) * log(a[k]) + part * log(b[k]));
  for (int k = 0; k < count; ++k) a[k] = std::max(a[k] / total, least_weight);
}

// Bayes' rule over the experts' likelihoods, with a fixed share.
struct Bayes {
  int count = plain_experts;
  PerExpert weight = prior_weights(plain_experts);

  void learn(const double* likelihood, double share) {
    for (int k = 0; k < count; ++k) weight[k] *= std::max(likelihood[k], least_likelihood);
    share_with_prior(count, weight, share);
  }
  void join_products() { split_with_products(weight), count = expert_count; }
};

// O-DCA under KL at a constant strength a: weights on the simplex, margin x'w. z(t) is taken as its tangent, of slope Var_w(x)/a.
struct Simplex {
  int count = plain_experts;
  PerExpert weight = prior_weights(plain_experts);

  double variance(const double* x) const {
    const double mean = dot(count, weight, x);
    const double square = sum_of(count, [&](int k) { return weight[k] * x[k] * x[k]; });
    return std::max(square - mean * mean, 0.0);
  }

  // S <- S + lambda x
  void learn(const double* x, double lambda, double strength, double share) {
    PerExpert e{};
    double high = -infinity;
    for (int k = 0; k < count; ++k) e[k] = lambda * x[k] / strength, high = std::max(high, e[k]);
    for (int k = 0; k < count; ++k) e[k] -= high;
    exp_many(in_fours(count), e.data());
    for (int k = 0; k < count; ++k) weight[k] *= e[k];
    share_with_prior(count, weight, share);
  }
  void join_products() { split_with_products(weight), count = expert_count; }
};

// Unconstrained weights with a mean and a covariance: a proximal step in the metric of the covariance, which then loses what was
// learned and gains what is forgotten, up to its size at the start.
struct Kalman {
  int count = plain_experts;
  PerExpert weight = prior_weights(plain_experts);
  std::vector<double> covariance = initial_covariance(plain_experts);  // [expert][slot]

  void join_products() {
    std::vector<double> wider = initial_covariance(expert_count);
    std::copy(covariance.begin(), covariance.end(), wider.begin());
    covariance = std::move(wider), count = expert_count;
  }

  // Weighted means of both.
  void merge(const Kalman& other, double part) {
    for (int k = 0; k < count; ++k) weight[k] += part * (other.weight[k] - weight[k]);
    for (std::size_t k = 0; k < covariance.size(); ++k) covariance[k] += part * (other.covariance[k] - covariance[k]);
  }

  // Symmetric and positive definite, and no wider than at the start.
  bool is_sound() const {
    constexpr double largest = 1e40;
    const double widest = 1.5 * count * kalman_variance;
    double lower[expert_count][expert_count];  // of L in C = L D L', with D on the diagonal
    for (int i = 0; i < count; ++i) {
      if (!(std::fabs(weight[i]) <= largest) || !(entry(i, i) <= widest)) return false;
      for (int k = 0; k <= i; ++k) {
        if (entry(i, k) != entry(k, i)) return false;
        double left = entry(i, k);
        for (int m = 0; m < k; ++m) left -= lower[i][m] * lower[k][m] * lower[m][m];
        lower[i][k] = k == i ? left : left / lower[k][k];
      }
      if (!(lower[i][i] > 0.0)) return false;
    }
    return true;
  }

  // An event's C x, and x'C x.
  struct Gain {
    PerExpert gain;
    double variance;
  };
  Gain gain_of(const double* x) const;

  // w += lambda C x; C -= known C x x'C, where known = q / (1 + q x'C x) for a curvature q of the loss.
  void learn(const Gain& event, double lambda, double known, double memory);

 private:
  double entry(int i, int k) const { return covariance[i * slots + k]; }

  static std::vector<double> initial_covariance(int count) {
    std::vector<double> out(static_cast<std::size_t>(count * slots));
    for (int k = 0; k < count; ++k) out[k * slots + k] = kalman_variance;
    return out;
  }
};

// Bayes' rule over the mixers.
struct Top {
  std::array<double, mixers> weight = {1.0 / mixers, 1.0 / mixers, 1.0 / mixers};

  double mix(const double* of_mixers) const {
    return weight[0] * of_mixers[0] + weight[1] * of_mixers[1] + weight[2] * of_mixers[2];
  }

  void learn(const double* likelihood, double share) {
    double total = 0.0;
    for (int m = 0; m < mixers; ++m) total += weight[m] *= std::max(likelihood[m], least_likelihood);
    for (double& w : weight) w = std::max((1.0 - share) * w / total + share / mixers, least_weight);
  }
};

}  // namespace odca::experts
