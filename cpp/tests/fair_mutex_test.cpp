#include "odca/sync/fair_mutex.hpp"

#include <doctest/doctest.h>

#include <mutex>
#include <thread>
#include <vector>

using odca::FairMutex;

TEST_CASE("one at a time is inside") {
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

TEST_CASE("whoever waits gets in before the one who opened the mutex goes on") {
  FairMutex mutex;
  mutex.lock();
  for (int n = 0; n < 200; ++n) {
    bool was_inside = false;
    std::thread other([&] {
      const std::scoped_lock hold(mutex);
      was_inside = true;
    });
    while (!mutex.somebody_waits()) std::this_thread::yield();
    REQUIRE_FALSE(was_inside);
    mutex.unlock();
    mutex.lock();  // an ordinary mutex would often let us in again first
    REQUIRE(was_inside);
    other.join();
  }
  mutex.unlock();
}

TEST_CASE("whoever is inside cannot enter again, and loses nothing by trying") {
  FairMutex mutex;
  mutex.lock();
  CHECK_THROWS_AS(mutex.lock(), odca::InputError);
  CHECK_FALSE(mutex.somebody_waits());
  mutex.unlock();
  mutex.lock();
  mutex.unlock();
}

TEST_CASE("who must not wait enters a free mutex, and no other") {
  FairMutex mutex;
  REQUIRE(mutex.try_lock());
  CHECK_FALSE(mutex.try_lock());
  CHECK_THROWS_AS(mutex.lock(), odca::InputError);
  bool entered = true;
  std::thread([&] { entered = mutex.try_lock(); }).join();
  CHECK_FALSE(entered);
  CHECK_FALSE(mutex.somebody_waits());
  mutex.unlock();
  CHECK(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("one at a time is inside, whether they wait or only try") {
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

TEST_CASE("nobody waits at a mutex that is free, or held by one") {
  FairMutex mutex;
  CHECK_FALSE(mutex.somebody_waits());
  mutex.lock();
  CHECK_FALSE(mutex.somebody_waits());
  mutex.unlock();
  CHECK_FALSE(mutex.somebody_waits());
}
