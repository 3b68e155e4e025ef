// The answer while no labels come in: one linear model in x and products. steady.hpp says how its members are weighed.
#include <vector>

#include "odca/experts/members.hpp"
#include "odca/experts/mixture.hpp"

namespace odca::experts {

// Two classes: log odds of the second. Classes: logits, as of any linear model. Numbers: what the margin stands for.
void Experts::append_steady_prediction(const Row& row, std::vector<double>& out) const {
  std::vector<double> z = bases();
  Members(features_).add_steady_margins(row, steady_.weight(), z.data());
  if (steady_.has_products()) {
    std::vector<double> h, products;
    pairs_.write(row, features_, h, products);
    Members(products_).add_steady_margins(as_row(products), steady_.product_weight(), z.data());
  }
  for (const double each : z) out.push_back(loss_.answer(within_numbers(each + steady_.offset())));
}

LinearModel Experts::linear() const {
  const auto inside = gate_.inside();
  const auto features = static_cast<std::size_t>(features_.size()), count = static_cast<std::size_t>(heads());
  const auto mixed = [](const PerMember& weight, const double* of_members) {
    double sum = 0.0;
    for (int m = 0; m < row_members; ++m) sum += weight[m] * of_members[m];
    return sum;
  };
  LinearModel out{std::vector<double>(count * features), std::vector<double>(count), {}, {}};
  const PerMember &of_x = steady_.weight(), of_products = steady_.product_weight();
  const std::vector<double> constant = Members(features_).each_slope([&](std::int64_t j, const double* slope) {
    for (std::size_t c = 0; c < count; ++c)
      out.weight[c * features + static_cast<std::size_t>(j)] = mixed(of_x, slope + c * member_slots);
  });
  const std::vector<double> base = bases();
  for (std::size_t c = 0; c < count; ++c)
    out.intercept[c] = base[c] + steady_.offset() + mixed(of_x, &constant[c * member_slots]);
  if (steady_.has_products()) {
    std::vector<double> by_slot(pairs_.slots() * count);
    const std::vector<double> moved = Members(products_).each_slope([&](std::int64_t slot, const double* slope) {
      for (std::size_t c = 0; c < count; ++c)
        by_slot[static_cast<std::size_t>(slot) * count + c] = mixed(of_products, slope + c * member_slots);
    });
    for (std::size_t c = 0; c < count; ++c) out.intercept[c] += mixed(of_products, &moved[c * member_slots]);
    Pairs::InUse in_use = pairs_.in_use(features_);
    for (const std::size_t slot : in_use.slots)
      out.product_weight.insert(out.product_weight.end(), &by_slot[slot * count], &by_slot[slot * count] + count);
    out.products = std::move(in_use.terms);
  }
  out.curvature = unit_loss().kappa * features_.mean_curvature();
  return out;
}

void Experts::freeze_members() {
  const SteadyMixer::Products products{products_, pairs_};
  steady_.freeze(learned_from(), features_, has_products() ? &products : nullptr, bases());
}

std::vector<double> Experts::steady_weights() const {
  const auto inside = gate_.inside();
  const PerMember &all = steady_.weight(), with_products = steady_.product_weight();
  std::vector<double> out;
  for (int m = 0; m < row_members; ++m) out.push_back(all[m] - with_products[m]);
  out.insert(out.end(), with_products.begin(), with_products.begin() + row_members);
  out.push_back(all[row_members]);
  return out;
}

}  // namespace odca::experts
