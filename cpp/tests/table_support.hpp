// What the tests of tables share: events of a block, in readable form.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "odca/errors.hpp"
#include "odca/features/block.hpp"
#include "odca/features/hash.hpp"

namespace odca::test {

// "country=NZ", "price is missing", "a * b" for the bytes of a feature's key.
inline std::string readable(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == category_mark)
      out += "=";
    else if (c == missing_mark)
      out += " is missing";
    else if (c == product_mark)
      out += " * ";
    else
      out += c;
  }
  return out;
}

// Each event: label, weight, offset, time, group and tag as far as it has them, then its features with their values, by name:
// their order in a block depends on where it begins.
inline std::vector<std::string> events_of(const text::Block& block) {
  std::vector<std::string> out;
  for (std::size_t row = 0; row < static_cast<std::size_t>(block.size()); ++row) {
    std::string event;
    if (block.label_text[row] >= 0)
      event += "'" + std::string(block.label_names[block.label_text[row]]) + "'";
    else if (block.label[row] == block.label[row])
      event += show(block.label[row]);
    const auto column = [&](const char* name, const text::OptionalNumbers& values) {
      if (!values.values().empty()) event += std::string(" ") + name + show(values.values()[row]);
    };
    column("w", block.weight), column("o", block.offset), column("t", block.time), column("g", block.group);
    if (!block.tag.empty()) event += " #" + block.tag[row];
    std::vector<std::string> features;
    for (auto k = static_cast<std::size_t>(block.rows.start[row]);
         k < static_cast<std::size_t>(block.rows.start[row + 1]); ++k) {
      const std::int32_t index = block.rows.index[k], known = block.n_known();
      const std::string_view key = index < known ? (*block.known)[index] : block.names[index - known];
      features.push_back(" | " + readable(key) + ":" + show(block.rows.value[k]));
    }
    std::sort(features.begin(), features.end());
    for (const std::string& feature : features) event += feature;
    out.push_back(event);
  }
  return out;
}

using Strings = std::vector<std::string>;

inline bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace odca::test
