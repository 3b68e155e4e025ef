// Events that are at hand, visited until the duality gap is small: `fit` on a finite set, `refine` on a window.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "odca/errors.hpp"
#include "odca/learner.hpp"

namespace odca {

namespace {

// Visits events in an order drawn from the seed, or as they came.
class Order {
 public:
  Order(bool shuffles, std::uint64_t seed) : shuffles_(shuffles), draw_(seed + golden) {}

  void arrange(Ids& ids) {
    if (!shuffles_) return std::sort(ids.begin(), ids.end());
    for (std::size_t k = ids.size(); k > 1; --k) {  // Fisher-Yates, on a splitmix sequence
      std::uint64_t x = draw_ += golden;
      x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
      x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
      std::swap(ids[k - 1], ids[static_cast<std::size_t>(static_cast<unsigned __int128>(x ^ (x >> 31)) * k >> 64)]);
    }
  }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

  bool shuffles_;
  std::uint64_t draw_;
};

// Who is visited in a pass. An event whose dual did not move (it sits at an end of its domain, as most do under a hinge)
// rests for the next 1, 3, 7, ... passes; one that moved is visited in the next. No event rests for ever, and the gap
// is that of all events: resting is safe (docs/mathematics.md, 12).
class Roster {
 public:
  Roster(Ids everyone, Order order)
      : everyone_(std::move(everyone)),
        naps_(everyone_.empty() ? 0 : *std::max_element(everyone_.begin(), everyone_.end()) + 1),
        order_(order) {
    wake_all();
  }

  const Ids& everyone() const { return everyone_; }

  // The events of the next pass, in its order.
  const Ids& gather() {
    Ids& rested = resting_[pass_ % resting_.size()];
    awake_.insert(awake_.end(), rested.begin(), rested.end());
    rested.clear();
    order_.arrange(awake_);
    return awake_;
  }

  // After the pass: moved[k] says it of the k-th event. False if none did.
  bool send_to_rest(const std::vector<std::uint8_t>& moved) {
    ++pass_;
    std::size_t movers = 0;
    for (std::size_t k = 0; k < awake_.size(); ++k) {
      const std::size_t id = awake_[k];
      std::uint8_t& nap = naps_[id];
      nap = moved[k] ? 0 : std::min<std::uint8_t>(2 * nap + 1, longest_nap);
      if (moved[k])
        awake_[movers++] = id;
      else
        resting_[(pass_ + nap) % resting_.size()].push_back(id);
    }
    awake_.resize(movers);
    return movers > 0;
  }

  void wake_all() {
    for (Ids& each : resting_) each.clear();
    std::fill(naps_.begin(), naps_.end(), 0);
    awake_ = everyone_;
  }

 private:
  static constexpr std::uint8_t longest_nap = 255;

  Ids everyone_, awake_;
  std::vector<std::uint8_t> naps_;            // by event: for how many passes it last rested
  std::array<Ids, longest_nap + 1> resting_;  // by the pass in which they wake
  std::size_t pass_ = 0;
  Order order_;
};

double work_of(const EventBuffer& buffer, const Ids& ids) {
  double work = 0.0;
  for (const std::size_t id : ids) work += static_cast<double>(buffer.entry(id).size + 16);
  return work;
}

// When to look at the gap, which costs about a third of a pass over all events: most of the way to where it will be
// small enough if it goes on falling as it did, but soon enough that no more than a quarter of the work is in vain.
class Inspections {
 public:
  explicit Inspections(double pass) : pass_(pass) {}

  void worked(double work) { done_ += work; }
  bool due() const { return done_ >= next_; }

  // `excess` is the gap over the tolerance.
  void looked(double excess) {
    const double passed = done_ - looked_at_, fall = excess_ > excess ? odca::log(excess_ / excess) : 0.0;
    if (excess_ > 0.0) ahead_ = fall > 0.0 ? odca::log(std::max(excess, 1.0)) / fall * passed : infinity;
    excess_ = excess;
    looked_at_ = done_;
    next_ = done_ + std::clamp(0.7 * ahead_, pass_, std::max(pass_, 0.25 * done_));
  }

  // How much work is still ahead, to all appearances.
  double ahead() const { return ahead_; }
  void forget_the_past() { excess_ = ahead_ = 0.0; }

 private:
  double pass_, done_ = 0.0, next_ = 2.0 * pass_, looked_at_ = 0.0, excess_ = 0.0, ahead_ = 0.0;
};

constexpr double few_iterations = 4.0;  // of a joint step: worth it where passes would cost more

bool within(const std::vector<double>& gap, double tolerance) {
  return std::all_of(gap.begin(), gap.end(), [=](double each) { return each <= tolerance; });
}

}  // namespace

struct Learner::Ascent {
  Roster roster;
  bool jointly;  // whether joint steps are allowed
  std::int64_t passes = 0;
  std::vector<double> gap = {};  // [lane]
  bool converged = false;
};

// S-DCA until every lane's gap is within its tolerance, or for so many passes; without tolerances the gap is not looked
// at. False if interrupted. Afterwards, and then too, S and all sums are those of the duals.
bool Learner::ascend(Ascent& ascent, std::int64_t passes, const std::vector<double>& tolerance, Lookout& lookout) {
  const auto finish = [&] {
    pass_->recount_duals();
    pass_->rebuild();
  };
  const auto excess = [&] {  // the largest gap, in tolerances
    ascent.gap = duality_gap_unlocked();
    double largest = 0.0;
    for (int l = 0; l < config_.lanes; ++l)
      if (ascent.gap[l] > tolerance[l]) largest = std::max(largest, ascent.gap[l] / tolerance[l]);
    return largest;
  };
  Inspections inspections(work_of(state_.buffer, ascent.roster.everyone()));
  const auto is_solved = [&] {
    pass_->recount_duals();
    double found = excess();
    if (found <= 1.0) {  // what counts is the gap of the S that the duals add up to, without the visits' rounding
      pass_->rebuild();
      found = excess();
    }
    inspections.looked(found);
    return found <= 1.0;
  };
  std::vector<std::uint8_t> moved;
  const double iteration = ascent.jointly ? pass_->cost_of_joint_step(ascent.roster.everyone()) : infinity;
  while (ascent.passes < passes) {
    const Ids& awake = ascent.roster.gather();
    const bool everybody = awake.size() == ascent.roster.everyone().size();
    moved.assign(awake.size(), 0);
    if (pass_->revisit(awake, moved.data(), lookout) < awake.size()) {
      finish();
      return false;
    }
    ++ascent.passes;
    inspections.worked(work_of(state_.buffer, awake));
    const bool somebody_moved = ascent.roster.send_to_rest(moved);
    if (!somebody_moved) ascent.roster.wake_all();
    const bool at_rest = everybody && !somebody_moved;  // no dual can be improved by itself: further passes are idle
    if (!tolerance.empty() && (at_rest || inspections.due())) {
      if (is_solved()) {
        ascent.converged = true;
        return true;
      }
      if (inspections.ahead() > few_iterations * iteration) {
        const int iterations = pass_->move_jointly(ascent.roster.everyone(), tolerance, lookout);
        if (iterations < 0) {
          finish();
          return false;
        }
        inspections.worked(iterations * iteration);
        inspections.forget_the_past();
        ascent.roster.wake_all();
        continue;
      }
    }
    if (at_rest) break;
  }
  finish();
  if (!tolerance.empty()) ascent.converged = excess() <= 1.0;
  return true;
}

void Learner::refine(std::int64_t passes, double tolerance, std::uint64_t seed, const Interrupted& interrupted) {
  const std::scoped_lock only_writer(writing_);
  require_events("refine");
  require_value();
  if (passes == 0 || (tolerance > 0.0 && within(duality_gap(), tolerance))) return;
  Learner refined(*this);  // others see the model as it was until this one is done
  Gate nobody;
  const std::scoped_lock nobody_waits(nobody);
  Lookout lookout(nobody, interrupted);
  Ids everyone(refined.state_.buffer.size());
  for (std::size_t k = 0; k < everyone.size(); ++k) everyone[k] = refined.state_.buffer.at(k);
  std::vector<double> tolerances;
  if (tolerance > 0.0) tolerances.assign(config_.lanes, tolerance);
  Ascent ascent{.roster = {std::move(everyone), Order(true, seed)}, .jointly = false};
  refined.pass_->settle();
  refined.ascend(ascent, passes, tolerances, lookout);
  refined.state_.buffer.compact();
  const std::scoped_lock hold(gate_);
  state_ = std::move(refined.state_);
}

Learner::FitReport Learner::fit(const Events& events, const FitOptions& options, double* margin,
                                const Interrupted& interrupted) {
  const std::scoped_lock only_writer(writing_);
  require_value();
  Config config = config_;
  config.shape.resize(config.shaped_features, config.lanes);
  Learner fitted(std::move(config));  // others see the model as it was until this one is done
  Gate nobody;
  const std::scoped_lock nobody_waits(nobody);
  Lookout lookout(nobody, interrupted);
  FitReport report = fitted.solve(events, options, margin, lookout);
  if (report.passes == 0) return report;
  const std::scoped_lock hold(gate_);
  state_ = std::move(fitted.state_);
  config_.shape = std::move(fitted.config_.shape);
  return report;
}

// On a learner that has learned nothing. Reports no passes if interrupted.
Learner::FitReport Learner::solve(const Events& events, const FitOptions& options, double* margin, Lookout& lookout) {
  EventBuffer& buffer = state_.buffer;
  const auto rows = static_cast<std::size_t>(events.batch.rows);
  grow(events.batch.features());
  buffer.reserve(rows, events.batch.stored());
  if (pass_->enlist(events, lookout) < events.batch.rows) return {};
  weigh_by_window();
  if (config_.scale) standardise_events();
  const std::vector<double> tolerance = tolerances(options.tolerance);
  std::fill(state_.lane.mass.begin(), state_.lane.mass.end(), 0.0);  // it grows again, with the events
  Order order(options.shuffle, options.seed);
  Ids everyone(rows);
  std::iota(everyone.begin(), everyone.end(), 0);
  Ids arrivals = everyone;
  order.arrange(arrivals);
  if (pass_->admit(arrivals, margin, lookout) < rows) return {};
  std::erase_if(everyone, [&](std::size_t id) {
    return std::all_of(buffer.weights(id), buffer.weights(id) + config_.lanes, [](double c) { return c == 0.0; });
  });
  Ascent ascent{.roster = {std::move(everyone), order}, .jointly = true, .passes = 1};
  if (!ascend(ascent, options.passes, tolerance, lookout)) return {};
  become_the_end_of_the_stream(rows);
  return {ascent.passes, std::move(ascent.gap), ascent.converged};
}

// delta_n: what the window gives each event after the last one has come; and the masses.
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
    // As in a stream, what has faded to nothing is forgotten: below this an event is lost in the rounding of the others.
    const bool fades = !window.keeps_events() && window.of_lane(l) != 1.0;
    const double least = fades && config_.has_decayed(l, mass) ? infinity : 1e-200 * largest;
    for (std::size_t id = 0; id < n; ++id) {
      double& weight = buffer.weights(id)[l];
      if (weight < least) weight = 0.0;
      state_.lane.mass[l] += weight;
    }
  }
}

// By the scale of all events together, each with the weight that it has in the end.
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
          throw InputError("standardising " + at_row(static_cast<std::int64_t>(id)) +
                           " of X would overflow in column " + std::to_string(j - first) +
                           "; scale the features or weights");
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
  pass_->add_losses(weights_unlocked(false), true, sums.data());
  for (int l = 0; l < config_.lanes; ++l)
    sums[l] = state_.lane.mass[l] > 0.0 ? relative * (sums[l] / state_.lane.mass[l]) : 0.0;
  return sums;
}

// The state from which `learn` goes on as if the events had come one by one.
void Learner::become_the_end_of_the_stream(std::size_t events) {
  state_.count = events;
  for (int l = 0; l < config_.lanes; ++l) {
    const LaneState& s = state_.lane;
    if (config_.kappa > 0.0 && s.q[l] > 1e300)
      throw InputError("with smoothing the strength rho * mass + prior_strength must be at least 1e-300; here it is " +
                       show(config_.strength(l, s.mass[l])) + ". Choose a larger rho or prior_strength");
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
  // Every past w counts as if it had been this one.
  for (std::size_t n = 0; n < events; ++n) {
    const double next = config_.kappa * state_.smooth_mass + 1.0;
    if (next == state_.smooth_mass) break;
    state_.smooth_mass = next;
  }
  const std::vector<double> w = weights_unlocked(false);
  for (std::size_t at = 0; at < w.size(); ++at) state_.smooth[at] = w[at] * state_.smooth_mass;
}

// Of all events those that a stream would still hold, in order of time.
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
