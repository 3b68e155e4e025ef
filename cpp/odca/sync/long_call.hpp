// During a long call: does somebody wait for the model, has the user pressed Ctrl-C?
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "odca/sync/fair_mutex.hpp"

namespace odca {

// Asked every few milliseconds of a long call; true stops it at the next event.
using Interrupted = std::function<bool()>;

class LongCall {
 public:
  LongCall(FairMutex& mutex, const Interrupted& interrupted) : mutex_(mutex), interrupted_(interrupted) {}

  // Whether a call of so much work ends before the first look: such a call keeps the mutex, and asks nobody.
  static bool is_never_asked(std::int64_t work) { return work < work_between_looks; }

  // True if the call should stop. The mutex is open meanwhile.
  bool look(std::int64_t work) {
    work_ += work;
    return work_ >= work_between_looks && look_up();
  }

 private:
  static constexpr std::int64_t work_between_looks = 1 << 14;  // in non-zeros
  static constexpr auto time_between_questions = std::chrono::milliseconds(20);

  [[gnu::noinline]] bool look_up() {
    work_ = 0;
    const auto now = std::chrono::steady_clock::now();
    if (asked_ == std::chrono::steady_clock::time_point()) asked_ = now;  // the first look is the call's beginning
    const bool ask = interrupted_ && now - asked_ >= time_between_questions;
    if (!ask && !mutex_.somebody_waits()) return false;
    mutex_.unlock();
    bool stop = false;
    try {
      if (ask) stop = interrupted_();
    } catch (...) {
      mutex_.lock();
      throw;
    }
    mutex_.lock();
    if (ask) asked_ = now;
    return stop;
  }

  FairMutex& mutex_;
  const Interrupted& interrupted_;
  std::int64_t work_ = 0;
  std::chrono::steady_clock::time_point asked_;
};

}  // namespace odca
