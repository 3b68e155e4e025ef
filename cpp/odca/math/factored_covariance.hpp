// A covariance P = U D U', with U unit upper triangular and D diagonal: positive definite by construction, however many events have
// narrowed or widened it. (Updated as it stands, P loses its symmetry or a positive eigenvalue to rounding sooner or later.)
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
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace odca {

class FactoredCovariance {
 public:
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
      double sum = x[j];
      for (int i = 0; i < j; ++i) sum += column[i] * x[i];
      out.f[j] = sum;
      out.variance += diagonal_[j] * sum * sum;
    }
  }

  // Learns an observation of curvature q > 0; `gain` becomes P x, of P before.
  void observe(const Direction& along, double q, double* gain) {
    double a = 1.0 / q;
    for (int j = 0; j < size(); ++j) {
      double* column = column_of(j);
      const double f = along.f[j], v = diagonal_[j] * f, before = a, part = -f / before;
      a += f * v;
      diagonal_[j] *= before / a;
      for (int i = 0; i < j; ++i) {
        const double u = column[i];
        column[i] = u + part * gain[i];
        gain[i] += v * u;
      }
      gain[j] = v;
    }
  }

  void multiply(double factor) {
    for (double& each : diagonal_) each *= factor;
  }

  double trace() const {
    double sum = 0.0;
    for (int j = 0; j < size(); ++j) {
      double squares = 1.0;
      for (int i = 0; i < j; ++i) squares += column_of(j)[i] * column_of(j)[i];
      sum += diagonal_[j] * squares;
    }
    return sum;
  }

  // P, [row][column].
  std::vector<double> dense() const {
    const int n = size();
    std::vector<double> out(static_cast<std::size_t>(n) * n, 0.0);
    for (int j = 0; j < n; ++j) {
      const auto u = [&](int i) { return i < j ? column_of(j)[i] : 1.0; };
      for (int i = 0; i <= j; ++i)
        for (int k = 0; k <= j; ++k) out[static_cast<std::size_t>(i) * n + k] += u(i) * diagonal_[j] * u(k);
    }
    return out;
  }
  // The factors of P, [row][column]; a variance that rounding made smaller than `least` is that.
  static FactoredCovariance of(std::vector<double> p, int n, double least) {
    FactoredCovariance out;
    for (int j = 0; j < n; ++j) out.append(0.0);
    for (int j = n - 1; j >= 0; --j) {
      const auto at = [&](int i, int k) -> double& { return p[static_cast<std::size_t>(i) * n + k]; };
      const double d = out.diagonal_[j] = std::max(at(j, j), least);
      double* column = out.column_of(j);
      for (int i = 0; i < j; ++i) column[i] = at(i, j) / d;
      for (int k = 0; k < j; ++k)
        for (int i = 0; i <= k; ++i) at(i, k) -= column[i] * d * column[k];
    }
    return out;
  }

  // What a file holds.
  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    visit(self.upper_), visit(self.diagonal_);
  }

 private:
  // Entries 0 to j - 1 of column j; the columns lie one after another.
  const double* column_of(int j) const { return upper_.data() + static_cast<std::ptrdiff_t>(j) * (j - 1) / 2; }
  double* column_of(int j) { return upper_.data() + static_cast<std::ptrdiff_t>(j) * (j - 1) / 2; }

  std::vector<double> upper_, diagonal_;
};

}  // namespace odca
