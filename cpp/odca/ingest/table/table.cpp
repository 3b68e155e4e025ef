#include "odca/ingest/table/table.hpp"

#include <cmath>

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

Value value_of(std::span<const double> numbers, std::size_t at, std::string_view where) {
  return std::isnan(numbers[at]) ? Value::none(where) : Value::of_number(numbers[at], where);
}

Value value_of(const CodedStrings& strings, std::size_t at, std::string_view where) {
  const std::int32_t code = strings.codes[at];
  return code < 0 ? Value::none(where) : Value::of_text(strings.strings[static_cast<std::size_t>(code)], where);
}

// What reads the cells of one column.
struct ReadCell {
  Cells& cells;
  const CellPlan& plan;
  std::size_t row;
  std::vector<Field*>& parts;  // the fields of an array's elements, by their places, or by the codes of their keys

  void operator()(std::span<const double> numbers) const { cells.value(plan, numbers[row]); }
  void operator()(const CodedStrings& strings) const {
    const std::int32_t code = strings.codes[row];
    if (code < 0) return cells.missing(plan, plan.column.name);
    const std::string_view cell = strings.strings[static_cast<std::size_t>(code)];
    cells.string(plan, cell, cell);
  }
  void operator()(const Dates& dates) const { cells.date_value(plan, {dates.seconds[row], dates.with_time}); }
  void operator()(const Arrays& arrays) const {
    const std::string_view where = plan.column.name;
    if (arrays.missing[row]) return cells.missing(plan, where);
    const auto begin = static_cast<std::size_t>(arrays.begins[row]),
               end = static_cast<std::size_t>(arrays.begins[row + 1]);
    for (std::size_t at = begin; at < end; ++at) {
      const Value value =
          std::visit([&](const auto& elements) { return value_of(elements, at, where); }, arrays.elements);
      const std::size_t number = arrays.keys ? static_cast<std::size_t>(arrays.keys->codes[at]) : at - begin;
      if (parts.size() <= number) parts.resize(number + 1);
      const auto name = [&] {
        return arrays.keys ? std::string(arrays.keys->strings[number]) : std::to_string(number);
      };
      cells.element(plan, parts[number], name, arrays.keys.has_value(), value);
    }
  }
};

// The faults of what Python passes in: `fail` says what is wrong with the column.
struct CheckSize {
  const std::string& name;

  [[noreturn]] void fail(const std::string& what) const { throw InputError("the column " + shown(name) + what); }
  void at_least(std::size_t size, std::size_t rows) const {
    if (size < rows) fail(" has " + std::to_string(size) + " values, expected " + std::to_string(rows));
  }
  void operator()(std::span<const double> numbers, std::size_t rows) const { at_least(numbers.size(), rows); }
  void operator()(const Dates& dates, std::size_t rows) const { at_least(dates.seconds.size(), rows); }
  void operator()(const CodedStrings& strings, std::size_t rows) const {
    at_least(strings.codes.size(), rows);
    for (const std::int32_t code : strings.codes)
      if (code >= 0 && static_cast<std::size_t>(code) >= strings.strings.size())
        fail(" has the code " + std::to_string(code) + ", and there are " + std::to_string(strings.strings.size()) +
             " strings");
  }
  void operator()(const Arrays& arrays, std::size_t rows) const {
    at_least(arrays.missing.size(), rows);
    at_least(arrays.begins.size(), rows + 1);
    for (std::size_t row = 0; row < rows; ++row)
      if (arrays.begins[row] < 0 || arrays.begins[row + 1] < arrays.begins[row])
        fail(" has arrays that do not follow each other");
    const auto elements = static_cast<std::size_t>(arrays.begins[rows]);
    std::visit([&](const auto& values) { (*this)(values, elements); }, arrays.elements);
    if (!arrays.keys) return;
    (*this)(*arrays.keys, elements);
    for (const std::int32_t code : arrays.keys->codes)
      if (code < 0) fail(" has a map with a key that is missing");
  }
};

}  // namespace

void read_table(const std::vector<ValueColumn>& columns, std::int64_t rows, const FeatureOptions& options,
                bool skip_bad, Block& block) {
  const auto count = static_cast<std::size_t>(rows);
  for (const ValueColumn& each : columns)
    std::visit([&](const auto& values) { CheckSize{each.column.name}(values, count); }, each.values);
  Cells cells(columns_of(columns), options, block);
  std::vector<std::vector<Field*>> parts(columns.size());
  for (std::size_t row = 0; row < count; ++row) {
    const auto read_row = [&] {
      for (std::size_t k = 0; k < columns.size(); ++k)
        std::visit(ReadCell{cells, cells.plans()[k], row, parts[k]}, columns[k].values);
      cells.finish({});
    };
    if (!attempt({}, skip_bad, block, read_row, [&] { cells.forget(); })) break;
    ++block.lines;
  }
  cells.close();
}

}  // namespace odca::text
