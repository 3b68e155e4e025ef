// A learner's state, or what it has learned since another, as a dictionary of arrays, and back.
#pragma once

#include <nanobind/nanobind.h>

#include "odca/learner/learner.hpp"

namespace odca::bind {

using Fields = nanobind::typed<nanobind::dict, nanobind::str, nanobind::any>;

Fields get_state(const Learner& learner);
void set_state(Learner& learner, const Fields& fields);
Fields delta(const Learner& learner, const Learner& base);
void apply(Learner& learner, const Fields& fields);

}  // namespace odca::bind
