// Maps the lanes of one learner to those of another.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace odca {

struct LaneMap {
  int lanes;                       // in the source
  const std::vector<int>& source;  // source of each new lane; negative for a blank one
  const std::vector<bool>& mirrored;
  int candidates;  // lanes of one model

  // values[..][lane], copied: a blank lane gets the value that the first model's lane has.
  template <class Vector>
  void copy(Vector& values) const {
    each(values, [](double value, int, bool) { return value; });
  }
  // The same for values that are negated in a mirrored lane, and zero in a blank one.
  template <class Vector>
  void negate(Vector& values) const {
    each(values, [](double value, int from, bool mirror) {
      return from < 0 ? 0.0 : mirror ? 0.0 - value : value;  // never -0, which learning would not produce
    });
  }

  template <class Vector, class Become>
  void each(Vector& values, Become become) const {
    Vector out;
    out.reserve(values.size() / lanes * source.size());
    for (std::size_t first = 0; first < values.size(); first += lanes)
      for (std::size_t l = 0; l < source.size(); ++l)
        out.push_back(become(values[first + (source[l] < 0 ? l % candidates : source[l])], source[l], mirrored[l]));
    values = std::move(out);
  }
};

}  // namespace odca
