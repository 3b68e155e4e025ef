// Products of two features, chosen by the stream.
//
// A second table of weights (mixture.hpp) sees at most `budget` products of pairs, squares too, each in a slot of its own:
//
//     p_ij = clip(h_i) clip(h_j)        h standardised as for all experts, clip to [-3, 3]
//
// Which pairs these are is decided anew at every epoch: after 32 events, and whenever their number has doubled. Until the next one,
// sums are kept for all pairs of at most 64 candidates, the most frequent features,
//
//     C = sum r p        Q = sum q p^2
//
// where r and q are residual and curvature of the loss of one expert that sees the chosen products. A pair whose weight is v would
// gain about (|v| + |C|/Q)^2 Q / 2 over having no weight. Those that would gain most are chosen; chosen ones count four times, so
// that little is learned in vain. A pair that stays keeps its slot and its weights. All pairs are chosen if they fit. The square of a
// feature that is zero or one says nothing new, and is never chosen.
//
// Where the candidates hold less than half of all that is not zero, as in bags of words, nothing is chosen unless a budget was asked
// for. Everything depends on the events alone, in bounded memory; an event costs O(candidates^2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "odca/experts/feature_table.hpp"
#include "odca/experts/scaled_row.hpp"
#include "odca/math/checks.hpp"
#include "odca/problem/product_terms.hpp"

namespace odca::experts {

class Pairs {
 public:
  static constexpr int automatic = -1, usual = 128, most = 2080;  // budgets; 2080 are all pairs of 64 features

  explicit Pairs(int budget) : asked_(budget) {}

  int asked() const { return static_cast<int>(asked_); }
  // A model that has slots keeps them, whatever the usual number is now.
  std::int64_t budget() const {
    if (asked() != automatic) return asked();
    return chosen_.empty() ? usual : static_cast<std::int64_t>(slots());
  }

  // A slot's features, the first not above the second; -1 if it is empty.
  struct Pair {
    std::int64_t first = -1, second = -1;
    auto operator<=>(const Pair&) const = default;
    bool is_empty() const { return first < 0; }
  };
  Pair in_slot(std::size_t slot) const { return {chosen_[2 * slot], chosen_[2 * slot + 1]}; }
  std::size_t slots() const { return chosen_.size() / 2; }

  // The products of a standardised row, [slot].
  void write(const ScaledRow& row, std::vector<double>& h, std::vector<double>& out) const {
    gather(row, members_, h);
    multiply(h, out);
  }
  // Those of a row as it is, by the forms that its features have now.
  void write(const Row& row, const FeatureTable& features, std::vector<double>& h, std::vector<double>& out) const {
    h.assign(members_.size() + 1, 0.0);
    RowCursor in_row(row);
    for (std::size_t n = 0; n < members_.size(); ++n) {
      const FeatureTable::Form form = features.form(members_[n]);
      const double x = in_row.holds(members_[n]) ? in_row.value() : 0.0;
      if (form.scale > 0.0) h[n] = ProductFactor{members_[n], form.centre, form.scale}.of(x);
    }
    multiply(h, out);
  }

  // The products as functions of x, by the forms that features have now, and the slot of each. Those of features that do not vary are
  // zero, and are left out.
  struct InUse {
    ProductTerms terms;
    std::vector<std::size_t> slots;
  };
  InUse in_use(const FeatureTable& features) const {
    std::vector<ProductTerms::Term> terms;
    std::vector<std::size_t> used;
    const auto factor = [&](std::int64_t j) {
      const FeatureTable::Form form = features.form(j);
      return ProductFactor{j, form.centre, form.scale};
    };
    for (std::size_t slot = 0; slot < slots(); ++slot) {
      const Pair pair = in_slot(slot);
      if (pair.is_empty()) continue;
      const ProductTerms::Term term{factor(pair.first), factor(pair.second)};
      if (term.first.scale > 0.0 && term.second.scale > 0.0) terms.push_back(term), used.push_back(slot);
    }
    return {ProductTerms(std::move(terms)), std::move(used)};
  }

  // Adds an event of weight c with these residuals, [head], and curvature.
  void learn(const ScaledRow& row, const std::vector<double>& residual, double curvature, double c) {
    if (candidates_.empty()) return;
    gather(row, candidates_, h_);
    const auto n = static_cast<std::int64_t>(candidates_.size());
    for (std::int64_t a = 0; a < n; ++a) {
      if (h_[a] == 0.0) continue;
      const std::int64_t begin = offset(a);
      const double *const h = h_.data(), own = h[a];
      double* const squares = squares_.data() + begin - a;
      const double q = c * curvature;
      for (std::int64_t b = a; b < n; ++b) {
        const double p = own * h[b];
        squares[b] += q * p * p;
      }
      for (std::size_t head = 0; head < residual.size(); ++head) {
        double* const sums = sums_.data() + static_cast<std::int64_t>(head) * pairs() + begin - a;
        const double r = c * residual[head] * own;
        for (std::int64_t b = a; b < n; ++b) sums[b] += r * h[b];
      }
    }
  }

  bool is_due(std::int64_t events) const { return asked() != 0 && events >= next_; }

  // Chooses pairs and candidates for the next epoch. `slope` gives the weights of a slot's product, [head], in units of the labels'
  // deviation. Returns the slots whose pairs are others than before.
  template <class Slope>
  std::vector<std::int64_t> choose(std::int64_t events, const FeatureTable& features, Slope&& slope) {
    std::vector<Pair> best = candidates_.empty() ? std::vector<Pair>() : best_of(features, slope);
    const bool is_first = candidates_.empty();
    begin_epoch(events, features);
    if (is_first && pairs() <= budget())
      for (std::size_t a = 0; a < candidates_.size(); ++a)
        for (std::size_t b = a; b < candidates_.size(); ++b)
          if (const Pair pair{candidates_[a], candidates_[b]}; !is_needless(pair, features)) best.push_back(pair);
    return put(best);
  }

  // Adds the pairs of another model, whose features have these places here, as far as there is room. Returns where its slots are here;
  // those for which there is no room come after all of these.
  template <class PlaceOf>
  std::vector<std::int64_t> add(const Pairs& other, PlaceOf&& place_of) {
    if (slots() == 0) chosen_.assign(static_cast<std::size_t>(2 * budget()), -1);
    std::vector<std::int64_t> out;
    auto beyond = static_cast<std::int64_t>(slots());
    for (std::size_t slot = 0; slot < other.slots(); ++slot) {
      Pair pair = other.in_slot(slot);
      if (!pair.is_empty()) pair = {place_of(pair.first), place_of(pair.second)};
      if (pair.first > pair.second) std::swap(pair.first, pair.second);
      std::size_t at = pair.is_empty() ? slots() : slot_of(pair);
      if (at == slots() && !pair.is_empty()) at = slot_of(Pair());
      if (at < slots()) chosen_[2 * at] = pair.first, chosen_[2 * at + 1] = pair.second;
      out.push_back(at < slots() ? static_cast<std::int64_t>(at) : beyond++);
    }
    number_places();
    return out;
  }
  // Adds what another model has learned in this epoch, where it has the same candidates and the same products, as the parts of a model
  // have until one of them chooses anew. False if not.
  template <class PlaceOf>
  bool add_epoch(const Pairs& other, PlaceOf&& place_of) {
    const auto are_same = [&](const std::vector<std::int64_t>& here, const std::vector<std::int64_t>& there) {
      return std::equal(here.begin(), here.end(), there.begin(), there.end(),
                        [&](std::int64_t j, std::int64_t k) { return j == (k < 0 ? k : place_of(k)); });
    };
    if (!are_same(candidates_, other.candidates_) || !are_same(chosen_, other.chosen_)) return false;
    if (sums_.size() != other.sums_.size()) return false;
    for (std::size_t n = 0; n < sums_.size(); ++n) sums_[n] += other.sums_[n];
    for (std::size_t n = 0; n < squares_.size(); ++n) squares_[n] += other.squares_[n];
    next_ += other.next_;
    return true;
  }
  // After two models became one whose epochs differ.
  void begin_epoch(std::int64_t events, const FeatureTable& features) {
    choose_candidates(features);
    next_ = std::max<std::int64_t>(first_epoch, 2 * events);
  }
  // After heads were added.
  void begin_sums(int heads) {
    sums_.assign(static_cast<std::size_t>(heads * pairs()), 0.0),
        squares_.assign(static_cast<std::size_t>(pairs()), 0.0);
  }
  void keep_share(double share) {
    for (auto* each : {&sums_, &squares_})
      for (double& sum : *each) sum *= share;
  }
  // After how many events the epoch ends.
  std::int64_t end_of_epoch() const { return next_; }
  void end_epoch_at(std::int64_t events) { next_ = events; }

  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    visit("pairs_asked", self.asked_), visit("pairs_next", self.next_), visit("pairs", self.chosen_);
    visit("pairs_candidates", self.candidates_), visit("pairs_sums", self.sums_), visit("pairs_squares", self.squares_);
  }
  // After these were read. False if they do not fit together, or not to a table of so many features and heads.
  bool complete(std::int64_t features, int heads) {
    const auto is_known = [&](std::int64_t j) { return j >= 0 && j < features; };
    if (!(asked_ >= automatic && asked_ <= most && asked_ == std::floor(asked_)) || slots() > most ||
        !(chosen_.empty() || chosen_.size() == static_cast<std::size_t>(2 * budget())))
      return false;
    if (next_ < 0 || candidates_.size() > most_candidates ||
        !std::all_of(candidates_.begin(), candidates_.end(), is_known))
      return false;
    if (std::adjacent_find(candidates_.begin(), candidates_.end(), std::greater_equal<>()) != candidates_.end())
      return false;
    std::vector<Pair> used;
    for (std::size_t slot = 0; slot < slots(); ++slot) {
      const Pair pair = in_slot(slot);
      if (pair == Pair()) continue;
      if (!is_known(pair.first) || !is_known(pair.second) || pair.first > pair.second) return false;
      used.push_back(pair);
    }
    std::sort(used.begin(), used.end());
    if (std::adjacent_find(used.begin(), used.end()) != used.end()) return false;
    if (squares_.size() != static_cast<std::size_t>(pairs()) ||
        sums_.size() != squares_.size() * static_cast<std::size_t>(heads))
      return false;
    if (!all_within(sums_, 1e290) || !all_within(squares_, 1e290) || !none_negative(squares_)) return false;
    number_places();
    return true;
  }

 private:
  static constexpr std::size_t most_candidates = 64;
  static constexpr std::int64_t first_epoch = 32;
  static constexpr double chosen_count = 4.0;

  std::int64_t pairs() const {
    const auto n = static_cast<std::int64_t>(candidates_.size());
    return n * (n + 1) / 2;
  }
  // Where the pairs (a, a), (a, a + 1), ... of candidates begin.
  std::int64_t offset(std::int64_t a) const {
    return a * static_cast<std::int64_t>(candidates_.size()) - a * (a - 1) / 2;
  }

  static void gather(const ScaledRow& row, const std::vector<std::int64_t>& features, std::vector<double>& h) {
    h.assign(features.size() + 1, 0.0);  // the last: of an empty slot
    row.each_of(features,
                [&](std::size_t place, double value) { h[place] = clip(value, -largest_factor, largest_factor); });
  }
  void multiply(const std::vector<double>& h, std::vector<double>& out) const {
    out.resize(slots());
    for (std::size_t slot = 0; slot < slots(); ++slot) out[slot] = h[places_[slot].first] * h[places_[slot].second];
  }

  void choose_candidates(const FeatureTable& features) {
    struct Candidate {
      double count;
      std::int64_t feature;
    };
    std::vector<Candidate> all;
    double total = 0.0, held = 0.0;
    features.each_count([&](std::int64_t j, double count) { all.push_back({count, j}), total += count; });
    const std::size_t some = std::min(all.size(), most_candidates);
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(some), all.end(),
                      [](const Candidate& a, const Candidate& b) {
                        return a.count != b.count ? a.count > b.count : a.feature < b.feature;
                      });
    candidates_.clear();
    for (std::size_t n = 0; n < some; ++n) candidates_.push_back(all[n].feature), held += all[n].count;
    if (asked() == automatic && 2.0 * held < total) candidates_.clear();
    std::sort(candidates_.begin(), candidates_.end());
    begin_sums(features.heads());
  }

  // slots() if there is none.
  std::size_t slot_of(const Pair& pair) const {
    std::size_t slot = 0;
    while (slot < slots() && in_slot(slot) != pair) ++slot;
    return slot;
  }

  static bool is_needless(const Pair& pair, const FeatureTable& features) {
    return pair.first == pair.second && features.has_two_values(pair.first);
  }

  template <class Slope>
  std::vector<Pair> best_of(const FeatureTable& features, Slope&& slope) const {
    const int heads = features.heads();
    struct Gain {
      double gain;
      Pair pair;
    };
    std::vector<std::pair<Pair, std::int64_t>> slots_of;
    for (std::size_t slot = 0; slot < slots(); ++slot)
      if (!in_slot(slot).is_empty()) slots_of.emplace_back(in_slot(slot), static_cast<std::int64_t>(slot));
    std::sort(slots_of.begin(), slots_of.end());
    std::vector<Gain> gains;
    std::vector<double> v(static_cast<std::size_t>(heads));
    std::size_t at = 0;
    for (std::size_t a = 0; a < candidates_.size(); ++a)
      for (std::size_t b = a; b < candidates_.size(); ++b, ++at) {
        const double q = squares_[at];
        if (!(q > 0.0)) continue;
        const Pair pair{candidates_[a], candidates_[b]};
        if (is_needless(pair, features)) continue;
        const auto found = std::lower_bound(slots_of.begin(), slots_of.end(), std::pair{pair, std::int64_t{-1}});
        const bool is_chosen = found != slots_of.end() && found->first == pair;
        std::fill(v.begin(), v.end(), 0.0);
        if (is_chosen) slope(found->second, v.data());
        double gain = 0.0;
        for (int head = 0; head < heads; ++head) {
          const double best = std::fabs(v[head]) + std::fabs(sums_[static_cast<std::size_t>(head * pairs()) + at]) / q;
          gain += 0.5 * best * best * q;
        }
        if (gain > 0.0) gains.push_back({is_chosen ? chosen_count * gain : gain, pair});
      }
    const auto some = std::min(static_cast<std::ptrdiff_t>(gains.size()), static_cast<std::ptrdiff_t>(budget()));
    std::partial_sort(gains.begin(), gains.begin() + some, gains.end(), [](const Gain& a, const Gain& b) {
      return a.gain != b.gain ? a.gain > b.gain : a.pair < b.pair;
    });
    std::vector<Pair> out;
    for (std::ptrdiff_t n = 0; n < some; ++n) out.push_back(gains[n].pair);
    return out;
  }

  // Those that stay keep their slots.
  std::vector<std::int64_t> put(std::vector<Pair> pairs) {
    std::sort(pairs.begin(), pairs.end());
    std::vector<std::int64_t> cleared;
    if (slots() == 0 && !pairs.empty()) chosen_.assign(static_cast<std::size_t>(2 * budget()), -1);
    for (std::size_t slot = 0; slot < slots(); ++slot) {
      const auto found = std::lower_bound(pairs.begin(), pairs.end(), in_slot(slot));
      if (found != pairs.end() && *found == in_slot(slot)) {
        pairs.erase(found);
      } else {
        if (!in_slot(slot).is_empty()) cleared.push_back(static_cast<std::int64_t>(slot));
        chosen_[2 * slot] = chosen_[2 * slot + 1] = -1;
      }
    }
    std::size_t slot = 0;
    for (const Pair& pair : pairs) {
      while (!in_slot(slot).is_empty()) ++slot;
      chosen_[2 * slot] = pair.first, chosen_[2 * slot + 1] = pair.second;
    }
    number_places();
    return cleared;
  }

  void number_places() {
    members_.clear();
    for (const std::int64_t j : chosen_)
      if (j >= 0) members_.push_back(j);
    std::sort(members_.begin(), members_.end());
    members_.erase(std::unique(members_.begin(), members_.end()), members_.end());
    const auto place = [&](std::int64_t j) {
      const auto at = j < 0 ? members_.end() : std::lower_bound(members_.begin(), members_.end(), j);
      return static_cast<int>(at - members_.begin());
    };
    places_.clear();
    for (std::size_t n = 0; n < slots(); ++n) places_.emplace_back(place(in_slot(n).first), place(in_slot(n).second));
  }

  double asked_;  // the budget
  std::int64_t next_ = first_epoch;
  std::vector<std::int64_t> chosen_;         // [slot][two features]
  std::vector<std::int64_t> candidates_;     // in order
  std::vector<double> sums_, squares_;       // C, [head][pair], and Q, [pair]
  std::vector<std::int64_t> members_;        // all features of chosen pairs, in order
  std::vector<std::pair<int, int>> places_;  // of each slot, among the members; after them if it is empty
  std::vector<double> h_;
};

}  // namespace odca::experts
