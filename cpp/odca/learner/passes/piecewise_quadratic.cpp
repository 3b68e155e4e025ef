#include "odca/learner/passes/typed_pass.hpp"

namespace odca {

template std::unique_ptr<Pass> make_pass_of(const PiecewiseQuadratic&, const Config&, State&, Transaction&);

}  // namespace odca
