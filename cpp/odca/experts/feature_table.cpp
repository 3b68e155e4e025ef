// Rows are standardised here; features become dense and sparse; a saved table is checked. Steps are in steps.cpp, merging in merging.cpp.
#include "odca/experts/feature_table.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "odca/math/pack4.hpp"
#include "odca/math/row_sums.hpp"

namespace odca::experts {

namespace {

constexpr double furthest_value = 30.0, few_values = 8.0;

// What a file may hold. Values are at most 1e100, events at most 2^53, and no weight of an event is more than their number.
constexpr double most_mass = 1e40, largest_sum = 1e290, largest_saved = 1e200, rounded_down = 1.0 - 1e-9;

// The eight statistics of four features.
struct Statistics {
  Pack4 count, mean, square, slopes, curvatures, recent, density, elsewhere;

  static Statistics of(const double* const* record) {
    const auto low = [&](int n) { return Pack4::from(record[n]); };
    const auto high = [&](int n) { return Pack4::from(record[n] + 4); };
    Statistics out{low(0), low(1), low(2), low(3), high(0), high(1), high(2), high(3)};
    transpose(out.count, out.mean, out.square, out.slopes);
    transpose(out.curvatures, out.recent, out.density, out.elsewhere);
    return out;
  }
};

// A value counts as at most so many deviations from the mean of those before it (root mean squares, where it is sparse), for scale and
// margin alike: a single one must not decide what all others are worth.
double bounded_value(double x, double n, double m, double square, bool is_dense) {
  const double d = x - m, squares = is_dense ? square : square + n * m * m;
  const bool is_far = n >= few_values && squares > 0.0 && d * d * n > furthest_value * furthest_value * squares;
  return is_far ? m + std::copysign(furthest_value * std::sqrt(squares / n), d) : x;
}
[[gnu::noinline]] void bound_values(double* x, const Statistics& of) {
  for (int n = 0; n < 4; ++n) x[n] = bounded_value(x[n], of.count[n], of.mean[n], of.square[n], of.density[n] > 0.0);
}

}  // namespace

// Standardising

void FeatureTable::standardise(const Row& row, ScaledRow& out) const {
  out.reserve(static_cast<std::size_t>(row.size) + dense_.size());
  out.changed.clear();
  out.spare.fill(0.0);
  double* constant = nullptr;  // a copy of the constant's record, if it has to change
  gather(row, out);
  scale_values(out, constant);
  append_absent(row, out, constant);
  Pack4 squares{};
  for (int i = 0; i < out.size; i += 4) {
    const Pack4 h = Pack4::from(&out.h[i]);
    squares += h * h;
  }
  out.norm = sum(squares);
}

// The non-zero features of a row with their records.
void FeatureTable::gather(const Row& row, ScaledRow& out) const {
  const double** const record = out.record.data();
  std::int64_t* const feature = out.feature.data();
  double* const x = out.x.data();
  std::int64_t known = row.size;
  while (known > 0 && row.feature(known - 1) >= size()) --known;
  int n = 0;
  const auto append = [&](const double* f, std::int64_t j, double value) {  // without a branch
    record[n] = f, feature[n] = j, x[n] = value;
    n += value != 0.0;
  };
  Row{row.index, row.value, known}.each([&](std::int64_t j, double value) { append(of(j), j, value); });
  for (std::int64_t i = known; i < row.size; ++i) append(blank_.data(), row.feature(i), row.value[i]);
  out.present = n;
  for (int k = n; k < n + 3; ++k) record[k] = out.spare.data(), x[k] = 0.0;
}

// Counts the row's values and standardises them, four at a time.
void FeatureTable::scale_values(ScaledRow& out, double*& constant) const {
  const Pack4 one = Pack4::all(1.0), zero{}, two = Pack4::all(2.0), events = Pack4::all(mass_ + 1.0);
  const Pack4 frequent = Pack4::all(mass_ >= 1.0 - 1e-9 ? (mass_ + 1.0) * (1.0 + 1e-9) : infinity);
  Pack4 dense{};
  for (int i = 0; i < out.present; i += 4) {
    Statistics of = Statistics::of(&out.record[i]);
    if (any((two * (of.count + one) > frequent) & (of.density == zero))) [[unlikely]] {
      use_dense_copies(out, i, constant);
      of = Statistics::of(&out.record[i]);
    }
    const Pack4 away = Pack4::from(&out.x[i]) - of.mean;
    if (any(away * away * of.count > Pack4::all(furthest_value * furthest_value) * of.square)) [[unlikely]]
      bound_values(&out.x[i], of);
    const Pack4 x = Pack4::from(&out.x[i]), times = of.count + one, inverse = one / times, d = x - of.mean;
    const Pack4 m = of.mean + d * inverse, s = of.square + d * (x - m), square_mean = m * m;
    const Mask4 is_dense = of.density > zero;
    const Pack4 share = select(is_dense, times / events, one);  // exactly one, if all events hold the feature
    const Pack4 centre = select(is_dense, share * m, zero);
    const Pack4 between = select(is_dense, share * (one - share) * square_mean, square_mean);
    const Pack4 variance = share * (s * inverse) + between;
    const Mask4 varies = variance > Pack4::all(least_variance) * square_mean;
    select(varies, (x - centre) / square_root(select(varies, variance, one)), zero).to(&out.h[i]);
    times.to(&out.count[i]), m.to(&out.mean[i]), s.to(&out.square[i]), of.slopes.to(&out.slopes[i]);
    of.curvatures.to(&out.curvatures[i]), of.recent.to(&out.recent[i]);
    of.density.to(&out.density[i]), of.elsewhere.to(&out.elsewhere[i]);
    dense += of.density;
  }
  out.holds_all_dense = out.changed.empty() && sum(dense) == static_cast<double>(dense_.size());
}

// For those of four features that are to become dense.
void FeatureTable::use_dense_copies(ScaledRow& out, int begin, double*& constant) const {
  for (int i = begin; i < std::min(begin + 4, out.present); ++i) {
    const double* f = out.record[i];
    if (f[record::density] != 0.0 || !is_frequent(f)) continue;
    if (!constant) constant = copy(constant_[0], out);
    double* const changed = copy(f, out);
    make_dense(changed, constant);
    out.record[i] = changed;
  }
}

// The dense features that the row does not hold, and the constant.
void FeatureTable::append_absent(const Row& row, ScaledRow& out, double*& constant) const {
  int n = out.present;
  const auto append = [&](const double* f, double h) {
    out.record[n] = f, out.h[n] = h;
    out.count[n] = f[record::count], out.mean[n] = f[record::mean], out.square[n] = f[record::square];
    out.slopes[n] = f[record::slopes], out.curvatures[n] = f[record::curvatures], out.recent[n] = f[record::recent(0)];
    out.density[n] = f[record::density], out.elsewhere[n] = f[record::elsewhere];
    ++n;
  };
  RowCursor in_row(row);
  for (const std::int64_t j : dense_) {
    if (out.holds_all_dense) break;
    if (in_row.holds(j)) continue;
    const double* f = of(j);
    if (is_rare(f)) [[unlikely]] {
      if (!constant) constant = copy(constant_[0], out);
      make_sparse(copy(f, out), constant);
      continue;
    }
    const Form form = dense_form(f, mass_ + 1.0);
    if (form.scale > 0.0) out.feature[n] = j, append(f, -form.centre / form.scale);
  }
  append(constant ? constant : constant_[0], 1.0);
  out.size = n;
  while (n % 4 != 0) append(out.spare.data(), 0.0);
}

double* FeatureTable::copy(const double* record, ScaledRow& out) const {
  out.changed.push_back(std::make_unique<double[]>(table_.width()));
  std::copy(record, record + table_.width(), out.changed.back().get());
  return out.changed.back().get();
}

void FeatureTable::update_density(const Row& row) {
  std::size_t next = 0;
  bool changed = false;
  row.each([&](std::int64_t j, double x) {
    if (x == 0.0) return;
    while (next < dense_.size() && dense_[next] < j) ++next;
    double* f = of(j);
    if (f[record::density] == 0.0 && is_frequent(f)) {
      change_average(j, make_dense(f, constant_[0]));
      dense_.insert(dense_.begin() + static_cast<std::ptrdiff_t>(next), j);
      changed = true;
    }
  });
  RowCursor in_row(row);
  const auto is_rare_now = [&](std::int64_t j) {
    double* f = of(j);
    if (in_row.holds(j) || !is_rare(f)) return false;
    change_average(j, make_sparse(f, constant_[0]));
    changed = true;
    return true;
  };
  dense_.erase(std::remove_if(dense_.begin(), dense_.end(), is_rare_now), dense_.end());
  if (changed) adopt_dense();
}

void FeatureTable::add_margins(const ScaledRow& row, double* z) const {
  const auto weights = [&](std::int64_t i) { return row.record[static_cast<std::size_t>(i)] + record::weights; };
  add_rows(row.size, row.h.data(), weights, row_slots * heads(), z);
}

// Changing and checking

void FeatureTable::forget(std::int64_t feature) {
  std::fill_n(of(feature), table_.width(), 0.0), std::fill_n(average_of(feature), averages_.width(), 0.0);
  dense_.erase(std::remove(dense_.begin(), dense_.end(), feature), dense_.end());
  adopt_dense();
}

void FeatureTable::arrange_heads(const Records::Arrangement& to) {
  const bool only_adds = to.only_adds_to(heads());
  FullNewton full = full_.with_heads(to);
  if (only_adds && to.heads() <= room()) {
    blank_.resize(static_cast<std::size_t>(record::weights + row_slots * to.heads()));
    for (Records* each : {&table_, &constant_, &averages_, &constant_average_}) each->add_heads(to);
    full_ = std::move(full);
    return;
  }
  const int room = only_adds ? table_.next_room(to.heads()) : to.heads();
  FeatureTable out(to.heads(), matrices_);
  out.table_ = table_.with_heads(to, room), out.constant_ = constant_.with_heads(to, room);
  out.averages_ = averages_.with_heads(to, room), out.constant_average_ = constant_average_.with_heads(to, room);
  out.mass_ = mass_, out.norms_ = norms_, out.dense_ = std::move(dense_), out.full_ = std::move(full);
  *this = std::move(out);
}

bool FeatureTable::complete() {
  if (constant_.size() != 1 || averages_.size() != size() || constant_average_.size() != 1) return false;
  // Every row has the constant, so its |h|^2 is at least one.
  if (!(mass_ >= 0.0 && mass_ <= most_mass) || !(norms_ >= mass_ * rounded_down && norms_ <= largest_sum)) return false;
  if (!is_sound(constant_[0], constant_average_[0])) return false;
  dense_.clear();
  for (std::int64_t j = 0; j < size(); ++j) {
    const double* f = of(j);
    const double density = f[record::density];
    if (!is_sound(f, average_of(j)) || f[record::elsewhere] > 1.0) return false;
    if (density != 0.0 && (density != 1.0 || f[record::count] == 0.0)) return false;
    if (density == 1.0) dense_.push_back(j);
  }
  if (!full_.complete(dense_)) return false;
  adopt_dense();  // what older files have not adopted
  return true;
}

bool FeatureTable::is_sound(const double* f, const double* average) const {
  for (const int part : {record::slopes, record::curvatures})
    if (!(f[part] >= 0.0 && f[part] <= largest_sum)) return false;
  for (int n = 0; n < recent_experts; ++n)
    if (!(f[record::recent(n)] >= 0.0 && f[record::recent(n)] <= largest_sum)) return false;
  if (!(f[record::elsewhere] >= 0.0 && f[record::elsewhere] <= largest_sum)) return false;
  const double count = f[record::count], square = f[record::square];
  return count >= 0.0 && count * rounded_down <= mass_ && std::fabs(f[record::mean]) <= 1.01e100 && square >= 0.0 &&
         square <= 1e201 * count && all_within({f + record::weights, f + table_.width()}, largest_saved) &&
         all_within({average, averages_.width()}, largest_saved);
}

}  // namespace odca::experts
