// Saving and restoring. A state from outside is not trusted.
#include <doctest/doctest.h>

#include <functional>

#include "odca/errors.hpp"
#include "odca/learner/learner.hpp"
#include "support.hpp"

using namespace odca::test;
using odca::Config;
using odca::EventBuffer;
using odca::infinity;
using odca::InputError;
using odca::Labels;
using odca::Learner;
using odca::State;
using odca::Timeline;
using odca::Window;

namespace {

struct Saved {
  State state;
  EventBuffer::Table window;
};

Saved save(const Learner& learner) {
  Saved out{learner.state(), {}};
  out.window = out.state.buffer.table();
  out.state.buffer = EventBuffer(out.state.lanes);
  return out;
}

using Spoil = std::function<void(Saved&)>;
struct NamedSpoil {
  std::string name;
  Spoil spoil;
};

// The timeline's field of this type.
template <class Field>
Field& in_timeline(Saved& saved) {
  Field* found = nullptr;
  saved.state.timeline.each_field([&](const char*, auto& field) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, Field>) found = &field;
  });
  return *found;
}
std::vector<Timeline::Level>& levels(Saved& saved) { return in_timeline<std::vector<Timeline::Level>>(saved); }

const double nan = std::nan("");

const NamedSpoil any_state[] = {
    {"half a feature", [](Saved& s) { s.state.dual.pop_back(); }},
    {"a feature too few", [](Saved& s) { s.state.dual.resize(s.state.dual.size() - s.state.lanes); }},
    {"a feature too many", [](Saved& s) { s.state.dual.resize(s.state.dual.size() + s.state.lanes); }},
    {"more features than there are", [](Saved& s) { s.state.features += 1; }},
    {"nan in the dual sum", [](Saved& s) { s.state.dual[1] = nan; }},
    {"infinity in the dual sum", [](Saved& s) { s.state.dual[0] = -infinity; }},
    {"a lane too few", [](Saved& s) { s.state.lane.mass.pop_back(); }},
    {"a lane too many", [](Saved& s) { s.state.lane.scale.push_back(1.0); }},
    {"nan in a lane", [](Saved& s) { s.state.lane.conjugate[0] = nan; }},
    {"an infinite bound", [](Saved& s) { s.state.lane.bound[0] = infinity; }},
    {"a scale of zero", [](Saved& s) { s.state.lane.scale[0] = 0.0; }},
    {"a negative scale", [](Saved& s) { s.state.lane.scale[0] = -1.0; }},
    {"a negative mass", [](Saved& s) { s.state.lane.mass[0] = -1.0; }},
    {"a negative q", [](Saved& s) { s.state.lane.q[0] = -1.0; }},
    {"a clock that is no number", [](Saved& s) { s.state.clock = nan; }},
    {"a clock at the end of time", [](Saved& s) { s.state.clock = infinity; }},
    {"evicted work below zero", [](Saved& s) { s.state.evicted_work = -1; }},
    {"evicted work that would overflow",
     [](Saved& s) { s.state.evicted_work = std::numeric_limits<std::int64_t>::max(); }},
};

const NamedSpoil smoothed_state[] = {
    {"smoothed sums too few", [](Saved& s) { s.state.smooth.pop_back(); }},
    {"no smoothed sums", [](Saved& s) { s.state.smooth.clear(), s.state.seen.clear(); }},
    {"nan in the smoothed sums", [](Saved& s) { s.state.smooth[0] = nan; }},
    {"a feature that was never seen", [](Saved& s) { s.state.seen.pop_back(); }},
    {"a feature seen in the future", [](Saved& s) { s.state.seen[0] = s.state.timeline.now() + 1; }},
    {"a smoothed mass that is no number", [](Saved& s) { s.state.smooth_mass = nan; }},
    {"a negative smoothed mass", [](Saved& s) { s.state.smooth_mass = -1.0; }},
    {"smoothing work below zero", [](Saved& s) { s.state.smooth_work = std::numeric_limits<std::int64_t>::min(); }},
    {"smoothing work that would overflow",
     [](Saved& s) { s.state.smooth_work = std::numeric_limits<std::int64_t>::max(); }},
    {"a timeline without levels", [](Saved& s) { levels(s).clear(); }},
    {"a timeline with a level too many", [](Saved& s) { levels(s).push_back(levels(s).back()); }},
    {"a timeline whose sums are too few", [](Saved& s) { levels(s)[0].sum.pop_back(); }},
    {"nan in a timeline's sums", [](Saved& s) { levels(s)[0].sum[0] = nan; }},
    {"an infinite sum in a timeline", [](Saved& s) { levels(s)[0].sum[0] = infinity; }},
    {"nan in a timeline's nodes", [](Saved& s) { levels(s)[0].node_sum[0] = nan; }},
    {"nan in the least of a timeline's nodes", [](Saved& s) { levels(s)[0].node_low[0] = nan; }},
    {"a node too few in a timeline", [](Saved& s) { levels(s)[0].node_high.pop_back(); }},
    {"a timeline that is a node further on", [](Saved& s) { in_timeline<Timeline::Position>(s) += Timeline::fan; }},
};

const NamedSpoil windowed_state[] = {
    {"a number too few", [](Saved& s) { s.window.number.pop_back(); }},
    {"a time too few", [](Saved& s) { s.window.time.pop_back(); }},
    {"a reach too few", [](Saved& s) { s.window.reach.pop_back(); }},
    {"a size too few", [](Saved& s) { s.window.size.pop_back(); }},
    {"a kind of row too few", [](Saved& s) { s.window.dense.pop_back(); }},
    {"an index too few", [](Saved& s) { s.window.index.pop_back(); }},
    {"an index too many", [](Saved& s) { s.window.index.push_back(0); }},
    {"a value too few", [](Saved& s) { s.window.value.pop_back(); }},
    {"a value too many", [](Saved& s) { s.window.value.push_back(1.0); }},
    {"a fact too few", [](Saved& s) { s.window.facts.pop_back(); }},
    {"a fact too many", [](Saved& s) { s.window.facts.push_back(0.0); }},
    {"a row of negative size", [](Saved& s) { s.window.size[0] = -1; }},
    {"a row wider than the model", [](Saved& s) { s.window.size[0] = s.state.features + 1; }},
    {"a row of enormous size", [](Saved& s) { s.window.size[0] = std::numeric_limits<std::int64_t>::max(); }},
    {"an event numbered beyond the count", [](Saved& s) { s.window.number[0] = s.state.count; }},
    {"a time that is no number", [](Saved& s) { s.window.time[0] = nan; }},
    {"nan in a row", [](Saved& s) { s.window.value[0] = nan; }},
    {"nan in a fact", [](Saved& s) { s.window.facts[1] = nan; }},
    {"an infinite reach", [](Saved& s) { s.window.reach[0] = infinity; }},
    {"a negative index", [](Saved& s) { s.window.index[0] = -1; }},
    {"an index beyond the model",
     [](Saved& s) { s.window.index.back() = static_cast<std::int32_t>(s.state.features); }},
    {"a sparse row that calls itself dense", [](Saved& s) { s.window.dense[0] = 1; }},
    {"a negative weight",
     [](Saved& s) {
       for (std::size_t at = s.state.lanes; at < s.window.facts.size(); at += EventBuffer::facts * s.state.lanes)
         s.window.facts[at] = -1.0;
     }},
};

void check_refused(const Learner& source, const NamedSpoil& spoil) {
  Saved saved = save(source);
  spoil.spoil(saved);
  Learner target(source.config());
  const State before = target.state();
  CAPTURE(spoil.name);
  CHECK_THROWS_AS(target.set_state(saved.state, saved.window), InputError);
  CHECK(first_difference(target.state(), before) == "");
}

Learner learned(const Config& config, std::uint64_t seed) {
  Learner learner(config);
  learn(learner,
        make_stream({.rows = 40, .width = 6, .lanes = config.lanes, .density = 0.7}, labels_of(config.loss), seed));
  return learner;
}

Config simple_config(Window window, double kappa, int lanes) {
  return make_config(odca::named_loss("hinge", 0.0), odca::Separable{.delta = 0.01}, std::move(window), lanes, kappa);
}

}  // namespace

TEST_CASE("a restored learner has the bits of the saved one, and continues with the same bits") {
  std::uint64_t seed = 700;
  for (const int lanes : {1, 3})
    for (const NamedPenalty& penalty : all_penalties)
      for (const NamedWindow& window : all_windows(lanes))
        for (const double kappa : {0.0, 0.9}) {
          CAPTURE(penalty.name);
          CAPTURE(window.name);
          CAPTURE(kappa);
          CAPTURE(lanes);
          Config config = make_config(odca::named_loss("log_loss", 0.0), penalty.make(6), window.window, lanes, kappa);
          const bool simplex = config.fixed_features > 0;
          if (!simplex && ++seed % 2) config.shape = make_shape(3, lanes, seed);
          const Stream stream =
              make_stream({.rows = 60, .width = 6, .lanes = lanes, .growing = !simplex}, Labels::probability, ++seed);
          Learner learner(config), restored(config);
          learn(learner, stream, 0, 30);
          const Saved saved = save(learner);
          restored.set_state(saved.state, saved.window);
          REQUIRE(first_difference(restored.state(), learner.state()) == "");
          REQUIRE(restored.same_state(learner));
          REQUIRE(same_bits(restored.weights(true), learner.weights(true)));
          for (std::int64_t n = 30; n < 60; n += 10) {
            learn(learner, stream, n, n + 10);
            learn(restored, stream, n, n + 10);
          }
          REQUIRE(first_difference(restored.state(), learner.state()) == "");
        }
}

TEST_CASE("an inconsistent state is refused, and the learner keeps its own") {
  for (const int lanes : {1, 2}) {
    const Learner plain = learned(simple_config({}, 0.0, lanes), 91);
    const Learner smoothed = learned(simple_config({}, 0.9, lanes), 92);
    const Learner sliding = learned(simple_config({.kind = Window::Kind::duration, .duration = 9.0}, 0.0, lanes), 93);
    for (const NamedSpoil& spoil : any_state)
      for (const Learner* source : {&plain, &smoothed, &sliding}) check_refused(*source, spoil);
    for (const NamedSpoil& spoil : smoothed_state) check_refused(smoothed, spoil);
    for (const NamedSpoil& spoil : windowed_state) check_refused(sliding, spoil);
  }
}

TEST_CASE("a window out of order is refused") {
  const Learner sliding = learned(simple_config({.kind = Window::Kind::duration, .duration = 9.0}, 0.0, 1), 94);
  REQUIRE(sliding.scalars().events > 3);
  check_refused(sliding,
                {"two times exchanged", [](Saved& s) { std::swap(s.window.time.front(), s.window.time.back()); }});
  check_refused(sliding, {"two indices exchanged", [](Saved& s) {
                            // The first row that has two.
                            std::size_t at = 0;
                            for (std::size_t k = 0; s.window.size[k] < 2; ++k) at += s.window.size[k];
                            std::swap(s.window.index[at], s.window.index[at + 1]);
                          }});
}

TEST_CASE("events are refused by a learner whose window keeps none") {
  const Learner sliding = learned(simple_config({.kind = Window::Kind::count, .length = 5}, 0.0, 1), 95);
  const Saved saved = save(sliding);
  Learner infinite(simple_config({}, 0.0, 1));
  CHECK_THROWS_AS(infinite.set_state(saved.state, saved.window), InputError);
  CHECK(infinite.scalars().count == 0);
}

TEST_CASE("a state must have all features of a simplex, and the intercept") {
  Config config = make_config(odca::named_loss("hinge", 0.0), uniform_kl(4), {});
  Learner simplex(config);
  Saved saved = save(simplex);
  saved.state.resize(5);
  CHECK_THROWS_AS(simplex.set_state(saved.state, saved.window), InputError);
  config = simple_config({}, 0.0, 1);
  config.intercept = true;
  Learner with_intercept(config);
  saved = save(with_intercept);
  saved.state.resize(0);
  CHECK_THROWS_AS(with_intercept.set_state(saved.state, saved.window), InputError);
}

TEST_CASE("a copy is independent of its original") {
  for (const NamedWindow& window : all_windows(2)) {
    Config config = simple_config(window.window, 0.9, 2);
    config.shape = make_shape(3, 2, 96);
    const Stream stream = make_stream({.rows = 40, .width = 6, .lanes = 2}, Labels::plus_minus_one, 97);
    Learner original(config);
    learn(original, stream, 0, 20);
    Learner copy(original);
    REQUIRE(first_difference(copy.state(), original.state()) == "");
    const State before = copy.state();
    learn(original, stream, 20, 40);
    CHECK(first_difference(copy.state(), before) == "");
    learn(copy, stream, 20, 40);
    CHECK(copy.same_state(original));
  }
}

TEST_CASE("a window of rows without features is equal to its copy") {
  Stream stream = make_stream({.rows = 5, .width = 3, .density = 0.0}, Labels::plus_minus_one, 98);
  Learner learner(simple_config({.kind = Window::Kind::count, .length = 3}, 0.0, 1));
  learn(learner, stream);
  const Learner copy(learner);
  CHECK(copy.same_state(learner));
  CHECK(first_difference(copy.state(), learner.state()) == "");
}
