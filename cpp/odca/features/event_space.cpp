#include "odca/features/event_space.hpp"

#include <algorithm>

#include "odca/errors.hpp"
#include "odca/features/quoting.hpp"
#include "odca/features/vocabulary.hpp"

namespace odca::text {

void EventSpace::require_room(const NameTable& fresh) const {
  const std::int64_t room = most_ - names_.size();
  if (fresh.size() <= room) return;
  throw InputError("there is no room for " + shown(fresh[static_cast<std::int32_t>(room)]) + ": there can be " +
                   std::to_string(most_) + " features, and all have names already");
}

void EventSpace::append(const NameTable& fresh, std::int32_t count) {
  for (std::int32_t k = 0; k < count; ++k) names_.add(fresh.hash(k), fresh[k]);
}

void EventSpace::add_first_names() {
  if (is_hashed()) return;
  for (const std::string& name : history_names(options_)) names_.add(hash_of_key(name).mixed(), name);
  require_room({});
}

void EventSpace::restore(std::string_view bytes, const std::vector<std::int64_t>& ends) {
  NameTable names = names_from(bytes, ends);
  for (std::int32_t k = 0; k < names.size(); ++k)
    if (names[k].empty() || std::string_view("\xfd\xfe\xff").find(names[k].front()) != std::string_view::npos)
      throw InputError("a feature is without a name");
  const std::int32_t first = is_hashed() ? 0 : static_cast<std::int32_t>(history_names(options_).size());
  for (std::int32_t k = 0; k < first; ++k)
    if (k >= names.size() || names[k] != names_[k])
      throw InputError("its names do not begin with those of its history");
  names_ = {};
  require_room(names);
  names_ = std::move(names);
}

std::int32_t EventSpace::index_of(std::string_view key) const {
  const FeatureHash hash = hash_of_key(key);
  if (is_hashed()) return first_index() + hashed_index(hash, key, options_.bits);
  const std::int32_t number = names_.find(hash.mixed(), key);
  return number < 0 ? -1 : first_index() + number;
}

// New features come last in a row, because their indices are the highest.
void EventReader::finish_known_event() {
  builder_.finish_row({});
  if (block_.texts.events() > 0)
    block_.texts.renumber(block_.texts.events() - 1,
                          [&](std::int32_t index) { return index < known_width_ ? index : Texts::unknown; });
  SparseRows& rows = block_.rows;
  const auto begin = static_cast<std::size_t>(rows.start[rows.start.size() - 2]);
  std::size_t size = rows.index.size();
  while (size > begin && rows.index[size - 1] >= known_width_) --size;
  if (size == rows.index.size()) return;
  rows.cut(size);
  rows.start.back() = static_cast<std::int32_t>(size);
}

std::int32_t EventReader::fresh_after(std::int64_t count) const {
  if (count == rows().size()) return fresh().size();
  const auto* const first = rows().index.data();
  const auto* const last = first + rows().start[static_cast<std::size_t>(count)];
  std::int32_t highest = first == last ? -1 : *std::max_element(first, last);
  for (std::size_t event = 0; event < static_cast<std::size_t>(count) && event < block_.texts.events(); ++event)
    block_.texts.each_text(event, [&](const Texts::Feature* each, const Texts::Feature* end) {
      for (; each != end; ++each) highest = std::max(highest, each->index);
    });
  return std::max(0, highest + 1 - static_cast<std::int32_t>(known_width_));
}

void add_text_features(const EventSpace& space, const DocumentCounts& documents, const Texts& texts,
                       const NameTable& keys, std::vector<double>& value) {
  std::vector<double> worth;
  for (std::size_t event = 0; event < texts.events(); ++event)
    texts.each_text(event, [&](const Texts::Feature* first, const Texts::Feature* last) {
      std::vector<Texts::Feature> in_space(first, last);
      for (Texts::Feature& each : in_space) each.index = space.index_of(keys[each.index]);
      documents.weigh(in_space.data(), in_space.data() + in_space.size(), worth);
      for (std::size_t k = 0; k < worth.size(); ++k) value[static_cast<std::size_t>(first[k].index)] += worth[k];
    });
}

}  // namespace odca::text
