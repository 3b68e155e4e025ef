// Text line by line; what is wrong with one of them does not touch the others.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "odca/features/block.hpp"
#include "odca/features/quoting.hpp"
#include "odca/ingest/quotes.hpp"

namespace odca::text {

inline constexpr std::size_t most_bad_lines_kept = 10;

// The next line of the text from `at` on, without its end (\n, \r\n, or the text's); `at` goes behind it. An end of a line in a quoted
// field does not end it. `breaks` are the ends of lines inside and behind it.
inline std::string_view next_line(std::string_view text, std::size_t& at, const Quoting& quoting,
                                  std::uint32_t& breaks) {
  const char *const from = text.data() + at, *const end = text.data() + text.size();
  const char* behind = line_end(from, end, quoting, true);
  at = static_cast<std::size_t>(behind - text.data());
  breaks = 1;
  if (quoting.on()) breaks = static_cast<std::uint32_t>(std::count(from, behind, '\n')) + (behind[-1] != '\n');
  if (behind[-1] == '\n') --behind;
  if (behind != from && behind[-1] == '\r') --behind;
  return {from, static_cast<std::size_t>(behind - from)};
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
      block.bad.push_back({block.lines, placed ? std::count_if(line.data(), at, begins) + 1 : 0, fault.message,
                           fault.remedy, fault.field});
    block.stopped = !skip_bad;
    return skip_bad;
  }
}

// Calls read(line) for each line, as above.
template <class Read, class Forget>
void read_lines(std::string_view text, Quoting quoting, bool skip_bad, Block& block, Read&& read, Forget&& forget) {
  if (quoting.on() && text.find('"') == text.npos) quoting = {};  // as in most text, whose lines end sooner found
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t breaks = 0;
    const std::string_view line = next_line(text, at, quoting, breaks);
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
