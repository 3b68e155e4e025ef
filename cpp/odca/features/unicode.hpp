// As much of Unicode as reading text needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace odca::text {

// Whether a text is UTF-8. With `marks` it is a feature's key, whose parts are separated by bytes from 0xfd on.
bool is_utf8(std::string_view text, bool marks = false);

void append_utf8(std::uint32_t point, std::string& out);

// The next word of a text from `at` on, in lower case; `at` moves to its end. False if there is none.
//
// Words consist of ASCII letters, digits and underscores, and of all other characters except punctuation of Latin-1 (U+0080 to
// U+00BF), of the general block (U+2000 to U+206F) and of CJK (U+3000 to U+303F). Only ASCII, Latin-1, Greek and Cyrillic have lower case.
bool next_word(std::string_view text, std::size_t& at, std::string& word);

}  // namespace odca::text
