// The part of a call that depends on the loss, the penalty and the number of lanes: they are resolved here, once
// per call. Each loss has a source file of its own in passes/, so that the compiler can work on them side by side.
#pragma once

#include <cstdint>
#include <memory>

#include "odca/batch.hpp"
#include "odca/config.hpp"
#include "odca/lookout.hpp"
#include "odca/transaction.hpp"

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

class Pass {
 public:
  virtual ~Pass() = default;

  // Learns the events in order, until told to stop; returns how many were learned.
  virtual std::int64_t learn(const Events& events, const Report& report, Lookout& lookout) = 0;
  virtual void revisit(std::size_t id) = 0;  // S-DCA on an event of the window
  virtual void settle() = 0;                 // every smoothed sum is brought up to date
  virtual void rebuild() = 0;                // all sums anew, from the window
};

std::unique_ptr<Pass> make_pass(const Config& config, State& state, Transaction& transaction);

}  // namespace odca
