#include "odca/ingest/csv/csv.hpp"

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace odca::fuzz;
  using odca::text::Kind;
  using odca::text::Role;
  const Case given = case_of(as_text(data, size), false);
  // The columns have the names that the options speak of.
  std::vector<odca::text::TableColumn> columns = {{"a", Role::feature, Kind(given.more & 7), false},
                                                  {"c", Role::feature, Kind::any, false},
                                                  {"y", Role::label, Kind::any, false}};
  if ((given.more & 7) > 4) columns[0].kind = Kind::any;
  if (given.more & 8) columns.push_back({"a.b", Role::feature, Kind::number, false});
  if (given.more & 16) columns.push_back({"t", Role::time, Kind::any, false});
  if (given.more & 32) columns.push_back({"b", Role::feature, Kind::date, !(given.more & 16)});
  if (given.more & 64) columns.push_back({"id", Role::tag, Kind::any, false});
  if (given.more & 128) columns.push_back({"w", Role::weight, Kind::any, false});
  const odca::text::CsvForm form{given.text.size() % 3 ? ',' : ';', given.text.size() % 5 != 0,
                                 given.text.size() % 7 == 0};
  return run(given, form.quoting(),
             [&](std::string_view text, const FeatureOptions& options, bool skip_bad, Block& block) {
               odca::text::read_csv(text, columns, form, false, options, skip_bad, block);
             });
}
