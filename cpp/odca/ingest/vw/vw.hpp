// Vowpal Wabbit's text: [label [importance [initial]]] ['tag]|namespace[:weight] name[:value] ... |namespace ...
//
// What stands right before the first bar, without a blank, is a tag. The initial prediction is an offset. Blank lines hold no
// event. A line without a label is an event without one. Features without a name are numbered within their line, from 0.
#pragma once

#include <string_view>

#include "odca/features/block.hpp"
#include "odca/features/feature_options.hpp"

namespace odca::text {

void read_vw(std::string_view text, const FeatureOptions& options, bool skip_bad, Block& block);

}  // namespace odca::text
