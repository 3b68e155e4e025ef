// The user's options for features: which fields are used, the kinds of their values, and products of fields.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "odca/features/date_spans.hpp"
#include "odca/features/field_names.hpp"
#include "odca/features/history_options.hpp"
#include "odca/features/missing_values.hpp"
#include "odca/features/text_options.hpp"

namespace odca::text {

enum class Space {
  indices,  // the name of a feature is a number, which is its index
  names,    // the index of a feature is the number of its name, in order of appearance
  hashed,   // the index of a feature is the lowest bits of its hash
};

enum class Missing { ignore, indicate, error };

// A field is a namespace of VW's, a column of a table, a key of a JSON object.
struct FeatureOptions {
  Space space = Space::names;
  int bits = 18;            // of hashed indices
  FieldNames keep, ignore;  // if `keep` is empty, all fields except those in `ignore` are used
  std::vector<std::vector<std::string>> interactions;  // fields whose features are multiplied with each other
  FieldNames text;                                     // fields whose strings are split into words
  FieldNames categorical;                              // fields whose numbers are names of categories
  FieldNames numeric;                                  // fields that hold numbers and nothing else
  FieldNames dates;                                    // fields that hold dates
  FieldNames booleans;                                 // fields that hold true and false
  TextOptions texts;                                   // what the features of a text are
  FieldNames guessed;            // fields whose kind was guessed from a sample: values that do not fit are missing
  bool day_first = false;        // in dates such as 7/8/2024
  bool trend = false;            // of dates, as a feature
  DateSpans date_spans;          // which days the trends of dates are known for
  bool predicts = false;         // whether events are read to be predicted: trends are held within these days
  bool find_dates = false;       // texts in ISO 8601 are dates, where no kind is given
  MissingValues missing_values;  // what stands for a missing value
  Missing missing = Missing::indicate;
  // Whether an option for "user" also applies to "user.age", as in JSON and dictionaries but not in tables.
  bool nested = true;

  HistoryOptions history;  // which of the past become features

  // Whether the features of an event depend on the events before it.
  bool need_the_past() const { return !history.empty() || texts.inverse_frequencies; }

  // Whether there are no options for single fields.
  bool treats_all_alike() const {
    return keep.empty() && ignore.empty() && interactions.empty() && text.empty() && categorical.empty() &&
           numeric.empty() && dates.empty() && booleans.empty() && guessed.empty() && history.empty();
  }
};

}  // namespace odca::text
