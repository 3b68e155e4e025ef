// A Pass for one loss; make_pass_of(loss, ...) picks the penalty and the number of lanes.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "odca/errors.hpp"
#include "odca/learner/joint_step.hpp"
#include "odca/learner/pass.hpp"
#include "odca/step/choice.hpp"
#include "odca/step/step.hpp"

namespace odca {

template <class Loss, class Penalty, int Lanes>
class TypedPass final : public Pass {
 public:
  TypedPass(const Config& config, const Loss& loss, const Penalty& penalty, State& state, Transaction& transaction)
      : config_(config),
        loss_(loss),
        state_(state),
        step_(config, loss, penalty, state, transaction),
        event_(config.lanes) {}

  std::int64_t learn(const Events& events, const Report& report, LongCall& call) override {
    const Batch& batch = events.batch;
    const int lanes = Lanes ? Lanes : config_.lanes;
    const std::int64_t extra = config_.fixed_features + 16;  // on the simplex an event touches every feature
    const bool fetches = step_.wants_fetching();
    const bool chooses = config_.candidates > 1;
    const int models = config_.models();
    choice::choose(config_, state_.lane, chosen_);
    step_.begin();
    std::int64_t row = 0;
    for (; row < batch.rows; ++row) {
      const Row h = batch.row(row, scratch_);
      if (call.should_stop(h.size * lanes + extra)) break;
      if (fetches) batch.peek(row + 1, [this](std::int64_t j) { step_.fetch(j); });
      load(events, row, h);
      if (batch.widens) step_.widen(h);
      step_.learn(h, event_);
      const auto report_to = [&](auto* out, auto of_lane) __attribute__((always_inline)) {
        if (!out) return;
        for (int m = 0; m < models; ++m) out[row * models + m] = of_lane(chosen_[m]);
      };
      report_to(report.margin, [this](int l) { return event_.margin[l]; });
      report_to(report.dual, [this](int l) { return event_.lambda[l]; });
      report_to(report.slope, [this](int l) { return event_.slope[l]; });
      report_to(report.saturated, [this](int l) { return loss_.saturated(event_.lambda[l], event_.y[l]); });
      if (chooses) choose_again(events.weight, row);
    }
    step_.add_owed_conjugate();
    return row;
  }

  std::int64_t enlist(const Events& events, LongCall& call) override {
    for (std::int64_t row = 0; row < events.batch.rows; ++row) {
      const Row h = events.batch.row(row, scratch_);
      if (call.should_stop(h.size + 16)) return row;
      load(events, row, h);
      step_.enlist(h, event_);
    }
    return events.batch.rows;
  }

  std::size_t admit(const Ids& ids, double* margin, LongCall& call) override {
    return visit(ids, call, [&](std::size_t, std::size_t id) {
      step_.admit(id, event_);
      std::copy(event_.margin.begin(), event_.margin.end(), margin + id * event_.margin.size());
    });
  }

  std::size_t revisit(const Ids& ids, Sweep& sweep, LongCall& call) override {
    const std::size_t each = ids.size() / 1024 + 1;  // about a thousand events are enough to estimate the shortfall
    std::size_t asked = sweep.shortfall.empty() ? ids.size() : 0;
    sweep.moved.resize(ids.size());
    sweep.work = 0.0;
    std::fill(sweep.shortfall.begin(), sweep.shortfall.end(), 0.0);
    const auto visit_one = [&](std::size_t k, std::size_t id) __attribute__((always_inline)) {
      sweep.work += Sweep::work_of(state_.buffer.entry(id));
      const bool asks = k == asked;
      if (asks) asked += each;
      sweep.moved[k] = step_.revisit(id, event_, asks ? sweep.shortfall.data() : nullptr);
    };
    const std::size_t visited = visit(ids, call, visit_one);
    for (double& sum : sweep.shortfall) sum *= static_cast<double>(each);
    return visited;
  }

  double cost_of_joint_step(const Ids& ids) const override {
    if constexpr (moves_jointly) return JointStep<Loss>(config_, loss_, state_).cost(ids);
    return ids.empty() ? 0.0 : infinity;
  }
  int move_jointly([[maybe_unused]] const Ids& ids, [[maybe_unused]] const std::vector<double>& tolerance,
                   [[maybe_unused]] LongCall& call) override {
    if constexpr (moves_jointly) return JointStep<Loss>(config_, loss_, state_).take(ids, tolerance, call);
    return 0;
  }

  void respond(const std::vector<double>& w) override {
    EventBuffer& buffer = state_.buffer;
    std::vector<double> z(static_cast<std::size_t>(config_.lanes));
    for (std::size_t id = 0; id < buffer.size(); ++id) {
      dot<0>(buffer.row(id), w.data(), config_.lanes, z.data());
      for (int l = 0; l < config_.lanes; ++l)
        buffer.duals(id)[l] = -loss_.subgradient(z[l] + buffer.offsets(id)[l], buffer.labels(id)[l]).lo;
    }
  }
  bool is_smooth() const override {
    if constexpr (std::is_same_v<Loss, Custom>)
      return false;
    else
      return loss_.is_smooth();
  }

  void settle() override { step_.settle(); }
  void rebuild() override { step_.rebuild(); }
  void restate_duals() override { step_.restate_duals(); }
  void add_losses(const std::vector<double>& w, bool magnitudes, double* sums) const override {
    step_.add_losses(w.data(), magnitudes, sums);
  }

 private:
  // The curvature of a custom loss is unknown.
  static constexpr bool moves_jointly = std::is_same_v<Penalty, L2> && !std::is_same_v<Loss, Custom>;

  // Events are scattered in memory: the entries of the next ones, and then their rows, are prefetched.
  template <class Visit>
  [[gnu::always_inline]] std::size_t visit(const Ids& ids, LongCall& call, Visit visit_one) {
    const EventBuffer& buffer = state_.buffer;
    const std::int64_t lanes = Lanes ? Lanes : config_.lanes, extra = config_.fixed_features + 16;
    for (std::size_t k = 0; k < ids.size(); ++k) {
      if (k + 12 < ids.size()) buffer.fetch_entry(ids[k + 12]);
      if (k + 4 < ids.size()) buffer.fetch_row(ids[k + 4]);
      if (call.should_stop(buffer.entry(ids[k]).size * lanes + extra)) return k;
      visit_one(k, ids[k]);
    }
    return ids.size();
  }

  [[gnu::always_inline]] void load(const Events& events, std::int64_t row, const Row& h) {
    event_.row = row;
    const int lanes = Lanes ? Lanes : config_.lanes, candidates = Lanes ? 1 : config_.candidates;
    events.y.copy_row(row, lanes, candidates, event_.y.data());
    events.weight.copy_row(row, lanes, candidates, event_.weight.data());
    events.offset.copy_row(row, lanes, candidates, event_.offset.data());
    std::int64_t invalid = 0;
    for (int l = 0; l < lanes; ++l) {
      const bool valid = label_is_valid(loss_.labels, event_.y[l]) & (event_.weight[l] >= 0.0) &
                         (event_.weight[l] < infinity) & (std::fabs(event_.offset[l]) < infinity);
      invalid |= valid ? 0 : 1;
    }
    if (invalid) refuse_event();
    if (!config_.products.empty()) [[unlikely]]
      config_.products.add(h, static_cast<std::size_t>(config_.lanes), 1, event_.offset);
    event_.time = config_.window.uses_time() ? events.time[row] : 0.0;
    if (!std::isfinite(event_.time))
      refuse("time must be finite", event_.time, 0,
             "Leave out events without a time, or give them the time of the event before");
  }

  [[noreturn, gnu::noinline]] void refuse_event() const {
    for (int m = 0;; ++m) {
      const int l = m * config_.candidates;
      if (!label_is_valid(loss_.labels, event_.y[l])) refuse_label(m);
      if (!(event_.weight[l] >= 0.0 && event_.weight[l] < infinity))
        refuse("sample_weight must be finite and not negative", event_.weight[l], m, "0 leaves an event out");
      if (!std::isfinite(event_.offset[l]))
        refuse("offset must be finite", event_.offset[l], m, "Use 0 for events without an offset");
    }
  }

  // After an event: its losses, by the margins from before it was learned, and who answers next.
  [[gnu::noinline]] void choose_again(const LaneValues& weight, std::int64_t row) {
    for (int m = 0, l = 0; m < config_.models(); ++m)
      for (int k = 0; k < config_.candidates; ++k, ++l)
        choice::add_loss(state_.lane, l, weight.at(row, m), loss_.value(event_.margin[l], event_.y[l]));
    choice::choose(config_, state_.lane, chosen_);
  }

  [[noreturn, gnu::noinline]] void refuse(const std::string& rule, double came, int model,
                                          const std::string& remedy) const {
    throw InputError(rule + "; ", at_row(event_.row), in_lane(model) + " is " + show(came) + ". " + remedy);
  }
  [[noreturn, gnu::noinline]] void refuse_label(int model) const {
    throw InputError(
        config_.label_rule + "; ", at_row(event_.row),
        in_lane(model) + " of y is " + show(event_.y[model * config_.candidates]) + ". " + config_.label_hint);
  }
  std::string in_lane(int model) const { return config_.models() > 1 ? ", lane " + std::to_string(model) + "," : ""; }

  const Config& config_;
  const Loss& loss_;
  State& state_;
  Step<Loss, Penalty, Lanes> step_;
  Event<Lanes> event_;
  std::vector<int> chosen_;  // the lane that answers for each model
  Batch::Scratch scratch_;
};

// A single lane has specialised code if a step is so short that the overhead of lanes would show.
template <class Loss>
std::unique_ptr<Pass> make_pass_of(const Loss& loss, const Config& config, State& state, Transaction& transaction) {
  constexpr bool short_step = std::is_same_v<Loss, PiecewiseQuadratic> || std::is_same_v<Loss, Logistic>;
  return std::visit(
      [&](const auto& penalty) -> std::unique_ptr<Pass> {
        using Penalty = std::decay_t<decltype(penalty)>;
        if constexpr (short_step && !std::is_same_v<Penalty, KL>)
          if (config.lanes == 1)
            return std::make_unique<TypedPass<Loss, Penalty, 1>>(config, loss, penalty, state, transaction);
        return std::make_unique<TypedPass<Loss, Penalty, 0>>(config, loss, penalty, state, transaction);
      },
      config.penalty);
}

}  // namespace odca
