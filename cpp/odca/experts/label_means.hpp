// What the bank knows of the labels themselves: their means of four memories, which are lanes, and, of numbers, range and spread.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "odca/experts/experts.hpp"
#include "odca/math/functions.hpp"

namespace odca::bank {

// A mean that fades.
struct Fading {
  double sum = 0.0, mass = 0.0;

  void add(double value, double c, double memory) { sum = sum * memory + c * value, mass = mass * memory + c; }
  double mean() const { return mass > 0.0 ? sum / mass : 0.0; }
};

// Of classes: how often each came.
class ClassLabels {
 public:
  explicit ClassLabels(int classes) : classes_(classes), count_(static_cast<std::size_t>(mean_lanes * classes)) {}

  // Log odds of the second of two classes: of each memory, and of all events, where the row lanes begin.
  void write_odds(double* mean_margins, double& base) const {
    for (int b = 0; b < mean_lanes; ++b) mean_margins[b] = (second(b) + 0.5) / (mass_[b] - second(b) + 0.5);
    for (int b = 0; b < mean_lanes; b += 2) {
      const Pack l = log(load(mean_margins + b));
      mean_margins[b] = l[0], mean_margins[b + 1] = l[1];
    }
    const double all = second(mean_lanes - 1);
    base = log((all + 2.0) / (mass_[mean_lanes - 1] - all + 2.0));
  }
  // The same as log probabilities of class c of several; the base is relative to that of a uniform guess.
  void write_logs(int c, double* mean_margins, double& base) const {
    for (int b = 0; b < mean_lanes; ++b)
      mean_margins[b] = log((count_[place(b, c)] + 0.5 / classes_) / (mass_[b] + 0.5));
    base = log((count_[place(mean_lanes - 1, c)] + 2.0) / (mass_[mean_lanes - 1] / classes_ + 2.0));
  }

  void learn(int y, double c, const Pace& pace) {
    unseen_ -= is_unseen(y);
    for (int b = 0; b < mean_lanes; ++b) {
      for (int k = 0; k < classes_; ++k)
        count_[place(b, k)] = count_[place(b, k)] * pace.mean_memory[b] + (k == y ? c : 0.0);
      mass_[b] = mass_[b] * pace.mean_memory[b] + c;
    }
  }

  bool is_unseen(int c) const { return count_[place(mean_lanes - 1, c)] == 0.0; }
  bool some_are_unseen() const { return unseen_ > 0; }

  ClassLabels with_classes(const std::vector<int>& source) const {
    ClassLabels out(static_cast<int>(source.size()));
    out.mass_ = mass_;
    for (int b = 0; b < mean_lanes; ++b)
      for (std::size_t c = 0; c < source.size(); ++c)
        if (source[c] >= 0) out.count_[out.place(b, static_cast<int>(c))] = count_[place(b, source[c])];
    out.count_unseen();
    return out;
  }

  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    visit("counts", self.count_), visit("masses", self.mass_);
  }
  // After these were read. False if they do not go together.
  bool complete() {
    if (count_.size() != static_cast<std::size_t>(mean_lanes * classes_)) return false;
    count_unseen();
    return true;
  }
  bool is_sound() const {
    const auto is_count = [](double x) { return x >= 0.0; };
    return std::all_of(count_.begin(), count_.end(), is_count) && std::all_of(mass_.begin(), mass_.end(), is_count);
  }

 private:
  std::size_t place(int b, int c) const { return static_cast<std::size_t>(b * classes_ + c); }
  double second(int b) const { return count_[place(b, 1)]; }
  void count_unseen() {
    unseen_ = 0;
    for (int c = 0; c < classes_; ++c) unseen_ += is_unseen(c);
  }

  int classes_, unseen_ = classes_;
  std::vector<double> count_;
  std::array<double, mean_lanes> mass_{};
};

// Of numbers.
class NumberLabels {
 public:
  bool empty() const { return mass_ == 0.0; }
  bool is_sound() const {
    const auto is_count = [](double x) { return x >= 0.0; };
    return mass_ >= 0.0 && square_ >= 0.0 && low_ <= high_ && std::all_of(sum_mass_.begin(), sum_mass_.end(), is_count);
  }
  double mean() const { return mean_; }
  // What is never told: beyond the labels that came.
  double within_range(double z) const { return mass_ > 0.0 ? std::min(std::max(z, low_), high_) : 0.0; }
  double deviation() const { return mass_ > 0.0 ? std::sqrt(square_ / mass_) : 0.0; }
  void write_means(double* mean_margins) const {
    for (int b = 0; b < mean_lanes; ++b) mean_margins[b] = sum_mass_[b] > 0.0 ? sum_[b] / sum_mass_[b] : 0.0;
  }

  void learn(double y, double c, const Pace& pace) {
    for (int b = 0; b < mean_lanes; ++b) {
      sum_[b] = sum_[b] * pace.mean_memory[b] + c * y;
      sum_mass_[b] = sum_mass_[b] * pace.mean_memory[b] + c;
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
  std::array<double, mean_lanes> sum_{}, sum_mass_{};
  double low_ = 0.0, high_ = 0.0, mass_ = 0.0, mean_ = 0.0, square_ = 0.0;
};

}  // namespace odca::bank
