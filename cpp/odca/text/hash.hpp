// The hash of a feature, the same wherever a feature comes from: a dictionary, a line of text, a table.
#pragma once

#include <cstdint>
#include <string_view>

namespace odca {

// A feature's key is a string of bytes: the name; then, of a category, the byte 0xff and the value, of a missing value the
// byte 0xfe. A product of features is their keys with 0xfd in between. (None of these bytes is ever part of UTF-8.)
inline constexpr char product_mark = '\xfd', missing_mark = '\xfe', category_mark = '\xff';

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
  std::int32_t index(int bits) const { return static_cast<std::int32_t>(mixed() & ((std::uint64_t{1} << bits) - 1)); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace odca
