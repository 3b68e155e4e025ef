// Sums over a stream at some of its events, for a picture: at every event first, then at every second, fourth, ..., so that there are
// never more than 128 points. Which events these are depends on their numbers alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "odca/errors.hpp"

namespace odca {

class Curve {
 public:
  static constexpr std::size_t most = 128;

  explicit Curve(std::size_t width) : width_(width) {}

  // Whether there is a point after this many events.
  bool is_due(std::int64_t events) const { return (events & (every_ - 1)) == 0; }
  std::int64_t every() const { return every_; }
  std::size_t width() const { return width_; }

  // A point; its first number is that of the events.
  void push(std::span<const double> sums) {
    points_.insert(points_.end(), sums.begin(), sums.end());
    while (points_.size() > most * width_) thin();
  }

  // One point after the other: `width` numbers each.
  const std::vector<double>& points() const { return points_; }

  void restore(std::span<const double> points, std::int64_t every) {
    bool sound =
        points.size() % width_ == 0 && points.size() <= most * width_ && every > 0 && (every & (every - 1)) == 0;
    for (std::size_t at = width_; sound && at < points.size(); at += width_) sound = points[at] > points[at - width_];
    if (!sound) throw InputError("its curve is invalid");
    points_.assign(points.begin(), points.end());
    every_ = every;
  }

 private:
  // The second point, the fourth, ...: with no others between, those after multiples of 2, 4, 8, ... events.
  void thin() {
    every_ *= 2;
    std::vector<double> kept;
    for (std::size_t at = width_; at + width_ <= points_.size(); at += 2 * width_) {
      const auto begin = points_.begin() + static_cast<std::ptrdiff_t>(at);
      kept.insert(kept.end(), begin, begin + static_cast<std::ptrdiff_t>(width_));
    }
    points_ = std::move(kept);
  }

  std::size_t width_;
  std::int64_t every_ = 1;
  std::vector<double> points_;
};

}  // namespace odca
