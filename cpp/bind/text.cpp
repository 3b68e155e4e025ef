// Text to events. A block holds the events of a piece of text; its arrays are handed to NumPy without a copy.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/arrays.hpp"
#include "bind/text.hpp"
#include "bind/topics.hpp"
#include "odca/text/libsvm.hpp"
#include "odca/text/vocabulary.hpp"
#include "odca/text/vw.hpp"

namespace odca::bind {

namespace {

using text::Block;
using text::FeatureOptions;
using text::Vocabulary;

template <class Choice>
Choice chosen(const char* what, const std::string& name,
              std::initializer_list<std::pair<const char*, Choice>> choices) {
  for (const auto& [known, choice] : choices)
    if (name == known) return choice;
  throw InputError(std::string(what) + " cannot be " + name);
}

// An array of a block's, which lives as long as the array does.
template <class T>
nb::object view(const nb::object& owner, const std::vector<T>& values) {
  return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(values.data(), {values.size()}, owner));
}

nb::list names_of(const text::NameTable& names) {
  nb::list out;
  for (std::int32_t k = 0; k < names.size(); ++k) out.append(nb::bytes(names[k].data(), names[k].size()));
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

using Optional = nb::typed<nb::object, nb::any>;

// None where no event has a value.
nb::object column(const nb::object& self, const text::Column Block::* which) {
  const auto& values = (nb::cast<const Block&>(self).*which).values();
  return values.empty() ? nb::none() : view(self, values);
}

template <auto read>
std::unique_ptr<Block> parsed(nb::handle data, const FeatureOptions& features, bool skip_bad) {
  return with_block(data, [&](std::string_view text, Block& block) { read(text, features, skip_bad, block); });
}

void bind_block(nb::module_& m) {
  nb::class_<Block>(m, "TextBlock")
      .def("__len__", &Block::size)
      .def("matrix", &matrix)
      .def_prop_ro("width", [](const Block& b) { return b.width; })
      .def_prop_ro("indptr", [](const nb::object& self) { return view(self, nb::cast<Block&>(self).rows.start); })
      .def_prop_ro("indices", [](const nb::object& self) { return view(self, nb::cast<Block&>(self).rows.index); })
      .def_prop_ro("data", [](const nb::object& self) { return view(self, nb::cast<Block&>(self).rows.value); })
      .def_prop_ro("label", [](const nb::object& self) { return view(self, nb::cast<Block&>(self).label); })
      .def_prop_ro("label_text", [](const nb::object& self) { return view(self, nb::cast<Block&>(self).label_text); })
      .def_prop_ro("label_names", [](const Block& b) { return names_of(b.label_names); })
      .def_prop_ro("weight", [](const nb::object& self) { return column(self, &Block::weight); })
      .def_prop_ro("offset", [](const nb::object& self) { return column(self, &Block::offset); })
      .def_prop_ro("time", [](const nb::object& self) { return column(self, &Block::time); })
      .def_prop_ro("group", [](const nb::object& self) { return column(self, &Block::group); })
      .def_prop_ro("line", [](const nb::object& self) { return view(self, nb::cast<Block&>(self).line); })
      .def_prop_ro("tag",
                   [](const Block& b) {
                     nb::list out;
                     for (const std::string& tag : b.tag) out.append(nb::bytes(tag.data(), tag.size()));
                     return out;
                   })
      .def_prop_ro(
          "bad",
          [](const Block& b) {
            nb::list out;
            for (const auto& bad : b.bad)
              out.append(nb::make_tuple(bad.line, bad.column, nb::bytes(bad.message.data(), bad.message.size())));
            return out;
          })
      .def_prop_ro("bad_count", [](const Block& b) { return b.bad_count; })
      .def_prop_ro("stopped", [](const Block& b) { return b.stopped; })
      .def_prop_ro("lines", [](const Block& b) { return b.lines; })
      .def_prop_ro("bytes", [](const Block& b) { return b.bytes; })
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

}  // namespace

void bind_text(nb::module_& m) {
  using Names = std::vector<std::string>;
  nb::class_<FeatureOptions>(m, "TextFeatures")
      .def(nb::new_([](const std::string& space, int bits, Names keep, Names ignore, std::vector<Names> interactions,
                       Names text, Names categorical, Names numeric, int ngrams, const std::string& missing) {
             FeatureOptions options;
             options.space = chosen<text::Space>(
                 "space", space,
                 {{"indices", text::Space::indices}, {"names", text::Space::names}, {"hashed", text::Space::hashed}});
             options.bits = bits;
             options.keep = std::move(keep), options.ignore = std::move(ignore);
             options.interactions = std::move(interactions);
             options.text = std::move(text), options.categorical = std::move(categorical);
             options.numeric = std::move(numeric);
             options.ngrams = ngrams;
             options.missing = chosen<text::Missing>("missing", missing,
                                                     {{"ignore", text::Missing::ignore},
                                                      {"indicate", text::Missing::indicate},
                                                      {"error", text::Missing::error}});
             return options;
           }),
           nb::kw_only(), nb::arg("space"), nb::arg("bits"), nb::arg("keep"), nb::arg("ignore"),
           nb::arg("interactions"), nb::arg("text"), nb::arg("categorical"), nb::arg("numeric"), nb::arg("ngrams"),
           nb::arg("missing"));
  bind_block(m);
  nb::class_<Vocabulary>(m, "Vocabulary")
      .def(nb::init<>())
      .def("__len__", [](const Vocabulary& self) { return self.names().size(); })
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
      .def("keys", [](const Vocabulary& self) { return names_of(self.names()); })
      .def("bytes", [](const Vocabulary& self) { return nb::bytes(self.bytes().data(), self.bytes().size()); })
      .def("ends", [](const Vocabulary& self) { return to_numpy(self.ends()); })
      .def(
          "restore",
          [](Vocabulary& self, nb::bytes bytes, const Vector<std::int64_t>& ends) {
            self.restore({bytes.c_str(), bytes.size()}, to_vector(ends));
          },
          nb::arg("bytes"), nb::arg("ends"));
  m.def("read_libsvm", &parsed<&text::read_libsvm>, nb::arg("data"), nb::arg("features"), nb::arg("skip_bad"));
  m.def("read_vw", &parsed<&text::read_vw>, nb::arg("data"), nb::arg("features"), nb::arg("skip_bad"));
}

}  // namespace odca::bind
