#include "odca/ingest/vw/vw.hpp"

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace odca::fuzz;
  return run(case_of(as_text(data, size), false), {}, odca::text::read_vw);
}
