// The covariance of the Kalman mixer, four numbers at a time.
#include "odca/experts/mixers.hpp"

#include "odca/math/pack4.hpp"

namespace odca::experts {

namespace {

constexpr int packs = slots / 4;

}  // namespace

Kalman::Gain Kalman::gain_of(const double* x) const {
  Pack4 sum[packs];
  for (int i = 0; i < count; ++i) {
    const double* row = covariance.data() + i * slots;
    const Pack4 v = Pack4::all(x[i]);
    each_pack4<packs>([&](auto p) { sum[p] += v * Pack4::from(row + 4 * p); });
  }
  Gain out{};
  each_pack4<packs>([&](auto p) { sum[p].to(out.gain.data() + 4 * p); });
  out.variance = std::max(dot(count, out.gain, x), 0.0);
  return out;
}

void Kalman::learn(const Gain& event, double lambda, double known, double memory) {
  const PerExpert& g = event.gain;
  double trace = 0.0;
  for (int i = 0; i < count; ++i) {
    weight[i] += lambda * g[i];
    trace += entry(i, i) - known * g[i] * g[i];
  }
  const double room = count * kalman_variance / std::max(trace, tiny);
  const Pack4 wider = Pack4::all(std::max(1.0, std::min(1.0 / memory, room)));
  Pack4 gain[packs];
  each_pack4<packs>([&](auto p) { gain[p] = Pack4::from(g.data() + 4 * p); });
  for (int i = 0; i < count; ++i) {
    double* row = covariance.data() + i * slots;
    const Pack4 part = Pack4::all(g[i]), lost = Pack4::all(known);  // known (g g'): symmetric to the bit
    each_pack4<packs>([&](auto p) { ((Pack4::from(row + 4 * p) - lost * (part * gain[p])) * wider).to(row + 4 * p); });
    row[i] += kalman_floor;  // rounding never makes it indefinite
  }
}

}  // namespace odca::experts
