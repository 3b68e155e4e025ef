// S-DCA as in the literature: coordinate ascent on the dual of a finite set, visiting its rows repeatedly in any order.
//
//     min (1/n) sum_i Q(h_i'w; y_i) + rho/2 |w|^2,   w = S / (rho n),   S = sum_i lambda_i h_i
//
// A visit solves for one dual with all others fixed: without its own contribution the margin is p = h_i'w - s lambda_i, with
// s = |h_i|^2 / (rho n), which is the scalar problem of O-DCA. `Learner.fit` is faster (it skips events at rest, checks the gap, and
// takes joint steps); this is the baseline for it and for O-DCA.
#pragma once

#include <cmath>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "odca/errors.hpp"
#include "odca/math/batch.hpp"
#include "odca/problem/losses.hpp"
#include "odca/sync/long_call.hpp"

namespace odca {

class DualAscent {
 public:
  DualAscent(AnyLoss loss, double rho, std::int64_t rows, std::int64_t features)
      : loss_(std::move(loss)),
        strength_(rho * static_cast<double>(rows)),
        sum_(static_cast<std::size_t>(features)),
        duals_(static_cast<std::size_t>(rows)) {}

  // `batch` and `y` are the set, the same in every call; `order` lists the rows to visit. An error or Ctrl-C leaves everything unchanged.
  void visit(const Batch& batch, const double* y, std::span<const std::int64_t> order, const Interrupted& interrupted) {
    std::vector<double> sum = sum_, duals = duals_;
    LongCall call(interrupted);
    bool stopped = false;
    std::visit(
        [&](const auto& loss) {
          Batch::Scratch scratch;
          for (std::size_t k = 0; k < order.size() && !stopped; ++k) {
            const std::int64_t i = order[k];
            const Row row = batch.row(i, scratch);
            step(loss, row, y[i], i, sum, duals[static_cast<std::size_t>(i)]);
            stopped = call.should_stop(row.size);
          }
        },
        loss_);
    if (stopped) return;
    sum_ = std::move(sum), duals_ = std::move(duals);
  }

  std::vector<double> weights() const {
    std::vector<double> out(sum_);
    for (double& w : out) w /= strength_;
    return out;
  }
  const std::vector<double>& duals() const { return duals_; }

 private:
  template <class Loss>
  void step(const Loss& loss, const Row& h, double y, std::int64_t i, std::vector<double>& sum, double& dual) const {
    double norm = 0.0;
    const double margin = dot_and_norm(h, sum.data(), norm) / strength_;
    if (!std::isfinite(norm) || !std::isfinite(margin))
      throw InputError("", at_row_of_x(i), " or its prediction is not finite; scale the features");
    const double s = norm / strength_, solved = loss.lambda(margin - s * dual, s, y), change = solved - dual;
    add<1>(h, &change, sum.data(), 1);
    dual = solved;
  }

  AnyLoss loss_;
  double strength_;
  std::vector<double> sum_, duals_;
};

}  // namespace odca
