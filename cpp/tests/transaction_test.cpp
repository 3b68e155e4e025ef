// A call either succeeds or leaves every bit of the model unchanged.
#include "odca/learner/transaction.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "odca/errors.hpp"
#include "support.hpp"

using namespace odca::test;
using odca::Config;
using odca::infinity;
using odca::Labels;
using odca::Learner;
using odca::State;

namespace {

constexpr double explosive = 666.0;  // the label that makes the user's loss throw

// Squared error, as a user would write it, with a fault.
odca::AnyLoss faulty_loss() {
  odca::Custom loss;
  loss.dual = [](double p, double s, double y) {
    if (y == explosive) throw std::runtime_error("the user's loss failed");
    return (y - p) / (1.0 + s);
  };
  loss.worth = [](double z, double y) { return 0.5 * (y - z) * (y - z); };
  return loss;
}

// Rows [from, to) in memory of their own, one of them spoiled in a way that the call must notice.
Stream poisoned(const Stream& stream, std::int64_t from, std::int64_t to, const Config& config, Random& random) {
  Stream out;
  out.rows = to - from;
  out.width = stream.growing ? stream.width_until(to) : stream.width;
  out.lanes = stream.lanes;
  for (std::int64_t i = from; i < to; ++i) out.start.push_back(stream.start[i + 1] - stream.start[from]);
  out.index.assign(stream.index.begin() + stream.start[from], stream.index.begin() + stream.start[to]);
  out.value.assign(stream.value.begin() + stream.start[from], stream.value.begin() + stream.start[to]);
  for (auto [part, whole] :
       {std::pair(&out.y, &stream.y), std::pair(&out.weight, &stream.weight), std::pair(&out.offset, &stream.offset)})
    part->assign(whole->begin() + from * stream.lanes, whole->begin() + to * stream.lanes);
  out.time.assign(stream.time.begin() + from, stream.time.begin() + to);

  // The last rows most often: then there is much to undo.
  const std::int64_t row = random.chance(0.7) ? out.rows - 1 : random.below(out.rows);
  const std::int64_t at = row * stream.lanes + random.below(stream.lanes);
  // An event that comes too late for its window is not shown to the loss.
  const bool may_explode =
      std::holds_alternative<odca::Custom>(config.loss) && config.window.kind != odca::Window::Kind::duration;
  const bool has_features = out.start[row + 1] > out.start[row];
  switch (random.below(has_features ? 9 : 6)) {
    case 0: out.y[at] = random.chance(0.5) ? infinity : std::nan(""); break;
    case 1: out.weight[at] = random.chance(0.5) ? -1.0 : infinity; break;
    case 2: out.offset[at] = std::nan(""); break;
    case 3: out.y[at] = may_explode ? explosive : std::nan(""); break;
    case 4: config.window.uses_time() ? out.time[row] = -infinity : out.weight[at] = std::nan(""); break;
    case 5: out.start[row + 1] = static_cast<std::int64_t>(out.value.size()) + 5; break;
    case 6: out.value[out.start[row]] = random.chance(0.5) ? std::nan("") : -infinity; break;
    case 7: out.value[out.start[row]] = 1e200; break;  // its square overflows
    case 8: out.index[out.start[row + 1] - 1] = static_cast<std::int32_t>(out.width); break;
  }
  return out;
}

struct Modes {
  int logged = 0, copied = 0;
};

// Two learners get the same good calls; one of them bad ones in between.
void check_undone(const Config& config, const Stream& stream, std::uint64_t seed, Modes& modes) {
  Random random(seed);
  Learner tried(config), spared(config);
  for (std::int64_t from = 0; from < stream.rows;) {
    // Large compared to the model, or small: the state is copied, or the changes are logged.
    const std::int64_t size = random.chance(0.2) ? random.between(30, 60) : random.between(1, 4);
    const std::int64_t to = std::min(stream.rows, from + size);
    for (int attempt = 0; attempt < 2; ++attempt) {
      const Stream bad = poisoned(stream, from, to, config, random);
      const auto call = bad.call(0, bad.rows, config.intercept);
      const State before = tried.state();
      const bool logs = call.events.batch.stored() < 2 * (before.features + before.buffer.stored());
      ++(logs ? modes.logged : modes.copied);
      REQUIRE_THROWS_AS(tried.learn(call.events, {}, {}), std::exception);
      REQUIRE(first_difference(tried.state(), before) == "");
      REQUIRE(tried.state() == before);
    }
    learn(tried, stream, from, to);
    learn(spared, stream, from, to);
    REQUIRE(first_difference(tried.state(), spared.state()) == "");
    REQUIRE(same_bits(tried.weights(true), spared.weights(true)));
    from = to;
  }
  REQUIRE(tried.same_state(spared));
}

}  // namespace

TEST_CASE("a call with an invalid row leaves every bit of the model unchanged") {
  Modes modes;
  std::uint64_t seed = 70;
  for (const int lanes : {1, 3})
    for (const NamedPenalty& penalty : all_penalties)
      for (const NamedWindow& window : all_windows(lanes))
        for (const double kappa : {0.0, 0.95})
          for (const bool user_loss : {false, true}) {
            CAPTURE(penalty.name);
            CAPTURE(window.name);
            CAPTURE(kappa);
            CAPTURE(lanes);
            const std::int64_t width = 40;
            const odca::AnyLoss loss = user_loss ? faulty_loss() : odca::named_loss("hinge", 0.0);
            Config config = make_config(loss, penalty.make(width), window.window, lanes, kappa);
            const bool simplex = config.fixed_features > 0;
            config.intercept = !simplex && ++seed % 2;
            if (!simplex && seed % 3 == 0) config.shape = make_shape(7, lanes, seed);
            const StreamOptions options{
                .rows = 80, .width = width, .lanes = lanes, .density = 0.15, .growing = !simplex};
            check_undone(config, make_stream(options, labels_of(loss), seed), seed, modes);
          }
  CHECK(modes.logged > 100);
  CHECK(modes.copied > 100);
}

TEST_CASE("changes of every coordinate are undone too: folds, ends of smoothing blocks, rebuilds") {
  // A strong decay folds the scale every few events; few features end a block soon; a short window rebuilds often.
  Modes modes;
  const odca::AnyLoss loss = odca::named_loss("squared_error", 0.0);
  for (const odca::Window& window :
       {odca::Window{.parameter = {1e-9}}, odca::Window{.kind = odca::Window::Kind::half_life, .parameter = {0.01}},
        odca::Window{.kind = odca::Window::Kind::count, .length = 2}})
    for (const double kappa : {0.0, 0.9}) {
      const Config config = make_config(loss, odca::Separable{.delta = 0.1}, window, 2, kappa);
      const StreamOptions options{.rows = 400, .width = 6, .lanes = 2, .density = 0.3};
      check_undone(config, make_stream(options, Labels::any, 99), 99, modes);
    }
  CHECK(modes.logged > 20);
}

TEST_CASE("the error names the row") {
  Config config = make_config(odca::named_loss("hinge", 0.0), odca::L2{}, {});
  config.label_rule = "this loss needs y in {-1, +1}";
  config.label_hint = "Map the others.";
  Learner learner(config);
  Stream stream = make_stream({.rows = 5}, Labels::plus_minus_one, 1);
  stream.y[3] = 0.5;
  const auto call = stream.call(0, 5);
  try {
    learner.learn(call.events, {}, {});
    FAIL("nothing was thrown");
  } catch (const odca::InputError& error) {
    CHECK(std::string(error.what()) == "this loss needs y in {-1, +1}; row 3 of y is 0.5. Map the others.");
  }
  CHECK(learner.scalars().count == 0);
  CHECK(learner.scalars().features == 0);
}

TEST_CASE("what a loss writes to the arrays of its call is not used in place of what was checked") {
  using Window = odca::Window;
  for (const Window& window : {Window{}, Window{.kind = Window::Kind::count, .length = 10}})
    for (const double kappa : {0.0, 0.9}) {
      const Stream stream = make_stream({.rows = 40, .width = 30, .zero_weight = 0.0}, Labels::any, 77);
      Stream spoiled = stream;
      std::size_t row = 0;
      bool spoils = false;
      odca::Custom loss;
      loss.dual = [&](double p, double s, double y) {
        for (auto k = static_cast<std::size_t>(stream.start[row]);
             spoils && k < static_cast<std::size_t>(stream.start[row + 1]); ++k) {
          spoiled.index[k] = k % 2 ? 1 << 30 : -(1 << 30);
          spoiled.value[k] = std::nan("");
        }
        ++row;
        return (y - p) / (1.0 + s);
      };
      const Config config = make_config(loss, odca::L2{}, window, 1, kappa);
      Learner spared(config), tried(config);
      learn(spared, stream);
      row = 0, spoils = true;
      learn(tried, spoiled);
      CHECK(row == 40);
      CHECK(first_difference(tried.state(), spared.state()) == "");
    }
}
