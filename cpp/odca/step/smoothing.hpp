// The smoothed weights  w-bar_N = sum_n kappa^(N-n) w_n / sum_n kappa^(N-n)  without touching every coordinate
// at every event.
//
// While a coordinate is not touched its v_j is constant, and w_j(n) = map(v_j q_n) depends on the event only
// through the scalar q_n = scale_n / A_n. So a coordinate is brought up to date when it is next needed, from
// sums of q_n over the events it missed, each weighted kappa^(now - n). Differences of running sums would cancel
// (q_n may fall by any factor within a block); here every sum is built only by adding positive terms.
//
// The Timeline is a tree of fan-out 64 over the events of a block. On every level, for every child i of the node being
// filled, it keeps the sums over the events *after* that child, up to now, at the cost of one multiply-add each per
// event. When a node is full these sums are kept: they run from that child to the node's end. The events missed since
// position m are therefore one segment per level, found without branching: the segment after m in its node on the lowest
// level, after that node among its siblings on the next, and so on. (A child being filled has nothing after it yet.)
//
// A segment also keeps min and max of q: if both lie on one line of the penalty's map, so does the whole segment.
// Otherwise the nodes inside it are visited, down to single events only where the lines differ.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "odca/learner/lane_map.hpp"
#include "odca/math/functions.hpp"
#include "odca/problem/penalties.hpp"
#include "odca/step/carry.hpp"

namespace odca {

class Timeline {
 public:
  static constexpr int bits = CarryTables<0>::bits, fan = 1 << bits;
  using Position = CarryTables<0>::Position;  // 0 is the start of the block, n its n-th event

  struct Level {
    // For every child, over the events after it, to its node's end or to now: the sum of kappa^(end-n) q_n, and the
    // least and largest q_n; [child][lane].
    std::vector<double> sum, low, high;
    std::vector<double>
        weight;  // [child] kappa to the power of the number of these events: follows from kappa, not saved
    // The same for every finished child alone.
    std::vector<double> node_sum, node_low, node_high;

    bool operator==(const Level&) const = default;

    template <class Visit>
    void each_field(Visit&& visit) {
      visit("sum", sum), visit("low", low), visit("high", high);
      visit("node_sum", node_sum), visit("node_low", node_low), visit("node_high", node_high);
    }
  };

  // Without `pieces` (the map is one line: l2) neither min and max nor the single nodes are kept.
  Timeline() = default;
  Timeline(double kappa, int lanes, bool pieces) : kappa_(kappa), lanes_(lanes), pieces_(pieces) { clear(); }

  Position now() const { return now_; }

  void clear() {
    now_ = 0;
    levels_.clear();
    add_level();
    open_node(0);
  }

  // Records q[lane] of the event just learned.
  void append(const double* q) {
    ++now_;
    fit_powers();
    for (std::size_t l = 0; (now_ & below(l + 1)) == 0; ++l) {
      finish_node(l);
      open_node(l);
    }
    for (std::size_t l = 0; l < levels_.size(); ++l) advance(levels_[l], now_ >> (bits * l), q);
    if (pieces_)
      for (auto* nodes : {&levels_[0].node_sum, &levels_[0].node_low, &levels_[0].node_high})
        nodes->insert(nodes->end(), q, q + lanes_);
  }

  // Calls visit(carry), where carry(from, lane) is what a coordinate missed since `from` if its map is w = q v. Two and three levels,
  // which is up to 262,144 events, have specialised code.
  template <class Visit>
  [[gnu::always_inline]] void with_carry(Visit&& visit) const {
    if (levels_.size() == 2)
      visit(tables<2>());
    else if (levels_.size() == 3)
      visit(tables<3>());
    else
      visit(tables<0>());
  }

  // The smoothed sum of one coordinate, which was last brought up to date at `from`, now. `slope` is v_j / a_j.
  double bring_up(double sum, Position from, int lane, double slope, double w0, const L2&) const {
    const Missed<double> missed = tables<0>()(from, lane);
    return missed.weight * sum + (w0 * ones_[now_ - from] + slope * missed.sum);
  }
  template <class Penalty>
  double bring_up(double sum, Position from, int lane, double slope, double w0, const Penalty& penalty) const {
    Position child = from, current = now_, end = from;
    for (std::size_t l = 0; l < levels_.size(); ++l, child >>= bits, current >>= bits) {
      const Level& level = levels_[l];
      const std::size_t at = static_cast<std::size_t>(child) * lanes_ + lane;
      const Position length = end_of_node(from, l) - end;
      end += length;
      const Segment missed{power_[length], ones_[length], level.sum[at], level.low[at], level.high[at]};
      if (follow(sum, missed, slope, w0, penalty)) continue;
      if (child >> bits == current >> bits) return visit_open(sum, l, child, lane, slope, w0, penalty);
      for (Position next = child + 1; next <= (child | (fan - 1)); ++next)
        sum = visit_node(sum, l, next, lane, slope, w0, penalty);
    }
    return sum;
  }

  // What a failed call must restore: the nodes that were being filled.
  struct Mark {
    Position now;
    std::vector<std::array<std::vector<double>, 3>> filling;  // [level]
  };
  void mark(Mark& mark) const {
    mark.now = now_;
    mark.filling.resize(levels_.size());
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const Level& level = levels_[l];
      auto kept = mark.filling[l].begin();
      for (const auto* each : {&level.sum, &level.low, &level.high}) {
        const bool held = !each->empty();
        (kept++)->assign(held ? each->end() - node_size() : each->end(), each->end());
      }
    }
  }
  // Restores the mark, provided that the block has not ended since.
  void rewind(const Mark& mark) {
    now_ = mark.now;
    levels_.resize(mark.filling.size());
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      Level& level = levels_[l];
      const Sizes size = sizes(l);
      level.sum.resize(size.sums);
      for (auto* each : {&level.low, &level.high}) each->resize(pieces_ ? size.sums : 0);
      for (auto* each : {&level.node_sum, &level.node_low, &level.node_high}) each->resize(size.nodes);
      auto kept = mark.filling[l].begin();
      for (auto* each : {&level.sum, &level.low, &level.high}) {
        std::copy(kept->begin(), kept->end(), each->end() - static_cast<std::ptrdiff_t>(kept->size()));
        ++kept;
      }
    }
    fit_tables();
  }

  void take_lanes(const LaneMap& map) {
    lanes_ = static_cast<int>(map.source.size());
    for (Level& level : levels_) level.each_field([&](auto, auto& values) { map.copy(values); });
  }

  // The tables are not compared: they follow from kappa.
  bool operator==(const Timeline& other) const {
    return kappa_ == other.kappa_ && lanes_ == other.lanes_ && pieces_ == other.pieces_ && now_ == other.now_ &&
           levels_ == other.levels_;
  }

  // Whether every level holds as much as `now` implies; checks a timeline read from a file.
  bool is_consistent() const {
    if (now_ >= Position{1} << 31) return false;
    const auto all = [](const auto& values, auto holds) { return std::all_of(values.begin(), values.end(), holds); };
    const auto finite = [](double x) { return x - x == 0.0; };
    const auto number = [](double x) { return x == x; };
    if (levels_.empty() || now_ >> (bits * levels_.size()) != 0) return false;
    if (levels_.size() > 1 && now_ >> (bits * (levels_.size() - 1)) == 0) return false;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const Level& level = levels_[l];
      const Sizes size = sizes(l);
      if (level.sum.size() != size.sums) return false;
      for (const auto* each : {&level.low, &level.high})
        if (each->size() != (pieces_ ? size.sums : 0)) return false;
      for (const auto* each : {&level.node_sum, &level.node_low, &level.node_high})
        if (each->size() != size.nodes) return false;
      for (const auto* each : {&level.sum, &level.node_sum})
        if (!all(*each, finite)) return false;
      for (const auto* each : {&level.low, &level.high, &level.node_low, &level.node_high})
        if (!all(*each, number)) return false;
      if (!are_after_children(level, now_ >> (bits * l))) return false;
    }
    if (!pieces_) return true;
    const auto begins_with = [&](const auto& values, double none) {
      return std::all_of(values.begin(), values.begin() + lanes_, [=](double x) { return x == none; });
    };
    const Level& events = levels_[0];  // the block's beginning holds none
    return begins_with(events.node_sum, 0.0) && begins_with(events.node_low, infinity) &&
           begins_with(events.node_high, -infinity);
  }

  // At least the sum of q over any of its events.
  double reach() const {
    double total = 0.0;
    for (const Level& level : levels_)
      for (const auto* each : {&level.sum, &level.node_sum})
        for (const double sum : *each) total = std::max(total, std::fabs(sum));
    return total * static_cast<double>(fan * levels_.size());
  }

  template <class Visit>
  void each_field(Visit&& visit) {
    visit("now", now_);
    visit("levels", levels_);
  }

  // What follows from kappa and `now`: to be called after the fields have been set.
  void fit_tables() {
    fit_powers();
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      std::vector<double>& weight = levels_[l].weight;
      weight.assign(levels_[l].sum.size() / static_cast<std::size_t>(lanes_), 1.0);
      for (Position child = 0; child < now_ >> (bits * l); ++child) {
        const Position last = (child << (bits * l)) | below(l);
        weight[child] = power_[end_of_node(last, l) - last];
      }
    }
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
    const Position length = Position{1} << (bits * l);
    const Segment whole{power_[length], ones_[length], level.node_sum[at], level.node_low[at], level.node_high[at]};
    if (follow(total, whole, slope, w0, penalty)) return total;
    for (Position i = 0; i < fan; ++i) total = visit_node(total, l - 1, (node << bits) + i, lane, slope, w0, penalty);
    return total;
  }

  // All events after `child` of the node being filled: its finished children, then those of the child being filled.
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

  template <int Levels>
  [[gnu::always_inline]] CarryTables<Levels> tables() const {
    CarryTables<Levels> out;
    out.count = levels_.size();
    out.lanes = static_cast<std::size_t>(lanes_);
    for (std::size_t l = 0; l < (Levels ? Levels : out.count); ++l)
      out.weight[l] = levels_[l].weight.data(), out.sum[l] = levels_[l].sum.data();
    return out;
  }

  // kappa^n and the sum of kappa^0 .. kappa^(n-1), for every length there is.
  void fit_powers() {
    while (power_.size() <= now_) {
      ones_.push_back(kappa_ * ones_.back() + 1.0);
      power_.push_back(kappa_ * power_.back());
    }
  }

  struct Sizes {
    std::size_t sums, nodes;
  };
  // The size of a level now: whole nodes of children, and the finished children alone.
  Sizes sizes(std::size_t l) const {
    const std::size_t current = now_ >> (bits * l);
    return {(current / fan + 1) * node_size(), pieces_ ? (l == 0 ? current + 1 : current) * lanes_ : 0};
  }
  std::ptrdiff_t node_size() const { return static_cast<std::ptrdiff_t>(fan) * lanes_; }

  // All bits of a position below level l.
  static Position below(std::size_t l) { return static_cast<Position>((std::uint64_t{1} << (bits * l)) - 1); }
  // The last event of the node of level l that holds this position; or the newest.
  Position end_of_node(Position position, std::size_t l) const { return std::min(position | below(l + 1), now_); }

  // Whether these may be the sum of q over the events after each child, and its bounds: the later the child the fewer events, down to none.
  bool are_after_children(const Level& level, std::size_t current) const {
    for (std::size_t at = 0; at < level.sum.size(); ++at) {
      const std::size_t child = at / lanes_, next = at + lanes_;
      const bool is_last = child % fan == fan - 1 || child >= current;
      if (level.sum[at] < (is_last ? 0.0 : level.sum[next]) || (is_last && level.sum[at] > 0.0)) return false;
      if (!pieces_) continue;
      if (level.low[at] > (is_last ? infinity : level.low[next]) || (is_last && level.low[at] < infinity)) return false;
      if (level.high[at] < (is_last ? -infinity : level.high[next]) || (is_last && level.high[at] > -infinity))
        return false;
    }
    return true;
  }

  void add_level() {
    Level level;
    if (levels_.empty() && pieces_) {  // the block's beginning holds no event
      level.node_sum.assign(lanes_, 0.0);
      level.node_low.assign(lanes_, infinity);
      level.node_high.assign(lanes_, -infinity);
    }
    levels_.push_back(std::move(level));
  }

  // The node being filled on level l is full: it becomes a finished child of the level above.
  void finish_node(std::size_t l) {
    if (l + 1 == levels_.size()) {
      add_level();
      open_node(l + 1);
    }
    if (!pieces_) return;
    const Level& level = levels_[l];
    Level& above = levels_[l + 1];
    const std::size_t first = level.sum.size() - node_size();
    const double weight = power_[(fan - 1) << (bits * l)];
    for (std::size_t at = first; at < first + lanes_; ++at) {
      above.node_sum.push_back(weight * level.node_sum[at] + level.sum[at]);
      above.node_low.push_back(minimum(level.node_low[at], level.low[at]));
      above.node_high.push_back(maximum(level.node_high[at], level.high[at]));
    }
  }

  void open_node(std::size_t l) {
    Level& level = levels_[l];
    level.sum.resize(level.sum.size() + node_size(), 0.0);
    level.weight.resize(level.weight.size() + fan, 1.0);
    if (!pieces_) return;
    level.low.resize(level.sum.size(), infinity);
    level.high.resize(level.sum.size(), -infinity);
  }

  // One more event after every finished child of the node being filled, where `current` is being filled.
  void advance(Level& level, std::size_t current, const double* q) const {
    const std::size_t from = current / fan * fan * lanes_, to = current * lanes_;
    in_fours(level.weight.data(), current / fan * fan, current, 1.0, [kappa = kappa_](double x) { return kappa * x; });
    for_each_child(level.sum, from, to, q, 0.0, [kappa = kappa_](double sum, double now) { return kappa * sum + now; });
    if (!pieces_) return;
    for_each_child(level.low, from, to, q, infinity, [](double low, double now) { return minimum(low, now); });
    for_each_child(level.high, from, to, q, -infinity, [](double high, double now) { return maximum(high, now); });
  }

  // values[child][lane] = update(values[child][lane], q[lane]). `none` is the value of a child with nothing after it.
  template <class Update>
  void for_each_child(std::vector<double>& values, std::size_t from, std::size_t to, const double* q, double none,
                      Update update) const {
    double* const value = values.data();
    if (lanes_ == 1)
      return in_fours(value, from, to, none, [only = q[0], update](double x) { return update(x, only); });
    for (std::size_t at = from; at < to; at += lanes_)
      for (int lane = 0; lane < lanes_; ++lane) value[at + lane] = update(value[at + lane], q[lane]);
  }

  // value[at] = update(value[at]) for from <= at < to: the children of a node from its beginning, the rest of which is `none`. A few more
  // are updated and set back, so that all are done in whole packs.
  template <class Update>
  static void in_fours(double* value, std::size_t from, std::size_t to, double none, Update update) {
    const std::size_t fours = (to - from + 3) / 4;
    for (std::size_t k = 0; k < 4 * fours; ++k) value[from + k] = update(value[from + k]);
    for (std::size_t at = to; at < from + 4 * fours; ++at) value[at] = none;
  }

  double kappa_ = 0.0;
  int lanes_ = 1;
  bool pieces_ = false;
  Position now_ = 0;
  std::vector<Level> levels_;
  std::vector<double> power_ = {1.0}, ones_ = {0.0};  // by the number of events
};

}  // namespace odca
