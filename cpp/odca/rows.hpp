// Rows one behind the other, as a CSR matrix has them.
#pragma once

#include <algorithm>
#include <cstdint>
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

// Sorts a row by feature. Values of one feature are added up, in the order in which they stand.
class RowSorter {
 public:
  // What comes from `first` on becomes a sorted row. Returns whether a feature was there twice.
  bool sort(Rows& rows, std::size_t first) {
    const std::size_t size = rows.index.size() - first;
    std::int32_t* const index = rows.index.data() + first;
    std::int32_t disorder = 0;
    for (std::size_t k = 1; k < size; ++k) disorder |= index[k - 1] >= index[k];
    if (!disorder) return false;
    order_.resize(size);
    for (std::size_t k = 0; k < size; ++k) order_[k] = static_cast<std::uint64_t>(index[k]) << 32 | k;
    std::sort(order_.begin(), order_.end());
    value_.assign(rows.value.begin() + static_cast<std::ptrdiff_t>(first), rows.value.end());
    rows.index.resize(first), rows.value.resize(first);
    for (const std::uint64_t each : order_) {
      const auto feature = static_cast<std::int32_t>(each >> 32);
      const double number = value_[each & 0xffffffff];
      if (rows.index.size() > first && rows.index.back() == feature)
        rows.value.back() += number;
      else
        rows.add(feature, number);
    }
    return rows.index.size() - first < size;
  }

 private:
  std::vector<std::uint64_t> order_;  // feature and place
  std::vector<double> value_;
};

}  // namespace odca
