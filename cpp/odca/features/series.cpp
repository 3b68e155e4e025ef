#include "odca/features/series.hpp"

namespace odca::text {

namespace {

// The value that was the latest one so many events or seconds ago.
double earlier(const Series& series, const HistoryFeature& feature, double now) {
  if (!feature.timed) return series.at(series.end() - static_cast<std::int64_t>(feature.size));
  const std::int64_t number = series.after(now - feature.size) - 1;
  return number < series.end() - most_events_of_a_series ? Series::unknown : series.at(number);
}

double change(const Series& series, const HistoryFeature& feature, bool of_label, double own, double now) {
  if (!of_label) return own - earlier(series, feature, now);
  if (feature.timed) return series.latest() - earlier(series, feature, series.latest_time());
  return series.latest() - series.at(series.end() - 1 - static_cast<std::int64_t>(feature.size));
}

}  // namespace

double feature_of(const Series& series, const HistoryFeature& feature, const SeriesNeeds& needs, bool of_label,
                  double own, double now, WindowMoments& window) {
  if (needs.times) now = std::max(now, series.latest_time());
  switch (feature.statistic) {
    case Statistic::lag: return earlier(series, feature, now);
    case Statistic::change: return change(series, feature, of_label, own, now);
    case Statistic::since: return now - series.latest_time();
    default: break;
  }
  const std::int64_t from =
      feature.timed ? series.since(now - feature.size) : series.end() - static_cast<std::int64_t>(feature.size);
  if (window.from != std::max<std::int64_t>(from, 0))
    window = {std::max<std::int64_t>(from, 0), series.moments_from(from, needs)};
  const Moments& moments = window.moments;
  if (moments.count == 0.0) return Series::unknown;
  switch (feature.statistic) {
    case Statistic::mean: return moments.mean;
    case Statistic::minimum: return moments.least;
    case Statistic::maximum: return moments.most;
    default: return moments.count < 2.0 ? Series::unknown : std::sqrt(moments.squares / (moments.count - 1.0));
  }
}

}  // namespace odca::text
