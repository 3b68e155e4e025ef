// A mutex that serves threads in the order in which they arrive. A long `learn` releases it between events when another
// thread is waiting; because the order is fixed, that thread gets in before the learning continues.
//
// It is a ticket lock: a thread takes the next ticket and enters when that ticket is served. Without contention this
// costs one atomic addition to enter and one to leave, which a call of a single event hardly notices.
//
// It never waits for what cannot come. A thread that holds it already is refused. In a child process the threads that waited do not
// exist and are forgotten; if one of them held the mutex, what it protects may be half changed, and everybody is refused.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "odca/errors.hpp"
#include "odca/sync/forks.hpp"

namespace odca {

class FairMutex {
 public:
  FairMutex() = default;
  // A mutex around what is changed only by who holds the other one too: if a child's copy is held by a thread that only read, it is free.
  explicit FairMutex(const FairMutex& of_changes) : of_changes_(&of_changes) {}

  void lock() {
    notice_forks();
    const std::thread::id self = std::this_thread::get_id();
    if (owner_.load(std::memory_order_relaxed) == self)
      throw InputError(
          "a model cannot be used from inside its own call, by a loss, a value of an event or a signal handler. Do "
          "that when "
          "the call has ended");
    const std::uint64_t turn = next_.fetch_add(1);
    for (std::uint64_t serving; (serving = serving_.load()) != turn;) serving_.wait(serving);
    owner_.store(self, std::memory_order_relaxed);
  }

  // The non-blocking variant: locks the mutex if it is free.
  bool try_lock() {
    notice_forks();
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
  void notice_forks() {
    if (forks_.load(std::memory_order_relaxed) != Forks::count()) [[unlikely]]
      begin_in_child();
  }

  // Nobody has been here since the process was forked: all that came before came in the parent.
  [[gnu::noinline]] void begin_in_child() {
    Forks::one_at_a_time([this] {
      if (forks_.load() == Forks::count()) return;  // another thread was faster
      (of_changes_ ? *of_changes_ : *this).require_owner();
      const bool held = owner_.load() == Forks::made_by();
      if (!held) owner_.store(std::thread::id());
      next_.store(serving_.load() + held);
      forks_.store(Forks::count(), std::memory_order_relaxed);
    });
  }

  // Throws if the thread that holds the mutex did not live on.
  void require_owner() const {
    const std::thread::id owner = owner_.load();
    if (forks_.load() != Forks::count() && owner != std::thread::id() && owner != Forks::made_by())
      throw InputError(
          "another thread was changing the model when this process was forked: its copy here is half changed and "
          "cannot be used. "
          "Load the model in the new process, or start that by 'spawn'");
  }

  std::atomic<std::uint64_t> next_{0}, serving_{0};
  std::atomic<std::thread::id> owner_{};
  std::atomic<std::uint32_t> forks_{Forks::count()};  // as many as were noticed
  const FairMutex* of_changes_ = nullptr;
};

}  // namespace odca
