// The past as features, and tf-idf: events of JSON lines enter a history, all at once and in two calls with predictions between them; then
// its state is saved, changed and restored.
#include <cmath>

#include "changes.hpp"
#include "odca/errors.hpp"
#include "odca/features/history.hpp"
#include "odca/ingest/json/json.hpp"

namespace {

using namespace odca::fuzz;
using odca::SparseRows;
using odca::text::History;
using odca::text::HistoryLine;
using odca::text::Statistic;

void add_history(FeatureOptions& options, unsigned choice) {
  auto& history = options.history;
  history.numbers.add("a"), history.keys.add("c"), history.keys.add("b");
  history.groups = {{0}, {0, 1}};
  history.most_keys = 1 + choice % 4;
  const double size = 1.0 + choice / 4 % 40;
  const bool timed = choice & 128;
  HistoryLine label, field;
  label.group = static_cast<std::int32_t>(choice % 3) - 1;
  label.features = {{Statistic::lag, false, 1.0, "l1"}, {Statistic::mean, timed, size, "l2"}};
  field.source = 0, field.group = 1;
  field.features = {{Statistic::deviation, false, size, "f1"},
                    {Statistic::minimum, timed, size, "f2"},
                    {Statistic::maximum, timed, size, "f3"},
                    {Statistic::change, false, 2.0, "f4"}};
  if (timed) field.features.push_back({Statistic::since, true, 0.0, "f5"});
  history.lines = {label, field};
}

bool same(const History::Saved& a, const History::Saved& b) {
  return a.keys == b.keys && a.key_ends == b.key_ends && a.series_of_lines == b.series_of_lines && a.first == b.first &&
         a.count == b.count && a.value == b.value && a.time == b.time && a.documents.events == b.documents.events &&
         a.documents.feature == b.documents.feature && a.documents.count == b.documents.count;
}

SparseRows entered(History& history, const Block& block, bool stays = true) {
  const odca::text::KnownOfEvents known{block.label.data(),
                                        block.time.values().empty() ? nullptr : block.time.values().data()};
  SparseRows rows;
  history.extend(block, known, rows);
  history.keep_first(stays ? block.size() : 0);
  // Huge values that share an index may sum to infinity, which learners refuse.
  for (const double value : rows.value) check(!std::isnan(value), "features of the past are numbers");
  return rows;
}

void check_state(const History& history, const FeatureOptions& options, std::int64_t width, std::string_view input,
                 const Block& block) {
  History again(options);
  again.restore(history.saved(), width);
  check(same(again.saved(), history.saved()), "what was saved is restored");
  History::Saved state = history.saved();
  Changes changes(input);
  for (unsigned left = changes.byte() % 4; left > 0; --left) switch (changes.byte() % 9) {
      case 0: changes.change(state.key_ends); break;
      case 1: changes.change(state.series_of_lines); break;
      case 2: changes.change(state.first); break;
      case 3: changes.change(state.count); break;
      case 4: changes.change(state.value); break;
      case 5: changes.change(state.time); break;
      case 6: changes.change(state.documents.events); break;
      case 7: changes.change(state.documents.feature); break;
      default: changes.change(state.documents.count);
    }
  try {
    again.restore(state, width);
    check(same(again.saved(), state), "what is accepted is what was given");
    entered(again, block);
  } catch (const odca::InputError&) {
    // refused, or an event has no time
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Case given = case_of(as_text(data, size), false);
  given.options.space = Space::hashed;
  Choices choices(given.text);
  add_history(given.options, choices.byte());
  const std::string_view text = choices.rest();
  const auto read = [&](std::string_view part) {
    odca::text::RoleNames roles;
    roles.label = "y", roles.time = "t";
    Block block;
    odca::text::read_json(part, roles, given.options, true, block);
    return block;
  };
  const std::size_t cut = line_end(text, text.size() * given.cut / 256, {});
  const Block all = read(text), first = read(text.substr(0, cut)), second = read(text.substr(cut));
  History whole(given.options), halves(given.options);
  const auto empty = whole.saved();
  try {
    const SparseRows rows = entered(whole, all);
    SparseRows parts = entered(halves, first);
    const auto before = halves.saved();
    entered(halves, all, false);
    check(same(before, halves.saved()), "what is taken back leaves no trace");
    const SparseRows rest = entered(halves, second);
    parts.index.insert(parts.index.end(), rest.index.begin(), rest.index.end());
    parts.value.insert(parts.value.end(), rest.value.begin(), rest.value.end());
    check(parts.index == rows.index && parts.value == rows.value, "two calls give the features of one");
    check(same(whole.saved(), halves.saved()), "and leave the same past");
  } catch (const odca::InputError&) {  // an event has no time
    check(same(empty, whole.saved()), "what is refused leaves no trace");
    return 0;
  }
  check_state(whole, given.options, all.width, text, all);
  return 0;
}
