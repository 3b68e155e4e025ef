// The experts of the automatic mode, each declared once in `table`: the C++ here, Python's report and the tests read it.
// docs/auto.md derives the formulas.
//
// To add an expert of a kind that exists, add a line to `table`. Old model files stay readable: saved_state.hpp says how.
#pragma once

#include <array>
#include <string_view>

namespace odca::experts {

// How an expert predicts. All but the last three read the row and step by w_j += lambda r_j h_j, where the rate r_j is the inverse of
// the strength of coordinate j. p is the expert's `parameter`; g and q are slope and curvature of the loss at the prediction of
// the whole mixture, sd the standard deviation of the labels, m the mean of |h|^2. rates.hpp computes the rates.
enum class Kind {
  isotropic,      // r = 1 / (p m)
  adagrad,        // r = p sd / sqrt(G_j)               G_j = sum g^2 h_j^2
  proportionate,  // r = (|w_j| + p sd) / sqrt(G_j)
  newton,         // r = 1 / (p + H_j)                  H_j = sum q h_j^2
  recent_newton,  // r = 1 / (p + D_j)                  D_j <- memory D_j + q h_j^2
  full_newton,    // w += lambda P h over the dense features, with a matrix P instead of rates: see full_newton.hpp
  with_products,  // the expert with rates of the same number, which sees products of features too: see mixture.hpp
  mean_label,     // reads no row: the mean of the labels, of which each event leaves `memory`
};

constexpr std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::isotropic: return "isotropic";
    case Kind::adagrad: return "adagrad";
    case Kind::proportionate: return "proportionate";
    case Kind::newton: return "newton";
    case Kind::recent_newton: return "recent_newton";
    case Kind::full_newton: return "full_newton";
    case Kind::with_products: return "with_products";
    case Kind::mean_label: return "mean_label";
  }
  return "";
}

// With what an expert takes part in the steady answer, which is the one to give while no labels are coming in (steady.hpp). Those
// that follow the last labels would stop at whatever came last; of some the average over the stream is worth more than the latest
// weights.
enum class Steady { no, weights, average, both };

constexpr std::string_view name_of(Steady steady) {
  switch (steady) {
    case Steady::no: return "no";
    case Steady::weights: return "weights";
    case Steady::average: return "average";
    case Steady::both: return "both";
  }
  return "";
}

struct Expert {
  std::string_view key;   // in model files: never changes, and is never used again for another expert
  std::string_view name;  // for people
  Kind kind;
  double parameter;
  double memory;  // how much of the past remains after an event; 1 is all of it
  double prior;   // weight before the first event, relative to the others
  Steady steady;

  constexpr bool reads_rows() const { return kind != Kind::mean_label; }
  constexpr bool has_rates() const { return reads_rows() && kind != Kind::full_newton && kind != Kind::with_products; }

  // Where a quantile is predicted: whether it learns the level of the labels, see quantile_offsets.hpp. A twin does as its expert.
  constexpr bool follows_level() const {
    return kind == Kind::isotropic || kind == Kind::proportionate || kind == Kind::full_newton;
  }

  // What the expert goes by, for people.
  constexpr std::string_view group() const {
    switch (kind) {
      case Kind::isotropic:
      case Kind::recent_newton: return "recent events";
      case Kind::adagrad:
      case Kind::proportionate: return "everything, by feature";
      case Kind::newton: return "everything, by curvature";
      case Kind::full_newton: return memory < 1.0 ? "recent events" : "everything, by curvature";
      case Kind::with_products: return "products of features";
      case Kind::mean_label: return "labels alone";
    }
    return "";
  }
  // About how many events it remembers; 0 if that is not how its memory is limited.
  constexpr double events() const {
    return memory < 1.0 ? static_cast<double>(static_cast<int>(1.0 / (1.0 - memory) + 0.5)) : 0.0;
  }
  // The same for each feature that an event has: a step of strength p goes 1 / (1 + p) of the way to the label. 0: not limited.
  constexpr double per_feature() const { return kind == Kind::isotropic ? 1.0 + parameter : 0.0; }
};

// Those with a rate for each feature come first, then those with a matrix, then those that know the labels alone, and last
// those with products, which join when pairs of features were chosen. Cautious experts have four times the prior weight of bold ones.
// clang-format off
inline constexpr auto table = std::to_array<Expert>({
    // key                name                             kind                 parameter  memory  prior  steady
    {"isotropic_1/64",    "isotropic, strength 1/64",      Kind::isotropic,      1.0 / 64,  1.0,   1,     Steady::no},
    {"isotropic_1/2",     "isotropic, strength 1/2",       Kind::isotropic,      1.0 / 2,   1.0,   4,     Steady::average},
    {"isotropic_8",       "isotropic, strength 8",         Kind::isotropic,      8.0,       1.0,   4,     Steady::weights},
    {"adagrad",           "AdaGrad",                       Kind::adagrad,        16.0,      1.0,   1,     Steady::no},
    {"proportionate",     "AdaGrad, proportionate",        Kind::proportionate,  0.03,      1.0,   4,     Steady::both},
    {"newton_0.2",        "diagonal Newton, prior 0.2",    Kind::newton,         0.2,       1.0,   1,     Steady::weights},
    {"newton_4",          "diagonal Newton, prior 4",      Kind::newton,         4.0,       1.0,   4,     Steady::weights},
    {"newton_recent",     "diagonal Newton, short memory", Kind::recent_newton,  1.0,       0.95,  1,     Steady::average},
    {"full_newton",       "full Newton",                   Kind::full_newton,    1.0,       1.0,   1,     Steady::no},
    {"full_newton_0.998", "full Newton, memory 0.998",     Kind::full_newton,    1.0,       0.998, 1,     Steady::no},
    {"last_label",        "the last label",                Kind::mean_label,     0.0,       0.0,   1,     Steady::no},
    {"mean_label_0.7",    "mean label, memory 0.7",        Kind::mean_label,     0.0,       0.7,   1,     Steady::no},
    {"mean_label_0.95",   "mean label, memory 0.95",       Kind::mean_label,     0.0,       0.95,  1,     Steady::no},
    {"mean_label",        "mean label",                    Kind::mean_label,     0.0,       1.0,   4,     Steady::weights},
    {"isotropic_1/64_products",   "isotropic, strength 1/64, with products",     Kind::with_products,  1.0 / 64,  1.0,   1,     Steady::no},
    {"isotropic_1/2_products",    "isotropic, strength 1/2, with products",      Kind::with_products,  1.0 / 2,   1.0,   4,     Steady::average},
    {"isotropic_8_products",      "isotropic, strength 8, with products",        Kind::with_products,  8.0,       1.0,   4,     Steady::weights},
    {"adagrad_products",          "AdaGrad, with products",                      Kind::with_products,  16.0,      1.0,   1,     Steady::no},
    {"proportionate_products",    "AdaGrad, proportionate, with products",       Kind::with_products,  0.03,      1.0,   4,     Steady::both},
    {"newton_0.2_products",       "diagonal Newton, prior 0.2, with products",   Kind::with_products,  0.2,       1.0,   1,     Steady::weights},
    {"newton_4_products",         "diagonal Newton, prior 4, with products",     Kind::with_products,  4.0,       1.0,   4,     Steady::weights},
    {"newton_recent_products",    "diagonal Newton, short memory, with products", Kind::with_products,  1.0,       0.95,  1,     Steady::average},
});
// clang-format on

// What follows from the table

template <Kind kind>
inline constexpr int count_of = [] {
  int count = 0;
  for (const Expert& each : table) count += each.kind == kind;
  return count;
}();

// The places of a kind in the table.
template <Kind kind>
inline constexpr auto places_of = [] {
  std::array<int, count_of<kind>> out{};
  for (int k = 0, n = 0; k < static_cast<int>(table.size()); ++k)
    if (table[k].kind == kind) out[n++] = k;
  return out;
}();

inline constexpr int expert_count = static_cast<int>(table.size());
// Row experts have a rate for each feature, full experts a matrix; product experts are row experts with products. All these read rows.
inline constexpr int label_experts = count_of<Kind::mean_label>, full_experts = count_of<Kind::full_newton>;
inline constexpr int product_experts = count_of<Kind::with_products>;
inline constexpr int row_experts = expert_count - label_experts - full_experts - product_experts;
inline constexpr int first_full_expert = row_experts, first_label_expert = row_experts + full_experts;
// So many there are before pairs of features were chosen.
inline constexpr int plain_experts = first_label_expert + label_experts, first_product_expert = plain_experts;
inline constexpr int recent_experts = count_of<Kind::recent_newton>;

// Arrays are padded to whole groups of four, with zeros.
inline constexpr int in_fours(int n) { return (n + 3) / 4 * 4; }
inline constexpr int row_slots = in_fours(row_experts), slots = in_fours(expert_count);

// A number for each expert, in the order of the table.
using PerExpert = std::array<double, slots>;

// Of the first so many experts; they sum to one.
constexpr PerExpert prior_weights(int count) {
  PerExpert out{};
  double total = 0.0;
  for (int k = 0; k < count; ++k) total += table[k].prior;
  for (int k = 0; k < count; ++k) out[k] = table[k].prior / total;
  return out;
}

// The place, among the label experts, of the mean of all labels: experts that read rows begin at it.
inline constexpr int mean_of_all = [] {
  for (int b = 0; b < label_experts; ++b)
    if (table[first_label_expert + b].memory == 1.0) return b;
  return -1;
}();

// The steady answer mixes these: the weights of an expert that has a rate for each feature, or their average. Products are added by
// what the expert's twin with products has learned.
struct Member {
  int expert;
  bool averaged;
};

template <class Each>
constexpr void each_member(Each&& each) {
  for (int k = 0; k < row_experts; ++k) {
    if (table[k].steady == Steady::weights || table[k].steady == Steady::both) each(Member{k, false});
    if (table[k].steady == Steady::average || table[k].steady == Steady::both) each(Member{k, true});
  }
}

inline constexpr int row_members = [] {
  int count = 0;
  each_member([&](Member) { ++count; });
  return count;
}();
inline constexpr auto members = [] {
  std::array<Member, row_members> out{};
  int n = 0;
  each_member([&](Member each) { out[n++] = each; });
  return out;
}();
inline constexpr int averaged_experts = [] {
  int count = 0;
  each_member([&](Member each) { count += each.averaged; });
  return count;
}();
// The experts whose weights are averaged, in the order of the averages.
inline constexpr auto averaged = [] {
  std::array<int, averaged_experts> out{};
  int n = 0;
  each_member([&](Member each) {
    if (each.averaged) out[n++] = each.expert;
  });
  return out;
}();
// And one that knows the base rate alone: the last.
inline constexpr int member_count = row_members + 1;
inline constexpr int average_slots = in_fours(averaged_experts), member_slots = in_fours(member_count);
using PerMember = std::array<double, member_slots>;

static_assert(mean_of_all >= 0, "an expert must know the mean of all labels");
static_assert(product_experts == row_experts, "every expert with a rate for each feature has a twin with products");
static_assert(
    [] {
      for (int k = 0; k < product_experts; ++k) {
        const Expert &one = table[k], &twin = table[first_product_expert + k];
        if (one.parameter != twin.parameter || one.memory != twin.memory || one.prior != twin.prior) return false;
        if (one.steady != twin.steady) return false;
      }
      return true;
    }(),
    "a twin differs from its expert in the products alone");
static_assert(
    [] {
      for (int k = 0; k < expert_count; ++k) {
        if (table[k].has_rates() != (k < row_experts)) return false;
        if ((table[k].kind == Kind::full_newton) != (k >= first_full_expert && k < first_label_expert)) return false;
        if ((table[k].kind == Kind::with_products) != (k >= first_product_expert)) return false;
        for (int other = 0; other < k; ++other)
          if (table[other].key == table[k].key) return false;
      }
      return true;
    }(),
    "experts are in the order of their kinds, and every expert has a key of its own");

}  // namespace odca::experts
