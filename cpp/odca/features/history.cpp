#include "odca/features/history.hpp"

#include <cmath>
#include <utility>

#include "odca/errors.hpp"
#include "odca/features/quoting.hpp"
#include "odca/features/vocabulary.hpp"

namespace odca::text {

namespace {

SeriesNeeds needs_of(const HistoryLine& line) {
  SeriesNeeds needs;
  for (const HistoryFeature& each : line.features) {
    const bool is_change = each.statistic == Statistic::change;
    const bool at_one_time = each.statistic == Statistic::lag || is_change || each.statistic == Statistic::since;
    needs.times |= each.timed || each.statistic == Statistic::since;
    needs.moments |= !at_one_time;
    if (each.timed)
      needs.seconds = std::max(needs.seconds, each.size);
    else if (each.statistic != Statistic::since)
      needs.events = std::max(needs.events, static_cast<std::int64_t>(each.size) + (is_change && line.of_label()));
  }
  return needs;
}

void require(bool holds, const char* fault) {
  if (!holds) throw InputError(fault);
}

}  // namespace

std::vector<std::string> history_names(const FeatureOptions& options) {
  std::vector<std::string> names;
  for (const HistoryLine& line : options.history.lines)
    for (const HistoryFeature& each : line.features) {
      names.push_back(each.name);
      if (options.missing == Missing::indicate) names.push_back(each.name + missing_mark);
    }
  return names;
}

History::History(const FeatureOptions& options, std::int32_t first)
    : options_(options),
      first_index_(first),
      documents_(options.texts, first),
      counts_documents_(options.texts.inverse_frequencies) {
  for (const HistoryLine& each : options_.history.lines) {
    lines_.push_back({&each, needs_of(each), {}, nullptr, nullptr});
    features_ += each.features.size();
    needs_time_ |= lines_.back().needs.times;
    has_label_ |= each.of_label();
  }
  values_.resize(features_);
  const bool indicates = options_.missing == Missing::indicate;
  const std::vector<std::string> names = history_names(options_);
  for (std::size_t k = 0; k < names.size(); ++k) {
    const bool is_missing = indicates && k % 2 == 1;
    const std::int32_t index = options_.space == Space::hashed
                                   ? hashed_index(hash_of_key(names[k]), names[k], options_.bits)
                                   : static_cast<std::int32_t>(k);
    (is_missing ? missing_index_ : index_).push_back(first + index);
  }
}

History::History(const History& other) : History(other.options_, other.first_index_) {
  for (std::size_t k = 0; k < lines_.size(); ++k)
    for (const Node* each = other.lines_[k].oldest; each; each = each->newer) {
      const auto [at, added] = lines_[k].nodes.try_emplace(*each->key);
      at->second.series = each->series, at->second.key = &at->first;
      link_newest(lines_[k], at->second);
    }
  documents_ = other.documents_;
  counts_documents_ = other.counts_documents_;
}

void History::link_newest(Line& line, Node& node) { link_after(line, node, line.newest); }

void History::link_after(Line& line, Node& node, Node* older) {
  node.older = older;
  node.newer = older ? older->newer : line.oldest;
  (node.older ? node.older->newer : line.oldest) = &node;
  (node.newer ? node.newer->older : line.newest) = &node;
}

void History::unlink(Line& line, Node& node) {
  (node.older ? node.older->newer : line.oldest) = node.newer;
  (node.newer ? node.newer->older : line.newest) = node.older;
}

std::string_view History::key(const Line& line, const Block& block, std::size_t row) const {
  if (line.options->group < 0) return {};
  const std::size_t groups = options_.history.groups.size();
  return block.history_keys[block.history_key[row * groups + static_cast<std::size_t>(line.options->group)]];
}

bool History::has_key(const Line& line, const Block& block, std::size_t row) const {
  if (line.options->group < 0) return true;
  const std::size_t groups = options_.history.groups.size();
  return block.history_key[row * groups + static_cast<std::size_t>(line.options->group)] >= 0;
}

History::Node* History::find(Line& line, const Block& block, std::size_t row) const {
  if (line.options->group < 0) return line.newest;  // the only one
  if (!has_key(line, block, row)) return nullptr;
  const auto found = line.nodes.find(key(line, block, row));
  return found == line.nodes.end() ? nullptr : &found->second;
}

double History::value_of(const Line& line, const Block& block, std::size_t row, const KnownOfEvents& known) const {
  if (line.options->of_label()) return known.label ? known.label[row] : Series::unknown;
  const auto numbers = static_cast<std::size_t>(options_.history.numbers.size());
  return block.history_number[row * numbers + static_cast<std::size_t>(line.options->source)];
}

void History::compute(const Block& block, std::size_t row, const KnownOfEvents& known) {
  std::size_t at = 0;
  const double now = known.time ? known.time[row] : 0.0;
  for (Line& line : lines_) {
    const Node* const node = find(line, block, row);
    const double own = line.options->of_label() ? Series::unknown : value_of(line, block, row, known);
    WindowMoments window;
    for (const HistoryFeature& each : line.options->features)
      values_[at++] = node ? feature_of(node->series, each, line.needs, line.options->of_label(), own, now, window)
                           : Series::unknown;
  }
}

void History::add_features(SparseRows& rows) const {
  for (std::size_t k = 0; k < features_; ++k)
    if (std::isfinite(values_[k]))
      rows.add(index_[k], values_[k]);
    else if (!missing_index_.empty())
      rows.add(missing_index_[k], 1.0);
}

void History::enter(Line& line, const Block& block, std::size_t row, double value, double time) {
  Node* node = find(line, block, row);
  Entry entry{static_cast<std::int64_t>(row), &line, node, nullptr, node == nullptr, {}};
  if (node) {
    entry.older = node->older;
    if (node != line.newest) unlink(line, *node), link_newest(line, *node);
  } else {
    if (static_cast<std::int64_t>(line.nodes.size()) >= options_.history.most_keys) {
      Node& oldest = *line.oldest;
      unlink(line, oldest);
      entry.evicted = line.nodes.extract(*oldest.key);
    }
    const auto at = line.nodes.try_emplace(std::string(key(line, block, row))).first;
    node = entry.node = &at->second;
    node->key = &at->first;
    link_newest(line, *node);
  }
  node->series.push(value, time, line.needs);
  entries_.push_back(std::move(entry));
}

void History::enter_all(const Block& block, std::size_t row, const KnownOfEvents& known) {
  for (Line& line : lines_) {
    const double value = value_of(line, block, row, known);
    if (std::isfinite(value) && has_key(line, block, row))
      enter(line, block, row, value, known.time ? known.time[row] : 0.0);
  }
}

void History::take_back(Entry& entry) {
  Line& line = *entry.line;
  Node& node = *entry.node;
  node.series.pop(line.needs);
  if (entry.is_new) {
    unlink(line, node);
    line.nodes.erase(line.nodes.find(*node.key));
    if (!entry.evicted.empty()) {
      Node& evicted = line.nodes.insert(std::move(entry.evicted)).position->second;
      link_after(line, evicted, nullptr);
    }
  } else if (node.older != entry.older) {
    unlink(line, node);
    link_after(line, node, entry.older);
  }
}

void History::require_times(const Block& block, const KnownOfEvents& known) const {
  const std::int64_t rows = needs_time_ ? block.size() : 0;
  for (std::int64_t row = 0; row < rows; ++row)
    if (!known.time || !std::isfinite(known.time[row]))
      throw InputError("", EventPlace{row, "event " + std::to_string(row)},
                       " has no time, but history over a span of time needs the time of every event");
}

void History::extend_for_now(const Block& block, const KnownOfEvents& known, SparseRows& out) {
  const std::size_t before = entries_.size();  // of a call that is learning just now
  extend_rows(block, known, false, out);
  for (; entries_.size() > before; entries_.pop_back()) take_back(entries_.back());
}

void History::extend(const Block& block, const KnownOfEvents& known, SparseRows& out) {
  extend_rows(block, known, counts_documents_, out);
}

void History::extend_rows(const Block& block, const KnownOfEvents& known, bool counts_documents, SparseRows& out) {
  const auto rows = static_cast<std::size_t>(block.size());
  require_times(block, known);
  RowMaker maker;
  out.clear();
  out.index.reserve(block.rows.index.size() + block.texts.features() + rows * features_),
      out.value.reserve(out.index.capacity());
  for (std::size_t row = 0; row < rows; ++row) {
    if (known.given)
      values_.assign(known.given, known.given + features_);
    else
      compute(block, row, known);
    const auto begin = static_cast<std::size_t>(block.rows.start[row]);
    const auto end = static_cast<std::size_t>(block.rows.start[row + 1]);
    const bool has_constant = begin < end && block.rows.index[begin] < first_index_;
    if (has_constant) out.add(block.rows.index[begin], block.rows.value[begin]);
    add_features(out);
    for (std::size_t k = begin + has_constant; k < end; ++k) out.add(block.rows.index[k], block.rows.value[k]);
    if (options_.texts.inverse_frequencies) documents_.add_features(block.texts, row, out);
    maker.finish(out);
    enter_all(block, row, known);
    if (counts_documents) documents_.count(block.texts, row);
  }
}

void History::each_values(const Block& block, const KnownOfEvents& known, std::vector<double>& out) {
  require_times(block, known);
  for (std::size_t row = 0; row < static_cast<std::size_t>(block.size()); ++row) {
    compute(block, row, known);
    out.insert(out.end(), values_.begin(), values_.end());
    enter_all(block, row, known);
  }
}

std::vector<double> History::values(const Block& block, const KnownOfEvents& known) {
  require_times(block, known);
  compute(block, 0, known);
  return values_;
}

void History::keep_first(std::int64_t events) {
  for (; !entries_.empty() && entries_.back().event >= events; entries_.pop_back()) take_back(entries_.back());
  for (Entry& each : entries_) each.node->series.trim(each.line->needs);
  entries_.clear();
  documents_.keep_first(events);
}

History::Saved History::saved() const {
  Saved out;
  out.documents = documents_.saved();
  for (const Line& line : lines_) {
    out.series_of_lines.push_back(static_cast<std::int64_t>(line.nodes.size()));
    for (const Node* node = line.oldest; node; node = node->newer) {
      const std::int64_t from = node->series.needed_from(line.needs);
      out.keys += *node->key;
      out.key_ends.push_back(static_cast<std::int64_t>(out.keys.size()));
      out.first.push_back(from);
      out.count.push_back(node->series.end() - from);
      node->series.copy_from(from, line.needs, out.value, out.time);
    }
  }
  return out;
}

void History::restore(const Saved& saved, std::int64_t features) {
  constexpr std::int64_t most = std::int64_t{1} << 53;
  const auto size = [](const auto& each) { return static_cast<std::int64_t>(each.size()); };
  require(saved.series_of_lines.size() == lines_.size(), "its history has other lines");
  std::int64_t all = 0, key_end = 0, values = 0, times = 0;
  for (const std::int64_t each : saved.series_of_lines) {
    require(each >= 0 && each <= options_.history.most_keys && each <= size(saved.key_ends) - all,
            "its history has another number of keys");
    all += each;
  }
  require(all == size(saved.key_ends) && all == size(saved.first) && all == size(saved.count),
          "its history has another number of keys");
  std::vector<Line> lines;
  std::size_t at = 0;
  for (const Line& line : lines_) {
    Line& made = lines.emplace_back(Line{line.options, line.needs, {}, nullptr, nullptr});
    for (std::int64_t k = 0; k < saved.series_of_lines[lines.size() - 1]; ++k, ++at) {
      const std::int64_t end = saved.key_ends[at], count = saved.count[at], first = saved.first[at];
      require(end >= key_end && end <= size(saved.keys), "the keys of its history are not consecutive");
      require(first >= 0 && first < most && count >= 1 && count <= most_events_of_a_series &&
                  count <= size(saved.value) - values && (!line.needs.times || count <= size(saved.time) - times),
              "the values of its history are not as many as it says");
      require(line.options->group >= 0 || (end == key_end && k == 0), "its history has keys that it does not use");
      std::string name = saved.keys.substr(static_cast<std::size_t>(key_end), static_cast<std::size_t>(end - key_end));
      const double* const value = saved.value.data() + values;
      const double* const time = line.needs.times ? saved.time.data() + times : nullptr;
      for (std::int64_t i = 0; i < count; ++i) {
        require(std::isfinite(value[i]), "a value of its history is not finite");
        require(!time || (std::isfinite(time[i]) && (i == 0 || time[i] >= time[i - 1])),
                "the times of its history are not in order");
      }
      const auto [place, added] = made.nodes.try_emplace(std::move(name));
      require(added, "a key of its history is there twice");
      place->second.series = Series::from_file(first, count, value, time, line.needs);
      place->second.key = &place->first;
      require(place->second.series.needed_from(line.needs) == first, "its history holds more than is needed");
      link_newest(made, place->second);
      key_end = end, values += count, times += line.needs.times ? count : 0;
    }
  }
  require(key_end == size(saved.keys) && values == size(saved.value) && times == size(saved.time),
          "its history holds more than its keys");
  documents_.restore(saved.documents, features);
  lines_ = std::move(lines);
  entries_.clear();
}

}  // namespace odca::text
