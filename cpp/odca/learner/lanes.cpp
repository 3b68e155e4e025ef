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
  return std::holds_alternative<KL>(config.penalty) || (separable && separable->lo != -separable->hi);
}

}  // namespace

std::unique_ptr<Learner> Learner::with_lanes(const std::vector<int>& source, const std::vector<bool>& mirrored) const {
  const auto inside = gate_.inside();
  const int candidates = config_.candidates;
  const auto differ = [candidates](const std::vector<double>& values) {  // from one model to another
    for (std::size_t l = candidates; l < values.size(); ++l)
      if (values[l] != values[l - candidates]) return true;
    return false;
  };
  if (differ(config_.rho) || differ(config_.prior_strength) || differ(config_.window.parameter))
    throw InputError("lanes can be rearranged only if all have the same rho, prior_strength and window");
  if (source.empty() || source.size() != mirrored.size())
    throw InputError("there must be at least one lane, and one value of mirrored for each");
  for (const int from : source)
    if (from >= config_.models()) throw InputError("there is no lane " + std::to_string(from));
  if (knows_signs(config_) && std::find(mirrored.begin(), mirrored.end(), true) != mirrored.end())
    throw InputError("a lane cannot be mirrored under a penalty that is not symmetric in the sign");

  std::vector<int> lane_source;  // of each new lane
  std::vector<bool> lane_mirrored;
  for (std::size_t m = 0; m < source.size(); ++m)
    for (int k = 0; k < candidates; ++k) {
      lane_source.push_back(source[m] < 0 ? -1 : source[m] * candidates + k);
      lane_mirrored.push_back(mirrored[m]);
    }
  const LaneMap map{config_.lanes, lane_source, lane_mirrored, candidates};
  const auto lanes = static_cast<int>(lane_source.size());
  Config config = config_;
  config.lanes = lanes;
  config.rho.resize(lanes);
  config.prior_strength.resize(lanes);
  for (int l = 0; l < lanes; ++l) {
    config.rho[l] = config_.rho[l % candidates];
    config.prior_strength[l] = config_.prior_strength[l % candidates];
  }
  if (config.window.parameter.size() > 1) {
    config.window.parameter.resize(lanes);
    for (int l = 0; l < lanes; ++l) config.window.parameter[l] = config_.window.parameter[l % candidates];
  }
  map.negate(config.shape.mean), map.negate(config.products.weight);

  auto out = std::make_unique<Learner>(std::move(config));
  State& state = out->state_;
  state = state_;
  state.lanes = lanes;
  state.lane.each_field([&](auto, auto& field) { map.copy(field); });
  for (int l = 0; l < lanes; ++l)
    if (lane_source[l] < 0) {
      for (auto* sum : {&state.lane.conjugate, &state.lane.saturated, &state.lane.bound, &state.lane.peak_bound})
        (*sum)[l] = 0.0;
      if (state.lane.scored) state.lane.loss[l] = 0.0;
    }
  map.negate(state.dual);
  map.negate(state.smooth);
  state.timeline.take_lanes(map);
  state.buffer.take_lanes(map);
  return out;
}

}  // namespace odca
