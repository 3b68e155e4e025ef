// Events as dictionaries, turned into a matrix: for learners that take matrices.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <limits>
#include <memory>
#include <optional>

#include "bind/encoder.hpp"
#include "bind/topics.hpp"

namespace odca::bind {

namespace {

using EventList = nb::typed<nb::list, nb::any>;

class EventRows {
 public:
  EventRows(std::optional<int> bits, const std::string& missing)
      : encoder_(bits,
                 missing == "indicate" ? Missing::indicate
                 : missing == "error"  ? Missing::error
                                       : Missing::ignore,
                 bits ? std::int64_t{1} << *bits : std::numeric_limits<std::int32_t>::max() - 1, 0) {}

  // New names are added if it is to `grow`; they are known for good when they are kept.
  PyMatrix encode(const EventList& events, bool grow) {
    auto rows = std::make_unique<Rows>();
    rows->clear();
    for (const nb::handle event : static_cast<const nb::list&>(events)) encoder_.encode(event, grow, *rows);
    PyMatrix out;
    out.batch.matrix = SparseMatrix<std::int32_t, double>{rows->start.data(), rows->index.data(), rows->value.data(),
                                                          static_cast<std::int64_t>(rows->index.size())};
    out.batch.rows = rows->size();
    out.batch.width = encoder_.width();
    out.batch.widens = true;
    out.owner = nb::capsule(rows.release(), [](void* p) noexcept { delete static_cast<Rows*>(p); });
    return out;
  }

  void keep() { encoder_.settle(encoder_.size()); }
  void forget() { encoder_.settle(encoder_.known()); }

  EventList features() const {
    return nb::steal<EventList>(
        PyList_GetSlice(encoder_.features().ptr(), 0, static_cast<Py_ssize_t>(encoder_.known())));
  }
  void restore(const EventList& features) { encoder_.restore(features); }

 private:
  Encoder encoder_;
};

}  // namespace

void bind_encoding(nb::module_& m) {
  nb::class_<EventRows>(m, "EventRows")
      .def(nb::init<std::optional<int>, const std::string&>(), nb::arg("bits").none(), nb::arg("missing"))
      .def("encode", &EventRows::encode, nb::arg("events"), nb::arg("grow"))
      .def("keep", &EventRows::keep)
      .def("forget", &EventRows::forget)
      .def("restore", &EventRows::restore, nb::arg("features"))
      .def_prop_ro("features", &EventRows::features);
}

}  // namespace odca::bind
