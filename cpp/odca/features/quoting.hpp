// Text as an error message shows it.
#pragma once

#include <string>
#include <string_view>

namespace odca::text {

// What came, as an error shows it: short, on one line.
inline std::string shown(std::string_view text, std::size_t most = 40) {
  std::string out = "'";
  for (std::size_t k = 0; k < text.size() && k < most; ++k) {
    const auto c = static_cast<unsigned char>(text[k]);
    if (c >= 0x20 && c != 0x7f) {
      out += text[k];
    } else {
      static constexpr char digits[] = "0123456789abcdef";
      out += {'\\', 'x', digits[c >> 4], digits[c & 15]};
    }
  }
  // A character that was cut in two is dropped whole.
  if (text.size() > most) {
    while (out.size() > 1 && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();
    if (out.size() > 1 && static_cast<unsigned char>(out.back()) >= 0xc0) out.pop_back();
    out += "...";
  }
  return out + "'";
}

}  // namespace odca::text
