// All names that a stream has brought, and the features of a block by their numbers there.
#pragma once

#include <cstdint>
#include <vector>

#include "odca/errors.hpp"
#include "odca/text/block.hpp"

namespace odca::text {

class Vocabulary {
 public:
  static constexpr std::int32_t most = 0x7ffffffd;

  const NameTable& names() const { return names_; }

  // Where the names of a block are among all; -1 for those that are not there. If it is to `grow`, new ones are added in their
  // order: blocks that come in the stream's order number the names as one block of the whole text would.
  std::vector<std::int32_t> absorb(const Block& block, bool grow) {
    const NameTable& names = block.names;
    std::vector<std::int32_t> places(static_cast<std::size_t>(names.size()));
    constexpr std::int32_t ahead = 8;
    for (std::int32_t k = 0; k < names.size(); ++k) {
      if (k + 3 * ahead < names.size()) names_.fetch_slot(names.hash(k + 3 * ahead));
      if (k + 2 * ahead < names.size()) names_.fetch_end(names.hash(k + 2 * ahead));
      if (k + ahead < names.size()) names_.fetch_bytes(names.hash(k + ahead));
      std::int32_t& place = places[static_cast<std::size_t>(k)];
      place = grow ? names_.add(names.hash(k), names[k]) : names_.find(names.hash(k), names[k]);
      if (place >= most) throw InputError("there are more names than can be numbered. Hash them");
    }
    return places;
  }

  // The names one behind the other, and where each ends: for a file. `restore` is the reverse; it throws InputError for
  // what cannot be.
  std::string_view bytes() const { return names_.bytes(); }
  std::vector<std::int64_t> ends() const { return {names_.ends().begin(), names_.ends().end()}; }
  void restore(std::string_view bytes, const std::vector<std::int64_t>& ends);

  // The block's features at these places, in order; those that have none are dropped.
  static void resolve(const std::vector<std::int32_t>& places, std::int64_t width, Block& block) {
    Rows resolved;
    resolved.start.reserve(block.rows.start.size());
    resolved.index.reserve(block.rows.index.size()), resolved.value.reserve(block.rows.value.size());
    RowSorter sorter;
    for (std::size_t row = 0; row + 1 < block.rows.start.size(); ++row) {
      const std::size_t first = resolved.index.size();
      for (auto k = static_cast<std::size_t>(block.rows.start[row]);
           k < static_cast<std::size_t>(block.rows.start[row + 1]); ++k) {
        const std::int32_t place = places[static_cast<std::size_t>(block.rows.index[k])];
        if (place >= 0) resolved.add(place, block.rows.value[k]);
      }
      sorter.sort(resolved, first);
      resolved.start.push_back(static_cast<std::int32_t>(resolved.index.size()));
    }
    block.rows = std::move(resolved);
    block.width = width;
  }

 private:
  NameTable names_;
};

}  // namespace odca::text
