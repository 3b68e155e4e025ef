// What a sample of a table tells; and the sample, read by what it told.
#include "odca/ingest/csv/guess.hpp"

#include "fuzz.hpp"
#include "odca/ingest/csv/csv.hpp"

namespace {

using namespace odca::fuzz;

std::vector<std::string> fields_of(std::string_view text, odca::text::CsvForm form) {
  try {
    return odca::text::csv_fields(text, form);
  } catch (const odca::text::Fault& fault) {
    check(!fault.message.empty(), "a fault says what is wrong");
    return {};
  }
}

void check_sample(const Case& given) {
  const bool quoted = given.text.size() % 5 != 0;
  odca::text::CsvForm form{odca::text::guess_delimiter(given.text, quoted), quoted};
  form.decimal_comma = odca::text::guess_decimal(given.text, form) == ',';
  const std::vector<std::string> fields = fields_of(given.text, form);
  const odca::text::MissingValues& missing = given.options.missing_values;
  const bool header = odca::text::guess_header(given.text, form, missing);
  const auto tallies = odca::text::tally_columns(given.text, form, fields.size(), header, missing);
  check(tallies.size() == fields.size(), "each column has a kind");
  if (fields.empty() || !odca::text::header_fault(fields).empty()) return;
  std::vector<odca::text::TableColumn> columns;
  for (std::size_t k = 0; k < fields.size(); ++k) {
    const odca::text::Tally& tally = tallies[k];
    const odca::text::Kind kind = tally.kind(fields[k]);
    check(tally.exceptions(kind) >= 0 && tally.exceptions(kind) <= tally.count() - tally.missing(),
          "exceptions are values");
    check((tally.exceptions(kind) == 0) == tally.first_exception(kind).empty(), "an exception is shown");
    check(tally.distinct() <= tally.count() - tally.missing(), "different values are values");
    check(tally.count() == tallies[0].count(), "columns are equally long");
    tally.tells(tallies[0]);
    columns.push_back({fields[k], odca::text::Role::feature, kind, false});
  }
  Block block;
  odca::text::read_csv(given.text, columns, form, true, given.options, given.skip_bad, block);
  check_events(block, given.options.space);
  for (const auto& bad : block.bad) check(!bad.message.starts_with("the header"), "a header names its own columns");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_sample(case_of(as_text(data, size), false));
  return 0;
}
