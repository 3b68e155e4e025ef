// What the keys of JSON lines hold, from a sample of them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "odca/features/tally.hpp"

namespace odca::text {

// The single values at each path of keys ("user.age"), in the order of appearance. Elements of arrays are left out. Lines that are not
// well formed say nothing more here; to read them is a fault.
std::vector<std::pair<std::string, Tally>> tally_keys(std::string_view sample, const MissingValues& missing);

}  // namespace odca::text
