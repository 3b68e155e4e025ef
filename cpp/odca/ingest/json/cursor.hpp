// A line of JSON, token by token. It says what is wrong by a Fault.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "odca/features/value.hpp"

namespace odca::text {

class JsonCursor {
 public:
  void reset(std::string_view line) { at_ = line.data(), end_ = line.data() + line.size(); }

  const char* at() const { return at_; }

  // The next character that is no blank; NUL at the end (no line holds one).
  char peek() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
    return at_ == end_ ? '\0' : *at_;
  }
  bool skip(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool skip(std::string_view text) {
    if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).substr(0, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }
  void expect(char c, const char* what) {
    if (!skip(c)) fail_expecting(what);
  }
  [[noreturn]] void fail_expecting(const char* what) const;

  std::string_view string();  // good until the next one
  // All that is no object and no array; its text is good until the next string is read.
  Value scalar() {
    const char c = peek();
    return c == '-' || (c >= '0' && c <= '9') ? number() : other(c);
  }

 private:
  Value number();
  Value other(char first);
  void unescape();
  std::uint32_t code_unit();
  std::string_view since(const char* from) const { return {from, static_cast<std::size_t>(at_ - from)}; }
  std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }

  const char *at_ = nullptr, *end_ = nullptr;
  std::string unescaped_;
};

}  // namespace odca::text
