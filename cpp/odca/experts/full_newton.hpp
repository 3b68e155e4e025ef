// Newton's method with a full covariance: experts that know how the dense features go together.
//
// The other experts treat each feature by itself. Where features move together, such as the lags of a signal, that is slow: what one
// weight gains, another has to lose. These experts keep the whole matrix P, the inverse of the curvature
//
//     P = (p I + sum_n memory^(N - n) c_n q_n h_n h_n')^-1        w <- w + c lambda P h
//
// where h are the standardised dense features and the constant, and lambda solves the scalar problem of the loss at slope c h'P h: for
// numbers, recursive least squares; for classes its logistic counterpart. All heads share P, with the mean curvature of the heads.
//
// P is kept as factors, which stay positive definite for ever. An expert that forgets widens P by 1/memory after each event, but never
// beyond its trace at the start, so that directions without events do not grow without bound.
//
// There are at most 64 features; an event costs O(features^2). A feature is adopted when it becomes dense, first come first served, and
// dropped when it becomes sparse again.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "odca/experts/experts.hpp"
#include "odca/experts/pace.hpp"
#include "odca/experts/scaled_row.hpp"
#include "odca/math/factored_covariance.hpp"

namespace odca::experts {

inline constexpr int most_correlated = 64, full_slots = full_experts + full_experts % 2;

class FullNewton {
 public:
  explicit FullNewton(int heads) : heads_(heads) {
    for (int k = 0; k < full_experts; ++k) covariance_[k].append(prior_variance(k));
    for (auto& w : weight_) w.assign(static_cast<std::size_t>(heads), 0.0);
  }

  // The adopted features, in the order of the weights; the constant comes before them.
  const std::vector<std::int64_t>& features() const { return features_; }
  int size() const { return static_cast<int>(features_.size()) + 1; }

  // Before a row is learned: the features that are dense by now, in order.
  void follow(const std::vector<std::int64_t>& dense) {
    if (dense == followed_) return;
    followed_ = dense;
    std::vector<int> kept = {0};
    for (int n = 1; n < size(); ++n)
      if (std::binary_search(dense.begin(), dense.end(), features_[n - 1])) kept.push_back(n);
    if (static_cast<int>(kept.size()) < size()) keep(kept);
    for (const std::int64_t j : dense)
      if (size() <= most_correlated && place_of(j) == 0) adopt(j);
  }

  // What an event is to these experts.
  struct Event {
    std::vector<double> h;  // the constant and the standardised features
    std::array<FactoredCovariance::Direction, full_experts> along;
    std::vector<double> gain;
  };

  // z[head * stride + expert] += w'h
  void add_margins(const ScaledRow& row, Event& event, double* z, int stride) const {
    gather(row, event.h);
    for (int k = 0; k < full_experts; ++k)
      for (int head = 0; head < heads_; ++head) {
        const double* w = weights_of(k, head);
        double sum = 0.0;
        for (int n = 0; n < size(); ++n) sum += w[n] * event.h[n];
        z[head * stride + k] += sum;
      }
  }

  // s = c h'P h of each expert, for an event of weight c.
  void write_slopes(Event& event, double c, double* s) const {
    for (int k = 0; k < full_experts; ++k) {
      covariance_[k].look_along(event.h.data(), event.along[k]);
      s[k] = c * event.along[k].variance;
    }
  }

  // w += c lambda P h, lambda[head * stride + expert]; then P learns the curvature q of the loss, and forgets.
  void step(Event& event, const double* lambda, int stride, double c, double q, const Pace& pace) {
    ++steps_;
    event.gain.assign(event.h.size(), 0.0);
    for (int k = 0; k < full_experts; ++k) {
      covariance_[k].observe(event.along[k], std::max(c * q, least_curvature), event.gain.data());
      for (int head = 0; head < heads_; ++head) {
        double* w = weights_of(k, head);
        const double by = c * lambda[head * stride + k];
        for (int n = 0; n < size(); ++n) w[n] += by * event.gain[n];
      }
      if (pace.full_memory[k] < 1.0) widen(k, 1.0 / pace.full_memory[k]);
    }
  }

  // The weights of expert k for the constant (n = 0) and the adopted features.
  const double* weights_of(int k, int head) const { return weight_[k].data() + head * size(); }

  // The place of a feature among the weights; 0 if it was not adopted.
  int place_of(std::int64_t feature) const {
    return feature < static_cast<std::int64_t>(places_.size()) ? places_[static_cast<std::size_t>(feature)] : 0;
  }

  // Other heads: a head takes the weights of source[head], times factor[head]; -1 begins at zero.
  FullNewton with_heads(const std::vector<int>& source, const std::vector<double>& factor) const {
    FullNewton out = *this;
    out.heads_ = static_cast<int>(source.size());
    for (int k = 0; k < full_experts; ++k) {
      out.weight_[k].assign(source.size() * static_cast<std::size_t>(size()), 0.0);
      for (int head = 0; head < out.heads_; ++head)
        if (source[head] >= 0)
          std::transform(weights_of(k, source[head]), weights_of(k, source[head]) + size(), out.weights_of(k, head),
                         [&](double w) { return factor[head] * w; });
    }
    return out;
  }

 private:
  static constexpr double least_curvature = 1e-6;
  static constexpr std::int64_t trace_interval = 16;  // events between two looks at the trace, which costs as much as a step

  static double prior_variance(int k) { return 1.0 / table[row_experts + k].parameter; }

  double* weights_of(int k, int head) { return weight_[k].data() + head * size(); }

  void gather(const ScaledRow& row, std::vector<double>& h) const {
    h.assign(static_cast<std::size_t>(size()), 0.0);
    h[0] = 1.0;
    for (int i = 0; i + 1 < row.size; ++i)
      if (const int place = place_of(row.feature[i])) h[place] = row.h[i];
  }

  // Between two looks at the trace it may grow by a few percent.
  void widen(int k, double factor) {
    if (steps_ % trace_interval == 0) room_[k] = size() * prior_variance(k) / covariance_[k].trace();
    if (room_[k] > 1.0) covariance_[k].multiply(factor), room_[k] /= factor;
  }

  void adopt(std::int64_t feature) {
    if (feature >= static_cast<std::int64_t>(places_.size())) places_.resize(static_cast<std::size_t>(feature) + 1, 0);
    places_[static_cast<std::size_t>(feature)] = static_cast<std::int8_t>(size());
    for (int k = 0; k < full_experts; ++k) {
      for (int head = heads_; head > 0; --head) weight_[k].insert(weight_[k].begin() + head * size(), 0.0);
      covariance_[k].append(prior_variance(k));
    }
    features_.push_back(feature);
  }

  void keep(const std::vector<int>& places) {
    const int before = size();
    for (int k = 0; k < full_experts; ++k) {
      const std::vector<double> p = covariance_[k].dense();
      std::vector<double> of_kept, w;
      for (const int i : places)
        for (const int j : places) of_kept.push_back(p[static_cast<std::size_t>(i * before + j)]);
      for (int head = 0; head < heads_; ++head)
        for (const int i : places) w.push_back(weight_[k][static_cast<std::size_t>(head * before + i)]);
      covariance_[k] = FactoredCovariance::of(std::move(of_kept), static_cast<int>(places.size()), tiny);
      weight_[k] = std::move(w);
    }
    std::vector<std::int64_t> features;
    for (const int i : places)
      if (i > 0) features.push_back(features_[i - 1]);
    features_ = std::move(features);
    number_places();
  }

  void number_places() {
    places_.assign(places_.size(), 0);
    for (int n = 1; n < size(); ++n) {
      const auto j = static_cast<std::size_t>(features_[n - 1]);
      if (j >= places_.size()) places_.resize(j + 1, 0);
      places_[j] = static_cast<std::int8_t>(n);
    }
  }

  int heads_;
  std::vector<std::int64_t> features_, followed_;
  std::vector<std::int8_t> places_;                            // of every feature
  std::array<std::vector<double>, full_experts> weight_;       // [head][place]
  std::array<FactoredCovariance, full_experts> covariance_;
  std::array<double, full_experts> room_{};                    // how much wider P may become
  std::int64_t steps_ = 0;
};

}  // namespace odca::experts
