#include "odca/ingest/libsvm/libsvm.hpp"

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace odca::fuzz;
  return run(case_of(as_text(data, size), true), {}, odca::text::read_libsvm);
}
