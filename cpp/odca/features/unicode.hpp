// As much of Unicode as reading text needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace odca::text {

// Whether it is UTF-8; of a feature's key, which has marks of its own (0xfd and above) in it, whether its parts are.
bool is_utf8(std::string_view text, bool marks = false);

void append_utf8(std::uint32_t point, std::string& out);

// The next word of a text from `at` on, in lower case; `at` goes behind it. False if there is none.
//
// Words are letters, digits and underscores of ASCII, and what is not ASCII but no punctuation of Latin-1 (U+0080 to U+00BF), of
// the general block (U+2000 to U+206F) or of CJK (U+3000 to U+303F). Lower case is that of ASCII, Latin-1, Greek and Cyrillic.
bool next_word(std::string_view text, std::size_t& at, std::string& word);

}  // namespace odca::text
