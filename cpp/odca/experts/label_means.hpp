// What is known of the labels alone: the means that the label experts predict and, for numbers, their range and spread.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "odca/experts/experts.hpp"
#include "odca/experts/pace.hpp"
#include "odca/math/checks.hpp"
#include "odca/math/pack4.hpp"

namespace odca::experts {

// A mean of which every new value leaves a part.
struct FadingMean {
  double sum = 0.0, mass = 0.0;

  void add(double value, double c, double memory) { sum = sum * memory + c * value, mass = mass * memory + c; }
  double mean() const { return mass > 0.0 ? sum / mass : 0.0; }
  bool is_sound() const { return sum >= 0.0 && mass >= 0.0; }
};

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

  // The log probability of class c of several by each label expert.
  void write_logs(int c, double* out) const {
    for (int b = 0; b < label_experts; ++b) out[b] = log((count_[place(b, c)] + 0.5 / classes_) / (mass_[b] + 0.5));
  }
  // The same over all events, cautiously, relative to a uniform guess.
  double base_log(int c) const {
    return log((count_[place(mean_of_all, c)] + 2.0) / (mass_[mean_of_all] / classes_ + 2.0));
  }

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
  bool is_sound() const { return none_negative(count_) && none_negative(mass_); }

 private:
  std::size_t place(int b, int c) const { return static_cast<std::size_t>(b * classes_ + c); }
  double second(int b) const { return count_[place(b, 1)]; }
  void count_unseen() {
    unseen_ = 0;
    for (int c = 0; c < classes_; ++c) unseen_ += is_unseen(c);
  }

  int classes_, unseen_ = classes_;
  std::vector<double> count_;
  std::array<double, label_experts> mass_{};
};

// Numbers: means by the memory of each label expert, range and spread.
class NumberLabels {
 public:
  bool empty() const { return mass_ == 0.0; }
  bool is_sound() const { return mass_ >= 0.0 && square_ >= 0.0 && low_ <= high_ && none_negative(sum_mass_); }
  double mean() const { return mean_; }
  // Predictions stay within the labels seen so far.
  double within_range(double z) const { return mass_ > 0.0 ? std::min(std::max(z, low_), high_) : 0.0; }
  double deviation() const { return mass_ > 0.0 ? std::sqrt(square_ / mass_) : 0.0; }
  void write_means(double* out) const {
    for (int b = 0; b < label_experts; ++b) out[b] = sum_mass_[b] > 0.0 ? sum_[b] / sum_mass_[b] : 0.0;
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

  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    visit("sums", self.sum_), visit("sum_masses", self.sum_mass_);
    visit("low", self.low_), visit("high", self.high_), visit("label_mass", self.mass_);
    visit("label_mean", self.mean_), visit("label_square", self.square_);
  }

 private:
  std::array<double, label_experts> sum_{}, sum_mass_{};
  double low_ = 0.0, high_ = 0.0, mass_ = 0.0, mean_ = 0.0, square_ = 0.0;
};

}  // namespace odca::experts
