// The latest values of something, with their times, and statistics of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "odca/features/history_options.hpp"

namespace odca::text {

// No series holds more values than this.
inline constexpr std::int64_t most_events_of_a_series = 10'000;

// What a line needs of its series.
struct SeriesNeeds {
  std::int64_t events = 1;  // as many values
  double seconds = -1.0;    // and those of so many seconds, and one before; negative if no feature is timed
  bool times = false;
  bool moments = false;
};

// Number, mean, sum of squared deviations, extremes.
struct Moments {
  double count = 0.0, mean = 0.0, squares = 0.0;
  double least = std::numeric_limits<double>::infinity(), most = -std::numeric_limits<double>::infinity();

  void add(double value) {
    count += 1.0;
    const double off = value - mean;
    mean += off / count;
    squares += off * (value - mean);
    least = std::min(least, value), most = std::max(most, value);
  }
  void add(const Moments& other) {
    const double total = count + other.count, off = other.mean - mean;
    mean += off * (other.count / total);
    squares += other.squares + off * off * (count * other.count / total);
    least = std::min(least, other.least), most = std::max(most, other.most);
    count = total;
  }
};

class Series {
 public:
  // The number of values that it ever had.
  std::int64_t end() const { return first_ + size(); }
  std::int64_t size() const { return static_cast<std::int64_t>(value_.size()); }
  std::int64_t first() const { return first_; }
  double latest() const { return value_.back(); }
  double latest_time() const { return time_.back(); }

  // A value that comes with an earlier time than the one before counts as if it came at that time.
  void push(double value, double time, const SeriesNeeds& needs) {
    value_.push_back(value);
    if (needs.times) time_.push_back(time_.empty() ? time : std::max(time, time_.back()));
    if (needs.moments && end() % group == 0 && end() - group >= first_)
      groups_.push_back(moments(end() - group, end()));
  }
  void pop(const SeriesNeeds& needs) {
    if (needs.moments && end() % group == 0 && end() - group >= first_) groups_.pop_back();
    if (needs.times) time_.pop_back();
    value_.pop_back();
  }

  // The values that can still be needed begin here.
  std::int64_t needed_from(const SeriesNeeds& needs) const {
    std::int64_t from = end() - needs.events;
    if (needs.seconds >= 0.0 && size() > 0) from = std::min(from, since(time_.back() - needs.seconds) - 1);
    return std::max({from, end() - most_events_of_a_series, first_});
  }
  // Forgets what is not needed, once that is as much as what is.
  void trim(const SeriesNeeds& needs) {
    const std::int64_t from = needed_from(needs), excess = from - first_;
    if (excess >= std::max<std::int64_t>(end() - from, 2 * group)) forget_before(from, needs);
  }

  // NaN if it is not known.
  double at(std::int64_t number) const {
    return number >= first_ && number < end() ? value_[static_cast<std::size_t>(number - first_)] : unknown;
  }
  // The number of the first value that came at this time or later.
  std::int64_t since(double time) const {
    return first_ + (std::lower_bound(time_.begin(), time_.end(), time) - time_.begin());
  }
  // That of the first one that came later.
  std::int64_t after(double time) const {
    return first_ + (std::upper_bound(time_.begin(), time_.end(), time) - time_.begin());
  }
  // The moments of the values from this one to the last.
  Moments moments_from(std::int64_t from, const SeriesNeeds& needs) const {
    from = std::max({from, first_, end() - most_events_of_a_series});
    const std::int64_t whole_from = (from + group - 1) / group, whole_end = end() / group;
    if (!needs.moments || whole_from >= whole_end) return moments(from, end());
    Moments out = moments(from, whole_from * group);
    const std::int64_t first_group = (first_ + group - 1) / group;
    for (std::int64_t k = whole_from; k < whole_end; ++k) {
      const Moments& next = groups_[static_cast<std::size_t>(k - first_group)];
      out.count > 0.0 ? out.add(next) : void(out = next);
    }
    for (std::int64_t k = whole_end * group; k < end(); ++k) out.add(at(k));
    return out;
  }

  // The values from this one on, for a file.
  void copy_from(std::int64_t from, const SeriesNeeds& needs, std::vector<double>& value,
                 std::vector<double>& time) const {
    value.insert(value.end(), value_.begin() + (from - first_), value_.end());
    if (needs.times) time.insert(time.end(), time_.begin() + (from - first_), time_.end());
  }
  static Series from_file(std::int64_t first, std::int64_t count, const double* value, const double* time,
                          const SeriesNeeds& needs) {
    Series out;
    out.first_ = first;
    for (std::int64_t k = 0; k < count; ++k) out.push(value[k], needs.times ? time[k] : 0.0, needs);
    return out;
  }

  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

 private:
  static constexpr std::int64_t group = 32;

  Moments moments(std::int64_t from, std::int64_t to) const {
    Moments out;
    for (std::int64_t k = from; k < to; ++k) out.add(value_[static_cast<std::size_t>(k - first_)]);
    return out;
  }
  void forget_before(std::int64_t from, const SeriesNeeds& needs) {
    const std::int64_t gone = from - first_;
    const std::int64_t gone_groups = (from + group - 1) / group - (first_ + group - 1) / group;
    value_.erase(value_.begin(), value_.begin() + gone);
    if (needs.times) time_.erase(time_.begin(), time_.begin() + gone);
    if (needs.moments)
      groups_.erase(groups_.begin(),
                    groups_.begin() + std::min<std::int64_t>(gone_groups, static_cast<std::int64_t>(groups_.size())));
    first_ = from;
  }

  std::int64_t first_ = 0;  // the number of the first value that is still there
  std::vector<double> value_, time_;
  std::vector<Moments> groups_;  // of whole groups whose values are all there
};

// The moments of a window that was summed up last: features of the same window follow each other.
struct WindowMoments {
  std::int64_t from = -1;
  Moments moments = {};
};

// The value of a feature. `own` is the event's own value of a column, NaN if it is not known; `now` is its time.
double feature_of(const Series& series, const HistoryFeature& feature, const SeriesNeeds& needs, bool of_label,
                  double own, double now, WindowMoments& window);

}  // namespace odca::text
