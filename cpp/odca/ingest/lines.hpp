// Text line by line; what is wrong with one of them does not touch the others.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "odca/features/block.hpp"
#include "odca/features/quoting.hpp"

namespace odca::text {

inline constexpr std::size_t most_bad_lines_kept = 10;

// The next line of the text from `at` on, without its end (\n, \r\n, or the text's); `at` goes behind it. If it may be `quoted`,
// what stands between double quotes does not end it. `breaks` are the ends of lines inside and behind it.
inline std::string_view next_line(std::string_view text, std::size_t& at, bool quoted, std::uint32_t& breaks) {
  const std::size_t from = at;
  bool inside = false;
  breaks = 0;
  while (true) {
    const void* const found = std::memchr(text.data() + at, '\n', text.size() - at);
    const std::size_t end =
        found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) : text.size();
    if (quoted) inside ^= std::count(text.data() + at, text.data() + end, '"') & 1;
    breaks += found || at < end;
    at = found ? end + 1 : end;
    if (inside && found) continue;
    std::string_view line = text.substr(from, end - from);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
  }
}

// Calls read(), which throws a Fault if the line cannot be read; forget() must then undo what it did. Whether to go on.
template <class Read, class Forget>
bool attempt(std::string_view line, bool skip_bad, Block& block, Read&& read, Forget&& forget) {
  try {
    read();
    return true;
  } catch (const Fault& fault) {
    forget();
    ++block.bad_count;
    const char* const at = fault.where.data();
    const bool placed = !line.empty() && at >= line.data() && at <= line.data() + line.size();
    // A column is a character; bytes that go on with one are not counted.
    const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
    if (block.bad.size() < most_bad_lines_kept)
      block.bad.push_back({block.lines, placed ? std::count_if(line.data(), at, begins) + 1 : 0, fault.message});
    block.stopped = !skip_bad;
    return skip_bad;
  }
}

// Calls read(line) for each line, as above.
template <class Read, class Forget>
void read_lines(std::string_view text, bool quoted, bool skip_bad, Block& block, Read&& read, Forget&& forget) {
  quoted = quoted && text.find('"') != text.npos;  // most text has none, and lines end sooner found
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t breaks = 0;
    const std::string_view line = next_line(text, at, quoted, breaks);
    const auto read_line = [&] {
      if (const void* const nul = std::memchr(line.data(), '\0', line.size()))
        throw Fault{"there is a NUL byte. Text must be UTF-8",
                    line.substr(static_cast<std::size_t>(static_cast<const char*>(nul) - line.data()), 1)};
      read(line);
    };
    if (!attempt(line, skip_bad, block, read_line, forget)) return;
    block.lines += breaks;
    block.bytes = static_cast<std::int64_t>(at);
  }
}

}  // namespace odca::text
