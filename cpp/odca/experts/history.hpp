// How the experts' weights and the loss developed over the stream: a bounded number of records, evenly spaced, whose distance
// doubles as the stream grows.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "odca/experts/experts.hpp"
#include "odca/math/checks.hpp"

namespace odca::experts {

class History {
 public:
  static constexpr std::size_t most = 256;
  // Events so far, their time, the mean loss since the record before, a weight for each expert.
  static constexpr std::size_t width = 3 + expert_count;

  // After every event; `weights` is called when it is time for a record.
  template <class Weights>
  void add(std::int64_t events, double time, double loss, Weights&& weights) {
    loss_ += loss;
    if (events % every_ != 0) return;
    rows_.push_back(static_cast<double>(events));
    rows_.push_back(time);
    rows_.push_back(loss_ / static_cast<double>(every_));
    const PerExpert& w = weights();
    rows_.insert(rows_.end(), w.begin(), w.begin() + expert_count);
    loss_ = 0.0;
    if (rows_.size() >= most * width) thin();
  }

  const std::vector<double>& rows() const { return rows_; }

  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    visit("history", self.rows_), visit("history_every", self.every_), visit("history_loss", self.loss_);
  }
  bool fits() const {
    if (rows_.size() % width != 0 || rows_.size() >= most * width || every_ < 16 || every_ > most_events) return false;
    for (std::size_t at = 2; at < rows_.size(); at += width)
      if (!(std::fabs(rows_[at]) <= largest_loss)) return false;
    return all_finite(rows_) && std::fabs(loss_) <= largest_loss;
  }

 private:
  // Keeps every second record, with the mean loss of two.
  void thin() {
    std::vector<double> kept;
    for (std::size_t at = width; at + width <= rows_.size(); at += 2 * width) {
      kept.insert(kept.end(), rows_.begin() + static_cast<std::ptrdiff_t>(at),
                  rows_.begin() + static_cast<std::ptrdiff_t>(at + width));
      kept[kept.size() - width + 2] = 0.5 * (rows_[at - width + 2] + rows_[at + 2]);
    }
    rows_ = std::move(kept);
    every_ *= 2;
  }

  static constexpr std::int64_t most_events = std::int64_t{1} << 53;
  static constexpr double largest_loss = 1e300;  // so that sums of a few do not overflow

  std::vector<double> rows_;
  std::int64_t every_ = 16;
  double loss_ = 0.0;
};

}  // namespace odca::experts
