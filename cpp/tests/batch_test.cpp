#include "odca/math/batch.hpp"

#include <doctest/doctest.h>

#include <map>

#include "support.hpp"

using namespace odca::test;
using odca::AnyMatrix;
using odca::Batch;
using odca::DenseMatrix;
using odca::InputError;
using odca::LaneValues;
using odca::Row;
using odca::SparseMatrix;

namespace {

// The meaning of a row: its non-zero features.
std::map<std::int64_t, double> meaning(const Row& row) {
  std::map<std::int64_t, double> out;
  row.each([&](std::int64_t j, double h) {
    if (h != 0.0) out[j] = h;
  });
  return out;
}

// The invariant of every Row: indices that strictly increase and lie inside the matrix.
void check_promise(const Row& row, std::int64_t features) {
  std::int64_t last = -1;
  row.each([&](std::int64_t j, double) {
    REQUIRE(j > last);
    REQUIRE(j < features);
    last = j;
  });
}

template <class Index, class Value>
struct Csr {
  std::int64_t width;
  std::vector<Index> start = {0}, index = {};
  std::vector<Value> value = {};

  void row(std::initializer_list<std::pair<Index, Value>> entries) {
    for (const auto& [j, h] : entries) index.push_back(j), value.push_back(h);
    start.push_back(static_cast<Index>(index.size()));
  }
  Batch batch(bool intercept = false) const {
    return {
        SparseMatrix<Index, Value>{start.data(), index.data(), value.data(), static_cast<std::int64_t>(index.size())},
        static_cast<std::int64_t>(start.size()) - 1, width, intercept};
  }
};

template <class T>
Batch dense(const std::vector<T>& data, std::int64_t rows, std::int64_t width, std::int64_t row_step,
            std::int64_t column_step, std::int64_t first = 0, bool intercept = false) {
  const auto item = static_cast<std::int64_t>(sizeof(T));
  return {DenseMatrix<T>{reinterpret_cast<const char*>(data.data() + first), row_step * item, column_step * item}, rows,
          width, intercept};
}

template <class Index, class Value>
void check_sparse() {
  Random random(61);
  for (const bool intercept : {false, true}) {
    Csr<Index, Value> csr{.width = 20};
    std::vector<std::map<std::int64_t, double>> wanted;
    for (int i = 0; i < 200; ++i) {
      std::map<std::int64_t, double> row;
      if (intercept) row[0] = 1.0;
      const bool sorted = random.chance(0.5);
      std::vector<std::pair<Index, Value>> entries;
      for (std::int64_t n = random.between(0, 12); n > 0; --n)
        entries.emplace_back(static_cast<Index>(random.below(20)), static_cast<Value>(random.between(-8, 8)));
      if (sorted) {
        std::sort(entries.begin(), entries.end());
        const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
        entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
      }
      for (const auto& [j, h] : entries) {
        csr.index.push_back(j);
        csr.value.push_back(h);
        row[j + (intercept ? 1 : 0)] += static_cast<double>(h);  // whole numbers: their sum is exact
      }
      csr.start.push_back(static_cast<Index>(csr.index.size()));
      std::erase_if(row, [](const auto& entry) { return entry.second == 0.0; });
      wanted.push_back(row);
    }
    const Batch batch = csr.batch(intercept);
    CHECK(batch.features() == 20 + (intercept ? 1 : 0));
    CHECK(batch.stored() == static_cast<std::int64_t>(csr.index.size()) + (intercept ? 200 : 0));
    Batch::Scratch scratch;
    for (int i = 0; i < 200; ++i) {
      const Row row = batch.row(i, scratch);
      check_promise(row, batch.features());
      REQUIRE(row.index != nullptr);
      REQUIRE(meaning(row) == wanted[static_cast<std::size_t>(i)]);
    }
  }
}

template <class T>
void check_dense() {
  Random random(62);
  const std::int64_t rows = 7, width = 5;
  std::vector<T> data(400);
  for (T& x : data) x = static_cast<T>(random.bell());
  struct Layout {
    std::int64_t row_step, column_step, first;
  };
  // By rows, by columns, every other row, every third column, backwards in both, and one row for all.
  for (const Layout& layout : {Layout{5, 1, 0}, {1, 7, 0}, {10, 1, 3}, {15, 3, 2}, {-5, -1, 100}, {0, 1, 9}, {1, 0, 4}})
    for (const bool intercept : {false, true}) {
      const Batch batch = dense(data, rows, width, layout.row_step, layout.column_step, layout.first, intercept);
      CHECK(batch.stored() == rows * width + (intercept ? rows : 0));
      Batch::Scratch scratch;
      for (std::int64_t i = 0; i < rows; ++i) {
        const Row row = batch.row(i, scratch);
        REQUIRE(row.index == nullptr);
        REQUIRE(row.size == width + (intercept ? 1 : 0));
        if (intercept) REQUIRE(row.value[0] == 1.0);
        for (std::int64_t j = 0; j < width; ++j) {
          const T wanted = data[layout.first + i * layout.row_step + j * layout.column_step];
          REQUIRE(row.value[j + (intercept ? 1 : 0)] == static_cast<double>(wanted));
        }
      }
    }
}

template <class Index, class Value>
std::string error_of(const Csr<Index, Value>& csr, std::int64_t row, bool intercept = false) {
  Batch::Scratch scratch;
  try {
    csr.batch(intercept).row(row, scratch);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

template <class Index>
void check_refusals() {
  const Csr<Index, double> good{5, {0, 2, 3}, {0, 4, 2}, {1.0, 2.0, 3.0}};
  CHECK(error_of(good, 0) == "no error");
  CHECK(error_of(good, 1) == "no error");

  Csr<Index, double> bad = good;
  bad.start = {0, 2, 4};  // beyond the end
  CHECK(error_of(bad, 0) == "no error");
  CHECK(error_of(bad, 1) == "X is not a valid CSR matrix: row 1 spans [2, 4) of 3 stored values");
  bad.start = {0, 2, 1};  // backwards
  CHECK(error_of(bad, 1).find("row 1 spans [2, 1)") != std::string::npos);
  bad.start = {-1, 2, 3};
  CHECK(error_of(bad, 0).find("row 0 spans [-1, 2)") != std::string::npos);

  for (const bool intercept : {false, true}) {
    bad = good;
    bad.index = {0, 5, 2};  // the last of a row in order
    CHECK(error_of(bad, 0, intercept) == "X is not a valid CSR matrix: row 0 has column index 5, outside 0..4");
    bad.index = {-1, 4, 2};  // the first of a row in order
    CHECK(error_of(bad, 0, intercept).find("column index -1") != std::string::npos);
    bad.index = {4, -1, 2};  // a row out of order
    CHECK(error_of(bad, 0, intercept).find("column index -1") != std::string::npos);
    bad.index = {7, 4, 2};
    CHECK(error_of(bad, 0, intercept).find("column index 7") != std::string::npos);
    bad.index = {std::numeric_limits<Index>::max(), 4, 2};
    CHECK(error_of(bad, 0, intercept).find("outside 0..4") != std::string::npos);
    bad.index = {0, std::numeric_limits<Index>::max(), 2};
    CHECK(error_of(bad, 0, intercept).find("outside 0..4") != std::string::npos);
    bad.index = {std::numeric_limits<Index>::min(), 0, 2};
    CHECK(error_of(bad, 0, intercept).find("outside 0..4") != std::string::npos);
    bad = {5, {0, 6}, {0, 1, 2, 3, 4, std::numeric_limits<Index>::max()}, std::vector<double>(6, 1.0)};
    for (std::size_t at = 0; at < 6; ++at) {  // in the part that is read in fours, and behind it
      std::swap(bad.index[at], bad.index[5]);
      CHECK(error_of(bad, 0, intercept).find(std::to_string(std::numeric_limits<Index>::max())) != std::string::npos);
      std::swap(bad.index[at], bad.index[5]);
    }
  }
}

}  // namespace

TEST_CASE("dense matrices of both types are read through any strides") {
  check_dense<double>();
  check_dense<float>();
}

TEST_CASE("sparse matrices of all types are read, sorted and summed where necessary") {
  check_sparse<std::int32_t, double>();
  check_sparse<std::int32_t, float>();
  check_sparse<std::int64_t, double>();
  check_sparse<std::int64_t, float>();
}

TEST_CASE("rows and indices that do not fit the matrix are refused by name") {
  check_refusals<std::int32_t>();
  check_refusals<std::int64_t>();
  const Csr<std::int64_t, double> cut{9, {0, 4}, {1, (std::int64_t{1} << 32) + 2, 3, 4}, {1.0, 2.0, 3.0, 4.0}};
  CHECK(error_of(cut, 0).find("column index 4294967298") != std::string::npos);  // its lower 32 bits would fit
}

TEST_CASE("a dense row of doubles is used in place; every other row is a copy") {
  Batch::Scratch scratch;
  const std::vector<double> data = {1.0, 2.0, 3.0, 4.0};
  CHECK(dense(data, 2, 2, 2, 1).row(1, scratch).value == data.data() + 2);
  const double* const of_columns = dense(data, 2, 2, 1, 2).row(1, scratch).value;  // makes room in the scratch first
  CHECK(of_columns == scratch.value.data());
  const Csr<std::int32_t, double> csr{2, {0, 2}, {0, 1}, {5.0, 6.0}};
  const Row copy = csr.batch().row(0, scratch);
  CHECK(copy.value == scratch.value.data());
  CHECK(copy.index == scratch.index.data());
}

TEST_CASE("rows of any length are read to their end, and no further") {
  Csr<std::int32_t, double> csr{.width = 40};
  std::vector<std::map<std::int64_t, double>> wanted;
  for (const int length : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 1, 4, 3}) {
    std::map<std::int64_t, double>& row = wanted.emplace_back();
    for (int k = 0; k < length; ++k) {
      const std::int32_t j =
          40 - 2 * length + 2 * k;  // the row behind it begins lower: a row must not seem unsorted for that
      csr.index.push_back(j), csr.value.push_back(k + 1.0), row[j] = k + 1.0;
    }
    csr.start.push_back(static_cast<std::int32_t>(csr.index.size()));
  }
  Batch::Scratch scratch;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Row row = csr.batch().row(static_cast<std::int64_t>(i), scratch);
    check_promise(row, 40);
    CHECK(scratch.pairs.empty());
    CHECK(meaning(row) == wanted[i]);
  }
}

TEST_CASE("explicit zeros stay, equal indices are added in their order") {
  Csr<std::int32_t, double> csr{.width = 4};
  csr.row({{2, 0.0}});
  csr.row({{3, 1e16}, {1, 5.0}, {3, 1.0}, {3, -1e16}});
  csr.row({{1, 1.0}, {1, 2.0}});
  Batch::Scratch scratch;
  const Row zero = csr.batch().row(0, scratch);
  CHECK(zero.size == 1);
  CHECK(zero.value[0] == 0.0);
  const Row sum = csr.batch().row(1, scratch);
  REQUIRE(sum.size == 2);
  CHECK(sum.index[0] == 1);
  CHECK(sum.index[1] == 3);
  CHECK(sum.value[1] == (1e16 + 1.0) - 1e16);
  const Row twice = csr.batch().row(2, scratch);
  REQUIRE(twice.size == 1);
  CHECK(twice.value[0] == 3.0);
}

TEST_CASE("empty rows and matrices without columns are valid") {
  Batch::Scratch scratch;
  Csr<std::int32_t, double> csr{.width = 0};
  csr.row({});
  CHECK(csr.batch().row(0, scratch).size == 0);
  const Row constant = csr.batch(true).row(0, scratch);
  REQUIRE(constant.size == 1);
  CHECK(constant.feature(0) == 0);
  CHECK(constant.value[0] == 1.0);
  const std::vector<double> nothing;
  CHECK(dense(nothing, 3, 0, 0, 1).row(2, scratch).size == 0);
  CHECK(dense(nothing, 3, 0, 0, 1, 0, true).row(2, scratch).size == 1);
}

TEST_CASE("one scratch serves rows of different kinds in turn") {
  Csr<std::int64_t, float> csr{.width = 9};
  csr.row({{8, 1.0F}, {2, 2.0F}, {8, 3.0F}});
  csr.row({{0, 7.0F}, {5, 8.0F}});
  csr.row({});
  Batch::Scratch scratch;
  for (int round = 0; round < 3; ++round) {
    CHECK(meaning(csr.batch().row(0, scratch)) == std::map<std::int64_t, double>{{2, 2.0}, {8, 4.0}});
    CHECK(meaning(csr.batch().row(1, scratch)) == std::map<std::int64_t, double>{{0, 7.0}, {5, 8.0}});
    CHECK(meaning(csr.batch(true).row(1, scratch)) == std::map<std::int64_t, double>{{0, 1.0}, {1, 7.0}, {6, 8.0}});
    CHECK(csr.batch().row(2, scratch).size == 0);
  }
}

TEST_CASE("columns are read by row and lane, shared, or absent") {
  const std::vector<double> data = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
  const LaneValues own{data.data(), 2, 1, 0.0}, shared{data.data(), 1, 0, 0.0}, absent{nullptr, 0, 0, 7.0};
  CHECK(own.at(2, 1) == 6.0);
  CHECK(own.at(1, 0) == 3.0);
  CHECK(shared.at(4, 0) == 5.0);
  CHECK(shared.at(4, 1) == 5.0);
  CHECK(absent.at(100, 3) == 7.0);
}

TEST_CASE("the product of a row with a lane has the same bits whatever the other lanes") {
  // dot and add split the lanes into runs of 8, 4, 2 and 1: this must not change a lane.
  Random random(63);
  for (const bool sparse : {false, true})
    for (int lanes = 1; lanes <= 19; ++lanes) {
      const std::int64_t features = 30;
      std::vector<std::int32_t> index;
      std::vector<double> value;
      for (std::int32_t j = 0; j < features; ++j)
        if (!sparse || random.chance(0.4)) index.push_back(j), value.push_back(random.bell());
      const Row row{sparse ? index.data() : nullptr, value.data(), static_cast<std::int64_t>(value.size())};
      std::vector<double> v(features * lanes), step(lanes), got(lanes);
      for (double& x : v) x = random.bell();
      for (double& x : step) x = random.bell();
      odca::dot<0>(row, v.data(), lanes, got.data());
      std::vector<double> moved = v;
      odca::add<0>(row, step.data(), moved.data(), lanes);
      for (int l = 0; l < lanes; ++l) {
        double sum = 0.0;
        row.each([&](std::int64_t j, double h) { sum += h * v[j * lanes + l]; });
        REQUIRE(same_bits(got[l], sum));
        row.each([&](std::int64_t j, double h) { v[j * lanes + l] += step[l] * h; });
      }
      REQUIRE(same_bits(moved, v));
    }
}

TEST_CASE("products with a row are right for one lane and rows of every length") {
  Random random(64);
  for (const bool sparse : {false, true})
    for (std::int64_t n = 0; n <= 21; ++n) {
      std::vector<std::int32_t> index;
      std::vector<double> value, v(50);
      for (std::int64_t i = 0; i < n; ++i) {
        index.push_back(static_cast<std::int32_t>(2 * i + 1));
        value.push_back(random.bell());
      }
      for (double& x : v) x = random.bell();
      const Row row{sparse ? index.data() : nullptr, value.data(), n};
      long double sum = 0.0L, squares = 0.0L, size = 0.0L;
      row.each([&](std::int64_t j, double h) {
        sum += static_cast<long double>(h) * v[j];
        squares += static_cast<long double>(h) * h;
        size += std::fabs(h * v[j]);
      });
      double got = -1.0;
      odca::dot<1>(row, v.data(), 1, &got);
      REQUIRE(std::fabs(got - sum) <= 1e-15L * size);
      REQUIRE(std::fabs(odca::squared_norm(row) - squares) <= 1e-15L * squares);
      std::vector<double> wanted = v;
      const double step = random.bell();
      row.each([&](std::int64_t j, double h) { wanted[j] += step * h; });
      odca::add<1>(row, &step, v.data(), 1);
      REQUIRE(same_bits(v, wanted));
    }
}
