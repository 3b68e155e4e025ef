// A cache of recently used names of numbers and their features.
//
// Most names of an event occurred in earlier events, usually in the same order: a name is first compared with the one that followed its
// predecessor the last time, and otherwise found by the hash that Python stores with every string. This avoids hashing it again and
// looking it up among all names of the model. Needs the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "odca/features/builder.hpp"

namespace odca::bind {

namespace nb = nanobind;

class RecentNames {
 public:
  // The feature of this name, a plain string; null if it is not in the cache.
  [[gnu::always_inline]] const text::Feature* find(PyObject* name) {
    const std::uint32_t guess = slots_[last_].next;
    if (slots_[guess].is(name)) [[likely]]
      return &slots_[last_ = guess].feature;
    return find_by_hash(name);
  }

  // To be called for a name that `find` does not find.
  void add(PyObject* name, const text::Feature& feature) {
    if (size_ == most) {
      std::fill(slots_.begin(), slots_.end(), Slot());
      size_ = 0;
    }
    if (2 * ++size_ > slots_.size()) grow();
    free_slot(hash_of(name)) = Slot(name, feature);
  }

 private:
  static constexpr std::size_t most = 1 << 14;     // so that a stream of ever new names does not fill the memory
  static constexpr std::size_t fewest_slots = 64;  // a power of two, as is every other size

  static std::uint32_t hash_of(PyObject* text) {
    const Py_hash_t kept = reinterpret_cast<PyASCIIObject*>(text)->hash;  // -1 until it is asked for
    return static_cast<std::uint32_t>(kept != -1 ? kept : PyObject_Hash(text));
  }

  // A short name is all in its slot: nothing else in the memory is looked at.
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t next = 0;  // the slot of the name that followed it the last time
    std::uint64_t head = 0;  // of the name's bytes, as Python holds them
    std::size_t shape = 0;   // its length, and how many bytes a character has; 0 if the slot is free
    nb::object long_name;    // if there are more bytes
    text::Feature feature;

    Slot() = default;
    Slot(PyObject* name, const text::Feature& feature)
        : hash(hash_of(name)), head(text::head_of(bytes_of(name))), shape(shape_of(name)), feature(feature) {
      if (bytes_of(name).size() > sizeof head) long_name = nb::borrow(name);
    }

    bool is_free() const { return shape == 0; }
    [[gnu::always_inline]] bool is(PyObject* name) const {
      if (shape_of(name) != shape) return false;
      const std::string_view bytes = bytes_of(name);
      return text::head_of(bytes) == head && (bytes.size() <= sizeof head || bytes == bytes_of(long_name.ptr()));
    }

    static std::size_t shape_of(PyObject* text) {
      return static_cast<std::size_t>(PyUnicode_GET_LENGTH(text)) << 3 | PyUnicode_KIND(text);
    }
    [[gnu::always_inline]] static std::string_view bytes_of(PyObject* text) {
      return {static_cast<const char*>(PyUnicode_DATA(text)),
              static_cast<std::size_t>(PyUnicode_GET_LENGTH(text)) * PyUnicode_KIND(text)};
    }
  };

  const text::Feature* find_by_hash(PyObject* name) {
    std::size_t at = hash_of(name) & mask_;
    for (; !slots_[at].is(name); at = (at + 1) & mask_)
      if (slots_[at].is_free()) return nullptr;
    slots_[last_].next = static_cast<std::uint32_t>(at);
    last_ = slots_[last_].next;
    return &slots_[at].feature;
  }

  Slot& free_slot(std::uint32_t hash) {
    std::size_t at = hash & mask_;
    while (!slots_[at].is_free()) at = (at + 1) & mask_;
    return slots_[at];
  }

  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    last_ = 0;
    for (Slot& slot : old)
      if (!slot.is_free()) slot.next = 0, free_slot(slot.hash) = std::move(slot);
  }

  std::vector<Slot> slots_ = std::vector<Slot>(fewest_slots);
  std::size_t mask_ = fewest_slots - 1, size_ = 0;
  std::uint32_t last_ = 0;  // the slot of the last name that was found
};

}  // namespace odca::bind
