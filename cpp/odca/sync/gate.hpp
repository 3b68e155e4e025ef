// The gate of a model, the same for all: which calls may be at it at the same time.
//
// Calls that change the model come one after another, each for its whole length. Whoever reads the state or changes it is inside, alone.
// A long call that changes the model opens the inside between events (long_call.hpp): readers get in there, other writers do not.
#pragma once

#include <mutex>

#include "odca/sync/fair_mutex.hpp"

namespace odca {

class Gate {
 public:
  using Hold = std::unique_lock<FairMutex>;

  Hold only_writer() const { return Hold(writing_); }
  Hold inside() const { return Hold(inside_); }
  // The non-blocking variants: what they return holds nothing if somebody else is there.
  Hold try_only_writer() const { return Hold(writing_, std::try_to_lock); }
  Hold try_inside() const { return Hold(inside_, std::try_to_lock); }

 private:
  mutable FairMutex writing_, inside_{writing_};
};

}  // namespace odca
