// Events as dictionaries, {"price": 3.2, "country": "NZ", "new": True}, turned into rows.
//
// A number is a feature of its name. A string is a category: a feature of the name and the string together, of value 1. A
// value that is missing (None, nan, pandas' NA) is left out, a feature of its own, or refused.
//
// Features get their indices in the order in which they appear. Names are looked up in Python's own dictionaries, which
// know the hash of a string already; and before that at the place where the last event had them, because events that
// come one behind the other have mostly the same names in the same order.
//
// With `bits` no name is kept: a feature's index is its hash, on every machine the same. Everything here needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "odca/errors.hpp"
#include "odca/features/feature_options.hpp"
#include "odca/features/hash.hpp"
#include "odca/math/sparse_rows.hpp"

namespace odca::bind {

namespace nb = nanobind;

using text::Missing;

class Encoder {
 public:
  // At most `most` features, whose indices begin with `shift` (1 leaves 0 to an intercept).
  Encoder(std::optional<int> bits, Missing missing, std::int64_t most, int shift)
      : bits_(bits), missing_(missing), most_(most), shift_(shift) {}

  // The features by index, each a name, (name, string) or (name, None); empty with `bits`.
  const nb::list& features() const { return features_; }
  std::int64_t size() const { return static_cast<std::int64_t>(nb::len(features_)); }

  // The names that readers see: those of a call that is not over yet may be taken back.
  std::int64_t known() const { return known_; }
  void settle(std::int64_t known) {
    truncate(known);
    known_ = known;
  }

  // Appends an event as a row, its features sorted. New names are added if it is to `grow`, else left out.
  void encode(nb::handle event, bool grow, Rows& rows) {
    if (shift_) rows.add(0, 1.0);
    bool sorted = true;
    std::int32_t last = -1;
    const std::int64_t visible = bits_ || grow ? most_ : known_;
    each(event,
         [&](std::size_t place, nb::handle name, nb::handle category, double number) __attribute__((always_inline)) {
           const std::int64_t index = category.is_valid() ? find(name, category, grow) : find_at(place, name, grow);
           if (index < 0 || index >= visible) return;
           const std::int32_t feature = static_cast<std::int32_t>(index) + shift_;
           sorted &= feature > last;
           last = feature;
           rows.add(feature, number);
         });
    if (rows.index.size() > 0x7fffffff)
      throw InputError("these are too many events at once; learn them in several calls");
    // Hashes may meet: values of one feature are added up.
    sorted ? rows.start.push_back(static_cast<std::int32_t>(rows.index.size())) : void(row_.finish(rows));
  }

  // Calls visit(feature, index, number) for what the event holds, in its own order; the index is negative if unknown.
  template <class Visit>
  void explain(nb::handle event, Visit&& visit) {
    each(event, [&](std::size_t, nb::handle name, nb::handle category, double number) {
      const std::int64_t index = find(name, category, false);
      const bool seen = index >= 0 && (bits_ || index < known_);
      visit(as_feature(name, category), seen ? static_cast<std::int32_t>(index) + shift_ : -1, number);
    });
  }

  // What `encode` reads, to be read again later.
  nb::dict plain(nb::handle event) const {
    nb::dict out;
    each(event, [&](std::size_t, nb::handle name, nb::handle category, double number) {
      if (out.contains(name)) throw InputError(quoted(name) + " is there twice, as text and as a number");
      out[name] = category.is_valid() ? nb::borrow(category) : nb::cast(number);
    });
    return out;
  }

  // The features of a saved encoder, in order.
  void restore(const nb::list& features) {
    settle(0);
    for (const nb::handle feature : features) {
      const bool pair = PyTuple_CheckExact(feature.ptr()) && nb::len(feature) == 2;
      const nb::object name = pair ? nb::object(feature[0]) : nb::borrow(feature);
      const nb::object category = pair ? nb::object(feature[1]) : nb::object();
      const bool text = category.is_valid() && PyUnicode_CheckExact(category.ptr());
      if (!PyUnicode_CheckExact(name.ptr()) || (pair && !text && !category.is_none()))
        throw InputError("a feature must be a name, or a name and a string or None");
      find(name, category, true);
      if (size() != ++known_) throw InputError(quoted(name) + " is there twice");
    }
  }

  std::int64_t width() const { return (bits_ ? most_ : size()) + shift_; }

 private:
  struct Place {
    nb::object name;
    std::int64_t index;
  };
  static constexpr std::size_t most_places = 1024;

  // Reading events

  template <class Visit>
  void each(nb::handle event, Visit&& visit) const {
    std::size_t place = 0;
    if (PyDict_Check(event.ptr())) {
      const Py_ssize_t size = PyDict_GET_SIZE(event.ptr());
      PyObject *key = nullptr, *item = nullptr;
      for (Py_ssize_t at = 0; PyDict_Next(event.ptr(), &at, &key, &item);) read(place++, key, item, visit);
      if (PyDict_GET_SIZE(event.ptr()) != size) throw InputError("the event changed while it was read");
      return;
    }
    if (!nb::hasattr(event, "items"))
      throw nb::type_error(("an event must be a dictionary of names and values; got " + type_name(event) +
                            ". A table goes to learn_many")
                               .c_str());
    for (const nb::handle pair : event.attr("items")()) read(place++, nb::object(pair[0]), nb::object(pair[1]), visit);
  }

  template <class Visit>
  [[gnu::always_inline]] void read(std::size_t place, nb::handle key, nb::handle item, Visit& visit) const {
    if (PyUnicode_CheckExact(key.ptr()) && PyFloat_CheckExact(item.ptr())) [[likely]] {
      const double number = PyFloat_AS_DOUBLE(item.ptr());
      if (std::isfinite(number)) return visit(place, key, nb::handle(), number);
    }
    read_other(place, key, item, visit);
  }

  template <class Visit>
  [[gnu::noinline]] void read_other(std::size_t place, nb::handle key, nb::handle item, Visit& visit) const {
    const nb::object held = nb::borrow(item);  // Python code may run from here on, and drop it
    const nb::object name = as_name(key);
    PyObject* const x = held.ptr();
    if (PyUnicode_Check(x)) return visit(place, name, nb::steal(exact(x)), 1.0);
    const double number = x == Py_None ? std::nan("") : as_number(name, x);
    if (std::isinf(number))
      throw InputError(quoted(name) + " is " + show(number) + ", but must be finite. Leave it out, or cut it off");
    if (!std::isnan(number)) return visit(place, name, nb::handle(), number);
    if (missing_ == Missing::error)
      throw InputError(quoted(name) +
                       " is missing (None or nan). Leave the name out, or choose missing=\"ignore\" or \"indicate\"");
    if (missing_ == Missing::indicate) visit(place, name, nb::none(), 1.0);
  }

  // A string of a type of its own may compare in ways of its own; a plain one does not.
  static PyObject* exact(PyObject* text) {
    PyObject* const plain = PyUnicode_FromObject(text);
    if (!plain) throw nb::python_error();
    return plain;
  }

  static nb::object as_name(nb::handle key) {
    PyObject* const k = key.ptr();
    if (PyUnicode_Check(k)) return nb::steal(exact(k));
    if (!PyIndex_Check(k) || PyBool_Check(k))
      throw nb::type_error(
          ("a name must be a string (or a whole number, which is taken as one); got " + type_name(key)).c_str());
    return nb::str(nb::steal(PyNumber_Index(k)));
  }

  static double as_number(nb::handle name, PyObject* x) {
    const double number = PyFloat_Check(x) ? PyFloat_AS_DOUBLE(x) : PyFloat_AsDouble(x);
    if (number != -1.0 || !PyErr_Occurred()) return number;
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Clear();
      throw InputError(quoted(name) + " is too large for a float. Scale it");
    }
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
    PyErr_Clear();
    if (is_na_of_pandas(x)) return std::nan("");
    throw nb::type_error(("an event holds numbers, strings, booleans and None; " + quoted(name) + " is of type " +
                          type_name(x) + ". Turn it into one of them, or leave it out")
                             .c_str());
  }

  // pandas is not imported for it: whoever has an NA has done that.
  static bool is_na_of_pandas(nb::handle x) {
    const nb::object pandas = nb::steal(PyImport_GetModule(nb::str("pandas").ptr()));
    if (!pandas.is_valid() && PyErr_Occurred()) throw nb::python_error();
    return pandas.is_valid() && x.is(nb::getattr(pandas, "NA", nb::none()));
  }

  // Names

  // A number's index: its name is first looked for where the last event had it.
  [[gnu::always_inline]] std::int64_t find_at(std::size_t place, nb::handle name, bool grow) {
    if (place < places_.size() && same_text(places_[place].name.ptr(), name.ptr())) return places_[place].index;
    return find_and_note(place, name, grow);
  }

  [[gnu::noinline]] std::int64_t find_and_note(std::size_t place, nb::handle name, bool grow) {
    const std::int64_t index = find(name, nb::handle(), grow);
    if (index < 0 || place >= most_places) return index;
    if (place >= places_.size()) places_.resize(place + 1);
    places_[place] = {nb::borrow(name), index};
    return index;
  }

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

  // The index of a feature, or -1. `category` is null for a number, a string, or None for a missing value.
  std::int64_t find(nb::handle name, nb::handle category, bool grow) {
    if (PyUnicode_GET_LENGTH(name.ptr()) == 0)
      throw InputError("an event has a feature without a name; \"\" stands for the intercept. Give it another name");
    if (bits_) {
      FeatureHash hash;
      hash.add(text_of(name));
      if (!category.is_valid()) return hashed_index(hash, text_of(name), *bits_);
      if (category.is_none()) hash.add(0xfe);
      if (!category.is_none()) hash.add(0xff).add(text_of(category));
      return hash.index(*bits_);
    }
    PyObject* among = numbers_.ptr();
    if (category.is_valid()) {
      among = look_up(categories_.ptr(), name);
      if (!among && grow) {
        categories_[name] = nb::dict();
        among = look_up(categories_.ptr(), name);
      }
      if (!among) return -1;
    }
    const nb::handle key = category.is_valid() ? category : name;
    if (PyObject* const found = look_up(among, key)) return PyLong_AsLongLong(found);
    return grow ? add(nb::borrow<nb::dict>(among), key, name, category) : -1;
  }

  std::int64_t add(nb::dict among, nb::handle key, nb::handle name, nb::handle category) {
    const std::int64_t index = size();
    if (index >= most_)
      throw InputError("there is no room for " + quoted(name) + ": there can be " + std::to_string(most_) +
                       " features, and all have names already");
    text_of(name);  // what cannot be written as UTF-8 could not be saved
    if (category.is_valid() && !category.is_none()) text_of(category);
    features_.append(as_feature(name, category));
    try {
      among[key] = index;
    } catch (...) {
      nb::del(features_[index]);
      throw;
    }
    return index;
  }

  // Forgets the features that came last.
  void truncate(std::int64_t wanted) {
    if (bits_ || size() <= wanted) return;
    places_.clear();
    while (size() > wanted) {
      const nb::object last = features_[size() - 1];
      if (PyTuple_Check(last.ptr())) {
        const auto values = nb::borrow<nb::dict>(categories_[last[0]]);
        nb::del(values[last[1]]);
        if (nb::len(values) == 0) nb::del(categories_[last[0]]);
      } else {
        nb::del(numbers_[last]);
      }
      nb::del(features_[size() - 1]);
    }
  }

  static nb::object as_feature(nb::handle name, nb::handle category) {
    return category.is_valid() ? nb::object(nb::make_tuple(name, category)) : nb::borrow(name);
  }

  static PyObject* look_up(PyObject* among, nb::handle key) {
    PyObject* const found = PyDict_GetItemWithError(among, key.ptr());
    if (!found && PyErr_Occurred()) throw nb::python_error();
    return found;
  }

  static std::string_view text_of(nb::handle text) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data) return {data, static_cast<std::size_t>(size)};
    PyErr_Clear();
    throw InputError("the text " + quoted(text) + " cannot be written as UTF-8 and so could not be saved. Clean it up");
  }

  static std::string quoted(nb::handle text) { return nb::cast<std::string>(nb::steal(PyObject_ASCII(text.ptr()))); }
  static std::string type_name(nb::handle x) { return Py_TYPE(x.ptr())->tp_name; }

  std::optional<int> bits_;
  Missing missing_;
  std::int64_t most_;
  std::int32_t shift_;
  nb::dict numbers_, categories_;  // name -> index, name -> {string or None -> index}
  nb::list features_;              // by index
  std::int64_t known_ = 0;
  std::vector<Place> places_;  // the numbers of the last event
  RowMaker row_;
};

}  // namespace odca::bind
