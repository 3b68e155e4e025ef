// Experts with a full covariance that learned from different events become one.
//
// A model knows the precision P^-1 and P^-1 w: of recursive least squares, both are sums over its events, up to the prior, which has
// a precision of p and a mean of zero. So where everything is remembered, the sums of both models are those of all events,
//
//     P^-1 = sum_k (P_k^-1 - p) + p        P^-1 w = sum_k P_k^-1 w_k
//
// and nothing is lost. Experts that forget take the means instead, by how many events each model has learned from. First, both are
// changed to the same units: with h = B h_k for the features and the constant, P_k^-1 becomes B P_k^-1 B', and P_k^-1 w_k becomes
// B P_k^-1 w_k.
// A model says nothing about a feature that it does not have, and nothing at all before its first event. The constant begins at the
// base rate, which is not the same in both: there the prior is an event like any other.
#include "odca/experts/full_newton.hpp"

#include <utility>

namespace odca::experts {

namespace {

constexpr double least_precision = 1e-6;  // of a feature, given the others

}  // namespace

// The precision, without the prior of its features, and P^-1 w of every head, in joint units.
FullNewton::Known FullNewton::Part::known(int k, int joint) const {
  const int own = model.size(), heads = model.heads_;
  const auto at = [](int i, int j, int width) { return static_cast<std::size_t>(i) * width + j; };
  std::vector<double> precision = model.expert_[k].covariance.precision(), learned(at(heads, 0, own), 0.0);
  for (int head = 0; head < heads; ++head)
    for (int i = 0; i < own; ++i) {
      double sum = -precision[at(i, 0, own)] * base_above[head];
      for (int j = 0; j < own; ++j) sum += precision[at(i, j, own)] * model.weights_of(k, head)[j];
      learned[at(head, i, own)] = sum;
    }
  if (remembers_all(k))
    for (int i = 1; i < own; ++i) precision[at(i, i, own)] -= prior_of(k) * units[i].share;

  const double counts = remembers_all(k) ? 1.0 : events;
  // rows B' and B rows: of each row of a matrix, [row][own] becomes [row][joint]
  const auto changed = [&](const std::vector<double>& rows) {
    const int count = static_cast<int>(rows.size()) / own;
    std::vector<double> out(at(count, 0, joint), 0.0);
    for (int row = 0; row < count; ++row) {
      const double* from = &rows[at(row, 0, own)];
      for (int i = 0; i < own; ++i)
        out[at(row, units[i].to, joint)] = units[i].slope * from[i] + units[i].shift * from[0];
    }
    return out;
  };
  const auto transposed = [&](const std::vector<double>& a, int width) {
    const int count = static_cast<int>(a.size()) / width;
    std::vector<double> out(a.size());
    for (int i = 0; i < count; ++i)
      for (int j = 0; j < width; ++j) out[at(j, i, count)] = a[at(i, j, width)];
    return out;
  };
  Known out{changed(transposed(changed(precision), joint)), changed(learned)};
  for (auto* each : {&out.precision, &out.learned})
    for (double& value : *each) value *= counts;
  return out;
}

FullNewton FullNewton::merged(std::vector<std::int64_t> features, const std::vector<double>& share, const Part& here,
                              const Part& there) {
  FullNewton out(here.model.heads_);
  out.features_ = std::move(features);
  out.number_places();
  const int n = out.size(), heads = out.heads_;
  for (int k = 0; k < full_experts; ++k) {
    Known both{std::vector<double>(static_cast<std::size_t>(n) * n),
               std::vector<double>(static_cast<std::size_t>(heads) * n)};
    for (const Part* part : {&here, &there}) {
      if (part->events == 0.0) continue;
      const Known own = part->known(k, n);
      for (std::size_t at = 0; at < both.precision.size(); ++at) both.precision[at] += own.precision[at];
      for (std::size_t at = 0; at < both.learned.size(); ++at) both.learned[at] += own.learned[at];
    }
    if (remembers_all(k))
      for (int i = 1; i < n; ++i)
        both.precision[static_cast<std::size_t>(i) * n + i] += prior_of(k) * share[static_cast<std::size_t>(i - 1)];
    One& to = out.expert_[k];
    to.covariance = FactoredCovariance::of_precision(std::move(both.precision), n, least_precision);
    to.weight.clear();
    for (int head = 0; head < heads; ++head) {
      const auto begin = both.learned.begin() + head * n;
      const std::vector<double> w = to.covariance.times({begin, begin + n});
      to.weight.insert(to.weight.end(), w.begin(), w.end());
    }
  }
  return out;
}

}  // namespace odca::experts
