// How the process treats memory that it has freed.
#pragma once

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace odca {

// A process that reads a stream asks for blocks of the same sizes again and again. Freed ones stay with it instead of going back to
// the system, which clears every page that it gives out. Nothing happens where the C library has no such settings.
inline void keep_freed_memory() {
#if defined(M_MMAP_THRESHOLD) && defined(M_TRIM_THRESHOLD) && defined(M_TOP_PAD)
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 8 << 20);
#endif
}

}  // namespace odca
