// The rates of the experts that read rows: what each kind of experts.hpp means, as code. A new kind of expert goes here.
//
// A rate is a factor that all features of an event share, times what differs by feature; proportions apart:
//
//     isotropic                 1 / (p m)      1
//     adagrad, proportionate    p sd, 1        1 / sqrt(G_j)
//     newton, recent_newton     1              1 / (p + H_j), 1 / (p + D_j)
//
// The second is computed for four features at a time, times c h_j, where c is the weight of the event.
#pragma once

#include "odca/experts/experts.hpp"
#include "odca/math/pack4.hpp"

namespace odca::experts {

inline constexpr int row_packs = row_slots / 4;

// [row expert]
using RateFactors = std::array<double, row_slots>;

inline RateFactors rate_factors(double mean_norm, double sd) {
  RateFactors out{};
  for (int k = 0; k < row_experts; ++k) {
    const bool is_isotropic = table[k].kind == Kind::isotropic, is_adagrad = table[k].kind == Kind::adagrad;
    out[k] = is_isotropic ? 1.0 / (mean_norm * table[k].parameter) : is_adagrad ? table[k].parameter * sd : 1.0;
  }
  return out;
}

// A proportionate expert learns a feature of weight w |w| + floor times as fast; all others have no floor.
inline RateFactors proportion_floors(double sd) {
  RateFactors out{};
  for (const int k : places_of<Kind::proportionate>) out[k] = table[k].parameter * sd;
  return out;
}

// Of four features: sums of squared slopes and of curvatures, this event included, and c h.
struct RateInputs {
  Pack4 curvatures, recent, ch, by_root;  // the last is c h / sqrt(G)

  RateInputs(const Pack4& h, double c, const Pack4& slopes, const Pack4& of_all, const Pack4& of_recent)
      : curvatures(of_all), recent(of_recent), ch(Pack4::all(c) * h) {
    const Mask4 some = slopes > Pack4::all(0.0);
    by_root = select(some, ch / square_root(select(some, slopes, Pack4::all(1.0))), Pack4::all(0.0));
  }
};

// c h times what differs by feature, of expert k and four features.
template <int k>
[[gnu::always_inline]] inline Pack4 rate_of(const RateInputs& of) {
  if constexpr (k >= row_experts) {
    return Pack4::all(0.0);
  } else {
    constexpr Kind kind = table[k].kind;
    if constexpr (kind == Kind::isotropic) return of.ch;
    if constexpr (kind == Kind::adagrad || kind == Kind::proportionate) return of.by_root;
    if constexpr (kind == Kind::newton) return of.ch / (Pack4::all(table[k].parameter) + of.curvatures);
    if constexpr (kind == Kind::recent_newton) return of.ch / (Pack4::all(table[k].parameter) + of.recent);
  }
}

inline constexpr bool is_proportionate(int k) { return k < row_experts && table[k].kind == Kind::proportionate; }

// How much faster the experts of a pack learn a feature of weights w.
template <int pack>
[[gnu::always_inline]] inline Pack4 proportions(const double* w, const RateFactors& floor) {
  constexpr int k = 4 * pack;
  if constexpr (!is_proportionate(k) && !is_proportionate(k + 1) && !is_proportionate(k + 2) &&
                !is_proportionate(k + 3)) {
    return Pack4::all(1.0);
  } else {
    const auto of = [&](int n) {
      return is_proportionate(n) ? std::fabs(w[n]) + floor[static_cast<std::size_t>(n)] : 1.0;
    };
    return Pack4::of(of(k), of(k + 1), of(k + 2), of(k + 3));
  }
}

}  // namespace odca::experts
