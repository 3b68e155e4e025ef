// The smoothed weights  w-bar_N = sum_n kappa^(N-n) w_n / sum_n kappa^(N-n)  without touching every coordinate
// at every event.
//
// While a coordinate is not touched its v_j is constant, and w_j(n) = map(v_j q_n) depends on the event only
// through the scalar q_n = scale_n / A_n. So a coordinate is brought up to date when it is next needed, from
// sums of q_n over the events it missed, each weighted kappa^(now - n). Differences of running sums would cancel
// (q_n may fall by any factor within a block); here every sum is built by additions of positive terms alone.
//
// The Timeline is a tree of fan-out 32 over the events of a block. For every finished child i of the node that
// is being filled, on every level, it keeps the sums over the events *after* that child, up to now: one
// multiply-add each per event. When a node is full these are frozen: they are then the sums from that child to
// the node's end. The events missed since position m are therefore one frozen segment for each level on which m
// and now lie in different nodes, and one running segment above: usually one or two look-ups.
//
// A segment also keeps min and max of q: where both lie on one line of the penalty's map the whole segment does.
// Where they do not, the nodes inside it are visited, down to single events only where the lines differ.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "odca/math.hpp"
#include "odca/penalties.hpp"

namespace odca {

class Timeline {
 public:
  static constexpr int bits = 5, fan = 1 << bits;
  using Position = std::uint32_t;  // 0 is the beginning of the block, n its n-th event

  // Of every child of the node being filled, over the events after it up to now.
  struct Running {
    std::array<double, fan> weight{}, ones{};  // kappa^length and the sum of kappa^0 .. kappa^(length-1)
    std::vector<double> sum, low, high;        // [child][lane]: sum of kappa^(now-n) q_n, min and max of q_n
    std::array<double, fan> frozen_weight{}, frozen_ones{};  // at the end of a full node; all full nodes are alike
    bool operator==(const Running&) const = default;
  };
  struct Level : Running {
    // Sum, min and max at the end of the node, kept for every child of every full node.
    std::vector<double> frozen_sum, frozen_low, frozen_high;
    // Of every finished child by itself.
    double node_weight = 1.0, node_ones = 0.0;
    std::vector<double> node_sum, node_low, node_high;

    bool operator==(const Level&) const = default;

    template <class Visit>
    void each_field(Visit&& visit) {
      visit("weight", weight), visit("ones", ones);
      visit("sum", sum), visit("low", low), visit("high", high);
      visit("frozen_weight", frozen_weight), visit("frozen_ones", frozen_ones);
      visit("frozen_sum", frozen_sum), visit("frozen_low", frozen_low), visit("frozen_high", frozen_high);
      visit("node_weight", node_weight), visit("node_ones", node_ones);
      visit("node_sum", node_sum), visit("node_low", node_low), visit("node_high", node_high);
    }
  };

  // Without `pieces` (the map is one line: l2) neither min and max nor the nodes by themselves are kept.
  Timeline() = default;
  Timeline(double kappa, int lanes, bool pieces) : kappa_(kappa), lanes_(lanes), pieces_(pieces) { clear(); }

  Position now() const { return now_; }

  void clear() {
    now_ = 0;
    levels_.clear();
    add_level();
    open_child(0, 0);
  }

  // Records q[lane] of the event just learned.
  void append(const double* q) {
    ++now_;
    for (Level& level : levels_) advance(level, q);
    if (pieces_)
      for (auto* nodes : {&levels_[0].node_sum, &levels_[0].node_low, &levels_[0].node_high})
        nodes->insert(nodes->end(), q, q + lanes_);
    open_child(0, now_);
    Position child = now_;
    for (std::size_t l = 0; (child & (fan - 1)) == fan - 1; ++l) {
      freeze(l);
      child >>= bits;
      open_child(l + 1, child);
    }
  }

  // The events after `from` as one affine map, for a map that is one line: a coordinate's smoothed sum u becomes
  // weight * u + w0 * ones + slope * sum.
  struct Carry {
    double weight, ones, sum;
  };
  [[gnu::always_inline]] Carry carry(Position from, int lane) const {
    Carry total{1.0, 0.0, 0.0};
    const Level* level = levels_.data();
    Position child = from;
    for (Position current = now_; child >> bits != current >> bits; child >>= bits, current >>= bits, ++level) {
      const std::size_t slot = child & (fan - 1);
      const double weight = level->frozen_weight[slot];
      total = {weight * total.weight, weight * total.ones + level->frozen_ones[slot],
               weight * total.sum + level->frozen_sum[static_cast<std::size_t>(child) * lanes_ + lane]};
    }
    const std::size_t slot = child & (fan - 1);
    const double weight = level->weight[slot];
    return {weight * total.weight, weight * total.ones + level->ones[slot],
            weight * total.sum + level->sum[slot * lanes_ + lane]};
  }

  // The smoothed sum of one coordinate, which was last brought up to date at `from`, now. `slope` is v_j / a_j.
  double bring_up(double sum, Position from, int lane, double slope, double w0, const L2&) const {
    const Carry missed = carry(from, lane);
    return missed.weight * sum + (w0 * missed.ones + slope * missed.sum);
  }
  template <class Penalty>
  double bring_up(double sum, Position from, int lane, double slope, double w0, const Penalty& penalty) const {
    Position child = from, current = now_;
    for (std::size_t l = 0;; ++l, child >>= bits, current >>= bits) {
      const Level& level = levels_[l];
      const std::size_t slot = child & (fan - 1);
      if (child >> bits == current >> bits) {
        const std::size_t at = slot * lanes_ + lane;
        const Segment open{level.weight[slot], level.ones[slot], level.sum[at], level.low[at], level.high[at]};
        if (follow(sum, open, slope, w0, penalty)) return sum;
        return visit_open(sum, l, child, lane, slope, w0, penalty);
      }
      const std::size_t at = static_cast<std::size_t>(child) * lanes_ + lane;
      const Segment full{level.frozen_weight[slot], level.frozen_ones[slot], level.frozen_sum[at], level.frozen_low[at],
                         level.frozen_high[at]};
      if (!follow(sum, full, slope, w0, penalty))
        for (Position next = child + 1; next <= (child | (fan - 1)); ++next)
          sum = visit_node(sum, l, next, lane, slope, w0, penalty);
    }
  }

  // What a failed call must put back: the running sums, and how much was frozen.
  struct Mark {
    Position now;
    std::vector<Running> running;
  };
  void mark(Mark& mark) const {
    mark.now = now_;
    mark.running.assign(levels_.begin(), levels_.end());
  }
  // Back to the mark, provided that the block did not end since.
  void rewind(const Mark& mark) {
    now_ = mark.now;
    levels_.resize(mark.running.size());
    Position nodes = now_ + 1;  // finished or not; the first is the block's beginning
    for (std::size_t l = 0; l < levels_.size(); ++l, nodes >>= bits) {
      Level& level = levels_[l];
      static_cast<Running&>(level) = mark.running[l];
      for (auto* each : {&level.node_sum, &level.node_low, &level.node_high}) each->resize(sizes(nodes).nodes);
      level.frozen_sum.resize(sizes(nodes).frozen);
      for (auto* each : {&level.frozen_low, &level.frozen_high}) each->resize(pieces_ ? sizes(nodes).frozen : 0);
    }
  }

  bool operator==(const Timeline&) const = default;

  // Whether every level holds as much as `now` says: for a timeline that comes from outside.
  bool is_consistent() const {
    if (now_ >= Position{1} << 28) return false;
    const auto all = [](const auto& values, auto holds) { return std::all_of(values.begin(), values.end(), holds); };
    const auto finite = [](double x) { return x - x == 0.0; };
    const auto number = [](double x) { return x == x; };
    Position nodes = now_ + 1;
    for (const Level& level : levels_) {
      const std::size_t slots = static_cast<std::size_t>(fan) * lanes_, frozen = sizes(nodes).frozen;
      if (level.sum.size() != slots || level.frozen_sum.size() != frozen) return false;
      for (const auto* each : {&level.low, &level.high})
        if (each->size() != (pieces_ ? slots : 0)) return false;
      for (const auto* each : {&level.frozen_low, &level.frozen_high})
        if (each->size() != (pieces_ ? frozen : 0)) return false;
      for (const auto* each : {&level.node_sum, &level.node_low, &level.node_high})
        if (each->size() != sizes(nodes).nodes) return false;
      for (const auto* each : {&level.weight, &level.frozen_weight})
        if (!all(*each, [](double x) { return x >= 0.0 && x <= 1.0; })) return false;
      for (const auto* each : {&level.ones, &level.frozen_ones})
        if (!all(*each, [](double x) { return x >= 0.0 && x < 0x1p40; })) return false;
      for (const auto* each : {&level.sum, &level.frozen_sum, &level.node_sum})
        if (!all(*each, finite)) return false;
      for (const auto* each :
           {&level.low, &level.high, &level.frozen_low, &level.frozen_high, &level.node_low, &level.node_high})
        if (!all(*each, number)) return false;
      if (!finite(level.node_weight) || !finite(level.node_ones)) return false;
      nodes >>= bits;
    }
    return nodes == 0;
  }

  template <class Visit>
  void each_field(Visit&& visit) {
    visit("now", now_);
    visit("levels", levels_);
  }

 private:
  struct Segment {
    double weight, ones, sum, low, high;
  };

  // Carries `total` over a segment if all of it lies on one line of the map.
  template <class Penalty>
  static bool follow(double& total, const Segment& s, double slope, double w0, const Penalty& penalty) {
    if (s.ones == 0.0) return true;  // no event
    const auto line = penalty.line(slope * s.low, w0);
    if (line != penalty.line(slope * s.high, w0)) return false;
    total = s.weight * total + (line.intercept * s.ones + line.slope * (slope * s.sum));
    return true;
  }

  template <class Penalty>
  double visit_node(double total, std::size_t l, Position node, int lane, double slope, double w0,
                    const Penalty& penalty) const {
    const Level& level = levels_[l];
    const std::size_t at = static_cast<std::size_t>(node) * lanes_ + lane;
    if (l == 0) return kappa_ * total + penalty.map(slope * level.node_sum[at], w0);
    const Segment whole{level.node_weight, level.node_ones, level.node_sum[at], level.node_low[at],
                        level.node_high[at]};
    if (follow(total, whole, slope, w0, penalty)) return total;
    for (Position i = 0; i < fan; ++i) total = visit_node(total, l - 1, (node << bits) + i, lane, slope, w0, penalty);
    return total;
  }

  // All events after `child` of the node being filled: its finished children, then those of the child in work.
  template <class Penalty>
  double visit_open(double total, std::size_t l, Position child, int lane, double slope, double w0,
                    const Penalty& penalty) const {
    Position next = child + 1;
    for (;; --l, next <<= bits) {
      const Position current = now_ >> (bits * l);
      for (; next < current; ++next) total = visit_node(total, l, next, lane, slope, w0, penalty);
      if (l == 0) break;
    }
    return next <= now_ ? visit_node(total, 0, next, lane, slope, w0, penalty) : total;
  }

  struct Sizes {
    std::size_t nodes, frozen;
  };
  // How much a level holds that has so many finished children.
  Sizes sizes(Position children) const {
    return {pieces_ ? static_cast<std::size_t>(children) * lanes_ : 0,
            static_cast<std::size_t>(children >> bits << bits) * lanes_};
  }

  void add_level() {
    Level level;
    level.sum.resize(static_cast<std::size_t>(fan) * lanes_);
    for (auto* each : {&level.low, &level.high}) each->resize(pieces_ ? level.sum.size() : 0);
    if (!levels_.empty()) {
      const Level& below = levels_.back();
      level.node_weight = below.frozen_weight[0] * below.node_weight;
      level.node_ones = below.frozen_weight[0] * below.node_ones + below.frozen_ones[0];
    } else {
      level.node_weight = kappa_;
      level.node_ones = 1.0;
      // The block's beginning holds no event.
      level.node_sum.assign(pieces_ ? lanes_ : 0, 0.0);
      level.node_low.assign(pieces_ ? lanes_ : 0, infinity);
      level.node_high.assign(pieces_ ? lanes_ : 0, -infinity);
    }
    levels_.push_back(std::move(level));
  }

  // Child `child` of a level is finished: nothing has come after it yet. (A slot not yet opened takes part in
  // `advance` too; it is reset here before anyone reads it.)
  void open_child(std::size_t l, Position child) {
    if (l == levels_.size()) add_level();
    Level& level = levels_[l];
    const std::size_t slot = child & (fan - 1);
    level.weight[slot] = 1.0;
    level.ones[slot] = 0.0;
    std::fill_n(level.sum.begin() + slot * lanes_, lanes_, 0.0);
    if (!pieces_) return;
    std::fill_n(level.low.begin() + slot * lanes_, lanes_, infinity);
    std::fill_n(level.high.begin() + slot * lanes_, lanes_, -infinity);
  }

  void advance(Level& level, const double* q) const {
    for (int i = 0; i < fan; ++i) {
      level.weight[i] *= kappa_;
      level.ones[i] = kappa_ * level.ones[i] + 1.0;
    }
    for_each_slot(level.sum, q, [kappa = kappa_](double sum, double now) { return kappa * sum + now; });
    if (!pieces_) return;
    for_each_slot(level.low, q, [](double low, double now) { return minimum(low, now); });
    for_each_slot(level.high, q, [](double high, double now) { return maximum(high, now); });
  }

  // values[slot][lane] = update(values[slot][lane], q[lane])
  template <class Update>
  void for_each_slot(std::vector<double>& values, const double* q, Update update) const {
    double* at = values.data();
    if (lanes_ == 1) {
      const double only = q[0];
      for (int i = 0; i < fan; ++i) at[i] = update(at[i], only);
      return;
    }
    for (int i = 0; i < fan; ++i, at += lanes_)
      for (int lane = 0; lane < lanes_; ++lane) at[lane] = update(at[lane], q[lane]);
  }

  // The node being filled on this level is full.
  void freeze(std::size_t l) {
    if (l + 1 == levels_.size()) {
      levels_[l].frozen_weight = levels_[l].weight;
      levels_[l].frozen_ones = levels_[l].ones;
      add_level();
    }
    Level &level = levels_[l], &above = levels_[l + 1];
    level.frozen_sum.insert(level.frozen_sum.end(), level.sum.begin(), level.sum.end());
    if (!pieces_) return;
    level.frozen_low.insert(level.frozen_low.end(), level.low.begin(), level.low.end());
    level.frozen_high.insert(level.frozen_high.end(), level.high.begin(), level.high.end());
    const std::size_t first = level.node_sum.size() - static_cast<std::size_t>(fan) * lanes_;
    for (int lane = 0; lane < lanes_; ++lane) {
      above.node_sum.push_back(level.weight[0] * level.node_sum[first + lane] + level.sum[lane]);
      above.node_low.push_back(minimum(level.node_low[first + lane], level.low[lane]));
      above.node_high.push_back(maximum(level.node_high[first + lane], level.high[lane]));
    }
  }

  double kappa_ = 0.0;
  int lanes_ = 1;
  bool pieces_ = false;
  Position now_ = 0;
  std::vector<Level> levels_;
};

}  // namespace odca
