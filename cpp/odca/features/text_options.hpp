// What the features of a text are: words, n-grams of words and of characters, and how their counts are scaled.
#pragma once

#include <cstdint>

namespace odca::text {

struct TextOptions {
  int words = 1;  // the largest number of consecutive words that are one feature; 0 for no words
  // How many consecutive characters are one feature, within a word and the blanks around it; 0 for none.
  int fewest_characters = 0, most_characters = 0;
  std::int64_t length = 0;           // how many characters of a text are read; 0 for all
  bool sublinear = false;            // 1 + log(count) instead of the count
  bool inverse_frequencies = false;  // times log((1 + n) / (1 + df)) + 1, if df of the n events before have the feature
  bool unit_norm = false;            // divided by the Euclidean norm of the text's features

  // Whether a feature is anything else than its count.
  bool are_scaled() const { return sublinear || inverse_frequencies || unit_norm; }
};

}  // namespace odca::text
