// Which label is learned: a number's own, or a bounded one, so that one wild label does not spoil what follows.
//
// A label is wild if its distance from the prediction is more than ten usual errors, if it lies beyond all labels learned so far, and
// if no expert comes near it. Instead of it,
//
//     y' = prediction + sign(y - prediction) usual error
//
// is learned, by everything: experts, mixers, label means, scales. The usual error is the mean of |y - prediction| over about the last
// 8 or the last 128 events, whichever is larger, where no event counts as more than ten usual errors. So several wild labels in a row
// soon count as usual.
//
// Some streams do have such labels, and then they are to be learned: the level changes, or a rare feature explains them. Both can
// be seen only afterwards, so the stream itself says whether labels of this kind come true:
//
//     levels   the event after a wild label has a label near it
//     rows     wild labels can be told by their rows: a small linear model, which learns from wild labels and a few events after each,
//              says on which side they lie, if any
//
// Each that comes true adds 1 to the trust, each that does not takes 1.5. Above 0, labels are learned as they are if they are at most four
// times as far off as those that came true. And the third of consecutive wild labels always is. docs/auto.md has measurements.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "odca/experts/scaled_row.hpp"
#include "odca/math/checks.hpp"
#include "odca/math/fading_mean.hpp"
#include "odca/math/functions.hpp"

namespace odca::experts {

class LabelBound {
 public:
  // What is known of an event before its label is learned: the prediction, the margins of the experts, and whether the label lies among
  // those so far. The row was standardised after events of this total weight, itself included.
  struct Event {
    double prediction;
    std::span<const double> margins;
    bool is_in_range;
    const ScaledRow& row;
    double mass;
  };

  // The label to learn from, of an event of weight c.
  double learn(double y, const Event& event, double c) {
    const double error = std::fabs(y - event.prediction), usual = std::max(recent_.mean(), usual_.mean());
    const double most = far_off * usual;
    const bool is_far = usual_.mass > few_events && usual > 0.0 && error > most;
    recent_.add(is_far ? most : error, c, recent_memory), usual_.add(is_far ? most : error, c, usual_memory);
    if (consecutive_ > 0) {
      const double before = std::fabs(label_ - prediction_);
      levels_.learn(std::fabs(y - label_) < 0.5 * before, before);
    }
    if (!is_far || event.is_in_range || some_expert_is_near(y, event, most)) {
      consecutive_ = 0;
      if (contrasts_ > 0) --contrasts_, learn_side(event, 0.0);
      return y;
    }
    const double side = y > event.prediction ? 1.0 : -1.0;
    rows_.learn(learn_side(event, side) * side > 0.5, error);
    const bool is_believed = levels_.holds(error) || rows_.holds(error) || consecutive_ == most_consecutive;
    consecutive_ = std::min(consecutive_ + 1, most_consecutive), contrasts_ = most_contrasts;
    label_ = y, prediction_ = event.prediction;
    return is_believed ? y : event.prediction + side * usual;
  }

  // With `part` of the other. What the event before was is forgotten, unless both know the same of it: two streams have no order.
  void merge(const LabelBound& other, double part) {
    if (part == 0.0) return;
    const auto before = [](LabelBound& self) {
      return std::tie(self.consecutive_, self.contrasts_, self.label_, self.prediction_);
    };
    LabelBound theirs = other, forgotten;
    recent_.merge(other.recent_, part), usual_.merge(other.usual_, part);
    levels_.merge(other.levels_, part), rows_.merge(other.rows_, part);
    if (part == 1.0)
      before(*this) = before(theirs);
    else if (before(*this) != before(theirs))
      before(*this) = before(forgotten);
    if (sides_.empty() && other.sides_.empty()) return;
    sides_.resize(places);
    for (std::size_t n = 0; n < places; ++n)
      sides_[n] += part * ((other.sides_.empty() ? 0.0 : other.sides_[n]) - sides_[n]);
  }

  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    visit("recent_error", self.recent_.sum), visit("recent_error_mass", self.recent_.mass);
    visit("usual_error", self.usual_.sum), visit("usual_error_mass", self.usual_.mass);
    visit("levels_trust", self.levels_.trust), visit("levels_reach", self.levels_.reach);
    visit("rows_trust", self.rows_.trust), visit("rows_reach", self.rows_.reach), visit("sides", self.sides_);
    visit("wild_consecutive", self.consecutive_), visit("wild_contrasts", self.contrasts_);
    visit("wild_label", self.label_), visit("wild_prediction", self.prediction_);
  }
  bool is_sound() const {
    const auto fits = [](double number) { return std::fabs(number) <= largest; };
    return recent_.is_sound(largest) && usual_.is_sound(largest) && levels_.is_sound() && rows_.is_sound() &&
           fits(label_) && fits(prediction_) && consecutive_ <= most_consecutive && contrasts_ <= most_contrasts &&
           all_within(sides_, largest_side);
  }
  // After the parts were read. False if they do not fit together.
  bool complete() const { return sides_.empty() || sides_.size() == places; }

 private:
  static constexpr double far_off = 10.0, few_events = 3.0;
  static constexpr double recent_memory = 1.0 - 1.0 / 8, usual_memory = 1.0 - 1.0 / 128;
  static constexpr std::int64_t most_consecutive = 2, most_contrasts = 3;
  static constexpr std::size_t places = 256;  // the last is the constant's
  static constexpr double largest = 1e101, largest_side = 1e6;

  // Whether wild labels of a kind come true, and how far off those were that did: the geometric mean, mostly of the last few.
  struct Belief {
    static constexpr double least = -3.0, most = 2.0;
    double trust = least, reach = 0.0;

    void learn(bool came_true, double distance) {
      trust = clip(trust + (came_true ? 1.0 : -1.5), least, most);
      if (came_true) reach = reach > 0.0 ? std::sqrt(reach) * std::sqrt(distance) : distance;
    }
    bool holds(double distance) const { return trust > 0.0 && distance <= 4.0 * reach; }
    void merge(const Belief& other, double part) {
      trust += part * (other.trust - trust), reach += part * (other.reach - reach);
    }
    bool is_sound() const { return trust >= least && trust <= most && reach >= 0.0 && reach <= largest; }
  };

  static bool some_expert_is_near(double y, const Event& event, double most) {
    return std::any_of(event.margins.begin(), event.margins.end(), [&](double z) { return std::fabs(y - z) <= most; });
  }

  // The side that the row says, before it learns the true one: 0 for a label that is not wild. An implicit step, fast along features
  // that are rare. Features share places.
  double learn_side(const Event& event, double side) {
    const ScaledRow& row = event.row;
    sides_.resize(places);
    const auto place = [&](int i) {
      return i < row.size - 1 ? static_cast<std::size_t>(row.feature[i]) % (places - 1) : places - 1;
    };
    const auto rate = [&](int i) { return i < row.present ? event.mass / row.count[i] : 1.0; };
    double said = 0.0, slope = 0.1;
    for (int i = 0; i < row.size; ++i) said += sides_[place(i)] * row.h[i], slope += rate(i) * row.h[i] * row.h[i];
    const double lambda = (side - said) / slope;
    if (!std::isfinite(lambda)) return 0.0;
    for (int i = 0; i < row.size; ++i) {
      double& weight = sides_[place(i)];
      weight = clip(weight + lambda * rate(i) * row.h[i], -largest_side, largest_side);
    }
    return said;
  }

  FadingMean recent_, usual_;
  Belief levels_, rows_;
  std::vector<double> sides_;  // of the small linear model
  std::int64_t consecutive_ = 0,
               contrasts_ = 0;             // wild labels just before; how many events the small model still learns from
  double label_ = 0.0, prediction_ = 0.0;  // of the event before, if it was wild
};

}  // namespace odca::experts
