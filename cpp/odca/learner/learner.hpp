// The learner: every call a transaction, one writer at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "odca/learner/pass.hpp"
#include "odca/problem/config.hpp"
#include "odca/step/state.hpp"
#include "odca/sync/gate.hpp"

namespace odca {

class Learner {
 public:
  explicit Learner(Config config);
  Learner(const Learner& other);

  // Returns how many events were learned: all of them, unless interrupted. Throws InputError, or what a custom
  // loss throws, and leaves the model unchanged.
  std::int64_t learn(const Events& events, const Report& report, const Interrupted& interrupted);

  // The non-blocking variant, for short calls. False if the call is not short or the model is in use: then nothing has
  // happened.
  bool try_learn(const Events& events, const Report& report);

  // out[row][model] = offset + h'w, or h'w-bar, of the lane that is chosen for the model
  void predict(const Batch& batch, const LaneValues& offset, bool smoothed, double* out,
               const Interrupted& interrupted) const;
  // One row, with the intercept in front if there is one; the non-blocking variant, as above.
  bool try_predict(const Row& row, double offset, bool smoothed, double* out) const;

  std::vector<double> weights(bool smoothed) const;  // [feature][model], the intercept first if there is one
  std::vector<double> dual_sum() const;              // S, in the same order
  // Weights of some features, in the units of the original rows; 0 for features never seen (such as -1).
  std::vector<double> weights_at(std::span<const std::int32_t> features, bool smoothed) const;
  Units units() const;  // of the rows, where they are standardised
  // What each fixed product of features adds to the margins of a row, [product][model].
  std::vector<double> parts_of_products(const Row& row) const;

  // A learner whose model k is this one's model source[k], mirrored (as if all labels had been negated) if requested.
  // If source[k] is negative, model k is one whose labels were all -1 and whose duals are still zero.
  std::unique_ptr<Learner> with_lanes(const std::vector<int>& source, const std::vector<bool>& mirrored) const;

  // [model] (1/mass) (-sum delta Q*(-lambda) - A R*(S/A)); 0 if there is no mass.
  std::vector<double> dual_objective() const;
  // (1/mass) (sum delta Q(z) + A R(w)) over the events of a sliding window.
  std::vector<double> primal_objective() const;
  std::vector<double> duality_gap() const;  // primal and dual at the same moment
  // A R(w) / mass, or of w-bar: needed for an objective over other rows.
  std::vector<double> penalty_term(bool smoothed) const;

  // Forgets what was learned and solves the weighted problem of these events as it is at their end: O-DCA, then S-DCA
  // until every lane's gap is at most `tolerance` times its mean loss before anything was learned. The model changes
  // only at the end, and not at all if interrupted (then no passes are reported).
  struct FitOptions {
    double tolerance = 1e-4;
    std::int64_t passes = 1000;  // at most, including that of O-DCA
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

  // This learner with the events of the other added: docs/merging.md says what that means for each window.
  void merge(const Learner& other);
  // The reverse: a share of all sums, hence the same weights. The parts 0, ..., parts - 1 merge to this learner.
  void become_part(int part, int parts);
  // The sums that were added since an earlier state, at one time and in the units of the original rows; and a learner to which they
  // are added. A delta may come from anyone: InputError unless it fits this learner.
  State delta(const Learner& base) const;
  void apply(State delta, const EventBuffer::Table& events);

  bool same_state(const Learner& other) const;
  State state() const;
  void set_state(State state, const EventBuffer::Table& window);

  struct Scalars {
    std::uint64_t count;
    double clock;
    std::int64_t features;
    std::size_t events;  // in the window
    LaneState lane;      // of the lanes that are chosen
    std::vector<double> strength = {};
  };
  Scalars scalars() const;

  const Config& config() const { return config_; }

 private:
  void grow(std::int64_t features);
  std::int64_t learn_inside(Gate::Hold& inside, const Events& events, const Report& report,
                            const Interrupted& interrupted);
  void predict_row(const Row& row, bool as_of_many, bool smoothed, double* margin) const;
  void add_products(const Row& row, double* margin) const;
  bool shows_smoothed(bool smoothed) const;  // whether there are smoothed weights yet
  template <class Use>
  void with_weights(bool smoothed, Use&& use) const;
  const std::vector<int>& chosen() const;  // the lane that answers for each model, until the next call
  std::vector<double> of_chosen(
      const std::vector<double>& values) const;  // [lane] to [model], of the lane whose problem it is
  std::vector<double> weights_of(const std::vector<int>& lanes, bool smoothed) const;
  std::vector<int> all_lanes() const;
  std::vector<double> dual_objective_unlocked() const;
  std::vector<double> primal_objective_unlocked() const;
  std::vector<double> duality_gap_unlocked() const;
  double penalty_value(const std::vector<double>& weights, int lane) const;
  double penalty_conjugate(int lane) const;
  void require_events(const char* what) const;
  void require_value() const;
  friend class Shard;  // the same solver, on a part of the events
  struct Ascent;
  bool ascend(Ascent& ascent, std::int64_t passes, const std::vector<double>& tolerance, LongCall& call);
  FitReport solve(const Events& events, const FitOptions& options, double* margin, LongCall& call);
  void weigh_by_window();
  void standardise_events();
  std::vector<double> tolerances(double relative) const;
  void become_the_end_of_the_stream(std::size_t events);
  void keep_the_window();
  // Throws InputError for a state that cannot be, such as one whose weights overflowed: see soundness.cpp.
  void require_sound(const char* what) const;
  const char* fault_of_sums(const std::vector<double>& largest) const;
  const char* fault_of_weights(const std::vector<double>& largest) const;
  bool window_makes_sums() const;
  Learner(Config config, State state);  // in a state that was not checked
  enum class Sums { of_events, of_a_delta };
  State checked(State state, const EventBuffer::Table& events, Sums sums) const;
  void settle(State& state) const;
  void rebuild(State& state) const;
  bool is_fresh() const;
  State as_sums(State state, double clock) const;
  void join_buffers(State& into, const State& other, std::uint64_t shift) const;
  State of_sums(State sums) const;
  void absorb(const State& gain);

  Config config_;
  State state_;
  Transaction transaction_{state_};
  mutable std::vector<double> standardised_;  // scratch, used inside the gate
  mutable std::vector<int> chosen_;           // the same; its memory is never moved, which a fork could cut short
  std::unique_ptr<Pass> pass_;                // of this configuration, on this state
  Gate gate_;
};

}  // namespace odca
