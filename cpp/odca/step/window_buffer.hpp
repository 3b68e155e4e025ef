// The events that a sliding window still holds, in contiguous memory.
//
// Rows are appended and never moved while a call runs, so that a failed call can be undone by truncating the
// arrays. `compact` drops what has left; its cost is amortised over the events that left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "odca/learner/lane_map.hpp"
#include "odca/math/row.hpp"

namespace odca {

class EventBuffer {
 public:
  struct Entry {
    std::int64_t first, size;  // the position of its row in the values
    std::int64_t index_first;  // its position in the indices; -1 for a dense row
    std::uint64_t number;      // its position in the stream
    double time;
    double reach;  // at least max |h_j|
    bool operator==(const Entry&) const = default;
  };
  static constexpr int facts = 5;  // per lane: label, weight, offset, dual, and Q*(-dual) + dual * offset

  explicit EventBuffer(int lanes = 1, bool keeps_raw = false) : lanes_(lanes), keeps_raw_(keeps_raw) {}

  std::size_t size() const { return order_.size() - head_; }
  bool empty() const { return size() == 0; }
  std::int64_t stored() const { return live_; }

  // The k-th oldest event, by time.
  std::size_t at(std::size_t k) const { return order_[head_ + k]; }
  const Entry& entry(std::size_t id) const { return entries_[id]; }
  Row row(std::size_t id) const {
    const Entry& e = entries_[id];
    return {e.index_first < 0 ? nullptr : indices_.data() + e.index_first, values_.data() + e.first, e.size};
  }
  // The row before it was standardised; only if raw rows are kept.
  Row raw_row(std::size_t id) const {
    Row out = row(id);
    out.value = raw_.data() + entries_[id].first;
    return out;
  }
  double* labels(std::size_t id) { return fact(id, 0); }
  double* weights(std::size_t id) { return fact(id, 1); }
  double* offsets(std::size_t id) { return fact(id, 2); }
  double* duals(std::size_t id) { return fact(id, 3); }
  double* conjugates(std::size_t id) { return fact(id, 4); }
  const double* labels(std::size_t id) const { return fact(id, 0); }
  const double* weights(std::size_t id) const { return fact(id, 1); }
  const double* offsets(std::size_t id) const { return fact(id, 2); }
  const double* duals(std::size_t id) const { return fact(id, 3); }
  const double* conjugates(std::size_t id) const { return fact(id, 4); }

  // Prefetches an event that will be visited soon: first its entry, later its row. (Always inlined: GCC takes a function
  // that only prefetches for one without effect, and drops the call.)
  [[gnu::always_inline]] void fetch_entry(std::size_t id) const {
    __builtin_prefetch(&entries_[id]);
    __builtin_prefetch(fact(id, 0));
  }
  [[gnu::always_inline]] void fetch_row(std::size_t id) const {
    const Entry& e = entries_[id];
    for (std::int64_t i = 0; i < std::min<std::int64_t>(e.size, 64); i += 8) __builtin_prefetch(&values_[e.first + i]);
    if (e.index_first < 0) return;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(e.size, 64); i += 16)
      __builtin_prefetch(&indices_[e.index_first + i]);
  }

  // Whether the event contributes to the dual sum of no lane.
  bool is_at_rest(std::size_t id) const {
    for (int l = 0; l < lanes_; ++l)
      if (weights(id)[l] * duals(id)[l] != 0.0) return false;
    return true;
  }

  void reserve(std::size_t events, std::size_t stored) {
    entries_.reserve(events);
    order_.reserve(events);
    facts_.reserve(events * static_cast<std::size_t>(facts * lanes_));
    values_.reserve(stored);
    indices_.reserve(stored);
  }

  // Inserts an event after all events of its time or earlier; the caller fills in its facts. `raw` are the values of the
  // row before it was standardised.
  std::size_t push(const Row& row, std::uint64_t number, double time, double reach, const double* raw = nullptr) {
    const std::size_t id = append(row, number, time, reach, raw);
    auto place = order_.end() - 1;
    while (place != order_.begin() + static_cast<std::ptrdiff_t>(head_) && entries_[*(place - 1)].time > time) --place;
    std::rotate(place, order_.end() - 1, order_.end());
    return id;
  }

  // The same, after all events whatever its time.
  std::size_t append(const Row& row, std::uint64_t number, double time, double reach, const double* raw = nullptr) {
    const std::size_t id = entries_.size();
    const auto first = static_cast<std::int64_t>(values_.size());
    const bool sparse = row.index && row.size > 0;  // for an empty row there is no difference
    const auto index_first = sparse ? static_cast<std::int64_t>(indices_.size()) : -1;
    entries_.push_back({first, row.size, index_first, number, time, reach});
    values_.insert(values_.end(), row.value, row.value + row.size);
    if (keeps_raw_) raw_.insert(raw_.end(), raw, raw + row.size);
    if (sparse) indices_.insert(indices_.end(), row.index, row.index + row.size);
    facts_.resize(facts_.size() + static_cast<std::size_t>(facts * lanes_), 0.0);
    order_.push_back(id);
    live_ += row.size;
    return id;
  }

  // Replaces the values of the row, for the same features.
  void replace(std::size_t id, const Row& row) {
    std::copy_n(row.value, row.size, values_.begin() + entries_[id].first);
    entries_[id].reach = std::max(1.0, squared_norm(row));
  }

  void pop_oldest() {
    live_ -= entries_[order_[head_]].size;
    ++head_;
  }

  void erase(std::size_t k) {
    live_ -= entries_[at(k)].size;
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(head_ + k));
  }

  // Frees the memory of events that have left, once they outnumber those that remain.
  void compact() {
    if (entries_.size() < 2 * size() + 16) return;
    const std::size_t first = empty() ? entries_.size() : *std::min_element(order_.begin() + head_, order_.end());
    if (2 * first < entries_.size()) return;
    std::int64_t values = values_.size(), indices = indices_.size();
    for (std::size_t id = entries_.size(); id-- > first;) {
      values = entries_[id].first;
      if (entries_[id].index_first >= 0) indices = entries_[id].index_first;
    }
    values_.erase(values_.begin(), values_.begin() + values);
    if (keeps_raw_) raw_.erase(raw_.begin(), raw_.begin() + values);
    indices_.erase(indices_.begin(), indices_.begin() + indices);
    facts_.erase(facts_.begin(), facts_.begin() + first * facts * lanes_);
    entries_.erase(entries_.begin(), entries_.begin() + first);
    order_.erase(order_.begin(), order_.begin() + head_);
    head_ = 0;
    for (Entry& e : entries_) {
      e.first -= values;
      if (e.index_first >= 0) e.index_first -= indices;
    }
    for (std::size_t& id : order_) id -= first;
  }

  // Copies one event from another buffer, with `shift` added to its number.
  void copy_from(const EventBuffer& other, std::size_t id, std::uint64_t shift = 0) {
    const Entry& e = other.entries_[id];
    const double* const raw = keeps_raw_ ? other.raw_row(id).value : nullptr;
    const std::size_t mine = push(other.row(id), e.number + shift, e.time, e.reach, raw);
    std::copy_n(other.fact(id, 0), facts * lanes_, fact(mine, 0));
  }

  // The events as plain columns, oldest first, as stored in a model file.
  struct Table {
    std::vector<std::uint64_t> number;
    std::vector<double> time, reach;
    std::vector<std::int64_t> size;
    std::vector<std::uint8_t> dense;
    std::vector<std::int32_t> index;  // of the sparse rows, consecutively
    std::vector<double> value, facts;
    std::vector<double> raw;  // values before standardisation, if rows are standardised

    template <class Visit>
    void each_field(Visit&& visit) {
      visit("number", number), visit("time", time), visit("reach", reach), visit("size", size);
      visit("dense", dense), visit("index", index), visit("value", value), visit("facts", facts);
    }
  };

  Table table() const {
    Table out;
    for (std::size_t k = 0; k < size(); ++k) {
      const Entry& e = entries_[at(k)];
      const Row r = row(at(k));
      out.number.push_back(e.number);
      out.time.push_back(e.time);
      out.reach.push_back(e.reach);
      out.size.push_back(e.size);
      out.dense.push_back(e.index_first < 0);
      if (r.index) out.index.insert(out.index.end(), r.index, r.index + r.size);
      out.value.insert(out.value.end(), r.value, r.value + r.size);
      if (keeps_raw_) out.raw.insert(out.raw.end(), raw_row(at(k)).value, raw_row(at(k)).value + r.size);
      out.facts.insert(out.facts.end(), fact(at(k), 0), fact(at(k), 0) + facts * lanes_);
    }
    return out;
  }

  // The reverse. The caller has checked that the columns are consistent.
  static EventBuffer from_table(const Table& table, int lanes, bool keeps_raw = false) {
    EventBuffer out(lanes, keeps_raw);
    std::int64_t value = 0, index = 0;
    for (std::size_t k = 0; k < table.number.size(); ++k) {
      const std::int64_t n = table.size[k];
      const Row row{table.dense[k] ? nullptr : table.index.data() + index, table.value.data() + value, n};
      const double* const raw = keeps_raw ? table.raw.data() + value : nullptr;
      const std::size_t id = out.push(row, table.number[k], table.time[k], table.reach[k], raw);
      std::copy_n(table.facts.begin() + k * facts * lanes, facts * lanes, out.fact(id, 0));
      value += n;
      if (!table.dense[k]) index += n;
    }
    return out;
  }

  // A blank lane's labels are -1: its class has not been seen.
  void take_lanes(const LaneMap& map) {
    std::vector<double> facts_of_all;
    for (std::size_t at = 0; at < facts_.size(); at += lanes_) {
      const auto which = static_cast<int>(at / lanes_) % facts;
      std::vector<double> fact(facts_.begin() + at, facts_.begin() + at + lanes_);
      which == 1 || which == 4 ? map.copy(fact) : map.negate(fact);
      for (std::size_t l = 0; l < fact.size(); ++l)
        if (map.source[l] < 0 && which != 1) fact[l] = which == 0 ? -1.0 : 0.0;
      facts_of_all.insert(facts_of_all.end(), fact.begin(), fact.end());
    }
    facts_ = std::move(facts_of_all);
    lanes_ = static_cast<int>(map.source.size());
  }

  struct Mark {
    std::size_t entries, values, indices, head;
    std::int64_t live;
  };
  Mark mark() const { return {entries_.size(), values_.size(), indices_.size(), head_, live_}; }

  // Restores the mark, provided that nothing was compacted or erased since.
  void rewind(const Mark& mark) {
    head_ = mark.head;
    std::erase_if(order_, [&](std::size_t id) { return id >= mark.entries; });
    entries_.resize(mark.entries);
    values_.resize(mark.values);
    if (keeps_raw_) raw_.resize(mark.values);
    indices_.resize(mark.indices);
    facts_.resize(mark.entries * static_cast<std::size_t>(facts * lanes_));
    live_ = mark.live;
  }

  // Whether two buffers hold the same events in the same order, wherever they are in memory.
  bool operator==(const EventBuffer& other) const {
    if (size() != other.size() || lanes_ != other.lanes_ || keeps_raw_ != other.keeps_raw_) return false;
    for (std::size_t k = 0; k < size(); ++k)
      if (!same_event(at(k), other, other.at(k))) return false;
    return true;
  }

 private:
  double* fact(std::size_t id, int which) {
    return facts_.data() + (id * facts + static_cast<std::size_t>(which)) * static_cast<std::size_t>(lanes_);
  }
  const double* fact(std::size_t id, int which) const { return const_cast<EventBuffer*>(this)->fact(id, which); }

  bool same_event(std::size_t id, const EventBuffer& other, std::size_t other_id) const {
    const Entry &a = entries_[id], &b = other.entries_[other_id];
    const Row r = row(id), s = other.row(other_id);
    return a.number == b.number && a.time == b.time && r.size == s.size && (a.index_first < 0) == (b.index_first < 0) &&
           std::equal(r.value, r.value + r.size, s.value) &&
           (!keeps_raw_ || std::equal(raw_row(id).value, raw_row(id).value + r.size, other.raw_row(other_id).value)) &&
           (!r.index || std::equal(r.index, r.index + r.size, s.index)) &&
           std::equal(fact(id, 0), fact(id, 0) + facts * lanes_, other.fact(other_id, 0));
  }

  int lanes_;
  bool keeps_raw_;
  std::vector<Entry> entries_;
  std::vector<std::int32_t> indices_;
  std::vector<double> values_;
  std::vector<double> raw_;  // parallel to values_, if kept
  std::vector<double> facts_;
  std::vector<std::size_t> order_;  // entries by time; those before head_ have left
  std::size_t head_ = 0;
  std::int64_t live_ = 0;
};

}  // namespace odca
