// One event's features. The only file that knows about sparsity.
//
// Model vectors are stored feature-major, v[feature * lanes + lane], so that one read of a row serves every
// lane. `Lanes` is the number of lanes when it is known at compile time (one), or 0 when it is not.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "odca/math/functions.hpp"

namespace odca {

// One number per lane; a single lane needs no allocation.
template <int Lanes>
using PerLane = std::conditional_t<Lanes == 0, std::vector<double>, std::array<double, Lanes>>;

inline void set_lanes(std::vector<double>& numbers, int lanes) { numbers.assign(static_cast<std::size_t>(lanes), 0.0); }
inline void set_lanes(std::array<double, 1>& numbers, int) { numbers = {0.0}; }

// Feature indices strictly increase; `index` is null in a dense row.
struct Row {
  const std::int32_t* index = nullptr;
  const double* value = nullptr;
  std::int64_t size = 0;

  std::int64_t feature(std::int64_t i) const { return index ? index[i] : i; }

  template <class Visit>
  void each(Visit&& visit) const {
    if (index)
      for (std::int64_t i = 0; i < size; ++i) visit(static_cast<std::int64_t>(index[i]), value[i]);
    else
      for (std::int64_t i = 0; i < size; ++i) visit(i, value[i]);
  }
};

inline Row as_row(const std::vector<double>& values) {
  return {nullptr, values.data(), static_cast<std::int64_t>(values.size())};
}

// Says which features a row holds, asked for in increasing order.
class RowCursor {
 public:
  explicit RowCursor(const Row& row) : row_(row) {}

  bool holds(std::int64_t feature) {
    while (at_ < row_.size && row_.feature(at_) < feature) ++at_;
    return at_ < row_.size && row_.feature(at_) == feature && row_.value[at_] != 0.0;
  }
  // Of the feature that was asked for last, if the row holds it.
  double value() const { return row_.value[at_]; }

 private:
  const Row& row_;
  std::int64_t at_ = 0;
};

namespace detail {

// Four running sums: enough to hide the latency of an addition, in an order that never changes.
template <class Term>
inline double sum_in_four(std::int64_t n, Term term) {
  double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    a += term(i);
    b += term(i + 1);
    c += term(i + 2);
    d += term(i + 3);
  }
  for (; i < n; ++i) a += term(i);
  return (a + b) + (c + d);
}

// The first `Width` lanes from `v` on; the sums over the row stay in registers.
template <int Width>
inline void dot_lanes(const Row& row, const double* v, int lanes, double* out) {
  double sum[Width] = {};
  row.each([&](std::int64_t j, double h) {
    const double* at = v + j * lanes;
    for (int l = 0; l < Width; ++l) sum[l] += h * at[l];
  });
  for (int l = 0; l < Width; ++l) out[l] = sum[l];
}

template <int Width>
inline void add_lanes(const Row& row, const double* step, double* v, int lanes) {
  double t[Width];
  for (int l = 0; l < Width; ++l) t[l] = step[l];
  row.each([&](std::int64_t j, double h) {
    double* at = v + j * lanes;
    for (int l = 0; l < Width; ++l) at[l] += t[l] * h;
  });
}

// Splits the lanes into runs of 8, 4, 2 and 1.
template <class Run>
inline void in_runs(int lanes, Run run) {
  int l = 0;
  for (; l + 8 <= lanes; l += 8) run(std::integral_constant<int, 8>{}, l);
  if (l + 4 <= lanes) run(std::integral_constant<int, 4>{}, l), l += 4;
  if (l + 2 <= lanes) run(std::integral_constant<int, 2>{}, l), l += 2;
  if (l < lanes) run(std::integral_constant<int, 1>{}, l);
}

}  // namespace detail

inline double squared_norm(const Row& row) {
  return detail::sum_in_four(row.size, [h = row.value](std::int64_t i) { return h[i] * h[i]; });
}

inline double inner_product(const Row& a, const Row& b) {
  double sum = 0.0;
  for (std::int64_t i = 0, k = 0; i < a.size && k < b.size;) {
    const std::int64_t j = a.feature(i), other = b.feature(k);
    if (j == other) sum += a.value[i] * b.value[k];
    i += j <= other, k += other <= j;
  }
  return sum;
}

// The dot product with v, and the squared norm from the same read of the row: each in four running sums, as above.
// (Not inlined, because the surrounding step would use up the registers that these sums need.)
[[gnu::noinline]] inline double dot_and_norm(const Row& row, const double* v, double& norm) {
  Pack dot_ab{}, dot_cd{}, norm_ab{}, norm_cd{};
  double dot_rest = 0.0, norm_rest = 0.0;
  const auto sum = [&, h = row.value, n = row.size](auto at) {
    std::int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
      const Pack ab = load(h + i), cd = load(h + i + 2);
      dot_ab += ab * Pack{v[at(i)], v[at(i + 1)]}, dot_cd += cd * Pack{v[at(i + 2)], v[at(i + 3)]};
      norm_ab += ab * ab, norm_cd += cd * cd;
    }
    dot_rest = dot_ab[0], norm_rest = norm_ab[0];
    for (; i < n; ++i) dot_rest += h[i] * v[at(i)], norm_rest += h[i] * h[i];
  };
  if (const std::int32_t* j = row.index)
    sum([j](std::int64_t i) { return j[i]; });
  else
    sum([](std::int64_t i) { return i; });
  norm = (norm_rest + norm_ab[1]) + (norm_cd[0] + norm_cd[1]);
  return (dot_rest + dot_ab[1]) + (dot_cd[0] + dot_cd[1]);
}

// out[lane] = sum_j h_j v[j][lane]
template <int Lanes>
inline void dot(const Row& row, const double* v, int lanes, double* out) {
  if constexpr (Lanes == 1) {
    const double* h = row.value;
    if (row.index)
      out[0] = detail::sum_in_four(row.size, [h, v, j = row.index](std::int64_t i) { return h[i] * v[j[i]]; });
    else
      out[0] = detail::sum_in_four(row.size, [h, v](std::int64_t i) { return h[i] * v[i]; });
  } else {
    detail::in_runs(lanes, [&](auto width, int l) { detail::dot_lanes<width()>(row, v + l, lanes, out + l); });
  }
}

// v[j][lane] += step[lane] h_j
template <int Lanes>
inline void add(const Row& row, const double* step, double* v, int lanes) {
  if constexpr (Lanes == 1) {
    const double t = step[0];
    if (t == 0.0) return;
    std::int64_t i = 0;
    if (row.index)  // the indices differ, so four coordinates can be read before any is written
      for (const std::int32_t* j = row.index; i + 4 <= row.size; i += 4) {
        const Pack ab = t * load(row.value + i), cd = t * load(row.value + i + 2);
        const double a = v[j[i]] + ab[0], b = v[j[i + 1]] + ab[1], c = v[j[i + 2]] + cd[0], d = v[j[i + 3]] + cd[1];
        v[j[i]] = a, v[j[i + 1]] = b, v[j[i + 2]] = c, v[j[i + 3]] = d;
      }
    for (; i < row.size; ++i) v[row.feature(i)] += t * row.value[i];
  } else {
    detail::in_runs(lanes, [&](auto width, int l) { detail::add_lanes<width()>(row, step + l, v + l, lanes); });
  }
}

}  // namespace odca
