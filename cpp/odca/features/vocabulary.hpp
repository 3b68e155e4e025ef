// All names that a stream has brought, and the features of a block by their numbers there.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "odca/errors.hpp"
#include "odca/features/block.hpp"
#include "odca/features/hash.hpp"
#include "odca/sync/fair_mutex.hpp"

namespace odca::text {

// The hash of a feature by its key; that of a product comes from those of its factors.
FeatureHash hash_of_key(std::string_view key);

// The names of a file: one after the other, and where each ends. Throws InputError for what cannot be.
NameTable names_from(std::string_view bytes, const std::vector<std::int64_t>& ends);

// Several threads may use one.
class Vocabulary {
 public:
  static constexpr std::int32_t most = 0x7ffffffd;

  std::int32_t size() const {
    const std::scoped_lock all(names_);
    return base_->size() + fresh_.size();
  }
  // Calls visit(name) for each, in order.
  template <class Visit>
  void each(Visit&& visit) const {
    const std::scoped_lock all(names_);
    for (const NameTable* part : {base_.get(), &fresh_})
      for (std::int32_t k = 0; k < part->size(); ++k) visit((*part)[k]);
  }

  // Most of the names, as they are now: they never change, and any thread may look there.
  std::shared_ptr<const NameTable> known() const {
    const std::scoped_lock pointer(pointer_);
    return base_;
  }

  // Makes them all of the names. It is done as they grow; to do it more often changes no result.
  void settle();

  // Where the new names of a block are among all; -1 for those that are not there. If it is to `grow`, they are added in their order:
  // blocks that come in the stream's order number the names as one block of the whole text would.
  std::vector<std::int32_t> absorb(const Block& block, bool grow) {
    std::unique_lock changing(changing_, std::defer_lock);
    if (grow) changing.lock();
    const std::scoped_lock all(names_);
    const NameTable& names = block.names;
    std::vector<std::int32_t> places(static_cast<std::size_t>(names.size()));
    constexpr std::int32_t ahead = 8;
    for (std::int32_t k = 0; k < names.size(); ++k) {
      if (k + 3 * ahead < names.size()) base_->fetch_slot(names.hash(k + 3 * ahead));
      if (k + 2 * ahead < names.size()) base_->fetch_end(names.hash(k + 2 * ahead));
      if (k + ahead < names.size()) base_->fetch_bytes(names.hash(k + ahead));
      places[static_cast<std::size_t>(k)] = place_of(names.hash(k), names[k], grow);
    }
    if (grow && fresh_.size() > least_fresh && fresh_.size() > base_->size() / 16) settle_all();
    return places;
  }

  // The names concatenated, and the end of each, for a file. `restore` reads them again; it throws InputError if they are invalid.
  std::string bytes() const {
    const std::scoped_lock all(names_);
    return base_->bytes() + fresh_.bytes();
  }
  std::vector<std::int64_t> ends() const;
  void restore(std::string_view bytes, const std::vector<std::int64_t>& ends);

  // Forgets the names that came last, down to `size`: those of events that were refused.
  void cut(std::int32_t size);

  // The block's new features at these places, in order; those that have none are dropped.
  static void resolve(const std::vector<std::int32_t>& places, std::int64_t width, Block& block);

 private:
  static constexpr std::int32_t least_fresh = 256;

  void settle_all();
  std::int32_t place_of(std::uint64_t hash, std::string_view name, bool grow) {
    const std::int32_t place = base_->find(hash, name);
    if (place >= 0) return place;
    const std::int32_t number = grow ? fresh_.add(hash, name) : fresh_.find(hash, name);
    if (number >= 0 && base_->size() + number >= most)
      throw InputError("there are more names than can be numbered. Hash them");
    return number < 0 ? -1 : base_->size() + number;
  }

  // A table that others may read, and the names that came since it was made.
  std::shared_ptr<const NameTable> base_ = std::make_shared<const NameTable>();
  NameTable fresh_;
  FairMutex changing_;  // around every change, before the others: those say in a child whether it was cut short
  mutable FairMutex names_{changing_};  // around all of this, while it is read or changed
  mutable FairMutex pointer_{
      changing_};  // around uses of the pointer: threads that parse do not wait for the names of a block
};

}  // namespace odca::text
