// How often scores of each size came lately: a histogram whose bins grow with the size of the score, in bounded memory.
//
// There are eight bins in every octave from 2^-12 to 2^12, for either sign; what is smaller or larger goes into the innermost or the
// outermost one. Within a bin, scores count as evenly spread. Every event leaves (1 - 1/2048) of the weight of those before: instead of
// letting all bins fade, later events are added with a larger `unit`.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "odca/math/functions.hpp"

namespace odca::uncertainty {

class ScoreHistogram {
 public:
  static constexpr int bins = 384, groups = bins / 8, blocks = groups / 8;
  static constexpr double memory = 2048.0;  // events

  // The weight of the next event of weight 1, and of all events so far.
  double unit() const { return unit_; }
  double total() const { return total_; }
  // The effective number of events.
  double events() const { return total_ / unit_; }

  // Where a score is: its bin, and how much of the bin lies below it.
  struct Place {
    int bin;
    double part;
  };
  static Place place_of(double score) {
    const std::int64_t bits = to_bits(std::fabs(score)), place = (bits >> 49) - first_place;
    double part = static_cast<double>(bits & ((std::int64_t{1} << 49) - 1)) * 0x1p-49;
    if (place <= 0) part = std::fabs(score) / size_at(1);
    if (place >= half) part = 1.0;
    const int size = static_cast<int>(std::clamp<std::int64_t>(place, 0, half - 1));
    return score >= 0.0 ? Place{half + size, part} : Place{half - 1 - size, 1.0 - part};
  }

  void add(Place at, double c) {
    const int bin = at.bin;
    const double weight = c * unit_;
    bin_[bin] += weight, group_[bin / 8] += weight, block_[bin / 64] += weight;
    total_ += weight;
    unit_ *= memory / (memory - 1.0);
    if (unit_ > largest_unit) scale(1.0 / largest_unit), unit_ /= largest_unit;  // exactly: it is a power of two
  }

  double above(Place at) const { return std::max(total_ - below(at), 0.0); }
  double below(Place at) const {
    const int bin = at.bin;
    return ((sum_of_first<blocks>(bin / 64, block_.data()) + sum_of_first<8>(bin / 8 % 8, &group_[bin / 64 * 8])) +
            sum_of_first<8>(bin % 8, &bin_[bin / 8 * 8])) +
           at.part * bin_[bin];
  }

  // The score that has so much weight below it.
  double quantile(double weight) const {
    int k = 0;
    const auto pass = [&](const double* of, int end) {
      while (k + 1 < end && weight > of[k]) weight -= of[k++];
    };
    pass(block_.data(), blocks), k *= 8;
    pass(group_.data(), k + 8), k *= 8;
    pass(bin_.data(), k + 8);
    const double part = bin_[k] > 0.0 ? clip(weight / bin_[k], 0.0, 1.0) : 0.0, low = edge(k);
    return low + part * (edge(k + 1) - low);
  }

  void scale(double factor) {
    for (double& each : bin_) each *= factor;
    for (double& each : group_) each *= factor;
    for (double& each : block_) each *= factor;
    total_ *= factor;
  }
  // The scores of both.
  void merge(ScoreHistogram other) {
    scale(1.0 / unit_), other.scale(1.0 / other.unit_);
    unit_ = 1.0;
    for (int k = 0; k < bins; ++k) bin_[k] += other.bin_[k];
    for (int k = 0; k < groups; ++k) group_[k] += other.group_[k];
    for (int k = 0; k < blocks; ++k) block_[k] += other.block_[k];
    total_ += other.total_;
  }

  template <class Self, class Visit>
  static void each_number(Self& self, Visit&& visit) {
    visit(self.unit_), visit(self.total_);
    for (auto& each : self.bin_) visit(each);
    for (auto& each : self.group_) visit(each);
    for (auto& each : self.block_) visit(each);
  }
  // Whether these can have been counted.
  bool is_sound() const {
    const auto adds_up = [](const double* parts, int count, double whole) {
      double sum = 0.0, least = 0.0;
      for (int k = 0; k < count; ++k) sum += parts[k], least = std::min(least, parts[k]);
      return least >= 0.0 && std::fabs(sum - whole) <= 1e-6 * std::max(sum, tiny);
    };
    bool sound = unit_ > 0.0 && unit_ <= largest_unit && total_ <= most_events * unit_;
    for (int k = 0; k < groups; ++k) sound &= adds_up(&bin_[k * 8], 8, group_[k]);
    for (int k = 0; k < blocks; ++k) sound &= adds_up(&group_[k * 8], 8, block_[k]);
    return sound && adds_up(block_.data(), blocks, total_);
  }

 private:
  // The first n of so many numbers, without a branch: nothing can predict how many they are.
  template <int Count>
  static double sum_of_first(int n, const double* of) {
    double sum[2] = {};
    for (int k = 0; k < Count; ++k) sum[k % 2] += select(k < n, of[k], 0.0);
    return sum[0] + sum[1];
  }

  static constexpr int half = bins / 2, octaves = half / 8, least_exponent = -octaves / 2;
  static constexpr double largest_unit = 0x1p400, most_events = 1e15;

  // Eight bins in an octave: the exponent and the first three bits of the mantissa.
  static constexpr std::int64_t first_place = static_cast<std::int64_t>(1023 + least_exponent) * 8;
  static double size_at(int place) {  // of a positive bin, where it begins
    return place == 0 ? 0.0 : from_bits((first_place + place) << 49);
  }
  static double edge(int bin) { return bin >= half ? size_at(bin - half) : -size_at(half - bin); }

  double unit_ = 1.0, total_ = 0.0;
  std::array<double, bins> bin_{};
  std::array<double, groups> group_{};  // of eight bins
  std::array<double, blocks> block_{};  // of eight groups
};

}  // namespace odca::uncertainty
