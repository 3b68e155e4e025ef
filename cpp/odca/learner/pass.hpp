// The part of a call that depends on the loss, the penalty and the number of lanes: they are resolved here, once
// per call. Each loss has its own source file in passes/, so that they compile in parallel.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "odca/learner/transaction.hpp"
#include "odca/math/batch.hpp"
#include "odca/problem/config.hpp"
#include "odca/sync/long_call.hpp"

namespace odca {

// The input of a call.
struct Events {
  Batch batch;
  LaneValues y, weight, offset;
  const double* time = nullptr;
};

// The output for each event: one column per model, row-major; any pointer may be null.
struct Report {
  double *margin = nullptr, *dual = nullptr, *slope = nullptr;
  std::uint8_t* saturated = nullptr;
};

using Ids = std::vector<std::size_t>;  // positions of events in the buffer

// The outcome of a pass of S-DCA.
struct Sweep {
  std::vector<std::uint8_t> moved;  // [k]: whether the k-th event's dual moved
  // [lane]: sum of delta (Q(z) + Q*(-lambda) + lambda z) before the visits, estimated from some of them. Over all events,
  // at one w, it is the mass times the duality gap. Empty if not requested.
  std::vector<double> shortfall;
  double work = 0.0;

  explicit Sweep(int lanes) : shortfall(static_cast<std::size_t>(lanes)) {}
  static double work_of(const EventBuffer::Entry& event) { return static_cast<double>(event.size + 16); }
};

class Pass {
 public:
  virtual ~Pass() = default;

  // Learns the events in order until stopped; returns how many were learned.
  virtual std::int64_t learn(const Events& events, const Report& report, LongCall& call) = 0;

  // For a finite set. Each returns how many events it processed: all, unless stopped.
  virtual std::int64_t enlist(const Events& events, LongCall& call) = 0;          // with their own weights, duals zero
  virtual std::size_t admit(const Ids& ids, double* margin, LongCall& call) = 0;  // O-DCA; margin[row][lane]
  virtual std::size_t revisit(const Ids& ids, Sweep& sweep, LongCall& call) = 0;  // S-DCA

  // A joint step of all duals of these events (joint_step.hpp): the cost of an iteration in non-zeros, infinite if it is not
  // possible; and the step itself, which returns its number of iterations, or -1 if stopped.
  virtual double cost_of_joint_step(const Ids& ids) const = 0;
  virtual int move_jointly(const Ids& ids, const std::vector<double>& tolerance, LongCall& call) = 0;

  // Sets the dual of each event in the buffer to -Q'(z) at z = b + h'w; w is [feature][lane]. For smooth losses.
  virtual void respond(const std::vector<double>& w) = 0;
  virtual bool is_smooth() const = 0;

  virtual void settle() = 0;         // brings every smoothed sum up to date
  virtual void rebuild() = 0;        // recomputes all sums from the buffer
  virtual void restate_duals() = 0;  // recomputes what the buffer derives from them, after visits
  virtual void add_losses(const std::vector<double>& w, bool magnitudes, double* sums) const = 0;
};

std::unique_ptr<Pass> make_pass(const Config& config, State& state, Transaction& transaction);

}  // namespace odca
