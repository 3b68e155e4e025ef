// A learner's state as a dictionary of arrays, and back.
#pragma once

#include <nanobind/nanobind.h>

#include "odca/learner.hpp"

namespace odca::bind {

nanobind::dict get_state(const Learner& learner);
void set_state(Learner& learner, const nanobind::dict& fields);

}  // namespace odca::bind
