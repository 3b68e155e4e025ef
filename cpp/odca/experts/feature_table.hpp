// What is known of each feature: its distribution, sums of slopes and curvatures along it, a weight for each class and each expert
// that reads rows, and the averages of some of these weights.
//
// Features are standardised, h = (x - centre) / scale, by what was seen of them, the present row included; so their units do not
// matter. n, m and v are a feature's count, mean and variance over its non-zero values, f = n/N the share of events that hold it:
//
//     sparse   h = x / sqrt(v + m^2)                                 zeros are ignored
//     dense    h = (x - f m) / sqrt(f v + f (1 - f) m^2)             zeros are values like any other
//
// A value that is far off counts as thirty deviations, see bound_value().
//
// A feature becomes dense when more than half of the events hold it, and sparse again when less than a quarter do. Its weights
// and the constant's are then converted so that no margin changes. There are at most four times as many dense features as an
// event has non-zeros.
//
// (The Learner's Scaling is another thing: its rows are dense or sparse as a whole, and it keeps sums around a pivot, which a window
// can fade or subtract from.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "odca/experts/experts.hpp"
#include "odca/experts/full_newton.hpp"
#include "odca/experts/pace.hpp"
#include "odca/experts/rates.hpp"
#include "odca/experts/records.hpp"
#include "odca/experts/scaled_row.hpp"
#include "odca/math/aligned.hpp"
#include "odca/math/checks.hpp"
#include "odca/math/pack4.hpp"
#include "odca/math/row.hpp"
#include "odca/math/row_sums.hpp"

namespace odca::experts {

// Where things are in a feature's record: statistics, then weights [head][row slot]. state.cpp names the columns for files.
namespace record {
enum : int { count, mean, square, slopes, curvatures, first_recent, density, other_recents };

// Every expert with a short memory has a sum of recent curvatures, D.
constexpr int recent(int n) { return n == 0 ? first_recent : other_recents + n - 1; }
// After these, how much of the prior of a feature's weights the other parts of a model hold that was split (merging.cpp).
constexpr int held_elsewhere(int recents) { return other_recents + std::max(recents - 1, 0); }
// Whole cache lines.
constexpr int weights_after(int recents) { return (other_recents + std::max(recents - 1, 0) + 7) / 8 * 8; }
inline constexpr int weights = weights_after(recent_experts), elsewhere = held_elsewhere(recent_experts);
static_assert(elsewhere < weights);
}  // namespace record

class FeatureTable {
 public:
  // With experts that have a matrix, or without.
  enum class Matrices { with, without };
  explicit FeatureTable(int heads, Matrices matrices = Matrices::with)
      : table_(record::weights, row_slots, heads),
        constant_(record::weights, row_slots, heads, 1),
        averages_(0, average_slots, heads),
        constant_average_(0, average_slots, heads, 1),
        blank_(table_.width()),
        matrices_(matrices),
        full_(heads) {}

  int heads() const { return table_.heads(); }
  int room() const { return table_.room(); }  // for so many heads
  std::int64_t size() const { return table_.size(); }
  double mean_norm() const { return norms_ / mass_; }
  double mass() const { return mass_; }
  // The experts with a matrix, whose features are the dense ones.
  const FullNewton& full() const { return full_; }
  FullNewton& full() { return full_; }

  void grow(std::int64_t features) {
    if (features <= size()) return;
    averages_.reserve(features);  // if there is no memory, nothing has changed
    table_.resize(features), averages_.resize(features);
  }

  // Drops the features from this one on, which never occurred.
  void shrink(std::int64_t features) { table_.resize(features), averages_.resize(features); }

  [[gnu::always_inline]] void prefetch(std::int64_t feature) const {
    if (feature < 0 || feature >= size()) return;
    const double* record = of(feature);
    __builtin_prefetch(record), __builtin_prefetch(record + 8);
    if (heads() == 1) __builtin_prefetch(average_of(feature));  // else step() fetches those that it needs
  }

  // Before a row is learned: makes features dense that it holds and that are frequent by now, and those sparse that have
  // become rare.
  void update_density(const Row& row) {
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

  // Standardises a row as if it had been counted once, and update_density() been called; where that would change a record, a
  // copy is changed.
  void standardise(const Row& row, ScaledRow& out) const {
    out.reserve(static_cast<std::size_t>(row.size) + dense_.size());
    out.changed.clear();
    double* constant = nullptr;
    gather(row, out, constant);
    scale_values(out);
    int n = out.present;
    RowCursor in_row(row);
    for (const std::int64_t j : dense_) {
      if (in_row.holds(j)) continue;
      const double* f = of(j);
      if (is_rare(f)) [[unlikely]] {
        if (!constant) constant = copy(constant_[0], out);
        make_sparse(copy(f, out), constant);
        continue;
      }
      const Form form = dense_form(f, mass_ + 1.0);
      if (form.scale > 0.0) out.record[n] = f, out.feature[n] = j, out.h[n] = -form.centre / form.scale, ++n;
    }
    out.record[n] = constant ? constant : constant_[0], out.h[n] = 1.0;
    out.size = n + 1;
    out.norm = 0.0;
    for (int i = 0; i < out.size; ++i) out.norm += out.h[i] * out.h[i];
  }

  // z[head][row slot] += h'w
  void add_margins(const ScaledRow& row, double* z) const {
    const auto weights = [&](std::int64_t i) { return row.record[static_cast<std::size_t>(i)] + record::weights; };
    add_rows(row.size, row.h.data(), weights, row_slots * heads(), z);
  }

  // Counts a standardised row of weight c.
  void count_row(const ScaledRow& row, double c) {
    for (int i = 0; i < row.present; ++i) {
      double* f = writable(row, i);
      if (c == 1.0) {
        f[record::count] = row.count[i], f[record::mean] = row.mean[i], f[record::square] = row.square[i];
        continue;
      }
      const double d = row.x[i] - f[record::mean];
      f[record::count] += c, f[record::mean] += c / f[record::count] * d;
      f[record::square] += c * std::max(d * (row.x[i] - f[record::mean]), 0.0);
    }
    mass_ += c;
    norms_ += c * row.norm;
  }

  // What an event of weight c is to the steps: the loss has this squared slope and curvature at the mixture's prediction, the
  // labels this standard deviation.
  struct StepInputs {
    double c, slope, curvature, sd;
  };

  // Writes rate times c times h into row.rate, and s = c sum r h^2 of each row expert into s. With several heads the proportions
  // of proportionate experts differ by head; they are left out here, see proportionate_slopes().
  void prepare_steps(ScaledRow& row, const StepInputs& in, const Pace& pace, double* s) {
    add_sums(row, in, pace);
    invert_sums(row);
    const RateFactors factor = rate_factors(mean_norm(), in.sd);
    const bool one_head = heads() == 1;
    Pack4 sum[row_packs];
    for (int i = 0; i < row.size; ++i) {
      const double* w = row.record[i] + record::weights;
      double* rate = &row.rate[row_slots * i];
      const Pack4 h = Pack4::all(row.h[i]), ch = Pack4::all(in.c * row.h[i]);
      each_pack4<row_packs>([&](auto p) {
        Pack4 r = rates_of<p()>(row, i, factor);
        if (one_head) r = proportions<p()>(w, factor) * r;
        r = ch * r;
        r.to(rate + 4 * p);
        sum[p] += h * r;
      });
    }
    each_pack4<row_packs>([&](auto p) { sum[p].to(s + 4 * p); });
  }

  // s of proportionate expert k for each of several heads, [head][row slot].
  void proportionate_slopes(const ScaledRow& row, int k, double sd, double* s) const {
    const double floor = table[k].parameter * sd;
    for (int c = 0; c < heads(); ++c) s[row_slots * c + k] = 0.0;
    for (int i = 0; i < row.size; ++i) {
      const double* w = row.record[i] + record::weights + k;
      const double part = row.h[i] * row.rate[row_slots * i + k];
      for (int c = 0; c < heads(); ++c) s[row_slots * c + k] += part * (std::fabs(w[row_slots * c]) + floor);
    }
  }

  // w += lambda r h, lambda[head][row slot], for an event of weight c.
  void step(const ScaledRow& row, const double* lambda, double sd, double c) {
    const RateFactors factor = rate_factors(mean_norm(), sd);
    const int last = row.size - 1;
    for (int i = 0; i < last; ++i) {
      if (heads() > 1 && i + ahead < last) prefetch_average(row, i + ahead, c);
      step_feature(row, i, lambda, factor);
      average(row.record[i][record::count], c, row.record[i], average_of(row.feature[i]));
    }
    step_feature(row, last, lambda, factor);
    average(mass_, c, constant_[0], constant_average_[0]);
  }

 private:
  void step_feature(const ScaledRow& row, int i, const double* lambda, const RateFactors& factor) {
    double* w = writable(row, i) + record::weights;
    Pack4 rate[row_packs];
    each_pack4<row_packs>([&](auto p) { rate[p] = Pack4::from(&row.rate[row_slots * i] + 4 * p); });
    const bool one_head = heads() == 1;  // then the rates have the proportions already
    for (int c = 0; c < heads(); ++c, w += row_slots, lambda += row_slots)
      each_pack4<row_packs>([&](auto p) {
        const Pack4 r = one_head ? rate[p] : rate[p] * proportions<p()>(w, factor);
        (Pack4::from(w + 4 * p) + Pack4::from(lambda + 4 * p) * r).to(w + 4 * p);
      });
  }

  static bool is_averaged(double n, double c) {
    return n <= few_updates || std::floor(n / thinned) != std::floor((n - c) / thinned);
  }
  // (Inlined, because GCC drops calls to functions that do nothing but prefetch.)
  [[gnu::always_inline]] void prefetch_average(const ScaledRow& row, int i, double c) const {
    if (!is_averaged(row.record[i][record::count], c)) return;
    const double* const mean = average_of(row.feature[i]);
    for (std::size_t k = 0; k < averages_.width(); k += 8) __builtin_prefetch(mean + k, 1, 2);
  }

  // The average of a feature's weights over the events that hold it, of which the n-th counts about as n^recency; after the first
  // few, only those are looked at by which n passes a multiple of four. It needs no catching up: while no event moves the weights,
  // the average stays as it is.
  void average(double n, double c, const double* record, double* mean) const {
    if (!is_averaged(n, c)) return;
    const double step = n <= few_updates ? c : thinned;
    const Pack4 part = Pack4::all(std::min((recency + 1.0) * step / (n + recency * step), 1.0));
    const double* w = record + record::weights;
    for (int head = 0; head < heads(); ++head, w += row_slots, mean += average_slots)
      each_pack4<average_slots / 4>([&](auto p) {
        const Pack4 before = Pack4::from(mean + 4 * p);
        (before + part * (averaged_of<p()>(w) - before)).to(mean + 4 * p);
      });
  }
  template <int pack>
  static Pack4 averaged_of(const double* w) {
    const auto weight = [&](int n) { return n < averaged_experts ? w[averaged[n]] : 0.0; };
    return Pack4::of(weight(4 * pack), weight(4 * pack + 1), weight(4 * pack + 2), weight(4 * pack + 3));
  }

 public:
  // The steady answer's members as linear models of x, see steady.hpp. Calls visit(j, slope) for every feature that occurred, with
  // slope[head][member slot], and returns the constant, in the same form and without the base rate.
  template <class Visit>
  std::vector<double> each_slope(Visit&& visit) const {
    std::vector<double> slope(static_cast<std::size_t>(heads() * member_slots)), constant(slope.size());
    write_members(constant_[0], constant_average_[0], 1.0, constant.data());
    for (std::int64_t j = 0; j < size(); ++j) {
      if (of(j)[record::count] == 0.0) continue;
      const Form form = form_of(of(j));
      if (form.scale > 0.0)
        write_members(of(j), average_of(j), 1.0 / form.scale, slope.data());
      else
        std::fill(slope.begin(), slope.end(), 0.0);
      for (std::size_t k = 0; k < slope.size(); ++k) constant[k] -= slope[k] * form.centre;
      visit(j, slope.data());
    }
    return constant;
  }

  // The mixture of the members as a linear model of a row's features: calls visit(j, slope) for each, with slope[head], and adds the
  // constant to intercept[head].
  template <class Visit>
  void each_steady_slope(const Row& row, const PerMember& weight, double* intercept, Visit&& visit) const {
    add_mixture(constant_[0], constant_average_[0], weight, 1.0, intercept);
    for (const std::int64_t j : dense_) {
      const Form form = form_of(of(j));
      if (form.scale > 0.0) add_mixture(of(j), average_of(j), weight, -form.centre / form.scale, intercept);
    }
    std::vector<double> slope(static_cast<std::size_t>(heads()));
    row.each([&](std::int64_t j, double x) {
      if (x == 0.0 || j >= size()) return;
      const Form form = form_of(of(j));
      std::fill(slope.begin(), slope.end(), 0.0);
      if (form.scale > 0.0) add_mixture(of(j), average_of(j), weight, 1.0 / form.scale, slope.data());
      visit(j, slope.data());
    });
  }

  // The slopes of the experts' margins along the i-th feature that a standardised row holds, [head][slot].
  void write_slopes(const ScaledRow& row, int i, double* out) const {
    const double f[] = {row.count[i], row.mean[i], row.square[i]};  // the first of a record
    const double scale = (row.is_dense[i] > 0.0 ? dense_form(f, mass_ + 1.0) : sparse_form(f)).scale;
    const double* w = row.record[i] + record::weights;
    for (int head = 0; head < heads(); ++head)
      for (int k = 0; k < row_experts; ++k) out[slots * head + k] = scale > 0.0 ? w[row_slots * head + k] / scale : 0.0;
    full_.write_weights(row.feature[i], slots, out + first_full_expert);
    for (int head = 0; head < heads(); ++head)
      for (int k = first_full_expert; k < first_label_expert; ++k)
        out[slots * head + k] = scale > 0.0 ? out[slots * head + k] / scale : 0.0;
  }

  // The sum of x_j^2, as a mean over the features that occurred and the constant.
  double mean_curvature() const {
    double sum = mass_, count = 1.0;
    for (std::int64_t j = 0; j < size(); ++j) {
      const double* f = of(j);
      if (f[record::count] == 0.0) continue;
      sum += f[record::square] + f[record::count] * f[record::mean] * f[record::mean], count += 1.0;
    }
    return sum / count;
  }

  // z[head] += the margin of the mixture of the members, whose weights these are.
  void add_steady_margins(const Row& row, const PerMember& weight, double* z) const {
    add_mixture(constant_[0], constant_average_[0], weight, 1.0, z);
    row.each([&](std::int64_t j, double x) {
      if (x == 0.0 || j >= size()) return;
      const Form form = form_of(of(j));
      if (form.scale > 0.0) add_mixture(of(j), average_of(j), weight, (x - form.centre) / form.scale, z);
    });
    RowCursor in_row(row);
    for (const std::int64_t j : dense_) {
      const Form form = form_of(of(j));
      if (form.scale > 0.0 && !in_row.holds(j)) add_mixture(of(j), average_of(j), weight, -form.centre / form.scale, z);
    }
  }

  // Calls visit(j, count) for every feature that varies.
  template <class Visit>
  void each_count(Visit&& visit) const {
    for (std::int64_t j = 0; j < size(); ++j)
      if (form_of(of(j)).scale > 0.0) visit(j, of(j)[record::count]);
  }
  // Whether a feature has had one value besides zero at most: its square says what it says itself.
  bool has_two_values(std::int64_t j) const {
    const double* f = of(j);
    return !(f[record::square] > least_variance * f[record::count] * f[record::mean] * f[record::mean]);
  }
  // The weights of expert k for a feature in its own units, [head].
  void write_slope(std::int64_t feature, int k, double* out) const {
    const Form form = form_of(of(feature));
    for (int head = 0; head < heads(); ++head)
      out[head] = form.scale > 0.0 ? of(feature)[record::weights + row_slots * head + k] / form.scale : 0.0;
  }
  // The size of the weights of expert k for a standardised feature, over all heads.
  double size_of(std::int64_t feature, int k) const {
    double sum = 0.0;
    for (int head = 0; head < heads(); ++head) {
      const double w = of(feature)[record::weights + row_slots * head + k];
      sum += w * w;
    }
    return std::sqrt(sum / heads());
  }
  // Makes a feature one that never occurred.
  void forget(std::int64_t feature) {
    std::fill_n(of(feature), table_.width(), 0.0), std::fill_n(average_of(feature), averages_.width(), 0.0);
    dense_.erase(std::remove(dense_.begin(), dense_.end(), feature), dense_.end());
    adopt_dense();
  }

  // How a feature is standardised now.
  struct Form {
    double centre, scale;  // a scale of 0: h is 0
  };
  Form form(std::int64_t feature) const { return form_of(of(feature)); }

  // If there is no memory, nothing has changed.
  void arrange_heads(const Records::Arrangement& to) {
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

  // The table of two that learned from different events, in the other of which feature j is feature places[j] here; without places, j.
  // `base` and `others` are where the margins of the two begin, `joint` where those of both do, [head]. See merging.cpp.
  FeatureTable merged(const FeatureTable& other, const std::vector<std::int64_t>& places,
                      const std::vector<double>& base, const std::vector<double>& others,
                      const std::vector<double>& joint) const;
  // The same weights, with a share of everything that counts events.
  void keep_share(double share);
  // Adds by[head] to every margin.
  void move_constants(const std::vector<double>& by);

  // What a file holds.
  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    visit("table", self.table_), visit("constant", self.constant_);
    visit("averages", self.averages_), visit("constant_average", self.constant_average_);
    visit("mass", self.mass_), visit("norms", self.norms_);
    if (self.matrices_ == Matrices::with) FullNewton::each_part(self.full_, visit);
  }
  // After these were read: finds the dense features. False if the parts do not fit together.
  bool complete() {
    if (constant_.size() != 1 || averages_.size() != size() || constant_average_.size() != 1) return false;
    // Every row has the constant, so its |h|^2 is at least one.
    if (!(mass_ >= 0.0 && mass_ <= most_mass) || !(norms_ >= mass_ * rounded_down && norms_ <= largest_sum))
      return false;
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

 private:
  static constexpr int ahead = 8;                  // features
  static constexpr double least_variance = 1e-18;  // relative to the squared mean: below, it is rounding
  static constexpr double furthest_value = 30.0, few_values = 8.0;
  static constexpr double recency = 3.0, few_updates = 16.0, thinned = 4.0;  // of averages

  double* of(std::int64_t feature) { return table_[feature]; }
  const double* of(std::int64_t feature) const { return table_[feature]; }
  double* average_of(std::int64_t feature) { return averages_[feature]; }
  const double* average_of(std::int64_t feature) const { return averages_[feature]; }

  // What a file may hold. Values are at most 1e100, events at most 2^53, and no weight of an event is more than their number.
  static constexpr double most_mass = 1e40, largest_sum = 1e290, largest_saved = 1e200, rounded_down = 1.0 - 1e-9;
  bool is_sound(const double* f, const double* average) const {
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

  // The record of a row that was standardised when the table had room for all of its features.
  static double* writable(const ScaledRow& row, int i) { return const_cast<double*>(row.record[i]); }

  static Form dense_form(const double* f, double events) {
    const double share = f[record::count] / events, square_mean = f[record::mean] * f[record::mean];
    const double variance = share * (f[record::square] / f[record::count]) + share * (1.0 - share) * square_mean;
    return {share * f[record::mean], variance > least_variance * square_mean ? std::sqrt(variance) : 0.0};
  }
  static Form sparse_form(const double* f) {
    return {0.0, std::sqrt(f[record::square] / f[record::count] + f[record::mean] * f[record::mean])};
  }

  // The present one; its scale is 0 if the feature tells nothing.
  Form form_of(const double* f) const {
    if (f[record::count] == 0.0) return {0.0, 0.0};
    return f[record::density] > 0.0 ? dense_form(f, mass_) : sparse_form(f);
  }

  // factor times the weights of every member, [head][member slot].
  void write_members(const double* record, const double* mean, double factor, double* out) const {
    for (int head = 0; head < heads(); ++head)
      for (int m = 0, n = 0; m < row_members; ++m)
        out[member_slots * head + m] =
            factor * (members[m].averaged ? mean[average_slots * head + n++]
                                          : record[record::weights + row_slots * head + members[m].expert]);
  }
  // z[head] += factor times the mixture of the members' weights.
  void add_mixture(const double* record, const double* mean, const PerMember& weight, double factor, double* z) const {
    for (int head = 0; head < heads(); ++head) {
      double mixed = 0.0;
      for (int m = 0, n = 0; m < row_members; ++m)
        mixed += weight[m] * (members[m].averaged ? mean[average_slots * head + n++]
                                                  : record[record::weights + row_slots * head + members[m].expert]);
      z[head] += factor * mixed;
    }
  }

  // Up to rounding, so that sums of equal weights decide as whole numbers do.
  bool is_frequent(const double* f) const {
    return mass_ >= 1.0 - 1e-9 && 2.0 * (f[record::count] + 1.0) > (mass_ + 1.0) * (1.0 + 1e-9);
  }
  bool is_rare(const double* f) const { return 4.0 * f[record::count] < (mass_ + 1.0) * (1.0 - 1e-9); }

  // From one form to the other, with the same margins whatever x is.
  struct Change {
    Form from{}, to{};

    void convert(double* w, double* constant, std::size_t count) const {
      for (std::size_t k = 0; k < count; ++k) {
        const double slope = from.scale > 0.0 ? w[k] / from.scale : 0.0;
        constant[k] += slope * (to.centre - from.centre);
        w[k] = slope * to.scale;
      }
    }
  };
  Change make_dense(double* f, double* constant) const {
    Change change;
    if (f[record::count] > 0.0) change = {sparse_form(f), dense_form(f, mass_)};
    return changed(f, constant, change, 1.0);
  }
  Change make_sparse(double* f, double* constant) const {
    return changed(f, constant, {dense_form(f, mass_), sparse_form(f)}, 0.0);
  }
  Change changed(double* f, double* constant, const Change& change, double density) const {
    change.convert(f + record::weights, constant + record::weights, table_.width() - record::weights);
    f[record::density] = density;
    return change;
  }
  void change_average(std::int64_t feature, const Change& change) {
    change.convert(average_of(feature), constant_average_[0], averages_.width());
  }
  void merge_feature(std::int64_t j, const FeatureTable& here, std::int64_t there, const FeatureTable& other,
                     struct Merger& of_weights, struct Merger& of_averages);
  // Of all events, those without the feature too.
  // The squared scale that a feature has by its values alone, whether it is dense by now or not.
  double spread(const double* f) const {
    if (f[record::count] == 0.0) return 0.0;
    const double scale = (2.0 * f[record::count] > mass_ ? dense_form(f, mass_) : sparse_form(f)).scale;
    return scale * scale;
  }

  static double mean_value(const double* f, double events) {
    return events > 0.0 ? f[record::count] / events * f[record::mean] : 0.0;
  }

  static double share_of_prior(const double* f) { return 1.0 - f[record::elsewhere]; }
  void adopt_dense() {
    if (matrices_ == Matrices::with) full_.follow(dense_, [&](std::int64_t j) { return share_of_prior(of(j)); });
  }
  FullNewton merged_full(const FeatureTable& here, const FeatureTable& other, const std::vector<std::int64_t>& sources,
                         const std::vector<double>& base_above, const std::vector<double>& others_above) const;

  double* copy(const double* record, ScaledRow& out) const {
    out.changed.push_back(std::make_unique<double[]>(table_.width()));
    std::copy(record, record + table_.width(), out.changed.back().get());
    return out.changed.back().get();
  }

  // The non-zero features of a row with their records. `constant` becomes a copy of the constant's record if it has to change.
  void gather(const Row& row, ScaledRow& out, double*& constant) const {
    int n = 0;
    for (std::int64_t i = 0; i < row.size; ++i) {
      if (i + ahead < row.size) prefetch(row.feature(i + ahead));
      const std::int64_t j = row.feature(i);
      if (row.value[i] == 0.0) continue;
      const double* f = j < size() ? of(j) : blank_.data();
      if (f[record::density] == 0.0 && is_frequent(f)) [[unlikely]] {
        if (!constant) constant = copy(constant_[0], out);
        double* changed = copy(f, out);
        make_dense(changed, constant);
        f = changed;
      }
      out.record[n] = f, out.feature[n] = j, out.x[n] = row.value[i];
      out.count[n] = f[record::count], out.mean[n] = f[record::mean], out.square[n] = f[record::square];
      out.is_dense[n] = f[record::density];
      ++n;
    }
    out.present = n;
  }

  // A value counts as at most so many deviations from the mean of those before it (root mean squares, where it is sparse), for scale and
  // margin alike: a single one must not decide what all others are worth.
  static void bound_value(ScaledRow& row, int i) {
    const double n = row.count[i], m = row.mean[i], d = row.x[i] - m;
    const double squares = row.is_dense[i] > 0.0 ? row.square[i] : row.square[i] + n * m * m;
    if (n >= few_values && squares > 0.0 && d * d * n > furthest_value * furthest_value * squares)
      row.x[i] = m + std::copysign(furthest_value * std::sqrt(squares / n), d);
  }

  // Counts the row's values and standardises them, in pairs.
  void scale_values(ScaledRow& out) const {
    const double events = mass_ + 1.0;
    const int n = out.present;
    for (auto* each : {&out.x, &out.count, &out.mean, &out.square, &out.is_dense}) (*each)[n] = 0.0;
    const Pack one{1.0, 1.0};
    for (int i = 0; i < n; i += 2) {
      const Pack before = load(&out.mean[i]), count = load(&out.count[i]), away = load(&out.x[i]) - before;
      const auto is_far = away * away * count > furthest_value * furthest_value * load(&out.square[i]);
      if (is_far[0] | is_far[1]) [[unlikely]]
        bound_value(out, i), bound_value(out, i + 1);
      const Pack x = load(&out.x[i]), times = count + 1.0, inverse = 1.0 / times, d = x - before;
      const Pack m = before + d * inverse, s = load(&out.square[i]) + d * (x - m), square_mean = m * m;
      const auto is_dense = load(&out.is_dense[i]) > 0.0;
      const Pack share = select(is_dense, Pack(times / events), one),
                 centre = select(is_dense, Pack(share * m), Pack{});
      const Pack between = select(is_dense, Pack(share * (1.0 - share) * square_mean), square_mean);
      const Pack variance = share * (s * inverse) + between;
      const auto varies = variance > least_variance * square_mean;
      const Pack h = (x - centre) / square_root(select(varies, variance, one));
      store(select(varies, h, Pack{}), &out.h[i]);
      store(times, &out.count[i]), store(m, &out.mean[i]), store(s, &out.square[i]);
    }
  }

  // Adds the event to G, H and D of its features, and copies them into the row.
  static void add_sums(ScaledRow& row, const StepInputs& in, const Pace& pace) {
    for (int i = 0; i < row.size; ++i) {
      double* f = writable(row, i);
      const double square_h = row.h[i] * row.h[i];
      row.root[i] = f[record::slopes] += in.c * in.c * in.slope * square_h;
      row.curvature[i] = f[record::curvatures] += in.c * in.curvature * square_h;
      for (int n = 0; n < recent_experts; ++n) {
        double& recent = f[record::recent(n)];
        recent = recent * pace.recent_memory[n] + in.c * in.curvature * square_h;
        row.inverse[count_of<Kind::newton> + n][i] = recent;
      }
    }
  }

  double mass_ = 0.0, norms_ = 0.0;  // total weight of all events, and of |h|^2 times weight
  Records table_, constant_;
  Records averages_, constant_average_;  // [head][average slot] of each feature
  ModelVector blank_;                    // the record of a feature that never occurred
  std::vector<std::int64_t> dense_;      // the dense features, in order
  Matrices matrices_;
  FullNewton full_;
};

}  // namespace odca::experts
