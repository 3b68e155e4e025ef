// The separators of a line, found for 64 characters at once: so the next one is known before the characters in between were read, and
// the processor can read several features at the same time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace odca::text {

// The places of the given characters, in order.
template <char... separators>
class Separators {
 public:
  Separators(const char* from, const char* end) : from_(from), end_(end) { look(); }

  // The next place; the end of the text if there is none.
  const char* next() {
    while (found_ == 0) {
      if (end_ - from_ <= width) return end_;
      from_ += width;
      look();
    }
    const char* const place = from_ + std::countr_zero(found_);
    found_ &= found_ - 1;
    return place;
  }

 private:
  static constexpr std::ptrdiff_t width = 64;

  void look() {
    if (end_ - from_ >= width) {
      found_ = among(from_);
    } else {
      char rest[width] = {};
      std::copy(from_, end_, rest);
      found_ = among(rest);
    }
  }

  static std::uint64_t among(const char* const text) {
    std::uint64_t found = 0;
#if defined(__SSE2__)
    for (int k = 0; k < width; k += 16) {
      const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + k));
      __m128i is = _mm_setzero_si128();
      ((is = _mm_or_si128(is, _mm_cmpeq_epi8(sixteen, _mm_set1_epi8(separators)))), ...);
      found |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(is))} << k;
    }
#else
    for (int k = 0; k < width; ++k) found |= std::uint64_t{((text[k] == separators) || ...)} << k;
#endif
    return found;
  }

  const char *from_, *end_;
  std::uint64_t found_ = 0;  // bits of the separators in these 64 characters that were not returned yet
};

}  // namespace odca::text
