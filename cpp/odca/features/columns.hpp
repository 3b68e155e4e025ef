// What the columns of a table are to an event, and what their values mean.
#pragma once

#include <string>

namespace odca::text {

// What a column is to an event.
enum class Role { feature, label, weight, offset, time, group, tag, ignored };

// How the values of a field are meant.
enum class Kind {
  any,     // a number is a number, a string a category
  number,  // and nothing else
  category,
  text,  // split into words
  date,  // categories of the calendar, fields of their own: <name>.month (1 to 12), <name>.weekday (0 for Monday), and, where
         // the time of day is known, <name>.hour. The calendar is that of UTC
  boolean,  // the numbers 1 and 0, also where the text says true and false
};

struct TableColumn {
  std::string name;
  Role role = Role::feature;
  Kind kind = Kind::any;
  bool is_time = false;  // a feature that is the event's time too
};

}  // namespace odca::text
