// Which answer to give while labels are late: the live one leans on experts and mixing weights that follow the last labels, which say
// less and less the later they come; the steady one does not.
//
// From the first late label on, the answer mixes the two, by Bayes' rule over how good each was when the event was asked about. It
// begins at the steady answer: before labels come in for events that were answered from labels, there is no evidence for the live
// one. The d events that come in between asking and label are answered before any of them can be judged, so a mistake is made d
// times; the exponent 1/sqrt(1 + d) of the likelihoods weighs that against how fast the mixture adapts, as in online learning with
// delayed feedback.
#pragma once

#include <algorithm>
#include <cmath>

#include "odca/experts/label_means.hpp"
#include "odca/experts/mixers.hpp"

namespace odca::experts {

struct LateMixer {
  double steady = 0.0;  // the weight of the steady answer; 0 as long as no label came late
  FadingMean residual;  // squared slopes of the loss, of numbers

  bool mixes() const { return steady > 0.0; }
  void begin() {
    if (!mixes()) steady = prior;
  }

  // After an event of weight c, whose label came so many events later, from the losses of the two answers in nats.
  void learn(double live_loss, double steady_loss, double c, double delay, double share) {
    const double evidence = c / std::sqrt(1.0 + delay) * (clip(steady_loss, 0.0, most) - clip(live_loss, 0.0, most));
    const double against = (1.0 - steady) * exp(clip(evidence, -700.0, 700.0));
    steady = std::max((1.0 - share) * steady / (steady + against) + share * prior, least_weight);
  }

  // With `part` of the other: a model whose labels were never late has no say.
  void merge(const LateMixer& other, double part) {
    if (mixes() && other.mixes())
      steady += part * (other.steady - steady);
    else
      steady = std::max(steady, other.steady);
    residual.merge(other.residual, part);
  }

  bool is_sound() const { return steady >= 0.0 && steady <= 1.0 && residual.is_sound(largest_square); }

 private:
  static constexpr double prior = 0.999, most = 30.0;
};

}  // namespace odca::experts
