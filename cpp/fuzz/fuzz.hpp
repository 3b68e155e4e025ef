// What every fuzzer does: the first bytes of its input choose the options, the rest is the text; and what must hold of a block.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "odca/features/feature_options.hpp"
#include "odca/features/unicode.hpp"
#include "odca/features/vocabulary.hpp"
#include "odca/ingest/lines.hpp"
#include "tests/gathered.hpp"

namespace odca::fuzz {

using test::Gathered;
using test::Gatherer;
using text::Block;
using text::FeatureOptions;
using text::Space;

inline void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// Bytes from the front of the input; 0 if there are no more.
class Choices {
 public:
  explicit Choices(std::string_view input) : rest_(input) {}
  unsigned byte() {
    if (rest_.empty()) return 0;
    const auto out = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return out;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

struct Case {
  FeatureOptions options;
  bool skip_bad = false;
  unsigned cut = 0;   // where the text is cut in two, of 256 parts
  unsigned more = 0;  // what a format has to choose of its own
  std::string_view text;
};

inline Case case_of(std::string_view input, bool with_indices) {
  Choices choices(input);
  Case out;
  FeatureOptions& options = out.options;
  const unsigned first = choices.byte(), second = choices.byte();
  options.space = Space((first & 3) % (with_indices ? 3 : 2) + (with_indices ? 0 : 1));
  options.missing = text::Missing((first >> 2 & 3) % 3);
  options.texts.words = 1 + static_cast<int>(first >> 4 & 1);
  out.skip_bad = first >> 5 & 1;
  options.bits = 1 + static_cast<int>(first >> 6) * 5;
  if (second & 1) options.ignore = {"b"};
  if (second & 2) options.keep = {"a", "c"};
  if (second & 4) options.text = {"a"};
  if (second & 8) options.categorical = {"c"};
  if (second & 16) options.numeric = {"a.b"};
  out.cut = choices.byte();
  out.more = choices.byte();
  if (out.more & 1) options.guessed = {"a", "b"};
  if (out.more & 2) options.missing_values = text::MissingValues({"1", "c", "-0.5"});
  options.trend = out.more & 4, options.find_dates = out.more & 8, options.day_first = out.more & 16;
  if (out.more & 32) options.dates = {"b"};
  if (out.more & 4 && out.cut & 1) {  // days that were learned, of events that are predicted
    options.predicts = out.cut & 2;
    const double first = 1.7e9, last = first + (out.cut & 4 ? 1e4 : 1e7);
    options.date_spans = {10, {{"a", first, first, last, 10, 0}, {"b", {}, first, last, 6, out.cut & 8 ? 4 : 1}}};
  }
  if (second & 4) {  // what becomes of a text
    const unsigned third = choices.byte();
    options.texts.sublinear = third & 1, options.texts.inverse_frequencies = third & 2;
    options.texts.unit_norm = third & 4;
    options.texts.length = third >> 3 & 3;
    options.texts.fewest_characters = static_cast<int>(third >> 5 & 3);
    options.texts.most_characters = options.texts.fewest_characters ? 3 : 0;
    if (third & 128 && options.texts.most_characters > 0) options.texts.words = 0;
  }
  out.text = choices.rest();
  // As many products as the cube of a text's length would be a finding of their own.
  if (out.text.size() > 500) return out;
  if (second & 32) options.interactions.push_back({"a", "c"});
  if (second & 64) options.interactions.push_back({"a", "a"});
  if (out.more & 64) options.interactions.push_back({"a", "*"});
  if (out.more & 128) options.interactions.push_back({"*", "*"});
  if (second & 128) options.interactions.push_back({"a", "a.b", "c"});
  return out;
}

inline void check_rows(const std::vector<std::int32_t>& start, const std::vector<std::int32_t>& index,
                       std::int64_t width, bool sorted) {
  check(start.front() == 0 && static_cast<std::size_t>(start.back()) == index.size(), "rows end where the features do");
  for (std::size_t row = 1; row < start.size(); ++row) {
    check(start[row - 1] <= start[row], "rows lie one behind the other");
    for (auto k = static_cast<std::size_t>(start[row - 1]); k < static_cast<std::size_t>(start[row]); ++k) {
      check(index[k] >= 0 && index[k] < width, "indices are below the width");
      const bool first = k == static_cast<std::size_t>(start[row - 1]);
      check(!sorted || first || index[k - 1] < index[k], "rows are sorted, and no index is there twice");
    }
  }
}

inline void check_events(const Block& block, Space space) {
  const auto rows = static_cast<std::size_t>(block.size());
  const bool names = space == Space::names;
  check_rows(block.rows.start, block.rows.index, names ? block.n_known() + block.names.size() : block.width, true);
  check(block.rows.value.size() == block.rows.index.size(), "there is a value for each index");
  for (const double value : block.rows.value) check(std::isfinite(value), "values are finite");
  const auto width = names ? std::int64_t{block.n_known()} + block.names.size() : block.width;
  check(block.texts.events() == 0 || block.texts.events() == rows, "all events have texts, or none has");
  for (std::size_t row = 0; row < block.texts.events(); ++row)
    block.texts.each_text(row, [&](const text::Texts::Feature* first, const text::Texts::Feature* last) {
      for (; first != last; ++first)
        check(first->index >= 0 && first->index < width && first->value >= 1.0, "a feature of a text has been counted");
    });
  check(block.label.size() == rows && block.label_text.size() == rows, "there is a label for each event");
  for (std::size_t row = 0; row < rows; ++row) {
    check(!std::isinf(block.label[row]), "labels are finite");
    check(block.label_text[row] >= -1 && block.label_text[row] < block.label_names.size(), "labels have names");
  }
  for (const text::OptionalNumbers* column : {&block.weight, &block.offset, &block.time, &block.group}) {
    check(column->values().empty() || column->values().size() == rows, "columns are as long as there are events");
    for (const double value : column->values()) check(!std::isinf(value), "columns are finite");
  }
  check(block.tag.empty() || block.tag.size() == rows, "tags are as many as events");
  for (const std::string& tag : block.tag) check(text::is_utf8(tag), "tags are UTF-8");
  for (std::int32_t k = 0; k < block.names.size(); ++k) check(text::is_utf8(block.names[k], true), "names are UTF-8");
  for (std::int32_t k = 0; k < block.label_names.size(); ++k)
    check(text::is_utf8(block.label_names[k]), "names of labels are UTF-8");
}

inline void check_lines(const Block& block, std::string_view text, bool skip_bad) {
  const auto bytes = static_cast<std::size_t>(block.bytes);
  check(bytes <= text.size(), "no more is read than there is");
  check(block.stopped || bytes == text.size(), "all is read, unless it stopped");
  check(!block.stopped || (!skip_bad && block.bad_count == 1), "it stops at the first bad line, if it does");
  check(!block.stopped || bytes == 0 || text[bytes - 1] == '\n', "it stops at the beginning of a line");
  const std::string_view read = text.substr(0, bytes);
  const auto ends = std::count(read.begin(), read.end(), '\n') + !(read.empty() || read.back() == '\n');
  check(block.lines == ends, "lines are counted");
  for (std::size_t row = 0; row < block.line.size(); ++row) {
    check(block.line[row] < block.lines, "events are on lines that were read");
    check(row == 0 || block.line[row - 1] < block.line[row], "events come in the order of their lines");
  }
  check(block.bad_count >= static_cast<std::int64_t>(block.bad.size()), "all bad lines are counted");
  check((block.bad_count == 0) == block.bad.empty(), "the first bad lines are told");
  for (const auto& bad : block.bad) {
    check(bad.line <= block.lines, "bad lines are lines");
    check(bad.column >= 0 && bad.column <= static_cast<std::int64_t>(text.size()) + 1, "columns are in the text");
    check(!bad.message.empty() && bad.message.find('\n') == std::string::npos, "a message is a line");
  }
}

inline void check_vocabulary(const text::NameTable& names) {
  text::Vocabulary again;
  again.restore(names.bytes(), {names.ends().begin(), names.ends().end()});
  check(again.size() == names.size(), "names that were written are read");
  for (std::int32_t k = 0; k < names.size(); ++k) check(again.known()->hash(k) == names.hash(k), "with the same hash");
}

// The end of a line at or behind `at`.
inline std::size_t line_end(std::string_view text, std::size_t at, const text::Quoting& quoting) {
  std::size_t end = 0;
  std::uint32_t breaks = 0;
  while (end < at) text::next_line(text, end, quoting, breaks);
  return end;
}

// Lines that are whole before the rest of the text is known are lines of the text.
inline void check_whole_lines(std::string_view text, const text::Quoting& quoting) {
  const std::string_view beginning = text.substr(0, text.size() * 2 / 3);
  const std::size_t last = text::last_line_end(beginning, 0, quoting);
  const text::Lines whole = text::whole_lines(beginning, 0, quoting, text.size());
  check(last == whole.end, "the last whole line is found by any search");
  check(last == 0 || line_end(text, last, quoting) == last, "a whole line stays one");
}

// Reads the text as a whole and in two halves, and checks all of the above. read(text, options, skip_bad, block).
template <class Read>
int run(const Case& given, const text::Quoting& quoting, Read&& read) {
  if (given.text.empty()) return 0;
  check_whole_lines(given.text, quoting);
  const auto block_of = [&](std::string_view text, std::shared_ptr<const text::NameTable> known) {
    Block block;
    block.known = std::move(known);
    read(text, given.options, given.skip_bad, block);
    check_events(block, given.options.space);
    check_lines(block, text, given.skip_bad);
    return block;
  };
  const bool names = given.options.space == Space::names;
  Gatherer whole(names), halves(names);
  Block all = block_of(given.text, nullptr);
  if (names) check_vocabulary(all.names);
  whole.add(std::move(all));
  const std::size_t cut = line_end(given.text, given.text.size() * given.cut / 256, quoting);
  if (cut > 0) halves.add(block_of(given.text.substr(0, cut), nullptr));
  if (cut < given.text.size()) halves.add(block_of(given.text.substr(cut), given.more & 1 ? halves.known() : nullptr));
  const Gathered gathered = whole.done();
  check_rows(gathered.start, gathered.index, gathered.width, true);
  check(gathered == halves.done(), "two halves are the whole");
  return 0;
}

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace odca::fuzz
