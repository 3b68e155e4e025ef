#include "odca/features/vocabulary.hpp"

#include <algorithm>

#include "odca/features/quoting.hpp"
#include "odca/features/unicode.hpp"

namespace odca::text {

FeatureHash hash_of_key(std::string_view key) {
  std::size_t cut = key.find(product_mark);
  FeatureHash hash = FeatureHash().add(key.substr(0, cut));
  while (cut != std::string_view::npos) {
    key.remove_prefix(cut + 1);
    cut = key.find(product_mark);
    hash = hash.times(FeatureHash().add(key.substr(0, cut)));
  }
  return hash;
}

NameTable names_from(std::string_view bytes, const std::vector<std::int64_t>& ends) {
  NameTable names;
  std::int64_t from = 0;
  for (const std::int64_t end : ends) {
    if (end < from || end > static_cast<std::int64_t>(bytes.size()) || names.size() >= Vocabulary::most)
      throw InputError("its names are not consecutive");
    const std::string_view key = bytes.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(end - from));
    if (!is_utf8(key, true)) throw InputError("a name is not UTF-8");
    const std::int32_t before = names.size();
    if (names.add(hash_of_key(key).mixed(), key) != before)
      throw InputError("the name " + shown(key) + " is there twice");
    from = end;
  }
  if (from != static_cast<std::int64_t>(bytes.size())) throw InputError("its names are not consecutive");
  return names;
}

void Vocabulary::restore(std::string_view bytes, const std::vector<std::int64_t>& ends) {
  auto names = std::make_shared<const NameTable>(names_from(bytes, ends));
  const std::scoped_lock changing(changing_);
  const std::scoped_lock all(names_);
  const std::scoped_lock pointer(pointer_);
  base_ = std::move(names);
  fresh_ = {};
}

void Vocabulary::cut(std::int32_t size) {
  const std::scoped_lock changing(changing_);
  const std::scoped_lock all(names_);
  fresh_.cut(std::max(size - base_->size(), 0));
  if (size >= base_->size()) return;
  NameTable first = *base_;
  first.cut(size);
  const std::scoped_lock pointer(pointer_);
  base_ = std::make_shared<const NameTable>(std::move(first));
}

std::vector<std::int64_t> Vocabulary::ends() const {
  const std::scoped_lock all(names_);
  std::vector<std::int64_t> out(base_->ends().begin(), base_->ends().end());
  const auto before = static_cast<std::int64_t>(base_->bytes().size());
  for (const std::size_t end : fresh_.ends()) out.push_back(before + static_cast<std::int64_t>(end));
  return out;
}

// The fresh names become known to all.
void Vocabulary::settle() {
  const std::scoped_lock changing(changing_);
  const std::scoped_lock all(names_);
  settle_all();
}

void Vocabulary::settle_all() {
  NameTable all = *base_;
  for (std::int32_t k = 0; k < fresh_.size(); ++k) all.add(fresh_.hash(k), fresh_[k]);
  const std::scoped_lock pointer(pointer_);
  base_ = std::make_shared<const NameTable>(std::move(all));
  fresh_ = {};
}

// The names that the block knew already have lower numbers than its new ones, so known features stay in place in their rows.
void Vocabulary::resolve(const std::vector<std::int32_t>& places, std::int64_t width, Block& block) {
  block.width = width;
  if (places.empty()) return;
  RowMaker maker;
  SparseRows& rows = block.rows;
  SparseRows fresh;  // the new features of a row
  const std::int32_t known = block.n_known();
  block.texts.renumber(
      0, [&](std::int32_t index) { return index < known ? index : places[static_cast<std::size_t>(index - known)]; });
  std::size_t to = 0, begin = 0;
  for (std::size_t i = 1; i < rows.start.size(); ++i) {
    const auto end = static_cast<std::size_t>(rows.start[i]);
    std::size_t first = end;  // of the new features, which come after the others
    while (first > begin && rows.index[first - 1] >= known) --first;
    fresh.clear();
    for (std::size_t k = first; k < end; ++k) {
      const std::int32_t place = places[static_cast<std::size_t>(rows.index[k] - known)];
      if (place >= 0) fresh.add(place, rows.value[k]);
    }
    maker.finish(fresh);
    if (to < begin) {
      std::copy(rows.index.begin() + begin, rows.index.begin() + first, rows.index.begin() + to);
      std::copy(rows.value.begin() + begin, rows.value.begin() + first, rows.value.begin() + to);
    }
    to += first - begin;
    std::copy(fresh.index.begin(), fresh.index.end(), rows.index.begin() + to);
    std::copy(fresh.value.begin(), fresh.value.end(), rows.value.begin() + to);
    to += fresh.index.size();
    rows.start[i] = static_cast<std::int32_t>(to);
    begin = end;
  }
  rows.cut(to);
}

}  // namespace odca::text
