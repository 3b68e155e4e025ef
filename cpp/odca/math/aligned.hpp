// Model vectors are aligned to cache lines, so that eight lanes of a feature occupy one line instead of parts of two.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace odca {

template <class T>
struct CacheLines {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  CacheLines() = default;
  template <class U>
  CacheLines(const CacheLines<U>&) {}

  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, line); }

  bool operator==(const CacheLines&) const = default;
};

using ModelVector = std::vector<double, CacheLines<double>>;

}  // namespace odca
