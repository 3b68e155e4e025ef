#include "odca/learner/passes/typed_pass.hpp"

namespace odca {

extern template std::unique_ptr<Pass> make_pass_of(const PiecewiseQuadratic&, const Config&, State&, Transaction&);
extern template std::unique_ptr<Pass> make_pass_of(const Logistic&, const Config&, State&, Transaction&);
extern template std::unique_ptr<Pass> make_pass_of(const Poisson&, const Config&, State&, Transaction&);
extern template std::unique_ptr<Pass> make_pass_of(const Custom&, const Config&, State&, Transaction&);

std::unique_ptr<Pass> make_pass(const Config& config, State& state, Transaction& transaction) {
  return std::visit([&](const auto& loss) { return make_pass_of(loss, config, state, transaction); }, config.loss);
}

}  // namespace odca
