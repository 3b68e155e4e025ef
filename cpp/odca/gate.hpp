// First come, first served. A long `learn` opens the gate between events when somebody waits; because turns are
// taken in order, whoever waits gets in before the learning goes on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "odca/errors.hpp"

namespace odca {

class Gate {
 public:
  void lock() {
    if (owner_.load(std::memory_order_relaxed) == std::this_thread::get_id())
      throw InputError("a learner cannot be used from inside its own loss, while it learns");
    std::unique_lock hold(mutex_);
    const std::uint64_t turn = next_++;
    turned_.wait(hold, [&] { return serving_ == turn; });
    owner_ = std::this_thread::get_id();
  }
  void unlock() {
    {
      std::scoped_lock hold(mutex_);
      owner_ = std::thread::id();
      ++serving_;
    }
    turned_.notify_all();
  }
  bool somebody_waits() const {
    return next_.load(std::memory_order_relaxed) - serving_.load(std::memory_order_relaxed) > 1;
  }

 private:
  std::mutex mutex_;
  std::condition_variable turned_;
  std::atomic<std::uint64_t> next_{0}, serving_{0};
  std::atomic<std::thread::id> owner_{};
};

}  // namespace odca
