// Consecutive rows in CSR format, built one entry at a time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "odca/math/row.hpp"

namespace odca {

struct SparseRows {
  std::vector<std::int32_t> start{0}, index;
  std::vector<double> value;

  // Adds an entry to the current, unfinished row.
  void add(std::int32_t feature, double number) { index.push_back(feature), value.push_back(number); }
  std::size_t in_the_making() const { return index.size() - static_cast<std::size_t>(start.back()); }
  void forget() { cut(static_cast<std::size_t>(start.back())); }

  void cut(std::size_t entries) { index.resize(entries), value.resize(entries); }
  void clear() { start.erase(start.begin() + 1, start.end()), index.clear(), value.clear(); }
  std::int64_t size() const { return static_cast<std::int64_t>(start.size()) - 1; }
  Row first() const { return {index.data(), value.data(), static_cast<std::int64_t>(index.size())}; }
};

// Finishes rows whose features were added in any order.
class RowMaker {
 public:
  // Sorts the current row, adds the values of equal features in the order in which they came, and starts the next row.
  // Returns whether a feature occurred twice.
  bool finish(SparseRows& rows) {
    const auto first = static_cast<std::size_t>(rows.start.back());
    const std::size_t size = rows.in_the_making();
    std::int32_t* const index = rows.index.data() + first;
    std::size_t in_order = size ? 1 : 0;
    while (in_order < size && index[in_order - 1] < index[in_order]) ++in_order;
    std::size_t kept = size;
    if (in_order < size) {
      sort(index, size);
      values_.assign(rows.value.data() + first, rows.value.data() + first + size);
      kept = add_up(index, rows.value.data() + first);
      rows.cut(first + kept);
    }
    rows.start.push_back(static_cast<std::int32_t>(first + kept));
    return kept < size;
  }

 private:
  struct Place {
    std::uint32_t feature, entry;
  };
  static constexpr std::size_t few = 16;
  static constexpr int digit =
      6;  // bits: with more, clearing the buckets would cost too much for rows of about ten features
  static constexpr int digits = 6;

  // Sets order_ to the entries sorted by feature.
  void sort(const std::int32_t* index, std::size_t size) {
    order_.resize(size), other_.resize(size);
    for (std::uint32_t k = 0; k < size; ++k) order_[k] = {static_cast<std::uint32_t>(index[k]), k};
    size <= few ? insert() : distribute();
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
  void distribute() {
    std::uint32_t begin[digits][1 << digit] = {}, bits = 0;
    const auto bucket = [](const Place& place, int d) { return place.feature >> d * digit & ((1 << digit) - 1); };
    for (const Place& place : order_) {
      for (int d = 0; d < 3; ++d) ++begin[d][bucket(place, d)];
      bits |= place.feature;
    }
    if (bits >> 3 * digit)
      for (const Place& place : order_)
        for (int d = 3; d < digits; ++d) ++begin[d][bucket(place, d)];
    for (int d = 0; d < digits && bits >> d * digit; ++d) {
      std::uint32_t total = 0;
      for (std::uint32_t& each : begin[d]) total += std::exchange(each, total);
      const Place *from = order_.data(), *const end = from + order_.size();
      for (Place* const to = other_.data(); from != end; ++from) to[begin[d][bucket(*from, d)]++] = *from;
      order_.swap(other_);
    }
  }

  std::size_t add_up(std::int32_t* index, double* value) const {
    std::size_t to = 0;
    for (const auto& [feature, entry] : order_) {
      if (to > 0 && static_cast<std::uint32_t>(index[to - 1]) == feature) {
        value[to - 1] += values_[entry];
      } else {
        index[to] = static_cast<std::int32_t>(feature);
        value[to++] = values_[entry];
      }
    }
    return to;
  }

  std::vector<Place> order_, other_;
  std::vector<double> values_;  // in their original order
};

}  // namespace odca
