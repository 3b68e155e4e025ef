// A covariance P = U D U', with U unit upper triangular and D diagonal: symmetric and positive definite by construction, however many
// events have narrowed or widened it. (Updated as it stands, P loses its symmetry or a positive eigenvalue to rounding sooner or
// later.)
//
// An observation along x with curvature q narrows it,
//
//     P <- P - P x x'P q / (1 + q x'P x)
//
// which for the factors is Bierman's recursion: with f = U'x, v = D f and a_0 = 1/q, a_j = a_(j-1) + f_j v_j,
//
//     D_j <- D_j a_(j-1) / a_j,    column j of U <- U_j - (f_j / a_(j-1)) b_(j-1),    b_j = b_(j-1) + v_j U_j    (U_j of before)
//
// b is P x in the end. G. J. Bierman, Factorization Methods for Discrete Sequential Estimation, 1977. An update costs O(d^2).
//
// So P only narrows, but for `multiply`. What would become smaller than `least` is that, without its correlations, which takes from
// every variance and adds to none; so if no variance is above `most`, no entry of U is above the root of most / least.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "odca/math/checks.hpp"
#include "odca/math/functions.hpp"
#include "odca/math/row.hpp"

namespace odca {

class FactoredCovariance {
 public:
  using Matrix = std::vector<double>;  // [row][column]
  static constexpr double least = 1e-60, most = 1e60;

  int size() const { return static_cast<int>(diagonal_.size()); }

  // One coordinate more, at the end, of this variance and uncorrelated.
  void append(double variance) {
    upper_.resize(upper_.size() + diagonal_.size(), 0.0);
    diagonal_.push_back(variance);
  }

  // An observation along x, of which the recursion needs f = U'x.
  struct Direction {
    std::vector<double> f;
    double variance = 0.0;  // x'P x
  };
  void look_along(const double* x, Direction& out) const {
    out.f.resize(diagonal_.size());
    out.variance = 0.0;
    for (int j = 0; j < size(); ++j) {
      const double* column = column_of(j);
      out.f[j] = x[j] + detail::sum_in_four(j, [&](std::int64_t i) { return column[i] * x[i]; });
      out.variance += diagonal_[j] * out.f[j] * out.f[j];
    }
  }

  // Learns an observation of curvature q > 0; `gain` becomes P x, of P before.
  void observe(const Direction& along, double q, double* gain) {
    double a = 1.0 / q;
    for (int j = 0; j < size(); ++j) {
      double* __restrict column = column_of(j), * __restrict sum = gain;
      const double f = along.f[j], v = diagonal_[j] * f, before = a, part = -f / before;
      a += f * v;
      diagonal_[j] *= before / a;
      for (int i = 0; i < j; ++i) {
        const double u = column[i];
        column[i] = u + part * sum[i];
        sum[i] += v * u;
      }
      gain[j] = v;
      if (!(diagonal_[j] >= least)) forget_column(j);
    }
  }

  void multiply(double factor) {
    for (double& each : diagonal_) each *= factor;
  }

  // The diagonal of P.
  std::vector<double> variances() const {
    std::vector<double> out = diagonal_;
    for (int j = 0; j < size(); ++j) {
      const double* __restrict column = column_of(j), d = diagonal_[j];
      double* __restrict sum = out.data();
      for (int i = 0; i < j; ++i) sum[i] += d * column[i] * column[i];
    }
    return out;
  }
  double trace() const {
    double sum = 0.0;
    for (const double each : variances()) sum += each;
    return sum;
  }

  // P x
  std::vector<double> times(const std::vector<double>& x) const {
    std::vector<double> out(diagonal_.size(), 0.0);
    Direction along;
    look_along(x.data(), along);
    for (int j = 0; j < size(); ++j) {
      const double v = diagonal_[j] * along.f[j];
      for (int i = 0; i < j; ++i) out[i] += v * column_of(j)[i];
      out[j] += v;
    }
    return out;
  }

  Matrix dense() const {
    const int n = size();
    Matrix out(static_cast<std::size_t>(n) * n, 0.0);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i <= j; ++i)
        for (int k = 0; k <= j; ++k)
          out[static_cast<std::size_t>(i) * n + k] += entry(i, j) * diagonal_[j] * entry(k, j);
    return out;
  }

  // The covariance of these coordinates alone, in this order. Their rows of U are made triangular again by Gram-Schmidt with the
  // weights D, which keeps every variance positive (C. L. Thornton, Triangular Covariance Factorizations for Kalman Filtering, 1976).
  FactoredCovariance of_some(const std::vector<int>& places) const {
    const int n = size(), kept = static_cast<int>(places.size());
    std::vector<std::vector<double>> rows;
    for (const int i : places) {
      rows.emplace_back(static_cast<std::size_t>(n), 0.0);
      for (int j = i; j < n; ++j) rows.back()[j] = entry(i, j);
    }
    const auto product = [&](const std::vector<double>& a, const std::vector<double>& b) {
      double sum = 0.0;
      for (int j = 0; j < n; ++j) sum += a[j] * diagonal_[j] * b[j];
      return sum;
    };
    FactoredCovariance out;
    for (int j = 0; j < kept; ++j) out.append(0.0);
    for (int j = kept - 1; j >= 0; --j) {
      const double d = out.diagonal_[j] = std::max(product(rows[j], rows[j]), least);
      for (int i = 0; i < j; ++i) {
        const double u = out.column_of(j)[i] = product(rows[i], rows[j]) / d;
        for (int k = 0; k < n; ++k) rows[i][k] -= u * rows[j][k];
      }
    }
    return out;
  }

  // P^-1 = V' D^-1 V, where V = U^-1
  Matrix precision() const {
    const int n = size();
    Matrix v(static_cast<std::size_t>(n) * n, 0.0), out(v.size(), 0.0);
    const auto at = [n](Matrix& of, int i, int k) -> double& { return of[static_cast<std::size_t>(i) * n + k]; };
    for (int j = 0; j < n; ++j) {
      at(v, j, j) = 1.0;
      for (int i = j - 1; i >= 0; --i) {
        double sum = 0.0;
        for (int k = i + 1; k <= j; ++k) sum -= entry(i, k) * at(v, k, j);
        at(v, i, j) = sum;
      }
    }
    for (int i = 0; i < n; ++i)
      for (int k = i; k < n; ++k) {
        double sum = 0.0;
        for (int j = 0; j <= i; ++j) sum += at(v, j, i) / diagonal_[j] * at(v, j, k);
        at(out, i, k) = at(out, k, i) = sum;
      }
    return out;
  }
  // The reverse: with P^-1 = L E L', L unit lower triangular, U is L'^-1 and D is E^-1. Precisions given the coordinates before that
  // rounding made smaller than `least_precision` are that.
  static FactoredCovariance of_precision(Matrix p, int n, double least_precision) {
    const auto at = [n](Matrix& of, int i, int k) -> double& { return of[static_cast<std::size_t>(i) * n + k]; };
    FactoredCovariance out;
    for (int j = 0; j < n; ++j) out.append(1.0);
    for (int j = 0; j < n; ++j) {  // p becomes L below its diagonal
      const double e = std::clamp(at(p, j, j), least_precision, 1.0 / least);
      out.diagonal_[j] = 1.0 / e;
      for (int i = j + 1; i < n; ++i)
        for (int k = j + 1; k <= i; ++k) at(p, i, k) -= at(p, i, j) * at(p, k, j) / e;
      for (int i = j + 1; i < n; ++i) at(p, i, j) /= e;
    }
    for (int j = 0; j < n; ++j)  // L' U = I
      for (int i = j - 1; i >= 0; --i) {
        double sum = -at(p, j, i);
        for (int k = i + 1; k < j; ++k) sum -= at(p, k, i) * out.column_of(j)[k];
        out.column_of(j)[i] = sum;
      }
    return out;
  }

  // What a file holds.
  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    visit("upper", self.upper_), visit("diagonal", self.diagonal_);
  }
  // After these were read: whether they are factors of so many coordinates, with numbers of which products are still numbers.
  bool is_sound(int n) const {
    if (size() != n || upper_.size() != static_cast<std::size_t>(n) * static_cast<std::size_t>(n - 1) / 2) return false;
    return std::all_of(diagonal_.begin(), diagonal_.end(), [](double d) { return d >= least; }) &&
           all_within(variances(), most);
  }

 private:
  // Entries 0 to j - 1 of column j; the columns lie one after another.
  const double* column_of(int j) const { return upper_.data() + static_cast<std::ptrdiff_t>(j) * (j - 1) / 2; }
  double* column_of(int j) { return upper_.data() + static_cast<std::ptrdiff_t>(j) * (j - 1) / 2; }
  void forget_column(int j) {
    diagonal_[j] = least;
    std::fill_n(column_of(j), j, 0.0);
  }
  double entry(int i, int j) const { return i < j ? column_of(j)[i] : i == j ? 1.0 : 0.0; }

  std::vector<double> upper_, diagonal_;
};

}  // namespace odca
