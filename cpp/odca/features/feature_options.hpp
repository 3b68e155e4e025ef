// What a person wants of the features: which fields, how their values are meant, what is crossed with what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "odca/features/field_names.hpp"
#include "odca/features/missing_values.hpp"

namespace odca::text {

enum class Space {
  indices,  // a feature is a number in the text, and that is its index
  names,    // a feature is a name; its index is its place among all that were ever seen
  hashed,   // its index is the lowest bits of its hash
};

enum class Missing { ignore, indicate, error };

// A field is a namespace of VW's, a column of a table, a key of a JSON object.
struct FeatureOptions {
  Space space = Space::names;
  int bits = 18;                                       // of hashed ones
  FieldNames keep, ignore;                             // all but the ignored ones if none is to be kept
  std::vector<std::vector<std::string>> interactions;  // fields whose features are multiplied with each other
  FieldNames text;                                     // fields whose strings are split into words
  FieldNames categorical;                              // fields whose numbers are names of categories
  FieldNames numeric;                                  // fields that hold numbers and nothing else
  FieldNames dates;                                    // fields that hold dates
  FieldNames booleans;                                 // fields that hold true and false
  int ngrams = 1;                                      // of words: up to so many in a row
  FieldNames guessed;            // fields whose kind was found from a sample: what does not fit is missing
  bool day_first = false;        // in dates such as 7/8/2024
  bool trend = false;            // of dates, as a feature
  bool find_dates = false;       // texts in ISO 8601 are dates, where no kind is said
  MissingValues missing_values;  // what stands for a missing value
  Missing missing = Missing::indicate;
  // Whether what is said of "user" holds for "user.age" too, in JSON and dictionaries; not where columns of a table are meant.
  bool nested = true;

  // Whether nothing is said of single fields: all are kept, and none is of a kind of its own or crossed.
  bool treats_all_alike() const {
    return keep.empty() && ignore.empty() && interactions.empty() && text.empty() && categorical.empty() &&
           numeric.empty() && dates.empty() && booleans.empty() && guessed.empty();
  }
};

}  // namespace odca::text
