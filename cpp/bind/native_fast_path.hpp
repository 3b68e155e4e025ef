// A method of a Python class with a native fast path in front of it, for what is called once for every event.
//
// It is called as the method is. If there are no keywords and the object's `_fast` is a native core, the fast path is
// taken; what has no core there, and whatever the fast path declines, goes to the method. To Python it is
// a method like any other: classes may override it, and functools.update_wrapper gives it name, text and signature.
#pragma once

#include <nanobind/nanobind.h>

namespace odca::bind {

namespace nb = nanobind;

// Called with the core and the arguments behind `self`; may throw. An invalid object declines: then nothing has happened.
using FastPath = nb::object (*)(nb::handle core, PyObject* const* arguments, Py_ssize_t count);

nb::object method_with_fast_path_type();
nb::object with_fast_path(nb::handle type, nb::object core_type, FastPath fast_path, nb::object method);

}  // namespace odca::bind
