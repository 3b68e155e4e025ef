// The terms of a text with their counts, in the order in which they first appear.
//
// Terms are told apart by their index; the order does not depend on it, because the index of a new name depends on the block that it is in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "odca/features/hash.hpp"

namespace odca::text {

struct Term {
  FeatureHash hash;
  std::int32_t index;
  int slot;  // among the fields that interact, or -1
  double count;
};

class TermCounts {
 public:
  void add(FeatureHash hash, std::int32_t index, int slot) {
    if (terms_.size() * 2 >= places_.size()) spread();
    std::int32_t& place = place_of(index);
    if (place < 0) {
      place = static_cast<std::int32_t>(terms_.size());
      terms_.push_back({hash, index, slot, 0.0});
    }
    terms_[static_cast<std::size_t>(place)].count += 1.0;
  }

  const std::vector<Term>& terms() const { return terms_; }

  void clear() {
    terms_.clear();
    std::fill(places_.begin(), places_.end(), -1);
  }

 private:
  // Where the number of the term with this index is, or would be.
  std::int32_t& place_of(std::int32_t index) {
    const std::size_t mask = places_.size() - 1;
    std::size_t place = (static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15 >> 32) & mask;
    while (places_[place] >= 0 && terms_[static_cast<std::size_t>(places_[place])].index != index)
      place = (place + 1) & mask;
    return places_[place];
  }

  void spread() {
    places_.assign(std::max<std::size_t>(places_.size() * 2, 256), -1);
    for (std::size_t k = 0; k < terms_.size(); ++k) place_of(terms_[k].index) = static_cast<std::int32_t>(k);
  }

  std::vector<Term> terms_;
  std::vector<std::int32_t> places_;
};

}  // namespace odca::text
