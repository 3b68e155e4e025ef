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

nb::object path_text(std::string_view path) { return nb::str(path.data(), path.size()); }

}  // namespace

void DictionaryVisitor::require_mapping(nb::handle event) {
  if (!nb::hasattr(event, "items"))
    throw nb::type_error(("an event must be a dictionary of names and values; got " + name_of_type(event) +
                          ". A table goes to learn_many")
                             .c_str());
}

void DictionaryVisitor::read_item(std::size_t place, PyObject* key, PyObject* item) {
  const nb::object held = nb::borrow(item), name = as_name(key);
  const std::string_view path = utf8(name);
  const bool is_feature = !has_roles_ || roles_.role_of(path) == text::Role::feature;
  if (PyFloat_CheckExact(item) && std::isfinite(PyFloat_AS_DOUBLE(item)) && is_feature) {
    text::Field field = builder_.described(path);
    if (field.is_plain_number()) {
      builder_.number(field, PyFloat_AS_DOUBLE(item), {});
      return note(place, name, field);
    }
  }
  read_value(path, held, 0);
}

void DictionaryVisitor::note(std::size_t place, const nb::object& name, const text::Field& field) {
  if (field.index >= remembered_below_ || place >= most_places) return;
  if (place >= places_.size()) places_.resize(place + 1);
  places_[place] = {name, field};
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

// An event as plain Python, in the making.
class PlainEvent {
 public:
  explicit PlainEvent(bool with_missing) : with_missing_(with_missing) {}

  void keep(nb::dict& out, const std::string& path, nb::handle item, int depth) const {
    require_depth(depth);
    if (path.empty()) throw InputError("an event has a feature without a name. Give it a name, or ignore it");
    if (PyDict_Check(item.ptr()))
      each_value(item, [&](std::string_view key, nb::handle value) { keep(out, below(path, key), value, depth + 1); });
    else if (is_array(item))
      out[path_text(path)] = array(path, item, depth);
    else
      keep_scalar(out, path, item);
  }

 private:
  template <class Visit>
  static void each_value(nb::handle mapping, Visit&& visit) {
    const nb::object all = nb::steal(PyDict_Copy(mapping.ptr()));
    for (const auto& [key, value] : nb::borrow<nb::dict>(all)) {
      const nb::object name = as_name(key);
      visit(utf8(name), value);
    }
  }

  nb::list array(const std::string& path, nb::handle items, int depth) const {
    const nb::object all = nb::steal(PySequence_Tuple(items.ptr()));
    if (!all.is_valid()) throw nb::python_error();
    nb::list out;
    for (std::size_t k = 0; k < nb::len(all); ++k) out.append(element(path, nb::object(all[k]), depth + 1));
    return out;
  }

  // A dictionary for what has several parts, as a date has.
  nb::object element(const std::string& path, nb::handle item, int depth) const {
    require_depth(depth);
    if (is_array(item)) return array(path, item, depth);
    nb::dict out;
    if (PyDict_Check(item.ptr())) {
      each_value(item, [&](std::string_view key, nb::handle value) { keep(out, std::string(key), value, depth + 1); });
      return out;
    }
    nb::object kept;
    std::string digits;
    const text::Value value = value_of(path, item, kept, digits);
    if (value.type != text::Value::Type::date) return scalar(path, value, kept);
    keep_parts(out, "", value.moment);
    return out;
  }

  void keep_scalar(nb::dict& out, const std::string& path, nb::handle item) const {
    nb::object kept;
    std::string digits;
    const text::Value value = value_of(path, item, kept, digits);
    const nb::object name = path_text(path);
    if (value.is_missing() && !with_missing_) return;
    if (out.contains(name)) throw InputError(text::shown(path) + " is there twice");
    if (value.type == text::Value::Type::date && !value.is_missing())
      keep_parts(out, path + ".", value.moment);
    else
      out[name] = scalar(path, value, kept);
  }

  static nb::object scalar(const std::string& path, const text::Value& value, const nb::object& kept) {
    if (value.is_missing()) return nb::none();
    if (value.type == text::Value::Type::text) return kept;
    if (value.type == text::Value::Type::boolean) return nb::bool_(value.number != 0.0);
    if (std::isinf(value.number)) throw InputError(text::shown(path) + " must be finite; got " + show(value.number));
    return value.text.empty() ? nb::object(nb::float_(value.number)) : nb::steal(PyNumber_Index(kept.ptr()));
  }

  // The parts of a date are categories of these names.
  static void keep_parts(nb::dict& out, const std::string& prefix, text::Moment moment) {
    const text::CalendarParts parts = text::calendar(moment.seconds);
    const auto add = [&](const char* name, int number) {
      out[path_text(prefix + name)] = path_text(std::to_string(number));
    };
    if (moment.with_time) add("hour", parts.hour);
    add("weekday", parts.weekday), add("month", parts.month);
  }

  bool with_missing_;
};

}  // namespace

nb::dict DictionaryVisitor::plain(nb::handle event, bool with_missing) {
  nb::dict out;
  const PlainEvent all(with_missing);
  each_item(event, [&](PyObject* key, PyObject* item) {
    const nb::object held = nb::borrow(item), name = as_name(key);
    all.keep(out, std::string(utf8(name)), held, 0);
  });
  return out;
}

}  // namespace odca::bind
