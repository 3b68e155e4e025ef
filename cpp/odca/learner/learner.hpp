// The learner: every call a transaction, one writer at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "odca/learner/pass.hpp"
#include "odca/problem/config.hpp"
#include "odca/step/state.hpp"
#include "odca/sync/fair_mutex.hpp"

namespace odca {

// What came in between two states of one learner: the past fades by `factor`, then `gain` is added.
struct Delta {
  State gain;
  std::vector<double> factor;  // [lane]
  double smooth_factor = 1.0;
};

class Learner {
 public:
  explicit Learner(Config config);
  Learner(const Learner& other);

  // Returns how many events were learned: all of them, unless interrupted. Throws InputError, or what a user's
  // loss throws, with the model as it was.
  std::int64_t learn(const Events& events, const Report& report, const Interrupted& interrupted);

  // The same for a short call of one who must not wait. False if it is not short or somebody else is inside: then nothing
  // has happened.
  bool try_learn(const Events& events, const Report& report);

  // out[row][lane] = offset + h'w, or h'w-bar
  void predict(const Batch& batch, const Columns& offset, bool smoothed, double* out,
               const Interrupted& interrupted) const;
  // One row, the intercept in front of it if there is one; for one who must not wait, as above.
  bool try_predict(const Row& row, double offset, bool smoothed, double* out) const;

  std::vector<double> weights(bool smoothed) const;  // [feature][lane], the intercept first if there is one
  std::vector<double> dual_sum() const;              // S, in the same order
  // Of some features, in the units of the rows as they came; 0 of those that the model has never seen (-1 is such).
  std::vector<double> weights_at(std::span<const std::int32_t> features, bool smoothed) const;
  Units units() const;  // of the rows, where they are standardised

  // A learner whose lane k is this one's lane source[k], mirrored (as if all labels had been negated) where asked for.
  // Where source[k] is negative, it is a lane whose labels were all -1 and whose duals are still zero.
  std::unique_ptr<Learner> with_lanes(const std::vector<int>& source, const std::vector<bool>& mirrored) const;

  // (1/mass) (-sum delta Q*(-lambda) - A R*(S/A)); 0 where there is no mass.
  std::vector<double> dual_objective() const;
  // (1/mass) (sum delta Q(z) + A R(w)) over the events of a sliding window.
  std::vector<double> primal_objective() const;
  std::vector<double> duality_gap() const;  // of one moment
  // A R(w) / mass, or of w-bar: what an objective over other rows needs.
  std::vector<double> penalty_term(bool smoothed) const;

  // Forgets what was learned and solves the weighted problem of these events as it is at their end: O-DCA, then S-DCA
  // until every lane's gap is at most `tolerance` times its mean loss before anything was learned. The model changes
  // only at the end, and not at all if that is interrupted (then no passes are reported).
  struct FitOptions {
    double tolerance = 1e-4;
    std::int64_t passes = 1000;  // at most, O-DCA's among them
    bool shuffle = true;
    std::uint64_t seed = 0;
  };
  struct FitReport {
    std::int64_t passes = 0;
    std::vector<double> gap;  // [lane]
    bool converged = false;
  };
  FitReport fit(const Events& events, const FitOptions& options, double* margin, const Interrupted& interrupted);

  // S-DCA over the window's events, in an order drawn from the seed; stops when the gap is at most `tolerance`.
  void refine(std::int64_t passes, double tolerance, std::uint64_t seed, const Interrupted& interrupted);
  void unlearn(std::uint64_t event);

  // This learner as if it had the other's events too: see docs/merging.md for what each window means by that.
  void merge(const Learner& other);
  Delta delta(const Learner& base) const;
  void apply(const Delta& delta);
  // A delta from arrays that may come from anyone; throws InputError unless they fit together, and this learner.
  Delta checked(Delta delta, const EventBuffer::Table& events) const;

  bool same_state(const Learner& other) const;
  State state() const;
  void set_state(State state, const EventBuffer::Table& window);

  struct Scalars {
    std::uint64_t count;
    double clock;
    std::int64_t features;
    std::size_t events;  // in the window
    LaneState lane;
  };
  Scalars scalars() const;

  const Config& config() const { return config_; }

 private:
  void grow(std::int64_t features);
  std::int64_t learn_unlocked(const Events& events, const Report& report, const Interrupted& interrupted);
  void predict_row(const Row& row, bool as_of_many, bool smoothed, double* margin) const;
  bool shows_smoothed(bool smoothed) const;  // whether there is anything smoothed yet
  double weight_of(std::int64_t j, int lane, bool smoothed) const;
  std::vector<double> weights_unlocked(bool smoothed) const;
  std::vector<double> dual_objective_unlocked() const;
  std::vector<double> primal_objective_unlocked() const;
  std::vector<double> duality_gap_unlocked() const;
  double penalty_value(const std::vector<double>& weights, int lane) const;
  double penalty_conjugate(int lane) const;
  void require_events(const char* what) const;
  void require_value() const;
  struct Ascent;
  bool ascend(Ascent& ascent, std::int64_t passes, const std::vector<double>& tolerance, LongCall& call);
  FitReport solve(const Events& events, const FitOptions& options, double* margin, LongCall& call);
  void weigh_by_window();
  void standardise_events();
  std::vector<double> tolerances(double relative) const;
  void become_the_end_of_the_stream(std::size_t events);
  void keep_the_window();
  enum class Sums { of_events, of_a_delta };
  State checked(State state, const EventBuffer::Table& events, Sums sums) const;
  void settle(State& state) const;
  void rebuild(State& state) const;
  State level(State state, double clock) const;
  void join_buffers(State& into, const State& other, std::uint64_t shift) const;
  void finish_sums(State& state) const;
  void absorb(const State& other, const std::vector<double>& factor, double smooth_factor);

  Config config_;
  State state_;
  Transaction transaction_{state_};
  mutable std::vector<double> standardised_;  // scratch of whoever holds the mutex
  std::unique_ptr<Pass> pass_;                // of this configuration, on this state
  mutable FairMutex writing_;                 // held by one mutation from beginning to end
  mutable FairMutex mutex_;                   // held while the state is looked at or changed
};

}  // namespace odca
