// Loops in the widest registers that the machine has.
//
// The same source is compiled twice, for every 64-bit machine and for those with AVX2, and the machine decides at run time. Every
// element is computed by the same operations in the same order, and nothing is fused or reordered, so both give the same bits.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#define ODCA_HAS_WIDER_REGISTERS 1
#else
#define ODCA_HAS_WIDER_REGISTERS 0
#endif

namespace odca {

namespace detail {

#if ODCA_HAS_WIDER_REGISTERS
inline const bool machine_is_wide = [] {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0;
}();

// `flatten`: all that the loop calls becomes part of this function, and so is compiled for its registers.
template <class Loop>
[[gnu::target("avx2"), gnu::flatten, gnu::noinline]] void in_wide_registers(const Loop& loop) {
  loop();
}
#endif

}  // namespace detail

// For a loop over plain numbers, which the compiler can vectorise.
template <class Loop>
[[gnu::always_inline]] inline void widest(const Loop& loop) {
#if ODCA_HAS_WIDER_REGISTERS
  if (detail::machine_is_wide) return detail::in_wide_registers(loop);
#endif
  loop();
}

}  // namespace odca
