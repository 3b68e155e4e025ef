// A record for each feature: numbers that all heads share, then a group of numbers for every head.
//
// There is room for more heads than are in use. When it is full it doubles, so classes that appear one after another move every
// number about once in all, instead of once for each class.
//
// A new head begins at the mean of the others. What is common to all classes changes no probability, so it may be anything, and in
// fact the weights of all classes drift together: zero would be far from what a class without events has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
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

  // Where the numbers of heads come from: head c takes those of source[c], times factor[c]; -1 is a new one. The mean at which new
  // ones begin is that of at most `most` of the others, evenly spaced.
  struct Arrangement {
    std::vector<int> source;
    std::vector<double> factor;
    std::vector<int> averaged{}, added{};

    Arrangement(std::vector<int> sources, std::vector<double> factors, int most)
        : source(std::move(sources)), factor(std::move(factors)) {
      for (int c = 0; c < heads(); ++c) (source[c] >= 0 ? averaged : added).push_back(c);
      const auto all = static_cast<std::int64_t>(averaged.size());
      if (all <= most) return;
      for (std::int64_t n = 0; n < most; ++n) averaged[n] = averaged[n * all / most];
      averaged.resize(static_cast<std::size_t>(most));
    }

    int heads() const { return static_cast<int>(source.size()); }
    // Whether the first heads, so many, stay as they are, and those after them are new.
    bool only_adds_to(int heads_now) const {
      for (int c = 0; c < heads(); ++c)
        if (source[c] != (c < heads_now ? c : -1) || factor[c] != 1.0) return false;
      return heads() >= heads_now;
    }
  };

  // How much room to make for more heads than there is room for.
  int next_room(int heads) const { return size_ == 0 ? heads : std::max(heads, 2 * room_); }
  // For an arrangement that only adds heads, for which there is room.
  void add_heads(const Arrangement& to) {
    heads_ = to.heads();
    for (std::int64_t j = 0; j < size_; ++j) begin_heads((*this)[j] + shared_, to);
  }
  Records with_heads(const Arrangement& to, int room) const {
    Records out(shared_, group_, to.heads(), room, size_);
    for (std::int64_t j = 0; j < size_; ++j) {
      const double* from = (*this)[j] + shared_;
      double* const groups = std::copy_n((*this)[j], shared_, out[j]);
      for (int c = 0; c < to.heads(); ++c)
        if (to.source[c] >= 0)
          for (int k = 0; k < group_; ++k)
            groups[group_ * c + k] = to.factor[c] * from[group_ * to.source[c] + k] + 0.0;  // never -0
      begin_heads(groups, to);
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

  void begin_heads(double* groups, const Arrangement& to) const {
    for (int k = 0; k < group_; ++k) {
      double sum = 0.0;
      for (const int c : to.averaged) sum += groups[group_ * c + k];
      if (sum == 0.0) continue;
      for (const int c : to.added) groups[group_ * c + k] = sum / static_cast<double>(to.averaged.size());
    }
  }

  std::size_t width_of(int heads) const { return static_cast<std::size_t>(shared_ + group_ * heads); }
  std::size_t total(std::int64_t size) const { return static_cast<std::size_t>(size * stride_); }

  int shared_, group_, heads_, room_;
  std::int64_t size_, stride_ = static_cast<std::int64_t>(width_of(room_));
  ModelVector numbers_;
};

}  // namespace odca::experts
