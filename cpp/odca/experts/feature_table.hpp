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

#include <cmath>
#include <cstdint>
#include <vector>

#include "odca/experts/experts.hpp"
#include "odca/experts/full_newton.hpp"
#include "odca/experts/pace.hpp"
#include "odca/experts/records.hpp"
#include "odca/experts/scaled_row.hpp"
#include "odca/math/aligned.hpp"
#include "odca/math/checks.hpp"
#include "odca/math/row.hpp"

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
static_assert(recent_experts == 1 && elsewhere == 7 && weights == 8, "feature_table.cpp reads the eight as two packs");
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
  }

  // Standardises a row as if it had been counted once, and update_density() been called; where that would change a record, a
  // copy is changed.
  void standardise(const Row& row, ScaledRow& out) const;
  // Before a row is learned, if standardise() has changed copies of records: makes features dense that it holds and that are frequent
  // by now, and those sparse that have become rare. Then the row is to be standardised again.
  void update_density(const Row& row);

  // z[head][row slot] += h'w
  void add_margins(const ScaledRow& row, double* z) const;

  // Counts a standardised row of weight c, in everything but the records of its features: these are written by prepare_steps(), or by
  // write_counts(), if no steps are taken.
  void count_row(ScaledRow& row, double c);
  static void write_counts(const ScaledRow& row);

  // What an event of weight c is to the steps: the loss has this squared slope and curvature at the mixture's prediction, the
  // labels this standard deviation.
  struct StepInputs {
    double c, slope, curvature, sd;
  };

  // Writes rate times c times h into row.rate, and s = c sum r h^2 of each row expert into s. With several heads the proportions
  // of proportionate experts differ by head; they are left out here, see proportionate_slopes().
  void prepare_steps(ScaledRow& row, const StepInputs& in, const Pace& pace, double* s);

  // s of proportionate expert k for each of several heads, [head][row slot].
  void proportionate_slopes(const ScaledRow& row, int k, double sd, double* s) const;

  // w += lambda r h, lambda[head][row slot], for an event of weight c.
  void step(const ScaledRow& row, const double* lambda, double sd, double c);

  // The slopes of the experts' margins along the i-th feature that a standardised row holds, [head][slot].
  void write_slopes(const ScaledRow& row, int i, double* out) const {
    const double f[] = {row.count[i], row.mean[i], row.square[i]};  // the first of a record
    const double scale = (row.density[i] > 0.0 ? dense_form(f, mass_ + 1.0) : sparse_form(f)).scale;
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
  void forget(std::int64_t feature);

  // How a feature is standardised now.
  struct Form {
    double centre, scale;  // a scale of 0: h is 0
  };
  Form form(std::int64_t feature) const { return form_of(of(feature)); }

  // If there is no memory, nothing has changed.
  void arrange_heads(const Records::Arrangement& to);

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
  bool complete();

 private:
  friend class Members;

  static constexpr double least_variance = 1e-18;  // relative to the squared mean: below, it is rounding

  double* of(std::int64_t feature) { return table_[feature]; }
  const double* of(std::int64_t feature) const { return table_[feature]; }
  double* average_of(std::int64_t feature) { return averages_[feature]; }
  const double* average_of(std::int64_t feature) const { return averages_[feature]; }

  bool is_sound(const double* f, const double* average) const;

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
  // The squared scale that a feature has by its values alone, whether it is dense by now or not.
  double spread(const double* f) const {
    if (f[record::count] == 0.0) return 0.0;
    const double scale = (2.0 * f[record::count] > mass_ ? dense_form(f, mass_) : sparse_form(f)).scale;
    return scale * scale;
  }

  // Of all events, those without the feature too.
  static double mean_value(const double* f, double events) {
    return events > 0.0 ? f[record::count] / events * f[record::mean] : 0.0;
  }

  static double share_of_prior(const double* f) { return 1.0 - f[record::elsewhere]; }
  void adopt_dense() {
    if (matrices_ == Matrices::with) full_.follow(dense_, [&](std::int64_t j) { return share_of_prior(of(j)); });
  }
  FullNewton merged_full(const FeatureTable& here, const FeatureTable& other, const std::vector<std::int64_t>& sources,
                         const std::vector<double>& base_above, const std::vector<double>& others_above) const;

  double* copy(const double* record, ScaledRow& out) const;
  void gather(const Row& row, ScaledRow& out) const;
  void scale_values(ScaledRow& out, double*& constant) const;
  void append_absent(const Row& row, ScaledRow& out, double*& constant) const;
  void use_dense_copies(ScaledRow& out, int begin, double*& constant) const;

  void average(double n, double c, const double* record, double* mean) const;

  double mass_ = 0.0, norms_ = 0.0;  // total weight of all events, and of |h|^2 times weight
  Records table_, constant_;
  Records averages_, constant_average_;  // [head][average slot] of each feature
  ModelVector blank_;                    // the record of a feature that never occurred
  std::vector<std::int64_t> dense_;      // the dense features, in order
  Matrices matrices_;
  FullNewton full_;
};

}  // namespace odca::experts
