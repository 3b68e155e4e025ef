// The hash of a feature, the same wherever a feature comes from: a dictionary, a line of text, a table.
#pragma once

#include <cstdint>
#include <string_view>

namespace odca {

// A feature's key is a string of bytes: the name; then, of a category, the byte 0xff and the value, of a missing value the
// byte 0xfe. A product of features is their keys with 0xfd in between. (None of these bytes is ever part of UTF-8.)
inline constexpr char product_mark = '\xfd', missing_mark = '\xfe', category_mark = '\xff';

// The number that a name is, if it is written as numbers are: up to 18 digits, no zero before others. Else -1.
inline std::int64_t number_of(std::string_view name) {
  if (name.empty() || name.size() > 18 || (name.front() == '0' && name.size() > 1)) return -1;
  std::int64_t number = 0;
  for (const char c : name) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  return number;
}

// FNV-1a (64 bits) over the key. A bijection mixes the bits at the end; the lowest are the index. The hash of a product comes
// from those of its factors, so that it costs the same however long their names are.
class FeatureHash {
 public:
  FeatureHash& add(std::string_view text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    return *this;
  }
  FeatureHash& add(unsigned char byte) {
    hash_ = (hash_ ^ byte) * 0x100000001b3;
    return *this;
  }
  FeatureHash times(FeatureHash factor) const {
    FeatureHash product = *this;
    product.hash_ = mixed() * 0x9e3779b97f4a7c15 + factor.mixed();
    return product;
  }
  std::uint64_t mixed() const {
    std::uint64_t h = hash_;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccd;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53;
    return h ^ (h >> 33);
  }
  std::int32_t index(int bits) const { return lowest(mixed(), bits); }
  static std::int32_t lowest(std::uint64_t number, int bits) {
    return static_cast<std::int32_t>(number & ((std::uint64_t{1} << bits) - 1));
  }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

// The index of a key with this hash: of one that is a number its lowest bits, so that features that have numbers instead of names
// do not collide and stay in their order; else those of the hash.
inline std::int32_t hashed_index(FeatureHash hash, std::string_view key, int bits) {
  const std::int64_t number = number_of(key);
  return number < 0 ? hash.index(bits) : FeatureHash::lowest(static_cast<std::uint64_t>(number), bits);
}

}  // namespace odca
