// Model vectors are aligned to cache lines, so that eight lanes of a feature occupy one line instead of parts of two.
//
// Large ones ask the system for huge pages. An event of a sparse stream touches features all over the table, and with pages of
// 4 kB finding out where each of them is takes as long as fetching it.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace odca {

template <class T>
struct CacheLines {
  using value_type = T;
  static constexpr std::size_t line = 64, huge_page = std::size_t{1} << 21;

  CacheLines() = default;
  template <class U>
  CacheLines(const CacheLines<U>&) {}

  T* allocate(std::size_t n) {
    void* const memory = ::operator new(n * sizeof(T), alignment(n));
#ifdef __linux__
    if (is_large(n)) madvise(memory, n * sizeof(T), MADV_HUGEPAGE);  // a wish: without it everything works as well
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t n) { ::operator delete(memory, alignment(n)); }

  bool operator==(const CacheLines&) const = default;

 private:
  static bool is_large(std::size_t n) { return n * sizeof(T) >= 2 * huge_page; }
  static std::align_val_t alignment(std::size_t n) { return std::align_val_t{is_large(n) ? huge_page : line}; }
};

using ModelVector = std::vector<double, CacheLines<double>>;

}  // namespace odca
