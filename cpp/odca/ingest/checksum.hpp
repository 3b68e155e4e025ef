// A checksum of a stream of bytes, the same however the stream is cut into pieces. It is as fast as memory and good enough to
// notice a change, but not made against someone who wants it to go unnoticed.
//
// Pairs of words (of eight bytes) go in turn to four lanes. The k-th pair of a lane, v and w, adds the product (v xor f)·(w + f), its
// upper half xored to its lower one, with f = f₀ + k·step: so nothing can change places.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace odca::text {

class Checksum {
 public:
  void add(std::string_view data) {
    length_ += data.size();
    if (held_ != 0) data.remove_prefix(hold(data));
    if (held_ == stripe) {
      add_stripes({rest_, stripe});
      held_ = 0;
    }
    if (held_ == 0) {
      data.remove_prefix(add_stripes(data));
      hold(data);
    }
  }

  std::uint64_t value() const {
    Checksum last = *this;
    std::memset(last.rest_ + held_, 0, stripe - held_);
    last.add_stripes({last.rest_, stripe});
    std::uint64_t out = length_;
    for (const std::uint64_t sum : last.sums_) out = folded(out ^ sum, 0x9fb21c651e98df25);
    return out;
  }

 private:
  static constexpr std::size_t lanes = 4, pair = 16, stripe = lanes * pair;
  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15;

  // The upper and the lower half of the product, xored.
  static std::uint64_t folded(std::uint64_t x, std::uint64_t y) {
    const unsigned __int128 product = static_cast<unsigned __int128>(x) * y;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  static std::uint64_t load(const char* from) {
    std::uint64_t word;
    std::memcpy(&word, from, 8);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
  }

  // Adds all whole stripes; returns how many bytes they have. (The members are copied: the compiler cannot know that no byte of the
  // data is one of them.)
  std::size_t add_stripes(std::string_view data) {
    const std::size_t whole = data.size() / stripe * stripe;
    std::uint64_t sums[lanes], f = factor_;
    std::copy_n(sums_, lanes, sums);
    for (std::size_t at = 0; at < whole; at += stripe, f += step)
      for (std::size_t k = 0; k < lanes; ++k) {
        const char* const from = data.data() + at + pair * k;
        sums[k] += folded(load(from) ^ f, load(from + 8) + f);
      }
    std::copy_n(sums, lanes, sums_);
    factor_ = f;
    return whole;
  }
  // Keeps bytes of a stripe that is not complete; returns how many.
  std::size_t hold(std::string_view data) {
    const std::size_t count = std::min(stripe - held_, data.size());
    data.copy(rest_ + held_, count);
    held_ += count;
    return count;
  }

  std::uint64_t sums_[lanes] = {};
  std::uint64_t factor_ = 0xa0761d6478bd642f;
  char rest_[stripe] = {};
  std::size_t held_ = 0;  // the bytes in `rest_`
  std::uint64_t length_ = 0;
};

}  // namespace odca::text
