#include "bind/dictionary.hpp"

#include "bind/values.hpp"
#include "odca/errors.hpp"
#include "odca/features/quoting.hpp"

namespace odca::bind {

namespace {

constexpr int most_depth = 64;

bool is_array(nb::handle item) { return PyList_Check(item.ptr()) || PyTuple_Check(item.ptr()); }

void require_depth(int depth) {
  if (depth > most_depth)
    throw InputError("dictionaries and lists lie more than " + std::to_string(most_depth) + " deep in each other");
}

std::string below(std::string_view path, std::string_view key) {
  std::string out(path);
  out += '.';
  return out += key;
}

}  // namespace

std::string in_words(const text::Fault& fault) {
  std::string remedy = fault.remedy;
  for (char& c : remedy)
    if (c == '{' || c == '}') c = '`';
  if (remedy.ends_with('.')) remedy.pop_back();
  return remedy.empty() ? fault.message : fault.message + ". " + remedy;
}

void DictionaryVisitor::require_mapping(nb::handle event) {
  if (!nb::hasattr(event, "items"))
    throw nb::type_error(("an event must be a dictionary of names and values; got " + name_of_type(event) +
                          ". A table goes to learn_many")
                             .c_str());
}

// A finite float whose name is a plain string: no code of Python's runs.
void DictionaryVisitor::read_number(PyObject* key, PyObject* number) {
  const std::string_view path = utf8(key);
  text::Field field = builder_.described(path);
  if (!field.is_plain_number() || builder_.options().missing_values.has_numbers() ||
      (has_roles_ && (roles_.role_of(path) != text::Role::feature || path == roles_.also_time)))
    return read_value(path, number, 0);
  builder_.number(field, PyFloat_AS_DOUBLE(number), {});
  if (field.index < remembered_below_) recent_.add(key, field);
}

void DictionaryVisitor::read_item(PyObject* key, PyObject* item) {
  const nb::object held = nb::borrow(item), name = as_name(key);
  read_value(utf8(name), held, 0);
}

void DictionaryVisitor::read_value(std::string_view path, nb::handle item, int depth) {
  require_depth(depth);
  const text::Role role = has_roles_ ? roles_.role_of(path) : text::Role::feature;
  if (role == text::Role::feature) {
    if (PyDict_Check(item.ptr()))
      return each_item(item, [&](PyObject* key, PyObject* value) {
        const nb::object held = nb::borrow(value), name = as_name(key);
        read_value(below(path, utf8(name)), held, depth + 1);
      });
    if (is_array(item)) return read_array(path, item, depth);
  } else if (PyDict_Check(item.ptr()) || is_array(item)) {
    throw InputError(text::shown(path) + " must be a single value; got a dictionary or a list");
  }
  nb::object kept;
  std::string digits;
  const text::Value value = value_of(path, item, kept, digits);
  if (role != text::Role::feature) return set_role(builder_, role, path, value);
  if (has_roles_ && path == roles_.also_time) set_also_time(builder_, value);
  text::Field field = builder_.described(path);
  builder_.value(field, value);
}

// Names belong to the array, whose places mean nothing then; all else belongs to its place.
void DictionaryVisitor::read_array(std::string_view path, nb::handle items, int depth) {
  const nb::object all = nb::steal(PySequence_Tuple(items.ptr()));
  if (!all.is_valid()) throw nb::python_error();
  text::Field array = builder_.described(path);
  for (std::size_t k = 0; k < nb::len(all); ++k) {
    const nb::object item = all[k];
    const std::string own = below(path, std::to_string(k));
    if (PyDict_Check(item.ptr()) || is_array(item)) {
      read_value(own, item, depth + 1);
      continue;
    }
    nb::object kept;
    std::string digits;
    const text::Value value = value_of(own, item, kept, digits);
    text::Field element = builder_.described(own);
    builder_.value(text::Builder::belongs_to_array(array, value) ? array : element, value);
  }
}

namespace {

// The parts of a date are categories of these names, but for the years of the trend, which are numbers.
nb::dict parts_of(text::Moment moment, bool trend) {
  const text::CalendarParts parts = text::calendar(moment.seconds);
  nb::dict out;
  const auto add = [&](const char* name, int number) { out[name] = nb::str(std::to_string(number).c_str()); };
  if (moment.with_time) add("hour", parts.hour);
  add("weekday", parts.weekday), add("month", parts.month);
  if (!trend) return out;
  const text::YearPart part = text::year_part(moment.seconds);
  nb::dict years;
  years[std::to_string(part.year).c_str()] = nb::float_(1.0 - part.passed);
  if (part.passed > 0.0) years[std::to_string(part.year + 1).c_str()] = nb::float_(part.passed);
  out["trend"] = years;
  return out;
}

// Whether text in ISO 8601 is a date there.
bool holds_dates(const std::string& path, const text::FeatureOptions& options) {
  const auto names = [&](const text::FieldNames& fields) {
    return fields.find(path, FeatureHash().add(path)) >= 0 || (options.nested && fields.find_above(path) >= 0);
  };
  if (names(options.dates)) return true;
  return options.find_dates && !names(options.numeric) && !names(options.categorical) && !names(options.text) &&
         !names(options.booleans);
}

nb::object plain_scalar(const std::string& path, nb::handle item, const text::FeatureOptions& options) {
  if (path.empty()) throw InputError("an event has a feature without a name. Give it a name, or ignore it");
  nb::object kept;
  std::string digits;
  const text::Value value = value_of(path, item, kept, digits);
  if (value.is_missing()) return nb::none();
  switch (value.type) {
    case text::Value::Type::text: return kept;
    case text::Value::Type::boolean: return nb::bool_(value.number != 0.0);
    case text::Value::Type::date:
      return holds_dates(path, options) ? nb::str(text::iso_text(value.moment).c_str())
                                        : nb::object(parts_of(value.moment, options.trend));
    default: break;
  }
  if (std::isinf(value.number)) throw InputError(text::shown(path) + " must be finite; got " + show(value.number));
  return value.text.empty() ? nb::object(nb::float_(value.number)) : nb::steal(PyNumber_Index(kept.ptr()));
}

}  // namespace

nb::object DictionaryVisitor::plain_value(const std::string& path, nb::handle item, int depth,
                                          const text::FeatureOptions& options) {
  require_depth(depth);
  if (PyDict_Check(item.ptr())) return plain_fields(path + ".", item, depth + 1, options);
  if (!is_array(item)) return plain_scalar(path, item, options);
  const nb::object all = nb::steal(PySequence_Tuple(item.ptr()));
  if (!all.is_valid()) throw nb::python_error();
  nb::list out;
  for (std::size_t k = 0; k < nb::len(all); ++k)
    out.append(plain_value(below(path, std::to_string(k)), nb::object(all[k]), depth + 1, options));
  return out;
}

nb::dict DictionaryVisitor::plain_fields(const std::string& prefix, nb::handle fields, int depth,
                                         const text::FeatureOptions& options) {
  nb::dict out;
  each_item(fields, [&](PyObject* key, PyObject* item) {
    const nb::object held = nb::borrow(item), name = as_name(key);
    const std::string path = prefix + std::string(utf8(name));
    if (out.contains(name)) throw InputError(text::shown(path) + " is there twice");
    out[name] = plain_value(path, held, depth, options);
  });
  return out;
}

}  // namespace odca::bind
