// How the past counts: every window of the paper is one rule on (S, mass), applied before an event is added.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "odca/math/functions.hpp"

namespace odca {

// decay:     S <- beta S, mass <- beta mass       (C2; beta = 1 is C1, the infinite window)
// half_life: the same with beta = 2^(-dt/tau), dt the event time since the newest event
// count:     the last `length` events stay        (C3)
// duration:  the events with time > newest - `duration` stay
struct Window {
  enum class Kind { decay, half_life, count, duration };

  Kind kind = Kind::decay;
  std::vector<double> parameter = {1.0};  // beta or tau; one for all lanes, or one per lane
  std::int64_t length = 0;
  double duration = 0.0;

  bool uses_time() const { return kind == Kind::half_life || kind == Kind::duration; }
  bool keeps_events() const { return kind == Kind::count || kind == Kind::duration; }

  double of_lane(int lane) const { return parameter[parameter.size() == 1 ? 0 : static_cast<std::size_t>(lane)]; }

  // The factor by which the past decays when an event arrives `elapsed` after the newest one.
  double factor(int lane, double elapsed) const {
    if (kind == Kind::decay) return of_lane(lane);
    if (kind == Kind::half_life) return elapsed > 0.0 ? exp2_decay(-elapsed / of_lane(lane)) : 1.0;
    return 1.0;
  }

  // The weight of a late event, whose time is `late` before the newest one.
  double late_factor(int lane, double late) const {
    return kind == Kind::half_life && late > 0.0 ? exp2_decay(-late / of_lane(lane)) : 1.0;
  }

  // The same for quantities that all lanes share: the lane with the longest memory determines it.
  double longest_factor(double elapsed) const {
    double longest = 0.0;
    for (std::size_t l = 0; l < parameter.size(); ++l)
      longest = std::max(longest, factor(static_cast<int>(l), elapsed));
    return longest;
  }
  double longest_late_factor(double late) const {
    double longest = 0.0;
    for (std::size_t l = 0; l < parameter.size(); ++l)
      longest = std::max(longest, late_factor(static_cast<int>(l), late));
    return longest;
  }

  bool has_expired(double time, double newest) const { return newest - time >= duration; }

  bool operator==(const Window&) const = default;
};

}  // namespace odca
