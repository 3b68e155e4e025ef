#include "odca/ingest/table/table.hpp"

#include "odca/errors.hpp"
#include "odca/features/cells.hpp"
#include "odca/ingest/lines.hpp"

namespace odca::text {

namespace {

std::vector<TableColumn> columns_of(const std::vector<ValueColumn>& columns) {
  std::vector<TableColumn> out;
  for (const ValueColumn& each : columns) out.push_back(each.column);
  return out;
}

// What reads the cells of one column.
struct ReadCell {
  Cells& cells;
  const CellPlan& plan;
  std::size_t row;

  void operator()(std::span<const double> numbers) const { cells.value(plan, numbers[row]); }
  void operator()(const CodedStrings& strings) const {
    const std::int32_t code = strings.codes[row];
    if (code < 0) return cells.missing(plan, plan.column.name);
    const std::string_view cell = strings.strings[static_cast<std::size_t>(code)];
    cells.string(plan, cell, cell);
  }
  void operator()(const Dates& dates) const { cells.date_value(plan, {dates.seconds[row], dates.with_time}); }
};

void check(const ValueColumn& each, std::size_t rows) {
  const auto fail = [&](const std::string& what) { throw InputError("the column " + shown(each.column.name) + what); };
  std::size_t size = 0;
  if (const auto* numbers = std::get_if<std::span<const double>>(&each.values)) size = numbers->size();
  if (const auto* dates = std::get_if<Dates>(&each.values)) size = dates->seconds.size();
  if (const auto* strings = std::get_if<CodedStrings>(&each.values)) {
    size = strings->codes.size();
    for (const std::int32_t code : strings->codes)
      if (code >= 0 && static_cast<std::size_t>(code) >= strings->strings.size())
        fail(" has the code " + std::to_string(code) + ", and there are " + std::to_string(strings->strings.size()) +
             " strings");
  }
  if (size < rows) fail(" has " + std::to_string(size) + " values, expected " + std::to_string(rows));
}

}  // namespace

void read_table(const std::vector<ValueColumn>& columns, std::int64_t rows, const FeatureOptions& options,
                bool skip_bad, Block& block) {
  for (const ValueColumn& each : columns) check(each, static_cast<std::size_t>(rows));
  Cells cells(columns_of(columns), options, block);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    const auto read_row = [&] {
      for (std::size_t k = 0; k < columns.size(); ++k)
        std::visit(ReadCell{cells, cells.plans()[k], row}, columns[k].values);
      cells.finish({});
    };
    if (!attempt({}, skip_bad, block, read_row, [&] { cells.forget(); })) break;
    ++block.lines;
  }
  cells.close();
}

}  // namespace odca::text
