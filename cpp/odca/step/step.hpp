// The paper, one event at a time.
//
//     show      b + h'w                                      with the model as it was
//     forget    the window's rule on (S, mass)               eq. 22-25
//     solve     lambda in -dQ(b + h' grad R*(x + t alpha h)) eq. mainAlgorithm1
//     learn     S <- S + c lambda h                          eq. mainAlgorithm2
//
// w = grad R*(S / A) (eq. mainAlgorithm3) is never stored: it is a function of S and the strength A.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "odca/errors.hpp"
#include "odca/learner/transaction.hpp"
#include "odca/math/many.hpp"
#include "odca/problem/config.hpp"
#include "odca/step/choice.hpp"
#include "odca/step/lane_sums.hpp"
#include "odca/step/smoother.hpp"
#include "odca/step/solve.hpp"
#include "odca/step/standardiser.hpp"

namespace odca {

// One event's numbers, lane by lane.
template <int Lanes>
struct Event {
  PerLane<Lanes> y, weight, offset;       // given
  PerLane<Lanes> margin;                  // predicted before the event is learned
  PerLane<Lanes> lambda, slope, z;        // of the dual problem
  PerLane<Lanes> alpha, step, conjugate;  // c / A, c lambda / scale, Q*(-lambda) + lambda b
  double time = 0.0;
  std::int64_t row = 0;  // its position in the caller's arrays, for messages

  explicit Event(int lanes) {
    for (auto* each : {&y, &weight, &offset, &margin, &lambda, &slope, &z, &alpha, &step, &conjugate})
      set_lanes(*each, lanes);
  }
};

template <class Loss, class Penalty, int Lanes>
class Step {
 public:
  using Event = odca::Event<Lanes>;

  Step(const Config& config, const Loss& loss, const Penalty& penalty, State& state, Transaction& transaction)
      : config_(config),
        loss_(loss),
        penalty_(penalty),
        state_(state),
        transaction_(transaction),
        standardiser_(config, state, transaction),
        smoother_(config, penalty, state, transaction),
        projection_(config.lanes),
        never_decays_(config.window.kind == Window::Kind::decay &&
                      std::ranges::all_of(config.window.parameter, [](double beta) { return beta == 1.0; })) {
    set_lanes(shown_q_, config.lanes);
    for (int l = 0; l < config.lanes; ++l)
      if (const int source = config.source_of(l); source != l) averages_.emplace_back(l, source);
  }

  // Makes room for features that appear first in this row.
  void widen(const Row& h) {
    if (h.size > 0 && h.feature(h.size - 1) >= state_.features) state_.resize(h.feature(h.size - 1) + 1);
  }

  void learn(const Row& raw, Event& event) {
    const bool arrives_expired =
        config_.window.kind == Window::Kind::duration && config_.window.has_expired(event.time, state_.clock);
    const Standardiser::Arrival arrival(standardiser_);
    const Row h = state_.scaling.on ? standardiser_.arrive(raw, arrives_expired ? 0.0 : largest(event.weight.data()),
                                                           event.time, event.row)
                                    : raw;
    if (!state_.scaling.on) transaction_.about_to_change(h);
    const double norm = project_and_show(h, event);
    add_owed_conjugate();
    if (!arrives_expired) {
      if (forget(event)) {
        if (shows_late()) show_now(event);
        project(h);
      }
      solve(event);
      add_to_dual_sum(h, raw.value, norm, event);
    } else {
      for (int l = 0; l < lanes(); ++l) event.lambda[l] = event.slope[l] = 0.0;
    }
    ++state_.count;
    each_average([this](int l, int source) { average(l, source); });
    smoother_.append(h.size);
  }

  // Before the first event of a call, whatever became of the call before; and after the last.
  void begin() { owed_ = {}; }
  [[gnu::always_inline]] void add_owed_conjugate() {
    if constexpr (owes_conjugate) {
      if (owed_.weight == 0.0) return;
      const double conjugate = conjugate_at(loss_, owed_.lambda, 0.0, owed_.y) + owed_.lambda * owed_.offset;
      lane().conjugate[0] += std::exchange(owed_.weight, 0.0) * conjugate;
    }
  }

  // Whether prefetching the coordinates of a row pays off: only if the model does not fit into the nearest caches. One lane with
  // smoothing has enough to compute to wait for nothing nearer than memory.
  bool wants_fetching() const {
    if (state_.lanes > 1) return state_.dual.size() > 8192;
    return state_.smoothing && state_.dual.size() > 262'144;
  }

  // Prefetches a coordinate that the next event will need. Any index is allowed.
  [[gnu::always_inline]] void fetch(std::int64_t j) const {
    if (Lanes == 0) __builtin_prefetch(state_.dual.data() + j * state_.lanes);
    if (!state_.smoothing) return;
    __builtin_prefetch(state_.smooth.data() + j * state_.lanes);
    __builtin_prefetch(state_.seen.data() + j);
  }

  // Adds an event of a finite set to the buffer before learning: with its own weight and a dual of zero.
  void enlist(const Row& h, const Event& event) {
    const double norm = squared_norm(h);
    if (!std::isfinite(norm)) refuse_row(config_, h, event.row);
    EventBuffer& buffer = state_.buffer;
    const std::size_t id =
        buffer.append(h, static_cast<std::uint64_t>(event.row), event.time, std::max(1.0, norm), h.value);
    for (int l = 0; l < lanes(); ++l) {
      buffer.labels(id)[l] = event.y[l];
      buffer.weights(id)[l] = event.weight[l];
      buffer.offsets(id)[l] = event.offset[l];
    }
  }

  // O-DCA on an enlisted event: the mass grows by its weight, then its dual is solved.
  void admit(std::size_t id, Event& event) {
    const Row h = state_.buffer.row(id);
    project(h);
    for (int l = 0; l < lanes(); ++l) {
      event.margin[l] = state_.buffer.offsets(id)[l] + projection_.margin(penalty_, l, lane().q[l]);
      lane().mass[l] += state_.buffer.weights(id)[l];
      refresh_q(l);
    }
    solve_again(id, h, event);
  }

  // S-DCA: solves the event's dual again with all others fixed. True if it changed. Unless null, the event's previous
  // share of the duality gap is added to shortfall[lane].
  [[gnu::always_inline]] bool revisit(std::size_t id, Event& event, double* shortfall) {
    const Row h = state_.buffer.row(id);
    project(h);
    if (shortfall) add_shortfall(id, shortfall);
    return solve_again(id, h, event);
  }

  // Q*(-lambda) + lambda b of the duals as they are. (For a custom loss it is only known during a visit.)
  void restate_duals() {
    EventBuffer& buffer = state_.buffer;
    if constexpr (!std::is_same_v<Loss, Custom>)
      for (std::size_t k = 0; k < buffer.size(); ++k) {
        const std::size_t id = buffer.at(k);
        for (int l = 0; l < lanes(); ++l) {
          const double lambda = buffer.duals(id)[l];
          buffer.conjugates(id)[l] =
              conjugate_at(loss_, lambda, 0.0, buffer.labels(id)[l]) + lambda * buffer.offsets(id)[l];
        }
      }
  }

  // sums[lane] = sum delta Q(b + h'w; y) over the buffer, or sum delta |Q|; w is [feature][lane].
  void add_losses(const double* w, bool magnitudes, double* sums) const {
    const EventBuffer& buffer = state_.buffer;
    const bool is_zero = std::all_of(w, w + state_.dual.size(), [](double each) { return each == 0.0; });
    PerLane<Lanes> z;
    set_lanes(z, lanes());
    for (std::size_t k = 0; k < buffer.size(); ++k) {
      const std::size_t id = buffer.at(k);
      if (!is_zero) dot<Lanes>(buffer.row(id), w, lanes(), z.data());
      for (int l = 0; l < lanes(); ++l) {
        const double value = loss_.value(z[l] + buffer.offsets(id)[l], buffer.labels(id)[l]);
        sums[l] += buffer.weights(id)[l] * (magnitudes ? std::fabs(value) : value);
      }
    }
  }

  // Recomputes S and all sums from the buffer, as if nothing had ever left.
  [[gnu::noinline]] void rebuild() {
    settle();
    transaction_.about_to_change_everything();
    std::fill(state_.dual.begin(), state_.dual.end(), 0.0);
    const EventBuffer& buffer = state_.buffer;
    for (int l = 0; l < lanes(); ++l) lane().scale[l] = 1.0;
    for (std::size_t k = 0; k < buffer.size(); ++k) {
      const std::size_t id = buffer.at(k);
      if (!buffer.is_at_rest(id)) add_times(buffer.row(id), buffer.weights(id), buffer.duals(id), 1.0, leaving_);
    }
    recount();
    standardiser_.recount();
    lane().peak_bound = lane().bound;
    state_.evicted_work = 0;
  }

  // Recomputes the scalar sums from the buffer.
  [[gnu::noinline]] void recount() {
    const EventBuffer& buffer = state_.buffer;
    for (auto* sum : {&lane().mass, &lane().squared_mass, &lane().conjugate, &lane().saturated, &lane().bound})
      std::fill(sum->begin(), sum->end(), 0.0);
    for (std::size_t k = 0; k < buffer.size(); ++k) {
      const std::size_t id = buffer.at(k);
      for (int l = 0; l < lanes(); ++l) {
        lane().mass[l] += buffer.weights(id)[l];
        lane().squared_mass[l] += buffer.weights(id)[l] * buffer.weights(id)[l];
      }
      count_dual(id, 1.0);
    }
    lane().peak_mass = lane().mass;
    for (int l = 0; l < lanes(); ++l) refresh_q(l);
  }

  void settle() { smoother_.settle(); }

 private:
  // The event's weight if all lanes share one number.
  double largest(const double* of_lanes) const { return *std::max_element(of_lanes, of_lanes + lanes()); }

  int lanes() const { return Lanes ? Lanes : state_.lanes; }
  LaneState& lane() { return state_.lane; }

  // Calls visit(lane, source) for every lane that is the average of another.
  template <class Visit>
  [[gnu::always_inline]] void each_average(Visit visit) const {
    if constexpr (Lanes == 0)
      for (const auto& [l, source] : averages_) visit(l, source);
  }

  // An average begins with the strength of its source at the first event that has a weight. (Its weights do not depend on this.)
  void begin_average(int l, int source) {
    if (lane().constant[l] == 0.0) lane().constant[l] = config_.strength(source, lane());
  }

  // The weights of the source enter its average by a S = q v with this q.
  double q_of_average(int l, int source) const {
    const double strength = state_.lane.constant[l];
    return strength > 0.0 ? state_.lane.scale[source] / strength : 0.0;
  }

  // After an event: a and U of an average (choice.hpp).
  void average(int l, int source) {
    const double now = config_.strength(source, lane());
    if (!(now > 0.0)) return;  // nothing was learned yet
    const double k = choice::averaging_at(state_.count), before = 1.0 / lane().constant[l];
    const double a = k * before + (1.0 - k) / now;
    decay(l, k * before / a);
    lane().constant[l] = 1.0 / a;
    refresh_q(l);
  }

  [[gnu::always_inline]] double project(const Row& h) { return projection_.project(config_, penalty_, state_, h); }

  // Reads the row; the margin is that of the model as it is. Returns the squared norm of the row.
  [[gnu::always_inline]] double project_and_show(const Row& h, Event& event) {
    const bool smoothed = state_.smoothing && state_.smooth_mass > 0.0;
    const bool at_once = smoothed && smoother_.brings_up_and_projects(h);
    const double norm = at_once ? project_and_bring_up(h, event) : project(h);
    if (!std::isfinite(norm)) refuse_row(config_, h, event.row);
    if (smoothed) {
      if (!at_once) smoother_.bring_up_and_dot(h, event.margin.data());
      for (int l = 0; l < lanes(); ++l) event.margin[l] = event.offset[l] + event.margin[l] / state_.smooth_mass;
    } else if (shows_late()) {
      show_later(event);
      return norm;
    } else {
      for (int l = 0; l < lanes(); ++l)
        event.margin[l] = event.offset[l] + projection_.margin(penalty_, l, lane().q[l]);
      each_average([&](int l, int source) {
        const double held_back = projection_.margin(penalty_, l, lane().q[l]) - projection_.margin(penalty_, l, 0.0);
        event.margin[l] = event.offset[l] + projection_.margin(penalty_, source, q_of_average(l, source)) - held_back;
      });
    }
    check_margins(event);
    return norm;
  }

  [[gnu::always_inline]] void check_margins(const Event& event) const {
    if (!all_finite(event.margin.data(), lanes()))
      throw InputError("the prediction for ", at_row_of_x(event.row), " would overflow; scale the features");
  }

  // A margin costs as much as a tangent where it is a pass over the row's coordinates, and both in one pass not much more than one. The
  // projection keeps the coordinates as they are, and only a decay may come between.
  bool shows_late() const {
    return std::is_same_v<Penalty, Separable> && !state_.smoothing && !state_.sliding && averages_.empty();
  }
  void show_later(Event& event) {
    for (int l = 0; l < lanes(); ++l) shown_q_[l] = lane().q[l];
    if constexpr (std::is_same_v<Penalty, Separable>) projection_.ask_for_margins(shown_q_.data(), event.margin.data());
  }
  // v has changed since, and the projection will be another one.
  [[gnu::noinline]] void show_now(Event& event) {
    for (int l = 0; l < lanes(); ++l) event.margin[l] = projection_.margin(penalty_, l, shown_q_[l]);
    if constexpr (std::is_same_v<Penalty, Separable>) projection_.ask_for_margins(nullptr, nullptr);
  }

  [[gnu::always_inline]] double project_and_bring_up(const Row& h, Event& event) {
    if constexpr (Lanes == 1 && std::is_same_v<Penalty, L2>) {
      const auto row = smoother_.bring_up_and_project(h);
      event.margin[0] = row.smoothed;
      return projection_.take(row.dot, row.norm);
    }
    return project(h);
  }

  // Solves for an event's dual with its own contribution removed from S, and changes S by the difference. Events that
  // are visited again are in the buffer, and nothing has decayed: the scale is 1.
  [[gnu::always_inline]] bool solve_again(std::size_t id, const Row& h, Event& event) {
    EventBuffer& buffer = state_.buffer;
    const double *weight = buffer.weights(id), *y = buffer.labels(id), *offset = buffer.offsets(id);
    double* dual = buffer.duals(id);
    for (int l = 0; l < lanes(); ++l) {
      event.alpha[l] = weight[l] * lane().q[l];
      event.step[l] = weight[l] * dual[l];
    }
    projection_.solve_without(event.step.data(), loss_, penalty_, lane().q.data(), event.alpha.data(), offset, y,
                              event.lambda.data(), event.slope.data(), event.z.data());
    bool moved = false;
    for (int l = 0; l < lanes(); ++l) {
      const double lambda = weight[l] == 0.0 ? 0.0 : event.lambda[l];
      if (weight[l] != 0.0 && !std::isfinite(lambda + event.z[l])) refuse_revisit(id, l, event);
      if constexpr (std::is_same_v<Loss, Custom>)
        buffer.conjugates(id)[l] =
            weight[l] == 0.0 ? 0.0 : conjugate_at(loss_, lambda, event.z[l], y[l]) + lambda * offset[l];
      event.step[l] = weight[l] * (lambda - dual[l]);
      moved |= event.step[l] != 0.0;
      dual[l] = lambda;
    }
    if (moved) add<Lanes>(h, event.step.data(), state_.dual.data(), lanes());
    return moved;
  }

  // delta (Q(z) + Q*(-lambda) + lambda z): zero if and only if lambda is the dual of the event's margin.
  [[gnu::noinline]] void add_shortfall(std::size_t id, double* shortfall) {
    const EventBuffer& buffer = state_.buffer;
    for (int l = 0; l < lanes(); ++l) {
      const double weight = buffer.weights(id)[l], y = buffer.labels(id)[l], b = buffer.offsets(id)[l];
      const double lambda = buffer.duals(id)[l];
      if (weight == 0.0) continue;
      const double z = b + projection_.margin(penalty_, l, lane().q[l]);
      double conjugate = 0.0;
      if constexpr (std::is_same_v<Loss, Custom>)
        conjugate = buffer.conjugates(id)[l] - lambda * b;
      else
        conjugate = conjugate_at(loss_, lambda, 0.0, y);
      shortfall[l] += weight * (loss_.value(z, y) + conjugate + lambda * z);
    }
  }

  // The window's rule. True if v changed, so that the row must be projected again.
  [[gnu::always_inline]] bool forget(Event& event) {
    const double elapsed = state_.clock == -infinity ? 0.0 : event.time - state_.clock;
    if (config_.window.uses_time()) state_.clock = std::max(state_.clock, event.time);
    if (config_.window.keeps_events()) return evict();
    if (never_decays_) return false;
    bool changed = false;
    for (int l = 0; l < lanes(); ++l) {
      const double factor = config_.window.factor(l, elapsed);
      if (factor != 1.0) changed |= decay(l, factor);
      if (elapsed < 0.0) event.weight[l] *= config_.window.late_factor(l, -elapsed);
    }
    return changed;
  }

  bool decay(int l, double factor) {
    LaneState& s = lane();
    if (config_.has_decayed(l, s.mass[l] * factor)) {
      if (s.mass[l] == 0.0) return false;
      clear_lane(l);
      return true;
    }
    s.mass[l] *= factor;
    s.squared_mass[l] *= factor * factor;
    s.conjugate[l] *= factor;
    s.saturated[l] *= factor;
    if (s.scale[l] * factor >= smallest_scale) {
      s.scale[l] *= factor;
      return false;
    }
    fold(l, factor);
    return true;
  }

  // A power of two moves from the scale into v: this is exact, so the moment does not matter.
  [[gnu::noinline]] void fold(int l, double factor) {
    settle();
    transaction_.about_to_change_everything();
    const PowerOfTwo moved = split_scale(lane().scale[l], factor);
    for (std::int64_t j = 0; j < state_.features; ++j) moved.multiply(state_.dual[j * lanes() + l]);
    lane().bound[l] = std::ldexp(lane().bound[l], moved.exponent);
  }

  [[gnu::noinline]] void clear_lane(int l) {
    settle();
    transaction_.about_to_change_everything();
    for (std::int64_t j = 0; j < state_.features; ++j) state_.dual[j * lanes() + l] = 0.0;
    lane().forget(l);
  }

  [[gnu::noinline]] bool evict() {
    EventBuffer& buffer = state_.buffer;
    bool changed = false, left = false;
    const auto must_leave = [&] {
      if (buffer.empty()) return false;
      const EventBuffer::Entry& oldest = buffer.entry(buffer.at(0));
      if (config_.window.kind == Window::Kind::duration) return config_.window.has_expired(oldest.time, state_.clock);
      return oldest.number + static_cast<std::uint64_t>(config_.window.length) <= state_.count;
    };
    for (; must_leave(); left = true) {
      const std::size_t id = buffer.at(0);
      changed |= let_go(id);
      if (state_.scaling.on) standardiser_.leave(id);
      for (int l = 0; l < lanes(); ++l) {
        lane().mass[l] -= buffer.weights(id)[l];
        lane().squared_mass[l] -= buffer.weights(id)[l] * buffer.weights(id)[l];
      }
      count_dual(id, -1.0);
      buffer.pop_oldest();
    }
    return (left && tidy_after_eviction()) || changed;
  }

  // Removes a leaving event from S. False if S did not contain it.
  bool let_go(std::size_t id) {
    if (state_.buffer.is_at_rest(id)) return false;
    const Row h = state_.buffer.row(id);
    transaction_.about_to_change(h);
    smoother_.bring_up(h);
    add_times(h, state_.buffer.weights(id), state_.buffer.duals(id), -1.0, leaving_);
    state_.evicted_work += h.size + 1;
    return true;
  }

  // Adding and subtracting leaves rounding errors. S is recomputed from the window before they accumulate, at a cost that
  // is amortised over the non-zeros that left; and at once if what has left was so much larger than what remains that its
  // rounding errors matter. (If nothing remains in S, that can wait until it is worthwhile.) The scalars are cheaper.
  bool tidy_after_eviction() {
    const auto shows = [this](int l) {
      return lane().bound[l] > 0.0 && lane().peak_bound[l] > 1024.0 * lane().bound[l];
    };
    bool scalars = state_.buffer.empty();
    for (int l = 0; l < lanes(); ++l) scalars |= shows(l) || lane().peak_mass[l] > 1024.0 * lane().mass[l];
    if (scalars) recount();
    if (state_.scaling.rough) standardiser_.recount();
    bool anew = state_.evicted_work >= 16 * state_.buffer.stored() + state_.features;
    for (int l = 0; l < lanes(); ++l)
      anew |=
          shows(l) || (lane().peak_bound[l] > 1024.0 * lane().bound[l] && 16 * state_.evicted_work >= state_.features);
    if (anew) rebuild();
    return anew;
  }

  [[gnu::always_inline]] void solve(Event& event) {
    for (int l = 0; l < lanes(); ++l) lane().mass[l] += event.weight[l];
    each_average([this](int l, int source) { begin_average(l, source); });
    if (!lane_sums::find_rates(lanes(), config_, lane(), most_inverse_, event.weight.data(), event.alpha.data()))
      refuse_strength(event);
    projection_.solve(loss_, penalty_, lane().q.data(), event.alpha.data(), event.offset.data(), event.y.data(),
                      event.lambda.data(), event.slope.data(), event.z.data());
    if (shows_late()) {
      for (int l = 0; l < lanes(); ++l) event.margin[l] = event.offset[l] + event.margin[l];
      check_margins(event);
    }
    each_average([&](int l, int source) {
      for (auto* each : {&event.lambda, &event.slope, &event.z}) (*each)[l] = (*each)[source];
    });
    for (int l = 0; l < lanes(); ++l)
      if (event.weight[l] == 0.0) event.lambda[l] = event.slope[l] = event.z[l] = 0.0;
    if (!all_finite(event.lambda.data(), lanes()) || !all_finite(event.z.data(), lanes())) refuse_dual(event);
  }

  [[gnu::always_inline]] void add_to_dual_sum(const Row& h, const double* raw, double norm, Event& event) {
    LaneState& s = lane();
    const double reach = std::max(1.0, norm);  // at least max |h_j|
    const bool owes = owes_conjugate && !state_.sliding;
    double owed = 0.0;  // at most
    if (owes) {
      owed_ = {event.weight[0], event.lambda[0], event.y[0], event.offset[0]};
      owed = event.weight[0] * (1.0 + std::fabs(event.offset[0]));
    } else {
      add_conjugates(event);
    }
    bool moves = false;
    for (int l = 0; l < lanes(); ++l) {
      event.step[l] = to_scale(l, event.weight[l] * event.lambda[l]);
      moves |= event.step[l] != 0.0;
      s.saturated[l] += select(loss_.saturated(event.lambda[l], event.y[l]), event.weight[l], 0.0);
    }
    const double inverse = config_.shape.largest_inverse;
    if (!lane_sums::add_event(lanes(), s, event.weight.data(), event.step.data(), reach, owed, inverse))
      check_updates(h, event);
    if (moves) add<Lanes>(h, event.step.data(), state_.dual.data(), lanes());
    if (!state_.sliding) return;
    for (int l = 0; l < lanes(); ++l) {
      s.peak_bound[l] = std::max(s.peak_bound[l], s.bound[l]);
      s.peak_mass[l] = std::max(s.peak_mass[l], s.mass[l]);
    }
    remember(h, raw, reach, event);
  }

  void remember(const Row& h, const double* raw, double reach, const Event& event) {
    EventBuffer& buffer = state_.buffer;
    const std::size_t id = buffer.push(h, state_.count, event.time, reach, raw);
    for (int l = 0; l < lanes(); ++l) {
      buffer.labels(id)[l] = event.y[l];
      buffer.weights(id)[l] = event.weight[l];
      buffer.offsets(id)[l] = event.offset[l];
      buffer.duals(id)[l] = event.lambda[l];
      buffer.conjugates(id)[l] = event.conjugate[l];
    }
    if (transaction_.may_rearrange()) buffer.compact();
  }

  // v += sign c lambda h / scale
  void add_times(const Row& h, const double* weight, const double* lambda, double sign, Event& event) {
    for (int l = 0; l < lanes(); ++l) event.step[l] = to_scale(l, sign * (weight[l] * lambda[l]));
    add<Lanes>(h, event.step.data(), state_.dual.data(), lanes());
  }

  // Adds a buffered event's dual to the scalar sums (sign +1) or removes it (-1).
  void count_dual(std::size_t id, double sign) {
    const EventBuffer& buffer = state_.buffer;
    for (int l = 0; l < lanes(); ++l) {
      const double c = buffer.weights(id)[l], lambda = buffer.duals(id)[l];
      if (c == 0.0) continue;
      lane().conjugate[l] += sign * c * buffer.conjugates(id)[l];
      if (loss_.saturated(lambda, buffer.labels(id)[l])) lane().saturated[l] += sign * c;
      lane().bound[l] = clip(lane().bound[l] + sign * std::fabs(c * lambda) * buffer.entry(id).reach, 0.0, 1e308);
    }
  }

  // Q*(-lambda) + lambda b of the event, and their sum over all events.
  [[gnu::always_inline]] void add_conjugates(Event& event) {
    constexpr bool in_packs = Lanes == 0 && std::is_same_v<Loss, Logistic>;
    if constexpr (in_packs) conjugate_many(loss_, lanes(), event.lambda.data(), event.y.data(), event.conjugate.data());
    for (int l = 0; l < lanes(); ++l) {
      double& conjugate = event.conjugate[l];
      if constexpr (!in_packs)
        conjugate = event.weight[l] > 0.0 ? conjugate_at(loss_, event.lambda[l], event.z[l], event.y[l]) : 0.0;
      conjugate = event.weight[l] > 0.0 ? conjugate + event.lambda[l] * event.offset[l] : 0.0;
      lane().conjugate[l] += event.weight[l] * conjugate;
    }
  }

  // q = scale / A; returns 1 / A. Both are 0 if A = 0.
  double refresh_q(int l) {
    const double strength = config_.strength(l, lane());
    const double inverse = inverse_of(strength);
    lane().q[l] = lane().scale[l] * inverse;
    return inverse;
  }

  // S grows by x h when v grows by this times h.
  double to_scale(int l, double x) { return lane().scale[l] == 1.0 ? x : x / lane().scale[l]; }

  [[noreturn, gnu::noinline]] void refuse_dual(const Event& event) const {
    int l = 0;
    while (std::isfinite(event.lambda[l]) && std::isfinite(event.z[l])) ++l;
    if (std::is_same_v<Loss, Custom> && std::isnan(event.lambda[l]))
      throw InputError("learning from ", at_row_of_x(event.row),
                       " is not possible: its dual variable would be nan, which the loss returned. Check what "
                       "its dual or gradient returns for y = " +
                           show(event.y[l]));
    throw InputError("learning from ", at_row_of_x(event.row),
                     " would overflow: its dual variable would be " + show(event.lambda[l]) + " and its margin " +
                         show(event.z[l]) + "; scale the features, labels or weights");
  }

  [[noreturn, gnu::noinline]] void refuse_revisit(std::size_t id, int l, const Event& event) const {
    throw InputError("solving for event " + std::to_string(state_.buffer.entry(id).number) +
                     " would overflow: its dual variable would be " + show(event.lambda[l]) + " and its margin " +
                     show(event.z[l]) + "; scale the features, labels or weights");
  }

  [[noreturn, gnu::noinline]] void refuse_strength(const Event& event) const {
    int l = 0;
    while (lane_sums::is_sound(inverse_of(config_.strength(l, state_.lane)), state_.lane.mass[l], most_inverse_)) ++l;
    const double strength = config_.strength(l, state_.lane);
    if (strength > 1.0)
      throw InputError("the strength rho * mass + prior_strength would overflow at ", at_row(event.row),
                       "; choose a smaller rho, prior_strength or sample_weight");
    throw InputError(
        "the strength rho * mass + prior_strength must be at least " + show(config_.least_strength()) + "; at ",
        at_row(event.row), " it is " + show(strength) + ". Choose a larger rho or prior_strength");
  }

  // Of an event that might be too large for a lane.
  [[gnu::noinline]] void check_updates(const Row& h, const Event& event) {
    add_owed_conjugate();
    for (int l = 0; l < lanes(); ++l) check_update(h, l, event);
  }
  void check_update(const Row& h, int l, const Event& event) const {
    const LaneState& s = state_.lane;
    bool fits = std::isfinite(event.step[l]) && std::isfinite(s.conjugate[l]) && std::isfinite(s.squared_mass[l]) &&
                std::isfinite(s.mass[l]);
    const auto is_small = [&](std::int64_t j, double v) {
      const double factor = s.q[l] * config_.shape.inverse_weight_of(j);
      return std::fabs(v) * std::max(1.0, factor) < largest_weight;
    };
    for (std::int64_t j = 0; j < state_.features; ++j) fits &= is_small(j, state_.dual[j * lanes() + l]);
    h.each([&](std::int64_t j, double value) {
      fits &= is_small(j, state_.dual[j * lanes() + l] + event.step[l] * value);
    });
    if (!fits)
      throw InputError("learning from ", at_row_of_x(event.row),
                       " would overflow the model; scale the features, "
                       "labels or weights");
  }

  // Q* of log loss takes about as long as lambda, and no step waits for it. So it is computed one event later, beside the next lambda,
  // which mostly waits for divisions. It is at most 1, so its sum is finite if that of the weights is.
  static constexpr bool owes_conjugate = std::is_same_v<Loss, Logistic> && Lanes == 1;
  struct Owed {
    double weight = 0.0, lambda = 0.0, y = 0.0, offset = 0.0;
  };

  const Config& config_;
  const Loss& loss_;
  const Penalty& penalty_;
  State& state_;
  Transaction& transaction_;
  Owed owed_;
  Standardiser standardiser_;
  Smoother<Penalty, Lanes> smoother_;
  Projection<Penalty, Lanes> projection_;
  PerLane<Lanes> shown_q_;                     // q before the event, for margins that are computed later
  const bool never_decays_;                    // the infinite window
  std::vector<std::pair<int, int>> averages_;  // lanes that are averages, and whose
  Event leaving_{config_.lanes};
  const double most_inverse_ = 1.0000001 / config_.least_strength();
};

}  // namespace odca
