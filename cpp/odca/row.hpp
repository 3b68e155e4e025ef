// One event's features. The only file that knows about sparsity.
//
// Model vectors are stored feature-major, v[feature * lanes + lane], so that one read of a row serves every
// lane. `Lanes` is the number of lanes when it is known at compile time (one), or 0 when it is not.
#pragma once

#include <cstdint>
#include <utility>

#include "odca/math.hpp"

namespace odca {

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

// The next `Width` lanes from `v` on: sums over the row stay in registers.
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

// The dot product with v, and the squared norm from the same read of the row.
inline double dot_and_norm(const Row& row, const double* v, double& norm) {
  double a = 0.0, b = 0.0, c = 0.0, d = 0.0, na = 0.0, nb = 0.0, nc = 0.0, nd = 0.0;
  const auto sum = [&, h = row.value, n = row.size](auto at) {
    std::int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
      a += h[i] * v[at(i)], b += h[i + 1] * v[at(i + 1)], c += h[i + 2] * v[at(i + 2)], d += h[i + 3] * v[at(i + 3)];
      na += h[i] * h[i], nb += h[i + 1] * h[i + 1], nc += h[i + 2] * h[i + 2], nd += h[i + 3] * h[i + 3];
    }
    for (; i < n; ++i) a += h[i] * v[at(i)], na += h[i] * h[i];
  };
  if (const std::int32_t* j = row.index)
    sum([j](std::int64_t i) { return j[i]; });
  else
    sum([](std::int64_t i) { return i; });
  norm = (na + nb) + (nc + nd);
  return (a + b) + (c + d);
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
        const double a = v[j[i]] + t * row.value[i], b = v[j[i + 1]] + t * row.value[i + 1];
        const double c = v[j[i + 2]] + t * row.value[i + 2], d = v[j[i + 3]] + t * row.value[i + 3];
        v[j[i]] = a, v[j[i + 1]] = b, v[j[i + 2]] = c, v[j[i + 3]] = d;
      }
    for (; i < row.size; ++i) v[row.feature(i)] += t * row.value[i];
  } else {
    detail::in_runs(lanes, [&](auto width, int l) { detail::add_lanes<width()>(row, step + l, v + l, lanes); });
  }
}

}  // namespace odca
