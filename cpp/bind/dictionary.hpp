// A Python dictionary, {"price": 3.2, "country": "NZ", "user": {"age": 31}}, handed value by value to what builds features of it.
//
// Nested dictionaries and lists mean what they mean in JSON (odca/ingest/json/json.hpp). Everything here needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "bind/recent_names.hpp"
#include "odca/features/builder.hpp"
#include "odca/features/roles.hpp"

namespace odca::bind {

namespace nb = nanobind;

using EventList = nb::typed<nb::list, nb::any>;

// What is wrong and what to do about it, with options as they are written in Python.
std::string in_words(const text::Fault& fault);

// Calls read(event) for `count` events. An error names the event that caused it.
template <class Read>
void read_many(const nb::list& events, std::size_t count, Read&& read) {
  std::size_t i = 0;
  const auto event_at_fault = [&](const std::string& fault) {
    return InputError("", EventPlace{static_cast<std::int64_t>(i), "event " + std::to_string(i)},
                      " is at fault: " + fault);
  };
  for (; i < count; ++i) try {  // numbers of types of their own run Python code
      if (nb::len(events) != count) throw InputError("the list of events changed while it was read");
      read(nb::object(events[i]));
    } catch (const InputError& error) {
      throw event_at_fault(error.what());
    } catch (const text::Fault& fault) {
      throw event_at_fault(in_words(fault));
    } catch (const nb::builtin_exception& error) {
      throw nb::type_error(event_at_fault(error.what()).what());
    }
}

class DictionaryVisitor {
 public:
  explicit DictionaryVisitor(text::Builder& builder, const text::RoleNames& roles = {})
      : builder_(builder), roles_(roles), has_roles_(roles.any()) {}

  // Hands the values of an event over. Throws InputError or a TypeError if one of them cannot be a feature.
  void read(nb::handle event) try {
    each_item(event, [&](PyObject* key, PyObject* item) __attribute__((always_inline)) {
      if (!PyFloat_CheckExact(item) || !PyUnicode_CheckExact(key)) return read_item(key, item);
      const double number = PyFloat_AS_DOUBLE(item);
      if (!std::isfinite(number)) return read_item(key, item);
      const text::Feature* const feature = recent_.find(key);
      feature ? builder_.add(*feature, number) : read_number(key, item);
    });
  } catch (const text::Fault& fault) {
    throw InputError(in_words(fault));
  }

  // From now on, only features with smaller indices are cached.
  void remember_below(std::int64_t width) { remembered_below_ = width; }

  // The event as plain Python: strings, numbers, booleans, None, lists and dictionaries. Read again, it gives the same features.
  static nb::dict plain(nb::handle event, const text::FeatureOptions& options) {
    return plain_fields("", event, 0, options);
  }

 private:
  template <class Visit>
  [[gnu::always_inline]] static void each_item(nb::handle event, Visit&& visit) {
    if (PyDict_Check(event.ptr())) {
      const Py_ssize_t size = PyDict_GET_SIZE(event.ptr());
      PyObject *key = nullptr, *item = nullptr;
      for (Py_ssize_t at = 0; PyDict_Next(event.ptr(), &at, &key, &item);) visit(key, item);
      if (PyDict_GET_SIZE(event.ptr()) != size) throw InputError("the event changed while it was read");
      return;
    }
    each_pair(event, visit);
  }
  template <class Visit>
  static void each_pair(nb::handle event, Visit& visit) {
    require_mapping(event);
    for (const nb::handle pair : event.attr("items")()) {
      const nb::object key = nb::object(pair[0]), item = nb::object(pair[1]);
      visit(key.ptr(), item.ptr());
    }
  }
  static void require_mapping(nb::handle event);
  static nb::dict plain_fields(const std::string& prefix, nb::handle fields, int depth,
                               const text::FeatureOptions& options);
  static nb::object plain_value(const std::string& path, nb::handle item, int depth,
                                const text::FeatureOptions& options);

  void read_number(PyObject* key, PyObject* number);
  void read_item(PyObject* key, PyObject* item);
  void read_value(std::string_view path, nb::handle item, int depth);
  void read_array(std::string_view path, nb::handle items, int depth);

  text::Builder& builder_;
  text::RoleNames roles_;
  bool has_roles_;
  std::int64_t remembered_below_ = std::numeric_limits<std::int64_t>::max();
  RecentNames recent_;
};

}  // namespace odca::bind
