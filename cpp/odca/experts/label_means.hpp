// What is known of the labels alone: the means that the label experts predict and, for numbers, their range and spread.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "odca/experts/experts.hpp"
#include "odca/experts/number_loss.hpp"
#include "odca/experts/pace.hpp"
#include "odca/math/checks.hpp"
#include "odca/math/fading_mean.hpp"
#include "odca/math/many.hpp"

namespace odca::experts {

// Sums of two streams, by the memory of label expert b: over all events they add; what fades is averaged, with `part` of the other.
inline double merged_sum(int b, double here, double there, double part) {
  return memories_of<Kind::mean_label>[b] == 1.0 ? here + there : here + part * (there - here);
}
inline double share_of(int b, double share) { return memories_of<Kind::mean_label>[b] == 1.0 ? share : 1.0; }

// The square of the largest margin that is used (steady.hpp), and more.
inline constexpr double largest_square = 1e285;

// Classes: how often each one came, by the memory of each label expert.
class ClassLabels {
 public:
  explicit ClassLabels(int classes) : classes_(classes), count_(static_cast<std::size_t>(label_experts * classes)) {}

  // The log odds of the second of two classes by each label expert.
  void write_odds(double* out) const {
    std::array<double, in_fours(label_experts)> odds;
    odds.fill(1.0);
    for (int b = 0; b < label_experts; ++b) odds[b] = (second(b) + 0.5) / (mass_[b] - second(b) + 0.5);
    log_many(static_cast<int>(odds.size()), odds.data());
    std::copy_n(odds.begin(), label_experts, out);
  }
  // The same over all events, cautiously: where the experts that read rows begin.
  double base_odds() const {
    const double all = second(mean_of_all);
    return log((all + 2.0) / (mass_[mean_of_all] - all + 2.0));
  }

  // The log probabilities of several classes by each label expert: out[class * stride + label expert].
  void write_logs(double* out, int stride) const {
    std::array<double, 64> p;
    for (int b = 0; b < label_experts; ++b)
      for (int first = 0; first < classes_; first += static_cast<int>(p.size())) {
        const int some = std::min(classes_ - first, static_cast<int>(p.size()));
        for (int c = 0; c < some; ++c) p[c] = probability(b, count_[place(b, first + c)]);
        log_many(some, p.data());
        for (int c = 0; c < some; ++c) out[(first + c) * stride + b] = p[c];
      }
  }
  // The same over all events, cautiously, relative to a uniform guess: of every class.
  void write_base_logs(double* out) const {
    for (int c = 0; c < classes_; ++c) out[c] = base_ratio(count_[place(mean_of_all, c)], classes_);
    log_many(classes_, out);
  }

  // The same of a class that never came.
  void write_logs_of_unseen(double* out) const {
    for (int b = 0; b < label_experts; ++b) out[b] = log(probability(b, 0.0));
  }
  double base_log_of_unseen(int classes) const { return log(base_ratio(0.0, classes)); }

  void learn(int y, double c, const Pace& pace) {
    unseen_ -= is_unseen(y);
    for (int b = 0; b < label_experts; ++b) {
      for (int k = 0; k < classes_; ++k)
        count_[place(b, k)] = count_[place(b, k)] * pace.label_memory[b] + (k == y ? c : 0.0);
      mass_[b] = mass_[b] * pace.label_memory[b] + c;
    }
  }

  bool is_unseen(int c) const { return count_[place(mean_of_all, c)] == 0.0; }
  bool some_are_unseen() const { return unseen_ > 0; }

  void merge(const ClassLabels& other, double part) {
    for (int b = 0; b < label_experts; ++b) {
      for (int c = 0; c < classes_; ++c)
        count_[place(b, c)] = merged_sum(b, count_[place(b, c)], other.count_[place(b, c)], part);
      mass_[b] = merged_sum(b, mass_[b], other.mass_[b], part);
    }
    count_unseen();
  }
  void keep_share(double share) {
    for (int b = 0; b < label_experts; ++b) {
      for (int c = 0; c < classes_; ++c) count_[place(b, c)] *= share_of(b, share);
      mass_[b] *= share_of(b, share);
    }
  }

  ClassLabels with_classes(const std::vector<int>& source) const {
    ClassLabels out(static_cast<int>(source.size()));
    out.mass_ = mass_;
    for (int b = 0; b < label_experts; ++b)
      for (std::size_t c = 0; c < source.size(); ++c)
        if (source[c] >= 0) out.count_[out.place(b, static_cast<int>(c))] = count_[place(b, source[c])];
    out.count_unseen();
    return out;
  }

  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    visit("counts", self.count_), visit("masses", self.mass_);
  }
  // After these were read. False if they do not fit together.
  bool complete() {
    if (count_.size() != static_cast<std::size_t>(label_experts * classes_)) return false;
    count_unseen();
    return true;
  }
  // Each mass is the sum of its counts.
  bool is_sound() const {
    if (!none_negative(count_) || !none_negative(mass_)) return false;
    for (int b = 0; b < label_experts && classes_ > 0; ++b) {
      double total = 0.0;
      for (int c = 0; c < classes_; ++c) total += count_[place(b, c)];
      if (!(std::fabs(total - mass_[b]) <= 1e-6 * mass_[b] && mass_[b] <= 1e40)) return false;
    }
    return true;
  }

 private:
  std::size_t place(int b, int c) const { return static_cast<std::size_t>(b * classes_ + c); }
  double second(int b) const { return count_[place(b, 1)]; }
  double probability(int b, double count) const { return (count + 0.5 / classes_) / (mass_[b] + 0.5); }
  double base_ratio(double count, int classes) const { return (count + 2.0) / (mass_[mean_of_all] / classes + 2.0); }
  void count_unseen() {
    unseen_ = 0;
    for (int c = 0; c < classes_; ++c) unseen_ += is_unseen(c);
  }

  int classes_, unseen_ = classes_;
  std::vector<double> count_;
  std::array<double, label_experts> mass_{};
};

// Numbers: means by the memory of each label expert, range and spread.
//
// The margins of counts are logarithms. So that these are numbers, up to half a count at the mean of all labels is added to every mean.
class NumberLabels {
 public:
  bool empty() const { return mass_ == 0.0; }
  // Labels are at most 1e100.
  bool is_sound() const {
    constexpr double most = 1.01e100;
    if (!(mass_ >= 0.0 && mass_ <= 1e40 && square_ >= 0.0 && square_ <= 4.0 * most * most * mass_)) return false;
    if (!(-most <= low_ && low_ <= high_ && high_ <= most) || !(std::fabs(mean_) <= most)) return false;
    for (int b = 0; b < label_experts; ++b)
      if (!(sum_mass_[b] >= 0.0 && sum_mass_[b] <= 1e40 && std::fabs(sum_[b]) <= most * sum_mass_[b])) return false;
    return true;
  }
  // The margin of all labels: experts that read rows begin there.
  double base(const NumberLoss& loss) const { return loss.has_log_link() ? log(positive_mean()) : mean_; }
  bool is_in_range(double y) const { return low_ <= y && y <= high_; }
  // Margins whose answers stay within the labels seen so far; means of counts are positive.
  double within_range(const NumberLoss& loss, double z) const {
    if (!loss.has_log_link()) return mass_ > 0.0 ? std::min(std::max(z, low_), high_) : 0.0;
    const double mean = positive_mean();
    return std::min(std::max(z, log(std::max(low_, least_mean * mean))), log(std::max(high_, mean)));
  }
  // How far margins are apart: the standard deviation of the labels, or one of a logarithm.
  double deviation(const NumberLoss& loss) const {
    return loss.has_log_link() ? 1.0 : mass_ > 0.0 ? std::sqrt(square_ / mass_) : 0.0;
  }
  void write_margins(const NumberLoss& loss, double* out) const {
    if (!loss.has_log_link()) {
      for (int b = 0; b < label_experts; ++b) out[b] = sum_mass_[b] > 0.0 ? sum_[b] / sum_mass_[b] : 0.0;
      return;
    }
    const double mean = positive_mean(), added = 0.5 * std::min(mean, 1.0);
    for (int b = 0; b < label_experts; ++b) out[b] = log((sum_[b] + added) / (sum_mass_[b] + added / mean));
  }

  void learn(double y, double c, const Pace& pace) {
    for (int b = 0; b < label_experts; ++b) {
      sum_[b] = sum_[b] * pace.label_memory[b] + c * y;
      sum_mass_[b] = sum_mass_[b] * pace.label_memory[b] + c;
    }
    low_ = mass_ > 0.0 ? std::min(low_, y) : y, high_ = mass_ > 0.0 ? std::max(high_, y) : y;
    mass_ += c;
    const double d = y - mean_;
    mean_ += c / mass_ * d;  // the first mean is the label itself, and rounding makes no negative square
    square_ += c * std::max(d * (y - mean_), 0.0);
  }

  void merge(const NumberLabels& other, double part) {
    if (other.mass_ == 0.0) return;
    for (int b = 0; b < label_experts; ++b) {
      sum_[b] = merged_sum(b, sum_[b], other.sum_[b], part);
      sum_mass_[b] = merged_sum(b, sum_mass_[b], other.sum_mass_[b], part);
    }
    low_ = mass_ > 0.0 ? std::min(low_, other.low_) : other.low_;
    high_ = mass_ > 0.0 ? std::max(high_, other.high_) : other.high_;
    const double total = mass_ + other.mass_, apart = other.mean_ - mean_;
    square_ += other.square_ + apart * apart * (mass_ * other.mass_ / total);
    mean_ = (mass_ * mean_ + other.mass_ * other.mean_) / total;
    mass_ = total;
  }
  void keep_share(double share) {
    for (int b = 0; b < label_experts; ++b) sum_[b] *= share_of(b, share), sum_mass_[b] *= share_of(b, share);
    mass_ *= share, square_ *= share;
  }

  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    visit("sums", self.sum_), visit("sum_masses", self.sum_mass_);
    visit("low", self.low_), visit("high", self.high_), visit("label_mass", self.mass_);
    visit("label_mean", self.mean_), visit("label_square", self.square_);
  }

 private:
  static constexpr double least_mean = 1e-4;  // of counts, relative to the mean of all

  double positive_mean() const { return (mass_ * mean_ + 0.5) / (mass_ + 0.5); }

  std::array<double, label_experts> sum_{}, sum_mass_{};
  double low_ = 0.0, high_ = 0.0, mass_ = 0.0, mean_ = 0.0, square_ = 0.0;
};

}  // namespace odca::experts
