// libsvm (svmlight) text: label [qid:n] index:value ... [# comment]
//
// Blank lines and comments hold no event. Indices are taken as they stand, 0 included, in any order.
#pragma once

#include <string_view>

#include "odca/features/block.hpp"
#include "odca/features/feature_options.hpp"

namespace odca::text {

void read_libsvm(std::string_view text, const FeatureOptions& options, bool skip_bad, Block& block);

}  // namespace odca::text
