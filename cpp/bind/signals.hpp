// Ctrl-C during a call that has let go of the GIL.
#pragma once

#include <nanobind/nanobind.h>

namespace odca::bind {

// True once Python has a signal to handle, which then waits as an exception.
inline bool signal_arrived() {
  const nanobind::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

inline void raise_if_interrupted() {
  if (PyErr_Occurred()) throw nanobind::python_error();
}

}  // namespace odca::bind
