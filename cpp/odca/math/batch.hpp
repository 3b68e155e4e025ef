// The caller's arrays, read row by row.
//
// A row comes out as a Row: doubles, 32-bit indices that strictly increase and lie inside the matrix. Where the
// caller's memory already looks like that nothing is copied. Rows with unsorted indices are sorted, equal
// indices are added up (as SciPy reads them).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
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

class Batch {
 public:
  AnyMatrix matrix;
  std::int64_t rows = 0, width = 0;
  bool intercept = false;  // puts a constant feature in front: it becomes feature 0, column j feature j + 1
  bool widens = false;     // a feature appears with the first row that has it, instead of all at the beginning

  bool is_sparse() const { return matrix.index() >= 2; }  // behind the two dense ones
  std::int64_t features() const { return width + (intercept ? 1 : 0); }

  std::int64_t stored() const {
    return std::visit([this](const auto& m) { return stored_in(m) + (intercept ? rows : 0); }, matrix);
  }

  // Valid until the next call with the same scratch.
  struct Scratch {
    std::vector<std::int32_t> index;
    std::vector<double> value;
    std::vector<std::pair<std::int32_t, double>> pairs;
  };

  [[gnu::always_inline]] Row row(std::int64_t i, Scratch& scratch) const {
    if (const auto* csr = std::get_if<SparseMatrix<std::int32_t, double>>(&matrix)) return read(*csr, i, scratch);
    return std::visit([&](const auto& m) { return read(m, i, scratch); }, matrix);
  }

  // Calls visit(feature) for what a sparse row holds, unchecked, in no promised order: a look ahead, which may see
  // nothing.
  template <class Visit>
  [[gnu::always_inline]] void peek(std::int64_t i, Visit&& visit) const {
    const auto* csr = std::get_if<SparseMatrix<std::int32_t, double>>(&matrix);
    if (!csr || i >= rows) return;
    const std::int64_t shift = intercept ? 1 : 0, end = std::min<std::int64_t>(csr->start[i + 1], csr->stored);
    for (std::int64_t k = std::max<std::int64_t>(csr->start[i], 0); k < end; ++k) visit(csr->index[k] + shift);
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
    scratch.value.resize(static_cast<std::size_t>(width + first));
    if (intercept) scratch.value[0] = 1.0;
    for (std::int64_t j = 0; j < width; ++j) scratch.value[j + first] = static_cast<double>(m.at(i, j));
    return {nullptr, scratch.value.data(), width + first};
  }

  template <class I, class V>
  [[gnu::always_inline]] Row read(const SparseMatrix<I, V>& m, std::int64_t i, Scratch& scratch) const {
    const std::int64_t from = m.start[i], to = m.start[i + 1], n = to - from;
    if (from < 0 || to < from || to > m.stored) refuse_span(i, from, to, m.stored);
    const I* index = m.index + from;
    const V* value = m.value + from;
    I disorder = 0;  // as wide as an index, so that the comparisons vectorise
    for (std::int64_t k = 1; k < n; ++k) disorder |= index[k - 1] >= index[k];
    if (disorder) return sorted(i, index, value, n, scratch);
    if (n > 0 && (index[0] < 0 || index[n - 1] >= width)) refuse_column(i, index[0] < 0 ? index[0] : index[n - 1]);
    if constexpr (std::is_same_v<I, std::int32_t> && std::is_same_v<V, double>)
      if (!intercept) return {index, value, n};
    return converted(index, value, n, scratch);
  }

  template <class I, class V>
  [[gnu::noinline]] Row converted(const I* index, const V* value, std::int64_t n, Scratch& scratch) const {
    const std::int32_t first = intercept ? 1 : 0;
    resize(scratch, n + first);
    if (first) scratch.index[0] = 0, scratch.value[0] = 1.0;
    for (std::int64_t k = 0; k < n; ++k) {
      scratch.index[k + first] = static_cast<std::int32_t>(index[k]) + first;
      scratch.value[k + first] = static_cast<double>(value[k]);
    }
    return {scratch.index.data(), scratch.value.data(), n + first};
  }

  template <class I, class V>
  [[gnu::noinline]] Row sorted(std::int64_t i, const I* index, const V* value, std::int64_t n, Scratch& scratch) const {
    const std::int32_t first = intercept ? 1 : 0;
    scratch.pairs.clear();
    if (first) scratch.pairs.emplace_back(0, 1.0);
    for (std::int64_t k = 0; k < n; ++k) {
      if (index[k] < 0 || index[k] >= width) refuse_column(i, index[k]);
      scratch.pairs.emplace_back(static_cast<std::int32_t>(index[k]) + first, static_cast<double>(value[k]));
    }
    std::stable_sort(scratch.pairs.begin(), scratch.pairs.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    resize(scratch, 0);
    for (const auto& [j, h] : scratch.pairs) {
      if (!scratch.index.empty() && scratch.index.back() == j) {
        scratch.value.back() += h;
      } else {
        scratch.index.push_back(j);
        scratch.value.push_back(h);
      }
    }
    return {scratch.index.data(), scratch.value.data(), static_cast<std::int64_t>(scratch.index.size())};
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

  static void resize(Scratch& scratch, std::int64_t n) {
    scratch.index.resize(static_cast<std::size_t>(n));
    scratch.value.resize(static_cast<std::size_t>(n));
  }
};

// y, weights or offsets: one column per lane, or one column that all lanes share (lane_stride 0).
struct Columns {
  const double* data = nullptr;
  std::int64_t row_stride = 0, lane_stride = 0;
  double otherwise = 0.0;  // the value where there is no array

  double at(std::int64_t row, int lane) const { return data ? data[row * row_stride + lane * lane_stride] : otherwise; }
};

}  // namespace odca
