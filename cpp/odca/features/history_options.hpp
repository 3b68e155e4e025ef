// Which of the past become features: lines such as "sales by shop: lag 1,7; mean 24h", as the user has written them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "odca/features/field_names.hpp"

namespace odca::text {

enum class Statistic { lag, mean, deviation, minimum, maximum, change, since };

// One feature of a line: a statistic of the last `size` values, or of those of the last `size` seconds.
struct HistoryFeature {
  Statistic statistic = Statistic::lag;
  bool timed = false;
  double size = 0.0;
  std::string name;
};

struct HistoryLine {
  std::int32_t source = -1;  // among `numbers`; -1 for the label
  std::int32_t group = -1;   // among `groups`; -1 if all events have one history
  std::vector<HistoryFeature> features;

  bool of_label() const { return source < 0; }
};

struct HistoryOptions {
  FieldNames numbers;                             // fields whose values are remembered
  FieldNames keys;                                // fields that say whose history an event belongs to
  std::vector<std::vector<std::int32_t>> groups;  // combinations of keys, by their numbers
  std::vector<HistoryLine> lines;
  std::int64_t most_keys = 100'000;  // of each line

  bool empty() const { return lines.empty(); }
};

}  // namespace odca::text
