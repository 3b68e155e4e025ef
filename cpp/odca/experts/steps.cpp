// What the features of an event learn: sums of slopes and curvatures, weights, averages of weights.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "odca/experts/feature_table.hpp"
#include "odca/experts/rates.hpp"
#include "odca/math/pack4.hpp"

namespace odca::experts {

namespace {

constexpr double recency = 3.0, few_updates = 16.0, thinned = 4.0;  // of averages

// Whether n passes a multiple of four by adding c, or is among the first few: of four features.
Mask4 is_averaged(const Pack4& n, const Pack4& c) {
  const Pack4 most = Pack4::all(0x1p50), part = Pack4::all(1.0 / thinned);
  const auto fours = [&](const Pack4& x) { return floor_of(part * select(x > most, most, x)); };
  return (Pack4::all(few_updates) >= n) | (fours(n) != fours(n - c));
}
bool is_averaged(double n, double c) { return any(is_averaged(Pack4::all(n), Pack4::all(c))); }

// The places of the bits of a number of four bits.
struct Places {
  int at[4];
};
constexpr auto places_of_bits = [] {
  std::array<Places, 16> out{};
  for (unsigned bits = 0; bits < 16; ++bits)
    for (int n = 0, found = 0; n < 4; ++n)
      if (bits >> n & 1) out[bits].at[found++] = n;
  return out;
}();

template <int pack>
Pack4 averaged_of(const double* w) {
  const auto weight = [&](int n) { return n < averaged_experts ? w[averaged[static_cast<std::size_t>(n)]] : 0.0; };
  return Pack4::of(weight(4 * pack), weight(4 * pack + 1), weight(4 * pack + 2), weight(4 * pack + 3));
}

// The weights of expert k of four features.
Pack4 weights_of(const double* const* record, int k) {
  const auto weight = [&](int n) { return std::fabs(record[n][record::weights + k]); };
  return Pack4::of(weight(0), weight(1), weight(2), weight(3));
}

}  // namespace

void FeatureTable::count_row(ScaledRow& row, double c) {
  if (c != 1.0)
    for (int i = 0; i < row.present; ++i) {
      const double* f = row.record[i];
      const double d = row.x[i] - f[record::mean];
      row.count[i] = f[record::count] + c;
      row.mean[i] = f[record::mean] + c / row.count[i] * d;
      row.square[i] = f[record::square] + c * std::max(d * (row.x[i] - row.mean[i]), 0.0);
    }
  mass_ += c;
  norms_ += c * row.norm;
  // While the mixers learn, the averages come from memory.
  int some = 0;
  for (int i = 0; i < row.size - 1; i += 4) {
    const unsigned those = row.size - 1 - i < 4 ? (1u << (row.size - 1 - i)) - 1 : 15;
    const unsigned bits = those & bits_of(is_averaged(Pack4::from(&row.count[i]), Pack4::all(c)));
    for (int n = 0; n < 4; ++n)
      row.averaged[some + n] = i + places_of_bits[bits].at[n];  // those after the last do not count
    some += std::popcount(bits);
  }
  row.averages = some;
  for (int n = 0; n < some; ++n) {
    const double* const mean = average_of(row.feature[row.averaged[n]]);
    for (std::size_t k = 0; k < averages_.width(); k += 8) __builtin_prefetch(mean + k, 1);
  }
}

void FeatureTable::write_counts(const ScaledRow& row) {
  for (int i = 0; i < row.present; ++i) {
    double* f = writable(row, i);
    f[record::count] = row.count[i], f[record::mean] = row.mean[i], f[record::square] = row.square[i];
  }
}

void FeatureTable::prepare_steps(ScaledRow& row, const StepInputs& in, const Pace& pace, double* s) {
  const RateFactors factor = rate_factors(mean_norm(), in.sd), floor = proportion_floors(in.sd);
  const Pack4 of_slopes = Pack4::all(in.c * in.c * in.slope), of_curvatures = Pack4::all(in.c * in.curvature);
  const Pack4 memory = Pack4::all(pace.recent_memory[0]);
  const bool one_head = heads() == 1;
  Pack4 sums[row_slots];
  for (int i = 0; i < row.size; i += 4) {
    const Pack4 h = Pack4::from(&row.h[i]), square = h * h, added = of_curvatures * square;
    const Pack4 slopes = Pack4::from(&row.slopes[i]) + of_slopes * square;
    const Pack4 curvatures = Pack4::from(&row.curvatures[i]) + added;
    const Pack4 recent = Pack4::from(&row.recent[i]) * memory + added;
    Pack4 low[4] = {Pack4::from(&row.count[i]), Pack4::from(&row.mean[i]), Pack4::from(&row.square[i]), slopes};
    Pack4 high[4] = {curvatures, recent, Pack4::from(&row.density[i]), Pack4::from(&row.elsewhere[i])};
    transpose(low[0], low[1], low[2], low[3]), transpose(high[0], high[1], high[2], high[3]);
    each_pack4<4>([&](auto n) { low[n].to(writable(row, i + n)), high[n].to(writable(row, i + n) + 4); });
    const RateInputs inputs(h, in.c, slopes, curvatures, recent);
    each_pack4<row_packs>([&](auto p) {
      Pack4 rate[4];
      each_pack4<4>([&](auto n) {
        constexpr int k = 4 * p() + n();
        rate[n] = rate_of<k>(inputs);
        if constexpr (is_proportionate(k))
          if (one_head) rate[n] = rate[n] * (weights_of(&row.record[i], k) + Pack4::all(floor[k]));
        sums[k] += h * rate[n];
      });
      transpose(rate[0], rate[1], rate[2], rate[3]);
      each_pack4<4>([&](auto n) { rate[n].to(&row.rate[row_slots * (i + n) + 4 * p]); });
    });
  }
  for (int k = 0; k < row_slots; ++k) s[k] = factor[k] * sum(sums[k]);
}

void FeatureTable::proportionate_slopes(const ScaledRow& row, int k, double sd, double* s) const {
  const double floor = table[k].parameter * sd;
  for (int c = 0; c < heads(); ++c) s[row_slots * c + k] = 0.0;
  for (int i = 0; i < row.size; ++i) {
    const double* w = row.record[i] + record::weights + k;
    const double part = row.h[i] * row.rate[row_slots * i + k];
    for (int c = 0; c < heads(); ++c) s[row_slots * c + k] += part * (std::fabs(w[row_slots * c]) + floor);
  }
}

namespace {

// The weights of one feature for several heads.
void step_heads(double* w, int heads, const double* rate, const double* lambda, const RateFactors& floor,
                const Pack4* factor) {
  Pack4 r[row_packs];
  each_pack4<row_packs>([&](auto p) { r[p] = factor[p] * Pack4::from(rate + 4 * p); });
  for (int head = 0; head < heads; ++head, w += row_slots, lambda += row_slots)
    each_pack4<row_packs>([&](auto p) {
      const Pack4 by = Pack4::from(lambda + 4 * p) * (r[p] * proportions<p()>(w, floor));
      (Pack4::from(w + 4 * p) + by).to(w + 4 * p);
    });
}

}  // namespace

// The average of a feature's weights over the events that hold it, of which the n-th counts about as n^recency; after the first
// few, only those are looked at by which n passes a multiple of four. It needs no catching up: while no event moves the weights,
// the average stays as it is.
void FeatureTable::average(double n, double c, const double* record, double* mean) const {
  const double step = n <= few_updates ? c : thinned;
  const Pack4 part = Pack4::all(std::min((recency + 1.0) * step / (n + recency * step), 1.0));
  const double* w = record + record::weights;
  for (int head = 0; head < heads(); ++head, w += row_slots, mean += average_slots)
    each_pack4<average_slots / 4>([&](auto p) {
      const Pack4 before = Pack4::from(mean + 4 * p);
      (before + part * (averaged_of<p()>(w) - before)).to(mean + 4 * p);
    });
}

void FeatureTable::step(const ScaledRow& row, const double* lambda, double sd, double c) {
  const RateFactors factor = rate_factors(mean_norm(), sd), floor = proportion_floors(sd);
  Pack4 of_rates[row_packs];
  each_pack4<row_packs>([&](auto p) { of_rates[p] = Pack4::from(factor.data() + 4 * p); });
  if (heads() == 1) {  // then the rates have the proportions already
    each_pack4<row_packs>([&](auto p) { of_rates[p] = of_rates[p] * Pack4::from(lambda + 4 * p); });
    for (int i = 0; i < row.size; ++i) {
      double* const w = writable(row, i) + record::weights;
      const double* const rate = &row.rate[row_slots * i];
      each_pack4<row_packs>(
          [&](auto p) { (Pack4::from(w + 4 * p) + of_rates[p] * Pack4::from(rate + 4 * p)).to(w + 4 * p); });
    }
  } else {
    for (int i = 0; i < row.size; ++i)
      step_heads(writable(row, i) + record::weights, heads(), &row.rate[row_slots * i], lambda, floor, of_rates);
  }
  for (int n = 0; n < row.averages; ++n) {
    const int i = row.averaged[n];
    average(row.count[i], c, row.record[i], average_of(row.feature[i]));
  }
  if (is_averaged(mass_, c)) average(mass_, c, constant_[0], constant_average_[0]);
}

}  // namespace odca::experts
