#include "odca/features/history.hpp"

#include <cmath>

#include "odca/errors.hpp"
#include "odca/features/builder.hpp"
#include "text_support.hpp"

using namespace odca::test;
using odca::InputError;
using odca::SparseRows;
using odca::text::Builder;
using odca::text::History;
using odca::text::HistoryLine;
using odca::text::Statistic;

namespace {

FeatureOptions with_history(std::int64_t most_keys = 100) {
  FeatureOptions options;
  auto& history = options.history;
  history.numbers.add("x");
  history.keys.add("shop");
  history.groups = {{0}};
  history.most_keys = most_keys;
  HistoryLine label;
  label.group = 0;
  label.features = {{Statistic::lag, false, 1.0, "lag"}, {Statistic::mean, false, 40.0, "mean"}};
  HistoryLine field;
  field.source = 0;
  field.features = {{Statistic::maximum, true, 10.0, "most"}, {Statistic::change, false, 1.0, "change"}};
  history.lines = {label, field};
  return options;
}

// Events of shops by turns, whose x is their number.
Block events(const FeatureOptions& options, int from, int to, int shops) {
  Block block;
  Builder builder(options, block);
  for (int k = from; k < to; ++k) {
    builder.value(builder.field("shop"), odca::text::Value::of_text("shop" + std::to_string(k * k % shops)));
    builder.value(builder.field("x"), odca::text::Value::of_number(k));
    builder.finish_row("");
  }
  return block;
}

struct Told {
  std::vector<double> label, time;
  Told(int from, int to) {
    for (int k = from; k < to; ++k) label.push_back(std::sin(k)), time.push_back(k);
  }
  odca::text::KnownOfEvents known() const { return {label.data(), time.data()}; }
};

// The values of the features of history, NaN written as a number that is none of them.
std::vector<double> learned(History& history, const FeatureOptions& options, int from, int to, int shops = 7) {
  const Told told(from, to);
  std::vector<double> values;
  history.each_values(events(options, from, to, shops), told.known(), values);
  for (double& each : values)
    if (std::isnan(each)) each = -1e9;
  return values;
}

bool same(const History::Saved& a, const History::Saved& b) {
  return a.keys == b.keys && a.key_ends == b.key_ends && a.series_of_lines == b.series_of_lines && a.first == b.first &&
         a.count == b.count && a.value == b.value && a.time == b.time;
}

}  // namespace

TEST_CASE("the names of history are a feature and its missing value, unless that is nothing") {
  FeatureOptions options = with_history();
  CHECK(odca::text::history_names(options).size() == 8);
  options.missing = Missing::ignore;
  CHECK(odca::text::history_names(options) == std::vector<std::string>{"lag", "mean", "most", "change"});
}

TEST_CASE("what is taken back leaves no trace, also of keys that were forgotten meanwhile") {
  const FeatureOptions options = with_history(3);
  History history(options);
  learned(history, options, 0, 100);
  history.keep_first(100);
  const History::Saved before = history.saved();
  learned(history, options, 100, 300, 50);
  CHECK_FALSE(same(history.saved(), before));
  history.keep_first(0);
  CHECK(same(history.saved(), before));
  SparseRows rows;
  const Told told(100, 300);
  history.extend_for_now(events(options, 100, 300, 50), told.known(), rows);
  CHECK(same(history.saved(), before));
  learned(history, options, 100, 300, 50);
  history.keep_first(60);
  History other(options);
  learned(other, options, 0, 100);
  other.keep_first(100);
  learned(other, options, 100, 160, 50);
  other.keep_first(60);
  CHECK(same(history.saved(), other.saved()));
}

TEST_CASE("a prediction inside a call that learns takes back its own events only") {
  const FeatureOptions options = with_history(3);
  History history(options);
  learned(history, options, 0, 50);
  const History::Saved before = history.saved();
  SparseRows rows;
  const Told told(50, 80);
  history.extend_for_now(events(options, 50, 80, 9), told.known(), rows);
  CHECK(same(history.saved(), before));
  history.keep_first(0);
  CHECK(history.saved().value.empty());
}

TEST_CASE("any split, a copy and a saved state give the same values to the bit") {
  const FeatureOptions options = with_history(4);
  History whole(options), split(options);
  const std::vector<double> expected = learned(whole, options, 0, 400);
  whole.keep_first(400);
  std::vector<double> value;
  for (int from = 0; from < 400; from += 37) {
    const int to = std::min(from + 37, 400);
    const std::vector<double> part = learned(split, options, from, to);
    value.insert(value.end(), part.begin(), part.end());
    split.keep_first(to - from);
    const History::Saved saved = split.saved();
    split.restore(saved, 0);
    CHECK(same(split.saved(), saved));
  }
  CHECK(value == expected);
  History copy(whole);
  CHECK(same(copy.saved(), split.saved()));
  CHECK(learned(copy, options, 400, 450) == learned(split, options, 400, 450));
}

TEST_CASE("an event without a time is refused before anything changes") {
  const FeatureOptions options = with_history();
  History history(options);
  SparseRows rows;
  Told told(0, 5);
  told.time[3] = std::nan("");
  CHECK_THROWS_AS(history.extend(events(options, 0, 5, 2), told.known(), rows), InputError);
  CHECK(history.saved().value.empty());
}
