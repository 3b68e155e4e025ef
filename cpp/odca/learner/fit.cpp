// Repeated passes over stored events until the duality gap is small: `fit` on a finite set, `refine` on a window.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "odca/errors.hpp"
#include "odca/learner/learner.hpp"
#include "odca/learner/schedule.hpp"

namespace odca {

namespace {

constexpr double few_iterations = 4.0;  // of a joint step: worthwhile if passes would cost more

bool within(const std::vector<double>& gap, const std::vector<double>& tolerance) {
  return std::equal(gap.begin(), gap.end(), tolerance.begin(), std::less_equal<>());
}

}  // namespace

struct Learner::Ascent {
  Roster roster;
  bool jointly;  // whether joint steps are allowed
  std::int64_t passes = 0;
  std::vector<double> gap = {};  // [lane]
  bool converged = false;
};

// S-DCA until every lane's gap is within its tolerance, or for the given number of passes; without tolerances the gap is
// not computed. False if interrupted. In every case S and all sums agree with the duals afterwards.
bool Learner::ascend(Ascent& ascent, std::int64_t passes, const std::vector<double>& tolerance, LongCall& call) {
  const auto rebuild = [&] {  // the sums of the duals, without the rounding errors of the visits
    pass_->restate_duals();
    pass_->rebuild();
  };
  const auto in_tolerances = [&](const std::vector<double>& gap) {  // the largest
    double largest = 0.0;
    for (int l = 0; l < config_.lanes; ++l)
      if (gap[l] > 0.0) largest = std::max(largest, gap[l] / tolerance[l]);
    return largest;
  };
  const auto is_solved = [&] {
    rebuild();
    ascent.gap = duality_gap_unlocked();
    ascent.converged = within(ascent.gap, tolerance);
    return ascent.converged;
  };
  Sweep sweep(tolerance.empty() ? 0 : config_.lanes);
  double everyone = 0.0;
  for (const std::size_t id : ascent.roster.everyone()) everyone += Sweep::work_of(state_.buffer.entry(id));
  Inspections inspections(everyone);
  const double iteration = ascent.jointly ? pass_->cost_of_joint_step(ascent.roster.everyone()) : infinity;
  while (ascent.passes < passes) {
    const Ids& awake = ascent.roster.gather();
    const bool everybody = awake.size() == ascent.roster.everyone().size();
    if (pass_->revisit(awake, sweep, call) < awake.size()) {
      rebuild();
      return false;
    }
    ++ascent.passes;
    const bool somebody_moved = ascent.roster.send_to_rest(sweep.moved);
    if (!somebody_moved) ascent.roster.wake_all();
    const bool at_rest =
        everybody && !somebody_moved;  // no single dual can be improved: further passes would change nothing
    if (!tolerance.empty()) {
      for (int l = 0; l < config_.lanes; ++l)
        sweep.shortfall[l] = state_.lane.mass[l] > 0.0 ? sweep.shortfall[l] / state_.lane.mass[l] : 0.0;
      inspections.passed(in_tolerances(sweep.shortfall), sweep.work);
      if (at_rest || inspections.due()) {
        if (is_solved()) return true;
        if (inspections.overlooked(in_tolerances(ascent.gap))) ascent.roster.wake_all();
      }
      if (inspections.ahead() > few_iterations * iteration) {
        const int iterations = pass_->move_jointly(ascent.roster.everyone(), tolerance, call);
        if (iterations < 0) {
          rebuild();
          return false;
        }
        if (is_solved()) return true;
        inspections.forget_the_past();
        ascent.roster.wake_all();
        continue;
      }
    }
    if (at_rest) break;
  }
  tolerance.empty() ? rebuild() : void(is_solved());
  return true;
}

void Learner::refine(std::int64_t passes, double tolerance, std::uint64_t seed, const Interrupted& interrupted) {
  const auto only_writer = gate_.only_writer();
  require_events("refine");
  require_value();
  const std::vector<double> tolerances(tolerance > 0.0 ? config_.lanes : 0, tolerance);
  Learner refined(*this);  // other threads see the old model until this one is done
  if (passes == 0 || (!tolerances.empty() && within(refined.duality_gap_unlocked(), tolerances))) return;
  LongCall call(interrupted);
  Ids everyone(refined.state_.buffer.size());
  for (std::size_t k = 0; k < everyone.size(); ++k) everyone[k] = refined.state_.buffer.at(k);
  Ascent ascent{.roster = {std::move(everyone), Order(true, seed), 2}, .jointly = false};
  refined.pass_->settle();
  refined.ascend(ascent, passes, tolerances, call);
  refined.state_.buffer.compact();
  refined.require_sound("the solution");
  const auto inside = gate_.inside();
  state_ = std::move(refined.state_);
}

Learner::FitReport Learner::fit(const Events& events, const FitOptions& options, double* margin,
                                const Interrupted& interrupted) {
  const auto only_writer = gate_.only_writer();
  require_value();
  Config config = config_;
  config.shape.resize(config.shaped_features, config.lanes);
  Learner fitted(std::move(config));  // other threads see the old model until this one is done
  LongCall call(interrupted);
  FitReport report = fitted.solve(events, options, margin, call);
  if (report.passes == 0) return report;
  fitted.require_sound("the solution");
  if (std::any_of(report.gap.begin(), report.gap.end(), [](double gap) { return std::isnan(gap); }))
    throw InputError("the objective of the solution overflows; choose a larger rho, or scale the features");
  const auto inside = gate_.inside();
  state_ = std::move(fitted.state_);
  config_.shape = std::move(fitted.config_.shape);
  return report;
}

// For a learner without events. Reports no passes if interrupted.
Learner::FitReport Learner::solve(const Events& events, const FitOptions& options, double* margin, LongCall& call) {
  EventBuffer& buffer = state_.buffer;
  const auto rows = static_cast<std::size_t>(events.batch.rows);
  grow(events.batch.features());
  buffer.reserve(rows, events.batch.stored());
  if (pass_->enlist(events, call) < events.batch.rows) return {};
  weigh_by_window();
  if (config_.scale) standardise_events();
  const std::vector<double> tolerance = tolerances(options.tolerance);
  std::fill(state_.lane.mass.begin(), state_.lane.mass.end(), 0.0);  // it grows again as the events are learned
  Order order(options.shuffle, options.seed, length_of_runs(buffer));
  Ids everyone(rows);
  std::iota(everyone.begin(), everyone.end(), 0);
  Ids arrivals = everyone;
  order.arrange(arrivals);
  if (pass_->admit(arrivals, margin, call) < rows) return {};
  std::erase_if(everyone, [&](std::size_t id) {
    return std::all_of(buffer.weights(id), buffer.weights(id) + config_.lanes, [](double c) { return c == 0.0; });
  });
  Ascent ascent{.roster = {std::move(everyone), order, 4}, .jointly = true, .passes = 1};
  if (!ascend(ascent, options.passes, tolerance, call)) return {};
  become_the_end_of_the_stream(rows);
  return {ascent.passes, std::move(ascent.gap), ascent.converged};
}

// delta_n, the weight that the window gives each event after the last one, and the masses.
void Learner::weigh_by_window() {
  EventBuffer& buffer = state_.buffer;
  const Window& window = config_.window;
  const std::size_t n = buffer.size();
  if (window.uses_time())
    for (std::size_t id = 0; id < n; ++id) state_.clock = std::max(state_.clock, buffer.entry(id).time);
  for (int l = 0; l < config_.lanes; ++l) {
    double faded = 1.0, largest = 0.0, mass = 0.0;
    for (std::size_t id = n; id-- > 0;) {
      const double time = buffer.entry(id).time;
      double& weight = buffer.weights(id)[l];
      switch (window.kind) {
        case Window::Kind::decay: weight *= faded, faded *= window.of_lane(l); break;
        case Window::Kind::half_life: weight *= window.late_factor(l, state_.clock - time); break;
        case Window::Kind::count: weight *= n - id <= static_cast<std::size_t>(window.length); break;
        case Window::Kind::duration: weight *= !window.has_expired(time, state_.clock); break;
      }
      largest = std::max(largest, weight);
      mass += weight;
    }
    if (!std::isfinite(mass))
      throw InputError("fitting would overflow: the weights add up to " + show(mass) + "; scale sample_weight");
    // As in a stream, events of negligible weight are forgotten: below this an event is lost in the rounding of the others.
    const bool fades = !window.keeps_events() && window.of_lane(l) != 1.0;
    const double least = fades && config_.has_decayed(l, mass) ? infinity : 1e-200 * largest;
    for (std::size_t id = 0; id < n; ++id) {
      double& weight = buffer.weights(id)[l];
      if (weight < least) weight = 0.0;
      state_.lane.mass[l] += weight;
    }
  }
}

// Standardises the rows by all events together, each with its final weight.
void Learner::standardise_events() {
  EventBuffer& buffer = state_.buffer;
  Scaling& scaling = state_.scaling;
  const std::int64_t first = config_.intercept ? 1 : 0;
  for (std::size_t id = 0; id < buffer.size(); ++id) {
    const Row h = buffer.row(id);
    const double weight = *std::max_element(buffer.weights(id), buffer.weights(id) + config_.lanes);
    if (h.size > first) scaling.kind = h.index ? Scaling::plain : Scaling::centred;
    if (weight > 0.0)
      h.each([&](std::int64_t j, double x) {
        if (j >= first && !scaling.add(j, x, weight))
          throw InputError(
              "standardising ", at_row_of_x(static_cast<std::int64_t>(id), j - first),
              " would overflow in column " + std::to_string(j - first) + "; scale the features or weights");
      });
  }
  const Units units(scaling, config_.intercept);
  std::vector<double> values;
  for (std::size_t id = 0; id < buffer.size(); ++id)
    buffer.replace(id, standardise(units, buffer.row(id), config_.intercept, values));
}

// Relative to the mean size of the losses before anything is learned.
std::vector<double> Learner::tolerances(double relative) const {
  std::vector<double> sums(config_.lanes, 0.0);
  pass_->add_losses(weights_of(all_lanes(), false), true, sums.data());
  for (int l = 0; l < config_.lanes; ++l)
    sums[l] = state_.lane.mass[l] > 0.0 ? relative * (sums[l] / state_.lane.mass[l]) : 0.0;
  return sums;
}

// The state from which `learn` continues as if the events had come one by one.
void Learner::become_the_end_of_the_stream(std::size_t events) {
  state_.count = events;
  for (int l = 0; l < config_.lanes; ++l) {
    const LaneState& s = state_.lane;
    if (config_.kappa > 0.0 && s.q[l] > 1e300)
      throw InputError("with smoothing the strength rho * mass + prior_strength must be at least 1e-300; here it is " +
                       show(config_.strength(l, s)) + ". Choose a larger rho or prior_strength");
    bool fits = std::isfinite(s.conjugate[l] + s.squared_mass[l]);
    for (std::size_t at = l; at < state_.dual.size(); at += config_.lanes) fits &= std::fabs(state_.dual[at]) < 1e300;
    if (!fits) throw InputError("fitting would overflow the model; scale the features, labels or weights");
  }
  if (state_.sliding) {
    keep_the_window();
  } else {
    state_.buffer = EventBuffer(config_.lanes);
    for (auto* peak : {&state_.lane.peak_bound, &state_.lane.peak_mass}) std::fill(peak->begin(), peak->end(), 0.0);
  }
  if (!state_.smoothing) return;
  // Every past w counts as if it had been the final one.
  for (std::size_t n = 0; n < events; ++n) {
    const double next = config_.kappa * state_.smooth_mass + 1.0;
    if (next == state_.smooth_mass) break;
    state_.smooth_mass = next;
  }
  const std::vector<double> w = weights_of(all_lanes(), false);
  for (std::size_t at = 0; at < w.size(); ++at) state_.smooth[at] = w[at] * state_.smooth_mass;
}

// Keeps the events that a stream would still hold, in order of time.
void Learner::keep_the_window() {
  const EventBuffer all = std::move(state_.buffer);
  const Window& window = config_.window;
  const std::size_t n = all.size();
  Ids kept;
  for (std::size_t id = 0; id < n; ++id) {
    const bool stays = window.kind == Window::Kind::duration ? !window.has_expired(all.entry(id).time, state_.clock)
                                                             : n - id <= static_cast<std::size_t>(window.length);
    if (stays) kept.push_back(id);
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [&](std::size_t a, std::size_t b) { return all.entry(a).time < all.entry(b).time; });
  state_.buffer = EventBuffer(config_.lanes, config_.scale);
  for (const std::size_t id : kept) state_.buffer.copy_from(all, id);
}

}  // namespace odca
