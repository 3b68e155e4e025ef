// The caller's arrays, read row by row.
//
// Each row is delivered as a Row: doubles, with 32-bit indices that strictly increase and lie inside the matrix. Rows with
// unsorted indices are sorted, and the values of equal indices are added (as SciPy does).
//
// Another thread, or a loss in Python, may write to the caller's arrays during a call. So a sparse row is copied first, and
// the copy is checked and used. (This takes no longer than checking it in place would, as the rows that follow are prefetched.)
// A dense row of doubles is used in place: whatever it holds, it has no indices.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "odca/errors.hpp"
#include "odca/math/row.hpp"

namespace odca {

template <class T>
struct DenseMatrix {
  const char* data;
  std::int64_t row_stride, column_stride;  // in bytes

  T at(std::int64_t i, std::int64_t j) const {
    return *reinterpret_cast<const T*>(data + i * row_stride + j * column_stride);
  }
};

template <class Index, class Value>
struct SparseMatrix {
  const Index* start;  // rows + 1 offsets
  const Index* index;
  const Value* value;
  std::int64_t stored;  // length of `index` and `value`
};

using AnyMatrix = std::variant<DenseMatrix<double>, DenseMatrix<float>, SparseMatrix<std::int32_t, double>,
                               SparseMatrix<std::int32_t, float>, SparseMatrix<std::int64_t, double>,
                               SparseMatrix<std::int64_t, float>>;

// Reads a number of the caller's exactly once: it may change at any time.
template <class T>
T read_once(const T& number) {
  return *static_cast<const volatile T*>(&number);
}

class Batch {
 public:
  AnyMatrix matrix;
  std::int64_t rows = 0, width = 0;
  bool intercept = false;  // adds a constant feature in front: it is feature 0, and column j is feature j + 1
  bool widens = false;     // a feature is added with the first row that has it, instead of all at the start

  bool is_sparse() const { return matrix.index() >= 2; }  // the two dense types come first
  std::int64_t features() const { return width + (intercept ? 1 : 0); }

  std::int64_t stored() const {
    return std::visit([this](const auto& m) { return stored_in(m) + (intercept ? rows : 0); }, matrix);
  }

  // Where a row is copied to; the row is valid until the next call with the same scratch.
  struct Scratch {
    std::vector<std::int32_t> index;
    std::vector<double> value;
    std::vector<std::pair<std::int32_t, double>> pairs;

    void make_room(std::int64_t n) {
      const auto size = static_cast<std::size_t>(n);
      if (index.size() < size) index.resize(size);
      if (value.size() < size) value.resize(size);
    }
  };

  [[gnu::always_inline]] Row row(std::int64_t i, Scratch& scratch) const {
    if (const auto* csr = std::get_if<SparseMatrix<std::int32_t, double>>(&matrix)) return read(*csr, i, scratch);
    return std::visit([&](const auto& m) { return read(m, i, scratch); }, matrix);
  }

  // Calls visit(feature) for the features of a sparse row, unchecked and in any order, to prefetch them: for all of them, or for every
  // parts-th. It may visit none.
  template <class Visit>
  [[gnu::always_inline]] void peek(std::int64_t i, Visit&& visit, std::int64_t part = 0, std::int64_t parts = 1) const {
    if (i >= rows) return;
    const std::int64_t shift = intercept ? 1 : 0;
    std::visit(
        [&](const auto& m) {
          if constexpr (requires { m.index; }) {
            const auto begin = std::max<std::int64_t>(read_once(m.start[i]), 0);
            const auto end = std::min<std::int64_t>(read_once(m.start[i + 1]), m.stored);
            for (std::int64_t k = begin + part; k < end; k += parts)
              visit(static_cast<std::int64_t>(read_once(m.index[k])) + shift);
          }
        },
        matrix);
  }

 private:
  template <class T>
  std::int64_t stored_in(const DenseMatrix<T>&) const {
    return rows * width;
  }
  template <class I, class V>
  std::int64_t stored_in(const SparseMatrix<I, V>& m) const {
    return m.stored;
  }

  template <class T>
  Row read(const DenseMatrix<T>& m, std::int64_t i, Scratch& scratch) const {
    if constexpr (std::is_same_v<T, double>)
      if (!intercept && m.column_stride == sizeof(double))
        return {nullptr, reinterpret_cast<const double*>(m.data + i * m.row_stride), width};
    const std::int64_t first = intercept ? 1 : 0;
    scratch.make_room(width + first);
    if (intercept) scratch.value[0] = 1.0;
    for (std::int64_t j = 0; j < width; ++j) scratch.value[j + first] = static_cast<double>(m.at(i, j));
    return {nullptr, scratch.value.data(), width + first};
  }

  template <class I, class V>
  [[gnu::always_inline]] Row read(const SparseMatrix<I, V>& m, std::int64_t i, Scratch& scratch) const {
    const std::int64_t from = read_once(m.start[i]), to = read_once(m.start[i + 1]), n = to - from;
    if (from < 0 || to < from || to > m.stored) refuse_span(i, from, to, m.stored);
    const std::int64_t first = intercept ? 1 : 0;
    scratch.make_room(first + n + 3);  // it is written in fours
    std::int32_t* const index = scratch.index.data();
    double* const value = scratch.value.data();
    if (intercept) index[0] = 0, value[0] = 1.0;
    if (!copy(m, from, n, index + first, value + first)) return sorted(m, i, from, n, scratch);
    if (n > 0 && index[first + n - 1] >= width) refuse_column(i, read_once(m.index[to - 1]));
    if (intercept)
      for (std::int64_t k = first; k <= n; ++k) ++index[k];
    return {index, value, first + n};
  }

  template <class T>
  struct FourOf {
    typedef T type __attribute__((vector_size(4 * sizeof(T))));
  };
  template <class T>
  using Four = typename FourOf<T>::type;

  // Copies a row. False if the indices in the copy do not strictly increase from 0 on. What does not fit into 32 bits is -1 there.
  template <class I, class V>
  [[gnu::always_inline]] static bool copy(const SparseMatrix<I, V>& m, std::int64_t from, std::int64_t n,
                                          std::int32_t* index, double* value) {
    using Indices = Four<std::int32_t>;
    constexpr std::int64_t ahead = 256;  // what is prefetched
    const I* const indices = m.index + from;
    const V* const values = m.value + from;
    Indices last{-1, -1, -1, -1}, increases = last, of_last = last;
    std::int64_t k = 0;
    for (const std::int64_t end = std::min(n, m.stored - from - 3); k < end; k += 4) {
      __builtin_prefetch(indices + k + ahead), __builtin_prefetch(values + k + ahead);
      const Four<I> read = read_four_once(indices + k);
      Indices now = __builtin_convertvector(read, Indices);
      if constexpr (sizeof(I) > 4)
        now |= __builtin_convertvector(__builtin_convertvector(now, Four<I>) != read, Indices);
      const Indices between = __builtin_shufflevector(last, now, 3, 3, 4, 4);
      increases &= of_last;
      of_last = __builtin_shufflevector(between, now, 0, 2, 5, 6) < now;
      std::memcpy(index + k, &now, sizeof now);
      copy_four(values + k, value + k);
      last = now;
    }
    // The last four may reach into the next row, where they do not count.
    increases &= of_last | (Indices{0, 1, 2, 3} >= static_cast<std::int32_t>(n - k + 4));
    bool sorted = (increases[0] & increases[1]) & (increases[2] & increases[3]);
    for (std::int32_t before = last[3]; k < n; ++k) {  // the end of the arrays
      const I read = read_once(indices[k]);
      index[k] = std::in_range<std::int32_t>(read) ? static_cast<std::int32_t>(read) : -1;
      value[k] = static_cast<double>(values[k]);
      sorted &= before < index[k];
      before = index[k];
    }
    return sorted;
  }

  // Sorts the row in the scratch, and adds the values of equal indices.
  template <class I, class V>
  [[gnu::noinline]] Row sorted(const SparseMatrix<I, V>& m, std::int64_t i, std::int64_t from, std::int64_t n,
                               Scratch& scratch) const {
    const std::int32_t first = intercept ? 1 : 0;
    scratch.pairs.clear();
    if (intercept) scratch.pairs.emplace_back(0, 1.0);
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int32_t j = scratch.index[first + k];
      if (j < 0 || j >= width) refuse_column(i, read_once(m.index[from + k]));
      scratch.pairs.emplace_back(j + first, scratch.value[first + k]);
    }
    std::stable_sort(scratch.pairs.begin(), scratch.pairs.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::int64_t size = 0;
    for (const auto& [j, h] : scratch.pairs) {
      if (size > 0 && scratch.index[size - 1] == j) {
        scratch.value[size - 1] += h;
      } else {
        scratch.index[size] = j;
        scratch.value[size++] = h;
      }
    }
    return {scratch.index.data(), scratch.value.data(), size};
  }

  static void copy_four(const double* from, double* to) {
    const Pack ab = load(from), cd = load(from + 2);
    std::memcpy(to, &ab, sizeof ab), std::memcpy(to + 2, &cd, sizeof cd);
  }
  static void copy_four(const float* from, double* to) {
    for (int k = 0; k < 4; ++k) to[k] = from[k];
  }

  template <class I>
  static Four<I> read_four_once(const I* from) {
    typedef I Unaligned __attribute__((vector_size(4 * sizeof(I)), aligned(sizeof(I)), may_alias));
    return *reinterpret_cast<const volatile Unaligned*>(from);
  }

  [[noreturn, gnu::noinline]] static void refuse_span(std::int64_t i, std::int64_t from, std::int64_t to,
                                                      std::int64_t stored) {
    throw InputError("X is not a valid CSR matrix: ", at_row(i),
                     " spans [" + std::to_string(from) + ", " + std::to_string(to) + ") of " + std::to_string(stored) +
                         " stored values");
  }
  [[noreturn, gnu::noinline]] void refuse_column(std::int64_t i, std::int64_t j) const {
    throw InputError("X is not a valid CSR matrix: ", at_row(i),
                     " has column index " + std::to_string(j) + ", outside 0.." + std::to_string(width - 1));
  }
};

// Labels, weights or offsets of events: one value per lane, or one that all lanes share (lane_stride 0).
struct LaneValues {
  const double* data = nullptr;
  std::int64_t row_stride = 0, lane_stride = 0;
  double otherwise = 0.0;  // the value if there is no array

  double at(std::int64_t row, int lane) const { return data ? data[row * row_stride + lane * lane_stride] : otherwise; }

  // The values of a row, each for `times` lanes in a row.
  [[gnu::always_inline]] void copy_row(std::int64_t row, int lanes, int times, double* out) const {
    if (!data || lane_stride == 0) {
      std::fill_n(out, lanes, at(row, 0));
    } else if (times == 1) {
      const double* const from = data + row * row_stride;
      for (int l = 0; l < lanes; ++l) out[l] = from[l * lane_stride];
    } else {
      for (int l = 0; l < lanes; ++l) out[l] = at(row, l / times);
    }
  }
};

}  // namespace odca
