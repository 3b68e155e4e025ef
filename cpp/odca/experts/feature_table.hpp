// What the bank knows of each feature: how it is distributed, slopes and curvatures along it, and a weight for each class and row lane.
//
// A feature comes to scale, h = (x - centre) / scale, by what was seen of it, itself included. n, m and v are its count, mean and variance
// where it is there, f = n/N is the share of events that hold it:
//
//     sparse   h = x / sqrt(v + m^2)                                 a zero is nothing
//     dense    h = (x - f m) / sqrt(f v + f (1 - f) m^2)             a zero is a number like any other
//
// It is dense once it is there in more than half of the events, and until it is there in less than a quarter. When that changes its weights
// and the constant's change with it, so that all margins stay what they are. There are at most four times as many dense features as an event
// has non-zeros. Nothing depends on the units of a feature.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "odca/experts/experts.hpp"
#include "odca/math/aligned.hpp"
#include "odca/math/pack4.hpp"
#include "odca/math/row.hpp"

namespace odca::bank {

class Features {
 public:
  enum : int {
    count,
    mean,
    square,
    slopes,
    curvatures,
    recent,
    density,
    heads_begin = 8
  };  // places in a record; one is free

  // A row brought to scale: what is there, then dense features that are not, then the constant.
  struct Scaled {
    std::vector<const double*> record;
    std::vector<std::unique_ptr<double[]>> changed;  // records that would become dense or sparse by this row
    std::vector<double> x, h, stat_n, stat_mean, stat_square, is_dense, root, newton, newer, brief, rate;
    int size = 0, present = 0;
    double norm = 0.0;

    void reserve(std::size_t n) {
      if (record.size() >= n + 2) return;
      record.resize(n + 2), rate.resize(row_lanes * (n + 2));
      for (auto* each : {&x, &h, &stat_n, &stat_mean, &stat_square, &is_dense, &root, &newton, &newer, &brief})
        each->resize(n + 2);
    }
  };

  explicit Features(int heads) : heads_(heads), constant_(stride()), blank_(stride()) {}

  int heads() const { return heads_; }
  std::size_t stride() const { return static_cast<std::size_t>(heads_begin + row_lanes * heads_); }
  std::int64_t size() const { return static_cast<std::int64_t>(table_.size() / stride()); }
  double mean_norm() const { return norms_ / mass_; }
  double mass() const { return mass_; }

  void grow(std::int64_t features) {
    const std::size_t needed = static_cast<std::size_t>(features) * stride();
    if (needed <= table_.size()) return;
    if (needed > table_.capacity()) table_.reserve(std::max(needed, table_.capacity() * 3 / 2));
    table_.resize(needed);
  }

  [[gnu::always_inline]] void prefetch(std::int64_t feature) const {
    if (feature < 0 || feature >= size()) return;
    const double* record = table_.data() + feature * static_cast<std::int64_t>(stride());
    __builtin_prefetch(record), __builtin_prefetch(record + 8);
  }

  // Before a row is learned: what is there often enough by now becomes dense, what is there too rarely becomes sparse.
  void settle(const Row& row) {
    std::size_t next = 0;
    for (std::int64_t i = 0; i < row.size; ++i) {
      if (row.value[i] == 0.0) continue;
      const std::int64_t j = row.feature(i);
      while (next < dense_.size() && dense_[next] < j) ++next;
      double* f = table_.data() + static_cast<std::size_t>(j) * stride();
      if (f[density] == 0.0 && is_frequent(f)) {
        become_dense(f, constant_.data());
        dense_.insert(dense_.begin() + static_cast<std::ptrdiff_t>(next), j);
      }
    }
    std::int64_t at = 0;
    const auto is_rare_now = [&](std::int64_t j) {
      while (at < row.size && row.feature(at) < j) ++at;
      const bool present = at < row.size && row.feature(at) == j && row.value[at] != 0.0;
      double* f = table_.data() + static_cast<std::size_t>(j) * stride();
      if (present || !is_rare(f)) return false;
      become_sparse(f, constant_.data());
      return true;
    };
    dense_.erase(std::remove_if(dense_.begin(), dense_.end(), is_rare_now), dense_.end());
  }

  // Brings a row to scale, as if it had been seen once, and settled. What would change by that is changed in copies.
  void scale(const Row& row, Scaled& out) const {
    out.reserve(static_cast<std::size_t>(row.size) + dense_.size());
    out.changed.clear();
    double* constant = nullptr;
    int n = 0;
    for (std::int64_t i = 0; i < row.size; ++i) {
      if (i + ahead < row.size) prefetch(row.feature(i + ahead));
      const std::int64_t j = row.feature(i);
      if (row.value[i] == 0.0) continue;
      const double* record = j < size() ? table_.data() + static_cast<std::size_t>(j) * stride() : blank_.data();
      if (record[density] == 0.0 && is_frequent(record)) [[unlikely]] {
        if (!constant) constant = copy(constant_.data(), out);
        double* changed = copy(record, out);
        become_dense(changed, constant);
        record = changed;
      }
      out.record[n] = record, out.x[n] = row.value[i];
      out.stat_n[n] = record[count], out.stat_mean[n] = record[mean], out.stat_square[n] = record[square];
      out.is_dense[n] = record[density];
      ++n;
    }
    bring_to_scale(n, out);
    out.present = n;
    std::int64_t at = 0;
    for (const std::int64_t j : dense_) {
      while (at < row.size && row.feature(at) < j) ++at;
      if (at < row.size && row.feature(at) == j && row.value[at] != 0.0) continue;
      const double* record = table_.data() + static_cast<std::size_t>(j) * stride();
      if (is_rare(record)) [[unlikely]] {
        if (!constant) constant = copy(constant_.data(), out);
        become_sparse(copy(record, out), constant);
        continue;
      }
      const Form form = dense_form(record, mass_ + 1.0);
      if (form.scale > 0.0) out.record[n] = record, out.h[n] = -form.centre / form.scale, ++n;
    }
    out.record[n] = constant ? constant : constant_.data(), out.h[n] = 1.0;
    out.size = n + 1;
    out.norm = 0.0;
    for (int i = 0; i < out.size; ++i) out.norm += out.h[i] * out.h[i];
  }

  // z[head][lane] += h'w, where z has room for the mean lanes too.
  void add_margins(const Scaled& row, double* z) const {
    if (heads_ == 1) {  // sums stay in registers
      Four a = Four::from(z), b = Four::from(z + 4);
      for (int i = 0; i < row.size; ++i) {
        const Four h = Four::all(row.h[i]);
        const double* w = row.record[i] + heads_begin;
        a += h * Four::from(w), b += h * Four::from(w + 4);
      }
      a.to(z), b.to(z + 4);
      return;
    }
    for (int i = 0; i < row.size; ++i) {
      const Four h = Four::all(row.h[i]);
      const double* w = row.record[i] + heads_begin;
      double* to = z;
      for (int c = 0; c < heads_; ++c, to += lanes, w += row_lanes) {
        (Four::from(to) + h * Four::from(w)).to(to);
        (Four::from(to + 4) + h * Four::from(w + 4)).to(to + 4);
      }
    }
  }

  // Counts a row that was brought to scale, of weight c.
  void count_row(const Scaled& row, double c) {
    for (int i = 0; i < row.present; ++i) {
      double* f = at(row, i);
      if (c == 1.0) {
        f[count] = row.stat_n[i], f[mean] = row.stat_mean[i], f[square] = row.stat_square[i];
        continue;
      }
      const double d = row.x[i] - f[mean];
      f[count] += c, f[mean] += c / f[count] * d, f[square] += c * std::max(d * (row.x[i] - f[mean]), 0.0);
    }
    mass_ += c;
    norms_ += c * row.norm;
  }

  // The rates of all row lanes times weight and h, into row.rate, and s = c sum r h^2. That of the proportionate lane has a factor of its own
  // for each class, which with several classes is left out here. slope: g^2; sd: that of the labels.
  void prepare_steps(Scaled& row, double c, double slope, double curvature, double sd, double short_memory, double* s) {
    for (int i = 0; i < row.size; ++i) {
      double* f = at(row, i);
      const double square_h = row.h[i] * row.h[i];
      row.root[i] = f[slopes] += c * c * slope * square_h;
      row.newton[i] = f[curvatures] += c * curvature * square_h;
      row.brief[i] = f[recent] = f[recent] * short_memory + c * curvature * square_h;
    }
    invert(row);
    const double typical = 1.0 / mean_norm(), eta = adagrad_rate * sd, floor = proportion_floor * sd;
    const double iso[3] = {typical / isotropic_strength[0], typical / isotropic_strength[1],
                           typical / isotropic_strength[2]};
    Four low{}, high{};
    for (int i = 0; i < row.size; ++i) {
      const double root = row.root[i];
      const double share = heads_ == 1 ? std::fabs(row.record[i][heads_begin + proportionate]) + floor : 1.0;
      const Four a = Four::of(iso[0], iso[1], iso[2], eta * root);
      const Four b = Four::of(share * root, row.newton[i], row.newer[i], row.brief[i]);
      const Four h = Four::all(row.h[i]), ch = Four::all(c * row.h[i]), ra = ch * a, rb = ch * b;
      ra.to(&row.rate[row_lanes * i]), rb.to(&row.rate[row_lanes * i + 4]);
      low += h * ra, high += h * rb;
    }
    low.to(s), high.to(s + 4);
  }

  // s of the proportionate lane for each of several classes.
  void proportionate_slopes(const Scaled& row, double sd, double* s) const {
    const double floor = proportion_floor * sd;
    for (int c = 0; c < heads_; ++c) s[c] = 0.0;
    for (int i = 0; i < row.size; ++i) {
      const double* w = row.record[i] + heads_begin + proportionate;
      const double part = row.h[i] * row.rate[row_lanes * i + proportionate];
      for (int c = 0; c < heads_; ++c) s[c] += part * (std::fabs(w[row_lanes * c]) + floor);
    }
  }

  // w += lambda r h, lambda[head][row lane].
  void step(const Scaled& row, const double* lambda, double sd) {
    if (heads_ == 1) {
      const Four la = Four::from(lambda), lb = Four::from(lambda + 4);
      for (int i = 0; i < row.size; ++i) {
        double* w = at(row, i) + heads_begin;
        (Four::from(w) + la * Four::from(&row.rate[row_lanes * i])).to(w);
        (Four::from(w + 4) + lb * Four::from(&row.rate[row_lanes * i + 4])).to(w + 4);
      }
      return;
    }
    const double floor = proportion_floor * sd;
    for (int i = 0; i < row.size; ++i) {
      double* w = at(row, i) + heads_begin;
      const Four a = Four::from(&row.rate[row_lanes * i]), b = Four::from(&row.rate[row_lanes * i + 4]);
      const double* l = lambda;
      for (int c = 0; c < heads_; ++c, w += row_lanes, l += row_lanes) {
        const Four own = b * Four::of(std::fabs(w[proportionate]) + floor, 1.0, 1.0, 1.0);
        (Four::from(w) + Four::from(l) * a).to(w);
        (Four::from(w + 4) + Four::from(l + 4) * own).to(w + 4);
      }
    }
  }

  // With other heads: source[head] is the head that it takes its weights from, times factor[head]; -1 begins at zero.
  Features with_heads(const std::vector<int>& source, const std::vector<double>& factor) const {
    Features out(static_cast<int>(source.size()));
    out.mass_ = mass_, out.norms_ = norms_, out.dense_ = dense_;
    out.table_.resize(static_cast<std::size_t>(size()) * out.stride());
    const auto convert = [&](const double* from, double* to) {
      std::copy(from, from + heads_begin, to);
      for (std::size_t c = 0; c < source.size(); ++c)
        if (source[c] >= 0)
          for (int k = 0; k < row_lanes; ++k)
            to[heads_begin + row_lanes * static_cast<int>(c) + k] =
                factor[c] * from[heads_begin + row_lanes * source[c] + k];
    };
    convert(constant_.data(), out.constant_.data());
    for (std::size_t j = 0; j < static_cast<std::size_t>(size()); ++j)
      convert(table_.data() + j * stride(), out.table_.data() + j * out.stride());
    return out;
  }

  // What a file holds.
  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    visit("table", self.table_), visit("constant", self.constant_);
    visit("mass", self.mass_), visit("norms", self.norms_);
  }
  // After these were read. False if they do not go together.
  bool complete() {
    if (table_.size() % stride() != 0 || constant_.size() != stride()) return false;
    if (!(mass_ >= 0.0) || !(norms_ >= 0.0)) return false;
    dense_.clear();
    for (std::int64_t j = 0; j < size(); ++j) {
      const double* f = table_.data() + static_cast<std::size_t>(j) * stride();
      for (const int part : {count, square, slopes, curvatures, recent})
        if (!(f[part] >= 0.0)) return false;
      if (f[density] != 0.0 && (f[density] != 1.0 || f[count] == 0.0)) return false;
      if (f[density] == 1.0) dense_.push_back(j);
    }
    return true;
  }

 private:
  static constexpr std::int64_t ahead = 8;         // features
  static constexpr double least_variance = 1e-18;  // of the square of the mean: below, it is rounding

  // The record of a row that was brought to scale here, when there was room for all of its features.
  static double* at(const Scaled& row, int i) { return const_cast<double*>(row.record[i]); }

  struct Form {
    double centre, scale;  // a scale of 0: h is 0
  };
  static Form dense_form(const double* f, double events) {
    const double share = f[count] / events, square_mean = f[mean] * f[mean];
    const double variance = share * (f[square] / f[count]) + share * (1.0 - share) * square_mean;
    return {share * f[mean], variance > least_variance * square_mean ? std::sqrt(variance) : 0.0};
  }
  static Form sparse_form(const double* f) { return {0.0, std::sqrt(f[square] / f[count] + f[mean] * f[mean])}; }

  bool is_frequent(const double* f) const { return mass_ >= 1.0 && 2.0 * (f[count] + 1.0) > mass_ + 1.0; }
  bool is_rare(const double* f) const { return 4.0 * f[count] < mass_ + 1.0; }

  void become_dense(double* f, double* constant) const {
    if (f[count] > 0.0) change(f, constant, sparse_form(f), dense_form(f, mass_));
    f[density] = 1.0;
  }
  void become_sparse(double* f, double* constant) const {
    change(f, constant, dense_form(f, mass_), sparse_form(f));
    f[density] = 0.0;
  }
  // From one form to the other: the margins stay, whatever x is.
  void change(double* f, double* constant, const Form& from, const Form& to) const {
    for (int k = heads_begin; k < static_cast<int>(stride()); ++k) {
      const double slope = from.scale > 0.0 ? f[k] / from.scale : 0.0;
      constant[k] += slope * (to.centre - from.centre);
      f[k] = slope * to.scale;
    }
  }
  double* copy(const double* record, Scaled& out) const {
    out.changed.push_back(std::make_unique<double[]>(stride()));
    std::copy(record, record + stride(), out.changed.back().get());
    return out.changed.back().get();
  }

  // Element by element, in pairs; the arrays have room for one more.
  void bring_to_scale(int n, Scaled& out) const {
    const double events = mass_ + 1.0;
    for (auto* each : {&out.x, &out.stat_n, &out.stat_mean, &out.stat_square, &out.is_dense}) (*each)[n] = 0.0;
    const auto store = [](double* to, const Pack& v) { std::memcpy(to, &v, sizeof v); };
    const Pack one{1.0, 1.0};
    for (int i = 0; i < n; i += 2) {
      const Pack x = load(&out.x[i]), before = load(&out.stat_mean[i]);
      const Pack times = load(&out.stat_n[i]) + 1.0, inverse = 1.0 / times, d = x - before;
      const Pack m = before + d * inverse, s = load(&out.stat_square[i]) + d * (x - m), square_mean = m * m;
      const auto is_dense = load(&out.is_dense[i]) > 0.0;
      const Pack share = select(is_dense, Pack(times / events), one),
                 centre = select(is_dense, Pack(share * m), Pack{});
      const Pack between = select(is_dense, Pack(share * (1.0 - share) * square_mean), square_mean);
      const Pack variance = share * (s * inverse) + between;
      const auto varies = variance > least_variance * square_mean;
      const Pack h = (x - centre) / square_root(select(varies, variance, one));
      store(&out.h[i], select(varies, h, Pack{}));
      store(&out.stat_n[i], times), store(&out.stat_mean[i], m), store(&out.stat_square[i], s);
    }
  }

  // 1/sqrt(G) (0 for 0), 1/(x + H) of both priors, 1/(1 + D); there is room for one more.
  static void invert(Scaled& row) {
    const auto store = [](double* to, const Pack& v) { std::memcpy(to, &v, sizeof v); };
    const int n = row.size;
    row.root[n] = row.newton[n] = row.brief[n] = 0.0;
    for (int i = 0; i < n; i += 2) {
      const Pack slope = load(&row.root[i]), curvature = load(&row.newton[i]);
      const auto some = slope > 0.0;
      store(&row.root[i], select(some, Pack(1.0 / square_root(select(some, slope, Pack{1.0, 1.0}))), Pack{}));
      store(&row.newton[i], 1.0 / (newton_prior[0] + curvature));
      store(&row.newer[i], 1.0 / (newton_prior[1] + curvature));
      store(&row.brief[i], 1.0 / (short_prior + load(&row.brief[i])));
    }
  }

  int heads_;
  double mass_ = 0.0, norms_ = 0.0;
  ModelVector table_, constant_, blank_;
  std::vector<std::int64_t> dense_;  // the dense features, in order
};

}  // namespace odca::bank
