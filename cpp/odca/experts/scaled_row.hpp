// One event's row as the experts see it: standardised, with the record of every feature beside it, and the steps to take.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "odca/experts/experts.hpp"
#include "odca/math/row.hpp"

namespace odca::experts {

// First the features that the row holds, then dense features that it does not hold, then the constant; then up to three that are
// not there, so that arrays can be read in fours: their h is 0, and their record is a spare one.
struct ScaledRow {
  std::vector<const double*> record;
  std::vector<std::int64_t> feature;               // not of the constant
  std::vector<std::unique_ptr<double[]>> changed;  // records of features that would become dense or sparse by this row
  std::vector<double> x, h;
  std::vector<double> count, mean, square;                             // of the feature, this row included
  std::vector<double> slopes, curvatures, recent, density, elsewhere;  // as they are in the record, before this row
  std::vector<double> rate;   // [feature][row slot]: rate times weight times h, see rates.hpp
  std::vector<int> averaged;  // features whose weights are averaged after this row
  std::array<double, 8 + row_slots> spare{};
  int size = 0, present = 0, averages = 0;  // the last: how many are averaged
  bool holds_all_dense = false;             // every dense feature is in the row
  double norm = 0.0;                        // |h|^2

  // Calls visit(n, h) for those of these features, in increasing order, that the row has.
  template <class Visit>
  void each_of(const std::vector<std::int64_t>& features, Visit&& visit) const {
    const auto in = [&](int first, int last) {
      auto at = feature.begin() + first;
      const auto end = feature.begin() + last;
      for (std::size_t n = 0; n < features.size(); ++n) {
        if (at != end && *at < features[n]) at = std::lower_bound(at + 1, end, features[n]);
        if (at == end) return;
        if (*at == features[n]) visit(n, h[static_cast<std::size_t>(at++ - feature.begin())]);
      }
    };
    in(0, present), in(present, size - 1);
  }

  // Whether this row was standardised. (False, too, if a value was far off and counts as less.)
  bool is_of(const Row& row) const {
    int n = 0;
    for (std::int64_t i = 0; i < row.size; ++i) {
      if (row.value[i] == 0.0) continue;
      if (n == present || feature[n] != row.feature(i) || x[n] != row.value[i]) return false;
      ++n;
    }
    return n == present;
  }

  void reserve(std::size_t n) {
    const std::size_t room = n + 4;  // the constant, and three more
    if (record.size() >= room) return;
    record.resize(room), feature.resize(room), averaged.resize(room + 3), rate.resize(row_slots * room);
    for (auto* each : {&x, &h, &count, &mean, &square, &slopes, &curvatures, &recent, &density, &elsewhere})
      each->resize(room);
  }
};

}  // namespace odca::experts
