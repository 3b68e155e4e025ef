// Columns in memory, as Arrow and data frames have them: their buffers come from the input. The same events as from two halves.
#include "odca/ingest/table/table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "fuzz.hpp"
#include "odca/errors.hpp"

namespace {

using namespace odca::fuzz;
using namespace odca::text;

// The buffers of a column, which must outlive it.
struct Buffers {
  std::vector<double> numbers;
  std::vector<std::int32_t> codes;
  std::vector<std::string_view> strings;
  std::vector<std::int64_t> begins;
  std::vector<std::uint8_t> missing;
  std::unique_ptr<Buffers> keys, elements;
};

double number_of(Choices& choices) {
  const unsigned kind = choices.byte();
  if (kind < 200) return static_cast<double>(kind) - 100.0;
  std::uint64_t bits = 0;
  for (int k = 0; k < 8; ++k) bits = bits << 8 | choices.byte();
  return std::bit_cast<double>(bits);
}

CodedStrings strings_of(Choices& choices, std::string_view text, std::size_t rows, Buffers& kept, unsigned kind) {
  for (std::size_t piece = 0; piece < 1 + (kind >> 2 & 7); ++piece) {
    const std::size_t at = text.empty() ? 0 : choices.byte() % text.size();
    kept.strings.push_back(text.substr(at, choices.byte() % 40));
  }
  for (std::size_t row = 0; row < rows; ++row)
    kept.codes.push_back(static_cast<std::int32_t>(choices.byte() % 11) - (choices.byte() == 255 ? 1000 : 1));
  return {kept.codes, kept.strings};
}

Arrays arrays_of(Choices& choices, std::string_view text, std::size_t rows, Buffers& kept) {
  const unsigned kind = choices.byte();
  kept.begins = {choices.byte() == 255 ? -1 : 0};
  for (std::size_t row = 0; row < rows; ++row) {
    kept.begins.push_back(kept.begins.back() + choices.byte() % 4 - (choices.byte() == 255 ? 4 : 0));
    kept.missing.push_back(choices.byte() % 8 == 0);
  }
  const auto last = static_cast<std::size_t>(std::max<std::int64_t>(kept.begins.back(), 0));
  const std::size_t elements = last + (kind >> 5 & 1) - (last > 0 && choices.byte() == 255);
  kept.keys = std::make_unique<Buffers>(), kept.elements = std::make_unique<Buffers>();
  Arrays arrays{kept.begins, kept.missing, {}, {}};
  if (kind & 1) {
    arrays.keys = strings_of(choices, text, elements, *kept.keys, kind);
    for (std::int32_t& code : kept.keys->codes)
      if (kind & 2) code = std::max(code, 0);
  }
  if (kind & 4) {
    arrays.elements = strings_of(choices, text, elements, *kept.elements, kind);
  } else {
    for (std::size_t at = 0; at < elements; ++at) kept.elements->numbers.push_back(number_of(choices));
    arrays.elements = std::span<const double>(kept.elements->numbers);
  }
  return arrays;
}

Values values_of(Choices& choices, std::string_view text, std::size_t rows, Buffers& kept) {
  const unsigned kind = choices.byte();
  if (kind >= 224) return arrays_of(choices, text, rows, kept);
  if (kind % 3 == 0) return strings_of(choices, text, rows, kept, kind);
  for (std::size_t row = 0; row < rows + (kind >> 5 & 1); ++row) kept.numbers.push_back(number_of(choices));
  if (kind % 3 == 1) return std::span<const double>(kept.numbers);
  return Dates{kept.numbers, (kind >> 6 & 1) != 0};
}

template <class Each>
std::span<const Each> part_of(std::span<const Each> all, std::size_t from) {
  return all.subspan(std::min(from, all.size()));
}

// The columns without their first rows.
std::vector<ValueColumn> without_first(std::vector<ValueColumn> columns, std::size_t rows) {
  for (ValueColumn& each : columns) {
    if (auto* numbers = std::get_if<std::span<const double>>(&each.values)) *numbers = part_of(*numbers, rows);
    if (auto* dates = std::get_if<Dates>(&each.values)) dates->seconds = part_of(dates->seconds, rows);
    if (auto* strings = std::get_if<CodedStrings>(&each.values)) strings->codes = part_of(strings->codes, rows);
    if (auto* arrays = std::get_if<Arrays>(&each.values)) {
      arrays->begins = part_of(arrays->begins, rows);
      arrays->missing = part_of(arrays->missing, rows);
    }
  }
  return columns;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Case given = case_of(as_text(data, size), false);
  Choices choices(given.text);
  const std::size_t rows = choices.byte() % 16, count = 1 + choices.byte() % 5;
  const char* const names[] = {"a", "b", "c", "a.b", "y"};
  std::vector<Buffers> kept(count);
  std::vector<ValueColumn> columns;
  for (std::size_t k = 0; k < count; ++k) {
    const unsigned about = choices.byte();
    const Values values = values_of(choices, given.text, rows, kept[k]);
    const auto role = k == 0 && given.more & 2   ? Role::label
                      : k == 1 && given.more & 4 ? Role(about % 8)
                                                 : Role::feature;
    columns.push_back({{names[k], role, Kind((about >> 3) % 6), about >> 7 && role == Role::feature}, values});
  }
  const bool names_are_kept = given.options.space == Space::names;
  const auto read = [&](const std::vector<ValueColumn>& from, std::size_t n, std::shared_ptr<const NameTable> known) {
    Block block;
    block.known = std::move(known);
    read_table(from, static_cast<std::int64_t>(n), given.options, given.skip_bad, block);
    check_events(block, given.options.space);
    check(block.lines <= static_cast<std::int64_t>(n), "no more rows are read than there are");
    check(block.stopped || block.lines == static_cast<std::int64_t>(n), "all are read, unless it stopped");
    return block;
  };
  try {
    Gatherer whole(names_are_kept), halves(names_are_kept);
    Block all = read(columns, rows, nullptr);
    const bool stopped = all.stopped;
    if (names_are_kept) check_vocabulary(all.names);
    whole.add(std::move(all));
    const std::size_t cut = rows * given.cut / 256;
    Block first = read(columns, cut, nullptr);
    const bool stopped_early = first.stopped;
    halves.add(std::move(first));
    if (!stopped_early)
      halves.add(read(without_first(columns, cut), rows - cut, given.more & 1 ? halves.known() : nullptr));
    if (!stopped) check(whole.done() == halves.done(), "two halves are the whole");
  } catch (const odca::InputError&) {  // codes without a string, columns that are too short
  }
  return 0;
}
