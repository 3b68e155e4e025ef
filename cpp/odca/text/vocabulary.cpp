#include "odca/text/vocabulary.hpp"

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
  names_ = std::move(names);
}

}  // namespace odca::text
