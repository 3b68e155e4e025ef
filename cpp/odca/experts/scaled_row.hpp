// One event's row as the experts see it: standardised, with the record of every feature beside it, and the steps to take.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "odca/experts/experts.hpp"

namespace odca::experts {

// The experts whose rates are inverses of a sum of curvatures.
inline constexpr int curved_experts = count_of<Kind::newton> + count_of<Kind::recent_newton>;

// First the features that the row holds, then dense features that it does not hold, then the constant. Arrays have room for one
// more number, so that they can be read in pairs.
struct ScaledRow {
  std::vector<const double*> record;
  std::vector<std::int64_t> feature;               // not of the constant
  std::vector<std::unique_ptr<double[]>> changed;  // records of features that would become dense or sparse by this row
  std::vector<double> x, h;
  std::vector<double> count, mean, square, is_dense;  // of the feature, this row included
  std::vector<double> root, curvature;                // 1 / sqrt(G_j), H_j
  std::array<std::vector<double>, curved_experts> inverse;
  std::vector<double> rate;  // [feature][row slot]: rate times weight times h
  int size = 0, present = 0;
  double norm = 0.0;  // |h|^2

  // Calls visit(n, h) for those of these features, in increasing order, that the row has.
  template <class Visit>
  void each_of(const std::vector<std::int64_t>& features, Visit&& visit) const {
    const auto in = [&](int first, int last) {
      auto at = feature.begin() + first;
      const auto end = feature.begin() + last;
      for (std::size_t n = 0; n < features.size(); ++n) {
        at = std::lower_bound(at, end, features[n]);
        if (at == end) return;
        if (*at == features[n]) visit(n, h[static_cast<std::size_t>(at - feature.begin())]);
      }
    };
    in(0, present), in(present, size - 1);
  }

  void reserve(std::size_t n) {
    if (record.size() >= n + 2) return;
    record.resize(n + 2), feature.resize(n + 2), rate.resize(row_slots * (n + 2));
    for (auto* each : {&x, &h, &count, &mean, &square, &is_dense, &root, &curvature}) each->resize(n + 2);
    for (auto& each : inverse) each.resize(n + 2);
  }
};

}  // namespace odca::experts
