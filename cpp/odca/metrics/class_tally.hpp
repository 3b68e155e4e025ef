// How well classes were predicted: sums over events in their order, so that no split of the stream shows.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "odca/math/functions.hpp"
#include "odca/metrics/curve.hpp"
#include "odca/metrics/rise_detector.hpp"

namespace odca {

struct ClassTally {
  static constexpr int bins = 15;     // of a probability
  static constexpr int ranks = 4096;  // bins of a margin of each sign: 32 octaves of 128
  static constexpr std::int32_t nobody = -1;

  // One event: its class and the predicted one (or `nobody`), its loss and weight. `margin` is that of the second of two classes
  // (or null). `probability` points to those of the first `columns` classes or, if that is 0, to that of the second class (or
  // null).
  struct Event {
    std::int32_t label, chosen;
    double loss, weight;
    const double* margin;
    const double* probability;
    std::int64_t columns;

    // The predicted probability of a class; zero for an unknown class.
    double stated(std::int32_t of) const {
      if (columns == 0) return of == 1 ? *probability : of == 0 ? 1.0 - *probability : 0.0;
      return of >= 0 && of < columns ? probability[of] : 0.0;
    }
  };

  std::int64_t events = 0;
  double weight = 0.0, loss = 0.0, hits = 0.0;
  double no_change = 0.0, majority = 0.0;       // hits of who repeats the last label, and of who names the leader
  double surprise = 0.0, informed = 0.0;        // -log P(what came), and the weight of the events that have a P
  std::int32_t last = nobody, leader = nobody;  // the label before; the class that has most weight, or had it first
  std::vector<double> class_weight;
  std::vector<double> rank_weight = std::vector<double>(2 * 2 * ranks);  // by class (of two) and bin of the margin
  std::vector<double> gaps = std::vector<double>(2 * bins);  // stated - observed: of the second class, of the chosen
  RiseDetector rises;
  Curve curve{6};  // of the first sums above, in their order, without the surprise

  void add(const Event& event) {
    count(event);
    rises.add(event.loss, event.weight);
    if (curve.is_due(events))
      curve.push(std::array{static_cast<double>(events), weight, loss, hits, no_change, majority});
  }

  // The same for two classes, given the margin of the second one against the first: the predicted class, the loss and (unless it is
  // given) the probability of the second class follow from it. The loss of another class is that of the worse of the two.
  template <class Loss>
  void add_margin(const Loss& rule, std::int32_t label, double margin, const double* probability, double counts) {
    const double e = exp(-std::fabs(margin));
    const double likely = probability ? *probability : (margin >= 0.0 ? 1.0 : e) / (1.0 + e);
    double cost = rule.value(margin, label == 1 ? 1.0 : -1.0);
    if (label > 1) cost = std::max(cost, rule.value(margin, 1.0));
    add({.label = label,
         .chosen = margin > 0.0,
         .loss = cost,
         .weight = counts,
         .margin = &margin,
         .probability = &likely,
         .columns = 0});
  }

  // The bin of a margin: they rise with it.
  static int rank_of(double margin) {
    constexpr double least = 0x1p-16;
    constexpr int fine = 52 - 7;  // the bits of a double below those of the bins
    const std::int64_t octave = (to_bits(std::fabs(margin) + least) >> fine) - (to_bits(least) >> fine);
    const int at = static_cast<int>(std::min<std::int64_t>(octave, ranks - 1));
    return margin < 0.0 ? ranks - 1 - at : ranks + at;
  }

 private:
  void count(const Event& event) {
    const double c = event.weight, hit = event.chosen == event.label ? 1.0 : 0.0;
    ++events;
    weight += c;
    loss += c * event.loss;
    hits += c * hit;
    if (event.label >= static_cast<std::int32_t>(class_weight.size())) meet(event.label);
    compare_to_baselines(event.label, c);
    const bool two = class_weight.size() <= 2;
    if (two && event.margin) rank_weight[2 * ranks * event.label + rank_of(*event.margin)] += c;
    if (!event.probability) return;
    if (two) {
      const double second = event.stated(1);
      gaps[bin_of(second)] += c * (second - event.label);
    }
    const double of_chosen = event.stated(event.chosen);
    gaps[bins + bin_of(of_chosen)] += c * (of_chosen - hit);
    surprise += c * -log(std::max(event.stated(event.label), std::numeric_limits<double>::epsilon()));
    informed += c;
  }

  static int bin_of(double probability) { return std::min(static_cast<int>(probability * bins), bins - 1); }

  void meet(std::int32_t label) {
    class_weight.resize(label + 1);
    if (class_weight.size() <= 2) return;
    std::fill(rank_weight.begin(), rank_weight.end(), 0.0);  // there is no second class against the first any more
    std::fill_n(gaps.begin(), bins, 0.0);
  }

  void compare_to_baselines(std::int32_t label, double c) {
    if (label == last) no_change += c;
    if (label == leader) majority += c;
    last = label;
    const double before = leader == nobody ? 0.0 : class_weight[leader];
    if ((class_weight[label] += c) > before) leader = label;
  }
};

}  // namespace odca
