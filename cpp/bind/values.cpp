#include "bind/values.hpp"

#include <datetime.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include "odca/errors.hpp"
#include "odca/features/quoting.hpp"

namespace odca::bind {

namespace {

using text::Moment;
using text::Value;

std::string quoted(nb::handle text) { return nb::cast<std::string>(nb::steal(PyObject_ASCII(text.ptr()))); }

// A string of a type of its own may compare in ways of its own; a plain one does not.
nb::object plain_text(nb::handle text) {
  nb::object plain = nb::steal(PyUnicode_FromObject(text.ptr()));
  if (!plain.is_valid()) throw nb::python_error();
  return plain;
}

bool is_type(nb::handle x, const char* name) { return std::strcmp(Py_TYPE(x.ptr())->tp_name, name) == 0; }

// pandas is not imported for it: whoever has an NA or a NaT has done that.
bool is_pandas(nb::handle x, const char* name) {
  const nb::object pandas = nb::steal(PyImport_GetModule(nb::str("pandas").ptr()));
  if (!pandas.is_valid() && PyErr_Occurred()) throw nb::python_error();
  return pandas.is_valid() && x.is(nb::getattr(pandas, name, nb::none()));
}

double as_number(std::string_view path, nb::handle object) {
  PyObject* const x = object.ptr();
  const double number = PyFloat_Check(x) ? PyFloat_AS_DOUBLE(x) : PyFloat_AsDouble(x);
  if (number != -1.0 || !PyErr_Occurred()) return number;
  if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear();
    throw InputError(text::shown(path) + " is too large for a float. Scale it");
  }
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
  PyErr_Clear();
  if (is_pandas(object, "NA")) return std::nan("");
  throw nb::type_error(("an event holds numbers, strings, booleans, dates, None, lists and dictionaries; " +
                        text::shown(path) + " is of type " + name_of_type(object) +
                        ". Turn it into one of them, or leave it out")
                           .c_str());
}

// Days since 1970, UTC; a time without a zone is taken to be UTC too.
Moment moment_of(nb::handle date) {
  PyObject* const x = date.ptr();
  const std::chrono::year_month_day day{std::chrono::year{PyDateTime_GET_YEAR(x)},
                                        std::chrono::month{static_cast<unsigned>(PyDateTime_GET_MONTH(x))},
                                        std::chrono::day{static_cast<unsigned>(PyDateTime_GET_DAY(x))}};
  auto seconds = std::chrono::sys_days{day}.time_since_epoch().count() * std::int64_t{86'400};
  if (!PyDateTime_Check(x)) return {static_cast<double>(seconds), false};
  seconds += PyDateTime_DATE_GET_HOUR(x) * 3600 + PyDateTime_DATE_GET_MINUTE(x) * 60 + PyDateTime_DATE_GET_SECOND(x);
  const nb::object zone = date.attr("utcoffset")();
  if (!zone.is_none()) seconds -= static_cast<std::int64_t>(nb::cast<double>(zone.attr("total_seconds")()));
  // One division, so that microseconds come out as they do from text and from a table's timestamps.
  return {(static_cast<double>(seconds) * 1e6 + PyDateTime_DATE_GET_MICROSECOND(x)) / 1e6, true};
}

// A date or moment of NumPy's as one of Python's; None if it is none. Nanoseconds, which Python does not have, are cut off. A year that
// Python does not have makes a number: the seconds since 1970.
nb::object of_numpy(nb::handle x) {
  nb::object item = x.attr("item")();
  for (const char* unit : {"datetime64[us]", "datetime64[s]"})
    if (PyLong_Check(item.ptr())) item = x.attr("astype")(unit).attr("item")();
  return item;
}

bool is_date(nb::handle x) {
  if (!PyDateTimeAPI) PyDateTime_IMPORT;
  return PyDate_Check(x.ptr());
}

}  // namespace

std::string_view encoded_utf8(nb::handle text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data) return {data, static_cast<std::size_t>(size)};
  PyErr_Clear();
  throw InputError("the text " + quoted(text) + " cannot be written as UTF-8 and so could not be saved. Clean it up");
}

nb::object as_name(nb::handle key) {
  PyObject* const k = key.ptr();
  if (PyUnicode_CheckExact(k)) return nb::borrow(key);
  if (PyUnicode_Check(k)) return plain_text(key);
  if (!PyIndex_Check(k) || PyBool_Check(k))
    throw nb::type_error(
        ("a name must be a string (or a whole number, which is taken as one); got " + name_of_type(key)).c_str());
  const nb::object held = nb::borrow(key), whole = nb::steal(PyNumber_Index(k));  // which may drop the key
  if (!whole.is_valid()) throw nb::python_error();
  return nb::str(whole);
}

text::Value value_of(std::string_view path, nb::handle object, nb::object& kept, std::string& digits) {
  kept = nb::borrow(object);  // Python code may run from here on, and drop it
  PyObject* const x = object.ptr();
  if (x == Py_None) return Value::none();
  if (PyUnicode_Check(x)) {
    kept = plain_text(kept);
    return Value::of_text(utf8(kept));
  }
  if (PyBool_Check(x)) return Value::of_boolean(x == Py_True);
  if (is_type(object, "numpy.bool_") || is_type(object, "numpy.bool")) {
    const int truth = PyObject_IsTrue(x);
    if (truth < 0) throw nb::python_error();
    return Value::of_boolean(truth == 1);
  }
  if (is_type(object, "numpy.datetime64")) {
    kept = of_numpy(object);
    if (PyLong_Check(kept.ptr())) return Value::of_date({PyLong_AsDouble(kept.ptr()), true});
  }
  if (kept.is_none() || (is_date(kept) && is_pandas(kept, "NaT"))) return Value::none();
  if (is_date(kept)) return Value::of_date(moment_of(kept));
  Value value = Value::of_number(as_number(path, kept));
  if (std::abs(value.number) >= text::exact_below && std::isfinite(value.number) && PyIndex_Check(x)) {
    const nb::object whole = nb::steal(PyNumber_Index(x));
    if (!whole.is_valid()) PyErr_Clear();
    if (whole.is_valid()) value.text = digits = nb::cast<std::string>(nb::str(whole));
  }
  return value;
}

}  // namespace odca::bind
