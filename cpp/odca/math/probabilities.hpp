// Probabilities of classes from margins, log odds and log probabilities: one implementation for single events and for many, with the
// same bits on every machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "odca/math/functions.hpp"

namespace odca::probabilities {

// 1 / (1 + e^-z), without overflow.
inline double sigmoid(double z) {
  const double e = exp(-std::fabs(z));
  return (z >= 0.0 ? 1.0 : e) / (1.0 + e);
}

inline void divide_by_sum(std::size_t n, double* p) {
  double sum = 0.0;
  for (std::size_t c = 0; c < n; ++c) sum += p[c];
  for (std::size_t c = 0; c < n; ++c) p[c] /= sum;
}

// Three classes or more, each against the rest: p are the probabilities of the lanes, in place. The class with the highest score has
// the largest, also where rounding or a calibration has made others as large, and where all are zero.
inline void one_against_rest(std::size_t n, const double* scores, double* p) {
  const auto chosen = static_cast<std::size_t>(std::max_element(scores, scores + n) - scores);
  const double* const largest = std::max_element(p, p + n);
  if (static_cast<std::size_t>(largest - p) != chosen) p[chosen] = *largest * (1.0 + 1e-12);
  p[chosen] += tiny;
  divide_by_sum(n, p);
}

// Three classes or more: e^x over their sum, in place, of log probabilities or of logits, which may be large.
inline void softmax(std::size_t n, double* x) {
  const double high = *std::max_element(x, x + n), from = std::fabs(high) > 100.0 ? high : 0.0;
  for (std::size_t c = 0; c < n; ++c) x[c] = exp(x[c] - from);
  divide_by_sum(n, x);
}

}  // namespace odca::probabilities
