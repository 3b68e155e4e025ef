// Notices that a column of a stream has changed, in bounded memory. docs/drift.md derives it.
//
// Events are cut into blocks of 12, wherever calls begin and end. From 64 blocks the mean of a column of numbers is taken, or the most
// frequent value of a column of categories. From then on a few numbers of each block, none of them negative, go to detectors of rises:
// how far numbers lie above and below that mean; the shares of events whose value is missing, is the most frequent one, is another one,
// or was not there before. After a change the column begins again.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "odca/errors.hpp"
#include "odca/metrics/rise_detector.hpp"

namespace odca {

class ColumnWatch {
 public:
  static constexpr std::int64_t block = 12, first_blocks = 64;
  static constexpr std::size_t most_columns = 64, most_names = 1 << 18, most_kept = 64, most_recent = 64;
  static constexpr std::size_t most_readings = 4;
  // Of each detector, so that it is 0.01 for all of them together.
  static constexpr double alpha = 0.01 / static_cast<double>(most_readings * most_columns);
  static constexpr double cap = 2.5;

  // What a feature says of its column: its number, that it is missing, or one of its values.
  enum class Role : std::uint8_t { number, gap, value };
  // What has risen. `smaller` and `larger` are about numbers, `common`, `uncommon` and `fresh` about categories.
  enum class What : std::uint8_t { larger, smaller, missing, common, uncommon, fresh };
  struct Change {
    std::size_t column;
    What what;
    std::int64_t event, since;
    double before, after;
  };

  // The features that have no name yet, in the order of their numbers: the key of each.
  void name(std::string_view key) {
    const auto number = static_cast<std::int32_t>(features_.size());
    const auto [column, role] = parsed(key);
    std::int16_t place = -1;
    if (!column.empty()) {
      const auto found = places_.find(std::string(column));
      if (found != places_.end()) {
        place = found->second;
      } else if (role == Role::gap) {
        gaps_.emplace(column, number);  // what kind of column it is, a later feature says
      } else if (columns_.size() < most_columns) {
        place = begin_column(std::string(column), role == Role::number);
      }
    }
    features_.push_back({place, role});
  }
  std::size_t named() const { return features_.size(); }

  // An event, whose features are all named (but for those beyond `most_names`).
  void add(const std::int32_t* index, const double* value, std::size_t size) {
    for (std::size_t k = 0; k < size; ++k) {
      const auto feature = static_cast<std::size_t>(index[k]);
      known_ = std::max(known_, static_cast<std::int64_t>(index[k]) + 1);
      if (feature >= features_.size() || features_[feature].column < 0) continue;
      columns_[static_cast<std::size_t>(features_[feature].column)].add(features_[feature].role, index[k], value[k]);
    }
    if (++events_ % block != 0) return;
    for (std::size_t place = 0; place < columns_.size(); ++place) end_block(place);
  }

  std::int64_t events() const { return events_; }
  std::int64_t count() const { return count_; }                    // of all changes
  const std::vector<Change>& changes() const { return changes_; }  // the latest
  const std::string& column_name(std::size_t place) const { return columns_[place].name; }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const Column& each : columns_) out.push_back(each.name);
    return out;
  }

  // The changes of both, as if the other's events had come later; all else begins again.
  ColumnWatch joined(const ColumnWatch& other) const {
    ColumnWatch both;
    both.events_ = events_ + other.events_;
    both.count_ = count_ + other.count_;
    const auto take = [&](const ColumnWatch& from, std::int64_t before) {
      for (Change each : from.changes_) {
        const Column& column = from.columns_[each.column];
        const auto found = both.places_.find(column.name);
        each.column = static_cast<std::size_t>(
            found != both.places_.end() ? found->second : both.begin_column(column.name, column.is_number));
        each.event += before, each.since += before;
        both.keep(each);
      }
    };
    take(*this, 0);
    take(other, events_);
    return both;
  }

  // The whole state as numbers, beside the names of the columns; and back. The features are named again.
  std::vector<double> state() const {
    std::vector<double> out;
    each_number(*this, [&](auto& number) { out.push_back(static_cast<double>(number)); });
    return out;
  }
  static ColumnWatch restored(const std::vector<std::string>& names, const std::vector<double>& numbers) {
    ColumnWatch self;
    if (names.size() > most_columns) fail();
    for (const std::string& name : names)
      if (name.empty() || !self.places_.emplace(name, static_cast<std::int16_t>(self.columns_.size())).second)
        fail();
      else
        self.columns_.emplace_back(name, true);
    auto next = numbers.begin();
    each_number(self, [&](auto& place) {
      using Number = std::remove_reference_t<decltype(place)>;
      if (next == numbers.end() || !std::isfinite(*next)) fail();
      const double number = *next++;
      if constexpr (!std::is_same_v<Number, double>) {
        constexpr double largest = sizeof(Number) < 8 ? 0x7fffffff : 0x1p53;
        if (!(number >= -1.0 && number <= largest && number == std::floor(number))) fail();
      }
      place = static_cast<Number>(number);
    });
    if (next != numbers.end()) fail();
    self.require_sound();
    return self;
  }

 private:
  struct Feature {
    std::int16_t column;
    Role role;
  };

  struct Column {
    Column(std::string called, bool numbers) : name(std::move(called)), is_number(numbers) { begin_again(); }

    void begin_again() {
      looked = blocks = 0;
      mean = 0.0, top = -1, known = 0;
      counts.clear();
      recent.clear();
      detectors.assign(n_readings(), RiseDetector(alpha, cap));
    }

    void add(Role role, std::int32_t feature, double value) {
      if (!has_begun && role == Role::gap) return;
      has_begun = 1;
      if (role == Role::gap) {
        gaps += 1.0;
      } else if (is_number != (role == Role::number)) {  // mixed: the first value decides
      } else if (is_number) {
        present += 1.0, sum += value, spread += std::abs(value - mean);
      } else {
        present += 1.0, common += feature == top, fresh += feature >= known;
        if (looked < first_blocks) ++counts[feature];
      }
    }

    // What each detector sees of the block. Zeros have no features.
    std::array<double, most_readings> readings() const {
      constexpr auto n = static_cast<double>(block);
      if (!is_number) return {common / n, std::max(present - common, 0.0) / n, fresh / n, gaps / n};
      const double zeros = std::max(n - present - gaps, 0.0), off = sum - (present + zeros) * mean;
      const double both = spread + zeros * std::abs(mean);
      return {std::max(both + off, 0.0) / (2.0 * n), std::max(both - off, 0.0) / (2.0 * n), gaps / n, 0.0};
    }

    std::size_t n_readings() const { return is_number ? most_readings - 1 : most_readings; }

    void begin_block() { gaps = present = sum = spread = common = fresh = 0.0; }

    // Of the last blocks, up to so many.
    double mean_of_recent(std::int64_t count) const {
      const std::size_t n = std::min(static_cast<std::size_t>(count), recent.size());
      double total = 0.0;
      for (std::size_t k = recent.size() - n; k < recent.size(); ++k) total += recent[k];
      return total / static_cast<double>(std::max<std::size_t>(n, 1));
    }

    std::string name;
    std::int64_t is_number, has_begun = 0;
    std::int64_t looked, blocks;  // blocks that were looked at before the detectors, and that those have seen
    double mean;                  // of numbers; a sum of blocks while they are looked at
    std::int64_t top, known;      // the most frequent value, and how many features there were
    double gaps = 0.0, present = 0.0, sum = 0.0, spread = 0.0, common = 0.0, fresh = 0.0;  // of this block
    std::unordered_map<std::int32_t, std::int64_t> counts;  // of values, while they are looked at
    std::vector<double> recent;                             // means of numbers in the last blocks
    std::vector<RiseDetector> detectors;
  };

  static std::pair<std::string_view, Role> parsed(std::string_view key) {
    constexpr char product = '\xfd', missing = '\xfe', category = '\xff';
    if (key.find(product) != std::string_view::npos) return {{}, Role::value};
    Role role = Role::number;
    if (const std::size_t end = key.find(category); end != std::string_view::npos)
      key = key.substr(0, end), role = Role::value;
    else if (key.ends_with(missing))
      key.remove_suffix(1), role = Role::gap;
    // The parts of dates change with the time, as they should.
    for (const std::string_view part : {".hour", ".weekday", ".month"})
      if (key.ends_with(part)) return {{}, role};
    return {key.find(".trend.") == std::string_view::npos ? key : std::string_view{}, role};
  }

  std::int16_t begin_column(std::string name, bool is_number) {
    const auto place = static_cast<std::int16_t>(columns_.size());
    places_.emplace(name, place);
    if (const auto gap = gaps_.find(name); gap != gaps_.end()) {
      features_[static_cast<std::size_t>(gap->second)].column = place;
      gaps_.erase(gap);
    }
    columns_.emplace_back(std::move(name), is_number);
    return place;
  }

  void end_block(std::size_t place) {
    Column& column = columns_[place];
    if (!column.has_begun) return;
    if (column.looked < first_blocks) {
      column.mean = look(column);
    } else if (judge(place)) {
      column.begin_again();
    }
    column.begin_block();
  }

  // One of the first blocks. The mean after it.
  double look(Column& column) const {
    // Until the mean is known, it is the sum of the blocks: `spread` means nothing yet.
    const double sum = column.mean + column.sum;
    if (++column.looked < first_blocks) return sum;
    std::int64_t most = 0;
    for (const auto& [feature, count] : column.counts)
      if (count > most || (count == most && feature < column.top)) most = count, column.top = feature;
    column.counts.clear();
    column.known = known_;
    return sum / static_cast<double>(first_blocks * block);
  }

  // Whether the column has changed.
  bool judge(std::size_t place) {
    Column& column = columns_[place];
    const std::array<double, most_readings> readings = column.readings();
    ++column.blocks;
    if (column.is_number) {
      column.recent.push_back(column.sum / static_cast<double>(block));
      if (column.recent.size() > most_recent) column.recent.erase(column.recent.begin());
    }
    for (std::size_t k = 0; k < column.n_readings(); ++k) {
      RiseDetector& detector = column.detectors[k];
      detector.add(readings[k], 1.0);
      if (!detector.count()) continue;
      static constexpr What of_numbers[] = {What::larger, What::smaller, What::missing},
                            of_values[] = {What::common, What::uncommon, What::fresh, What::missing};
      const What what = column.is_number ? of_numbers[k] : of_values[k];
      const RiseDetector::Alarm& alarm = detector.alarms().front();
      const std::int64_t length = alarm.event - alarm.since + 1;
      Change change{place, what, events_, events_ - length * block + 1, alarm.before, alarm.after};
      if (what == What::larger || what == What::smaller)
        change.before = column.mean, change.after = column.mean_of_recent(length);
      ++count_;
      keep(change);
      return true;
    }
    return false;
  }

  void keep(const Change& change) {
    changes_.push_back(change);
    if (changes_.size() > most_kept) changes_.erase(changes_.begin());
  }

  [[noreturn]] static void fail() { throw InputError("its watch over the columns is invalid"); }

  void require_sound() const {
    if (events_ < 0 || known_ < 0 || count_ < static_cast<std::int64_t>(changes_.size())) fail();
    for (const Change& each : changes_)
      if (each.column >= columns_.size() || each.what > What::fresh || each.since < 1 || each.since > each.event ||
          each.event > events_)
        fail();
    for (const Column& each : columns_) {
      if (each.is_number < 0 || each.is_number > 1 || each.has_begun < 0 || each.has_begun > 1) fail();
      if (each.looked < 0 || each.looked > first_blocks || each.blocks < 0) fail();
      if ((each.looked == first_blocks && !each.counts.empty()) || each.gaps < 0.0 || each.present < 0.0) fail();
      if (each.spread < 0.0 || each.common < 0.0 || each.fresh < 0.0) fail();
      for (const RiseDetector& detector : each.detectors)
        if (detector.events() != each.blocks || detector.count()) fail();
    }
  }

  // Lists that a file gives the sizes of: no longer than they can be.
  template <class List>
  static void resize(List& list, std::int64_t size, std::size_t most) {
    if (size < 0 || static_cast<std::size_t>(size) > most) fail();
    list.resize(static_cast<std::size_t>(size));
  }

  // All that changes, in the order of a file. Of a constant one the numbers are seen, of another they are set.
  template <class Self, class Visit>
  static void each_number(Self& self, Visit visit) {
    constexpr bool is_read = std::is_const_v<Self>;
    const auto sized = [&](auto& list, std::size_t most) {
      auto size = static_cast<std::int64_t>(list.size());
      visit(size);
      if constexpr (!is_read) resize(list, size, most);
    };
    visit(self.events_), visit(self.known_), visit(self.count_);
    sized(self.changes_, most_kept);
    for (auto& each : self.changes_) {
      auto column = static_cast<std::int64_t>(each.column), what = static_cast<std::int64_t>(each.what);
      visit(column), visit(what), visit(each.event), visit(each.since), visit(each.before), visit(each.after);
      if constexpr (!is_read) {
        if (column < 0 || what < 0 || what > static_cast<std::int64_t>(What::fresh)) fail();
        each.column = static_cast<std::size_t>(column), each.what = static_cast<What>(what);
      }
    }
    for (auto& each : self.columns_) {
      visit(each.is_number), visit(each.has_begun), visit(each.looked), visit(each.blocks), visit(each.mean);
      visit(each.top), visit(each.known);
      for (auto* number : {&each.gaps, &each.present, &each.sum, &each.spread, &each.common, &each.fresh})
        visit(*number);
      std::vector<std::pair<std::int32_t, std::int64_t>> counts(each.counts.begin(), each.counts.end());
      std::sort(counts.begin(), counts.end());
      sized(counts, most_names);
      for (auto& [feature, count] : counts) visit(feature), visit(count);
      sized(each.recent, most_recent);
      for (auto& mean : each.recent) visit(mean);
      if constexpr (!is_read) {
        for (const auto& [feature, count] : counts) each.counts[feature] = count;
        if (each.counts.size() != counts.size()) fail();
      }
      if constexpr (!is_read) each.detectors.assign(each.n_readings(), RiseDetector(alpha, cap));
      for (auto& detector : each.detectors) {
        std::vector<double> numbers = detector.state();
        for (double& number : numbers) visit(number);
        if constexpr (!is_read) detector = RiseDetector::restored(numbers, alpha, cap);
      }
    }
  }

  std::int64_t events_ = 0, known_ = 0, count_ = 0;
  std::vector<Change> changes_;
  std::vector<Column> columns_;
  std::unordered_map<std::string, std::int16_t> places_;  // of columns, by name
  std::unordered_map<std::string, std::int32_t>
      gaps_;  // features that say "missing", of columns that are not known yet
  std::vector<Feature> features_;
};

}  // namespace odca
