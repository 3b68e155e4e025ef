// Online standardisation: every row is brought to a common scale before it is learned, by the events of the window.
//
// For each feature the sums of delta, delta (x - pivot) and delta (x - pivot)^2 are kept over the events that hold it,
// divided by a common scale, so that a decay multiplies one number. Dense rows become (x - mean) / deviation. Sparse
// rows become x / (root mean square of the feature's non-zero values): what is zero stays zero, and an indicator stays
// one. The pivot is a value near the mean, so that no digits cancel: the first one seen, and later the mean itself
// wherever the values have drifted far away from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "odca/math.hpp"
#include "odca/row.hpp"

namespace odca {

struct Scaling {
  enum Kind : std::uint8_t { undecided, centred, plain };  // what the rows are: the first one decides

  bool on = false;
  std::uint8_t kind = undecided;
  double scale = 1.0;
  std::vector<double> mass, first, second, pivot;  // [feature]
  std::vector<double> count;  // of the values that are not the pivot: says when a sliding window has none left
  std::uint8_t rough = 0;     // whether rounding shows in the sums of a sliding window: they must be taken anew

  void resize(std::int64_t features) {
    for (auto* each : {&mass, &first, &second, &pivot, &count}) each->resize(static_cast<std::size_t>(features), 0.0);
  }

  void clear() {
    for (auto* each : {&mass, &first, &second, &count}) std::fill(each->begin(), each->end(), 0.0);
    scale = 1.0;
    rough = 0;
  }

  void add(std::int64_t j, double x, double weight) {
    if (kind == plain && x == 0.0) return;
    if (mass[j] == 0.0) pivot[j] = kind == centred ? x : 0.0, first[j] = second[j] = 0.0;
    const double c = scale == 1.0 ? weight : weight / scale, d = x - pivot[j];
    mass[j] += c;
    first[j] += c * d;
    second[j] += c * d * d;
    if (d == 0.0) return;
    count[j] += 1.0;
    const double shift = first[j] / mass[j], spread = variance(j);
    if (kind == centred && second[j] < 1e300 && shift * shift > 0x1p20 * spread) {
      pivot[j] += shift;
      second[j] = mass[j] * spread;
      first[j] = 0.0;
      count[j] = 0x1p60;  // not known now
      rough = 1;
    }
  }

  void remove(std::int64_t j, double x, double weight) {
    if (kind == plain && x == 0.0) return;
    const double d = x - pivot[j];
    mass[j] = std::fmax(mass[j] - weight, 0.0);
    first[j] -= weight * d;
    second[j] = std::fmax(second[j] - weight * d * d, 0.0);
    if (d != 0.0 && --count[j] == 0.0) {
      first[j] = second[j] = 0.0;
      if (kind == plain) mass[j] = 0.0;
    } else if (weight * d * d > 0x1p24 * second[j]) {
      rough = 1;
    }
    if (weight > 0x1p24 * mass[j] && mass[j] != 0.0) rough = 1;
  }

  double centre(std::int64_t j) const { return kind == centred && mass[j] > 0.0 ? pivot[j] + first[j] / mass[j] : 0.0; }

  // What a value, less the centre, is multiplied by: 0 for a feature that was never seen.
  double factor(std::int64_t j) const {
    if (!(mass[j] > 0.0)) return 0.0;
    const double v = kind == centred ? variance(j) : second[j] / mass[j];
    const double rounding = 0x1p-50 * centre(j);
    return v > rounding * rounding && v >= 1e-300 ? 1.0 / std::sqrt(v) : 1.0;  // a constant stays what it is
  }

  template <class Visit>
  void each_field(Visit&& visit) {
    visit("kind", kind), visit("scale", scale), visit("mass", mass), visit("first", first);
    visit("second", second), visit("pivot", pivot), visit("count", count);
    visit("rough", rough);
  }

  bool operator==(const Scaling&) const = default;

 private:
  double variance(std::int64_t j) const {
    const double shift = first[j] / mass[j];
    return std::fmax(second[j] / mass[j] - shift * shift, 0.0);
  }
};

// What a scaling does to each feature at one moment.
struct Units {
  std::vector<double> centres, factors;  // [feature]

  Units() = default;
  Units(const Scaling& scaling, bool intercept) {
    const auto features = static_cast<std::int64_t>(scaling.mass.size());
    for (std::int64_t j = 0; j < features; ++j) {
      centres.push_back(scaling.centre(j));
      factors.push_back(intercept && j == 0 ? 1.0 : scaling.factor(j));
    }
  }
  double centre(std::int64_t j) const { return centres[j]; }
  double factor(std::int64_t j) const { return factors[j]; }
};

// A row by a scaling, or by its units of an earlier moment, in `out`; the intercept, feature 0, stays as it is.
template <class Scale>
Row standardise(const Scale& scale, const Row& row, bool intercept, std::vector<double>& out) {
  out.resize(static_cast<std::size_t>(row.size));
  for (std::int64_t i = 0; i < row.size; ++i) {
    const std::int64_t j = row.feature(i);
    out[i] = intercept && j == 0 ? row.value[i] : (row.value[i] - scale.centre(j)) * scale.factor(j);
  }
  return {row.index, out.data(), row.size};
}

}  // namespace odca
