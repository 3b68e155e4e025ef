#include "odca/learner/schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

using namespace odca;

namespace {

Ids first(std::size_t n) {
  Ids ids(n);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

Ids sorted(Ids ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

TEST_CASE("every order visits every event once") {
  for (const std::size_t run : {1, 4, 16})
    for (const std::size_t n : {0, 1, 3, 16, 17, 200}) {
      Ids ids = first(n);
      Order order(true, 7, run);
      for (int pass = 0; pass < 3; ++pass) {
        order.arrange(ids);
        CHECK(sorted(ids) == first(n));
      }
    }
}

TEST_CASE("a run is visited in the order of its rows, the runs in any") {
  Ids ids = {90, 3, 4, 1, 70, 2, 80, 71};
  Order(true, 1, 4).arrange(ids);
  const Ids low = {1, 2, 3, 4, 70, 71, 80, 90}, high = {70, 71, 80, 90, 1, 2, 3, 4};
  CHECK((ids == low || ids == high));
}

TEST_CASE("an event that does not move rests ever longer, but never for more than 255 passes") {
  const auto visits = [](int stretch) {
    Roster roster(first(2), Order(false, 0), stretch);
    std::vector<int> visits;
    for (int pass = 0; pass < 700; ++pass) {
      const Ids awake = roster.gather();
      CHECK(std::count(awake.begin(), awake.end(), 0) == 1);  // event 0 moves
      if (awake.size() == 2) visits.push_back(pass);
      std::vector<std::uint8_t> moved(awake.size(), 0);
      moved[0] = 1;
      CHECK(roster.send_to_rest(moved));
    }
    return visits;
  };
  CHECK(visits(4) == std::vector<int>{0, 4, 20, 84, 340, 596});
  CHECK(visits(2) == std::vector<int>{0, 2, 6, 14, 30, 62, 126, 254, 510});
}

TEST_CASE("an event that is woken keeps the length of its rest") {
  Roster roster(first(1), Order(false, 0), 4);
  roster.gather();
  CHECK_FALSE(roster.send_to_rest({0}));
  CHECK(roster.gather().empty());
  CHECK_FALSE(roster.send_to_rest({}));
  roster.wake_all();
  CHECK(roster.gather() == first(1));
  CHECK_FALSE(roster.send_to_rest({0}));
  for (int pass = 0; pass < 15; ++pass) {
    CHECK(roster.gather().empty());
    roster.send_to_rest({});
  }
  CHECK(roster.gather() == first(1));
}

TEST_CASE("the gap is computed when the visits suggest that it is small") {
  Inspections inspections(100.0);
  inspections.passed(64.0, 100.0);
  CHECK_FALSE(inspections.due());
  inspections.passed(8.0, 100.0);  // by a factor of 8: about 1 is left
  CHECK_FALSE(inspections.due());
  CHECK(inspections.ahead() == 0.0);
  inspections.passed(1.0, 100.0);
  CHECK(inspections.due());
}

TEST_CASE("a computed gap corrects the estimate") {
  Inspections inspections(100.0);
  inspections.passed(2.0, 1000.0);
  inspections.passed(1.3, 1000.0);
  CHECK(inspections.due());                   // 1.3 * 0.65
  CHECK_FALSE(inspections.overlooked(1.69));  // it was twice as much
  inspections.passed(1.3, 1000.0);
  CHECK_FALSE(inspections.due());
  CHECK(inspections.overlooked(4.0));  // the visits have not seen that
}

TEST_CASE("with uninformative visits the gap is still computed, but not at every pass") {
  Inspections blind(100.0);
  int looks = 0;
  for (int pass = 0; pass < 1000; ++pass) {
    blind.passed(1e6, 100.0);
    if (!blind.due()) continue;
    ++looks;
    blind.overlooked(2.0);
  }
  CHECK(looks >= 5);
  Inspections eager(100.0);
  looks = 0;
  for (int pass = 0; pass < 1000; ++pass) {
    eager.passed(0.0, 100.0);
    if (!eager.due()) continue;
    ++looks;
    eager.overlooked(2.0);
  }
  CHECK(looks < 130);
}

TEST_CASE("rows are visited in runs if there are many and neighbours hardly overlap") {
  const auto length = [](std::size_t rows, std::int32_t apart) {
    EventBuffer buffer;
    std::vector<std::int32_t> index(40);
    const std::vector<double> value(40, 0.5);
    for (std::size_t n = 0; n < rows; ++n) {
      std::iota(index.begin(), index.end(), static_cast<std::int32_t>(n % 2) * apart);
      buffer.append({index.data(), value.data(), 40}, n, 0.0, 1.0);
    }
    return length_of_runs(buffer);
  };
  CHECK(length(5000, 40) == 16);
  CHECK(length(5000, 20) == 1);  // half of each row is shared
  CHECK(length(1000, 40) == 1);
}
