// Turns of threads that hold the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include "odca/sync/fair_mutex.hpp"

namespace odca::bind {

// Waits without the GIL: whoever is inside may need it. Nobody ever waits for a mutex while holding the GIL.
inline void take_turn(FairMutex& mutex) {
  if (mutex.try_lock()) return;
  const nanobind::gil_scoped_release free_threads;
  mutex.lock();
}

class Turn {
 public:
  explicit Turn(FairMutex& mutex) : mutex_(mutex) { take_turn(mutex_); }
  ~Turn() { mutex_.unlock(); }
  Turn(const Turn&) = delete;

 private:
  FairMutex& mutex_;
};

}  // namespace odca::bind
