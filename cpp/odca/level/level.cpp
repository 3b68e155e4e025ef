#include "odca/level/level.hpp"

namespace odca {

const char* level() {
#ifdef __AVX2__
  return "avx2";
#else
  return "baseline";
#endif
}

}  // namespace odca
