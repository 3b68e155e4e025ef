// The instruction-set level that this build is for. The sources of the folders in ODCA_LEVEL_FOLDERS (cpp/sources.cmake) are
// compiled once for each level of ODCA_LEVELS, all others once; each level is linked into a library of its own, and cpp/load
// picks one when Python imports the core. So no function that needs wide registers can end up in the library for machines that do not
// have them, whatever the linker does with templates and inline functions.
//
//     level       flags      packs
//     baseline               two doubles: SSE2, NEON
//     avx2        -mavx2     four doubles, eight floats
//
// To use wide registers in a source of these folders: take Pack4 (math/pack4.hpp), which is one register where there is room and two
// elsewhere, or write plain loops that the compiler vectorises; `#ifdef __AVX2__` is for math/ alone. Every element must be
// computed by the same operations in the same order at every level, so that models have the same bits: the digest test of .ci/run and
// tests/test_levels.py compare them. Nothing is fused: -ffp-contract=off, and FMA is not switched on.
//
// A class whose layout depends on the level must not be seen by sources outside these folders.
#pragma once

namespace odca {

const char* level();

}  // namespace odca
