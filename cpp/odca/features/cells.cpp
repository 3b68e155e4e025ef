#include "odca/features/cells.hpp"

#include <algorithm>
#include <cmath>

#include "odca/errors.hpp"
#include "odca/features/quoting.hpp"

namespace odca::text {

namespace {

constexpr const char* if_category = ". If it is a category, name it among the categorical ones";

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

// A number as a category: as it stands in a file that has it as a number.
std::string category_of(double number) {
  constexpr double exact = 9007199254740992.0;  // whole numbers below are all doubles
  if (std::abs(number) < exact && number == std::trunc(number))
    return std::to_string(static_cast<std::int64_t>(number));
  return show(number);
}

Moment moment_of(const TableColumn& column, std::string_view cell, std::string_view where) {
  Moment moment;
  switch (read_date(cell, moment)) {
    case DateCheck::date: return moment;
    case DateCheck::impossible:
      throw Fault{"there is no such date in " + shown(column.name) + ": " + shown(cell), where};
    default: break;
  }
  throw Fault{subject(column) + " must be a date such as 2024-07-31 or 2024-07-31T13:05:00; got " + shown(cell) +
                  (column.role == Role::feature ? if_category : ""),
              where};
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

bool is_missing(std::string_view cell) {
  static constexpr std::string_view words[] = {"NA",  "NaN",      "nan",    "?",       "null",    "NULL",    "None",
                                               "N/A", "n/a",      "#N/A",   "<NA>",    "NaT",     "-nan",    "-NaN",
                                               "#NA", "#N/A N/A", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"};
  if (cell.empty()) return true;
  constexpr std::size_t longest = 8;
  if (cell.size() > longest || !std::strchr("Nn?#<-1", cell.front())) return false;
  return std::find(std::begin(words), std::end(words), cell) != std::end(words);
}

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
    Field& whole = builder_.field(column.name);
    if (whole.kept) made.field = &whole;
    if (column.kind == Kind::date) {
      const auto part = [&](const char* name) {
        Field& field = builder_.field(column.name + name, column.name);
        if (field.kept) made.field = &whole;
        return field.kept ? &field : nullptr;
      };
      made.month = part(".month"), made.weekday = part(".weekday"), made.hour = part(".hour");
    }
    if (!made.field && !made.is_time) made.column.role = Role::ignored;
  }
  const bool numeric = column.kind == Kind::number || column.kind == Kind::any;
  const Role role = made.column.role;
  made.is_feature = role == Role::feature && made.field && numeric && !made.is_time;
  made.is_number = role == Role::feature ? numeric : role != Role::tag && role != Role::ignored;
}

void Cells::value(const CellPlan& plan, double value) {
  const std::string_view where = plan.column.name;
  if (std::isnan(value)) return missing(plan, where);
  if (!std::isfinite(value) && plan.column.role != Role::ignored)
    throw Fault{subject(plan.column) + " must be finite; got " + show(value), where};
  number(plan, value, where);
}

void Cells::date_value(const CellPlan& plan, Moment moment) {
  const std::string_view where = plan.column.name;
  if (std::isnan(moment.seconds)) return missing(plan, where);
  if (!(moment.seconds >= first_moment && moment.seconds < behind_last_moment) && plan.column.role != Role::ignored)
    throw Fault{"there is no such date in " + shown(plan.column.name) + ": " + show(moment.seconds) +
                    " seconds since 1970 are not in the years 0 to 9999",
                where};
  date(plan, moment, where);
}

void Cells::other_number(const CellPlan& plan, double value, std::string_view where) {
  const TableColumn& column = plan.column;
  switch (column.role) {
    case Role::label: return builder_.label(value);
    case Role::weight: return builder_.weight(value);
    case Role::offset: return builder_.offset(value);
    case Role::group: return builder_.group(value);
    case Role::tag: return builder_.tag(category_of(value), where);
    case Role::ignored: return;
    case Role::time:
    case Role::feature: break;
  }
  if (plan.is_time) builder_.time(value);
  if (!plan.field) return;
  switch (column.kind) {
    case Kind::number:
    case Kind::any: return builder_.number(*plan.field, value, where);
    case Kind::category: return builder_.category(*plan.field, category_of(value), where);
    case Kind::text: return builder_.words(*plan.field, category_of(value), where);
    case Kind::date: moment_of(column, category_of(value), where);  // a plain number is no date: it says so
  }
}

void Cells::string(const CellPlan& plan, std::string_view cell, std::string_view where) {
  const TableColumn& column = plan.column;
  if (column.role == Role::ignored) return;
  if (is_missing(cell)) return missing(plan, where);
  double value = 0.0;
  switch (column.role) {
    case Role::tag: return builder_.tag(cell, where);
    case Role::feature: return feature_string(plan, cell, where);
    default: break;
  }
  if (is_number(cell, value)) return number(plan, finite(column, value, where), where);
  if (column.role == Role::label) return builder_.label(cell, where);
  if (column.role == Role::time) return builder_.time(moment_of(column, cell, where).seconds);
  throw Fault{subject(column) + " must be a number; got " + shown(cell), where};
}

void Cells::feature_string(const CellPlan& plan, std::string_view cell, std::string_view where) {
  const TableColumn& column = plan.column;
  if (column.kind == Kind::date) return date(plan, moment_of(column, cell, where), where);
  double value = 0.0;
  const bool is_value =
      (column.kind == Kind::number || column.kind == Kind::any || plan.is_time) && is_number(cell, value);
  if (plan.is_time) builder_.time(is_value ? finite(column, value, where) : moment_of(column, cell, where).seconds);
  if (!plan.field) return;
  switch (column.kind) {
    case Kind::text: return builder_.words(*plan.field, cell, where);
    case Kind::category: return builder_.category(*plan.field, cell, where);
    default: break;
  }
  if (is_value) return builder_.number(*plan.field, finite(column, value, where), where);
  if (column.kind == Kind::any) return builder_.category(*plan.field, cell, where);
  throw Fault{subject(column) + " must be a number; got " + shown(cell) + if_category, where};
}

void Cells::date(const CellPlan& plan, Moment moment, std::string_view where) {
  const TableColumn& column = plan.column;
  if (column.role == Role::ignored) return;
  if (plan.is_time) builder_.time(moment.seconds);
  if (column.role == Role::time || (column.role == Role::feature && !plan.field)) return;
  if (column.role != Role::feature || column.kind != Kind::date)
    throw Fault{subject(column) + " is a date. Leave the column out, or make numbers or strings of it", where};
  const CalendarParts parts = calendar(moment.seconds);
  if (moment.with_time) part(plan.hour, parts.hour, where);
  part(plan.weekday, parts.weekday, where);
  part(plan.month, parts.month, where);
}

void Cells::part(Field* field, int value, std::string_view where) {
  if (!field) return;
  char digits[4];
  const char* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  builder_.category(*field, {digits, static_cast<std::size_t>(end - digits)}, where);
}

void Cells::missing(const CellPlan& plan, std::string_view where) {
  const TableColumn& column = plan.column;
  switch (column.role) {
    case Role::label:
    case Role::tag:
    case Role::ignored: return;
    case Role::feature:
      if (plan.field) builder_.missing(*plan.field, where);  // as a time it is only missed by those who need it
      return;
    default: throw Fault{subject(column) + " has no value. Leave such lines out", where};
  }
}

}  // namespace odca::text
