// What the bank's lanes are, and how fast everything in it forgets. docs/auto.md derives it.
//
// Lanes 0 to 7 read the row. A step is w_j += lambda r_j h_j, where the rate r_j is the inverse of the strength of coordinate j:
//
//   0-2    isotropic, constant strength      r = 1 / (a m)                          a = 1/64, 1/2, 8; m the mean of |h|^2
//   3      AdaGrad                           r = 16 sd / sqrt(G_j)                  G_j = sum g^2 h_j^2
//   4      AdaGrad, proportionate            r = (|w_j| + 0.03 sd) / sqrt(G_j)
//   5, 6   diagonal Newton, of a prior       r = 1 / (x + H_j)                      x = 0.2, 4; H_j = sum q h_j^2
//   7      the same, of a short memory       r = 1 / (1 + D_j)                      D_j <- 0.95 D_j + q h_j^2
//
// g and q are slope and curvature of the loss at what the whole bank said. Lanes 8 to 11 read nothing: the mean label, of a memory.
#pragma once

#include <array>

namespace odca::bank {

inline constexpr int row_lanes = 8, mean_lanes = 4, lanes = row_lanes + mean_lanes;
inline constexpr int mixers = 3;  // Bayes, simplex, Kalman

inline constexpr std::array<double, 3> isotropic_strength = {1.0 / 64, 1.0 / 2, 8.0};
inline constexpr double adagrad_rate = 16.0, proportion_floor = 0.03;
inline constexpr int proportionate = 4;  // its lane
inline constexpr std::array<double, 2> newton_prior = {0.2, 4.0};
inline constexpr double short_prior = 1.0;

// What is believed before the first event: cautious lanes four times as much as bold ones.
inline constexpr std::array<double, lanes> prior_parts = {1, 4, 4, 1, 4, 1, 4, 1, 1, 1, 1, 4};
inline constexpr double prior_total = 27.0;

inline constexpr double simplex_strength = 10.0, kalman_variance = 0.25, kalman_floor = 1e-9;
inline constexpr double margin_bound = 10.0, probability_bound = 30.0;
inline constexpr double least_likelihood = 1e-13, least_probability = 1e-15;
inline constexpr double least_weight = 1e-30;  // where no time passes nothing is shared out

// How much of the past is kept by an event, and how much of the weights is shared out anew.
struct Pace {
  std::array<double, mean_lanes> mean_memory = {0.0, 0.7, 0.95, 1.0};
  double short_memory = 0.95, kalman_memory = 0.998, residual_memory = 0.998;
  double bayes_share = 2e-4, simplex_share = 2e-5, top_share = 2e-3;

  // After so many ticks; one is the mean time between two events.
  static Pace after(double ticks);
};

}  // namespace odca::bank
