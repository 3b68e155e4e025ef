// The features of events that come one at a time: the names that a model knows, and the conversion of events into rows.
//
// A name is added to the space once the model has learned its event. Until then the reader holds it, so that a call that fails or is
// interrupted adds no names.
//
// Nothing here locks. If several threads use a space, the caller must make sure that only one of them is inside it or its readers at a
// time (Python's interpreter lock does); a reader belongs to one call from beginning to end.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "odca/features/builder.hpp"
#include "odca/features/history.hpp"
#include "odca/features/vocabulary.hpp"

namespace odca::text {

class EventSpace {
 public:
  // At most `most` names (0: as many as can be numbered). With an intercept, feature 0 is the constant 1.
  EventSpace(FeatureOptions options, bool intercept, std::int64_t most)
      : options_(std::move(options)),
        intercept_(intercept),
        most_(most ? most : std::numeric_limits<std::int32_t>::max() - 1) {
    add_first_names();
  }
  EventSpace(const EventSpace&) = delete;

  const FeatureOptions& options() const { return options_; }
  const NameTable& names() const { return names_; }
  bool is_hashed() const { return options_.space == Space::hashed; }
  bool has_intercept() const { return intercept_; }
  std::int32_t first_index() const { return intercept_ ? 1 : 0; }

  // The number of features, including `fresh` new ones.
  std::int64_t width(std::int32_t fresh = 0) const {
    return first_index() + (is_hashed() ? std::int64_t{1} << options_.bits : std::int64_t{names_.size()} + fresh);
  }

  // Throws InputError if these names are more than there is room for.
  void require_room(const NameTable& fresh) const;
  // Adds the first `count` of these names.
  void append(const NameTable& fresh, std::int32_t count);
  // The days of the dates that were learned.
  void add_dates(const DateSpans& learned) { options_.date_spans.join(learned); }
  // Sets them to those from a file.
  void restore_dates(DateSpans spans) { options_.date_spans = std::move(spans); }
  // Sets the names to those from a file. Throws InputError if they are invalid.
  void restore(std::string_view bytes, const std::vector<std::int64_t>& ends);
  // The index of a feature by its key; -1 if it is not known.
  std::int32_t index_of(std::string_view key) const;

 private:
  void add_first_names();

  FeatureOptions options_;
  bool intercept_;
  std::int64_t most_;
  NameTable names_;
};

// Reads the events of one call after another: their values go to the builder.
class EventReader {
 public:
  // `predicts`: whether the events are predicted, or learned.
  EventReader(const EventSpace& space, bool predicts)
      : space_(space), builder_(space.options(), block_, space.options().nested, space.first_index()) {
    block_.known = {std::shared_ptr<void>(), &space.names()};  // the space outlives its readers
    predicts ? builder_.predict() : builder_.find_references();
  }
  EventReader(const EventReader&) = delete;

  Builder& builder() { return builder_; }
  const Block& block() const { return block_; }
  const SparseRows& rows() const { return block_.rows; }
  // The names of this call that the space does not know.
  const NameTable& fresh() const { return block_.names; }

  void begin_call() {
    builder_.restart();
    known_width_ = space_.width();
  }
  void begin_event() {
    if (space_.has_intercept()) block_.rows.add(0, 1.0);
  }
  void finish_event() { builder_.finish_row({}); }
  // Finishes the event without the features that the space does not know.
  void finish_known_event();

  // The number of new names in the first `rows` events.
  std::int32_t fresh_after(std::int64_t rows) const;

 private:
  const EventSpace& space_;
  Block block_;
  Builder builder_;
  std::int64_t known_width_ = 0;  // when the call began
};

// The features of an event by their keys, known or not, in the order in which they appear.
struct KeyedFeatures {
  NameTable keys;
  std::vector<double> value;
};

// Adds what the features of the texts of one event are worth to the values of their keys, whose numbers are the indices in the texts.
void add_text_features(const EventSpace& space, const DocumentCounts& documents, const Texts& texts,
                       const NameTable& keys, std::vector<double>& value);

// read(builder) hands the values of one event over. Its history, if there is one, comes last.
template <class Read>
KeyedFeatures keyed_features(const EventSpace& space, History* history, double time, Read&& read) {
  FeatureOptions options = space.options();
  options.space = Space::names, options.predicts = true;
  Block block;
  Builder builder(options, block, options.nested);
  read(builder);
  builder.finish_row({});
  KeyedFeatures out{std::move(block.names), {}};
  out.value.resize(static_cast<std::size_t>(out.keys.size()));
  for (std::size_t k = 0; k < block.rows.index.size(); ++k)
    out.value[static_cast<std::size_t>(block.rows.index[k])] = block.rows.value[k];
  if (history) add_text_features(space, history->documents(), block.texts, out.keys, out.value);
  if (history)
    history->each_feature(block, {.time = std::isnan(time) ? nullptr : &time}, [&](std::string_view key, double value) {
      const auto number = static_cast<std::size_t>(out.keys.add(hash_of_key(key).mixed(), key));
      if (number == out.value.size()) out.value.push_back(0.0);
      out.value[number] += value;
    });
  return out;
}

}  // namespace odca::text
