// A mutex that serves threads in the order in which they arrive. A long `learn` releases it between events when another
// thread is waiting; because the order is fixed, that thread gets in before the learning continues.
//
// It is a ticket lock: a thread takes the next ticket and enters when that ticket is served. Without contention this
// costs one atomic addition to enter and one to leave, which a call of a single event hardly notices.
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

  // The non-blocking variant: locks the mutex if it is free.
  bool try_lock() {
    std::uint64_t turn = serving_.load();
    if (!next_.compare_exchange_strong(turn, turn + 1)) return false;
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    return true;
  }

  // A waiting thread takes its ticket before it reads `serving_`; here `serving_` is changed before `next_` is read. So
  // either the waiting thread sees the change, or it is seen here and notified. (seq_cst, the default, orders all four.)
  void unlock() {
    owner_.store(std::thread::id(), std::memory_order_relaxed);
    if (const std::uint64_t served = serving_.fetch_add(1) + 1; next_.load() != served) serving_.notify_all();
  }

  bool has_waiters() const {
    return next_.load(std::memory_order_relaxed) - serving_.load(std::memory_order_relaxed) > 1;
  }

 private:
  std::atomic<std::uint64_t> next_{0}, serving_{0};
  std::atomic<std::thread::id> owner_{};
};

}  // namespace odca
