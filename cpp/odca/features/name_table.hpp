// Byte strings, numbered in order of appearance: 0, 1, 2, ...
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace odca::text {

// The first eight bytes of a name, padded with zeros. Short names are read in overlapping pieces, so that nothing beyond the name is
// read.
[[gnu::always_inline]] inline std::uint64_t head_of(std::string_view name) {
  const auto word = [&]<class Word>(std::size_t at, Word out) -> std::uint64_t {
    std::memcpy(&out, name.data() + at, sizeof out);
    return out;
  };
  const std::size_t size = name.size();
  if (size >= 8) return word(0, std::uint64_t{});
  if (size >= 4) return word(0, std::uint32_t{}) | word(size - 4, std::uint32_t{}) << 8 * (size - 4);
  if (size >= 2) return word(0, std::uint16_t{}) | word(size - 2, std::uint16_t{}) << 8 * (size - 2);
  return size ? word(0, std::uint8_t{}) : 0;
}

// The eight bytes after those, padded the same way. They are read from the end of a name that has fewer.
[[gnu::always_inline]] inline std::uint64_t middle_of(std::string_view name) {
  const std::size_t size = name.size();
  if (size <= 8) return 0;
  std::uint64_t word;
  std::memcpy(&word, name.data() + (size < 16 ? size - 8 : 8), sizeof word);
  return size < 16 ? word >> 8 * (16 - size) : word;
}

class NameTable {
 public:
  std::int32_t size() const { return static_cast<std::int32_t>(hashes_.size()); }
  std::string_view operator[](std::int32_t number) const {
    const std::size_t from = number ? ends_[static_cast<std::size_t>(number) - 1] : 0;
    return std::string_view(bytes_).substr(from, ends_[static_cast<std::size_t>(number)] - from);
  }
  std::uint64_t hash(std::int32_t number) const { return hashes_[static_cast<std::size_t>(number)]; }

  // All names concatenated, and the end of each.
  const std::string& bytes() const { return bytes_; }
  const std::vector<std::size_t>& ends() const { return ends_; }

  // The number of a name with this hash (of good quality in all its bits), or -1.
  std::int32_t find(std::uint64_t hash, std::string_view name) const {
    if (slots_.empty()) return -1;
    const Slot& slot = slots_[place_of(hash, name)];
    return slot.number;
  }

  // A lookup waits for memory: for the slot, which holds a short name completely, then for the place of a longer name, then for its
  // bytes. To look up many names, call each of these for all of them first. (They are always inlined, because GCC drops calls of
  // functions that only prefetch.)
  [[gnu::always_inline]] void fetch_slot(std::uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  }
  static constexpr std::size_t short_name = 16;
  [[gnu::always_inline]] void fetch_end(std::uint64_t hash) const {
    const std::int32_t number = slots_.empty() ? -1 : slots_[hash & (slots_.size() - 1)].number;
    if (number >= 0) __builtin_prefetch(&ends_[static_cast<std::size_t>(number)]);
  }
  [[gnu::always_inline]] void fetch_bytes(std::uint64_t hash) const {
    const std::int32_t number = slots_.empty() ? -1 : slots_[hash & (slots_.size() - 1)].number;
    if (number >= 0) __builtin_prefetch((*this)[number].data());
  }

  // The same; a name that is new is added.
  std::int32_t add(std::uint64_t hash, std::string_view name) {
    if (slots_.empty()) slots_.resize(first_slots);
    Slot& slot = slots_[place_of(hash, name)];
    if (slot.number >= 0) return slot.number;
    const std::int32_t number = size();
    bytes_.append(name);
    ends_.push_back(bytes_.size());
    hashes_.push_back(hash);
    slot = {head_of(name), middle_of(name), tag(hash, name), number};
    if (hashes_.size() * 2 > slots_.size()) spread();
    return number;
  }

  // Forgets the names that came last, down to `size`.
  void cut(std::int32_t wanted) {
    while (size() > wanted) {
      const std::int32_t last = size() - 1;
      std::size_t place = hash(last) & (slots_.size() - 1);
      while (slots_[place].number != last) place = (place + 1) & (slots_.size() - 1);
      slots_[place] = {};  // the last name: no other one was placed after it
      hashes_.pop_back(), ends_.pop_back();
      bytes_.resize(last ? ends_.back() : 0);
    }
  }

 private:
  struct Slot {
    std::uint64_t head = 0, middle = 0;  // of the name
    std::uint32_t tag = 0;               // upper bits of its hash, and its length if that is below 255
    std::int32_t number = -1;
  };
  static constexpr std::size_t first_slots = 1024;  // a power of two, as is every later size

  static std::uint32_t tag(std::uint64_t hash, std::string_view name) {
    const std::size_t length = name.size() < 255 ? name.size() : 255;
    return (static_cast<std::uint32_t>(hash >> 32) & 0xffffff00) | static_cast<std::uint32_t>(length);
  }

  // Where the name is, or the free slot where it would be.
  std::size_t place_of(std::uint64_t hash, std::string_view name) const {
    const std::size_t mask = slots_.size() - 1;
    const std::uint64_t head = head_of(name), middle = middle_of(name);
    const std::uint32_t mark = tag(hash, name);
    for (std::size_t place = hash & mask;; place = (place + 1) & mask) {
      const Slot& slot = slots_[place];
      if (slot.number < 0) return place;
      if (slot.tag == mark && slot.head == head && slot.middle == middle &&
          (name.size() <= short_name || (*this)[slot.number] == name))
        return place;
    }
  }

  void spread() {
    slots_.assign(slots_.size() * 2, Slot{});
    const std::size_t mask = slots_.size() - 1;
    for (std::int32_t number = 0; number < size(); ++number) {
      std::size_t place = hash(number) & mask;
      while (slots_[place].number >= 0) place = (place + 1) & mask;
      const std::string_view name = (*this)[number];
      slots_[place] = {head_of(name), middle_of(name), tag(hash(number), name), number};
    }
  }

  std::string bytes_;
  std::vector<std::size_t> ends_;
  std::vector<std::uint64_t> hashes_;
  std::vector<Slot> slots_;
};

}  // namespace odca::text
