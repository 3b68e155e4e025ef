// Where a value becomes features, by the kind of its field.
#include <charconv>
#include <cmath>

#include "odca/features/builder.hpp"
#include "odca/features/quoting.hpp"

namespace odca::text {

namespace {

constexpr const char* if_category = ". If it is a category, name it among the categorical ones";

}  // namespace

bool Builder::belongs_to_array(const Field& array, const Value& element) {
  using Type = Value::Type;
  if (element.is_missing()) return false;
  if (element.type != Type::text) return array.kind == Kind::category;
  return array.kind != Kind::number && array.kind != Kind::boolean;
}

void Builder::value(Field& field, const Value& value) {
  using Type = Value::Type;
  if (value.type == Type::date && !value.is_missing() && (field.kind == Kind::any || field.kind == Kind::date))
    return date(field, value);
  if (!field.kept) return;
  if (field.name.empty())
    throw Fault{"an event has a feature without a name. Give it a name, or ignore it", value.where};
  if (value.is_missing()) return missing(field, value.where);
  switch (value.type) {
    case Type::text: return text_value(field, value);
    case Type::date:
      throw Fault{shown(field.name) + " is a date. Leave it out, or make a number or a string of it", value.where};
    default: break;
  }
  if (!std::isfinite(value.number))
    throw Fault{shown(field.name) + " must be finite; got " + show(value.number), value.where};
  switch (field.kind) {
    case Kind::category: return category(field, category_of(value), value.where);
    case Kind::text: return words(field, category_of(value), value.where);
    case Kind::date:
      return date(field, Value::of_text(category_of(value), value.where));  // it is none, and the fault says so
    default: return number(field, value.number, value.where);
  }
}

void Builder::text_value(Field& field, const Value& value) {
  double read = 0.0;
  switch (field.kind) {
    case Kind::any:
    case Kind::category: return category(field, value.text, value.where);
    case Kind::text: return words(field, value.text, value.where);
    default: break;
  }
  if (is_missing_word(value.text)) return missing(field, value.where);
  if (field.kind == Kind::date) return date(field, value);
  const std::string_view seen = value.where.empty() ? value.text : value.where;
  if (!is_number(value.text, read) && !(field.kind == Kind::boolean && read_boolean(value.text, read)))
    throw Fault{shown(field.name) + (field.kind == Kind::boolean ? " must be true or false" : " must be a number") +
                    "; got " + shown(value.text) + if_category,
                value.where};
  if (!std::isfinite(read)) throw Fault{shown(field.name) + " must be finite; got " + shown(seen), value.where};
  number(field, read, value.where);
}

void Builder::date(Field& field, const Value& value) {
  if (field.name.empty())
    throw Fault{"an event has a feature without a name. Give it a name, or ignore it", value.where};
  const Moment moment = read_moment(shown(field.name), if_category, value);
  const CalendarParts calendar_parts = calendar(moment.seconds);
  const auto add_part = [&](const NamedField& part, int number) {
    if (!part.kept) return;
    char digits[4];
    const char* const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    category(part, {digits, static_cast<std::size_t>(end - digits)}, value.where);
  };
  const Field::DateParts& parts = parts_of(field);
  if (moment.with_time) add_part(*parts.hour, calendar_parts.hour);
  add_part(*parts.weekday, calendar_parts.weekday);
  add_part(*parts.month, calendar_parts.month);
}

const Field::DateParts& Builder::parts_of(Field& field) {
  if (field.parts) return *field.parts;
  const std::string name(field.name);
  const auto part = [&](const char* which) { return &this->field(name + which, name); };
  parts_.push_back({part(date_part_names[0]), part(date_part_names[1]), part(date_part_names[2])});
  field.parts = &parts_.back();
  return *field.parts;
}

}  // namespace odca::text
