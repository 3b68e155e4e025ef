// What a coordinate of the smoothed weights missed, read from the tables of a Timeline (smoothing.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "odca/math/pack4.hpp"

namespace odca {

// The events after a position as a linear map, where w = q v: a smoothed sum u becomes weight * u + v * sum.
template <class V>
struct Missed {
  V weight, sum;
};

// A position is a child on every level. The segments after it, from the lowest level up, follow each other. `Levels` is their
// number if it is known at compile time, or 0 if it is not.
template <int Levels>
struct CarryTables {
  static constexpr int bits = 6, most_levels = 6;  // 6 bits each cover a position of 32 bits
  using Position = std::uint32_t;

  std::array<const double*, most_levels> weight{}, sum{};  // [level]: weight[child], sum[child][lane]
  std::size_t count = Levels, lanes = 1;

  Missed<double> operator()(Position from, int lane) const {
    return over_levels<double>([&](std::size_t l) { return weight[l][from >> (bits * l)]; },
                               [&](std::size_t l) { return sum[l][(from >> (bits * l)) * lanes + lane]; });
  }

  // Of four coordinates, of a single lane.
  Missed<Pack4> of_four(Position a, Position b, Position c, Position d) const {
    const auto read = [=](const double* table, std::size_t l) {
      const std::size_t shift = bits * l;
      return Pack4::of(table[a >> shift], table[b >> shift], table[c >> shift], table[d >> shift]);
    };
    return over_levels<Pack4>([&](std::size_t l) { return read(weight[l], l); },
                              [&](std::size_t l) { return read(sum[l], l); });
  }

 private:
  template <class V, class WeightAt, class SumAt>
  [[gnu::always_inline]] Missed<V> over_levels(WeightAt weight_at, SumAt sum_at) const {
    Missed<V> missed{weight_at(0), sum_at(0)};
    for (std::size_t l = 1; l < (Levels ? Levels : count); ++l) {
      const V after = weight_at(l);
      missed = {after * missed.weight, after * missed.sum + sum_at(l)};
    }
    return missed;
  }
};

}  // namespace odca
