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
// There are at most 64 features; an event costs O(features^2), and nothing where no feature is dense. A feature is adopted when it
// becomes dense, first come first served, and dropped with its weights when it becomes sparse again.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "odca/experts/experts.hpp"
#include "odca/experts/pace.hpp"
#include "odca/experts/records.hpp"
#include "odca/experts/scaled_row.hpp"
#include "odca/math/factored_covariance.hpp"

namespace odca::experts {

class FullNewton {
 public:
  static constexpr std::size_t most_features = 64;

  explicit FullNewton(int heads) : heads_(heads) {
    for (int k = 0; k < full_experts; ++k) expert_[k].covariance.append(1.0 / prior_of(k));
    for (auto& each : expert_) each.weight.assign(static_cast<std::size_t>(heads), 0.0);
  }

  // How much of the prior of a feature's weights this model holds: 1, unless it is a part of one that was split.
  using ShareOfPrior = std::function<double(std::int64_t feature)>;

  // Adopts and drops features, so that they are those of the dense ones, of which at most so many.
  void follow(const std::vector<std::int64_t>& dense, const ShareOfPrior& share) {
    std::vector<int> kept = {0};
    for (int n = 1; n < size(); ++n)
      if (std::binary_search(dense.begin(), dense.end(), features_[n - 1])) kept.push_back(n);
    if (static_cast<int>(kept.size()) < size()) keep(kept);
    for (const std::int64_t j : dense)
      if (features_.size() < most_features && place_of(j) == 0) adopt(j, share(j));
  }

  // What an event is to these experts.
  struct Event {
    std::vector<double> h;  // the constant and the standardised features, padded
    std::array<FactoredCovariance::Direction, full_experts> along;
    std::vector<double> gain;
  };

  // z[head][full expert] += w'h
  void add_margins(const ScaledRow& row, Event& event, double* z) const {
    gather(row, event.h);
    for (int head = 0; head < heads_; ++head)
      for (int k = 0; k < full_experts; ++k) {
        const double* w = weights_of(k, head);
        double sum = 0.0;  // in order, so that what is zero changes no bit
        for (int n = 0; n < size(); ++n) sum += w[n] * event.h[n];
        *z++ += sum;
      }
  }

  // s = c h'P h of each expert, for an event of weight c.
  void write_slopes(Event& event, double c, double* s) const {
    for (int k = 0; k < full_experts; ++k) {
      expert_[k].covariance.look_along(event.h.data(), event.along[k]);
      s[k] = c * event.along[k].variance;
    }
  }

  // w += c lambda P h, lambda[head][full expert]; then P learns the curvature q of the loss, and forgets.
  void step(Event& event, const double* lambda, double c, double q, const Pace& pace) {
    event.gain.resize(event.h.size());
    for (int k = 0; k < full_experts; ++k) {
      FactoredCovariance& p = expert_[k].covariance;
      p.observe(event.along[k], std::max(c * q, least_curvature), event.gain.data());
      for (int head = 0; head < heads_; ++head) {
        double* w = weights_of(k, head);
        const double by = c * lambda[head * full_experts + k];
        for (int n = 0; n < size(); ++n) w[n] += by * event.gain[n];
      }
      if (pace.full_memory[k] < 1.0) p.multiply(p.room_for(1.0 / pace.full_memory[k], size() / prior_of(k)));
    }
  }

  // The weights of all experts for a feature, [head * stride + expert]; zero if it was not adopted.
  void write_weights(std::int64_t feature, int stride, double* out) const {
    const int place = place_of(feature);
    for (int head = 0; head < heads_; ++head)
      for (int k = 0; k < full_experts; ++k) out[head * stride + k] = place > 0 ? weights_of(k, head)[place] : 0.0;
  }

  FullNewton with_heads(const Records::Arrangement& to) const {
    FullNewton out = *this;
    out.heads_ = to.heads();
    for (int k = 0; k < full_experts; ++k) {
      out.expert_[k].weight.assign(static_cast<std::size_t>(to.heads() * size()), 0.0);
      for (int n = 0; n < size(); ++n) {
        for (int c = 0; c < to.heads(); ++c)
          if (to.source[c] >= 0) out.weights_of(k, c)[n] = to.factor[c] * weights_of(k, to.source[c])[n] + 0.0;
        double sum = 0.0;
        for (const int c : to.averaged) sum += out.weights_of(k, c)[n];
        for (const int c : to.added) out.weights_of(k, c)[n] = sum / static_cast<double>(to.averaged.size());
      }
    }
    return out;
  }

  bool has(std::int64_t feature) const { return place_of(feature) > 0; }
  // Of these features alone, in this order.
  FullNewton of_some(const std::vector<std::int64_t>& features) const {
    FullNewton out = *this;
    if (features == features_) return out;
    std::vector<int> places = {0};
    for (const std::int64_t j : features) places.push_back(place_of(j));
    out.keep(places);
    return out;
  }

  // From the units of one model to those of both: h' = slope h + shift, where h' is at place `to`.
  struct Unit {
    int to;
    double slope, shift, share;  // of the prior that the model holds
  };
  struct Part;
  struct Known {
    std::vector<double> precision, learned;  // P^-1, [place][place], and P^-1 w, [head][place]
  };
  // See full_newton.cpp. `share` is how much of the prior of each feature both hold.
  static FullNewton merged(std::vector<std::int64_t> features, const std::vector<double>& share, const Part& here,
                           const Part& there);
  // The same weights, with a share of everything that counts events.
  void keep_share(double share) {
    for (int k = 0; k < full_experts; ++k)
      if (remembers_all(k)) expert_[k].covariance.multiply(1.0 / share);
  }
  void move_constants(const std::vector<double>& by) {
    for (int k = 0; k < full_experts; ++k)
      for (int head = 0; head < heads_; ++head) weights_of(k, head)[0] += by[head];
  }

  // The adopted features, in the order of the weights; the constant comes before them.
  const std::vector<std::int64_t>& features() const { return features_; }

  // What a file holds: the parts of each expert by its key.
  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    visit("full_features", self.features_);
    for (int k = 0; k < full_experts; ++k) {
      const std::string key = std::string(table[first_full_expert + k].key) + ".";
      visit((key + "weights").c_str(), self.expert_[k].weight);
      FactoredCovariance::each_part(self.expert_[k].covariance,
                                    [&](const char* name, auto& value) { visit((key + name).c_str(), value); });
    }
  }
  // After these were read. False if they do not fit together, or not to a table with these dense features.
  bool complete(const std::vector<std::int64_t>& dense) {
    if (features_.size() > most_features) return false;
    number_places();
    const bool twice = std::adjacent_find(sorted_.begin(), sorted_.end()) != sorted_.end();
    if (twice || !std::all_of(features_.begin(), features_.end(),
                              [&](auto j) { return std::binary_search(dense.begin(), dense.end(), j); }))
      return false;
    return std::all_of(expert_.begin(), expert_.end(), [&](const One& each) {
      return each.weight.size() == static_cast<std::size_t>(heads_ * size()) && all_within(each.weight, 1e200) &&
             each.covariance.is_sound(size());
    });
  }

 private:
  static constexpr double least_curvature = 1e-6;

  struct One {
    std::vector<double> weight;  // [head][place]
    FactoredCovariance covariance;
  };

  static constexpr double prior_of(int k) { return table[first_full_expert + k].parameter; }
  static constexpr bool remembers_all(int k) { return table[first_full_expert + k].memory == 1.0; }

  int size() const { return static_cast<int>(features_.size()) + 1; }
  const double* weights_of(int k, int head) const { return expert_[k].weight.data() + head * size(); }
  double* weights_of(int k, int head) { return expert_[k].weight.data() + head * size(); }

  // The place of a feature among the weights; 0 if it was not adopted.
  int place_of(std::int64_t feature) const {
    const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), feature);
    return found != sorted_.end() && *found == feature ? place_[static_cast<std::size_t>(found - sorted_.begin())] : 0;
  }

  void gather(const ScaledRow& row, std::vector<double>& h) const {
    h.assign(expert_[0].covariance.padded_size(), 0.0);
    h[0] = 1.0;
    row.each_of(sorted_, [&](std::size_t n, double value) { h[place_[n]] = value; });
  }

  void adopt(std::int64_t feature, double share_of_prior) {
    for (int k = 0; k < full_experts; ++k) {
      for (int head = heads_; head > 0; --head)
        expert_[k].weight.insert(expert_[k].weight.begin() + head * size(), 0.0);
      expert_[k].covariance.append(1.0 / (prior_of(k) * (remembers_all(k) ? share_of_prior : 1.0)));
    }
    features_.push_back(feature);
    number_places();
  }

  void keep(const std::vector<int>& places) {
    for (int k = 0; k < full_experts; ++k) {
      std::vector<double> w;
      for (int head = 0; head < heads_; ++head)
        for (const int i : places) w.push_back(weights_of(k, head)[i]);
      expert_[k] = {std::move(w), expert_[k].covariance.of_some(places)};
    }
    std::vector<std::int64_t> features;
    for (const int i : places)
      if (i > 0) features.push_back(features_[i - 1]);
    features_ = std::move(features);
    number_places();
  }

  void number_places() {
    place_.resize(features_.size());
    std::iota(place_.begin(), place_.end(), 1);
    std::sort(place_.begin(), place_.end(), [&](int a, int b) { return features_[a - 1] < features_[b - 1]; });
    sorted_.clear();
    for (const int place : place_) sorted_.push_back(features_[place - 1]);
  }

  int heads_;
  std::vector<std::int64_t> features_;
  std::vector<std::int64_t> sorted_;  // the same in order, and the place of each
  std::vector<int> place_;
  std::array<One, full_experts> expert_;
};

// One of two models that become one: the units of its features, the constant first, how much of all events it learned from, and
// what the base rate of all of them is above its own, [head].
struct FullNewton::Part {
  FullNewton model;
  std::vector<FullNewton::Unit> units;
  double events;
  std::vector<double> base_above;

  FullNewton::Known known(int k, int joint) const;
};

}  // namespace odca::experts
