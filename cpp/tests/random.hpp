// Random numbers that are the same on every machine.
#pragma once

#include <cmath>
#include <cstdint>

namespace odca::test {

// splitmix64, and doubles made from it by exact operations alone: no libm, whose last bits differ between machines.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n)); }
  std::int64_t between(std::int64_t lo, std::int64_t hi) { return lo + below(hi - lo + 1); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double lo, double hi) { return lo + (hi - lo) * unit(); }
  bool chance(double p) { return unit() < p; }
  double sign() { return chance(0.5) ? 1.0 : -1.0; }
  // Approximately normal, with mean 0 and variance 1/3.
  double bell() { return unit() + unit() + unit() + unit() - 2.0; }
  // A positive number whose power of two is uniform in lo .. hi.
  double magnitude(int lo, int hi) { return std::ldexp(1.0 + unit(), static_cast<int>(between(lo, hi))); }

 private:
  std::uint64_t state_;
};

}  // namespace odca::test
