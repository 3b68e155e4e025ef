#include "odca/errors.hpp"

#include <nanobind/stl/string.h>

#include "bind/topics.hpp"

namespace odca::bind {

namespace nb = nanobind;

namespace {

// What is not known is None.
nb::object known(std::int64_t place) { return place < 0 ? nb::none() : nb::cast(place); }

// A message may quote what it is about, which may be no UTF-8.
nb::object text_of(const std::string& message) {
  return nb::steal(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
}

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const InputError& error) {
    try {
      const nb::object type = nb::module_::import_("odca.errors").attr("InputError");
      const nb::object raised =
          type(text_of(error.what()), nb::arg("row") = known(error.row), nb::arg("column") = known(error.column),
               nb::arg("event_message") = text_of(error.event_message));
      PyErr_SetObject(type.ptr(), raised.ptr());
    } catch (nb::python_error& other) {
      other.restore();
    }
  }
}

}  // namespace

// The class is written in Python, where its attributes have types and can be read about.
void bind_errors(nb::module_& /*m*/) { nb::register_exception_translator(&translate, nullptr); }

}  // namespace odca::bind
