// The part of a call that depends on the loss, the penalty and the number of lanes: they are resolved here, once
// per call. Each loss has a source file of its own in passes/, so that the compiler can work on them side by side.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "odca/learner/transaction.hpp"
#include "odca/math/batch.hpp"
#include "odca/problem/config.hpp"
#include "odca/sync/long_call.hpp"

namespace odca {

// What comes in.
struct Events {
  Batch batch;
  Columns y, weight, offset;
  const double* time = nullptr;
};

// What is said of each event: one column per lane, row-major; any may be null.
struct Report {
  double *margin = nullptr, *dual = nullptr, *slope = nullptr;
  std::uint8_t* saturated = nullptr;
};

using Ids = std::vector<std::size_t>;  // of events in the buffer

// What a pass of S-DCA found.
struct Sweep {
  std::vector<std::uint8_t> moved;  // [k]: whether the k-th event's dual moved
  // [lane]: sum of delta (Q(z) + Q*(-lambda) + lambda z) before the visits, estimated from some of them. Over all events,
  // at one w, it is the mass times the duality gap. Empty if nobody asks.
  std::vector<double> shortfall;
  double work = 0.0;

  explicit Sweep(int lanes) : shortfall(static_cast<std::size_t>(lanes)) {}
  static double work_of(const EventBuffer::Entry& event) { return static_cast<double>(event.size + 16); }
};

class Pass {
 public:
  virtual ~Pass() = default;

  // Learns the events in order, until told to stop; returns how many were learned.
  virtual std::int64_t learn(const Events& events, const Report& report, LongCall& call) = 0;

  // A finite set, known before it is learned. Each returns how many events it came to: all, unless told to stop.
  virtual std::int64_t enlist(const Events& events, LongCall& call) = 0;          // with their own weights, duals zero
  virtual std::size_t admit(const Ids& ids, double* margin, LongCall& call) = 0;  // O-DCA; margin[row][lane]
  virtual std::size_t revisit(const Ids& ids, Sweep& sweep, LongCall& call) = 0;  // S-DCA

  // All duals of these events at once (joint.hpp): what an iteration costs in non-zeros, infinite if it cannot be done; and
  // the step, which returns its number of iterations, or -1 if told to stop.
  virtual double cost_of_joint_step(const Ids& ids) const = 0;
  virtual int move_jointly(const Ids& ids, const std::vector<double>& tolerance, LongCall& call) = 0;

  virtual void settle() = 0;         // every smoothed sum is brought up to date
  virtual void rebuild() = 0;        // all sums anew, from the buffer
  virtual void restate_duals() = 0;  // what the buffer says of them besides, after visits
  virtual void add_losses(const std::vector<double>& w, bool magnitudes, double* sums) const = 0;
};

std::unique_ptr<Pass> make_pass(const Config& config, State& state, Transaction& transaction);

}  // namespace odca
