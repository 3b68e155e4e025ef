// The state of a learner: the dual sum S = scale * v, the mass, the count, and what smoothing and sliding
// windows need. Nothing else about the past is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "odca/math/aligned.hpp"
#include "odca/math/functions.hpp"
#include "odca/step/scaling.hpp"
#include "odca/step/smoothing.hpp"
#include "odca/step/window_buffer.hpp"

namespace odca {

// Scalars of each lane. Every sum runs over the events n = 1..N with their window weights delta_n.
struct LaneState {
  std::vector<double> scale;         // S = scale * v: a decay multiplies this instead of the vector
  std::vector<double> mass;          // sum of delta
  std::vector<double> squared_mass;  // sum of delta^2
  std::vector<double> conjugate;     // sum of delta (Q*(-lambda) + lambda b)
  std::vector<double> saturated;     // sum of delta over the events whose dual is at its bound
  std::vector<double> bound;         // at least max |v_j|: shows when to check for overflow
  std::vector<double> peak_bound;    // the largest `bound` and `mass` since the sums were last rebuilt: show when
  std::vector<double> peak_mass;     // so much has left a sliding window that rounding errors matter
  std::vector<double> q;             // scale / A, and 0 if A = 0: x_j = q v_j / a_j
  std::vector<double> constant;      // the part of A that does not depend on the mass: it adds when learners are merged
  bool scored = false;               // whether the loss is kept: for lanes of which one is chosen (choice.hpp)
  std::vector<double> loss;          // of its predictions, the recent ones counting more

  explicit LaneState(int lanes = 1, bool scores = false) : scored(scores) {
    each_field([lanes](auto, auto& field) { field.assign(static_cast<std::size_t>(lanes), 0.0); });
    scale.assign(static_cast<std::size_t>(lanes), 1.0);
  }

  template <class Visit>
  void each_field(Visit&& visit) {
    visit("scale", scale), visit("mass", mass), visit("squared_mass", squared_mass);
    visit("conjugate", conjugate), visit("saturated", saturated);
    visit("bound", bound), visit("peak_bound", peak_bound), visit("peak_mass", peak_mass), visit("q", q);
    visit("constant", constant);
    if (scored) visit("loss", loss);
  }

  void forget(int lane) {
    const auto l = static_cast<std::size_t>(lane);
    const double strength = constant[l];
    each_field([l](auto, auto& field) { field[l] = 0.0; });
    scale[l] = 1.0;
    constant[l] = strength;
  }

  bool operator==(const LaneState&) const = default;
};

struct State {
  int lanes = 1;
  bool smoothing = false;     // whether the lazy sums below are kept
  bool sliding = false;       // whether the events are kept
  std::int64_t features = 0;  // including the intercept
  std::uint64_t count = 0;
  double clock = -infinity;  // the newest event time
  LaneState lane;
  ModelVector dual;  // v[feature][lane]
  Scaling scaling;

  // sum_n kappa^(N-n) w_n of each coordinate, up to the event at which it was last brought up to date.
  double smooth_mass = 0.0;              // sum_n kappa^(N-n)
  ModelVector smooth;                    // [feature][lane]
  std::vector<Timeline::Position> seen;  // [feature]
  Timeline timeline;
  std::int64_t smooth_work = 0;  // non-zeros since the timeline's block began: decides when it ends

  // Sliding windows.
  EventBuffer buffer;
  std::int64_t evicted_work = 0;  // non-zeros that left since S was last rebuilt: decides when it is again

  State() = default;
  State(int lane_count, bool scores, double kappa, bool pieces, bool slides, bool scales)
      : lanes(lane_count),
        smoothing(kappa > 0.0),
        sliding(slides),
        lane(lane_count, scores),
        timeline(kappa, lane_count, pieces),
        buffer(lane_count, scales && slides) {
    scaling.on = scales;
  }

  void resize(std::int64_t wanted) {
    features = wanted;
    const auto n = static_cast<std::size_t>(wanted);
    dual.resize(n * static_cast<std::size_t>(lanes), 0.0);
    if (scaling.on) scaling.resize(wanted);
    if (!smoothing) return;
    smooth.resize(n * static_cast<std::size_t>(lanes), 0.0);
    seen.resize(n, timeline.now());
  }

  // Everything but the scaling, the timeline and the buffer, which describe their own fields.
  template <class Visit>
  void each_field(Visit&& visit) {
    visit("count", count), visit("clock", clock);
    lane.each_field(visit);
    visit("dual", dual);
    visit("smooth_mass", smooth_mass), visit("smooth", smooth), visit("seen", seen);
    visit("smooth_work", smooth_work), visit("evicted_work", evicted_work);
  }

  bool operator==(const State&) const = default;
};

}  // namespace odca
