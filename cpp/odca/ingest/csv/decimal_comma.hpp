// Numbers as much of the world writes them: 3,14 and 1.234,56 and 1.234.567.
//
//   [+-] digits , digits [e [+-] digits]       the comma is the decimal point
//   [+-] ddd.ddd.ddd [, digits]                points are between groups of three digits
//
// What is written otherwise (3.14, 2024) is left as it is.
#pragma once

#include <string>
#include <string_view>

#include "odca/features/number.hpp"

namespace odca::text {

// Such a number.
struct CommaNumber {
  bool is_one = false;
  bool is_certain = false;  // else it could be 1,234 or 1.234 as English writes thousands and decimals
};

constexpr CommaNumber comma_number(std::string_view cell) {
  std::size_t at = !cell.empty() && (cell[0] == '+' || cell[0] == '-');
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < cell.size() && is_digit(cell[at])) ++at;
    return at - from;
  };
  const std::size_t begin = at, first = digits();
  std::size_t groups = 0;
  while (first >= 1 && first <= 3 && at < cell.size() && cell[at] == '.') {
    ++at, ++groups;
    if (digits() != 3) return {};
  }
  if (at == cell.size()) return {groups > 0, groups > 1};
  if (cell[at] != ',' || first == 0) return {};
  ++at;
  const std::size_t behind = digits();
  if (behind == 0) return {};
  const bool is_zero = first == 1 && cell[begin] == '0';
  const bool is_certain = groups > 0 || behind != 3 || first > 3 || is_zero;
  if (at < cell.size() && (cell[at] | 0x20) == 'e') {
    ++at;
    at += at < cell.size() && (cell[at] == '+' || cell[at] == '-');
    if (digits() == 0) return {};
  }
  return {at == cell.size(), is_certain};
}

// The same with a decimal point; what is no such number as it is. The buffer holds what is made.
inline std::string_view with_point(std::string_view cell, std::string& buffer) {
  if (!comma_number(cell).is_one) return cell;
  buffer.clear();
  for (const char c : cell)
    if (c != '.') buffer += c == ',' ? '.' : c;
  return buffer;
}

}  // namespace odca::text
