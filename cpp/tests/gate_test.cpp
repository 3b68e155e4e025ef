#include "odca/gate.hpp"

#include <doctest/doctest.h>

#include <mutex>
#include <thread>
#include <vector>

using odca::Gate;

TEST_CASE("one at a time is inside") {
  Gate gate;
  int inside = 0, most = 0, turns = 0;  // plain numbers: only the gate protects them
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int n = 0; n < 500; ++n) {
        const std::scoped_lock hold(gate);
        most = std::max(most, ++inside);
        ++turns;
        --inside;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(most == 1);
  CHECK(turns == 2000);
}

TEST_CASE("whoever waits gets in before the one who opened the gate goes on") {
  Gate gate;
  gate.lock();
  for (int n = 0; n < 200; ++n) {
    bool was_inside = false;
    std::thread other([&] {
      const std::scoped_lock hold(gate);
      was_inside = true;
    });
    while (!gate.somebody_waits()) std::this_thread::yield();
    REQUIRE_FALSE(was_inside);
    gate.unlock();
    gate.lock();  // an ordinary mutex would often let us in again first
    REQUIRE(was_inside);
    other.join();
  }
  gate.unlock();
}

TEST_CASE("whoever is inside cannot enter again, and loses nothing by trying") {
  Gate gate;
  gate.lock();
  CHECK_THROWS_AS(gate.lock(), odca::InputError);
  CHECK_FALSE(gate.somebody_waits());
  gate.unlock();
  gate.lock();
  gate.unlock();
}

TEST_CASE("who must not wait enters a free gate, and no other") {
  Gate gate;
  REQUIRE(gate.try_lock());
  CHECK_FALSE(gate.try_lock());
  CHECK_THROWS_AS(gate.lock(), odca::InputError);
  bool entered = true;
  std::thread([&] { entered = gate.try_lock(); }).join();
  CHECK_FALSE(entered);
  CHECK_FALSE(gate.somebody_waits());
  gate.unlock();
  CHECK(gate.try_lock());
  gate.unlock();
}

TEST_CASE("one at a time is inside, whether they wait or only try") {
  Gate gate;
  int inside = 0, most = 0, turns = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int n = 0; n < 2000; ++n) {
        if (t % 2 == 0 || !gate.try_lock()) gate.lock();
        most = std::max(most, ++inside);
        ++turns;
        --inside;
        gate.unlock();
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(most == 1);
  CHECK(turns == 8000);
}

TEST_CASE("nobody waits at a gate that is free, or held by one") {
  Gate gate;
  CHECK_FALSE(gate.somebody_waits());
  gate.lock();
  CHECK_FALSE(gate.somebody_waits());
  gate.unlock();
  CHECK_FALSE(gate.somebody_waits());
}
