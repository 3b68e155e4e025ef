#include "odca/experts/steady.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "odca/experts/members.hpp"
#include "odca/math/checks.hpp"
#include "odca/math/many.hpp"
#include "odca/math/row_sums.hpp"
#include "odca/uncertainty/error_tracker.hpp"

namespace odca::experts {

namespace {

constexpr double margin_bound = 10.0;           // of classes
constexpr double reach_in_deviations = 1000.0;  // of numbers
constexpr double largest_error = 30.0;          // in deviations: one outlier does not hide what comes after it
constexpr double window = 0.99983;              // half of the weight is on about the last 4,096 events
constexpr double most_mass = 1e15;              // no stream is that long
constexpr double residual_memory = 0.998, least_variance = 1e-280;

}  // namespace

void SteadyMixer::freeze(std::int64_t events, const FeatureTable& features, const Products* products,
                         std::vector<double> base) {
  const std::size_t width = base.size() * member_slots;
  // Features that have not occurred have slopes of zero already.
  if (width != constant_.size()) slopes_.clear();
  slopes_.resize(static_cast<std::size_t>(features.size()) * width);
  const std::vector<double> constant = Members(features).each_slope([&](std::int64_t j, const double* slope) {
    std::copy(slope, slope + width, &slopes_[static_cast<std::size_t>(j) * width]);
  });
  constant_.assign(constant.begin(), constant.end());
  base_ = std::move(base);
  frozen_at_ = events;
  products ? freeze_products(features, *products) : leave_products();
  update_weight();
}

void SteadyMixer::freeze_products(const FeatureTable& features, const Products& products) {
  has_products_ = true;
  const Pairs::InUse in_use = products.pairs.in_use(features);
  frozen_pairs_.clear(), frozen_forms_.clear();
  std::vector<std::ptrdiff_t> term_of(products.pairs.slots(), -1);
  for (std::size_t k = 0; k < in_use.terms.size(); ++k) {
    term_of[in_use.slots[k]] = static_cast<std::ptrdiff_t>(k);
    for (const ProductFactor& each : {in_use.terms[k].first, in_use.terms[k].second}) {
      frozen_pairs_.push_back(each.feature);
      frozen_forms_.push_back(each.centre), frozen_forms_.push_back(each.scale);
    }
  }
  number_terms();
  const std::size_t width = constant_.size();
  product_slopes_.assign(terms_.size() * width, 0.0);
  const std::vector<double> constant = Members(products.table).each_slope([&](std::int64_t slot, const double* slope) {
    if (const std::ptrdiff_t k = term_of[static_cast<std::size_t>(slot)]; k >= 0)
      std::copy(slope, slope + width, &product_slopes_[static_cast<std::size_t>(k) * width]);
  });
  product_constant_.assign(constant.begin(), constant.end());
}

void SteadyMixer::leave_products() {
  has_products_ = false;
  product_sum_ = 0.0;
  frozen_pairs_.clear(), frozen_forms_.clear(), product_slopes_.clear(), product_constant_.clear();
  terms_ = ProductTerms();
}

void SteadyMixer::number_terms() {
  std::vector<ProductTerms::Term> terms;
  const auto factor = [&](std::size_t n) {
    return ProductFactor{frozen_pairs_[n], frozen_forms_[2 * n], frozen_forms_[2 * n + 1]};
  };
  for (std::size_t n = 0; n < frozen_pairs_.size(); n += 2) terms.push_back({factor(n), factor(n + 1)});
  terms_ = ProductTerms(std::move(terms));
}

std::optional<double> SteadyMixer::judge(std::int64_t event, const Row& row, double y, double c,
                                         const NumberLoss* loss) {
  if (!judges(event)) return std::nullopt;
  if (!loss && y >= std::max(heads(), 2)) return uncertainty::score_of_unknown_class;
  std::vector<double> z(constant_.size());
  write_margins(row, z.data());
  for (double& each : sum_) each *= window;
  mass_ = window * mass_ + c;
  PerMember x{};
  const Solved solved =
      loss ? solve_number(z.data(), y, c, *loss, x) : solve_class(z.data(), static_cast<int>(y), c, x);
  double score = solved.score, margin = solved.margin;
  if (has_products_) {
    std::vector<double> added(product_constant_.begin(), product_constant_.end());
    add_products(row, added.data());
    double gain = 0.0;
    const Solved of_products = solve_products(z.data(), added.data(), y, c, loss, gain);
    product_sum_ = window * product_sum_ + c * of_products.lambda * gain;
    score = of_products.score, margin = of_products.margin;
  }
  for (int m = 0; m < member_count; ++m) sum_[m] += c * solved.lambda * x[m];
  if (loss && loss->is_quantile()) {
    const double s = c / residual_.mass;
    const double moved = s / (1.0 + s) * UnitLoss{*loss, curvature_.kappa(*loss)}.residual(margin, s, y);
    offset_ = clip(offset_ + moved, -largest_miss, largest_miss);
  }
  update_weight();
  return score;
}

// base + b_k + w_k'x, [head][member slot]
void SteadyMixer::write_margins(const Row& row, double* z) const {
  for (int head = 0; head < heads(); ++head)
    for (int k = 0; k < member_slots; ++k)
      z[head * member_slots + k] = constant_[head * member_slots + k] + base_[head];
  const std::size_t width = constant_.size();
  const auto features = static_cast<std::int64_t>(slopes_.size() / width);
  std::int64_t known = row.size;
  while (known > 0 && row.feature(known - 1) >= features) --known;
  const auto slope = [&](std::int64_t i) { return &slopes_[static_cast<std::size_t>(row.feature(i)) * width]; };
  add_rows(known, row.value, slope, static_cast<std::int64_t>(width), z);
  for (std::size_t k = 0; k < width; ++k) z[k] = within_numbers(z[k]);
}

// z += v_k'p, [head][member slot]
void SteadyMixer::add_products(const Row& row, double* z) const {
  std::vector<double> p(terms_.size());
  terms_.each_product(row, [&](std::size_t k, double product) { p[k] = product; });
  const std::size_t width = product_constant_.size();
  const auto slope = [&](std::int64_t k) { return &product_slopes_[static_cast<std::size_t>(k) * width]; };
  add_rows(static_cast<std::int64_t>(p.size()), p.data(), slope, static_cast<std::int64_t>(width), z);
}

// [head] from [head][member slot]
std::vector<double> SteadyMixer::mixed(const double* of_members) const {
  std::vector<double> out(base_.size());
  for (int head = 0; head < heads(); ++head)
    for (int m = 0; m < member_count; ++m) out[head] += weight_[m] * of_members[head * member_slots + m];
  for (double& each : out) each = within_numbers(each);
  return out;
}

// `gain` is by how much the right answer is larger with all products.
SteadyMixer::Solved SteadyMixer::solve_products(const double* z, const double* added, double y, double c,
                                                const NumberLoss* loss, double& gain) const {
  std::vector<double> without = mixed(z), with = mixed(added);
  for (std::size_t head = 0; head < with.size(); ++head) with[head] = within_numbers(without[head] + with[head]);
  const auto between = [&](double a, double b) { return a + product_share_ * (b - a); };
  const auto slope = [&] { return c * product_share_ * (1.0 - product_share_) * gain * gain / product_strength(); };
  if (loss) {
    const UnitLoss unit{*loss, curvature_.kappa(*loss)};
    const double now = between(without[0], with[0]) + offset_, sd = std::sqrt(unit.variance(residual_));
    const double score = within_numbers(y - loss->answer(now));
    if (!(sd * sd > least_variance && std::isfinite(sd))) return {0.0, score, now};
    gain = clip((with[0] - without[0]) / sd, -reach_in_deviations, reach_in_deviations);
    const double residual = unit.residual(now, slope(), y) / sd;
    return {clip(residual, -largest_error, largest_error) / (1.0 + slope()), score, now};
  }
  const auto bound = [](std::vector<double>& margin) {
    double mean = 0.0;  // of several classes
    for (const double each : margin) mean += margin.size() > 1 ? each / static_cast<double>(margin.size()) : 0.0;
    for (double& each : margin) each = clip(each - mean, -margin_bound, margin_bound);
  };
  bound(without), bound(with);
  double margin = 0.0;
  if (heads() == 1) {
    const double sign = y > 0.0 ? 1.0 : -1.0;
    gain = sign * (with[0] - without[0]), margin = sign * between(without[0], with[0]);
  } else {
    const auto of_label = static_cast<std::size_t>(y);
    std::vector<double> p(without.size());
    for (std::size_t head = 0; head < p.size(); ++head) p[head] = between(without[head], with[head]);
    softmax(heads(), p.data());
    const double others = std::max(1.0 - p[of_label], 1e-12);
    for (std::size_t head = 0; head < p.size(); ++head)
      gain += (head == of_label ? 1.0 : -p[head] / others) * (with[head] - without[head]);
    margin = log(std::max(p[of_label], 1e-15) / others);
  }
  return {logistic_.lambda(margin, slope(), 1.0), uncertainty::score_of_class(margin)};
}

double SteadyMixer::spread(const PerMember& x) const {
  double mean = 0.0, square = 0.0;
  for (int m = 0; m < member_count; ++m) mean += weight_[m] * x[m];
  for (int m = 0; m < member_count; ++m) square += weight_[m] * (x[m] - mean) * (x[m] - mean);
  return square;
}

// In units of the standard deviation of the residuals, from the mixture's own number. Slopes are bounded by their deviation before.
SteadyMixer::Solved SteadyMixer::solve_number(const double* z, double y, double c, const NumberLoss& loss,
                                              PerMember& x) {
  double mixed = 0.0;
  for (int m = 0; m < member_count; ++m) mixed += weight_[m] * z[m];
  const double said = mixed + offset_;
  curvature_.learn(loss, said, y, c);
  const UnitLoss unit{loss, curvature_.kappa(loss)};
  const double before = std::sqrt(residual_.mean());
  const double most = before > 0.0 ? largest_error * before : infinity;
  const double now = clip(unit.slope(said, y), -most, most);
  residual_.add(now * now, c, residual_memory);
  const double variance = unit.variance(residual_);
  const double score = within_numbers(y - loss.answer(said));
  if (!(variance > least_variance && std::isfinite(variance))) return {0.0, score, said};
  const double sd = std::sqrt(variance);
  for (int m = 0; m < member_count; ++m) x[m] = clip((z[m] - mixed) / sd, -reach_in_deviations, reach_in_deviations);
  const double slope = c * spread(x) / total_strength();
  const double residual = clip(unit.residual(said, slope, y), -most / unit.kappa, most / unit.kappa);
  return {residual / sd / (1.0 + slope), score, said};
}

// Two classes by their log odds; several as "y or not": a member's margin for y, less its margins for the others by how likely the
// mixture says they are.
SteadyMixer::Solved SteadyMixer::solve_class(const double* z, int y, double c, PerMember& x) const {
  double margin = 0.0;
  if (heads() == 1) {
    for (int m = 0; m < member_count; ++m) x[m] = (y == 1 ? 1.0 : -1.0) * clip(z[m], -margin_bound, margin_bound);
    for (int m = 0; m < member_count; ++m) margin += weight_[m] * x[m];
  } else {
    PerMember mean{};
    std::vector<double> bounded(constant_.size()), p(base_.size());
    for (int head = 0; head < heads(); ++head)
      for (int m = 0; m < member_count; ++m) mean[m] += z[head * member_slots + m] / heads();
    for (int head = 0; head < heads(); ++head)
      for (int m = 0; m < member_count; ++m) {
        const int at = head * member_slots + m;
        bounded[at] = clip(z[at] - mean[m], -margin_bound, margin_bound);
        p[head] += weight_[m] * bounded[at];
      }
    softmax(heads(), p.data());
    const double others = std::max(1.0 - p[y], 1e-12);
    for (int head = 0; head < heads(); ++head)
      for (int m = 0; m < member_count; ++m)
        x[m] += (head == y ? 1.0 : -p[head] / others) * bounded[head * member_slots + m];
    margin = log(std::max(p[y], 1e-15) / others);
  }
  return {logistic_.lambda(margin, c * spread(x) / total_strength(), 1.0), uncertainty::score_of_class(margin)};
}

void SteadyMixer::update_weight() {
  PerMember e{};
  double high = -infinity, total = 0.0;
  for (int m = 0; m < member_count; ++m) e[m] = sum_[m] / total_strength(), high = std::max(high, e[m]);
  for (int m = 0; m < member_count; ++m) e[m] -= high;
  exp_many(member_slots, e.data());
  for (int m = 0; m < member_count; ++m) total += e[m];
  for (int m = 0; m < member_count; ++m) weight_[m] = e[m] / total;
  const double odds = prior_of_products / (1.0 - prior_of_products);
  const double against = exp(clip(-product_sum_ / product_strength(), -700.0, 700.0));
  product_share_ = has_products_ ? odds / (odds + against) : 0.0;
}

void SteadyMixer::merge(const SteadyMixer& other, double part) {
  for (int m = 0; m < member_count; ++m) sum_[m] += part * (other.sum_[m] - sum_[m]);
  mass_ += part * (other.mass_ - mass_);
  residual_.merge(other.residual_, part), curvature_.merge(other.curvature_, part);
  offset_ += part * (other.offset_ - offset_);
  product_sum_ += part * (other.product_sum_ - product_sum_);
  update_weight();
}

bool SteadyMixer::has_frozen_as(const SteadyMixer& other) const {
  const auto frozen = [](const SteadyMixer& self) {
    return std::tie(self.slopes_, self.constant_, self.base_, self.frozen_pairs_, self.frozen_forms_,
                    self.product_slopes_, self.product_constant_);
  };
  return frozen(*this) == frozen(other);
}

bool SteadyMixer::products_fit(const FeatureTable& features, bool with_products) const {
  const std::size_t width = constant_.size(), terms = frozen_pairs_.size() / 2;
  if (product_constant_.size() != (has_products_ ? width : 0) || (has_products_ && !with_products)) return false;
  if (terms > static_cast<std::size_t>(has_products_ ? Pairs::most : 0) || (!has_products_ && product_sum_ != 0.0))
    return false;
  if (frozen_pairs_.size() != 2 * terms || frozen_forms_.size() != 4 * terms) return false;
  if (product_slopes_.size() != terms * width || !all_within({&product_sum_, 1}, 1e290)) return false;
  for (std::size_t n = 0; n < frozen_pairs_.size(); ++n)
    if (frozen_pairs_[n] >= features.size() ||
        !ProductFactor{frozen_pairs_[n], frozen_forms_[2 * n], frozen_forms_[2 * n + 1]}.is_sound())
      return false;
  return true;
}

bool SteadyMixer::complete(std::int64_t events, const FeatureTable& features, bool with_products) {
  const std::size_t width = base_.size() * member_slots;
  if (constant_.size() != width || (width == 0 ? !slopes_.empty() : slopes_.size() % width != 0)) return false;
  if (heads() > features.heads() || slopes_.size() > static_cast<std::size_t>(features.size()) * width) return false;
  has_products_ = !product_constant_.empty();
  if (!products_fit(features, with_products)) return false;
  number_terms();
  if (!(mass_ >= 0.0) || !residual_.is_sound(largest_square) || !curvature_.is_sound() ||
      !(std::fabs(offset_) <= largest_miss) || !all_within(sum_, 1e290))
    return false;
  // A part of a model may have a share of none of the events before the freeze, or of more of those after it: it freezes soon.
  if (frozen_at_ > (is_frozen() ? events : 0)) return false;
  const bool judged =
      mass_ > 0.0 || residual_.mass > 0.0 || residual_.sum > 0.0 || sum_ != PerMember{} || product_sum_ != 0.0;
  if (!is_frozen() && judged) return false;
  if (mass_ > most_mass || residual_.mass > most_mass) return false;
  update_weight();
  return true;
}

}  // namespace odca::experts
