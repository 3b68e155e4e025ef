// History for models of files: the features of a block, and the state as arrays.
#include "bind/history.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <optional>

#include "bind/dictionary.hpp"
#include "bind/state.hpp"
#include "bind/topics.hpp"
#include "odca/errors.hpp"

namespace odca::bind {

namespace {

using text::Block;
using text::History;

template <class T>
std::vector<T> vector_of(const Arrays& arrays, const char* name) {
  if (!arrays.contains(name)) throw InputError(std::string("its history has no array ") + name);
  return to_vector(named_array<T>(nb::object(arrays[name]), name));
}

// The rows of a block with the features of history, as a block that has nothing else.
std::unique_ptr<Block> extended(History& self, const Block& block, const Vector<double>& label,
                                const std::optional<Vector<double>>& time, bool enters) {
  const auto rows = static_cast<std::size_t>(block.size());
  if (label.shape(0) != rows || (time && time->shape(0) != rows))
    throw InputError("there must be a label and a time for each event");
  auto out = std::make_unique<Block>();
  out->width = block.width;
  const text::KnownOfEvents known{label.data(), time ? time->data() : nullptr};
  enters ? self.extend(block, known, out->rows) : self.extend_for_now(block, known, out->rows);
  return out;
}

// History of events that are dictionaries, without a model.
class EventHistory {
 public:
  explicit EventHistory(const text::FeatureOptions& options) : options_(options), history_(options_) {}

  // The values of all features of each event, NaN for those that are missing. If labels are given, or if they `enter`, each sees what
  // came before it in the list; otherwise nothing has changed in the end.
  nb::ndarray<nb::numpy, double> values(const EventList& events, const std::optional<Vector<double>>& label,
                                        const std::optional<Vector<double>>& time, bool enters) {
    Block block;
    text::Builder builder(options_, block, options_.nested);
    const std::size_t rows = nb::len(nb::handle(events));
    if ((label && label->shape(0) != rows) || (time && time->shape(0) != rows))
      throw InputError("there must be a label and a time for each of " + std::to_string(rows) + " events");
    DictionaryVisitor visitor(builder);
    read_many(events, rows, [&](nb::handle event) {
      visitor.read(event);
      builder.finish_row({});
    });
    std::vector<double> out;
    history_.each_values(block, {label ? label->data() : nullptr, time ? time->data() : nullptr}, out);
    history_.keep_first(enters ? static_cast<std::int64_t>(rows) : 0);
    return to_numpy(std::move(out), {rows, history_.size()});
  }

  Arrays state() const { return history_arrays(history_.saved()); }
  void restore(const Arrays& arrays) { history_.restore(history_from(arrays), 0); }

 private:
  text::FeatureOptions options_;
  History history_;
};

}  // namespace

Arrays history_arrays(History::Saved saved) {
  Arrays out;
  out["keys"] = to_numpy(std::vector<std::uint8_t>(saved.keys.begin(), saved.keys.end()));
  out["key_ends"] = to_numpy(std::move(saved.key_ends));
  out["series_of_lines"] = to_numpy(std::move(saved.series_of_lines));
  out["first"] = to_numpy(std::move(saved.first));
  out["count"] = to_numpy(std::move(saved.count));
  out["value"] = to_numpy(std::move(saved.value));
  out["time"] = to_numpy(std::move(saved.time));
  if (saved.documents.events > 0) {
    out["documents"] = to_numpy(std::vector<std::int64_t>{saved.documents.events});
    out["document_feature"] = to_numpy(std::move(saved.documents.feature));
    out["document_count"] = to_numpy(std::move(saved.documents.count));
  }
  return out;
}

History::Saved history_from(const Arrays& arrays) {
  History::Saved out;
  const std::vector<std::uint8_t> keys = vector_of<std::uint8_t>(arrays, "keys");
  out.keys.assign(keys.begin(), keys.end());
  out.key_ends = vector_of<std::int64_t>(arrays, "key_ends");
  out.series_of_lines = vector_of<std::int64_t>(arrays, "series_of_lines");
  out.first = vector_of<std::int64_t>(arrays, "first");
  out.count = vector_of<std::int64_t>(arrays, "count");
  out.value = vector_of<double>(arrays, "value");
  out.time = vector_of<double>(arrays, "time");
  if (!arrays.contains("documents")) return out;
  const std::vector<std::int64_t> documents = vector_of<std::int64_t>(arrays, "documents");
  if (documents.size() != 1) throw InputError("its history has no number of documents");
  out.documents.events = documents[0];
  out.documents.feature = vector_of<std::int32_t>(arrays, "document_feature");
  out.documents.count = vector_of<std::int64_t>(arrays, "document_count");
  return out;
}

void bind_history(nb::module_& m) {
  nb::class_<EventHistory>(m, "EventHistory")
      .def(nb::init<const text::FeatureOptions&>(), nb::arg("features"))
      .def("values", &EventHistory::values, nb::arg("events"), nb::arg("label").none(), nb::arg("time").none(),
           nb::arg("enters"))
      .def("state", &EventHistory::state)
      .def("restore", &EventHistory::restore, nb::arg("arrays"));
  nb::class_<History>(m, "History")
      .def(nb::init<const text::FeatureOptions&>(), nb::arg("features"))
      .def("copy", [](const History& self) { return std::make_unique<History>(self); })
      .def("for_predictions", &History::for_predictions)
      .def("__len__", &History::size)
      .def_prop_ro("needs_time", &History::needs_time)
      .def_prop_ro("has_label", &History::has_label)
      .def("extended", &extended, nb::arg("block"), nb::arg("label"), nb::arg("time").none(), nb::arg("enters"))
      .def("keep_first", &History::keep_first, nb::arg("events"))
      .def("state", [](const History& self) { return history_arrays(self.saved()); })
      .def(
          "restore",
          [](History& self, const Arrays& arrays, std::int64_t features) {
            self.restore(history_from(arrays), features);
          },
          nb::arg("arrays"), nb::arg("features") = 0);
}

}  // namespace odca::bind
