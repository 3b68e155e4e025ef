// Online standardisation: every row is standardised before it is learned, using the events of the window.
//
// For each feature the sums of delta, delta (x - pivot) and delta (x - pivot)^2 are kept over the events that contain it,
// divided by a common scale, so that a decay multiplies one number. Dense rows become (x - mean) / deviation. Sparse
// rows become x / (root mean square of the feature's non-zero values): zeros stay zero, and indicators stay
// one. The pivot is a value near the mean, so that no digits cancel: the first value seen, replaced by the mean
// itself once the values have drifted far away from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "odca/math/functions.hpp"
#include "odca/math/row.hpp"

namespace odca {

struct Scaling {
  enum Kind : std::uint8_t { undecided, centred, plain };  // the kind of rows, decided by the first one

  // The numbers kept per feature. `count` is the number of values that differ from the pivot: it shows when a sliding
  // window has none left. `centre` is subtracted from a value, which is then multiplied by `unit`; both are derived from
  // the sums (0 for a feature never seen) and stored because they are read more often than they change.
  enum Sum { mass, first, second, pivot, count, centre, unit, sums_per_feature };

  bool on = false;
  std::uint8_t kind = undecided;
  std::uint8_t rough =
      0;  // whether rounding errors in the sums of a sliding window have become visible: they must be recomputed
  double scale = 1.0;
  std::vector<double> sums;  // [feature][Sum]

  std::int64_t features() const { return static_cast<std::int64_t>(sums.size()) / sums_per_feature; }
  double* of(std::int64_t j) { return sums.data() + j * sums_per_feature; }
  const double* of(std::int64_t j) const { return sums.data() + j * sums_per_feature; }

  void resize(std::int64_t features) { sums.resize(static_cast<std::size_t>(features) * sums_per_feature, 0.0); }

  void clear() {
    std::fill(sums.begin(), sums.end(), 0.0);
    scale = 1.0;
    rough = 0;
  }

  // False if the sums would overflow.
  [[gnu::always_inline]] bool add(std::int64_t j, double x, double weight) {
    if (kind == plain && x == 0.0) return true;
    double* const s = of(j);
    if (s[mass] == 0.0) s[pivot] = kind == centred ? x : 0.0, s[first] = s[second] = 0.0;
    const double c = scale == 1.0 ? weight : weight / scale, d = x - s[pivot];
    s[mass] += c;
    s[first] += c * d;
    s[second] += c * d * d;
    if (!(s[second] < 1e300 && s[mass] < 1e300)) return false;
    if (d != 0.0) {
      s[count] += 1.0;
      if (kind == centred) follow(s);
    }
    refresh(s);
    return true;
  }

  void remove(std::int64_t j, double x, double weight) {
    if (kind == plain && x == 0.0) return;
    double* const s = of(j);
    const double d = x - s[pivot];
    s[mass] = std::fmax(s[mass] - weight, 0.0);
    s[first] -= weight * d;
    s[second] = std::fmax(s[second] - weight * d * d, 0.0);
    if (d != 0.0 && !(--s[count] > 0.0)) {
      s[first] = s[second] = s[count] = 0.0;
      if (kind == plain) s[mass] = 0.0;
    } else if (weight * d * d > 0x1p24 * s[second]) {
      rough = 1;
    }
    if (weight > 0x1p24 * s[mass] && s[mass] != 0.0) rough = 1;
    refresh(s);
  }

  // The sums decay by a power of two, which does not change centre and unit unless they underflow.
  void fold(const PowerOfTwo& moved) {
    for (std::int64_t j = 0; j < features(); ++j) {
      double* const s = of(j);
      for (const Sum sum : {mass, first, second}) moved.multiply(s[sum]);
      if (s[mass] == 0.0) refresh(s);
    }
  }

  double standardised(std::int64_t j, double x) const {
    const double* const s = of(j);
    return (x - s[centre]) * s[unit];
  }

  // Every sum times `factor`; the common scale is multiplied in. Centres and units stay as they are.
  void multiply(double factor) {
    for (std::int64_t j = 0; j < features(); ++j)
      for (const Sum sum : {mass, first, second}) of(j)[sum] *= factor * scale;
    scale = 1.0;
  }

  // Adds sign times the sums of another one, about the pivots of this one; both have the scale 1. Call `refresh_all` afterwards.
  void add_sums(const Scaling& other, double sign) {
    for (std::int64_t j = 0; j < other.features(); ++j) {
      double* const s = of(j);
      const double* const t = other.of(j);
      if (s[mass] == 0.0 && s[second] == 0.0) s[pivot] = t[pivot], s[first] = 0.0;
      const double d = t[pivot] - s[pivot];  // x - pivot here is x - pivot there + d
      s[second] += sign * (t[second] + d * (2.0 * t[first] + d * t[mass]));
      s[first] += sign * (t[first] + d * t[mass]);
      s[mass] += sign * t[mass];
      s[count] += t[count];
    }
  }

  // Centres and units from the sums. What rounding has left of a feature without events is removed.
  void refresh_all() {
    for (std::int64_t j = 0; j < features(); ++j) {
      double* const s = of(j);
      s[second] = std::fmax(s[second], 0.0);
      if (!(s[mass] > 0.0))
        s[mass] = s[first] = s[second] = s[count] = 0.0;
      else if (kind == centred)
        follow(s);
      refresh(s);
    }
  }

  // Whether centre and unit follow from the sums, but for rounding: the sums may have decayed since.
  bool is_up_to_date(std::int64_t j) const {
    double due[sums_per_feature];
    std::copy_n(of(j), sums_per_feature, due);
    refresh(due);
    const double* const s = of(j);
    if (kind != centred && s[centre] != 0.0) return false;
    if (!(s[mass] >= tiny)) return s[unit] <= 1e150 && std::fabs(s[centre]) <= 1e150;
    const auto is_near = [](double a, double b, double size) { return std::fabs(a - b) <= 1e-3 * size; };
    return is_near(s[unit], due[unit], due[unit]) &&
           is_near(s[centre], due[centre], std::fabs(due[centre]) + 1.0 / due[unit]);
  }

  template <class Visit>
  void each_field(Visit&& visit) {
    visit("kind", kind), visit("rough", rough), visit("scale", scale), visit("sums", sums);
  }

  bool operator==(const Scaling&) const = default;

 private:
  [[gnu::always_inline]] void refresh(double* s) const {
    if (!(s[mass] > 0.0)) {
      s[centre] = s[unit] = 0.0;
    } else if (kind == plain) {
      s[unit] = s[second] >= 1e-300 * s[mass] ? std::sqrt(s[mass] / s[second]) : 1.0;
    } else {
      s[centre] = s[pivot] + s[first] / s[mass];
      const double v = variance(s), rounding = 0x1p-50 * s[centre];
      s[unit] = v > rounding * rounding && v >= 1e-300 ? 1.0 / std::sqrt(v) : 1.0;  // a constant feature keeps its unit
    }
  }

  static double variance(const double* s) {
    const double shift = s[first] / s[mass];
    return std::fmax(s[second] / s[mass] - shift * shift, 0.0);
  }

  // Moves the pivot to the mean once they are so far apart that digits cancel.
  void follow(double* s) {
    const double shift = s[first] / s[mass], spread = variance(s);
    if (!(shift * shift > 0x1p20 * spread)) return;
    s[pivot] += shift;
    s[second] = s[mass] * spread;
    s[first] = 0.0;
    s[count] = 0x1p60;  // unknown from here on
    rough = 1;
  }
};

// The centre and factor of each feature at one moment.
struct Units {
  std::vector<double> centres, factors;  // [feature]

  Units() = default;
  Units(const Scaling& scaling, bool intercept) {
    for (std::int64_t j = 0; j < scaling.features(); ++j) {
      centres.push_back(scaling.of(j)[Scaling::centre]);
      factors.push_back(intercept && j == 0 ? 1.0 : scaling.of(j)[Scaling::unit]);
    }
  }
  double standardised(std::int64_t j, double x) const { return (x - centres[j]) * factors[j]; }

  struct WithoutCentres {
    const Units& units;
    double standardised(std::int64_t j, double x) const { return x * units.factors[j]; }
  };
  WithoutCentres without_centres() const { return {*this}; }
};

// Standardises a row by a scaling, or by its units at an earlier moment, into `out`; the intercept, feature 0, is unchanged.
template <class Scale>
Row standardise(const Scale& scale, const Row& row, bool intercept, std::vector<double>& out) {
  out.resize(static_cast<std::size_t>(row.size));
  for (std::int64_t i = 0; i < row.size; ++i) {
    const std::int64_t j = row.feature(i);
    out[i] = intercept && j == 0 ? row.value[i] : scale.standardised(j, row.value[i]);
  }
  return {row.index, out.data(), row.size};
}

}  // namespace odca
