// Where a value becomes features, by the kind of its field.
#include <charconv>
#include <cmath>

#include "odca/features/builder.hpp"
#include "odca/features/quoting.hpp"

namespace odca::text {

namespace {

constexpr const char* if_category = "If it is a category, name it ({categorical}).";

}  // namespace

bool Builder::belongs_to_array(const Field& array, const Value& element) {
  using Type = Value::Type;
  if (element.is_missing()) return false;
  if (element.type != Type::text) return array.kind == Kind::category;
  return array.kind != Kind::number && array.kind != Kind::boolean;
}

void Builder::value(Field& field, const Value& value) {
  using Type = Value::Type;
  const MissingValues& missing_values = options_.missing_values;
  const bool is_missing = value.is_missing() || (value.type == Type::text && missing_values.has(value.text)) ||
                          (value.type == Type::number && missing_values.has(value.number));
  if (field.is_watched()) watch(field, value, is_missing);
  if (!is_missing && (field.kind == Kind::date || (field.kind == Kind::any && value.type == Type::date)))
    return date(field, value);
  if (!is_missing && field.kind == Kind::any && value.type == Type::text && options_.find_dates &&
      is_iso_date(value.text))
    if (Moment moment; read_date(value.text, moment) == DateCheck::date)
      return date(field, Value::of_date(moment, value.where));
  if (!field.kept) return;
  if (field.name.empty())
    throw Fault{"an event has a feature without a name. Give it a name, or ignore it", value.where};
  if (is_missing) {
    missing_trend(field, value.where);
    return missing(field, value.where);
  }
  switch (value.type) {
    case Type::text: return text_value(field, value);
    case Type::date:
      throw Fault{shown(field.name) + " is a date. Leave it out, or make a number or a string of it", value.where,
                  "Leave it out with {ignore}.", std::string(field.name)};
    default: break;
  }
  if (!std::isfinite(value.number))
    return misfit(field, value, {shown(field.name) + " must be finite; got " + show(value.number), value.where});
  switch (field.kind) {
    case Kind::category: return category(field, category_of(value), value.where);
    case Kind::text: return text(field, category_of(value), value.where);
    default: return number(field, value.number, value.where);
  }
}

// What history needs of a value, whether it becomes a feature or not.
void Builder::watch(const Field& field, const Value& value, bool is_missing) {
  if (field.remembered >= 0)
    remembered_[static_cast<std::size_t>(field.remembered)] =
        is_missing ? Block::none : remembered_number(field, value);
  if (field.key < 0) return;
  std::string& key = history_keys_[static_cast<std::size_t>(field.key)];
  key.clear();
  if (is_missing) return;
  key = value.type == Value::Type::text   ? std::string(value.text)
        : value.type == Value::Type::date ? category_of(value.moment.seconds)
                                          : category_of(value);
}

double Builder::remembered_number(const Field& field, const Value& value) const {
  double number = value.type == Value::Type::date ? value.moment.seconds : value.number;
  if (value.type == Value::Type::text && !is_number(value.text, number) && !read_boolean(value.text, number)) {
    if (field.guessed && options_.missing != Missing::error) return Block::none;
    throw Fault{"the history of " + shown(field.name) + " needs numbers; got " + shown(value.text), value.where,
                "If it is a key, write it after 'by', as in 'y by key: lag 1'; otherwise leave it out of {history}."};
  }
  return std::isfinite(number) ? number : Block::none;
}

// The keys of the event at hand, one for each combination of fields; no part of one can be mistaken for another.
void Builder::finish_history() {
  block_.history_number.insert(block_.history_number.end(), remembered_.begin(), remembered_.end());
  for (const std::vector<std::int32_t>& group : options_.history.groups) {
    key_.clear();
    bool complete = true;
    for (const std::int32_t part : group) {
      const std::string& text = history_keys_[static_cast<std::size_t>(part)];
      complete &= !text.empty();
      if (part != group.front()) key_ += category_mark;
      key_ += text;
    }
    block_.history_key.push_back(complete ? block_.history_keys.add(FeatureHash().add(key_).mixed(), key_) : -1);
  }
  forget_history();
}

void Builder::forget_history() {
  for (double& each : remembered_) each = Block::none;
  for (std::string& each : history_keys_) each.clear();
}

void Builder::text_value(Field& field, const Value& value) {
  double read = 0.0;
  switch (field.kind) {
    case Kind::any:
    case Kind::category: return category(field, value.text, value.where);
    case Kind::text: return text(field, value.text, value.where);
    default: break;
  }
  const std::string_view seen = value.where.empty() ? value.text : value.where;
  if (!is_number(value.text, read) && !(field.kind == Kind::boolean && read_boolean(value.text, read)))
    return misfit(field, value,
                  {shown(field.name) + (field.kind == Kind::boolean ? " must be true or false" : " must be a number") +
                       "; got " + shown(value.text),
                   value.where, if_category, std::string(field.name)});
  if (!std::isfinite(read))
    return misfit(field, value, {shown(field.name) + " must be finite; got " + shown(seen), value.where});
  number(field, read, value.where);
}

// A value that is not what its field holds: missing, and counted, if nobody has said what the field holds.
void Builder::misfit(Field& field, const Value& value, Fault fault) {
  if (!field.guessed || options_.missing == Missing::error) throw fault;
  const std::string text = value.type == Value::Type::text ? std::string(value.text) : category_of(value);
  misfits_.push_back({std::string(field.name), 1, 0, text});
  missing_trend(field, value.where);
  missing(field, value.where);
}

void Builder::date(Field& field, const Value& value) {
  if (field.name.empty())
    throw Fault{"an event has a feature without a name. Give it a name, or ignore it", value.where};
  Moment moment;
  if (moment_of(value, options_.day_first, moment) != DateCheck::date) {
    if (field.guessed && options_.missing != Missing::error && !field.kept) return;
    try {
      read_moment(shown(field.name), value, options_.day_first, if_category, field.name);
    } catch (const Fault& fault) {
      return misfit(field, value, fault);
    }
  }
  const std::int32_t known = predicts_ ? options_.date_spans.find(field.name) : -1;
  const DateSpan* const span = known >= 0 ? &options_.date_spans.spans[static_cast<std::size_t>(known)] : nullptr;
  const CalendarParts calendar_parts = span ? span->held_calendar(moment.seconds) : calendar(moment.seconds);
  const auto add_part = [&](const NamedField& part, int number) {
    if (!part.kept) return;
    char digits[4];
    const char* const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    category(part, {digits, static_cast<std::size_t>(end - digits)}, value.where);
  };
  Field::DateParts& parts = parts_of(field);
  if (moment.with_time) add_part(*parts.hour, calendar_parts.hour);
  add_part(*parts.weekday, calendar_parts.weekday);
  add_part(*parts.month, calendar_parts.month);
  if (!options_.trend || !parts.trend->kept) return;
  if (!predicts_) keep_date(parts, field.name, moment.seconds);
  if (span) note_date(known);
  add_trend(parts, span ? span->held(moment.seconds) : moment.seconds, value.where);
}

void Builder::note_date(std::int32_t span) {
  const auto place = static_cast<std::size_t>(span);
  if (place >= has_date_.size()) has_date_.resize(place + 1);
  has_date_[place] = 1;
}

// For the days that are learned.
void Builder::keep_date(Field::DateParts& parts, std::string_view field, double seconds) {
  if (parts.number < 0) {
    parts.number = static_cast<std::int32_t>(block_.date_fields.size());
    block_.date_fields.emplace_back(field);
  }
  block_.dated.push_back({static_cast<std::uint32_t>(row()), parts.number, seconds});
  if (finds_references_ && !parts.earlier && !std::isnan(seconds)) parts.earlier = seconds;
}

// The trend of a date that is missing; see date_spans.hpp.
void Builder::missing_trend(Field& field, std::string_view where) {
  const DateSpans& all = options_.date_spans;
  if (!options_.trend || (all.empty() && !finds_references_)) return;
  const std::int32_t found = all.find(field.name);
  std::optional<double> day;
  if (found >= 0) {
    const DateSpan& span = all.spans[static_cast<std::size_t>(found)];
    day = predicts_ && all.is_complete(span) ? span.middle() : span.reference;
    if (predicts_) note_date(found);
  } else if (const Field::DateParts* const parts = known_parts(field)) {
    day = parts->earlier;
  } else if (field.kind != Kind::date) {
    return;
  }
  Field::DateParts& parts = parts_of(field);
  if (!parts.trend->kept) return;
  if (!predicts_) keep_date(parts, field.name, Block::none);
  if (day) add_trend(parts, *day, where);
}

// The trends of fields that all learned events had, and the event at hand does not have.
void Builder::absent_trends() {
  const DateSpans& all = options_.date_spans;
  for (std::size_t k = 0; k < all.spans.size(); ++k) {
    const bool is_there = k < has_date_.size() && has_date_[k];
    if (!is_there && all.is_always_there(all.spans[k])) missing_trend(field(all.spans[k].field), {});
  }
  has_date_.clear();
}

// A line between the values of two years: nothing has to be known of the others, and no date is far from zero.
void Builder::add_trend(Field::DateParts& parts, double seconds, std::string_view where) {
  const YearPart part = year_part(seconds);
  if (!parts.begin || part.year != parts.year) {
    const auto field_of = [&](int year) {
      NamedField& field = this->field(parts.trend->text + "." + std::to_string(year));
      field.slot = parts.trend->slot;
      return &field;
    };
    parts.year = part.year, parts.begin = field_of(part.year), parts.end = field_of(part.year + 1);
  }
  number(*parts.begin, 1.0 - part.passed, where);
  if (part.passed > 0.0) number(*parts.end, part.passed, where);
}

Field::DateParts& Builder::parts_of(Field& field) {
  if (field.parts) return *field.parts;
  if ((field.parts = known_parts(field))) return *field.parts;
  const std::string name(field.name);
  const auto part = [&](const char* which) { return &this->field(name + which, name); };
  parts_.push_back(
      {part(date_part_names[0]), part(date_part_names[1]), part(date_part_names[2]), part(date_part_names[3])});
  this->field(name).parts = field.parts = &parts_.back();  // a field for a single use comes again
  return *field.parts;
}

// Those of a field that had a date before, or null.
Field::DateParts* Builder::known_parts(const Field& field) const {
  const std::int32_t number = field_names_.find(field.hash.mixed(), field.name);
  return number < 0 ? nullptr : fields_[static_cast<std::size_t>(number)]->parts;
}

}  // namespace odca::text
