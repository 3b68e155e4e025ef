// A method of a Python class with a native fast path in front of it, for methods that are called for every event.
//
// The fast path is taken if there are no keyword arguments and the object's `_fast` is of its type. Otherwise, or if the
// fast path declines, the method itself is called. To Python it is a method like any other: classes may override it, and
// functools.update_wrapper gives it its name, docstring and signature.
#pragma once

#include <nanobind/nanobind.h>

namespace odca::bind {

namespace nb = nanobind;

// Called with `self`, its `_fast` and the arguments after `self`; may throw. To decline, it returns an invalid object and changes nothing.
using FastPath = nb::object (*)(nb::handle self, nb::handle fast, PyObject* const* arguments, Py_ssize_t count);

nb::object method_with_fast_path_type();
nb::object with_fast_path(nb::handle type, nb::object core_type, FastPath fast_path, nb::object method);

}  // namespace odca::bind
