#include "odca/step/smoothing.hpp"

#include <doctest/doctest.h>

#include "support.hpp"

using namespace odca::test;
using odca::infinity;
using odca::L2;
using odca::Separable;
using odca::Timeline;

namespace {

using Position = Timeline::Position;

// How q may change from event to event.
enum class Course { falling, collapsing, wandering, jumping, resting };
constexpr Course courses[] = {Course::falling, Course::collapsing, Course::wandering, Course::jumping, Course::resting};

double next_q(Course course, double q, Random& random) {
  switch (course) {
    case Course::falling: return q * random.uniform(0.98, 1.0);
    case Course::collapsing: return random.chance(0.002) ? q * random.magnitude(-70, -30) : q;  // a long gap in time
    case Course::wandering: return q * random.uniform(0.8, 1.25);                               // evictions too
    case Course::jumping: return random.chance(0.05) ? 0.0 : random.magnitude(-300, 8);
    case Course::resting: break;
  }
  return q;
}

// The q of every event so far, and the timeline that records them.
struct Told {
  Timeline timeline;
  int lanes;
  double kappa;
  std::vector<std::vector<double>> q = {};  // [event][lane]

  Told(double k, int n, bool pieces) : timeline(k, n, pieces), lanes(n), kappa(k) {}

  void tell(Course course, Random& random) {
    std::vector<double> now(lanes);
    for (int l = 0; l < lanes; ++l) now[l] = next_q(course, q.empty() ? random.magnitude(-2, 2) : q.back()[l], random);
    timeline.append(now.data());
    q.push_back(now);
  }

  // The smoothed sum by its definition, and the size of the terms that were added up.
  template <class Penalty>
  std::pair<long double, long double> naive(double sum, Position from, int lane, double slope, double w0,
                                            const Penalty& penalty, double delta) const {
    long double total = sum, size = std::fabs(sum);
    for (std::size_t n = from; n < q.size(); ++n) {
      const double x = slope * q[n][lane];
      total = kappa * total + penalty.map(x, w0);
      size = kappa * size + (std::fabs(x) + std::fabs(w0) + delta);
    }
    return {total, size};
  }
};

template <class Penalty>
void check_against_naive(const Told& told, const Penalty& penalty, double delta, Random& random) {
  const Position now = told.timeline.now();
  // From the beginning, from now, from nearby and from anywhere.
  for (const Position from :
       {Position{0}, now, static_cast<Position>(now - random.below(std::min(now, Position{40}) + 1)),
        static_cast<Position>(random.below(now + 1))}) {
    const int lane = static_cast<int>(random.below(told.lanes));
    const double slope = random.chance(0.1) ? 0.0 : random.sign() * random.magnitude(-8, 8);
    const double w0 = random.chance(0.5) ? 0.0 : random.uniform(-0.3, 0.4),
                 sum = random.chance(0.5) ? 0.0 : random.bell();
    const double got = told.timeline.bring_up(sum, from, lane, slope, w0, penalty);
    const auto naive = told.naive(sum, from, lane, slope, w0, penalty, delta);
    const long double wanted = naive.first, size = naive.second;
    CAPTURE(told.kappa);
    CAPTURE(now);
    CAPTURE(from);
    CAPTURE(slope);
    CAPTURE(w0);
    CAPTURE(static_cast<double>(wanted));
    CAPTURE(static_cast<double>(size));
    // Additions of terms of one sign: each event adds two roundings of what is there, and no more.
    const long double tolerance = 0x1p-52L * (now - from + 8) * size;
    REQUIRE(std::fabs(got - wanted) <= tolerance + 1e-320L);
  }
}

std::size_t levels_of(Timeline timeline) {
  std::size_t count = 0;
  timeline.each_field([&](const char*, auto& field) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::vector<Timeline::Level>>) count = field.size();
  });
  return count;
}

// Every double that the timeline holds, as bits.
std::vector<std::int64_t> bits_of(Timeline timeline) {
  std::vector<std::int64_t> out;
  timeline.each_field([&](const char*, auto& field) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::vector<Timeline::Level>>) {
      for (Timeline::Level& level : field)
        level.each_field([&](const char*, auto& numbers) {
          if constexpr (requires { numbers.begin(); }) {
            out.push_back(static_cast<std::int64_t>(numbers.size()));
            for (const double x : numbers) out.push_back(odca::to_bits(x));
          } else {
            out.push_back(odca::to_bits(numbers));
          }
        });
    } else {
      out.push_back(static_cast<std::int64_t>(field));
    }
  });
  return out;
}

bool near_a_full_node(Position n) { return (n + 1) % Timeline::fan <= 2; }

// A level appears when the one below has filled its first node.
std::size_t levels_after(Position events) {
  std::size_t levels = 1;
  for (Position nodes = events >> Timeline::bits; nodes > 0; nodes >>= Timeline::bits) ++levels;
  return levels;
}

constexpr double kappas[] = {0.3, 0.9, 0.999, 1.0};
const Separable crossings[] = {{.delta = 0.2}, {.lo = 0.0}, {.delta = 0.05, .lo = -0.35, .hi = 0.45}};

}  // namespace

TEST_CASE("bringing a coordinate up to date gives the sum over the events that it missed, on one line") {
  Random random(41);
  for (const double kappa : kappas)
    for (const int lanes : {1, 3})
      for (const Course course : courses)
        for (const bool pieces : {false, true}) {
          Told told(kappa, lanes, pieces);
          check_against_naive(told, L2{}, 0.0, random);
          const int events = pieces ? 700 : 5000;
          for (int n = 1; n <= events; ++n) {
            told.tell(course, random);
            if (n < 40 || (near_a_full_node(n) && random.chance(0.1)) || random.chance(0.005))
              check_against_naive(told, L2{}, 0.0, random);
          }
          CHECK(levels_of(told.timeline) == levels_after(events));
        }
}

TEST_CASE("bringing a coordinate up to date gives the sum over the events that it missed, across kinks of the map") {
  Random random(42);
  for (const double kappa : kappas)
    for (const int lanes : {1, 3})
      for (const Course course : courses) {
        Told told(kappa, lanes, true);
        for (const Separable& penalty : crossings) check_against_naive(told, penalty, penalty.delta, random);
        for (int n = 1; n <= 5000; ++n) {
          told.tell(course, random);
          if (n < 40 || (near_a_full_node(n) && random.chance(0.05)) || random.chance(0.005))
            for (const Separable& penalty : crossings) check_against_naive(told, penalty, penalty.delta, random);
        }
        CHECK(levels_of(told.timeline) == levels_after(5000));
      }
}

TEST_CASE("the sums are right four levels deep") {
  Random random(49);
  const int events = Timeline::fan * Timeline::fan * Timeline::fan + 3 * Timeline::fan;
  REQUIRE(levels_after(events) == 4);
  for (const double kappa : {0.999, 1.0}) {
    Told told(kappa, 1, true);
    for (int n = 1; n <= events; ++n) {
      told.tell(n < 10000 ? Course::falling : n + 5000 < events ? Course::resting : Course::wandering, random);
      if (n + 5 * Timeline::fan < events || !random.chance(0.1)) continue;
      check_against_naive(told, L2{}, 0.0, random);
      for (const Separable& penalty : crossings) check_against_naive(told, penalty, penalty.delta, random);
    }
    CHECK(levels_of(told.timeline) == 4);
  }
}

TEST_CASE("visiting a coordinate often gives the same as visiting it once") {
  Random random(43);
  for (const double kappa : kappas)
    for (const Separable& penalty : crossings) {
      Told told(kappa, 1, true);
      const double slope = 0.7, w0 = 0.1;
      double often = 0.0, size = 0.0;
      Position seen = 0;
      for (int n = 0; n < 1500; ++n) {
        told.tell(Course::wandering, random);
        size = kappa * size + std::fabs(slope * told.q.back()[0]) + w0 + penalty.delta;
        if (!random.chance(0.1)) continue;
        often = told.timeline.bring_up(often, seen, 0, slope, w0, penalty);
        seen = told.timeline.now();
      }
      often = told.timeline.bring_up(often, seen, 0, slope, w0, penalty);
      const double once = told.timeline.bring_up(0.0, 0, 0, slope, w0, penalty);
      CHECK(std::fabs(often - once) <= 0x1p-52 * 3000 * size);
    }
}

TEST_CASE("a coordinate that is up to date does not change") {
  Random random(44);
  Told told(0.9, 1, true);
  for (int n = 0; n < 300; ++n) {
    const Position now = told.timeline.now();
    REQUIRE(same_bits(told.timeline.bring_up(0.3, now, 0, 2.0, 0.1, L2{}), 0.3));
    REQUIRE(same_bits(told.timeline.bring_up(0.3, now, 0, 2.0, 0.1, Separable{.delta = 0.1}), 0.3));
    told.tell(Course::wandering, random);
  }
}

TEST_CASE("a cleared timeline has the same bits as a new one") {
  Random random(45);
  Told used(0.9, 3, true);
  for (int n = 0; n < 400; ++n) used.tell(Course::wandering, random);
  used.timeline.clear();
  CHECK(bits_of(used.timeline) == bits_of(Timeline(0.9, 3, true)));
  CHECK(used.timeline.now() == 0);
}

TEST_CASE("rewinding restores every bit, and what follows is as if nothing had happened") {
  Random random(46);
  for (const bool pieces : {false, true})
    for (const int lanes : {1, 3})
      for (int round = 0; round < 60; ++round) {
        Told told(0.97, lanes, pieces);
        // Short and long: before and after the first levels appear.
        const std::int64_t before = random.below(random.chance(0.2) ? 4000 : 300);
        const std::int64_t undone = random.below(random.chance(0.2) ? 4000 : 300);
        for (std::int64_t n = 0; n < before; ++n) told.tell(Course::wandering, random);
        const Timeline untouched = told.timeline;
        Timeline::Mark mark;
        told.timeline.mark(mark);
        CHECK(bits_of(told.timeline) == bits_of(untouched));
        const std::vector<double> q = {0.5, 0.25, 0.125};
        for (std::int64_t n = 0; n < undone; ++n) told.timeline.append(q.data());
        told.timeline.rewind(mark);
        CAPTURE(before);
        CAPTURE(undone);
        REQUIRE(bits_of(told.timeline) == bits_of(untouched));
        REQUIRE(told.timeline == untouched);
        REQUIRE(told.timeline.is_consistent());
        Timeline never = untouched;
        for (std::int64_t n = 0; n < 300; ++n) {
          const std::vector<double> more = {random.unit(), random.unit(), random.unit()};
          told.timeline.append(more.data());
          never.append(more.data());
        }
        REQUIRE(bits_of(told.timeline) == bits_of(never));
      }
}

TEST_CASE("a timeline is consistent after any number of events") {
  Random random(47);
  for (const bool pieces : {false, true}) {
    Told told(0.9, 2, pieces);
    CHECK(told.timeline.is_consistent());
    for (int n = 0; n < 4200; ++n) {
      told.tell(Course::wandering, random);
      REQUIRE(told.timeline.is_consistent());
    }
  }
}

TEST_CASE("a timeline with any part too long or too short is inconsistent") {
  Random random(48);
  for (const bool pieces : {false, true})
    for (const int events : {0, 5, 15, 16, 31, 32, 1100}) {
      Told told(0.9, 2, pieces);
      for (int n = 0; n < events; ++n) told.tell(Course::wandering, random);
      const std::size_t depth = levels_of(told.timeline);
      const auto spoiled = [&](auto spoil_now, auto spoil_levels) {
        Timeline timeline = told.timeline;
        timeline.each_field([&](const char*, auto& field) {
          if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::vector<Timeline::Level>>)
            spoil_levels(field);
          else
            spoil_now(field);
        });
        return timeline;
      };
      const auto leave = [](auto&) {};
      CHECK(spoiled(leave, leave).is_consistent());
      CHECK_FALSE(spoiled([](Position& now) { now += Timeline::fan; }, leave).is_consistent());
      CHECK_FALSE(spoiled([](Position& now) { now = ~Position{0}; }, leave).is_consistent());
      CHECK_FALSE(spoiled(leave, [](auto& levels) { levels.pop_back(); }).is_consistent());
      int spoilt = 0;
      for (std::size_t l = 0; l < depth; ++l)
        for (const bool longer : {false, true}) {
          std::vector<std::string> names;
          Timeline timeline = told.timeline;
          timeline.each_field([&](const char*, auto& field) {
            if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::vector<Timeline::Level>>)
              field[l].each_field([&](const char* name, auto& numbers) {
                if constexpr (requires { numbers.pop_back(); }) names.push_back(name);
              });
          });
          for (const std::string& name : names) {
            bool changed = false;
            const Timeline bad = spoiled(leave, [&](auto& levels) {
              levels[l].each_field([&](const char* each, auto& numbers) {
                if constexpr (requires { numbers.pop_back(); }) {
                  if (name != each || (!longer && numbers.empty())) return;
                  longer ? numbers.push_back(0.0) : numbers.pop_back();
                  changed = true;
                }
              });
            });
            CAPTURE(name);
            CAPTURE(l);
            CAPTURE(longer);
            if (changed) CHECK_FALSE(bad.is_consistent());
            spoilt += changed;
          }
        }
      CHECK(spoilt > 0);
    }
}
