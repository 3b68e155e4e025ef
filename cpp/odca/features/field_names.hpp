// Some names of fields, as options list them. To look one up takes the same time however many they are.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "odca/features/hash.hpp"
#include "odca/features/name_table.hpp"

namespace odca::text {

class FieldNames {
 public:
  FieldNames() = default;
  FieldNames(
      const std::vector<std::string>& names) {  // NOLINT(google-explicit-constructor): a list of names is what it is
    for (const std::string& name : names) add(name);
  }
  FieldNames(std::initializer_list<std::string> names) : FieldNames(std::vector<std::string>(names)) {}

  bool empty() const { return names_.size() == 0; }
  std::int32_t size() const { return names_.size(); }
  std::string_view operator[](std::int32_t number) const { return names_[number]; }

  // The number of a name, which is new unless it was added before.
  std::int32_t add(std::string_view name) { return names_.add(FeatureHash().add(name).mixed(), name); }

  // The number of a name, or -1. The hash is that of the name.
  std::int32_t find(std::string_view name, FeatureHash hash) const {
    return empty() ? -1 : names_.find(hash.mixed(), name);
  }

  // The number of the longest name that is a path above this one ("user" for "user.age"), or -1.
  std::int32_t find_above(std::string_view path) const {
    std::int32_t found = -1;
    if (empty() || path.find('.') == std::string_view::npos) return found;
    FeatureHash hash;
    for (std::size_t k = 0; k < path.size(); ++k) {
      if (path[k] == '.')
        if (const std::int32_t number = find(path.substr(0, k), hash); number >= 0) found = number;
      hash.add(static_cast<unsigned char>(path[k]));
    }
    return found;
  }

 private:
  NameTable names_;
};

}  // namespace odca::text
