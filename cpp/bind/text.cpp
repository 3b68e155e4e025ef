// Text to events. A block holds the events of a piece of text; its arrays are handed to NumPy without a copy.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "bind/arrays.hpp"
#include "bind/date_spans.hpp"
#include "bind/dictionary.hpp"
#include "bind/text.hpp"
#include "bind/topics.hpp"
#include "odca/features/history.hpp"
#include "odca/features/vocabulary.hpp"
#include "odca/ingest/checksum.hpp"
#include "odca/ingest/json/json.hpp"
#include "odca/ingest/libsvm/libsvm.hpp"
#include "odca/ingest/vw/vw.hpp"

namespace odca::bind {

namespace {

using text::Block;
using text::Checksum;
using text::FeatureOptions;
using text::RoleNames;
using text::Vocabulary;

template <class Choice>
Choice chosen(const char* what, const std::string& name,
              std::initializer_list<std::pair<const char*, Choice>> choices) {
  for (const auto& [known, choice] : choices)
    if (name == known) return choice;
  throw InputError(std::string(what) + " cannot be " + name);
}

// A line of history: its source (empty for the label), its keys, and its features: the statistic, whether its size is a time, the size
// and the name.
using PyHistoryLine =
    std::tuple<std::string, std::vector<std::string>, std::vector<std::tuple<std::string, bool, double, std::string>>>;

text::HistoryOptions history_of(const std::vector<PyHistoryLine>& lines, std::int64_t most_keys) {
  using text::Statistic;
  text::HistoryOptions out;
  out.most_keys = most_keys;
  for (const auto& [source, keys, features] : lines) {
    text::HistoryLine& line = out.lines.emplace_back();
    if (!source.empty()) line.source = out.numbers.add(source);
    std::vector<std::int32_t> group;
    for (const std::string& key : keys) group.push_back(out.keys.add(key));
    if (!group.empty()) {
      const auto at = std::find(out.groups.begin(), out.groups.end(), group);
      line.group = static_cast<std::int32_t>(at - out.groups.begin());
      if (at == out.groups.end()) out.groups.push_back(group);
    }
    for (const auto& [statistic, timed, size, name] : features) {
      if (!timed && !(size >= 0.0 && size <= text::most_events_of_a_series))
        throw InputError("history cannot be that long");
      line.features.push_back({chosen<Statistic>("a statistic", statistic,
                                                 {{"lag", Statistic::lag},
                                                  {"mean", Statistic::mean},
                                                  {"std", Statistic::deviation},
                                                  {"min", Statistic::minimum},
                                                  {"max", Statistic::maximum},
                                                  {"change", Statistic::change},
                                                  {"since", Statistic::since}}),
                               timed, size, name});
    }
  }
  return out;
}

template <class T>
using View = nb::ndarray<nb::numpy, const T, nb::ndim<1>>;
using Names = nb::typed<nb::list, nb::bytes>;
using BadLine = nb::typed<nb::tuple, std::uint32_t, std::int64_t, nb::bytes, nb::bytes, nb::bytes>;
using Misfit = nb::typed<nb::tuple, nb::bytes, std::int64_t, std::uint32_t, nb::bytes>;

// An array of a block's, which lives as long as the array does.
template <class T>
View<T> view(const nb::object& owner, const std::vector<T>& values) {
  return View<T>(values.data(), {values.size()}, owner);
}

nb::bytes to_bytes(std::string_view text) { return nb::bytes(text.data(), text.size()); }

template <class Table>
Names names_of(const Table& names) {
  nb::list out;
  for (std::int32_t k = 0; k < names.size(); ++k) out.append(to_bytes(names[k]));
  return out;
}

Names tags_of(const Block& block) {
  nb::list out;
  for (const std::string& tag : block.tag) out.append(to_bytes(tag));
  return out;
}

nb::typed<nb::list, BadLine> bad_lines_of(const Block& block) {
  nb::list out;
  for (const auto& bad : block.bad)
    out.append(nb::make_tuple(bad.line, bad.column, to_bytes(bad.message), to_bytes(bad.remedy), to_bytes(bad.field)));
  return out;
}

nb::typed<nb::list, Misfit> misfits_of(const Block& block) {
  nb::list out;
  for (const auto& each : block.misfits)
    out.append(nb::make_tuple(to_bytes(each.field), each.count, each.line, to_bytes(each.text)));
  return out;
}

PyMatrix matrix(const nb::object& self) {
  const Block& block = nb::cast<const Block&>(self);
  PyMatrix out;
  out.batch.matrix =
      SparseMatrix<std::int32_t, double>{block.rows.start.data(), block.rows.index.data(), block.rows.value.data(),
                                         static_cast<std::int64_t>(block.rows.index.size())};
  out.batch.rows = block.size();
  out.batch.width = block.width;
  out.batch.widens = true;
  out.owner = self;
  return out;
}

// None where no event has a value.
std::optional<View<double>> column(const nb::object& self, const text::OptionalNumbers Block::* which) {
  const auto& values = (nb::cast<const Block&>(self).*which).values();
  if (values.empty()) return std::nullopt;
  return view(self, values);
}

// The vector of a block that `which` is, or that `which` returns of its rows.
template <class T>
auto array(const std::vector<T> Block::* which) {
  return [which](const nb::object& self) { return view(self, nb::cast<const Block&>(self).*which); };
}
template <class T>
auto array(const std::vector<T> SparseRows::* which) {
  return [which](const nb::object& self) { return view(self, nb::cast<const Block&>(self).rows.*which); };
}
auto optional_array(const text::OptionalNumbers Block::* which) {
  return [which](const nb::object& self) { return column(self, which); };
}

template <auto read>
std::unique_ptr<Block> parsed(nb::handle data, const FeatureOptions& features, bool skip_bad,
                              const Vocabulary* vocabulary) {
  return with_block(data, vocabulary,
                    [&](std::string_view text, Block& block) { read(text, features, skip_bad, block); });
}

std::unique_ptr<Block> read_json(nb::handle data, const RoleNames& roles, const FeatureOptions& features, bool skip_bad,
                                 const Vocabulary* vocabulary) {
  return with_block(data, vocabulary, [&](std::string_view text, Block& block) {
    text::read_json(text, roles, features, skip_bad, block);
  });
}

// Events that are dictionaries.
std::unique_ptr<Block> read_events(const EventList& events, const RoleNames& roles, const FeatureOptions& features,
                                   const Vocabulary* vocabulary) {
  auto block = std::make_unique<Block>();
  if (vocabulary) block->known = vocabulary->known();
  text::Builder builder(features, *block, features.nested);
  DictionaryVisitor visitor(builder, roles);
  read_many(events, nb::len(nb::handle(events)), [&](nb::handle event) {
    visitor.read(event);
    builder.finish({});
    ++block->lines;
  });
  builder.close();
  return block;
}

// The places of the labels among classes: numbers, in order, and texts by their number among the block's. -1 for a label that is
// none of them, or not there; and how many these are.
std::pair<nb::ndarray<nb::numpy, std::int32_t>, std::int64_t> codes_of(const Block& block,
                                                                       const Vector<double>& numbers,
                                                                       const Vector<std::int32_t>& places,
                                                                       const Vector<std::int32_t>& texts) {
  if (numbers.shape(0) != places.shape(0) || texts.shape(0) != static_cast<std::size_t>(block.label_names.size()))
    throw InputError("there must be a place for each class");
  const double *const first = numbers.data(), *const last = first + numbers.shape(0);
  std::vector<std::int32_t> codes(block.label.size());
  std::int64_t unknown = 0;
  for (std::size_t k = 0; k < codes.size(); ++k) {
    const double number = block.label[k];
    if (block.label_text[k] >= 0) {
      codes[k] = texts.data()[block.label_text[k]];
    } else {
      const double* const at = std::lower_bound(first, last, number);
      codes[k] = at != last && *at == number ? places.data()[at - first] : -1;
    }
    unknown += codes[k] < 0;
  }
  return {to_numpy(std::move(codes)), unknown};
}

std::int64_t unlabelled(const Block& block) {
  std::int64_t count = 0;
  for (std::size_t k = 0; k < block.label.size(); ++k) count += std::isnan(block.label[k]) && block.label_text[k] < 0;
  return count;
}

// The number of features of each event.
nb::ndarray<nb::numpy, std::int32_t> lengths_of(const Block& block) {
  const std::vector<std::int32_t>& start = block.rows.start;
  std::vector<std::int32_t> lengths(start.size() - 1);
  for (std::size_t k = 0; k < lengths.size(); ++k) lengths[k] = start[k + 1] - start[k];
  return to_numpy(std::move(lengths));
}

void bind_block(nb::module_& m) {
  nb::class_<Block>(m, "TextBlock")
      .def("__len__", &Block::size)
      .def("matrix", &matrix)
      .def_prop_ro("width", [](const Block& b) { return b.width; })
      .def_prop_ro("indptr", array(&SparseRows::start))
      .def_prop_ro("indices", array(&SparseRows::index))
      .def_prop_ro("data", array(&SparseRows::value))
      .def_prop_ro("label", array(&Block::label))
      .def_prop_ro("label_text", array(&Block::label_text))
      .def_prop_ro("label_names", [](const Block& b) { return names_of(b.label_names); })
      .def_prop_ro("unlabelled", &unlabelled)
      .def("lengths", &lengths_of)
      .def("codes", &codes_of, nb::arg("numbers"), nb::arg("places"), nb::arg("texts"))
      .def_prop_ro("weight", optional_array(&Block::weight))
      .def_prop_ro("offset", optional_array(&Block::offset))
      .def_prop_ro("time", optional_array(&Block::time))
      .def_prop_ro("group", optional_array(&Block::group))
      .def_prop_ro("line", array(&Block::line))
      .def_prop_ro("tag", &tags_of)
      .def_prop_ro("dates", [](const Block& b) { return saved(b.date_spans(b.size())); })
      .def_prop_ro("bad", &bad_lines_of)
      .def_prop_ro("misfits", &misfits_of)
      .def_prop_ro("bad_count", [](const Block& b) { return b.bad_count; })
      .def_prop_ro("stray_quotes", [](const Block& b) { return b.stray_quotes; })
      .def_prop_ro("first_stray_quote", [](const Block& b) { return b.first_stray_quote; })
      .def_prop_ro("stopped", [](const Block& b) { return b.stopped; })
      .def_prop_ro("lines", [](const Block& b) { return b.lines; })
      .def_prop_ro("bytes", [](const Block& b) { return b.bytes; })
      .def(
          "part",
          [](const Block& block, std::int64_t first, std::int64_t last) {
            if (first < 0 || last < first || last > block.size())
              throw InputError("a part begins and ends inside the block");
            return block.part(static_cast<std::size_t>(first), static_cast<std::size_t>(last));
          },
          nb::arg("first"), nb::arg("last"))
      .def(
          "keep",
          [](Block& block, const Vector<std::uint8_t>& kept) {
            if (kept.shape(0) != static_cast<std::size_t>(block.size()))
              throw InputError("it must be said of each event whether it is kept");
            block.keep(to_vector(kept));
          },
          nb::arg("kept"))
      .def(
          "resolve",
          [](Block& block, const Vector<std::int32_t>& places, std::int64_t width) {
            if (places.shape(0) != static_cast<std::size_t>(block.names.size()))
              throw InputError("there must be a place for each name of the block");
            const std::vector<std::int32_t> known = to_vector(places);
            const nb::gil_scoped_release free_threads;
            Vocabulary::resolve(known, width, block);
          },
          nb::arg("places"), nb::arg("width"));
}

void add_to(Checksum& checksum, nb::handle data) {
  const Bytes bytes(data);
  const nb::gil_scoped_release free_threads;
  checksum.add(bytes.text());
}

std::string hexadecimal(std::uint64_t number) {
  std::string out(16, '0');
  for (auto digit = out.rbegin(); digit != out.rend(); ++digit, number >>= 4) *digit = "0123456789abcdef"[number & 15];
  return out;
}

}  // namespace

void bind_text(nb::module_& m) {
  using Fields = std::vector<std::string>;
  nb::class_<FeatureOptions>(m, "TextFeatures")
      .def(nb::new_([](const std::string& space, int bits, const Fields& keep, const Fields& ignore,
                       std::vector<Fields> interactions, const Fields& text, const Fields& categorical,
                       const Fields& numeric, const Fields& dates, const Fields& booleans, int ngrams,
                       const std::string& missing, bool nested, const Fields& guessed, bool day_first, bool trend,
                       bool find_dates, const std::optional<Fields>& na_values,
                       const std::vector<PyHistoryLine>& history, std::int64_t history_keys,
                       const std::optional<std::pair<int, int>>& chars, bool sublinear, bool tf_idf, bool unit_norm,
                       const std::optional<std::int64_t>& text_length, const SavedDates& date_spans, bool predicts) {
             FeatureOptions options;
             options.space = chosen<text::Space>(
                 "space", space,
                 {{"indices", text::Space::indices}, {"names", text::Space::names}, {"hashed", text::Space::hashed}});
             options.bits = bits;
             options.keep = keep, options.ignore = ignore;
             options.interactions = std::move(interactions);
             options.text = text, options.categorical = categorical, options.numeric = numeric;
             options.dates = dates, options.booleans = booleans;
             options.texts.words = ngrams, options.nested = nested;
             if (chars) std::tie(options.texts.fewest_characters, options.texts.most_characters) = *chars;
             options.texts.sublinear = sublinear, options.texts.inverse_frequencies = tf_idf;
             options.texts.unit_norm = unit_norm, options.texts.length = text_length.value_or(0);
             options.guessed = guessed, options.day_first = day_first, options.trend = trend;
             options.find_dates = find_dates;
             options.date_spans = spans_from(date_spans), options.predicts = predicts;
             options.history = history_of(history, history_keys);
             if (na_values) options.missing_values = text::MissingValues(*na_values);
             options.missing = chosen<text::Missing>("missing", missing,
                                                     {{"ignore", text::Missing::ignore},
                                                      {"indicate", text::Missing::indicate},
                                                      {"error", text::Missing::error}});
             return options;
           }),
           nb::kw_only(), nb::arg("space"), nb::arg("bits"), nb::arg("keep"), nb::arg("ignore"),
           nb::arg("interactions"), nb::arg("text"), nb::arg("categorical"), nb::arg("numeric"), nb::arg("dates"),
           nb::arg("booleans"), nb::arg("ngrams"), nb::arg("missing"), nb::arg("nested"), nb::arg("guessed"),
           nb::arg("day_first"), nb::arg("trend"), nb::arg("find_dates"), nb::arg("na_values").none(),
           nb::arg("history"), nb::arg("history_keys"), nb::arg("chars").none(), nb::arg("sublinear"),
           nb::arg("tf_idf"), nb::arg("unit_norm"), nb::arg("text_length").none(), nb::arg("date_spans"),
           nb::arg("predicts"))
      .def("first_names", [](const FeatureOptions& self) -> Names {
        nb::list out;
        for (const std::string& name : text::history_names(self)) out.append(to_bytes(name));
        return out;
      });
  bind_block(m);
  nb::class_<Vocabulary>(m, "Vocabulary")
      .def(nb::init<>())
      .def("__len__", [](const Vocabulary& self) { return self.size(); })
      .def(
          "absorb",
          [](Vocabulary& self, const Block& block, bool grow) {
            std::vector<std::int32_t> places;
            {
              const nb::gil_scoped_release free_threads;
              places = self.absorb(block, grow);
            }
            return to_numpy(std::move(places));
          },
          nb::arg("block"), nb::arg("grow"))
      .def("keys",
           [](const Vocabulary& self) -> Names {
             nb::list out;
             self.each([&](std::string_view name) { out.append(to_bytes(name)); });
             return out;
           })
      .def("cut", &Vocabulary::cut, nb::arg("size"), nb::call_guard<nb::gil_scoped_release>())
      .def("packed", [](const Vocabulary& self) { return to_bytes(self.bytes()); })
      .def("ends", [](const Vocabulary& self) { return to_numpy(self.ends()); })
      .def(
          "restore",
          [](Vocabulary& self, nb::bytes bytes, nb::handle ends) {
            self.restore({bytes.c_str(), bytes.size()}, to_vector(named_array<std::int64_t>(ends, "name_ends")));
          },
          nb::arg("bytes"), nb::arg("ends"));
  nb::class_<Checksum>(m, "Checksum")
      .def(nb::init<>())
      .def("copy", [](const Checksum& self) { return self; })
      .def("add", &add_to, nb::arg("data"))
      .def(
          "digest",
          [](Checksum self, nb::handle data) {
            add_to(self, data);
            return hexadecimal(self.value());
          },
          nb::arg("data") = nb::bytes("", 0), "The checksum of all that was added, and then of `data`.");
  m.def("read_libsvm", &parsed<&text::read_libsvm>, nb::arg("data"), nb::arg("features"), nb::arg("skip_bad"),
        nb::arg("vocabulary").none());
  m.def("read_vw", &parsed<&text::read_vw>, nb::arg("data"), nb::arg("features"), nb::arg("skip_bad"),
        nb::arg("vocabulary").none());
  nb::class_<RoleNames>(m, "RoleNames")
      .def(nb::new_([](std::string label, std::string weight, std::string offset, std::string time, std::string group,
                       std::string tag, std::string also_time) {
             return RoleNames{.label = std::move(label),
                              .weight = std::move(weight),
                              .offset = std::move(offset),
                              .group = std::move(group),
                              .time = std::move(time),
                              .tag = std::move(tag),
                              .also_time = std::move(also_time)};
           }),
           nb::kw_only(), nb::arg("label"), nb::arg("weight"), nb::arg("offset"), nb::arg("time"), nb::arg("group"),
           nb::arg("tag"), nb::arg("also_time") = "");
  m.def("read_json", &read_json, nb::arg("data"), nb::arg("roles"), nb::arg("features"), nb::arg("skip_bad"),
        nb::arg("vocabulary").none());
  m.def("read_events", &read_events, nb::arg("events"), nb::arg("roles"), nb::arg("features"),
        nb::arg("vocabulary").none());
}

}  // namespace odca::bind
