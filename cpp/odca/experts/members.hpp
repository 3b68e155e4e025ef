// What the steady answer reads of a table of features: its members as linear models of x, see steady.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "odca/experts/feature_table.hpp"

namespace odca::experts {

class Members {
 public:
  explicit Members(const FeatureTable& features) : of_(features) {}

  // Calls visit(j, slope) for every feature that occurred, with
  // slope[head][member slot], and returns the constant, in the same form and without the base rate.
  template <class Visit>
  std::vector<double> each_slope(Visit&& visit) const {
    std::vector<double> slope(static_cast<std::size_t>(of_.heads() * member_slots)), constant(slope.size());
    write_members(of_.constant_[0], of_.constant_average_[0], 1.0, constant.data());
    for (std::int64_t j = 0; j < of_.size(); ++j) {
      if (of_.of(j)[record::count] == 0.0) continue;
      const FeatureTable::Form form = of_.form_of(of_.of(j));
      if (form.scale > 0.0)
        write_members(of_.of(j), of_.average_of(j), 1.0 / form.scale, slope.data());
      else
        std::fill(slope.begin(), slope.end(), 0.0);
      for (std::size_t k = 0; k < slope.size(); ++k) constant[k] -= slope[k] * form.centre;
      visit(j, slope.data());
    }
    return constant;
  }

  // The mixture of the members as a linear model of a row's features: calls visit(j, slope) for each, with slope[head], and adds the
  // constant to intercept[head].
  template <class Visit>
  void each_steady_slope(const Row& row, const PerMember& weight, double* intercept, Visit&& visit) const {
    add_mixture(of_.constant_[0], of_.constant_average_[0], weight, 1.0, intercept);
    for (const std::int64_t j : of_.dense_) {
      const FeatureTable::Form form = of_.form_of(of_.of(j));
      if (form.scale > 0.0) add_mixture(of_.of(j), of_.average_of(j), weight, -form.centre / form.scale, intercept);
    }
    std::vector<double> slope(static_cast<std::size_t>(of_.heads()));
    row.each([&](std::int64_t j, double x) {
      if (x == 0.0 || j >= of_.size()) return;
      const FeatureTable::Form form = of_.form_of(of_.of(j));
      std::fill(slope.begin(), slope.end(), 0.0);
      if (form.scale > 0.0) add_mixture(of_.of(j), of_.average_of(j), weight, 1.0 / form.scale, slope.data());
      visit(j, slope.data());
    });
  }

  // z[head] += the margin of the mixture of the members, whose weights these are.
  void add_steady_margins(const Row& row, const PerMember& weight, double* z) const {
    add_mixture(of_.constant_[0], of_.constant_average_[0], weight, 1.0, z);
    row.each([&](std::int64_t j, double x) {
      if (x == 0.0 || j >= of_.size()) return;
      const FeatureTable::Form form = of_.form_of(of_.of(j));
      if (form.scale > 0.0) add_mixture(of_.of(j), of_.average_of(j), weight, (x - form.centre) / form.scale, z);
    });
    RowCursor in_row(row);
    for (const std::int64_t j : of_.dense_) {
      const FeatureTable::Form form = of_.form_of(of_.of(j));
      if (form.scale > 0.0 && !in_row.holds(j))
        add_mixture(of_.of(j), of_.average_of(j), weight, -form.centre / form.scale, z);
    }
  }

 private:
  // factor times the weights of every member, [head][member slot].
  void write_members(const double* record, const double* mean, double factor, double* out) const {
    for (int head = 0; head < of_.heads(); ++head)
      for (int m = 0, n = 0; m < row_members; ++m)
        out[member_slots * head + m] =
            factor * (members[m].averaged ? mean[average_slots * head + n++]
                                          : record[record::weights + row_slots * head + members[m].expert]);
  }
  // z[head] += factor times the mixture of the members' weights.
  void add_mixture(const double* record, const double* mean, const PerMember& weight, double factor, double* z) const {
    for (int head = 0; head < of_.heads(); ++head) {
      double mixed = 0.0;
      for (int m = 0, n = 0; m < row_members; ++m)
        mixed += weight[m] * (members[m].averaged ? mean[average_slots * head + n++]
                                                  : record[record::weights + row_slots * head + members[m].expert]);
      z[head] += factor * mixed;
    }
  }

  const FeatureTable& of_;
};

}  // namespace odca::experts
