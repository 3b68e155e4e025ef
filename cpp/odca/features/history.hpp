// The past as features: what was known of a series before an event. docs/history.md says what each line of the options means.
//
// A line has one series for each of its keys. An event first gets the features of its series as they are, and then its own value enters
// them: so no event sees its own label. All that a call changes is noted until the call is over, and can be taken back: a prediction
// takes back everything, learning takes back the events that were refused.
//
// A series holds its latest values and, of every 32 consecutive ones, their moments. Which 32 these are depends only on how many values
// the series ever had. A window is summed up from whole groups of 32 and single values; nothing is ever subtracted, so no error of
// rounding grows, and the same events give the same bits however they are divided into calls.
//
// With tf-idf, the features of texts depend on the past too: `DocumentCounts`.
//
// Nothing here locks: the caller makes sure that one thread is inside at a time.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "odca/features/block.hpp"
#include "odca/features/document_counts.hpp"
#include "odca/features/feature_options.hpp"
#include "odca/features/series.hpp"

namespace odca::text {

// The keys of the features of history, which are the first of all names: for each feature its own, and that of its missing value if
// that is a feature.
std::vector<std::string> history_names(const FeatureOptions& options);

// What is known of events beside their features. Null where there is nothing.
struct KnownOfEvents {
  const double* label = nullptr;  // NaN if an event has none
  const double* time = nullptr;   // in seconds
  const double* given =
      nullptr;  // the values of all features of history, for one event: from when its prediction was asked for
};

class History {
 public:
  // The indices of features begin with `first`.
  explicit History(const FeatureOptions& options, std::int32_t first = 0);
  History(const History& other);
  History& operator=(const History&) = delete;

  // A copy for predictions, whose events enter the series but are not counted as documents.
  std::unique_ptr<History> for_predictions() const {
    auto out = std::make_unique<History>(*this);
    out->counts_documents_ = false;
    return out;
  }

  // The number of features of the series.
  std::size_t size() const { return features_; }
  bool needs_time() const { return needs_time_; }
  bool has_label() const { return has_label_; }

  // The rows of a block with the features of history; its events have entered. Throws InputError, and nothing has changed, if one of
  // them has no time and needs one.
  void extend(const Block& block, const KnownOfEvents& known, SparseRows& out);
  // The values of all features of the first event of a block, NaN for those that are missing. Nothing enters.
  std::vector<double> values(const Block& block, const KnownOfEvents& known);
  // The same as keys and values, for whoever looks at them by name: calls visit(key, value).
  template <class Visit>
  void each_feature(const Block& block, const KnownOfEvents& known, Visit&& visit) {
    const std::vector<double> found = values(block, known);
    std::size_t at = 0;
    for (const HistoryLine& line : options_.history.lines)
      for (const HistoryFeature& each : line.features) {
        const double value = found[at++];
        if (std::isfinite(value))
          visit(each.name, value);
        else if (!missing_index_.empty())
          visit(each.name + missing_mark, 1.0);
      }
  }

  // The values of all features of every event, row by row, NaN for those that are missing; they have entered, too.
  void each_values(const Block& block, const KnownOfEvents& known, std::vector<double>& out);
  // The rows again; nothing has entered.
  void extend_for_now(const Block& block, const KnownOfEvents& known, SparseRows& out);

  const DocumentCounts& documents() const { return documents_; }

  // What has entered stays as far as it belongs to the first `events` of the last block.
  void keep_first(std::int64_t events);

  // For a file. The series of a line are in the order in which they last changed.
  struct Saved {
    std::string keys;
    std::vector<std::int64_t> key_ends, series_of_lines, first, count;
    std::vector<double> value, time;
    DocumentCounts::Saved documents;
  };
  Saved saved() const;
  // Throws InputError, and nothing has changed, for a state that `saved` cannot have made of so many features.
  void restore(const Saved& saved, std::int64_t features);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };
  struct Node {
    Series series;
    const std::string* key = nullptr;
    Node *older = nullptr, *newer = nullptr;  // in the order in which they last changed
  };
  using Nodes = std::unordered_map<std::string, Node, Hash, std::equal_to<>>;
  struct Line {
    const HistoryLine* options = nullptr;
    SeriesNeeds needs;
    Nodes nodes;
    Node *oldest = nullptr, *newest = nullptr;
  };
  // A value that has entered, and what it takes to take it back.
  struct Entry {
    std::int64_t event;
    Line* line;
    Node* node;
    Node* older;  // before which it was, unless it is new
    bool is_new;
    Nodes::node_type evicted;
  };

  static void link_newest(Line& line, Node& node);
  static void link_after(Line& line, Node& node, Node* older);
  static void unlink(Line& line, Node& node);
  Node* find(Line& line, const Block& block, std::size_t row) const;
  bool has_key(const Line& line, const Block& block, std::size_t row) const;
  std::string_view key(const Line& line, const Block& block, std::size_t row) const;
  void enter(Line& line, const Block& block, std::size_t row, double value, double time);
  void take_back(Entry& entry);
  void require_times(const Block& block, const KnownOfEvents& known) const;
  void compute(const Block& block, std::size_t row, const KnownOfEvents& known);
  void enter_all(const Block& block, std::size_t row, const KnownOfEvents& known);
  void add_features(SparseRows& rows) const;
  void extend_rows(const Block& block, const KnownOfEvents& known, bool counts_documents, SparseRows& out);
  double value_of(const Line& line, const Block& block, std::size_t row, const KnownOfEvents& known) const;

  FeatureOptions options_;
  std::size_t features_ = 0;
  bool needs_time_ = false, has_label_ = false;
  std::int32_t first_index_;                         // of features
  std::vector<std::int32_t> index_, missing_index_;  // of each feature
  std::vector<Line> lines_;
  std::vector<Entry> entries_;
  std::vector<double> values_;  // of the event at hand
  DocumentCounts documents_;
  bool counts_documents_;
};

}  // namespace odca::text
