#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

#include "bind/topics.hpp"

namespace {

// A process that reads a stream asks for the same blocks of memory again and again: freed ones stay with it, instead of going
// back to the system, which clears every page that it gives out.
void keep_freed_memory() {
#if defined(M_MMAP_THRESHOLD) && defined(M_TRIM_THRESHOLD) && defined(M_TOP_PAD)
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 8 << 20);
#endif
}

}  // namespace

NB_MODULE(_core, m) {
  nanobind::set_leak_warnings(false);  // a model that lives until Python ends is no mistake of its user
  m.doc() = "The native core of odca. Use it through odca.Learner.";
  odca::bind::bind_losses(m);
  odca::bind::bind_penalties(m);
  odca::bind::bind_windows(m);
  odca::bind::bind_matrices(m);
  odca::bind::bind_learner(m);
  odca::bind::bind_events(m);
  odca::bind::bind_text(m);
  odca::bind::bind_tables(m);
  odca::bind::bind_metrics(m);
  odca::bind::bind_baselines(m);
  odca::bind::bind_bank(m);
  m.def("keep_freed_memory", &keep_freed_memory);
}
