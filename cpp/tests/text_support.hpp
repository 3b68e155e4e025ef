// What a block holds, as text that a test can compare; and the law that holds for every format.
#pragma once

#include <doctest/doctest.h>

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "gathered.hpp"
#include "odca/features/feature_options.hpp"
#include "odca/features/hash.hpp"
#include "random.hpp"

namespace odca::test {

using text::Block;
using text::FeatureOptions;
using text::Missing;
using text::Space;
using Lines = std::vector<std::string>;

inline std::string show(double number) {
  char out[32];
  return {out, std::to_chars(out, out + sizeof out, number).ptr};
}

// The marks in a feature's key: country=NZ, price? (missing), a*b.
inline std::string show(std::string_view key) {
  std::string out;
  for (const char c : key) out += c == category_mark ? '=' : c == missing_mark ? '?' : c == product_mark ? '*' : c;
  return out;
}

inline std::string features(const Block& block, std::size_t row) {
  std::string out;
  for (auto k = static_cast<std::size_t>(block.rows.start[row]);
       k < static_cast<std::size_t>(block.rows.start[row + 1]); ++k) {
    const std::int32_t index = block.rows.index[k];
    if (!out.empty()) out += ' ';
    out += (block.names.size() ? show(block.names[index]) : std::to_string(index)) + ":" + show(block.rows.value[k]);
  }
  return out;
}

// The features of every event.
inline Lines features(const Block& block) {
  Lines out;
  for (std::size_t row = 0; row < static_cast<std::size_t>(block.size()); ++row) out.push_back(features(block, row));
  return out;
}

// "line:column message" of every line that could not be read.
inline Lines faults(const Block& block) {
  Lines out;
  for (const auto& bad : block.bad)
    out.push_back(std::to_string(bad.line) + ":" + std::to_string(bad.column) + " " + bad.message);
  return out;
}

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Every row as a row must be, and the block's parts as long as each other.
inline void check_block(const Block& block, const FeatureOptions& options) {
  const auto rows = static_cast<std::size_t>(block.size());
  REQUIRE(block.rows.index.size() == static_cast<std::size_t>(block.rows.start.back()));
  REQUIRE(block.rows.value.size() == block.rows.index.size());
  const std::int64_t width = options.space == Space::names ? block.n_known() + block.names.size() : block.width;
  for (std::size_t k = 0; k < block.rows.index.size(); ++k) {
    REQUIRE((block.rows.index[k] >= 0 && block.rows.index[k] < width));
    REQUIRE(std::isfinite(block.rows.value[k]));
  }
  REQUIRE((block.label.size() == rows && block.label_text.size() == rows && block.line.size() == rows));
  for (const text::OptionalNumbers* column : {&block.weight, &block.offset, &block.time, &block.group})
    REQUIRE((column->values().empty() || column->values().size() == rows));
  REQUIRE((block.tag.empty() || block.tag.size() == rows));
}

// Any cut of a text into blocks of whole lines gives the same events, names and faults. parse(text, options, skip_bad, block).
template <class Parse>
void check_cuts(const std::string& text, const FeatureOptions& options, bool skip_bad, std::uint64_t seed,
                Parse&& parse) {
  const auto block_of = [&](std::string_view part, std::shared_ptr<const text::NameTable> known) {
    Block block;
    block.known = std::move(known);
    parse(part, options, skip_bad, block);
    check_block(block, options);
    return block;
  };
  Gatherer whole(options.space == Space::names);
  whole.add(block_of(text, nullptr));
  const Gathered wanted = whole.done();
  Random random(seed);
  for (int turn = 0; turn < 20; ++turn) {
    const double often = random.unit();
    Gatherer pieces(options.space == Space::names);
    for (std::size_t from = 0; from < text.size();) {
      std::size_t to = from;
      do to = std::min(text.find('\n', to), text.size() - 1) + 1;
      while (to < text.size() && !random.chance(often));
      pieces.add(
          block_of(std::string_view(text).substr(from, to - from), random.chance(0.5) ? pieces.known() : nullptr));
      from = to;
    }
    REQUIRE(pieces.done() == wanted);
  }
}

// Any number of blanks may separate features or end a line; and nothing beyond the end of the text is read.
// `head` is what a line begins with.
template <class Read>
void check_blanks(const std::string& head, const FeatureOptions& options, Read read) {
  Random random(21);
  for (int turn = 0; turn < 400; ++turn) {
    std::string tight = head, loose = head;
    for (std::int64_t n = random.between(1, 40), k = 1; k <= n; ++k) {
      constexpr const char* values[] = {"0.5", "1", "-2.25", "1e-3", "0.123456789", "12.5", "-1.12345678", "7."};
      const std::string feature = std::to_string(7 * k) + ":" + values[random.below(8)];
      tight += " " + feature;
      loose += std::string(static_cast<std::size_t>(random.chance(0.7) ? 1 : random.between(1, 20)),
                           random.chance(0.8) ? ' ' : '\t') +
               feature;
    }
    if (random.chance(0.5)) loose += std::string(static_cast<std::size_t>(random.between(1, 30)), ' ');
    Block first, second;
    read(tight, options, false, first);
    const std::string followed = loose + " 5000:5";  // none of the text
    read(std::string_view(followed).substr(0, loose.size()), options, false, second);
    REQUIRE(first.bad_count == 0);
    REQUIRE(second.bad_count == 0);
    REQUIRE(features(first) == features(second));
  }
}

}  // namespace odca::test
