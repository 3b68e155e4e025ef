// How many of the events learned so far have a feature of a text, for tf-idf: a feature is worth
//
//   count × (log((1 + n) / (1 + df)) + 1)
//
// if df of the n events before have it. An event is weighted by what was known before it, and then counted. What a call has counted is
// noted until the call is over, and can be taken back.
#pragma once

#include <cstdint>
#include <vector>

#include "odca/features/text_options.hpp"
#include "odca/features/texts.hpp"
#include "odca/math/sparse_rows.hpp"

namespace odca::text {

class DocumentCounts {
 public:
  // The indices of features begin with `first`.
  DocumentCounts(const TextOptions& options, std::int32_t first) : options_(options), first_(first) {}

  // What each feature of a text is worth. Those that are not known count for the norm of the text.
  void weigh(const Texts::Feature* first, const Texts::Feature* last, std::vector<double>& out) const;
  // Adds the features of an event's texts to a row.
  void add_features(const Texts& texts, std::size_t event, SparseRows& row);

  void count(const Texts& texts, std::size_t event);
  // What was counted stays as far as it belongs to the first `events` since the last time.
  void keep_first(std::int64_t events);

  // For a file: n, and df of the features that have one.
  struct Saved {
    std::int64_t events = 0;
    std::vector<std::int32_t> feature;
    std::vector<std::int64_t> count;
  };
  Saved saved() const;
  // Throws InputError, and nothing has changed, for a state that `saved` cannot have made of so many features.
  void restore(const Saved& saved, std::int64_t features);

 private:
  std::int64_t count_of(std::int32_t index) const;

  TextOptions options_;
  std::int32_t first_;
  std::int64_t events_ = 0;
  std::vector<std::int64_t> count_;     // by feature
  std::vector<std::int32_t> features_;  // counted since the last call, event by event
  std::vector<std::size_t> event_end_;
  std::vector<double> values_;  // of the text at hand
};

}  // namespace odca::text
