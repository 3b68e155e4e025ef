#include "odca/text/vocabulary.hpp"

#include <algorithm>

#include "odca/text/hash.hpp"
#include "odca/text/unicode.hpp"

namespace odca::text {

namespace {

// That of a product comes from its factors'.
FeatureHash hash_of(std::string_view key) {
  std::size_t cut = key.find(product_mark);
  FeatureHash hash = FeatureHash().add(key.substr(0, cut));
  while (cut != std::string_view::npos) {
    key.remove_prefix(cut + 1);
    cut = key.find(product_mark);
    hash = hash.times(FeatureHash().add(key.substr(0, cut)));
  }
  return hash;
}

}  // namespace

void Vocabulary::restore(std::string_view bytes, const std::vector<std::int64_t>& ends) {
  NameTable names;
  std::int64_t from = 0;
  for (const std::int64_t end : ends) {
    if (end < from || end > static_cast<std::int64_t>(bytes.size()) || names.size() >= most)
      throw InputError("its names do not lie one behind the other");
    const std::string_view key = bytes.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(end - from));
    if (!is_utf8(key, true)) throw InputError("a name is not UTF-8");
    const std::int32_t before = names.size();
    if (names.add(hash_of(key).mixed(), key) != before) throw InputError("a name is there twice");
    from = end;
  }
  if (from != static_cast<std::int64_t>(bytes.size())) throw InputError("its names do not lie one behind the other");
  const std::lock_guard lock(mutex_);
  base_ = std::make_shared<const NameTable>(std::move(names));
  fresh_ = {};
}

std::vector<std::int64_t> Vocabulary::ends() const {
  std::vector<std::int64_t> out(base_->ends().begin(), base_->ends().end());
  const auto before = static_cast<std::int64_t>(base_->bytes().size());
  for (const std::size_t end : fresh_.ends()) out.push_back(before + static_cast<std::int64_t>(end));
  return out;
}

// The fresh names become known to all.
void Vocabulary::settle() {
  NameTable all = *base_;
  for (std::int32_t k = 0; k < fresh_.size(); ++k) all.add(fresh_.hash(k), fresh_[k]);
  const std::lock_guard lock(mutex_);
  base_ = std::make_shared<const NameTable>(std::move(all));
  fresh_ = {};
}

void Vocabulary::resolve(const std::vector<std::int32_t>& places, std::int64_t width, Block& block) {
  block.width = width;
  if (places.empty()) return;
  const bool drops = std::find(places.begin(), places.end(), -1) != places.end();
  Rows resolved;
  RowMaker row;
  const Rows& rows = block.rows;
  const std::int32_t known = block.n_known();
  for (std::size_t i = 1; i < rows.start.size(); ++i) {
    const auto begin = static_cast<std::size_t>(rows.start[i - 1]), end = static_cast<std::size_t>(rows.start[i]);
    const bool has_new = begin < end && rows.index[end - 1] >= known;  // new ones are behind the others
    if (!drops && !has_new) continue;
    for (std::size_t k = begin; k < end; ++k) {
      const std::int32_t index = rows.index[k];
      const std::int32_t place = index < known ? index : places[static_cast<std::size_t>(index - known)];
      if (place >= 0) resolved.add(place, rows.value[k]);
    }
    row.finish(resolved);
    if (drops) continue;
    std::copy(resolved.index.begin(), resolved.index.end(), block.rows.index.begin() + rows.start[i - 1]);
    std::copy(resolved.value.begin(), resolved.value.end(), block.rows.value.begin() + rows.start[i - 1]);
    resolved.clear();
  }
  if (drops) block.rows = std::move(resolved);
}

}  // namespace odca::text
