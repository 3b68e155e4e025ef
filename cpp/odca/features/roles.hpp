// The keys of an event that are no features: its label, its weight and the like. For JSON and dictionaries.
#pragma once

#include <string>
#include <string_view>

#include "odca/features/builder.hpp"
#include "odca/features/columns.hpp"

namespace odca::text {

// Keys, or paths of keys ("user.id"); empty if there is none. A missing value is as good as none.
struct RoleNames {
  std::string label;                  // a number; a string; true and false are 1 and 0
  std::string weight, offset, group;  // numbers
  std::string time;                   // a number of seconds, or a date (seconds since 1970 then)
  std::string tag;                    // a string; all else as it is written
  std::string also_time = {};         // a feature that is the event's time too, if it holds a date

  // What a key is.
  Role role_of(std::string_view path) const {
    if (path.empty()) return Role::feature;
    if (path == label) return Role::label;
    if (path == weight) return Role::weight;
    if (path == offset) return Role::offset;
    if (path == group) return Role::group;
    if (path == time) return Role::time;
    return path == tag ? Role::tag : Role::feature;
  }

  bool any() const {
    return !(label.empty() && weight.empty() && offset.empty() && group.empty() && time.empty() && tag.empty() &&
             also_time.empty());
  }
};

// The event's time, if the value is a date.
void set_also_time(Builder& builder, const Value& value);
// Hands the value of such a key to the builder.
void set_role(Builder& builder, Role role, std::string_view path, const Value& value);

}  // namespace odca::text
