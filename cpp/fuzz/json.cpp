#include "odca/ingest/json/json.hpp"

#include "fuzz.hpp"
#include "odca/ingest/json/guess.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace odca::fuzz;
  const Case given = case_of(as_text(data, size), false);
  odca::text::RoleNames roles;
  if (given.more & 1) roles.label = "y";
  if (given.more & 2) roles.weight = "w", roles.offset = "o";
  if (given.more & 4) roles.time = "t", roles.group = "g";
  if (given.more & 8) roles.tag = "a.id";
  for (const auto& [path, tally] : odca::text::tally_keys(given.text, given.options.missing_values)) {
    check(tally.exceptions(tally.kind(path)) >= 0, "exceptions are values");
    check(tally.distinct() <= tally.count() - tally.missing(), "different values are values");
  }
  return run(given, {}, [&](std::string_view text, const FeatureOptions& options, bool skip_bad, Block& block) {
    odca::text::read_json(text, roles, options, skip_bad, block);
  });
}
