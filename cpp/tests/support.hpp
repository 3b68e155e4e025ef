// What the native tests share: generated streams, comparisons of bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "odca/learner/learner.hpp"
#include "random.hpp"

namespace odca::test {

inline bool same_bits(double a, double b) { return to_bits(a) == to_bits(b); }
inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i], b[i])) return false;
  return true;
}

// |got - wanted| in units of the last place of a double of wanted's size.
inline double ulps(double got, long double wanted) {
  const double nearest = static_cast<double>(wanted);
  if (same_bits(got, nearest)) return 0.0;
  if (!std::isfinite(got) || !std::isfinite(nearest)) return infinity;
  const double size = std::max(std::fabs(nearest), tiny);
  const double ulp = std::ldexp(1.0, std::ilogb(size) - 52);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - wanted) / ulp);
}

struct NamedLoss {
  std::string name;
  double parameter;
  AnyLoss loss() const { return named_loss(name, parameter); }
};
inline const NamedLoss all_losses[] = {{"squared_error", 0.0},
                                       {"absolute_error", 0.0},
                                       {"quantile", 0.3},
                                       {"expectile", 0.2},
                                       {"huber", 0.7},
                                       {"epsilon_insensitive", 0.1},
                                       {"squared_epsilon_insensitive", 0.1},
                                       {"hinge", 0.0},
                                       {"smooth_hinge", 0.5},
                                       {"squared_hinge", 0.0},
                                       {"modified_huber", 0.0},
                                       {"log_loss", 0.0},
                                       {"poisson", 0.0}};

struct NamedPenalty {
  std::string name;
  AnyPenalty (*make)(std::int64_t features);
};
inline AnyPenalty uniform_kl(std::int64_t features) {
  return KL{std::vector<double>(static_cast<std::size_t>(features), -log(static_cast<double>(features)))};
}
inline const NamedPenalty all_penalties[] = {
    {"l2", [](std::int64_t) -> AnyPenalty { return L2{}; }},
    {"elastic_net", [](std::int64_t) -> AnyPenalty { return Separable{.delta = 0.2}; }},
    {"non_negative", [](std::int64_t) -> AnyPenalty { return Separable{.lo = 0.0}; }},
    {"box", [](std::int64_t) -> AnyPenalty { return Separable{.delta = 0.05, .lo = -0.3, .hi = 0.4}; }},
    {"kl", uniform_kl}};

struct NamedWindow {
  std::string name;
  Window window;
};
inline std::vector<NamedWindow> all_windows(int lanes) {
  std::vector<double> betas, taus;
  for (int l = 0; l < lanes; ++l) betas.push_back(0.9 + 0.01 * l), taus.push_back(3.0 + l);
  return {{"infinite", {}},
          {"exponential", {.parameter = {0.97}}},
          {"exponential_by_lane", {.parameter = betas}},
          {"half_life", {.kind = Window::Kind::half_life, .parameter = {5.0}}},
          {"half_life_by_lane", {.kind = Window::Kind::half_life, .parameter = taus}},
          {"sliding_count", {.kind = Window::Kind::count, .length = 13}},
          {"sliding_duration", {.kind = Window::Kind::duration, .duration = 7.5}}};
}

inline Config make_config(AnyLoss loss, AnyPenalty penalty, Window window, int lanes = 1, double kappa = 0.0) {
  Config config;
  if (const auto* kl = std::get_if<KL>(&penalty))
    config.fixed_features = static_cast<std::int64_t>(kl->log_prior.size());
  config.loss = std::move(loss);
  config.penalty = std::move(penalty);
  config.window = std::move(window);
  config.lanes = lanes;
  config.kappa = kappa;
  for (int l = 0; l < lanes; ++l) {
    config.rho.push_back(0.01 * (l + 1));
    config.prior_strength.push_back(0.5 * (l % 3));
  }
  return config;
}

// A prior mean and a penalty weight for the first features; later ones have 0 and 1.
inline Shape make_shape(std::int64_t features, int lanes, std::uint64_t seed) {
  Random random(seed);
  Shape shape;
  for (std::int64_t j = 0; j < features; ++j) shape.inverse_weight.push_back(random.uniform(0.25, 2.0));
  for (std::int64_t at = 0; at < features * lanes; ++at) shape.mean.push_back(random.uniform(-0.2, 0.3));
  return shape;
}

inline double draw_label(Labels labels, Random& random) {
  switch (labels) {
    case Labels::plus_minus_one: return random.sign();
    case Labels::probability: return random.chance(0.3) ? random.unit() : random.sign();
    case Labels::nonnegative: return static_cast<double>(random.below(6));
    case Labels::any: break;
  }
  return 2.0 * random.bell();
}

// Events in memory, with weights, offsets and times. Rows are sparse or dense.
struct Stream {
  std::int64_t rows = 0, width = 0;
  int lanes = 1;
  bool dense = false, growing = false;
  std::vector<std::int64_t> start = {0};  // of the sparse rows
  std::vector<std::int32_t> index;
  std::vector<double> value;
  std::vector<double> y, weight, offset, time;

  // As many columns as the rows before `to` need.
  std::int64_t width_until(std::int64_t to) const {
    std::int32_t last = 0;
    for (std::int64_t k = 0; k < start[to]; ++k) last = std::max(last, index[k]);
    return last + 1;
  }

  // Rows [from, to) as a call of their own sees them: the arrays begin with its first row.
  struct Call {
    std::vector<std::int32_t> start;
    Events events;
  };
  Call call(std::int64_t from, std::int64_t to, bool intercept = false) const {
    Call out;
    out.events.batch.rows = to - from;
    out.events.batch.width = growing ? width_until(to) : width;
    out.events.batch.intercept = intercept;
    if (dense) {
      const auto bytes = static_cast<std::int64_t>(sizeof(double));
      out.events.batch.matrix =
          DenseMatrix<double>{reinterpret_cast<const char*>(value.data() + from * width), width * bytes, bytes};
    } else {
      for (std::int64_t i = from; i <= to; ++i) out.start.push_back(static_cast<std::int32_t>(start[i] - start[from]));
      const std::int64_t end = std::min(start[to], static_cast<std::int64_t>(value.size()));  // a test may spoil start
      out.events.batch.matrix = SparseMatrix<std::int32_t, double>{out.start.data(), index.data() + start[from],
                                                                   value.data() + start[from], end - start[from]};
    }
    const auto columns = [&](const std::vector<double>& of, double otherwise) {
      return of.empty() ? LaneValues{nullptr, 0, 0, otherwise}
                        : LaneValues{of.data() + from * lanes, lanes, 1, otherwise};
    };
    out.events.y = columns(y, 0.0);
    out.events.weight = columns(weight, 1.0);
    out.events.offset = columns(offset, 0.0);
    out.events.time = time.data() + from;
    return out;
  }
};

struct StreamOptions {
  std::int64_t rows = 60, width = 9;
  int lanes = 1;
  bool dense = false;
  double density = 0.4;
  bool growing = false;      // later rows have more columns (sparse ones)
  double zero_weight = 0.1;  // how often
  double late = 0.1;         // how often an event is older than the newest one
};

inline Stream make_stream(const StreamOptions& options, Labels labels, std::uint64_t seed) {
  Random random(seed);
  Stream stream;
  stream.rows = options.rows;
  stream.width = options.width;
  stream.lanes = options.lanes;
  stream.dense = options.dense;
  stream.growing = options.growing;
  double clock = 100.0;
  for (std::int64_t i = 0; i < options.rows; ++i) {
    const std::int64_t known = options.growing ? 1 + (options.width - 1) * i / options.rows : options.width;
    for (std::int64_t j = 0; j < options.width; ++j) {
      const bool present = j < known && random.chance(options.density);
      const double h = random.bell();
      if (options.dense) {
        stream.value.push_back(present ? h : 0.0);
      } else if (present) {
        stream.index.push_back(static_cast<std::int32_t>(j));
        stream.value.push_back(h);
      }
    }
    stream.start.push_back(static_cast<std::int64_t>(stream.value.size()));
    for (int l = 0; l < options.lanes; ++l) {
      stream.y.push_back(draw_label(labels, random));
      stream.weight.push_back(random.chance(options.zero_weight) ? 0.0 : random.uniform(0.1, 3.0));
      stream.offset.push_back(0.3 * random.bell());
    }
    if (!random.chance(0.2)) clock += random.unit();  // several events may share a time
    stream.time.push_back(random.chance(options.late) ? clock - random.uniform(0.0, 12.0) : clock);
  }
  return stream;
}

inline void learn(Learner& learner, const Stream& stream, std::int64_t from, std::int64_t to) {
  const auto call = stream.call(from, to, learner.config().intercept);
  learner.learn(call.events, {}, {});
}
inline void learn(Learner& learner, const Stream& stream) { learn(learner, stream, 0, stream.rows); }

// Every number of a state, by name; the bits of doubles.
inline std::vector<std::pair<std::string, std::vector<std::uint64_t>>> all_bits(State state) {
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> out;
  const auto bits = [](auto x) {
    if constexpr (std::is_same_v<decltype(x), double>)
      return std::bit_cast<std::uint64_t>(x);
    else
      return static_cast<std::uint64_t>(x);
  };
  const auto leaf = [&](const std::string& name, auto& field) {
    std::vector<std::uint64_t> numbers;
    if constexpr (requires { field.begin(); })
      for (const auto x : field) numbers.push_back(bits(x));
    else
      numbers.push_back(bits(field));
    out.emplace_back(name, std::move(numbers));
  };
  state.each_field([&](const char* name, auto& field) { leaf(name, field); });
  state.timeline.each_field([&](const char* name, auto& field) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::vector<Timeline::Level>>) {
      for (std::size_t l = 0; l < field.size(); ++l)
        field[l].each_field(
            [&](const char* part, auto& numbers) { leaf("timeline." + std::to_string(l) + "." + part, numbers); });
    } else {
      leaf(std::string("timeline.") + name, field);
    }
  });
  EventBuffer::Table table = state.buffer.table();
  table.each_field([&](const char* name, auto& field) { leaf(std::string("window.") + name, field); });
  return out;
}

// The name of the first field in which two states differ; empty if they have the same bits.
inline std::string first_difference(const State& a, const State& b) {
  const auto left = all_bits(a), right = all_bits(b);
  if (a.features != b.features) return "features";
  if (left.size() != right.size()) return "the number of timeline levels";
  for (std::size_t k = 0; k < left.size(); ++k)
    if (left[k] != right[k]) return left[k].first;
  return "";
}

}  // namespace odca::test
