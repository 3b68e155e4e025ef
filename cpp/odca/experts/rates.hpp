// The rates of the experts that read rows: what each kind of experts.hpp means, as code. A new kind of expert goes here.
#pragma once

#include <cmath>

#include "odca/experts/experts.hpp"
#include "odca/experts/scaled_row.hpp"
#include "odca/math/pack4.hpp"

namespace odca::experts {

inline constexpr int row_packs = row_slots / 4;

// The place of expert k in ScaledRow::inverse: those with a prior alone come first, those with a short memory after them.
inline constexpr int curved_place(int k) {
  int place = table[k].kind == Kind::recent_newton ? count_of<Kind::newton> : 0;
  for (int other = 0; other < k; ++other) place += table[other].kind == table[k].kind;
  return place;
}

// What is the same for all features of an event: [row expert].
using RateFactors = std::array<double, row_slots>;

inline RateFactors rate_factors(double mean_norm, double sd) {
  RateFactors out{};
  const double typical = 1.0 / mean_norm;
  for (int k = 0; k < row_experts; ++k) {
    if (table[k].kind == Kind::isotropic) out[k] = typical / table[k].parameter;
    if (table[k].kind == Kind::adagrad || table[k].kind == Kind::proportionate) out[k] = table[k].parameter * sd;
  }
  return out;
}

// How much faster a proportionate expert learns a feature of weight w; 1 for all others.
template <int k>
[[gnu::always_inline]] inline double proportion(const double* w, const RateFactors& factor) {
  if constexpr (k < row_experts) {
    if constexpr (table[k].kind == Kind::proportionate) return std::fabs(w[k]) + factor[k];
  }
  return 1.0;
}

// r of expert k and the row's i-th feature, without its proportion.
template <int k>
[[gnu::always_inline]] inline double rate_of(const ScaledRow& row, int i, const RateFactors& factor) {
  if constexpr (k >= row_experts) {
    return 0.0;
  } else {
    constexpr Kind kind = table[k].kind;
    if constexpr (kind == Kind::isotropic) return factor[k];
    if constexpr (kind == Kind::adagrad) return factor[k] * row.root[i];
    if constexpr (kind == Kind::proportionate) return row.root[i];
    if constexpr (kind == Kind::newton || kind == Kind::recent_newton) return row.inverse[curved_place(k)][i];
  }
}

template <int pack>
[[gnu::always_inline]] inline Pack4 rates_of(const ScaledRow& row, int i, const RateFactors& factor) {
  constexpr int k = 4 * pack;
  return Pack4::of(rate_of<k>(row, i, factor), rate_of<k + 1>(row, i, factor), rate_of<k + 2>(row, i, factor),
                   rate_of<k + 3>(row, i, factor));
}

template <int pack>
[[gnu::always_inline]] inline Pack4 proportions(const double* w, const RateFactors& factor) {
  constexpr int k = 4 * pack;
  return Pack4::of(proportion<k>(w, factor), proportion<k + 1>(w, factor), proportion<k + 2>(w, factor),
                   proportion<k + 3>(w, factor));
}

// From sums to rates: 1/sqrt(G) (0 for 0), 1/(p + H), and 1/(p + D), for which D is where its inverse will be.
inline void invert_sums(ScaledRow& row) {
  const Pack one{1.0, 1.0};
  const int n = row.size;
  row.root[n] = row.curvature[n] = 0.0;
  for (auto& each : row.inverse) each[n] = 0.0;
  for (int i = 0; i < n; i += 2) {
    const Pack slope = load(&row.root[i]), curvature = load(&row.curvature[i]);
    const auto some = slope > 0.0;
    store(select(some, Pack(1.0 / square_root(select(some, slope, one))), Pack{}), &row.root[i]);
    for (const int k : places_of<Kind::newton>) {
      double* const inverse = &row.inverse[curved_place(k)][i];
      store(1.0 / (table[k].parameter + curvature), inverse);
    }
    for (const int k : places_of<Kind::recent_newton>) {
      double* const inverse = &row.inverse[curved_place(k)][i];
      store(1.0 / (table[k].parameter + load(inverse)), inverse);
    }
  }
}

}  // namespace odca::experts
