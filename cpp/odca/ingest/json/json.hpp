// JSON lines: one object per line.
//
//   {"price": 3.2}                 number price
//   {"new": true}                  number new, 1; 0 for false
//   {"country": "NZ"}              category country=NZ
//   {"price": null}                price is missing; so is NaN, which Python writes
//   {"user": {"age": 31}}          number user.age
//   {"tags": ["a", "b"]}           categories tags=a and tags=b; one that is there twice counts twice
//   {"size": [3, 4]}               numbers size.0 and size.1; null, true and false have such places too
//   {"items": [{"price": 3.2}]}    number items.0.price
//
// What options say of a field, they say of all below it: of user.age what is said of user, unless something is said of user.age
// itself. Blank lines hold no event. The text is that of RFC 8259, with NaN; a key may not be there twice.
#pragma once

#include <string_view>

#include "odca/features/block.hpp"
#include "odca/features/feature_options.hpp"
#include "odca/features/roles.hpp"

namespace odca::text {

void read_json(std::string_view text, const RoleNames& roles, const FeatureOptions& options, bool skip_bad,
               Block& block);

}  // namespace odca::text
