// One function per topic; module.cpp is the contents page.
#pragma once

#include <nanobind/nanobind.h>

#include "odca/batch.hpp"
#include "odca/losses.hpp"
#include "odca/penalties.hpp"
#include "odca/windows.hpp"

namespace odca::bind {

// The types that Python holds between calls.
struct PyLoss {
  AnyLoss loss;
};
struct PyPenalty {
  AnyPenalty penalty;
};
struct PyWindow {
  Window window;
};
struct PyMatrix {
  Batch batch;
  nanobind::object owner;  // keeps the caller's arrays alive
};

void bind_losses(nanobind::module_& m);
void bind_penalties(nanobind::module_& m);
void bind_windows(nanobind::module_& m);
void bind_matrices(nanobind::module_& m);
void bind_learner(nanobind::module_& m);

}  // namespace odca::bind
