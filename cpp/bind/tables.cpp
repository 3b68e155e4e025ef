// Tables to events: CSV, and columns in memory; and what a sample of CSV tells of its columns.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <tuple>

#include "bind/arrays.hpp"
#include "bind/text.hpp"
#include "bind/topics.hpp"
#include "odca/errors.hpp"
#include "odca/features/vocabulary.hpp"
#include "odca/ingest/csv/csv.hpp"
#include "odca/ingest/csv/guess.hpp"
#include "odca/ingest/json/guess.hpp"
#include "odca/ingest/table/table.hpp"

namespace odca::bind {

namespace {

using text::Block;
using text::FeatureOptions;
using text::Kind;
using text::Role;
using text::TableColumn;

constexpr std::pair<const char*, Role> roles[] = {
    {"feature", Role::feature}, {"label", Role::label}, {"weight", Role::weight}, {"offset", Role::offset},
    {"time", Role::time},       {"group", Role::group}, {"tag", Role::tag},       {"ignored", Role::ignored}};
constexpr std::pair<const char*, Kind> kinds[] = {{"number", Kind::number},   {"category", Kind::category},
                                                  {"text", Kind::text},       {"date", Kind::date},
                                                  {"boolean", Kind::boolean}, {"any", Kind::any}};

template <class Choice, std::size_t n>
Choice named(const char* what, const std::string& name, const std::pair<const char*, Choice> (&choices)[n]) {
  for (const auto& [known, choice] : choices)
    if (name == known) return choice;
  throw InputError(std::string(what) + " cannot be " + name);
}

const char* name_of(Kind kind) {
  for (const auto& [name, known] : kinds)
    if (known == kind) return name;
  return "any";
}

// Name, role, kind, and whether a feature is the event's time too.
using PyColumn = std::tuple<std::string, std::string, std::string, bool>;

// The columns of a table: there may be many, so they are converted once, not with every block.
struct TableColumns {
  std::vector<TableColumn> all;

  explicit TableColumns(const std::vector<PyColumn>& columns) {
    for (const auto& [name, role, kind, is_time] : columns)
      all.push_back(
          {name, named("the role of a column", role, roles), named("the kind of a column", kind, kinds), is_time});
  }
};

text::CsvForm form_of(const std::string& delimiter, bool quoted) {
  if (delimiter.size() != 1) throw InputError("the delimiter must be one character of ASCII; got '" + delimiter + "'");
  return {delimiter[0], quoted};
}

std::unique_ptr<Block> read_csv(nb::handle data, const TableColumns& columns, const std::string& delimiter, bool quoted,
                                bool header, const FeatureOptions& features, bool skip_bad,
                                const text::Vocabulary* vocabulary) {
  const text::CsvForm form = form_of(delimiter, quoted);
  return with_block(data, vocabulary, [&](std::string_view text, Block& block) {
    text::read_csv(text, columns.all, form, header, features, skip_bad, block);
  });
}

// A column's values: numbers; codes and the strings that they stand for; seconds and whether they have a time of day; arrays, as
// where each begins, whether it is missing, the keys of a map, and the elements.
using PyCodedStrings = std::tuple<Vector<std::int32_t>, std::vector<nb::bytes>>;
using PyDates = std::tuple<Vector<double>, bool>;
using PyElements = std::variant<Vector<double>, PyCodedStrings>;
using PyArrays = std::tuple<Vector<std::int64_t>, Vector<std::uint8_t>, std::optional<PyCodedStrings>, PyElements>;
using PyValues = std::variant<Vector<double>, PyCodedStrings, PyDates, PyArrays>;

std::span<const double> span_of(const Vector<double>& array) { return {array.data(), array.shape(0)}; }

// The strings of a table stay where they are as long as this does.
using Kept = std::deque<std::vector<std::string_view>>;

text::CodedStrings strings_of(const PyCodedStrings& values, Kept& kept) {
  const auto& [codes, strings] = values;
  std::vector<std::string_view>& texts = kept.emplace_back();
  for (const nb::bytes& each : strings) texts.emplace_back(each.c_str(), each.size());
  return {{codes.data(), codes.shape(0)}, texts};
}

text::Arrays arrays_of(const PyArrays& values, Kept& kept) {
  const auto& [begins, missing, keys, elements] = values;
  text::Arrays arrays{{begins.data(), begins.shape(0)}, {missing.data(), missing.shape(0)}, {}, {}};
  if (keys) arrays.keys = strings_of(*keys, kept);
  if (const auto* numbers = std::get_if<Vector<double>>(&elements))
    arrays.elements = span_of(*numbers);
  else
    arrays.elements = strings_of(std::get<PyCodedStrings>(elements), kept);
  return arrays;
}

text::Values values_of(const PyValues& values, Kept& kept) {
  if (const auto* numbers = std::get_if<Vector<double>>(&values)) return span_of(*numbers);
  if (const auto* dates = std::get_if<PyDates>(&values))
    return text::Dates{span_of(std::get<0>(*dates)), std::get<1>(*dates)};
  if (const auto* arrays = std::get_if<PyArrays>(&values)) return arrays_of(*arrays, kept);
  return strings_of(std::get<PyCodedStrings>(values), kept);
}

std::unique_ptr<Block> read_table(const TableColumns& columns, const std::vector<PyValues>& values, std::int64_t rows,
                                  const FeatureOptions& features, bool skip_bad, const text::Vocabulary* vocabulary) {
  if (columns.all.size() != values.size()) throw InputError("each column must have its values");
  if (rows < 0) throw InputError("the number of rows must not be negative");
  Kept kept;
  std::vector<text::ValueColumn> table;
  for (std::size_t k = 0; k < values.size(); ++k) table.push_back({columns.all[k], values_of(values[k], kept)});
  auto block = std::make_unique<Block>();
  if (vocabulary) block->known = vocabulary->known();
  const nb::gil_scoped_release free_threads;
  text::read_table(table, rows, features, skip_bad, *block);
  return block;
}

std::vector<std::string> csv_fields(nb::handle sample, const std::string& delimiter, bool quoted) {
  try {
    return text::csv_fields(Bytes(sample).text(), form_of(delimiter, quoted));
  } catch (const text::Fault& fault) {
    throw InputError(fault.message);
  }
}

const Kind& kind_of(const std::string& name) {
  for (const auto& [known, kind] : kinds)
    if (name == known) return kind;
  throw InputError("there is no kind " + name);
}

std::vector<text::Tally> tally_csv(nb::handle sample, const std::string& delimiter, bool quoted, std::size_t columns,
                                   bool header, const FeatureOptions& features) {
  return text::tally_columns(Bytes(sample).text(), form_of(delimiter, quoted), columns, header,
                             features.missing_values);
}

std::vector<std::pair<std::string, text::Tally>> tally_json(nb::handle sample, const FeatureOptions& features) {
  return text::tally_keys(Bytes(sample).text(), features.missing_values);
}

nb::str decoded(const std::string& text) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

void bind_tally(nb::module_& m) {
  using text::Tally;
  nb::class_<Tally>(m, "Tally")
      .def(nb::init<>())
      .def(
          "add",
          [](Tally& self, const nb::typed<nb::list, std::optional<nb::str>>& values, const FeatureOptions& features,
             bool is_string) {
            for (const nb::handle value : values) {
              if (value.is_none())
                self.add_missing();
              else
                self.add(nb::cast<std::string_view>(value), features.missing_values, is_string);
            }
          },
          nb::arg("values"), nb::arg("features"), nb::arg("is_string"), "Count values of a column; None is missing.")
      .def(
          "kind", [](const Tally& self, const std::string& name) { return name_of(self.kind(name)); }, nb::arg("name"))
      .def(
          "exceptions", [](const Tally& self, const std::string& kind) { return self.exceptions(kind_of(kind)); },
          nb::arg("kind"))
      .def(
          "first_exception",
          [](const Tally& self, const std::string& kind) { return decoded(self.first_exception(kind_of(kind))); },
          nb::arg("kind"))
      .def("tells", &Tally::tells, nb::arg("label"))
      .def_prop_ro("count", &Tally::count)
      .def_prop_ro("missing", &Tally::missing)
      .def_prop_ro("distinct", &Tally::distinct)
      .def_prop_ro("is_constant", &Tally::is_constant)
      .def_prop_ro("counts_rows", &Tally::counts_rows)
      .def_prop_ro("example", [](const Tally& self) { return decoded(self.example()); })
      .def_prop_ro("orders", [](const Tally& self) {
        const Tally::Orders& orders = self.orders();
        return std::make_tuple(orders.day_first, orders.month_first, orders.either);
      });
  m.def("tally_csv", &tally_csv, nb::arg("sample"), nb::arg("delimiter"), nb::arg("quoted"), nb::arg("columns"),
        nb::arg("header"), nb::arg("features"));
  m.def("tally_json", &tally_json, nb::arg("sample"), nb::arg("features"));
}

// The delimiters behind which a quote opens a field; none: quotes mean nothing.
text::Quoting quoting_of(const std::string& delimiters) {
  return delimiters.empty() ? text::Quoting() : text::Quoting(delimiters);
}

std::string_view from(const Bytes& data, std::size_t begin) {
  if (begin > data.text().size()) throw InputError("the beginning must lie in the data");
  return data.text();
}

std::pair<std::size_t, std::size_t> whole_lines(nb::handle data, std::size_t begin, const std::string& delimiters,
                                                std::size_t most) {
  const Bytes bytes(data);
  const text::Lines found = text::whole_lines(from(bytes, begin), begin, quoting_of(delimiters), most);
  return {found.count, found.end};
}

std::size_t last_line_end(nb::handle data, std::size_t begin, const std::string& delimiters) {
  const Bytes bytes(data);
  const std::string_view text = from(bytes, begin);
  const text::Quoting quoting = quoting_of(delimiters);
  const nb::gil_scoped_release free_threads;
  return text::last_line_end(text, begin, quoting);
}

}  // namespace

void bind_tables(nb::module_& m) {
  nb::class_<TableColumns>(m, "TableColumns").def(nb::init<const std::vector<PyColumn>&>(), nb::arg("columns"));
  m.def("read_csv", &read_csv, nb::arg("data"), nb::arg("columns"), nb::arg("delimiter"), nb::arg("quoted"),
        nb::arg("header"), nb::arg("features"), nb::arg("skip_bad"), nb::arg("vocabulary").none());
  m.def("read_table", &read_table, nb::arg("columns"), nb::arg("values"), nb::arg("rows"), nb::arg("features"),
        nb::arg("skip_bad"), nb::arg("vocabulary").none());
  m.def(
      "guess_delimiter",
      [](nb::handle sample, bool quoted) {
        return std::string(1, text::guess_delimiter(Bytes(sample).text(), quoted));
      },
      nb::arg("sample"), nb::arg("quoted"));
  m.def("csv_fields", &csv_fields, nb::arg("sample"), nb::arg("delimiter"), nb::arg("quoted"));
  m.def(
      "guess_header",
      [](nb::handle sample, const std::string& delimiter, bool quoted, const FeatureOptions& features) {
        return text::guess_header(Bytes(sample).text(), form_of(delimiter, quoted), features.missing_values);
      },
      nb::arg("sample"), nb::arg("delimiter"), nb::arg("quoted"), nb::arg("features"));
  m.def("whole_lines", &whole_lines, nb::arg("data"), nb::arg("begin"), nb::arg("delimiters"), nb::arg("most"),
        "How many lines are whole, from `begin` on and up to `most`, and where the last of them ends.");
  m.def("last_line_end", &last_line_end, nb::arg("data"), nb::arg("begin"), nb::arg("delimiters"),
        "Where the last whole line ends, from the beginning of a line on; `begin` if none is whole.");
  m.def("header_fault", &text::header_fault, nb::arg("names"));
  bind_tally(m);
}

}  // namespace odca::bind
