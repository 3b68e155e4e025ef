// Keeps the smoothed sums of a state up to date with its weights.
#pragma once

#include <vector>

#include "odca/learner/transaction.hpp"
#include "odca/problem/config.hpp"
#include "odca/step/solve.hpp"

namespace odca {

template <class Penalty, int Lanes>
class Smoother {
 public:
  Smoother(const Config& config, const Penalty& penalty, State& state, Transaction& transaction)
      : config_(config), penalty_(penalty), state_(state), transaction_(transaction) {}

  // To be called at the end of an event: adds w_N to the smoothed weights. `work` is its number of features.
  [[gnu::always_inline]] void append(std::int64_t work) {
    if (!state_.smoothing) return;
    state_.smooth_mass = config_.kappa * state_.smooth_mass + 1.0;
    if constexpr (std::is_same_v<Penalty, KL>) {
      transaction_.about_to_change_smoothed_sums();
      weights_.resize(state_.dual.size());
      for (int l = 0; l < lanes(); ++l) softmax(penalty_, state_, l, state_.lane.q[l], weights_.data() + l, lanes());
      for (std::size_t at = 0; at < weights_.size(); ++at)
        state_.smooth[at] = config_.kappa * state_.smooth[at] + weights_[at];
    } else if (state_.timeline.now() == 0 && state_.features <= 4 * work) {
      smooth_all();  // laziness saves nothing for a row that has most features
    } else {
      state_.timeline.append(state_.lane.q.data());
      // A block ends when settling it is cheap compared to the work it held, and after at most about half as many events
      // as there are features, so that its tables stay in proportion to the model.
      state_.smooth_work += work + 12;
      if (state_.smooth_work >= 7 * state_.features + 256) settle();
    }
  }

  // Brings every coordinate's smoothed sum up to date and starts a new block of the timeline.
  void settle() {
    if constexpr (may_be_lazy) settle_block();
  }

  // Brings the smoothed sums of a row's coordinates up to date.
  void bring_up(const Row& h) {
    if constexpr (may_be_lazy)
      if (state_.smoothing && state_.timeline.now() > 0)
        bring_up([&h](auto visit) { h.each([&](std::int64_t j, double) { visit(j); }); });
  }

  // The same, and returns their dot products with the row.
  [[gnu::always_inline]] void bring_up_and_dot(const Row& h, double* out) {
    bring_up(h);
    dot<Lanes>(h, state_.smooth.data(), lanes(), out);
  }

  // Whether bring_up_and_project is possible.
  [[gnu::always_inline]] bool brings_up_and_projects(const Row& h) const {
    if constexpr (Lanes == 1 && std::is_same_v<Penalty, L2>)
      return state_.smoothing && h.index && state_.timeline.now() > 0 && config_.shape.is_plain();
    return false;
  }

  // Everything that an event needs to know about its row, in one pass over it: brings up the smoothed sums of its coordinates, and returns
  // the dot products with them and with v, and the squared norm. (Not inlined, because the surrounding step would use up its registers.)
  struct Projected {
    double smoothed, dot, norm;
  };
  [[gnu::noinline]] Projected bring_up_and_project(const Row& h) {
    Projected out{};
    state_.timeline.with_carry([&](const auto& carry) { out = bring_up_and_project(h, carry); });
    return out;
  }

 private:
  // On the simplex every weight moves at every event, so laziness saves nothing.
  static constexpr bool may_be_lazy = !std::is_same_v<Penalty, KL>;

  int lanes() const { return Lanes ? Lanes : state_.lanes; }

  // Each of the sums is four running sums, as in dot_and_norm.
  template <class Carry>
  [[gnu::always_inline]] Projected bring_up_and_project(const Row& h, const Carry& carry) {
    const std::int32_t* const index = h.index;
    const double *const value = h.value, *const dual = state_.dual.data();
    double* const smooth = state_.smooth.data();
    Timeline::Position* const seen = state_.seen.data();
    const Timeline::Position now = state_.timeline.now();
    Pack4 smoothed, dot, norm;
    std::int64_t i = 0;
    for (; i + 4 <= h.size; i += 4) {
      const std::int64_t a = index[i], b = index[i + 1], c = index[i + 2], d = index[i + 3];
      const Missed<Pack4> missed = carry.of_four(seen[a], seen[b], seen[c], seen[d]);
      const Pack4 v = Pack4::of(dual[a], dual[b], dual[c], dual[d]), each = Pack4::from(value + i);
      const Pack4 brought = missed.weight * Pack4::of(smooth[a], smooth[b], smooth[c], smooth[d]) + v * missed.sum;
      smooth[a] = brought[0], smooth[b] = brought[1], smooth[c] = brought[2], smooth[d] = brought[3];
      seen[a] = seen[b] = seen[c] = seen[d] = now;
      smoothed += each * brought, dot += each * v, norm += each * each;
    }
    Projected rest{smoothed[0], dot[0], norm[0]};
    for (; i < h.size; ++i) {
      const std::int64_t j = index[i];
      const Missed<double> missed = carry(seen[j], 0);
      smooth[j] = missed.weight * smooth[j] + dual[j] * missed.sum;
      seen[j] = now;
      rest.smoothed += value[i] * smooth[j], rest.dot += value[i] * dual[j], rest.norm += value[i] * value[i];
    }
    const auto sum = [](double first, const Pack4& each) { return (first + each[1]) + (each[2] + each[3]); };
    return {sum(rest.smoothed, smoothed), sum(rest.dot, dot), sum(rest.norm, norm)};
  }

  [[gnu::noinline]] void smooth_all() {
    transaction_.about_to_change_smoothed_sums();
    const double kappa = config_.kappa;
    double *const smooth = state_.smooth.data(), *const dual = state_.dual.data();
    for (std::int64_t j = 0; j < state_.features; ++j)
      with_penalty_of(config_, penalty_, j, [&](const auto& penalty) {
        for (int l = 0; l < lanes(); ++l) {
          const std::size_t at = j * lanes() + l;
          const double x = state_.lane.q[l] * (dual[at] * config_.shape.inverse_weight_of(j));
          smooth[at] = kappa * smooth[at] + penalty.map(x, config_.shape.mean_of(at));
        }
      });
  }

  [[gnu::noinline]] void settle_block() {
    if (!state_.smoothing || state_.timeline.now() == 0) return;
    transaction_.about_to_change_everything();
    bring_up([this](auto visit) {
      for (std::int64_t j = 0; j < state_.features; ++j) visit(j);
    });
    std::fill(state_.seen.begin(), state_.seen.end(), 0);
    state_.timeline.clear();
    state_.smooth_work = 0;
  }

  // Brings the smoothed sums of some coordinates up to date: each(visit) calls visit(j) for them.
  template <class Each>
  [[gnu::always_inline]] void bring_up(Each each) {
    double *const smooth = state_.smooth.data(), *const dual = state_.dual.data();
    Timeline::Position* const seen = state_.seen.data();
    const auto bring_each = [&, now = state_.timeline.now(), lane_count = lanes()](auto brought) {
      each([=](std::int64_t j) {
        for (int l = 0; l < lane_count; ++l) {
          const std::size_t at = j * lane_count + l;
          smooth[at] = brought(smooth[at], j, at, l);
        }
        seen[j] = now;
      });
    };
    if (std::is_same_v<Penalty, L2> && config_.shape.is_plain())  // w = q v: nothing else has to be read
      state_.timeline.with_carry([=](auto carry) {
        bring_each([=](double sum, std::int64_t j, std::size_t at, int l) {
          const Missed<double> missed = carry(seen[j], l);
          return missed.weight * sum + dual[at] * missed.sum;
        });
      });
    else
      bring_each([=, this](double sum, std::int64_t j, std::size_t at, int l) {
        return with_penalty_of(config_, penalty_, j, [&](const auto& penalty) {
          return state_.timeline.bring_up(sum, seen[j], l, dual[at] * config_.shape.inverse_weight_of(j),
                                          config_.shape.mean_of(at), penalty);
        });
      });
  }

  const Config& config_;
  const Penalty& penalty_;
  State& state_;
  Transaction& transaction_;
  std::vector<double> weights_;
};

}  // namespace odca
