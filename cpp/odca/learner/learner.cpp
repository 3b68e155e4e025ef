#include "odca/learner/learner.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "odca/errors.hpp"
#include "odca/step/solve.hpp"

namespace odca {

Learner::Learner(Config config) : config_(std::move(config)), state_(config_.empty_state()) {
  config_.shaped_features = config_.shape.inverse_weight.size();
  grow(std::max(config_.fixed_features, config_.shaped_features));
  if (config_.intercept) grow(1);
  for (int l = 0; l < config_.lanes; ++l)
    state_.lane.q[l] = config_.prior_strength[l] > 0.0 ? 1.0 / config_.prior_strength[l] : 0.0;
  pass_ = make_pass(config_, state_, transaction_);
}

Learner::Learner(const Learner& other) {
  {
    const std::scoped_lock hold(other.mutex_);  // the shape in the configuration grows with the state
    config_ = other.config_;
    state_ = other.state_;
  }
  pass_ = make_pass(config_, state_, transaction_);
}

void Learner::grow(std::int64_t features) {
  if (features <= state_.features) return;
  state_.resize(features);
  config_.shape.resize(features, config_.lanes);
}

std::int64_t Learner::learn(const Events& events, const Report& report, const Interrupted& interrupted) {
  const std::scoped_lock only_writer(writing_);
  const std::unique_lock hold(mutex_);
  return learn_unlocked(events, report, interrupted);
}

bool Learner::try_learn(const Events& events, const Report& report) {
  const std::int64_t each = config_.fixed_features + 16;
  if (!LongCall::is_never_asked(events.batch.stored() * config_.lanes + events.batch.rows * each)) return false;
  const std::unique_lock only_writer(writing_, std::try_to_lock);
  if (!only_writer) return false;
  const std::unique_lock hold(mutex_, std::try_to_lock);
  if (!hold) return false;
  learn_unlocked(events, report, {});
  return true;
}

std::int64_t Learner::learn_unlocked(const Events& events, const Report& report, const Interrupted& interrupted) {
  LongCall call(mutex_, interrupted);
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

// Cuts off what the model has never seen: its weight is zero. False if there was something that is no number.
bool cut_unknown(Row& row, std::int64_t features) {
  bool finite = true;
  for (; row.size > 0 && row.feature(row.size - 1) >= features; --row.size)
    finite &= std::isfinite(row.value[row.size - 1]);
  return finite;
}

bool is_finite(const Row& row) {
  return std::all_of(row.value, row.value + row.size, [](double x) { return std::isfinite(x); });
}

void add_offset(const Columns& offset, std::int64_t i, int lanes, bool finite, double* margin) {
  for (int l = 0; l < lanes; ++l) {
    if (!std::isfinite(offset.at(i, l)))
      throw InputError("offset must be finite; ", at_row(i), " is " + show(offset.at(i, l)));
    margin[l] += offset.at(i, l);
    if (!finite || !std::isfinite(margin[l]))
      throw InputError("the prediction for ", at_row_of_x(i),
                       " is not finite; look for nan, inf or huge values in that row");
  }
}

}  // namespace

void Learner::predict(const Batch& batch, const Columns& offset, bool smoothed, double* out,
                      const Interrupted& interrupted) const {
  std::unique_lock hold(mutex_);
  // Few rows ask for few weights; many rows are served from all of them, and then the model is free again.
  const bool as_of_many = batch.stored() >= state_.features;
  const bool lacks_zeros = config_.scale && state_.scaling.kind == Scaling::centred && batch.is_sparse();
  const bool all_at_once = (as_of_many && batch.rows > 1) || lacks_zeros || std::holds_alternative<KL>(config_.penalty);
  const std::vector<double> all = all_at_once ? weights_unlocked(smoothed) : std::vector<double>();
  const Units units = all_at_once ? Units(state_.scaling, config_.intercept) : Units();
  const std::int64_t features = state_.features;
  const int lanes = config_.lanes;
  if (all_at_once) hold.unlock();
  // What a row of nothing but zeros gets where rows are centred: a sparse row does not say it.
  std::vector<double> of_zeros(lacks_zeros ? static_cast<std::size_t>(lanes) : 0, 0.0);
  for (std::size_t at = 0; lacks_zeros && at < all.size(); ++at)
    of_zeros[at % lanes] -= units.centres[at / lanes] * units.factors[at / lanes] * all[at];
  FairMutex nobody;
  nobody.lock();
  LongCall call(nobody, interrupted);
  Batch::Scratch scratch;
  std::vector<double> standardised;
  for (std::int64_t i = 0; i < batch.rows; ++i) {
    Row h = batch.row(i, scratch);
    if (call.look(h.size * lanes + 16)) return;
    bool finite = cut_unknown(h, features);
    if (config_.scale) {
      finite &= is_finite(h);
      h = lacks_zeros   ? standardise(units.without_centres(), h, config_.intercept, standardised)
          : all_at_once ? standardise(units, h, config_.intercept, standardised)
                        : standardise(state_.scaling, h, config_.intercept, standardised);
    }
    double* margin = out + i * lanes;
    if (!all_at_once)
      predict_row(h, as_of_many, smoothed, margin);
    else
      lanes == 1 ? dot<1>(h, all.data(), 1, margin) : dot<0>(h, all.data(), lanes, margin);
    for (int l = 0; lacks_zeros && l < lanes; ++l) margin[l] += of_zeros[l];
    add_offset(offset, i, lanes, finite, margin);
  }
}

bool Learner::try_predict(const Row& row, double offset, bool smoothed, double* out) const {
  if (!LongCall::is_never_asked(row.size * config_.lanes + config_.fixed_features)) return false;
  const std::unique_lock hold(mutex_, std::try_to_lock);
  if (!hold || (config_.scale && state_.scaling.kind == Scaling::centred)) return false;
  Row h = row;
  bool finite = cut_unknown(h, state_.features);
  if (config_.scale) {
    finite &= is_finite(h);
    h = standardise(state_.scaling, h, config_.intercept, standardised_);
  }
  if (std::holds_alternative<KL>(config_.penalty)) {
    const std::vector<double> all = weights_unlocked(smoothed);
    config_.lanes == 1 ? dot<1>(h, all.data(), 1, out) : dot<0>(h, all.data(), config_.lanes, out);
  } else
    predict_row(h, row.size >= state_.features, smoothed, out);
  add_offset({nullptr, 0, 0, offset}, 0, config_.lanes, finite, out);
  return true;
}

// The weights that the row asks for and no others. A row that has every feature is summed in the order in which many
// such rows are: then its prediction does not depend on the rows beside it.
void Learner::predict_row(const Row& h, bool as_of_many, bool smoothed, double* margin) const {
  const int lanes = config_.lanes;
  const auto predict_by = [&](auto weight) {
    if (lanes == 1 && as_of_many) {
      *margin = detail::sum_in_four(h.size, [&](std::int64_t i) { return h.value[i] * weight(h.feature(i), 0); });
      return;
    }
    std::fill_n(margin, lanes, 0.0);
    h.each([&](std::int64_t j, double value) {
      for (int l = 0; l < lanes; ++l) margin[l] += value * weight(j, l);
    });
  };
  if (shows_smoothed(smoothed) && state_.timeline.now() == 0)  // a weight is one division then, and nothing to be asked
    predict_by([smooth = state_.smooth.data(), mass = state_.smooth_mass, lanes](std::int64_t j, int l) {
      return smooth[j * lanes + l] / mass;
    });
  else
    predict_by([&](std::int64_t j, int l) { return weight_of(j, l, smoothed); });
}

bool Learner::shows_smoothed(bool smoothed) const { return smoothed && state_.smoothing && state_.smooth_mass > 0.0; }

// One weight under a penalty that is a sum over coordinates.
double Learner::weight_of(std::int64_t j, int lane, bool smoothed) const {
  const bool bar = shows_smoothed(smoothed);
  const std::size_t at = j * config_.lanes + lane;
  const double v = state_.dual[at] * config_.shape.inverse_weight_of(j), w0 = config_.shape.mean_of(at);
  const auto weight = [&](const auto& own) {
    if (!bar) return own.map(state_.lane.q[lane] * v, w0);
    if (state_.timeline.now() == 0) return state_.smooth[at] / state_.smooth_mass;
    return state_.timeline.bring_up(state_.smooth[at], state_.seen[j], lane, v, w0, own) / state_.smooth_mass;
  };
  const auto* separable = std::get_if<Separable>(&config_.penalty);
  return separable ? with_penalty_of(config_, *separable, j, weight) : weight(L2{});
}

std::vector<double> Learner::weights_unlocked(bool smoothed) const {
  const int lanes = config_.lanes;
  std::vector<double> w(state_.dual.size());
  const auto* simplex = std::get_if<KL>(&config_.penalty);
  if (!simplex) {
    for (std::int64_t j = 0; j < state_.features; ++j)
      for (int l = 0; l < lanes; ++l) w[j * lanes + l] = weight_of(j, l, smoothed);
  } else if (shows_smoothed(smoothed)) {
    for (std::size_t at = 0; at < w.size(); ++at) w[at] = state_.smooth[at] / state_.smooth_mass;
  } else {
    for (int l = 0; l < lanes; ++l) softmax(*simplex, state_, l, state_.lane.q[l], w.data() + l, lanes);
  }
  return w;
}

std::vector<double> Learner::weights(bool smoothed) const {
  const std::scoped_lock hold(mutex_);
  return weights_unlocked(smoothed);
}

Units Learner::units() const {
  const std::scoped_lock hold(mutex_);
  return Units(state_.scaling, config_.intercept);
}

std::vector<double> Learner::weights_at(std::span<const std::int32_t> features, bool smoothed) const {
  const std::scoped_lock hold(mutex_);
  const int lanes = config_.lanes;
  const bool all_at_once = std::holds_alternative<KL>(config_.penalty);
  const std::vector<double> all = all_at_once ? weights_unlocked(smoothed) : std::vector<double>();
  std::vector<double> out(features.size() * static_cast<std::size_t>(lanes), 0.0);
  for (std::size_t k = 0; k < features.size(); ++k) {
    const std::int64_t j = features[k];
    if (j < 0 || j >= state_.features) continue;
    const double unit = config_.scale && !(config_.intercept && j == 0) ? state_.scaling.of(j)[Scaling::unit] : 1.0;
    for (int l = 0; l < lanes; ++l)
      out[k * lanes + l] = unit * (all_at_once ? all[j * lanes + l] : weight_of(j, l, smoothed));
  }
  return out;
}

std::vector<double> Learner::dual_sum() const {
  const std::scoped_lock hold(mutex_);
  std::vector<double> sum(state_.dual.begin(), state_.dual.end());
  for (std::size_t at = 0; at < sum.size(); ++at) sum[at] *= state_.lane.scale[at % config_.lanes];
  return sum;
}

void Learner::unlearn(std::uint64_t event) {
  const std::scoped_lock only_writer(writing_);
  const std::scoped_lock hold(mutex_);
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
    throw InputError(std::string(what) + " needs the events at hand: only a Sliding window keeps them");
}

bool Learner::same_state(const Learner& other) const {
  if (this == &other) return true;
  const State theirs = other.state();
  const std::scoped_lock hold(mutex_);
  return state_ == theirs;
}

Learner::Scalars Learner::scalars() const {
  const std::scoped_lock hold(mutex_);
  return {state_.count, state_.clock, state_.features, state_.buffer.size(), state_.lane};
}

State Learner::state() const {
  const std::scoped_lock hold(mutex_);
  return state_;
}

}  // namespace odca
