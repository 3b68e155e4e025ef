// What a file holds of the experts: named arrays, and the experts that their columns belong to.
//
// A file names its experts by key, so that the table of experts.hpp may change. Reading an older or newer file,
//
//   - an expert that the file does not have begins as at the start of a stream: weights and sums are zero, its Kalman weight is 0
//     with the initial variance. In Bayes and simplex it takes its prior weight, for which all others are scaled down.
//   - an expert that this code does not have is dropped with its weights; Bayes, simplex and history of the others are scaled up to
//     sum to what they did.
//   - the members of the steady answer are found by name in the same way. One that the file does not have weighs what the base rate
//     weighs. An average that the file does not have begins at the weights that it is of.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace odca::experts {

struct SavedState {
  using Parts = std::vector<std::pair<std::string, std::vector<double>>>;
  static constexpr double newest = 2.0;

  double version = newest;  // 0: files from before there was one, which name no experts; before 2: no steady answer
  std::string experts;      // see Layout
  Parts parts;
};

// Which experts the columns of arrays belong to.
struct Layout {
  // Keys, in the order of the columns. Those in `row` have a weight for each feature and head; some of them a sum of recent
  // curvatures for each feature. Those in `full` have arrays of their own, "key.weights" and so on; label experts have means of labels.
  // And the experts whose weights are averaged, the members of the steady answer, and the row experts that have a twin with products:
  // these have the arrays "products.table" and so on, once pairs of features were chosen.
  std::vector<std::string> row, recent, full, label, average, steady, product;
  // Columns without an expert, after those in `row`, after all experts, after averages, after members, and in the history.
  int row_padding = 0, padding = 0, average_padding = 0, steady_padding = 0, history_padding = 0;

  // Of the table, with or without experts that have products: padded as it is in memory, and as it is written.
  static Layout in_memory(bool products);
  static Layout in_files(bool products);
  static Layout of_version_0();
  static Layout of(const SavedState& state);  // InputError for what is none

  // As a file holds it: a line for each expert, "row", "recent", "full", "label", "average", "steady" or "product" and its
  // key.
  std::string text() const;

  bool operator==(const Layout&) const = default;
};

// Throws InputError unless the parts are as large as so many heads and classes make them. Nothing is allocated for this.
void require_sizes(const SavedState::Parts& parts, const Layout& layout, std::int64_t heads, std::int64_t classes);

// The parts with the columns of another layout. The arrays `table` and `constant` have so many heads, `counts` so many classes.
SavedState::Parts rearranged(SavedState::Parts parts, Layout from, const Layout& to, int heads, int classes);

}  // namespace odca::experts
