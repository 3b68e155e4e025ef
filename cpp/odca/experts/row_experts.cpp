// The experts that read rows: where their margins begin, and the steps that they take.
#include <algorithm>

#include "odca/experts/log_loss_solve.hpp"
#include "odca/experts/mixture.hpp"

namespace odca::experts {

// Experts that read rows predict base + h'w.
void Experts::write_margins(Workspace& work) const {
  double *const base = work.mixed.data(), *const of_rows = work.odds.data(), *const of_full = of_rows + first_full();
  write_bases(base);
  for (int c = 0; c < heads(); ++c) {
    std::fill_n(of_rows + c * row_slots, row_slots, base[c]);
    std::fill_n(of_full + c * full_experts, full_experts, base[c]);
  }
  features_.add_margins(work.scaled, of_rows);
  features_.full().add_margins(work.scaled, work.full, of_full);
  for (int c = 0; c < heads(); ++c) {
    std::copy_n(of_rows + c * row_slots, row_experts, &work.margin[c * slots]);
    std::copy_n(of_full + c * full_experts, full_experts, &work.margin[c * slots + first_full_expert]);
  }
  double* of_twins = of_rows;  // before they join, they say what the experts themselves say
  if (has_products()) {
    of_twins = of_rows + first_twin();
    std::copy_n(of_rows, heads() * row_slots, of_twins);
    products_.add_margins(work.scaled_products, of_twins);
  }
  for (int c = 0; c < heads(); ++c)
    std::copy_n(of_twins + c * row_slots, row_experts, &work.margin[c * slots + first_product_expert]);
  double* const of_labels = &work.margin[first_label_expert];
  switch (task_) {
    case Task::two_classes: return class_labels_.write_odds(of_labels);
    case Task::classes: return class_labels_.write_logs(of_labels, slots);
    case Task::numbers:
      number_labels_.write_margins(loss_, of_labels);
      if (loss_.is_quantile()) offsets_.add_to(in_use(), work.margin.data());
  }
}

// Where the experts that read rows begin: at what is known of the labels alone.
void Experts::write_bases(double* out) const {
  switch (task_) {
    case Task::two_classes: *out = class_labels_.base_odds(); break;
    case Task::classes: class_labels_.write_base_logs(out); break;
    case Task::numbers: *out = number_labels_.base(loss_); break;
  }
}

std::vector<double> Experts::bases() const {
  std::vector<double> out(static_cast<std::size_t>(heads()));
  write_bases(out.data());
  return out;
}

void Experts::step_experts(Workspace& t, double y, double c, const Pace& pace, bool step_products) {
  const double sd = task_ == Task::numbers ? number_labels_.deviation(loss_) : 1.0;
  double s[2 * row_slots + full_experts];
  const FeatureTable::StepInputs inputs{c, t.slope, t.curvature, sd};
  features_.prepare_steps(t.scaled, inputs, pace, s);
  features_.full().write_slopes(t.full, c, s + row_slots);
  step_products = step_products && has_products();
  double* const of_twins = s + row_slots + full_experts;
  if (step_products)
    products_.prepare_steps(t.scaled_products, inputs, pace, of_twins);
  else
    std::fill_n(of_twins, row_slots, 0.0);
  const int all = grouped();
  switch (task_) {
    case Task::two_classes:
      std::fill(t.label.begin(), t.label.end(), y);
      LogLossSolve::solve(all, t.odds.data(), s, t.label.data(), t.lambda.data());
      break;
    case Task::classes: solve_classes(t, static_cast<int>(y), sd, s); break;
    case Task::numbers: solve_numbers(t, y, s); break;
  }
  features_.step(t.scaled, t.lambda.data(), sd, c);
  features_.full().step(t.full, t.lambda.data() + first_full(), c, t.curvature, pace);
  if (step_products) products_.step(t.scaled_products, t.lambda.data() + first_twin(), sd, c);
}

// Where a quantile is predicted, some experts follow the level of the labels, by squared error (quantile_offsets.hpp).
void Experts::solve_numbers(Workspace& t, double y, const double* s) const {
  const UnitLoss unit = unit_loss();
  const auto solve = [&](int begin, int count, int first_expert) {
    for (int n = 0; n < count; ++n) {
      const int k = begin + n;
      const bool is_level =
          loss_.is_quantile() && n + first_expert < expert_count && table[n + first_expert].follows_level();
      t.lambda[k] = (is_level ? y - t.odds[k] : unit.residual(t.odds[k], s[k], y)) / (1.0 + s[k]);
    }
  };
  solve(0, row_slots, 0), solve(first_full(), full_experts, first_full_expert);
  if (has_products()) solve(first_twin(), row_slots, 0);
}

// Each class against all others, at the log odds of its probability.
void Experts::solve_classes(Workspace& t, int y, double sd, const double* s) const {
  const int all = grouped();
  // One group of experts: `count` in every head, from this place of arrays of groups on, and of the table.
  const auto write = [&](int begin, int count, int first_expert, const double* slope) {
    for (int c = 0; c < classes_; ++c, begin += count) {
      const double* const p = &t.likely[c * slots + first_expert];
      double* const odds = &t.odds[begin];
      for (int k = 0; k < count; ++k)
        odds[k] = maximum(p[k], least_probability) / maximum(1.0 - p[k], least_probability);
      std::copy_n(slope, count, &t.slopes[begin]);
      std::fill_n(&t.label[begin], count, c == y ? 1.0 : 0.0);
    }
  };
  write(0, row_slots, 0, s), write(first_full(), full_experts, first_full_expert, s + row_slots);
  if (has_products()) write(first_twin(), row_slots, first_product_expert, s + row_slots + full_experts);
  log_many(all, t.odds.data());
  for (const int k : places_of<Kind::proportionate>) {
    features_.proportionate_slopes(t.scaled, k, sd, t.slopes.data());
    if (has_products()) products_.proportionate_slopes(t.scaled_products, k, sd, t.slopes.data() + first_twin());
  }
  LogLossSolve::solve(all, t.odds.data(), t.slopes.data(), t.label.data(), t.lambda.data());
}

}  // namespace odca::experts
