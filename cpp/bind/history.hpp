// The state of history as arrays with names.
#pragma once

#include <nanobind/nanobind.h>

#include "bind/arrays.hpp"
#include "odca/features/history.hpp"

namespace odca::bind {

namespace nb = nanobind;

using Arrays = nb::typed<nb::dict, nb::str, nb::any>;

Arrays history_arrays(text::History::Saved saved);
// Throws InputError or a TypeError for what is not such a state.
text::History::Saved history_from(const Arrays& arrays);

}  // namespace odca::bind
