// The same model with other lanes, as needed for a class that appears in the middle of a stream.
//
// Margin losses depend on y and z through y z alone. Negating all labels of a lane therefore negates its duals, S, w
// and every margin, exactly, provided that the penalty is symmetric in the sign.
#include <algorithm>
#include <string>

#include "odca/errors.hpp"
#include "odca/learner/lane_map.hpp"
#include "odca/learner/learner.hpp"

namespace odca {

namespace {

bool knows_signs(const Config& config) {
  const auto* separable = std::get_if<Separable>(&config.penalty);
  return std::holds_alternative<KL>(config.penalty) || (separable && separable->lo != -separable->hi) ||
         std::any_of(config.shape.mean.begin(), config.shape.mean.end(), [](double w0) { return w0 != 0.0; });
}

}  // namespace

std::unique_ptr<Learner> Learner::with_lanes(const std::vector<int>& source, const std::vector<bool>& mirrored) const {
  const std::scoped_lock hold(mutex_);
  const auto differ = [](const std::vector<double>& values) {
    return std::any_of(values.begin(), values.end(), [&](double value) { return value != values[0]; });
  };
  if (differ(config_.rho) || differ(config_.prior_strength) || differ(config_.window.parameter))
    throw InputError("lanes can be rearranged only if all have the same rho, prior_strength and window");
  if (source.empty() || source.size() != mirrored.size())
    throw InputError("there must be at least one lane, and one value of mirrored for each");
  for (const int from : source)
    if (from >= config_.lanes) throw InputError("there is no lane " + std::to_string(from));
  if (knows_signs(config_) && std::find(mirrored.begin(), mirrored.end(), true) != mirrored.end())
    throw InputError("a lane cannot be mirrored under a penalty or a prior_mean that is not symmetric in the sign");

  const LaneMap map{config_.lanes, source, mirrored};
  const auto lanes = static_cast<int>(source.size());
  Config config = config_;
  config.lanes = lanes;
  config.rho.assign(lanes, config_.rho[0]);
  config.prior_strength.assign(lanes, config_.prior_strength[0]);
  config.window.parameter.resize(1);
  map.copy(config.shape.mean);

  auto out = std::make_unique<Learner>(std::move(config));
  State& state = out->state_;
  state = state_;
  state.lanes = lanes;
  state.lane.each_field([&](auto, auto& field) { map.copy(field); });
  for (int l = 0; l < lanes; ++l)
    if (source[l] < 0)
      for (auto* sum : {&state.lane.conjugate, &state.lane.saturated, &state.lane.bound, &state.lane.peak_bound})
        (*sum)[l] = 0.0;
  map.negate(state.dual);
  map.negate(state.smooth);
  state.timeline.take_lanes(map);
  state.buffer.take_lanes(map);
  return out;
}

}  // namespace odca
