// lambda of the log loss for all experts and classes at once, to a few parts in a million: enough for a step, at half the time.
//
// The iteration is the core's (see Logistic::lambda_near); only the first guess and the order are made here: one step for every
// number, then one more for groups in which some need it, and so on. Every number takes the steps that it would take by itself, but
// none waits for the result of another, nor for a loop to end that nothing can predict.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "odca/problem/losses.hpp"

namespace odca::experts {

class LogLossSolve {
 public:
  // n margins p, slopes s and labels, which are 0 or 1.
  static void solve(int n, const double* p, const double* s, const double* label, double* lambda) {
    for (int k = 0; k < n; k += most) solve_some(std::min(n - k, most), p + k, s + k, label + k, lambda + k);
  }

 private:
  static constexpr int most = 128, group = 8;  // at once

  // Within a few percent, for x >= 1.
  static double rough_log(double x) {
    return static_cast<double>(to_bits(x) - to_bits(1.0)) * (0.69314718055994530942 / 4503599627370496.0);
  }

  struct Numbers {
    double m[most], unit[most], unit_s[most], z[most], opposite[most];
    std::int64_t done[most];

    // A step for a group that begins here. Returns whether all are done.
    bool improve(int begin) {
      std::int64_t all_done = 1;
      for (int k = begin; k < begin + group; ++k) {
        Logistic::Root<double> root{z[k], opposite[k]};
        bool is_done = done[k] != 0;
        Logistic::improve(root, m[k], unit[k], unit_s[k], Logistic::last_step_near, is_done);
        z[k] = root.z, opposite[k] = root.opposite;
        done[k] = is_done;
        all_done &= done[k];
      }
      return all_done != 0;
    }
  };

  static void solve_some(int n, const double* p, const double* s, const double* label, double* __restrict lambda) {
    Numbers x;
    for (int k = 0; k < n; ++k) {
      x.m[k] = Logistic::reflected(p[k], s[k], label[k]).m;
      const double guess = rough_log(1.0 + s[k]) - rough_log(1.0 + magnitude(x.m[k]));
      x.z[k] = maximum(maximum(guess, x.m[k]), 0.0), x.opposite[k] = 0.5;
      x.unit[k] = 1.0 / square_root(1.0 + s[k]), x.unit_s[k] = x.unit[k] * s[k];
      x.done[k] = s[k] < 0.0;
    }
    int left[most / group], count = 0;
    for (int k = n; k % group != 0; ++k) x.m[k] = x.unit[k] = x.unit_s[k] = x.z[k] = x.opposite[k] = 0.0, x.done[k] = 1;
    for (int begin = 0; begin < n; begin += group) left[count++] = begin;
    for (int step = 0; step < Logistic::most_steps && count > 0; ++step)
      for (int some = std::exchange(count, 0), at = 0; at < some; ++at) {
        const int begin = left[at];
        left[count] = begin;
        count += !x.improve(begin);  // without a branch
      }
    for (int k = 0; k < n; ++k) {
      const auto [t, sign, v, m] = Logistic::reflected(p[k], s[k], label[k]);
      lambda[k] = Logistic::finish({x.z[k], x.opposite[k]}, p[k], s[k], t, v, sign);
    }
  }
};

}  // namespace odca::experts
