// A hash of the exact bits of many models, one line each: builds with other flags must print the same lines.
//
// The streams come from integers by exact operations (support.hpp), so the lines are the same on every machine too.
#include <cstdio>

#include "../support.hpp"
#include "odca/experts/mixture.hpp"

using namespace odca::test;
using odca::Config;
using odca::Learner;
using odca::experts::Experts;
using odca::experts::Task;

namespace {

// FNV-1a, 64 bits, over the bytes of each double from the lowest up.
class Hash {
 public:
  void add(const std::vector<double>& values) {
    for (const double x : values) {
      const std::int64_t bits = odca::to_bits(x);
      for (int byte = 0; byte < 8; ++byte)
        hash_ = (hash_ ^ (static_cast<std::uint64_t>(bits) >> (8 * byte) & 0xff)) * 0x100000001b3;
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

std::uint64_t digest_of(const Config& config, const Stream& stream) {
  Hash hash;
  Learner learner(config);
  std::vector<double> margin(stream.rows * stream.lanes), dual(stream.rows * stream.lanes);
  const auto call = stream.call(0, stream.rows, config.intercept);
  learner.learn(call.events, {margin.data(), dual.data()}, {});
  if (config.window.keeps_events()) learner.refine(1, 0.0, 1, {});
  hash.add(margin);
  hash.add(dual);
  hash.add(learner.weights(false));
  hash.add(learner.weights(true));
  hash.add(learner.dual_sum());
  hash.add(learner.dual_objective());
  return hash.value();
}

std::uint64_t digest_of(Experts& experts, const Stream& stream) {
  Hash hash;
  const auto call = stream.call(0, stream.rows);
  hash.add(experts.learn({call.events.batch, stream.y.data(), stream.weight.data(), stream.time.data()}).predictions);
  for (const auto& [name, values] : experts.state().parts) hash.add(values);
  return hash.value();
}

void print_experts() {
  for (const int classes : {0, 2, 3, 7})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      Random random(seed);
      Stream stream = make_stream({.rows = 300, .width = 11, .dense = seed % 2 == 0}, odca::Labels::any, seed);
      for (double& y : stream.y) y = classes ? static_cast<double>(random.below(classes)) : y;
      if (seed > 2) std::fill(stream.weight.begin(), stream.weight.end(), 1.0);
      Experts experts(classes == 0 ? Task::numbers : classes == 2 ? Task::two_classes : Task::classes, classes);
      std::printf("bank of %d classes, seed %d %016llx\n", classes, static_cast<int>(seed),
                  static_cast<unsigned long long>(digest_of(experts, stream)));
    }
}

}  // namespace

int main() {
  print_experts();
  std::uint64_t seed = 0;
  for (const NamedLoss& loss : all_losses)
    for (const NamedPenalty& penalty : all_penalties)
      for (const int lanes : {1, 4, 8})
        for (const NamedWindow& window : all_windows(lanes))
          for (const double kappa : {0.0, 0.99}) {
            const StreamOptions options{.rows = 100, .width = 11, .lanes = lanes, .dense = ++seed % 3 == 0};
            Config config = make_config(loss.loss(), penalty.make(options.width), window.window, lanes, kappa);
            const bool simplex = config.fixed_features > 0;
            config.intercept = !simplex && seed % 2 == 0;
            if (!simplex && seed % 5 == 0) config.shape = make_shape(6, lanes, seed);
            const std::uint64_t digest = digest_of(config, make_stream(options, labels_of(config.loss), seed));
            std::printf("%-27s %-12s %-19s kappa %.2f lanes %d %016llx\n", loss.name.c_str(), penalty.name.c_str(),
                        window.name.c_str(), kappa, lanes, static_cast<unsigned long long>(digest));
          }
}
