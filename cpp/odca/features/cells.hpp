// A cell of a table, whether it comes from CSV or from memory, to its part of an event.
//
// Missing is a cell that is empty, and one that holds what stands for a missing value (see `MissingValues`), in quotes or not, in every
// column. Of a feature it is what the options say. A label that is missing makes an event without one, a tag none. Weight, offset,
// time and group have no meaning without a value: there it is a fault.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "odca/features/builder.hpp"
#include "odca/features/columns.hpp"
#include "odca/features/dates.hpp"

namespace odca::text {

// A column, its fields found once.
struct CellPlan {
  TableColumn column;
  Field* field = nullptr;   // of a feature
  bool is_number = false;   // what its text says is what `Cells::number` takes
  bool is_feature = false;  // a number is the field's, and nothing else is to be done
  bool is_time = false;
};

class Cells {
 public:
  Cells(const std::vector<TableColumn>& columns, const FeatureOptions& options, Block& block);

  const std::vector<CellPlan>& plans() const { return plans_; }

  // The value of a cell. `where` is what a fault shows and points to.
  void number(const CellPlan& plan, double value, std::string_view where) {
    if (plan.is_feature)
      builder_.number(*plan.field, value, where);
    else
      other_number(plan, value, where);
  }
  void string(const CellPlan& plan, std::string_view cell, std::string_view where);
  // The same of a number and a date in memory, which are missing if they are NaN.
  void value(const CellPlan& plan, double value);
  void date_value(const CellPlan& plan, Moment moment);
  void missing(const CellPlan& plan, std::string_view where);
  // An element of an array, or of a map: a name belongs to an array as a whole, all else to its `part`, which is the field of the
  // element's place or key, found by its name once it is needed.
  template <class Name>
  void element(const CellPlan& plan, Field*& part, const Name& name, bool of_map, const Value& value) {
    if (plan.column.role != Role::feature) refuse_array(plan);
    if (!plan.field) return;
    if (!of_map && Builder::belongs_to_array(*plan.field, value)) return builder_.value(*plan.field, value);
    if (!part) part = &builder_.field(plan.column.name + "." + name(), plan.column.name);
    builder_.value(*part, value);
  }

  void finish(std::string_view line) { builder_.finish(line); }
  void forget() { builder_.forget(); }
  void close() { builder_.close(); }

 private:
  void plan(const TableColumn& column);
  [[noreturn]] static void refuse_array(const CellPlan& plan);
  void other_number(const CellPlan& plan, double value, std::string_view where);
  void feature_string(const CellPlan& plan, const Value& cell);
  void date_feature(const CellPlan& plan, const Value& cell);
  void label_text(const CellPlan& plan, std::string_view cell, std::string_view where);

  Builder builder_;
  std::vector<CellPlan> plans_;
};

}  // namespace odca::text
