#include "odca/learner/learner.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "odca/errors.hpp"
#include "odca/step/choice.hpp"
#include "odca/step/solve.hpp"

namespace odca {

Learner::Learner(Config config) : config_(std::move(config)), state_(config_.empty_state()) {
  config_.shaped_features = config_.shape.inverse_weight.size();
  config_.shape.find_largest();
  grow(std::max(config_.fixed_features, config_.shaped_features));
  if (config_.intercept) grow(1);
  for (int l = 0; l < config_.lanes; ++l)
    state_.lane.q[l] = config_.prior_strength[l] > 0.0 ? 1.0 / config_.prior_strength[l] : 0.0;
  pass_ = make_pass(config_, state_, transaction_);
  chosen_.reserve(static_cast<std::size_t>(config_.models()));
}

Learner::Learner(const Learner& other) {
  {
    const auto inside = other.gate_.inside();  // the shape in the configuration grows with the state
    config_ = other.config_;
    state_ = other.state_;
  }
  pass_ = make_pass(config_, state_, transaction_);
  chosen_.reserve(static_cast<std::size_t>(config_.models()));
}

Learner::Learner(Config config, State state) : config_(std::move(config)), state_(std::move(state)) {
  config_.shape.resize(state_.features, config_.lanes);
  pass_ = make_pass(config_, state_, transaction_);
}

void Learner::grow(std::int64_t features) {
  if (features <= state_.features) return;
  state_.resize(features);
  config_.shape.resize(features, config_.lanes);
}

std::int64_t Learner::learn(const Events& events, const Report& report, const Interrupted& interrupted) {
  const auto only_writer = gate_.only_writer();
  auto inside = gate_.inside();
  return learn_inside(inside, events, report, interrupted);
}

bool Learner::try_learn(const Events& events, const Report& report) {
  const std::int64_t each = config_.fixed_features + 16;
  if (!LongCall::ends_before_first_check(events.batch.stored() * config_.lanes + events.batch.rows * each))
    return false;
  const auto only_writer = gate_.try_only_writer();
  if (!only_writer) return false;
  auto inside = gate_.try_inside();
  if (!inside) return false;
  learn_inside(inside, events, report, {});
  return true;
}

std::int64_t Learner::learn_inside(Gate::Hold& inside, const Events& events, const Report& report,
                                   const Interrupted& interrupted) {
  if (state_.count + static_cast<std::uint64_t>(events.batch.rows) > most_events)
    throw InputError("the learner would have more events than can be counted");
  LongCall call(inside, interrupted);
  transaction_.begin(events.batch.stored());
  try {
    if (events.batch.widens)
      config_.shape.resize(std::max(events.batch.features(), state_.features), config_.lanes);
    else
      grow(events.batch.features());
    const std::int64_t learned = pass_->learn(events, report, call);
    transaction_.commit();
    return learned;
  } catch (...) {
    transaction_.roll_back();
    config_.shape.resize(state_.features, config_.lanes);
    throw;
  }
}

namespace {

// Cuts off features the model has never seen, whose weight is zero. False if one of them was not finite.
bool cut_unknown(Row& row, std::int64_t features) {
  bool finite = true;
  for (; row.size > 0 && row.feature(row.size - 1) >= features; --row.size)
    finite &= std::isfinite(row.value[row.size - 1]);
  return finite;
}

bool is_finite(const Row& row) {
  return std::all_of(row.value, row.value + row.size, [](double x) { return std::isfinite(x); });
}

void add_offset(const LaneValues& offset, std::int64_t i, int models, bool finite, double* margin) {
  for (int m = 0; m < models; ++m) {
    if (!std::isfinite(offset.at(i, m)))
      throw InputError("offset must be finite; ", at_row(i), " is " + show(offset.at(i, m)));
    margin[m] += offset.at(i, m);
    if (!finite || !std::isfinite(margin[m]))
      throw InputError("the prediction for ", at_row_of_x(i),
                       " is not finite; look for nan, inf or huge values in that row");
  }
}

}  // namespace

void Learner::predict(const Batch& batch, const LaneValues& offset, bool smoothed, double* out,
                      const Interrupted& interrupted) const {
  auto inside = gate_.inside();
  // For few rows only the needed weights are computed; for many rows all weights are, and the model is unlocked again.
  const bool as_of_many = batch.stored() >= state_.features;
  const bool lacks_zeros = config_.scale && state_.scaling.kind == Scaling::centred && batch.is_sparse();
  const bool all_at_once = (as_of_many && batch.rows > 1) || lacks_zeros || std::holds_alternative<KL>(config_.penalty);
  const std::vector<double> all = all_at_once ? weights_of(chosen(), smoothed) : std::vector<double>();
  const Units units = all_at_once ? Units(state_.scaling, config_.intercept) : Units();
  const std::int64_t features = state_.features;
  const int models = config_.models();
  if (all_at_once) inside.unlock();
  // The margin of a row of zeros if rows are centred, which a sparse row leaves implicit.
  std::vector<double> of_zeros(lacks_zeros ? static_cast<std::size_t>(models) : 0, 0.0);
  for (std::size_t at = 0; lacks_zeros && at < all.size(); ++at)
    of_zeros[at % models] -= units.centres[at / models] * units.factors[at / models] * all[at];
  LongCall call(interrupted);
  Batch::Scratch scratch;
  std::vector<double> standardised;
  for (std::int64_t i = 0; i < batch.rows; ++i) {
    Row h = batch.row(i, scratch);
    if (call.should_stop(h.size * models + 16)) return;
    const Row whole = h;
    bool finite = cut_unknown(h, features);
    if (config_.scale) {
      finite &= is_finite(h);
      h = lacks_zeros   ? standardise(units.without_centres(), h, config_.intercept, standardised)
          : all_at_once ? standardise(units, h, config_.intercept, standardised)
                        : standardise(state_.scaling, h, config_.intercept, standardised);
    }
    double* margin = out + i * models;
    if (!all_at_once)
      predict_row(h, as_of_many, smoothed, margin);
    else
      models == 1 ? dot<1>(h, all.data(), 1, margin) : dot<0>(h, all.data(), models, margin);
    for (int m = 0; lacks_zeros && m < models; ++m) margin[m] += of_zeros[m];
    add_products(whole, margin);
    add_offset(offset, i, models, finite, margin);
  }
}

bool Learner::try_predict(const Row& row, double offset, bool smoothed, double* out) const {
  const int models = config_.models();
  if (!LongCall::ends_before_first_check(row.size * models + config_.fixed_features)) return false;
  const auto inside = gate_.try_inside();
  if (!inside || (config_.scale && state_.scaling.kind == Scaling::centred)) return false;
  Row h = row;
  bool finite = cut_unknown(h, state_.features);
  if (config_.scale) {
    finite &= is_finite(h);
    h = standardise(state_.scaling, h, config_.intercept, standardised_);
  }
  if (std::holds_alternative<KL>(config_.penalty)) {
    const std::vector<double> all = weights_of(chosen(), smoothed);
    models == 1 ? dot<1>(h, all.data(), 1, out) : dot<0>(h, all.data(), models, out);
  } else
    predict_row(h, row.size >= state_.features, smoothed, out);
  add_products(row, out);
  add_offset({nullptr, 0, 0, offset}, 0, models, finite, out);
  return true;
}

// Calls use(weight), where weight(j, lane) is one weight under a penalty that is a sum over coordinates. What is the same for all
// weights is decided before.
template <class Use>
void Learner::with_weights(bool smoothed, Use&& use) const {
  const int lanes = config_.lanes;
  const bool bar = shows_smoothed(smoothed);
  if (bar && state_.timeline.now() == 0)
    return use([smooth = state_.smooth.data(), mass = state_.smooth_mass, lanes](std::int64_t j, int l) {
      return smooth[j * lanes + l] / mass;
    });
  const auto by = [this, bar, lanes](std::int64_t j, int l, const auto& own) {
    const std::size_t at = j * lanes + l;
    const double v = state_.dual[at] * config_.shape.inverse_weight_of(j), w0 = config_.shape.mean_of(at);
    if (!bar) return own.map(state_.lane.q[l] * v, w0);
    return state_.timeline.bring_up(state_.smooth[at], state_.seen[j], l, v, w0, own) / state_.smooth_mass;
  };
  if (!config_.average_of.empty())
    return use([&](std::int64_t j, int l) {
      const int source = config_.source_of(l);
      if (source == l) return by(j, l, L2{});
      const double sum = state_.lane.scale[source] * state_.dual[j * lanes + source];
      const double held_back = state_.lane.scale[l] * state_.dual[j * lanes + l], strength = state_.lane.constant[l];
      const double a = strength > 0.0 ? config_.shape.inverse_weight_of(j) / strength : 0.0;
      return a * (sum - held_back) + config_.shape.mean_of(j * lanes + l);
    });
  if (const auto* separable = std::get_if<Separable>(&config_.penalty))
    return use([&](std::int64_t j, int l) {
      return with_penalty_of(config_, *separable, j, [&](const auto& own) { return by(j, l, own); });
    });
  use([&](std::int64_t j, int l) { return by(j, l, L2{}); });
}

void Learner::add_products(const Row& row, double* margin) const {
  if (config_.products.empty()) return;
  const auto lanes = static_cast<std::size_t>(config_.lanes), candidates = static_cast<std::size_t>(config_.candidates);
  config_.products.add(row, lanes, candidates, margin);
}

std::vector<double> Learner::parts_of_products(const Row& row) const {
  std::vector<double> out;
  config_.products.terms.each_product(row, [&](std::size_t term, double p) {
    for (int l = 0; l < config_.lanes; l += config_.candidates)
      out.push_back(p * config_.products.weight[term * static_cast<std::size_t>(config_.lanes) + l]);
  });
  return out;
}

// Computes only the weights that the row needs. A row that has every feature is summed in the same order as many such
// rows: its prediction does not depend on the other rows of a call.
void Learner::predict_row(const Row& h, bool as_of_many, bool smoothed, double* margin) const {
  const int models = config_.models();
  const int* lane = chosen().data();
  with_weights(smoothed, [&](auto weight) {
    if (models == 1 && as_of_many) {
      *margin = detail::sum_in_four(h.size, [&](std::int64_t i) { return h.value[i] * weight(h.feature(i), *lane); });
      return;
    }
    if (models == 1) {  // the sum stays in a register
      double sum = 0.0;
      h.each([&](std::int64_t j, double value) { sum += value * weight(j, *lane); });
      *margin = sum;
      return;
    }
    std::fill_n(margin, models, 0.0);
    h.each([&](std::int64_t j, double value) {
      for (int m = 0; m < models; ++m) margin[m] += value * weight(j, lane[m]);
    });
  });
}

bool Learner::shows_smoothed(bool smoothed) const { return smoothed && state_.smoothing && state_.smooth_mass > 0.0; }

const std::vector<int>& Learner::chosen() const {
  choice::choose(config_, state_.lane, chosen_);
  return chosen_;
}

std::vector<double> Learner::of_chosen(const std::vector<double>& values) const {
  std::vector<double> out;
  for (const int l : chosen()) out.push_back(values[config_.source_of(l)]);
  return out;
}

std::vector<int> Learner::all_lanes() const {
  std::vector<int> lanes(config_.lanes);
  std::iota(lanes.begin(), lanes.end(), 0);
  return lanes;
}

// [feature][k]: the weights of the lane lanes[k].
std::vector<double> Learner::weights_of(const std::vector<int>& lanes, bool smoothed) const {
  const std::size_t n = lanes.size();
  std::vector<double> w(static_cast<std::size_t>(state_.features) * n);
  const auto* simplex = std::get_if<KL>(&config_.penalty);
  if (simplex && !shows_smoothed(smoothed)) {
    for (std::size_t k = 0; k < n; ++k)
      softmax(*simplex, state_, lanes[k], state_.lane.q[lanes[k]], w.data() + k, static_cast<int>(n));
    return w;
  }
  with_weights(smoothed, [&](auto weight) {
    for (std::int64_t j = 0; j < state_.features; ++j)
      for (std::size_t k = 0; k < n; ++k) w[j * n + k] = weight(j, lanes[k]);
  });
  return w;
}

std::vector<double> Learner::weights(bool smoothed) const {
  const auto inside = gate_.inside();
  return weights_of(chosen(), smoothed);
}

Units Learner::units() const {
  const auto inside = gate_.inside();
  return Units(state_.scaling, config_.intercept);
}

std::vector<double> Learner::weights_at(std::span<const std::int32_t> features, bool smoothed) const {
  const auto inside = gate_.inside();
  const std::vector<int>& lanes = chosen();
  const std::size_t n = lanes.size();
  std::vector<double> out(features.size() * n, 0.0);
  const auto fill = [&](auto weight) {
    for (std::size_t k = 0; k < features.size(); ++k) {
      const std::int64_t j = features[k];
      if (j < 0 || j >= state_.features) continue;
      const double unit = config_.scale && !(config_.intercept && j == 0) ? state_.scaling.of(j)[Scaling::unit] : 1.0;
      for (std::size_t m = 0; m < n; ++m) out[k * n + m] = unit * weight(j, lanes[m]);
    }
  };
  if (!std::holds_alternative<KL>(config_.penalty))
    with_weights(smoothed, fill);
  else
    fill([all = weights_of(all_lanes(), smoothed), width = config_.lanes](std::int64_t j, int l) {
      return all[j * width + l];
    });
  return out;
}

std::vector<double> Learner::dual_sum() const {
  const auto inside = gate_.inside();
  std::vector<double> sum;
  sum.reserve(static_cast<std::size_t>(state_.features) * chosen().size());
  for (std::int64_t j = 0; j < state_.features; ++j)
    for (const int chosen : chosen_) {
      const int l = config_.source_of(chosen);
      sum.push_back(state_.dual[j * config_.lanes + l] * state_.lane.scale[l]);
    }
  return sum;
}

void Learner::unlearn(std::uint64_t event) {
  const auto only_writer = gate_.only_writer();
  const auto inside = gate_.inside();
  require_events("unlearn");
  for (std::size_t k = 0; k < state_.buffer.size(); ++k) {
    if (state_.buffer.entry(state_.buffer.at(k)).number != event) continue;
    state_.buffer.erase(k);
    rebuild(state_);
    state_.buffer.compact();
    return;
  }
  throw InputError("event " + std::to_string(event) + " is not in the window, which holds " +
                   std::to_string(state_.buffer.size()) + " of " + std::to_string(state_.count) + " events");
}

void Learner::settle(State& state) const {
  Transaction transaction(state);
  make_pass(config_, state, transaction)->settle();
}

void Learner::rebuild(State& state) const {
  Transaction transaction(state);
  make_pass(config_, state, transaction)->rebuild();
}

void Learner::require_events(const char* what) const {
  if (!config_.window.keeps_events())
    throw InputError(std::string(what) + " needs stored events, which only a Sliding window keeps");
}

bool Learner::same_state(const Learner& other) const {
  if (this == &other) return true;
  const State theirs = other.state();
  const auto inside = gate_.inside();
  return state_ == theirs;
}

Learner::Scalars Learner::scalars() const {
  const auto inside = gate_.inside();
  Scalars out{state_.count, state_.clock, state_.features, state_.buffer.size(), state_.lane};
  out.lane.each_field([this](auto, auto& field) { field = of_chosen(field); });
  for (const int l : chosen()) out.strength.push_back(config_.strength(config_.source_of(l), state_.lane));
  return out;
}

State Learner::state() const {
  const auto inside = gate_.inside();
  return state_;
}

}  // namespace odca
