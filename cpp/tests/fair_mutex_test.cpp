#include "odca/sync/fair_mutex.hpp"

#include <doctest/doctest.h>

#include <mutex>
#include <thread>
#include <vector>

using odca::FairMutex;

TEST_CASE("only one thread holds the mutex at a time") {
  FairMutex mutex;
  int inside = 0, most = 0, turns = 0;  // plain numbers: only the mutex protects them
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int n = 0; n < 500; ++n) {
        const std::scoped_lock hold(mutex);
        most = std::max(most, ++inside);
        ++turns;
        --inside;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(most == 1);
  CHECK(turns == 2000);
}

TEST_CASE("a waiting thread gets in before the one that released the mutex") {
  FairMutex mutex;
  mutex.lock();
  for (int n = 0; n < 200; ++n) {
    bool was_inside = false;
    std::thread other([&] {
      const std::scoped_lock hold(mutex);
      was_inside = true;
    });
    while (!mutex.has_waiters()) std::this_thread::yield();
    REQUIRE_FALSE(was_inside);
    mutex.unlock();
    mutex.lock();  // an ordinary mutex would often let us in again first
    REQUIRE(was_inside);
    other.join();
  }
  mutex.unlock();
}

TEST_CASE("locking again from the same thread is refused without harm") {
  FairMutex mutex;
  mutex.lock();
  CHECK_THROWS_AS(mutex.lock(), odca::InputError);
  CHECK_FALSE(mutex.has_waiters());
  mutex.unlock();
  mutex.lock();
  mutex.unlock();
}

TEST_CASE("try_lock locks a free mutex only") {
  FairMutex mutex;
  REQUIRE(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock());
  CHECK_THROWS_AS(mutex.lock(), odca::InputError);
  bool entered = true;
  std::thread([&] { entered = mutex.try_lock(); }).join();
  CHECK_FALSE(entered);
  CHECK_FALSE(mutex.has_waiters());
  mutex.unlock();
  CHECK(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("only one thread holds the mutex at a time, by lock or by try_lock") {
  FairMutex mutex;
  int inside = 0, most = 0, turns = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int n = 0; n < 2000; ++n) {
        if (t % 2 == 0 || !mutex.try_lock()) mutex.lock();
        most = std::max(most, ++inside);
        ++turns;
        --inside;
        mutex.unlock();
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(most == 1);
  CHECK(turns == 8000);
}

TEST_CASE("a mutex that is free, or held without contention, has no waiters") {
  FairMutex mutex;
  CHECK_FALSE(mutex.has_waiters());
  mutex.lock();
  CHECK_FALSE(mutex.has_waiters());
  mutex.unlock();
  CHECK_FALSE(mutex.has_waiters());
}
