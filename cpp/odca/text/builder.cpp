#include "odca/text/builder.hpp"

#include <algorithm>
#include <cmath>

#include "odca/text/lines.hpp"
#include "odca/text/unicode.hpp"

namespace odca::text {

namespace {

// Far more than anyone means; below it an event fits into memory.
constexpr std::size_t most_features_of_an_event = 1 << 24;

bool among(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Builder::Builder(const FeatureOptions& options, Block& block, bool paths)
    : options_(options), block_(block), paths_(paths) {
  for (const auto& interaction : options.interactions) {
    auto& slots = interactions_.emplace_back();
    for (const std::string& name : interaction) {
      if (!among(crossed_, name)) crossed_.push_back(name);
      slots.push_back(static_cast<std::size_t>(std::find(crossed_.begin(), crossed_.end(), name) - crossed_.begin()));
    }
    std::sort(slots.begin(), slots.end());  // a field that is crossed with itself stands beside itself
    if (std::find(interactions_.begin(), interactions_.end() - 1, slots) != interactions_.end() - 1)
      interactions_.pop_back();
  }
  factors_.resize(crossed_.size());
}

// The one of these names that means the field, or the whole of which it is a part; if several do, the most specific.
const std::string* Builder::meant(const std::vector<std::string>& names, std::string_view field,
                                  std::string_view whole) const {
  const std::string* best = nullptr;
  for (const std::string& name : names) {
    const bool above = paths_ && field.starts_with(name) && field.substr(name.size()).starts_with('.');
    const bool named = name == field || (!whole.empty() && name == whole) || above;
    if (named && (!best || name.size() > best->size())) best = &name;
  }
  return best;
}

Field& Builder::field(std::string_view name, std::string_view whole) {
  FeatureHash hash;
  hash.add(name);
  const std::int32_t number = field_names_.add(hash.mixed(), name);
  if (static_cast<std::size_t>(number) < fields_.size()) return *fields_[static_cast<std::size_t>(number)];
  auto made = std::make_unique<Field>();
  made->name = name;
  made->prefix = name.empty() ? "" : made->name + "^";
  made->hash = hash;
  made->prefix_hash.add(made->prefix);
  made->category_hash = hash.add(static_cast<unsigned char>(category_mark));
  made->kept = (options_.keep.empty() || meant(options_.keep, name, whole)) && !meant(options_.ignore, name, whole);
  std::size_t most = 0;
  const auto declare = [&](const std::vector<std::string>& names, Field::Kind kind) {
    const std::string* const found = meant(names, name, {});
    if (found && found->size() >= most) made->kind = kind, most = found->size();
  };
  declare(options_.numeric, Field::Kind::number);
  declare(options_.categorical, Field::Kind::category);
  declare(options_.text, Field::Kind::text);
  if (const std::string* const found = meant(crossed_, name, whole); found && made->kept)
    made->slot = static_cast<int>(found - crossed_.data());
  fields_.push_back(std::move(made));
  return *fields_.back();
}

void Builder::category(const Field& field, std::string_view value, std::string_view where) {
  FeatureHash hash = field.category_hash;
  hash.add(value);
  key_ = field.name;
  key_ += category_mark;
  key_ += value;
  add(hash, index_of(hash, key_, field, value, where), 1.0, field.slot);
}

void Builder::missing(const Field& field, std::string_view where) {
  if (options_.missing == Missing::ignore) return;
  if (options_.missing == Missing::error)
    throw Fault{shown(field.name) + " has no value. Leave such lines out, or choose what a missing value means", where};
  FeatureHash hash = field.hash;
  hash.add(static_cast<unsigned char>(missing_mark));
  key_ = field.name;
  key_ += missing_mark;
  add(hash, index_of(hash, key_, field, {}, where), 1.0, field.slot);
}

void Builder::words(const Field& field, std::string_view text, std::string_view where) {
  recent_.clear();
  for (std::size_t at = 0; next_word(text, at, word_);) {
    if (recent_.size() == static_cast<std::size_t>(options_.ngrams)) recent_.erase(recent_.begin());
    recent_.push_back(word_);
    std::string series;
    for (auto word = recent_.rbegin(); word != recent_.rend(); ++word) {
      series = series.empty() ? *word : *word + " " + series;
      category(field, series, where);
    }
  }
}

void Builder::label(std::string_view text, std::string_view where) {
  if (!is_utf8(text)) throw Fault{"the label " + shown(text) + " is not UTF-8", where};
  FeatureHash hash;
  label_text_ = block_.label_names.add(hash.add(text).mixed(), text);
}

void Builder::tag(std::string_view text, std::string_view where) {
  if (!is_utf8(text)) throw Fault{"the tag " + shown(text) + " is not UTF-8", where};
  if (block_.tag.empty()) first_tag_ = row();
  block_.tag.resize(row());
  block_.tag.emplace_back(text);
}

std::int32_t Builder::new_name(std::uint64_t hash, std::string_view key, const Field& field, std::string_view part,
                               std::string_view where) {
  for (const std::string_view text : {std::string_view(field.name), part})
    if (!is_utf8(text))
      throw Fault{"the name of a feature is not UTF-8: " + shown(text) + ". Convert the text, or hash the names",
                  where};
  return block_.names.add(hash, key);
}

void Builder::look_up_names() {
  const NameTable& names = block_.names;
  for (const Pending& each : pending_) names.fetch_end(each.hash);
  for (const Pending& each : pending_) names.fetch_bytes(each.hash);
  for (const Pending& each : pending_) {
    const std::string_view key = joined(each.field->prefix, each.name);
    const std::int32_t known = names.find(each.hash, key);
    block_.rows.index[each.place] = known >= 0 ? known : new_name(each.hash, key, *each.field, each.name, each.name);
  }
  pending_.clear();
}

void Builder::multiply(std::string_view line) {
  for (auto& factors : factors_)
    for (Factor& factor : factors) factor.index = block_.rows.index[factor.place];
  for (const auto& slots : interactions_)
    for (std::size_t k = 0; k < factors_[slots[0]].size(); ++k) multiply(slots, 1, k, factors_[slots[0]][k], line);
}

void Builder::multiply(const std::vector<std::size_t>& slots, std::size_t depth, std::size_t from,
                       const Factor& product, std::string_view line) {
  if (depth == slots.size()) {
    if (!std::isfinite(product.value)) throw Fault{"a product of two features is too large for a float", line};
    if (block_.rows.index.size() - row_start() > most_features_of_an_event)
      throw Fault{"the interactions make more than " + std::to_string(most_features_of_an_event) +
                      " features of this event. Cross fewer fields",
                  line};
    return block_.rows.add(product.index, product.value);
  }
  const auto& factors = factors_[slots[depth]];
  // Of a field with itself every pair comes once.
  for (std::size_t k = slots[depth] == slots[depth - 1] ? from : 0; k < factors.size(); ++k) {
    const FeatureHash hash = product.hash.times(factors[k].hash);
    const std::int32_t index = options_.space == Space::hashed
                                   ? hash.index(options_.bits)
                                   : block_.names.add(hash.mixed(), product_key(product.index, factors[k].index));
    multiply(slots, depth + 1, k, {hash, index, product.value * factors[k].value, 0}, line);
  }
}

std::string_view Builder::product_key(std::int32_t left, std::int32_t right) {
  key_.assign(block_.names[left]);
  key_ += product_mark;
  key_ += block_.names[right];
  return key_;
}

// Values of one feature are added up, here or when the names are resolved. If all of an event's together are finite, so are those.
void Builder::check_sums(std::string_view line) {
  double all = 0.0;
  const auto& values = block_.rows.value;
  for (std::size_t k = row_start(); k < values.size(); ++k) all += std::fabs(values[k]);
  if (std::isfinite(all)) return;
  sorter_.sort(block_.rows, row_start());
  for (std::size_t k = row_start(); k < values.size(); ++k)
    if (!std::isfinite(values[k])) throw Fault{"the values of a feature add up to more than a float holds", line};
}

void Builder::finish(std::string_view line) {
  look_up_names();
  if (!interactions_.empty()) multiply(line);
  for (auto& each : factors_) each.clear();
  if (options_.space != Space::indices) check_sums(line);
  if (options_.space != Space::names && sorter_.sort(block_.rows, row_start()) && options_.space == Space::indices)
    throw Fault{"an index is there twice", line};
  constexpr std::size_t most = 0x7fffffff;
  if (block_.rows.index.size() > most) throw Fault{"the events of this piece of text have too many features", line};
  block_.rows.start.push_back(static_cast<std::int32_t>(block_.rows.index.size()));
  block_.label.push_back(label_);
  block_.label_text.push_back(label_text_);
  block_.line.push_back(block_.lines);
  label_ = Block::none, label_text_ = -1;
  fresh_.clear();
  names_before_ = block_.names.size(), label_names_before_ = block_.label_names.size();
}

void Builder::forget() {
  pending_.clear();
  block_.rows.index.resize(row_start()), block_.rows.value.resize(row_start());
  for (auto& each : factors_) each.clear();
  for (Field* const field : fresh_) field->index = -1;
  fresh_.clear();
  block_.names.cut(names_before_), block_.label_names.cut(label_names_before_);
  for (Column* column : {&block_.weight, &block_.offset, &block_.time, &block_.group}) column->cut(row());
  if (block_.tag.size() > row()) block_.tag.resize(row() <= first_tag_ ? 0 : row());
  label_ = Block::none, label_text_ = -1;
}

void Builder::close() {
  for (Column* column : {&block_.weight, &block_.offset, &block_.time, &block_.group}) column->fill(row());
  if (!block_.tag.empty()) block_.tag.resize(row());
  if (options_.space == Space::hashed) block_.width = std::int64_t{1} << options_.bits;
  if (options_.space == Space::indices)
    for (const std::int32_t index : block_.rows.index) block_.width = std::max<std::int64_t>(block_.width, index + 1);
}

}  // namespace odca::text
