#include "bind/topics.hpp"
#include "odca/level/level.hpp"
#include "odca/memory/freed_memory.hpp"

NB_MODULE(_core, m) {
  nanobind::set_leak_warnings(false);  // a model that lives until Python ends is no mistake
  m.doc() = "The native core of odca. Use it through odca.Learner.";
  odca::bind::bind_errors(m);
  odca::bind::bind_losses(m);
  odca::bind::bind_penalties(m);
  odca::bind::bind_windows(m);
  odca::bind::bind_matrices(m);
  odca::bind::bind_learner(m);
  odca::bind::bind_uncertainty(m);
  odca::bind::bind_turns(m);
  odca::bind::bind_events(m);
  odca::bind::bind_auto_events(m);
  odca::bind::bind_fast_models(m);
  odca::bind::bind_probabilities(m);
  odca::bind::bind_text(m);
  odca::bind::bind_history(m);
  odca::bind::bind_tables(m);
  odca::bind::bind_metrics(m);
  odca::bind::bind_baselines(m);
  odca::bind::bind_experts(m);
  m.def("keep_freed_memory", &odca::keep_freed_memory);
  m.def("level", &odca::level);
}
