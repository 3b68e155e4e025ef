// What a long call does between events: let waiting threads use the model, and check for Ctrl-C.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "odca/sync/gate.hpp"

namespace odca {

// Called every few milliseconds during a long call; returning true stops it at the next event.
using Interrupted = std::function<bool()>;

class LongCall {
 public:
  // Of a call that is inside the gate of its model, and leaves it for a moment.
  LongCall(Gate::Hold& inside, const Interrupted& interrupted) : inside_(&inside), interrupted_(interrupted) {}
  // Of a call that nobody waits for.
  explicit LongCall(const Interrupted& interrupted) : interrupted_(interrupted) {}

  // Whether a call with this much work ends before its first check: it holds the mutex throughout and cannot be interrupted.
  static bool ends_before_first_check(std::int64_t work) { return work < work_between_checks; }

  // To be called after each event, with the work it took. True if the call should stop. Others may be inside meanwhile.
  bool should_stop(std::int64_t work) {
    work_ += work;
    return work_ >= work_between_checks && check();
  }

 private:
  static constexpr std::int64_t work_between_checks = 1 << 14;  // in non-zeros
  static constexpr auto time_between_interrupt_checks = std::chrono::milliseconds(20);

  [[gnu::noinline]] bool check() {
    work_ = 0;
    const auto now = std::chrono::steady_clock::now();
    if (last_asked_ == std::chrono::steady_clock::time_point())
      last_asked_ = now;  // the first check counts as the start of the call
    const bool ask = interrupted_ && now - last_asked_ >= time_between_interrupt_checks;
    if (!ask && !(inside_ && inside_->mutex()->has_waiters())) return false;
    if (inside_) inside_->unlock();
    bool stop = false;
    try {
      stop = ask && interrupted_();
    } catch (...) {
      if (inside_) inside_->lock();
      throw;
    }
    if (inside_) inside_->lock();
    if (ask) last_asked_ = now;
    return stop;
  }

  Gate::Hold* inside_ = nullptr;
  const Interrupted& interrupted_;
  std::int64_t work_ = 0;
  std::chrono::steady_clock::time_point last_asked_;
};

}  // namespace odca
