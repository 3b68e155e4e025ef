// Consecutive blocks of a text, resolved as a stream does it. Two ways to read a text agree if they gather the same.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "odca/features/vocabulary.hpp"

namespace odca::test {

class Gathered {
 public:
  using Bits = std::vector<std::uint64_t>;  // of doubles: nan is equal to itself

  std::vector<std::int32_t> start{0}, index;
  std::vector<std::int32_t> text_size, text_index;  // of each text, and of their features
  Bits text_value;
  Bits value, label, weight, offset, time, group;
  std::vector<std::string> label_text, tag, names;
  std::vector<std::int64_t> line;
  struct Bad {
    std::int64_t line, column;
    std::string message;
    bool operator==(const Bad&) const = default;
  };
  std::vector<Bad> bad;
  std::int64_t bad_count = 0, lines = 0, bytes = 0, width = 0, misfits = 0, stray_quotes = 0;
  bool stopped = false;

  bool operator==(const Gathered&) const = default;
};

class Gatherer {
 public:
  explicit Gatherer(bool names) : names_(names) {}

  // The names that are known to the next block in advance.
  std::shared_ptr<const text::NameTable> known() {
    vocabulary_.settle();
    return vocabulary_.known();
  }

  // A block that stopped is the last one.
  void add(text::Block block) {
    if (out_.stopped) return;
    if (names_) {
      const auto places = vocabulary_.absorb(block, true);
      text::Vocabulary::resolve(places, vocabulary_.size(), block);
    }
    const std::int32_t before = out_.start.back();
    for (std::size_t k = 1; k < block.rows.start.size(); ++k) out_.start.push_back(before + block.rows.start[k]);
    out_.index.insert(out_.index.end(), block.rows.index.begin(), block.rows.index.end());
    append(block.rows.value, block.rows.value.size(), 0.0, out_.value);
    const auto rows = static_cast<std::size_t>(block.size());
    for (std::size_t row = 0; row < block.texts.events(); ++row)
      block.texts.each_text(row, [&](const text::Texts::Feature* first, const text::Texts::Feature* last) {
        out_.text_size.push_back(static_cast<std::int32_t>(last - first));
        for (; first != last; ++first) {
          out_.text_index.push_back(first->index);
          out_.text_value.push_back(std::bit_cast<std::uint64_t>(first->value));
        }
      });
    append(block.label, rows, 0.0, out_.label);
    append(block.weight.values(), rows, 1.0, out_.weight);
    append(block.offset.values(), rows, 0.0, out_.offset);
    append(block.time.values(), rows, text::Block::none, out_.time);
    append(block.group.values(), rows, text::Block::none, out_.group);
    for (const std::int32_t text : block.label_text)
      out_.label_text.emplace_back(text < 0 ? "(none)" : "'" + std::string(block.label_names[text]));
    block.tag.resize(rows);
    out_.tag.insert(out_.tag.end(), block.tag.begin(), block.tag.end());
    for (const std::uint32_t line : block.line) out_.line.push_back(out_.lines + line);
    for (const auto& bad : block.bad)
      if (out_.bad.size() < 10) out_.bad.push_back({out_.lines + bad.line, bad.column, bad.message});
    for (const text::Misfits& each : block.misfits) out_.misfits += each.count;
    out_.stray_quotes += block.stray_quotes;
    out_.bad_count += block.bad_count, out_.lines += block.lines, out_.bytes += block.bytes;
    out_.width = std::max(out_.width, block.width);
    out_.stopped = block.stopped;
  }

  Gathered done() {
    vocabulary_.each([&](std::string_view name) { out_.names.emplace_back(name); });
    return out_;
  }

 private:
  static void append(const std::vector<double>& from, std::size_t size, double otherwise, Gathered::Bits& to) {
    for (std::size_t k = 0; k < size; ++k)
      to.push_back(std::bit_cast<std::uint64_t>(from.empty() ? otherwise : from[k]));
  }

  bool names_;
  text::Vocabulary vocabulary_;
  Gathered out_;
};

}  // namespace odca::test
