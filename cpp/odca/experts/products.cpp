// Products of features: which are used, when the experts that use them join, and what they are worth.
#include <algorithm>

#include "odca/experts/mixture.hpp"

namespace odca::experts {

// By the residuals of one expert with products. Numbers are in deviations of the labels.
void Experts::learn_pairs(const Workspace& t, double y, double c) {
  constexpr int judge = first_product_expert + places_of<Kind::proportionate>[0];
  constexpr double largest_residual = 5.0;
  std::vector<double> residual(static_cast<std::size_t>(heads()));
  double curvature = 1.0;
  if (task_ == Task::numbers) {
    const UnitLoss unit = unit_loss();
    const double sd = number_labels_.deviation(loss_);
    if (!(sd > 0.0)) return;
    residual[0] = clip(unit.residual(t.margin[judge], 0.0, y) / sd, -largest_residual, largest_residual);
    curvature = unit.curvature(within_range(t.margin[judge]));
  } else {
    curvature = 0.0;
    for (int head = 0; head < heads(); ++head) {
      const double p = t.likely[head * slots + (has_products() ? judge : judge - first_product_expert)];
      residual[head] = (heads() == 1 ? y : head == y ? 1.0 : 0.0) - p;
      curvature += p * (1.0 - p) / heads();
    }
  }
  pairs_.learn(t.scaled, residual, curvature, c);
}

void Experts::choose_pairs() {
  const double sd = task_ == Task::numbers ? number_labels_.deviation(loss_) : 1.0;
  const auto slope = [&](std::int64_t slot, double* v) {
    products_.write_slope(slot, places_of<Kind::proportionate>[0], v);
    for (int head = 0; head < heads(); ++head) v[head] = sd > 0.0 ? v[head] / sd : 0.0;
  };
  const std::vector<std::int64_t> cleared = pairs_.choose(learned_from(), features_, slope);
  for (const std::int64_t slot : cleared) products_.forget(slot);
  if (!has_products() && pairs_.slots() > 0) join_products();
}

void Experts::join_products() {
  bayes_.join_products(), simplex_.join_products(), kalman_.join_products();
  offsets_.join_products();
  products_.grow(static_cast<std::int64_t>(pairs_.slots()));
}

std::vector<Experts::Product> Experts::products() const {
  const auto inside = gate_.inside();
  std::vector<Product> out;
  if (!has_products()) return out;
  double total = 0.0;
  for (int k = 0; k < product_experts; ++k) total += bayes_.weight[first_product_expert + k];
  for (std::size_t slot = 0; slot < pairs_.slots(); ++slot) {
    if (pairs_.in_slot(slot).is_empty()) continue;
    double size = 0.0;
    for (int k = 0; k < product_experts; ++k)
      size += bayes_.weight[first_product_expert + k] / total * products_.size_of(static_cast<std::int64_t>(slot), k);
    out.push_back({pairs_.in_slot(slot), size});
  }
  std::stable_sort(out.begin(), out.end(), [](const Product& a, const Product& b) { return a.size > b.size; });
  return out;
}

int Experts::most_products() const {
  const auto inside = gate_.inside();
  return pairs_.asked();
}

}  // namespace odca::experts
