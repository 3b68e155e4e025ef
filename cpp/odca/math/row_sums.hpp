// Weighted sums of rows that lie anywhere in memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "odca/math/pack4.hpp"

namespace odca {

namespace detail {

template <int Count, class RowAt>
[[gnu::always_inline]] inline void add_rows_from(std::int64_t i, std::int64_t n, const double* h, const RowAt& row,
                                                 std::int64_t width, double* __restrict z) {
  const double *now[Count], *next[Count];
  for (int r = 0; r < Count; ++r) now[r] = row(i + r), next[r] = row(std::min(i + r + Count, n - 1));
  for (std::int64_t at = 0; at < width; at += 4) {
    if (at % 8 == 0)  // a cache line
      for (int r = 0; r < Count; ++r) __builtin_prefetch(next[r] + at, 0, 2);
    double sum[4];
    for (int k = 0; k < 4; ++k) sum[k] = z[at + k];
    for (int r = 0; r < Count; ++r)
      for (int k = 0; k < 4; ++k) sum[k] += h[i + r] * now[r][at + k];
    for (int k = 0; k < 4; ++k) z[at + k] = sum[k];
  }
}

// Rows of eight numbers, whose sums stay in registers.
template <class RowAt>
[[gnu::always_inline]] inline void add_rows_of_eight(std::int64_t n, const double* h, const RowAt& row, double* z) {
  Pack4 low = Pack4::from(z), high = Pack4::from(z + 4);
  for (std::int64_t i = 0; i < n; ++i) {
    const double* const at = row(i);
    const Pack4 factor = Pack4::all(h[i]);
    low += factor * Pack4::from(at), high += factor * Pack4::from(at + 4);
  }
  low.to(z), high.to(z + 4);
}

}  // namespace detail

// z += h[i] row(i) for i = 0, ..., n - 1, in this order; rows have `width` numbers, a multiple of four. Four rows are read at a time,
// while the next four are fetched from memory.
template <class RowAt>
void add_rows(std::int64_t n, const double* h, const RowAt& row, std::int64_t width, double* z) {
  if (width == 8) return detail::add_rows_of_eight(n, h, row, z);
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) detail::add_rows_from<4>(i, n, h, row, width, z);
  for (; i < n; ++i) detail::add_rows_from<1>(i, n, h, row, width, z);
}

}  // namespace odca
