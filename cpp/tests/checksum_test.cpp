#include "odca/ingest/checksum.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "random.hpp"

using odca::test::Random;
using odca::text::Checksum;

namespace {

std::uint64_t checksum(std::string_view data) {
  Checksum sum;
  sum.add(data);
  return sum.value();
}

std::string bytes(Random& random, std::int64_t size) {
  std::string out(static_cast<std::size_t>(size), '\0');
  for (char& c : out) c = static_cast<char>(random.below(256));
  return out;
}

}  // namespace

TEST_CASE("a checksum does not depend on how the bytes are cut into pieces") {
  Random random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const std::string data = bytes(random, random.below(400));
    Checksum pieces;
    for (std::string_view rest = data; !rest.empty();) {
      const auto length = static_cast<std::size_t>(random.between(1, std::min<std::int64_t>(90, std::ssize(rest))));
      pieces.add(rest.substr(0, length));
      rest.remove_prefix(length);
      CHECK(pieces.value() == checksum(std::string_view(data).substr(0, data.size() - rest.size())));
    }
  }
}

TEST_CASE("every change of a byte, every exchange of words and every length has a checksum of its own") {
  Random random(2);
  const std::string data = bytes(random, 256);
  std::set<std::uint64_t> seen = {checksum(data)};
  std::size_t count = 1;
  for (std::size_t k = 0; k < data.size(); ++k)
    for (int change = 1; change < 256; ++change, ++count) {
      std::string other = data;
      other[k] = static_cast<char>(other[k] ^ change);
      seen.insert(checksum(other));
    }
  for (std::size_t i = 0; i < 256; i += 8)
    for (std::size_t j = i + 8; j < 256; j += 8, ++count) {
      std::string other = data;
      std::swap_ranges(other.begin() + i, other.begin() + i + 8, other.begin() + j);
      seen.insert(checksum(other));
    }
  for (std::size_t length = 0; length < 300; ++length, ++count) seen.insert(checksum(std::string(length, '\0')));
  CHECK(seen.size() == count);
}

TEST_CASE("a checksum is the same on every machine") {
  CHECK(checksum("") == 0xa2e0b4266e6f826d);
  CHECK(checksum("the quick brown fox") == 0x904c61863a2c2822);
}
