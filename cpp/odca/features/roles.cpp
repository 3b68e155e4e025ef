#include "odca/features/roles.hpp"

#include "odca/features/quoting.hpp"

namespace odca::text {

namespace {

// What came, as a fault shows it.
std::string came(const Value& value) {
  if (!value.where.empty()) return shown(value.where);
  return value.type == Value::Type::text ? shown(value.text) : shown(category_of(value));
}

double seconds_of(const Builder& builder, std::string_view path, const Value& value) {
  return read_moment(shown(path), value, builder.options().day_first).seconds;
}

std::string tag_of(const Value& value) {
  if (value.type == Value::Type::text) return std::string(value.text);
  return value.where.empty() ? category_of(value) : std::string(value.where);
}

}  // namespace

void set_also_time(Builder& builder, const Value& value) {
  Moment moment;
  if (!value.is_missing() && moment_of(value, builder.options().day_first, moment) == DateCheck::date)
    builder.time(moment.seconds);
}

void set_role(Builder& builder, Role role, std::string_view path, const Value& value) {
  using Type = Value::Type;
  const MissingValues& missing_values = builder.options().missing_values;
  if (value.is_missing() || (value.type == Type::text && missing_values.has(value.text)) ||
      (value.type == Type::number && missing_values.has(value.number)))
    return;
  const bool written = value.type == Type::text || value.type == Type::date;
  if (role == Role::time && written) return builder.time(seconds_of(builder, path, value));
  if (value.type == Type::date) throw Fault{shown(path) + " is a date. Make a number or a string of it", value.where};
  if (role == Role::tag) return builder.tag(tag_of(value), value.where);
  if (role == Role::label && written && is_infinity(value.text))
    throw infinite_label(shown(path), value.text, value.where);
  if (role == Role::label && written) return builder.label(value.text, value.where);
  if (role != Role::label && value.type != Type::number)
    throw Fault{shown(path) + " must be a number; got " + came(value), value.where};
  if (!std::isfinite(value.number))
    throw Fault{shown(path) + " must be finite; got " + show(value.number), value.where};
  switch (role) {
    case Role::label: return builder.label(value.number);
    case Role::weight: return builder.weight(value.number);
    case Role::offset: return builder.offset(value.number);
    case Role::group: return builder.group(value.number);
    default: return builder.time(value.number);
  }
}

}  // namespace odca::text
