// One function per topic; module.cpp is the contents page.
#pragma once

#include <nanobind/nanobind.h>

#include "odca/math/batch.hpp"
#include "odca/problem/losses.hpp"
#include "odca/problem/penalties.hpp"
#include "odca/problem/windows.hpp"

namespace odca::bind {

// The types that Python holds between calls.
//
// A user's loss is called through borrowed references, which the PyLoss keeps alive: only so can the garbage
// collector see a loss that refers back to its learner. Whoever uses `loss` must keep the PyLoss.
struct PyLoss {
  AnyLoss loss;
  std::vector<nanobind::object> callables = {};
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

void bind_errors(nanobind::module_& m);
void bind_losses(nanobind::module_& m);
void bind_penalties(nanobind::module_& m);
void bind_windows(nanobind::module_& m);
void bind_matrices(nanobind::module_& m);
void bind_learner(nanobind::module_& m);
void bind_events(nanobind::module_& m);
void bind_auto_events(nanobind::module_& m);
void bind_fast_models(nanobind::module_& m);
void bind_probabilities(nanobind::module_& m);
void bind_history(nanobind::module_& m);
void bind_text(nanobind::module_& m);
void bind_tables(nanobind::module_& m);
void bind_metrics(nanobind::module_& m);
void bind_baselines(nanobind::module_& m);
void bind_uncertainty(nanobind::module_& m);
void bind_experts(nanobind::module_& m);
void bind_turns(nanobind::module_& m);

}  // namespace odca::bind
