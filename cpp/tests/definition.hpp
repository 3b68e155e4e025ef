// The paper's sums from their definitions, in long double, and comparisons with a learner's.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "odca/learner/learner.hpp"
#include "support.hpp"

namespace odca::test {

// The past as the paper writes it: every event with its weight, its dual and its row.
class Definition {
 public:
  Definition(const Config& config, const Stream& stream) : config_(config), stream_(stream) {}

  void add(std::vector<double> lambda) {
    const auto n = static_cast<std::int64_t>(duals_.size());
    const double before = clock_;
    clock_ = std::max(clock_, stream_.time[n]);
    arrived_expired_.push_back(n > 0 && stream_.time[n] <= before - config_.window.duration);
    duals_.push_back(std::move(lambda));
  }

  // delta_n of the paper, now.
  long double weight(std::int64_t n, int lane) const {
    const auto events = static_cast<std::int64_t>(duals_.size());
    const long double c = stream_.weight[n * stream_.lanes + lane];
    const Window& window = config_.window;
    switch (window.kind) {
      case Window::Kind::decay: return c * powl(window.of_lane(lane), events - 1 - n);
      case Window::Kind::half_life: return c * exp2l(-(clock_ - stream_.time[n]) / window.of_lane(lane));
      case Window::Kind::count: return n >= events - window.length ? c : 0.0L;
      case Window::Kind::duration: return arrived_expired_[n] || stream_.time[n] <= clock_ - window.duration ? 0.0L : c;
    }
    return 0.0L;
  }

  struct Sums {
    long double mass = 0.0L, squared_mass = 0.0L, saturated = 0.0L;
    std::vector<long double> dual, size;  // [feature]: S, and the sum of |terms|
  };
  Sums sums(int lane, std::int64_t features) const {
    Sums out;
    out.dual.resize(features);
    out.size.resize(features);
    for (std::size_t n = 0; n < duals_.size(); ++n) {
      const long double delta = weight(static_cast<std::int64_t>(n), lane);
      const double lambda = duals_[n][lane], y = stream_.y[n * stream_.lanes + lane];
      out.mass += delta;
      out.squared_mass += delta * delta;
      if (std::visit([&](const auto& loss) { return loss.saturated(lambda, y); }, config_.loss)) out.saturated += delta;
      each_feature(static_cast<std::int64_t>(n), [&](std::int64_t j, double h) {
        out.dual[j] += delta * lambda * h;
        out.size[j] += std::fabs(delta * lambda * h);
      });
    }
    return out;
  }

  template <class Visit>
  void each_feature(std::int64_t n, Visit visit) const {
    const std::int64_t first = config_.intercept ? 1 : 0;
    if (first) visit(0, 1.0);
    for (std::int64_t k = stream_.dense ? n * stream_.width : stream_.start[n];
         k < (stream_.dense ? (n + 1) * stream_.width : stream_.start[n + 1]); ++k)
      visit((stream_.dense ? k - n * stream_.width : stream_.index[k]) + first, stream_.value[k]);
  }

  // h'w of one lane, and the size of its terms.
  std::pair<long double, long double> margin(std::int64_t n, const std::vector<double>& weights, int lane) const {
    long double sum = 0.0L, size = 0.0L;
    each_feature(n, [&](std::int64_t j, double h) {
      const std::size_t at = static_cast<std::size_t>(j) * stream_.lanes + lane;
      if (at >= weights.size()) return;
      sum += static_cast<long double>(h) * weights[at];
      size += std::fabs(h * weights[at]);
    });
    return {sum, size};
  }

 private:
  const Config& config_;
  const Stream& stream_;
  std::vector<std::vector<double>> duals_;
  std::vector<bool> arrived_expired_;
  double clock_ = -infinity;
};

// A weight of the separable penalties as the paper writes it.
inline long double map_of(const Config& config, std::int64_t j, long double x, long double w0) {
  const auto* separable = std::get_if<odca::Separable>(&config.penalty);
  if (!separable || (config.intercept && j == 0)) return w0 + x;
  const long double delta = separable->delta;
  const long double w = w0 + (x > delta ? x - delta : x < -delta ? x + delta : 0.0L);
  return std::min<long double>(std::max<long double>(w, separable->lo), separable->hi);
}

inline void check_sums(const Learner& learner, const Definition& definition) {
  const Config& config = learner.config();
  const Learner::Scalars scalars = learner.scalars();
  const std::vector<double> dual = learner.dual_sum(), weights = learner.weights(false);
  for (int l = 0; l < config.lanes; ++l) {
    const Definition::Sums wanted = definition.sums(l, scalars.features);
    // A hundred events, two roundings each, and those of the decay: 1e-12 is ten times what they add up to.
    REQUIRE(std::fabs(scalars.lane.mass[l] - wanted.mass) <= 1e-12L * wanted.mass);
    REQUIRE(std::fabs(scalars.lane.squared_mass[l] - wanted.squared_mass) <= 1e-12L * wanted.squared_mass);
    REQUIRE(std::fabs(scalars.lane.saturated[l] - wanted.saturated) <= 1e-12L * wanted.mass);
    long double total = 0.0L;
    for (std::int64_t j = 0; j < scalars.features; ++j) {
      const std::size_t at = static_cast<std::size_t>(j) * config.lanes + l;
      const long double slack = 1e-12L * (wanted.size[j] + 1e-3L);
      CAPTURE(j);
      REQUIRE(std::fabs(dual[at] - wanted.dual[j]) <= slack);
      total += weights[at];
      if (config.fixed_features > 0) continue;
      const long double strength = config.rho[l] * static_cast<double>(wanted.mass) + config.prior_strength[l];
      const long double r = config.shape.inverse_weight_of(j), w0 = config.shape.mean_of(at);
      const long double x = strength > 0.0L ? wanted.dual[j] * r / strength : 0.0L;
      const long double blur = strength > 0.0L ? slack * r / strength : 0.0L;
      REQUIRE(std::fabs(weights[at] - map_of(config, j, x, w0)) <= blur + 1e-12L * (1.0L + std::fabs(x)));
    }
    if (config.fixed_features > 0) REQUIRE(static_cast<double>(total) == doctest::Approx(1.0).epsilon(1e-13));
  }
}

// lambda in -dQ(b + h'w), with the model after the event: the first-order condition of the paper.
inline void check_optimal(const Learner& learner, const Definition& definition, const Stream& stream, std::int64_t n,
                          const std::vector<double>& lambda) {
  const std::vector<double> weights = learner.weights(false);
  for (int l = 0; l < stream.lanes; ++l) {
    const std::int64_t at = n * stream.lanes + l;
    if (stream.weight[at] == 0.0 || definition.weight(n, l) == 0.0L) {
      REQUIRE(lambda[l] == 0.0);
      continue;
    }
    if (definition.weight(n, l) != static_cast<long double>(stream.weight[at])) continue;  // a late event
    const auto [sum, size] = definition.margin(n, weights, l);
    const double z = static_cast<double>(stream.offset[at] + sum), slack = 1e-10 * (1.0 + static_cast<double>(size));
    std::visit(
        [&](const auto& loss) {
          const double rounding = 1e-10 * (1.0 + std::fabs(lambda[l]));
          REQUIRE(lambda[l] <= -loss.subgradient(z - slack, stream.y[at]).lo + rounding);
          REQUIRE(lambda[l] >= -loss.subgradient(z + slack, stream.y[at]).hi - rounding);
        },
        learner.config().loss);
  }
}

inline void close_to(const std::vector<double>& got, const std::vector<double>& wanted, double tolerance) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    REQUIRE(std::fabs(got[i] - wanted[i]) <= tolerance * (1.0 + std::fabs(wanted[i])));
  }
}

}  // namespace odca::test
