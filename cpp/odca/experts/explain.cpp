// Why an event is predicted as it is: the prediction as a linear model of the event's features.
//
// The steady answer is one. The live answer z is a function of the experts' margins z_k, with slopes a_k = dz/dz_k at the event, and
// a margin of an expert that reads rows has slope w_kj / scale_j along feature j. So near the event
//
//     z = intercept + sum_k a_k z_k (experts that know the labels alone) + sum_j x_j sum_k a_k w_kj / scale_j
//
// where the intercept is what is left. A product of two features has a slope of its own, by the experts with products. Slopes are found as directional derivatives: by how much z changes if the margins change by
// direction[head][slot]. Once labels are late, the answer mixes both (late.hpp), and its slopes are mixed by the chain rule.
#include <algorithm>
#include <cmath>

#include "odca/experts/members.hpp"
#include "odca/experts/mixture.hpp"

namespace odca::experts {

namespace {

bool is_inside(double z, double bound) { return std::fabs(z) < bound; }

}  // namespace

Explanation Experts::explain(const Batch& batch, Answer answer) const {
  const auto inside = gate_.inside();
  Batch::Scratch scratch;
  const Row row = batch.row(0, scratch);
  Explanation out;
  out.labels.assign(static_cast<std::size_t>(heads()), 0.0);
  out.intercept.assign(static_cast<std::size_t>(heads()), 0.0);
  if (answer == Answer::steady)
    explain_steady(row, out);
  else
    explain_live(row, out);
  return out;
}

void Experts::explain_live(const Row& row, Explanation& out) const {
  Workspace work(heads());
  evaluate(row, work);
  explain_experts(work, out);
  out.intercept.clear();
  append_answer(row, work, false, out.intercept);
  if (task_ == Task::numbers) out.intercept[0] = loss_.margin(out.intercept[0]);
  if (late_.mixes()) mix_in_steady(row, work, out);
  const auto count = static_cast<std::size_t>(heads());
  std::size_t i = 0;
  row.each([&](std::int64_t j, double x) {
    if (i == out.feature.size() || out.feature[i] != j) return;
    for (std::size_t c = 0; c < count; ++c) out.intercept[c] -= out.slope[i * count + c] * x;
    ++i;
  });
  for (std::size_t at = 0; at < out.of_product.size(); ++at) out.intercept[at % count] -= out.of_product[at];
  for (std::size_t c = 0; c < count; ++c) out.intercept[c] -= out.labels[c];
}

// From the slopes of the live answer to those of the mixture with the steady one, which has none of features that are new.
void Experts::mix_in_steady(const Row& row, const Workspace& work, Explanation& out) const {
  const Shares share = shares_of_answers(work);
  const auto count = static_cast<std::size_t>(heads());
  for (auto* each : {&out.slope, &out.of_product})
    for (std::size_t at = 0; at < each->size(); ++at) (*each)[at] *= share.live[at % count];
  Explanation steady;
  steady.intercept.assign(count, 0.0);
  explain_steady(row, steady);
  const auto add = [&](const double* steadily, double* to) {
    double mean = 0.0;  // from slopes of logits to those of log probabilities
    for (std::size_t c = 0; c < count && task_ == Task::classes; ++c)
      mean += exp(work.said[c * said_width + steady_said]) * steadily[c];
    for (std::size_t c = 0; c < count; ++c) to[c] += share.steady[c] * (steadily[c] - mean);
  };
  for (std::size_t i = 0, k = 0; k < steady.feature.size(); ++i)
    if (out.feature[i] == steady.feature[k]) add(&steady.slope[count * k++], &out.slope[count * i]);
  for (std::size_t k = 0; k < steady.pair.size(); ++k) {
    const auto found = std::find(out.pair.begin(), out.pair.end(), steady.pair[k]);
    const auto n = static_cast<std::size_t>(found - out.pair.begin());
    if (found == out.pair.end()) out.pair.push_back(steady.pair[k]), out.of_product.resize(out.pair.size() * count);
    add(&steady.of_product[count * k], &out.of_product[count * n]);
  }
  for (std::size_t c = 0; c < count; ++c) out.labels[c] *= share.live[c];
}

void Experts::explain_steady(const Row& row, Explanation& out) const {
  out.intercept = bases();
  for (double& each : out.intercept) each += steady_.offset();
  const auto add = [&](std::int64_t j, const double* slope) {
    out.feature.push_back(j);
    out.slope.insert(out.slope.end(), slope, slope + heads());
  };
  Members(features_).each_steady_slope(row, steady_.weight(), out.intercept.data(), add);
  if (!steady_.has_products()) return;
  std::vector<double> h, products;
  pairs_.write(row, features_, h, products);
  const auto add_product = [&](std::int64_t slot, const double* slope) {
    const auto at = static_cast<std::size_t>(slot);
    if (std::all_of(slope, slope + heads(), [](double each) { return each == 0.0; })) return;
    out.pair.push_back(pairs_.in_slot(at));
    for (int c = 0; c < heads(); ++c) out.of_product.push_back(slope[c] * products[at]);
  };
  Members(products_).each_steady_slope(as_row(products), steady_.product_weight(), out.intercept.data(), add_product);
}

// The slopes of the live answer and the part of the labels.
void Experts::explain_experts(const Workspace& work, Explanation& out) const {
  const auto count = static_cast<std::size_t>(heads());
  std::vector<double> direction(work.margin.size());
  out.slope.resize(static_cast<std::size_t>(work.scaled.present) * count);
  for (int i = 0; i < work.scaled.present; ++i) {
    out.feature.push_back(work.scaled.feature[i]);
    features_.write_slopes(work.scaled, i, direction.data());
    for (int c = 0; c < heads(); ++c)  // the twins with products contain the experts themselves
      std::copy_n(&direction[c * slots], row_experts, &direction[c * slots + first_product_expert]);
    differentiate(work, direction.data(), &out.slope[static_cast<std::size_t>(i) * count]);
  }
  explain_products(work, direction, out);
  std::fill(direction.begin(), direction.end(), 0.0);
  for (int c = 0; c < heads(); ++c)
    std::copy_n(&work.margin[c * slots + first_label_expert], label_experts,
                &direction[c * slots + first_label_expert]);
  differentiate(work, direction.data(), out.labels.data());
}

// What the products add that are not zero.
void Experts::explain_products(const Workspace& work, std::vector<double>& direction, Explanation& out) const {
  if (!has_products()) return;
  const auto count = static_cast<std::size_t>(heads());
  std::vector<double> slope(direction.size());
  std::fill(direction.begin(), direction.end(), 0.0);
  for (int i = 0; i < work.scaled_products.present; ++i) {
    const auto slot = static_cast<std::size_t>(work.scaled_products.feature[i]);
    products_.write_slopes(work.scaled_products, i, slope.data());
    for (std::size_t c = 0; c < count; ++c)
      std::copy_n(&slope[c * slots], row_experts, &direction[c * slots + first_product_expert]);
    out.pair.push_back(pairs_.in_slot(slot)), out.of_product.resize(out.pair.size() * count);
    double* const added = &out.of_product[(out.pair.size() - 1) * count];
    differentiate(work, direction.data(), added);
    for (std::size_t c = 0; c < count; ++c) added[c] *= work.products[slot];
  }
}

void Experts::differentiate(const Workspace& t, const double* direction, double* out) const {
  switch (task_) {
    case Task::two_classes: return differentiate_two(t, direction, out);
    case Task::classes: return differentiate_classes(t, direction, out);
    case Task::numbers: return differentiate_number(t, direction, out);
  }
}

void Experts::differentiate_two(const Workspace& t, const double* d, double* out) const {
  double change[mixers] = {};
  for (int k = 0; k < in_use(); ++k) {
    if (is_inside(t.margin[k], probability_bound))
      change[0] += bayes_.weight[k] * t.likely[k] * (1.0 - t.likely[k]) * d[k];
    if (!is_inside(t.margin[k], margin_bound)) continue;
    change[1] += simplex_.weight[k] * d[k], change[2] += kalman_.weight[k] * d[k];
  }
  for (int m = 1; m < mixers; ++m) change[m] *= t.of_mixers[m] * (1.0 - t.of_mixers[m]);
  const double p = t.mixed[0];
  const bool is_clipped = !(p > least_probability && p < 1.0 - least_probability);
  out[0] = is_clipped ? 0.0 : top_.mix(change) / (p * (1.0 - p));
}

void Experts::differentiate_classes(const Workspace& t, const double* d, double* out) const {
  const int n = classes_;
  PerExpert mean{}, likely{};  // of the direction: over the classes, and by the expert's own probabilities
  for (int c = 0; c < n; ++c)
    for (int k = 0; k < in_use(); ++k) {
      const double change = d[c * slots + k];
      mean[k] += change / n, likely[k] += t.likely[c * slots + k] * change;
    }
  PerExpert centre{};  // of the margins
  for (int c = 0; c < n; ++c)
    for (int k = 0; k < in_use(); ++k) centre[k] += t.margin[c * slots + k];
  std::vector<double> change(static_cast<std::size_t>(mixers * n), 0.0);  // [mixer][class], of probabilities
  for (int c = 0; c < n; ++c)
    for (int k = 0; k < in_use(); ++k) {
      const int at = c * slots + k;
      change[c] += bayes_.weight[k] * t.likely[at] * (d[at] - likely[k]);
      if (!is_inside(t.margin[at] - centre[k] / n, margin_bound)) continue;
      change[n + c] += simplex_.weight[k] * (d[at] - mean[k]);
      change[2 * n + c] += kalman_.weight[k] * (d[at] - mean[k]);
    }
  for (int m = 1; m < mixers; ++m) differentiate_softmax(t, m, &change[m * n], change.data());
  for (int c = 0; c < n; ++c) {
    const double of_class[mixers] = {change[c], change[n + c], change[2 * n + c]};
    out[c] = t.mixed[c] > least_probability ? top_.mix(of_class) / t.mixed[c] : 0.0;
  }
}

// The change of mixer m's probabilities, from that of its margins. Classes that were never seen have those of Bayes.
void Experts::differentiate_softmax(const Workspace& t, int m, double* change, const double* of_bayes) const {
  const int n = classes_;
  const double* p = &t.of_mixers[m * n];
  double unseen = 0.0, change_of_unseen = 0.0, mean = 0.0;
  for (int c = 0; c < n; ++c)
    if (class_labels_.is_unseen(c)) unseen += p[c], change_of_unseen += of_bayes[c];
  // p of a seen class is (1 - unseen) times its share of the softmax over the seen ones
  const double seen = std::max(1.0 - unseen, least_probability);
  for (int c = 0; c < n; ++c)
    if (!class_labels_.is_unseen(c)) mean += p[c] / seen * change[c];
  for (int c = 0; c < n; ++c)
    change[c] = class_labels_.is_unseen(c) ? of_bayes[c] : p[c] * (change[c] - mean - change_of_unseen / seen);
}

void Experts::differentiate_number(const Workspace& t, const double* d, double* out) const {
  const Reach reach = reach_of(t);
  const auto in_range = [&](double z) { return within_range(z) == z; };
  const auto of = [&](std::size_t k) { return in_range(t.margin[k]) ? d[k] : 0.0; };
  double change[mixers] = {};
  for (int k = 0; k < in_use(); ++k) {
    const double own = of(static_cast<std::size_t>(k));
    const bool is_near = !(reach.distance > 0.0) || is_inside(within_range(t.margin[k]) - reach.centre, reach.distance);
    const double likely = is_near ? own : of(reach.leader);
    change[0] += bayes_.weight[k] * loss_.answer_slope(t.likely[k]) * likely;
    change[1] += simplex_.weight[k] * likely;
    change[2] += kalman_.weight[k] * own;
  }
  if (!in_range(t.kalman_margin)) change[2] = 0.0;
  for (int m = 1; m < mixers; ++m) change[m] *= loss_.answer_slope(t.of_mixers[m]);
  out[0] = top_.mix(change) / loss_.answer_slope(t.mixed[0]);
}

}  // namespace odca::experts
