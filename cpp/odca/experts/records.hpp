// A record for each feature: numbers that all heads share, then a group of numbers for every head.
//
// There is room for more heads than are in use, filled with zeros. When it is full it doubles, so classes that appear one after
// another move every number about once in all, instead of once for each class.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "odca/math/aligned.hpp"

namespace odca::experts {

class Records {
 public:
  Records(int shared, int group, int heads, std::int64_t size = 0)
      : shared_(shared), group_(group), heads_(heads), room_(heads), size_(size), numbers_(total(size)) {}

  std::int64_t size() const { return size_; }
  int heads() const { return heads_; }
  int room() const { return room_; }  // for so many heads
  // How many numbers of a record are in use.
  std::size_t width() const { return width_of(heads_); }

  double* operator[](std::int64_t j) { return numbers_.data() + j * stride_; }
  const double* operator[](std::int64_t j) const { return numbers_.data() + j * stride_; }

  // If there is no memory, nothing has changed; after reserve(), resize() cannot fail.
  void reserve(std::int64_t size) {
    if (total(size) > numbers_.capacity()) numbers_.reserve(std::max(total(size), numbers_.capacity() * 3 / 2));
  }
  void resize(std::int64_t size) { reserve(size), numbers_.resize(total(size)), size_ = size; }

  // More heads, which begin at zero. There must be room for them.
  void use_heads(int heads) { heads_ = heads; }
  // How much room to make for more heads than there is room for.
  int next_room(int heads) const { return size_ == 0 ? heads : std::max(heads, 2 * room_); }
  // The same records with other heads: head c takes the numbers of source[c], times factor[c]; -1 begins at zero.
  Records with_heads(const std::vector<int>& source, const std::vector<double>& factor, int room) const {
    Records out(shared_, group_, static_cast<int>(source.size()), room, size_);
    for (std::int64_t j = 0; j < size_; ++j) {
      const double* from = (*this)[j] + shared_;
      double* to = std::copy_n((*this)[j], shared_, out[j]);
      for (std::size_t c = 0; c < source.size(); ++c, to += group_)
        if (source[c] >= 0)
          for (int k = 0; k < group_; ++k) to[k] = factor[c] * from[group_ * source[c] + k];
    }
    return out;
  }

  // As a file holds them: the numbers in use, record by record.
  std::vector<double> packed() const {
    std::vector<double> out;
    out.reserve(static_cast<std::size_t>(size_) * width());
    for (std::int64_t j = 0; j < size_; ++j) out.insert(out.end(), (*this)[j], (*this)[j] + width());
    return out;
  }
  // The reverse. False if these are not whole records.
  bool unpack(const std::vector<double>& packed) {
    if (packed.size() % width() != 0) return false;
    room_ = heads_, stride_ = static_cast<std::int64_t>(width());
    size_ = static_cast<std::int64_t>(packed.size() / width());
    numbers_.assign(packed.begin(), packed.end());
    return true;
  }

 private:
  Records(int shared, int group, int heads, int room, std::int64_t size)
      : shared_(shared), group_(group), heads_(heads), room_(room), size_(size), numbers_(total(size)) {}

  std::size_t width_of(int heads) const { return static_cast<std::size_t>(shared_ + group_ * heads); }
  std::size_t total(std::int64_t size) const { return static_cast<std::size_t>(size * stride_); }

  int shared_, group_, heads_, room_;
  std::int64_t size_, stride_ = static_cast<std::int64_t>(width_of(room_));
  ModelVector numbers_;
};

}  // namespace odca::experts
