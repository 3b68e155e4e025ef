// A Python dictionary, {"price": 3.2, "country": "NZ", "user": {"age": 31}}, handed value by value to what builds features of it.
//
// Nested dictionaries and lists mean what they mean in JSON (odca/ingest/json/json.hpp). Consecutive events mostly have the same names in
// the same order: a name is first compared with the one that was at its place in the last event, whose field is then known.
// Everything here needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "odca/features/builder.hpp"
#include "odca/features/roles.hpp"

namespace odca::bind {

namespace nb = nanobind;

using EventList = nb::typed<nb::list, nb::any>;

// Calls read(event) for so many events; what is wrong with one of them names it.
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
      throw event_at_fault(fault.message);
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
    std::size_t place = 0;
    each_item(event, [&](PyObject* key, PyObject* item) __attribute__((always_inline)) {
      if (place < places_.size() && PyFloat_CheckExact(item) && same_text(places_[place].name.ptr(), key)) [[likely]] {
        const double number = PyFloat_AS_DOUBLE(item);
        if (std::isfinite(number)) return builder_.number(places_[place++].field, number, {});
      }
      read_item(place++, key, item);
    });
  } catch (const text::Fault& fault) {
    throw InputError(fault.message);
  }

  // Forgets the fields of the last event: names may have been taken back.
  void forget() { places_.clear(); }
  // The fields of features whose indices are below are remembered from now on.
  void remember_below(std::int64_t width) { remembered_below_ = width; }

  // The event as plain Python: its values by their paths, as strings, numbers, booleans, None and lists of names. Read again, it
  // gives the same features.
  static nb::dict plain(nb::handle event, bool with_missing);

 private:
  struct Place {
    nb::object name;
    text::Field field;
  };
  static constexpr std::size_t most_places = 1024;

  template <class Visit>
  static void each_item(nb::handle event, Visit&& visit) {
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

  [[gnu::always_inline]] static bool same_text(PyObject* a, PyObject* b) {
    if (a == b) return true;
    if (!a || !PyUnicode_CheckExact(b)) return false;
    const auto hash = [](PyObject* text) { return reinterpret_cast<PyASCIIObject*>(text)->hash; };
    const Py_ssize_t length = PyUnicode_GET_LENGTH(a);
    if (hash(a) != hash(b) || length != PyUnicode_GET_LENGTH(b) || PyUnicode_KIND(a) != PyUnicode_KIND(b)) return false;
    const auto *p = static_cast<const char*>(PyUnicode_DATA(a)), *q = static_cast<const char*>(PyUnicode_DATA(b));
    const auto bytes = static_cast<std::size_t>(length * PyUnicode_KIND(a));
    if (bytes > 16) return std::memcmp(p, q, bytes) == 0;
    for (std::size_t k = 0; k < bytes; ++k)  // names are mostly short: a call would take longer
      if (p[k] != q[k]) return false;
    return true;
  }

  void read_item(std::size_t place, PyObject* key, PyObject* item);
  void read_value(std::string_view path, nb::handle item, int depth);
  void read_array(std::string_view path, nb::handle items, int depth);
  void note(std::size_t place, const nb::object& name, const text::Field& field);

  text::Builder& builder_;
  text::RoleNames roles_;
  bool has_roles_;
  std::int64_t remembered_below_ = std::numeric_limits<std::int64_t>::max();
  std::vector<Place> places_;  // the numbers of the last event
};

}  // namespace odca::bind
