#include "odca/step/window_buffer.hpp"

#include <doctest/doctest.h>

#include "support.hpp"

using namespace odca::test;
using odca::EventBuffer;
using odca::Row;

namespace {

// The same events in a plain list.
struct Kept {
  std::vector<std::int32_t> index;
  std::vector<double> value, facts;
  bool dense;
  std::uint64_t number;
  double time, reach;
};

struct Pair {
  EventBuffer buffer;
  std::vector<Kept> list;  // oldest first
  int lanes;
  std::uint64_t next = 0;

  explicit Pair(int n) : buffer(n), lanes(n) {}

  void push(Random& random, double time) {
    Kept event{{}, {}, {}, random.chance(0.3), next++, time, random.unit()};
    const std::int64_t width = random.between(0, 6);
    for (std::int64_t j = 0; j < width; ++j) {
      if (!event.dense && random.chance(0.5)) continue;
      if (!event.dense) event.index.push_back(static_cast<std::int32_t>(j));
      event.value.push_back(random.bell());
    }
    // An empty sparse row still has an (empty) list of indices.
    const std::int32_t nothing = 0;
    const Row row{event.dense           ? nullptr
                  : event.index.empty() ? &nothing
                                        : event.index.data(),
                  event.value.data(), static_cast<std::int64_t>(event.value.size())};
    const std::size_t id = buffer.push(row, event.number, event.time, event.reach);
    for (auto* column :
         {buffer.labels(id), buffer.weights(id), buffer.offsets(id), buffer.duals(id), buffer.conjugates(id)})
      for (int l = 0; l < lanes; ++l) event.facts.push_back(column[l] = random.bell());
    auto place = list.end();
    while (place != list.begin() && (place - 1)->time > time) --place;
    list.insert(place, std::move(event));
  }
  void pop() {
    buffer.pop_oldest();
    list.erase(list.begin());
  }
  void erase(std::size_t k) {
    buffer.erase(k);
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(k));
  }

  void check() const {
    REQUIRE(buffer.size() == list.size());
    REQUIRE(buffer.empty() == list.empty());
    std::int64_t stored = 0;
    for (std::size_t k = 0; k < list.size(); ++k) {
      const Kept& wanted = list[k];
      const std::size_t id = buffer.at(k);
      const Row row = buffer.row(id);
      REQUIRE(buffer.entry(id).number == wanted.number);
      REQUIRE(buffer.entry(id).time == wanted.time);
      REQUIRE(buffer.entry(id).reach == wanted.reach);
      REQUIRE(std::vector<double>(row.value, row.value + row.size) == wanted.value);
      REQUIRE((buffer.entry(id).index_first < 0) == (wanted.dense || wanted.value.empty()));
      if (row.index) REQUIRE(std::vector<std::int32_t>(row.index, row.index + row.size) == wanted.index);
      std::vector<double> facts;
      for (const auto* column :
           {buffer.labels(id), buffer.weights(id), buffer.offsets(id), buffer.duals(id), buffer.conjugates(id)})
        facts.insert(facts.end(), column, column + lanes);
      REQUIRE(facts == wanted.facts);
      stored += row.size;
    }
    REQUIRE(buffer.stored() == stored);
  }
};

}  // namespace

TEST_CASE("a buffer behaves like a list of events under any operations") {
  for (const int lanes : {1, 3}) {
    Random random(51);
    Pair pair(lanes);
    double clock = 0.0;
    for (int n = 0; n < 3000; ++n) {
      const double what = random.unit();
      if (what < 0.5 || pair.list.empty()) {
        clock += random.chance(0.3) ? 0.0 : random.unit();
        pair.push(random, random.chance(0.2) ? clock - random.uniform(0.0, 5.0) : clock);  // late ones too
      } else if (what < 0.9) {
        pair.pop();
      } else if (what < 0.95) {
        pair.erase(static_cast<std::size_t>(random.below(static_cast<std::int64_t>(pair.list.size()))));
      } else {
        pair.buffer.compact();
      }
      if (n % 7 == 0) pair.check();
    }
    pair.check();
  }
}

TEST_CASE("events of one time stay in order of arrival, late ones after those of their time") {
  EventBuffer buffer;
  const double h = 1.0;
  const Row row{nullptr, &h, 1};
  const double times[] = {1.0, 3.0, 2.0, 3.0, 2.0, 0.0};
  for (std::uint64_t n = 0; n < 6; ++n) buffer.push(row, n, times[n], 1.0);
  std::vector<std::uint64_t> order;
  for (std::size_t k = 0; k < buffer.size(); ++k) order.push_back(buffer.entry(buffer.at(k)).number);
  CHECK(order == std::vector<std::uint64_t>{5, 0, 2, 4, 1, 3});
}

TEST_CASE("a late event never lands among those that have left") {
  EventBuffer buffer;
  const double h = 1.0;
  for (std::uint64_t n = 0; n < 4; ++n) buffer.push({nullptr, &h, 1}, n, static_cast<double>(n), 1.0);
  buffer.pop_oldest();
  buffer.pop_oldest();
  buffer.push({nullptr, &h, 1}, 4, -10.0, 1.0);
  REQUIRE(buffer.size() == 3);
  CHECK(buffer.entry(buffer.at(0)).number == 4);
  CHECK(buffer.entry(buffer.at(1)).number == 2);
}

TEST_CASE("rewinding undoes pushes, also late ones, and departures") {
  for (const int lanes : {1, 3}) {
    Random random(52);
    for (int round = 0; round < 200; ++round) {
      Pair pair(lanes);
      double clock = 0.0;
      const auto some = [&](std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) {
          if (!pair.list.empty() && random.chance(0.4)) {
            pair.pop();
          } else {
            clock += random.unit();
            pair.push(random, random.chance(0.3) ? clock - random.uniform(0.0, 5.0) : clock);
          }
        }
      };
      some(random.below(40));
      if (random.chance(0.5)) pair.buffer.compact();
      const EventBuffer before = pair.buffer;
      const std::vector<Kept> listed = pair.list;
      const EventBuffer::Mark mark = pair.buffer.mark();
      some(random.below(60));
      pair.buffer.rewind(mark);
      pair.list = listed;
      pair.check();
      REQUIRE(pair.buffer == before);
      some(20);  // and then continue
      pair.check();
    }
  }
}

TEST_CASE("memory depends on the window and not on the stream") {
  EventBuffer buffer;
  const std::vector<double> h(10, 1.0);
  std::size_t largest = 0;
  for (std::uint64_t n = 0; n < 5000; ++n) {
    const std::size_t id = buffer.push({nullptr, h.data(), 10}, n, 0.0, 1.0);
    largest = std::max(largest, id);
    if (buffer.size() > 50) buffer.pop_oldest();
    buffer.compact();
  }
  CHECK(buffer.size() == 50);
  CHECK(buffer.stored() == 500);
  CHECK(largest < 200);  // positions start over, so the memory is reused
}

TEST_CASE("a buffer survives the round trip through a table") {
  for (const int lanes : {1, 2}) {
    Random random(54);
    Pair pair(lanes);
    for (int n = 0; n < 60; ++n) {
      pair.push(random, random.uniform(0.0, 10.0));
      if (n % 3 == 0) pair.pop();
    }
    const EventBuffer::Table table = pair.buffer.table();
    const EventBuffer again = EventBuffer::from_table(table, lanes);
    CHECK(again == pair.buffer);
    pair.buffer = again;
    pair.check();
  }
}

TEST_CASE("two buffers are equal if their events are, wherever they are in memory") {
  Random random(55);
  Pair pair(1);
  for (int n = 0; n < 100; ++n) pair.push(random, n);
  for (int n = 0; n < 60; ++n) pair.pop();
  EventBuffer compacted = pair.buffer;
  compacted.compact();
  CHECK(compacted == pair.buffer);
  EventBuffer other = pair.buffer;
  other.duals(other.at(3))[0] += 1.0;
  CHECK_FALSE(other == pair.buffer);
  other = pair.buffer;
  other.pop_oldest();
  CHECK_FALSE(other == pair.buffer);
  CHECK_FALSE(EventBuffer(1) == EventBuffer(2));
}

TEST_CASE("an event copied from another buffer keeps its facts and gets a new number") {
  Random random(56);
  Pair pair(2);
  for (int n = 0; n < 10; ++n) pair.push(random, n);
  EventBuffer into(2);
  into.copy_from(pair.buffer, pair.buffer.at(4), 100);
  REQUIRE(into.size() == 1);
  CHECK(into.entry(into.at(0)).number == pair.list[4].number + 100);
  CHECK(into.entry(into.at(0)).time == pair.list[4].time);
  for (int l = 0; l < 2; ++l) CHECK(into.duals(into.at(0))[l] == pair.buffer.duals(pair.buffer.at(4))[l]);
}
