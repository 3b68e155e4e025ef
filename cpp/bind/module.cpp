#include "bind/topics.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The native core of odca. Use it through odca.Learner.";
  odca::bind::bind_losses(m);
  odca::bind::bind_penalties(m);
  odca::bind::bind_windows(m);
  odca::bind::bind_matrices(m);
  odca::bind::bind_learner(m);
  odca::bind::bind_events(m);
}
