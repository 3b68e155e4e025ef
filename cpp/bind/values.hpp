// A value of Python as the features know it.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "odca/features/value.hpp"

namespace odca::bind {

namespace nb = nanobind;

// A name: a plain string, made of a string of any type or of a whole number.
nb::object as_name(nb::handle key);
// The bytes of a plain string, which live as long as it does. InputError if it cannot be written as UTF-8.
std::string_view encoded_utf8(nb::handle text);
inline std::string_view utf8(nb::handle text) {
  if (!PyUnicode_IS_COMPACT_ASCII(text.ptr())) return encoded_utf8(text);
  return {static_cast<const char*>(PyUnicode_DATA(text.ptr())),
          static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr()))};
}

// A value that is neither a dictionary nor a list. It refers to the object, and to `digits`.
text::Value value_of(std::string_view path, nb::handle object, nb::object& kept, std::string& digits);

inline std::string name_of_type(nb::handle x) { return Py_TYPE(x.ptr())->tp_name; }

}  // namespace odca::bind
