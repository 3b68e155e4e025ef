// CSV, TSV and their like: a row a line, cells between delimiters, in double quotes where they hold delimiters, ends of lines or
// (doubled) quotes.
//
// Blank lines hold no event. What a cell becomes is said in `cells.hpp`.
#pragma once

#include <string_view>
#include <vector>

#include "odca/features/block.hpp"
#include "odca/features/columns.hpp"
#include "odca/features/feature_options.hpp"
#include "odca/ingest/csv/cell.hpp"

namespace odca::text {

// Whole lines. Whoever calls knows the columns, and has made of `ignore`, `keep`, `categorical`, `numeric` and `text` what they are.
// If the first line that is not blank is a `header`, it must name these columns in this order (one that has no name there is called by
// its number): values in wrong columns would go unnoticed, so nothing is read if it does not, even where bad lines are skipped.
void read_csv(std::string_view text, const std::vector<TableColumn>& columns, CsvForm form, bool header,
              const FeatureOptions& options, bool skip_bad, Block& block);

}  // namespace odca::text
