// First come, first served. A long `learn` opens the mutex between events when somebody waits; because turns are
// taken in order, whoever waits gets in before the learning goes on.
//
// Whoever comes draws a number and enters when it is served. At a free mutex that is one atomic addition to enter and one
// to leave: a single event costs little more than that.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "odca/errors.hpp"

namespace odca {

class FairMutex {
 public:
  void lock() {
    const std::thread::id self = std::this_thread::get_id();
    if (owner_.load(std::memory_order_relaxed) == self)
      throw InputError("a learner cannot be used from inside its own loss, while it learns");
    const std::uint64_t turn = next_.fetch_add(1);
    for (std::uint64_t serving; (serving = serving_.load()) != turn;) serving_.wait(serving);
    owner_.store(self, std::memory_order_relaxed);
  }

  // Enters if the mutex is free, for who must not wait.
  bool try_lock() {
    std::uint64_t turn = serving_.load();
    if (!next_.compare_exchange_strong(turn, turn + 1)) return false;
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    return true;
  }

  // Numbers are drawn before `serving_` is read, and it is changed before they are: either whoever waits sees the change,
  // or he is seen here. (All in one order: seq_cst, the default.)
  void unlock() {
    owner_.store(std::thread::id(), std::memory_order_relaxed);
    if (const std::uint64_t served = serving_.fetch_add(1) + 1; next_.load() != served) serving_.notify_all();
  }

  bool somebody_waits() const {
    return next_.load(std::memory_order_relaxed) - serving_.load(std::memory_order_relaxed) > 1;
  }

 private:
  std::atomic<std::uint64_t> next_{0}, serving_{0};
  std::atomic<std::thread::id> owner_{};
};

}  // namespace odca
