// How often the process was forked since it began, and by which thread.
//
// A child process has a copy of everything but the other threads. A mutex that one of them held would stay locked for ever there: it
// compares this count with the one it saw last (fair_mutex.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#ifndef _WIN32
#include <pthread.h>
#endif

namespace odca {

class Forks {
 public:
  static std::uint32_t count() { return count_.load(std::memory_order_relaxed); }
  // The thread that made the last one. It is the only thread that lives on in the child.
  static std::thread::id made_by() { return made_by_.load(std::memory_order_relaxed); }

  // Calls look() in one thread at a time.
  template <class Look>
  static void one_at_a_time(Look&& look) {
    struct Door {
      Door() {
        while (looking_.test_and_set()) std::this_thread::yield();
      }
      ~Door() { looking_.clear(); }
    };
    const Door door;
    look();
  }

 private:
  static void note() {  // in the child, before anything else
    made_by_ = std::this_thread::get_id();
    looking_.clear();
    ++count_;
  }
  static bool watch() {
#ifndef _WIN32
    return pthread_atfork(nullptr, nullptr, &note) == 0;
#else
    return true;
#endif
  }

  // Of the process, as its forks are.
  static inline std::atomic<std::uint32_t> count_{0};
  static inline std::atomic<std::thread::id> made_by_{};
  static inline std::atomic_flag looking_;
  static inline const bool watched_ = watch();
};

}  // namespace odca
