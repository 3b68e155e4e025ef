// As much of Unicode as reading text needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace odca::text {

// Whether a text is UTF-8. With `marks` it is a feature's key, whose parts are separated by bytes from 0xfd on.
bool is_utf8(std::string_view text, bool marks = false);

void append_utf8(std::uint32_t point, std::string& out);

// The next word of a text from `at` on, in lower case; `at` moves to its end. False if there is none.
//
// Words consist of ASCII letters, digits and underscores, and of all other characters except punctuation of Latin-1 (U+0080 to
// U+00BF), of the general block (U+2000 to U+206F) and of CJK (U+3000 to U+303F). Only ASCII, Latin-1, Greek and Cyrillic have lower case.
bool next_word(std::string_view text, std::size_t& at, std::string& word);

// The same for what is between two blanks, punctuation included: the blanks of Unicode, and what is not UTF-8. The ends of its characters
// in `token` are added to `ends`.
bool next_token(std::string_view text, std::size_t& at, std::string& token, std::vector<std::size_t>& ends);

// The first `count` characters of a text. A byte that is not UTF-8 counts as one.
std::string_view first_characters(std::string_view text, std::int64_t count);

}  // namespace odca::text
