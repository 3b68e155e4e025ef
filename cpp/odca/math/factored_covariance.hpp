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
#include "odca/math/pack4.hpp"

namespace odca {

class FactoredCovariance {
 public:
  using Matrix = std::vector<double>;  // [row][column]
  static constexpr double least = 1e-60, most = 1e60;

  int size() const { return static_cast<int>(diagonal_.size()); }

  // One coordinate more, at the end, of this variance and uncorrelated.
  void append(double variance) {
    upper_.append();
    diagonal_.push_back(variance);
    most_trace_ = infinity;
  }

  // Vectors that are read in fours have so many numbers, those beyond the last coordinate zero.
  std::size_t padded_size() const { return static_cast<std::size_t>(Columns::padded(size())); }

  // An observation along x, of which the recursion needs f = U'x.
  struct Direction {
    std::vector<double> f, part, a;  // while it is observed, f becomes v, and part is -f / a
    double variance = 0.0;           // x'P x
  };
  // x is padded.
  void look_along(const double* x, Direction& out) const {
    out.f.resize(diagonal_.size());
    double variance = 0.0;
    for (int j = 0; j < size(); ++j) {
      const double* column = column_of(j);
      Pack4 sums{};
      for (int i = 0; i < j; i += 4) sums += Pack4::from(column + i) * Pack4::from(x + i);
      const double f = x[j] + sum(sums);
      out.f[j] = f, variance += diagonal_[j] * f * f;
    }
    out.variance = variance;
  }

  // Learns an observation of curvature q > 0; `gain`, which is padded, becomes P x, of P before. `along` is used up.
  void observe(Direction& along, double q, double* gain) {
    along.part.resize(diagonal_.size()), along.a.resize(diagonal_.size() + 1);
    double* const __restrict f = along.f.data(), * const __restrict part = along.part.data();
    double* const __restrict d = diagonal_.data(), * const __restrict a = along.a.data();
    const int n = size();
    double sum = a[0] = 1.0 / q;
    for (int j = 0; j < n; ++j) a[j + 1] = sum += f[j] * (d[j] * f[j]);
    for (int j = 0; j < n; ++j) {
      const double v = d[j] * f[j];
      d[j] *= a[j] / a[j + 1];
      part[j] = -f[j] / a[j], f[j] = v;
    }
    for (int i = 0; i < size(); i += 4) update_rows(i, along, gain);
    for (int j = 0; j < size(); ++j)
      if (!(diagonal_[j] >= least)) forget_column(j);
  }

  void multiply(double factor) {
    for (double& each : diagonal_) each *= factor;
    most_trace_ *= factor * (1.0 + 1e-12);
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
  // By how much P may be multiplied, at most by `factor` >= 1, so that its trace is not above a bound. The trace is computed only where it
  // may come near: observations do not widen P.
  double room_for(double factor, double bound) {
    if (most_trace_ * factor <= bound) return factor;
    const double now = trace();
    most_trace_ = now * (1.0 + 1e-9);
    return std::max(std::min(factor, bound / now), 1.0);
  }

  // P x
  std::vector<double> times(std::vector<double> x) const {
    std::vector<double> out(diagonal_.size(), 0.0);
    Direction along;
    x.resize(padded_size(), 0.0);
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
    if (size() != n || upper_.size() != n) return false;
    return std::all_of(diagonal_.begin(), diagonal_.end(), [](double d) { return d >= least; }) &&
           all_within(variances(), most);
  }

 private:
  // Entries 0 to j - 1 of every column j, one after another, each column with zeros up to a multiple of four.
  class Columns {
   public:
    static constexpr int padded(int n) { return (n + 3) / 4 * 4; }

    int size() const { return static_cast<int>(begin_.size()) - 1; }
    void append() {
      begin_.push_back(begin_.back() + static_cast<std::size_t>(padded(size())));
      numbers_.resize(begin_.back(), 0.0);
    }
    const double* operator[](int j) const { return numbers_.data() + begin_[j]; }
    double* operator[](int j) { return numbers_.data() + begin_[j]; }

    // As a file holds them: without the padding.
    std::vector<double> packed() const {
      std::vector<double> out;
      for (int j = 0; j < size(); ++j) out.insert(out.end(), (*this)[j], (*this)[j] + j);
      return out;
    }
    // The reverse. False if these are not whole columns.
    bool unpack(const std::vector<double>& packed) {
      *this = Columns();
      std::size_t at = 0;
      for (int j = 0; j == 0 || at < packed.size(); at += static_cast<std::size_t>(j++)) {
        if (packed.size() - at < static_cast<std::size_t>(j)) return false;
        append();
        std::copy_n(packed.begin() + static_cast<std::ptrdiff_t>(at), j, (*this)[j]);
      }
      return true;
    }

   private:
    std::vector<std::size_t> begin_ = {0};
    std::vector<double> numbers_;
  };

  const double* column_of(int j) const { return upper_[j]; }
  double* column_of(int j) { return upper_[j]; }
  // Of U and b, four rows: b of these stays in registers.
  void update_rows(int i, const Direction& along, double* gain) {
    Pack4 sums{};
    for (int j = i; j < size(); ++j) {
      const double v = along.f[j];
      double* const column = column_of(j) + i;
      if (j > i) {
        const Pack4 u = Pack4::from(column);
        (u + Pack4::all(along.part[j]) * sums).to(column);
        sums += Pack4::all(v) * u;
      }
      if (j < i + 4)
        sums += Pack4::of(j == i ? v : 0.0, j == i + 1 ? v : 0.0, j == i + 2 ? v : 0.0, j == i + 3 ? v : 0.0);
    }
    sums.to(gain + i);
  }
  void forget_column(int j) {
    diagonal_[j] = least;
    std::fill_n(column_of(j), j, 0.0);
  }
  double entry(int i, int j) const { return i < j ? column_of(j)[i] : i == j ? 1.0 : 0.0; }

  Columns upper_;
  std::vector<double> diagonal_;
  double most_trace_ = infinity;  // the trace is at most this
};

}  // namespace odca
