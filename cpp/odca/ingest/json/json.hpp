// JSON lines: one object per line.
//
//   {"price": 3.2}                 number price
//   {"new": true}                  number new, 1; 0 for false
//   {"country": "NZ"}              category country=NZ
//   {"price": null}                price is missing; so does NaN, which Python writes
//   {"user": {"age": 31}}          number user.age
//   {"tags": ["a", "b"]}           categories tags=a and tags=b; one that is there twice counts twice
//   {"size": [3, 4]}               numbers size.0 and size.1; null, true and false have such places too
//   {"items": [{"price": 3.2}]}    number items.0.price
//
// What options say of a field, they say of all below it: of user.age what is said of user, unless something is said of user.age
// itself. Blank lines hold no event. The text is that of RFC 8259, with NaN; a key may not be there twice.
#pragma once

#include <string>
#include <string_view>

#include "odca/features/block.hpp"
#include "odca/features/feature_options.hpp"

namespace odca::text {

// Keys, or paths of keys ("user.id"), that are no features; empty if there is none. null is as good as absent.
struct JsonRoles {
  std::string label;                  // a number; a string; true and false are 1 and 0
  std::string weight, offset, group;  // numbers
  std::string time;                   // a number of seconds, or a date in ISO 8601 (seconds since 1970 then)
  std::string tag;                    // a string; all else as it is written
};

void read_json(std::string_view text, const JsonRoles& roles, const FeatureOptions& options, bool skip_bad,
               Block& block);

}  // namespace odca::text
