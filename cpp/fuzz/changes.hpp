// Changes to a saved state, chosen by the bytes of the input: numbers, odd ones above all, lengths, arrays of another field.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "fuzz.hpp"

namespace odca::fuzz {

class Changes {
 public:
  explicit Changes(std::string_view input) : choices_(input) {}

  unsigned byte() { return choices_.byte(); }
  bool done() const { return choices_.rest().empty(); }

  // An array of numbers, or one number, may change; whether it does, and how, is up to the input.
  template <class Array>
    requires requires(Array array) { array.resize(1); }
  void change(Array& array) {
    using Number = typename Array::value_type;
    switch (byte() % 8) {
      case 0: array.resize(array.size() + byte() % 5); break;
      case 1: array.resize(array.empty() ? 0 : array.size() - 1); break;
      default:
        for (unsigned left = 1 + byte() % 3; left > 0 && !array.empty(); --left) {
          Number& at = array[(256 * byte() + byte()) % array.size()];
          at = changed(at);
        }
    }
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  void change(Number& number) {
    number = changed(number);
  }

 private:
  template <class Number>
  Number changed(Number number) {
    if constexpr (std::is_floating_point_v<Number>) {
      constexpr double odd[] = {0.0,   -0.0,  1.0,    -1.0,   0.5,    1e6,   1e15,   1e100,    -1e100,   1e150,
                                1e300, 1e308, 5e-324, 1e-300, 1e-150, 1e-10, 1e-310, infinity, -infinity};
      switch (byte() % 5) {
        case 0: return odd[byte() % std::size(odd)];
        case 1: return std::nan("");
        case 2: return number * std::ldexp(1.0, static_cast<int>(byte()) - 128);
        case 3: return -number;
        default: return std::bit_cast<double>(bytes());
      }
    } else {
      constexpr Number most = std::numeric_limits<Number>::max(), least = std::numeric_limits<Number>::min();
      switch (byte() % 5) {
        case 0: return most;
        case 1: return least;
        case 2: return static_cast<Number>(static_cast<std::uint64_t>(number) + 1);
        case 3: return static_cast<Number>(static_cast<std::uint64_t>(number) - 1);
        default: return static_cast<Number>(bytes());
      }
    }
  }
  std::uint64_t bytes() {
    std::uint64_t out = 0;
    for (int k = 0; k < 8; ++k) out = out << 8 | byte();
    return out;
  }

  Choices choices_;
};

}  // namespace odca::fuzz
