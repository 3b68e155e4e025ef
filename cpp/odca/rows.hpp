// Rows one behind the other, as a CSR matrix has them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "odca/row.hpp"

namespace odca {

struct Rows {
  std::vector<std::int32_t> start{0}, index;
  std::vector<double> value;

  void add(std::int32_t feature, double number) { index.push_back(feature), value.push_back(number); }
  void clear() { start.resize(1), index.clear(), value.clear(); }
  std::int64_t size() const { return static_cast<std::int64_t>(start.size()) - 1; }
  Row first() const { return {index.data(), value.data(), static_cast<std::int64_t>(index.size())}; }
};

// A row in the making: features in any order. Values of one feature are added up, in the order in which they came.
class RowMaker {
 public:
  void add(std::int32_t feature, double value) { entries_.push_back({static_cast<std::uint32_t>(feature), value}); }
  std::size_t size() const { return entries_.size(); }
  void clear() { entries_.clear(); }

  // Appends the row, sorted, and begins another. Returns whether a feature was there twice.
  bool finish(Rows& rows) {
    const std::size_t first = rows.index.size(), size = entries_.size();
    rows.index.resize(first + size), rows.value.resize(first + size);
    std::int32_t* const index = rows.index.data() + first;
    double* const value = rows.value.data() + first;
    bool disorder = false;
    std::uint32_t last = 0, bits = 0;
    for (std::size_t k = 0; k < size; ++k) {
      const auto [feature, number] = entries_[k];
      disorder |= k > 0 && last >= feature;
      last = feature, bits |= feature;
      index[k] = static_cast<std::int32_t>(feature), value[k] = number;
    }
    std::size_t kept = size;
    if (disorder) {
      sort(bits);
      kept = add_up(index, value);
      rows.index.resize(first + kept), rows.value.resize(first + kept);
    }
    rows.start.push_back(static_cast<std::int32_t>(first + kept));
    entries_.clear();
    return kept < size;
  }

 private:
  struct Entry {
    std::uint32_t feature;
    double value;
  };
  struct Place {
    std::uint32_t feature, entry;
  };
  static constexpr std::size_t few = 16;
  static constexpr int digit = 6;  // bits: more would be too many buckets to clear for a row of some ten features

  // Which entries come one after the other.
  void sort(std::uint32_t bits) {
    order_.resize(entries_.size()), other_.resize(entries_.size());
    for (std::uint32_t k = 0; k < order_.size(); ++k) order_[k] = {entries_[k].feature, k};
    order_.size() <= few ? insert() : distribute(bits);
  }

  void insert() {
    for (std::size_t k = 1; k < order_.size(); ++k) {
      const Place place = order_[k];
      std::size_t to = k;
      for (; to > 0 && order_[to - 1].feature > place.feature; --to) order_[to] = order_[to - 1];
      order_[to] = place;
    }
  }

  // Digit by digit, from the lowest: no branch that could be mispredicted, and equal features keep their order.
  void distribute(std::uint32_t bits) {
    for (int shift = 0; shift < 32 && bits >> shift; shift += digit) {
      std::uint32_t begin[1 << digit] = {};
      const auto bucket = [shift](const Place& place) { return place.feature >> shift & ((1 << digit) - 1); };
      for (const Place& place : order_) ++begin[bucket(place)];
      std::uint32_t total = 0;
      for (std::uint32_t& each : begin) total += std::exchange(each, total);
      for (const Place& place : order_) other_[begin[bucket(place)]++] = place;
      order_.swap(other_);
    }
  }

  std::size_t add_up(std::int32_t* index, double* value) const {
    std::size_t to = 0;
    for (const auto& [feature, entry] : order_) {
      if (to > 0 && static_cast<std::uint32_t>(index[to - 1]) == feature) {
        value[to - 1] += entries_[entry].value;
      } else {
        index[to] = static_cast<std::int32_t>(feature);
        value[to++] = entries_[entry].value;
      }
    }
    return to;
  }

  std::vector<Entry> entries_;
  std::vector<Place> order_, other_;
};

}  // namespace odca
