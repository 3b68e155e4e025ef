#include "odca/features/cells.hpp"

#include <cmath>

#include "odca/errors.hpp"
#include "odca/features/quoting.hpp"

namespace odca::text {

namespace {

const char* role_name(Role role) {
  switch (role) {
    case Role::label: return "the label";
    case Role::weight: return "the weight";
    case Role::offset: return "the offset";
    case Role::time: return "the time";
    case Role::group: return "the group";
    case Role::tag: return "the tag";
    default: return "a feature";
  }
}

// What a fault speaks of.
std::string subject(const TableColumn& column) {
  if (column.role == Role::feature) return shown(column.name);
  return std::string(role_name(column.role)) + " in " + shown(column.name);
}

double finite(const TableColumn& column, double number, std::string_view where) {
  if (!std::isfinite(number)) throw Fault{subject(column) + " must be finite; got " + shown(where), where};
  return number;
}

// The seconds of a date.
double seconds_of(const TableColumn& column, const Value& value, const FeatureOptions& options) {
  return read_moment(subject(column), value, options.day_first).seconds;
}

void check_roles(const std::vector<TableColumn>& columns) {
  for (const Role role : {Role::label, Role::weight, Role::offset, Role::time, Role::group, Role::tag}) {
    const TableColumn* found = nullptr;
    for (const TableColumn& column : columns) {
      if (column.role != role && !(role == Role::time && column.role == Role::feature && column.is_time)) continue;
      if (found)
        throw InputError(std::string(role_name(role)) + " can be in one column only; got " + shown(found->name) +
                         " and " + shown(column.name));
      found = &column;
    }
  }
}

}  // namespace

Cells::Cells(const std::vector<TableColumn>& columns, const FeatureOptions& options, Block& block)
    : builder_(options, block) {
  if (options.space == Space::indices) throw InputError("the features of a table have names, not indices");
  check_roles(columns);
  plans_.reserve(columns.size());
  for (const TableColumn& column : columns) plan(column);
}

void Cells::plan(const TableColumn& column) {
  CellPlan& made = plans_.emplace_back();
  made.column = column;
  made.is_time = column.role == Role::feature ? column.is_time : column.role == Role::time;
  if (column.role == Role::feature) {
    NamedField& field = builder_.field(column.name, column.kind);
    if (field.kept || field.is_watched()) made.field = &field;
    if (!made.field && !made.is_time) made.column.role = Role::ignored;
  }
  const Role role = made.column.role;
  const bool numeric = column.kind == Kind::number || column.kind == Kind::any || column.kind == Kind::boolean;
  made.is_feature = role == Role::feature && made.field && numeric && !made.is_time && !made.field->is_watched() &&
                    !builder_.options().missing_values.has_numbers();
  made.is_number = role == Role::feature ? numeric : role != Role::tag && role != Role::ignored;
}

void Cells::value(const CellPlan& plan, double value) {
  const std::string_view where = plan.column.name;
  if (std::isnan(value)) return missing(plan, where);
  if (!std::isfinite(value) && plan.column.role != Role::ignored && !plan.field)
    throw Fault{subject(plan.column) + " must be finite; got " + show(value), where};
  if (!std::isfinite(value) && plan.field) return builder_.value(*plan.field, Value::of_number(value, where));
  number(plan, value, where);
}

void Cells::date_value(const CellPlan& plan, Moment moment) {
  const TableColumn& column = plan.column;
  const Value value = Value::of_date(moment, column.name);
  if (value.is_missing()) return missing(plan, value.where);
  if (column.role == Role::ignored) return;
  if (plan.is_time) builder_.time(seconds_of(column, value, builder_.options()));
  if (column.role != Role::feature && column.role != Role::time)
    throw Fault{subject(column) + " is a date. Leave the column out, or make numbers or strings of it", value.where};
  if (plan.field) builder_.value(*plan.field, value);
}

void Cells::refuse_array(const CellPlan& plan) {
  throw Fault{subject(plan.column) + " must be a single value; got an array", plan.column.name};
}

void Cells::other_number(const CellPlan& plan, double value, std::string_view where) {
  if (builder_.options().missing_values.has(value)) return missing(plan, where);
  switch (plan.column.role) {
    case Role::label: return builder_.label(value);
    case Role::weight: return builder_.weight(value);
    case Role::offset: return builder_.offset(value);
    case Role::group: return builder_.group(value);
    case Role::tag: return builder_.tag(category_of(value), where);
    case Role::ignored: return;
    case Role::time:
    case Role::feature: break;
  }
  const Value number = Value::of_number(value, where);
  if (plan.column.role == Role::feature && plan.column.kind == Kind::date) return date_feature(plan, number);
  if (plan.is_time) builder_.time(value);
  if (plan.field) builder_.value(*plan.field, number);
}

void Cells::string(const CellPlan& plan, std::string_view cell, std::string_view where) {
  const TableColumn& column = plan.column;
  if (column.role == Role::ignored) return;
  if (builder_.options().missing_values.has(cell)) return missing(plan, where);
  double value = 0.0;
  switch (column.role) {
    case Role::tag: return builder_.tag(cell, where);
    case Role::feature: return feature_string(plan, Value::of_text(cell, where));
    default: break;
  }
  if (is_number(cell, value)) return number(plan, finite(column, value, where), where);
  if (column.role == Role::label) return label_text(plan, cell, where);
  if (column.role == Role::time)
    return builder_.time(seconds_of(column, Value::of_text(cell, where), builder_.options()));
  throw Fault{subject(column) + " must be a number; got " + shown(cell), where};
}

void Cells::feature_string(const CellPlan& plan, const Value& cell) {
  const TableColumn& column = plan.column;
  if (column.kind == Kind::date) return date_feature(plan, cell);
  double number = 0.0;
  const bool is_value = (column.kind == Kind::any || plan.is_time) && is_number(cell.text, number);
  if (is_value && plan.is_time) finite(column, number, cell.where);
  if (plan.is_time) builder_.time(is_value ? number : seconds_of(column, cell, builder_.options()));
  if (!plan.field) return;
  const bool is_number = is_value && column.kind == Kind::any;
  builder_.value(*plan.field, is_number ? Value::of_number(number, cell.where) : cell);
}

void Cells::label_text(const CellPlan& plan, std::string_view cell, std::string_view where) {
  if (is_infinity(cell)) throw infinite_label(subject(plan.column), cell, where);
  builder_.label(cell, where);
}

void Cells::date_feature(const CellPlan& plan, const Value& cell) {
  Moment moment;
  const FeatureOptions& options = builder_.options();
  if (moment_of(cell, options.day_first, moment) == DateCheck::date) {
    if (plan.is_time) builder_.time(moment.seconds);
    if (plan.field) builder_.value(*plan.field, Value::of_date(moment, cell.where));
  } else if (plan.field) {
    builder_.value(*plan.field, cell);  // which says what is wrong with it
  } else {
    seconds_of(plan.column, cell, options);
  }
}

void Cells::missing(const CellPlan& plan, std::string_view where) {
  const TableColumn& column = plan.column;
  switch (column.role) {
    case Role::label:
    case Role::tag:
    case Role::ignored: return;
    case Role::feature:
      if (plan.field) builder_.value(*plan.field, Value::none(where));  // only those who need it miss a time
      return;
    default: throw Fault{subject(column) + " has no value. Leave such lines out", where};
  }
}

}  // namespace odca::text
