#include "odca/features/builder.hpp"

#include <algorithm>
#include <cmath>

#include "odca/errors.hpp"
#include "odca/features/quoting.hpp"
#include "odca/features/unicode.hpp"

namespace odca::text {

namespace {

// Stands for every field in an interaction.
constexpr std::string_view any_field = "*";

// Far more than anyone means; below it an event fits into memory.
constexpr std::size_t most_features_of_an_event = 1 << 24;

bool is_date_part(std::string_view name, std::string_view date) {
  return name.starts_with(date) &&
         std::find(date_part_names.begin(), date_part_names.end(), name.substr(date.size())) != date_part_names.end();
}

// A year of a date's trend.
bool is_trend(std::string_view name, std::string_view date) {
  return name.starts_with(date) && name.substr(date.size()).starts_with(".trend.");
}

}  // namespace

Builder::Builder(const FeatureOptions& options, Block& block, bool paths, std::int32_t first)
    : options_(options),
      block_(block),
      paths_(paths),
      alike_(options.treats_all_alike()),
      first_(first),
      predicts_(options.predicts) {
  for (const auto& interaction : options.interactions) {
    const auto stars = std::count(interaction.begin(), interaction.end(), any_field);
    if (stars > 0 && interaction.size() != 2) throw InputError("'*' can be one or both fields of a pair only");
    all_pairs_ |= stars == 2;
    if (stars == 1)
      paired_with_all_.push_back(
          static_cast<std::size_t>(crossed_.add(interaction[interaction[0] == any_field ? 1 : 0])));
    if (stars > 0) continue;
    auto& slots = interactions_.emplace_back();
    for (const std::string& name : interaction) slots.push_back(static_cast<std::size_t>(crossed_.add(name)));
    std::sort(slots.begin(), slots.end());  // a field that is crossed with itself stands beside itself
    if (std::find(interactions_.begin(), interactions_.end() - 1, slots) != interactions_.end() - 1)
      interactions_.pop_back();
  }
  factors_.resize(static_cast<std::size_t>(crossed_.size()));
  remembered_.resize(static_cast<std::size_t>(options.history.numbers.size()), Block::none);
  history_keys_.resize(static_cast<std::size_t>(options.history.keys.size()));
}

// The number of the one of these names that means the field, or the whole of which it is a part; if several do, of the most
// specific; -1 if none does. The hash is that of the field's name.
std::int32_t Builder::meant(const FieldNames& names, std::string_view field, FeatureHash hash,
                            std::string_view whole) const {
  const std::int32_t found = names.find(field, hash);
  if (found >= 0 || names.empty()) return found;
  if (paths_) return names.find_above(field);  // the whole is above its parts
  return whole.empty() ? -1 : names.find(whole, FeatureHash().add(whole));
}

bool Builder::wanted(std::string_view field, FeatureHash hash, std::string_view whole) const {
  return (options_.keep.empty() || meant(options_.keep, field, hash, whole) >= 0) &&
         meant(options_.ignore, field, hash, whole) < 0;
}

// A date is, if one of its parts is.
bool Builder::is_kept(const Field& field, std::string_view whole) const {
  if (wanted(field.name, field.hash, whole)) return true;
  if (field.kind != Kind::date) return false;
  const std::string name(field.name);
  return std::any_of(date_part_names.begin(), date_part_names.end(), [&](const char* part) {
    FeatureHash hash = field.hash;
    return wanted(name + part, hash.add(part), name);
  });
}

// By what the options say of it.
void Builder::describe(Field& field, std::string_view whole) {
  const std::string_view name = field.name;
  std::size_t most = 0;
  const auto declare = [&](const FieldNames& names, Kind kind) {
    const std::int32_t found = meant(names, name, field.hash, {});
    if (found >= 0 && names[found].size() >= most) field.kind = kind, most = names[found].size();
  };
  declare(options_.numeric, Kind::number);
  declare(options_.categorical, Kind::category);
  declare(options_.text, Kind::text);
  declare(options_.dates, Kind::date);
  declare(options_.booleans, Kind::boolean);
  // An event may name the parts of a date itself: what makes "when" a date makes "when.hour" a category.
  if (field.kind == Kind::date) {
    const std::string_view date = options_.dates[meant(options_.dates, name, field.hash, {})];
    if (is_date_part(name, date)) field.kind = Kind::category;
    if (is_trend(name, date)) field.kind = Kind::number;
  }
  field.guessed = meant(options_.guessed, name, field.hash, whole) >= 0;
  field.remembered = options_.history.numbers.find(name, field.hash);
  field.key = options_.history.keys.find(name, field.hash);
  field.kept = is_kept(field, whole);
  if (!field.kept) return;
  field.slot = meant(crossed_, name, field.hash, whole);
  if (field.slot < 0 && pairs_fields()) field.slot = paired_slot(name);
}

int Builder::paired_slot(std::string_view name) {
  const auto slot = static_cast<std::size_t>(crossed_.size() + paired_.add(name));
  if (factors_.size() <= slot) factors_.resize(slot + 1);
  return static_cast<int>(slot);
}

std::string_view Builder::name_of_slot(std::size_t slot) const {
  const auto number = static_cast<std::int32_t>(slot);
  return number < crossed_.size() ? crossed_[number] : paired_[number - crossed_.size()];
}

NamedField& Builder::field(std::string_view name, std::string_view whole) {
  const Field found = described(name, whole);
  const std::int32_t number = field_names_.add(found.hash.mixed(), name);
  if (static_cast<std::size_t>(number) < fields_.size()) return *fields_[static_cast<std::size_t>(number)];
  NamedField& made = *fields_.emplace_back(std::make_unique<NamedField>());
  static_cast<Field&>(made) = found;
  made.text = name;
  made.name = made.text;
  made.prefix = name.empty() ? "" : made.text + "^";
  made.prefix_hash.add(made.prefix);
  made.lasting = true;
  return made;
}

NamedField& Builder::field(std::string_view name, Kind kind) {
  NamedField& field = this->field(name);
  field.kind = kind;
  field.kept = is_kept(field, {});
  return field;
}

void Builder::category(const Field& field, std::string_view value, std::string_view where) {
  const FeatureHash hash = category_hash(field, value);
  add(hash, category_index(hash, field, value, where), 1.0, field.slot);
}

void Builder::category(const NamedField& field, std::string_view name, std::string_view value, double weight) {
  FeatureHash hash = field.prefix_hash;
  hash.add(name);
  hash.add(static_cast<unsigned char>(category_mark));
  hash.add(value);
  key_.assign(field.prefix).append(name);
  key_ += category_mark;
  key_ += value;
  const std::string_view both(name.data(), static_cast<std::size_t>(value.data() + value.size() - name.data()));
  add(hash, index_of(hash, key_, field, both, both), weight, field.slot);
}

void Builder::missing(const Field& field, std::string_view where) {
  if (options_.missing == Missing::ignore) return;
  if (options_.missing == Missing::error)
    throw Fault{shown(field.name) + " is missing", where,
                "Leave such events out, or say what a missing value means ({missing}).", ""};
  FeatureHash hash = field.hash;
  hash.add(static_cast<unsigned char>(missing_mark));
  key_ = field.name;
  key_ += missing_mark;
  add(hash, index_of(hash, key_, field, {}, where), 1.0, field.slot);
}

Fault infinite_label(const std::string& what, std::string_view label, std::string_view where) {
  return {what + " must be finite; got " + shown(label), where,
          "If it stands for a missing value, say so ({na_values}).", std::string(label)};
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

// Its number among the names of the block, which it may have already.
std::int32_t Builder::new_name(std::uint64_t hash, std::string_view key, const Field& field, std::string_view part,
                               std::string_view where) {
  const std::int32_t number = block_.names.find(hash, key);
  if (number >= 0) return number;
  for (const std::string_view text : {std::string_view(field.name), part})
    if (!is_utf8(text))
      throw Fault{"the name of a feature is not UTF-8: " + shown(text) +
                      ". Convert the text (iconv -f LATIN1 -t UTF-8), or hash the names",
                  where};
  return block_.names.add(hash, key);
}

void Builder::look_up_names() {
  const NameTable& names = block_.known ? *block_.known : block_.names;
  if (long_names_) {
    for (const Pending& each : pending_) names.fetch_end(each.hash);
    for (const Pending& each : pending_) names.fetch_bytes(each.hash);
  }
  for (const Pending& each : pending_) {
    const std::string_view key = joined(each.field->prefix, each.name);
    block_.rows.add(index_of(each.hash, key, *each.field, each.name, each.name), each.value);
  }
  pending_.clear();
  long_names_ = false;
}

// Whether a star pairs these; not if the pair is named as well.
bool Builder::are_paired(std::size_t left, std::size_t right) const {
  const auto with_all = [&](std::size_t slot) {
    return std::find(paired_with_all_.begin(), paired_with_all_.end(), slot) != paired_with_all_.end();
  };
  if (!all_pairs_ && !with_all(left) && !with_all(right)) return false;
  if (interactions_.empty()) return true;
  const std::vector<std::size_t> named = {std::min(left, right), std::max(left, right)};
  return std::find(interactions_.begin(), interactions_.end(), named) == interactions_.end();
}

// In the order of the names, which does not depend on that of the fields in the event.
void Builder::multiply_pairs(std::string_view line) {
  std::sort(active_.begin(), active_.end(),
            [&](std::size_t left, std::size_t right) { return name_of_slot(left) < name_of_slot(right); });
  for (std::size_t i = 0; i < active_.size(); ++i)
    for (std::size_t j = i + 1; j < active_.size(); ++j)
      if (are_paired(active_[i], active_[j]))
        for (std::size_t k = 0; k < factors_[active_[i]].size(); ++k)
          multiply({active_[i], active_[j]}, 1, k, factors_[active_[i]][k], line);
}

void Builder::forget_factors() {
  for (const std::size_t slot : active_) factors_[slot].clear();
  active_.clear();
}

void Builder::multiply(std::string_view line) {
  for (const auto& slots : interactions_)
    for (std::size_t k = 0; k < factors_[slots[0]].size(); ++k) multiply(slots, 1, k, factors_[slots[0]][k], line);
}

void Builder::multiply(const std::vector<std::size_t>& slots, std::size_t depth, std::size_t from,
                       const Factor& product, std::string_view line) {
  if (depth == slots.size()) {
    if (!std::isfinite(product.value)) throw Fault{"a product of two features is too large for a float", line};
    if (block_.rows.in_the_making() > most_features_of_an_event)
      throw Fault{"the interactions make more than " + std::to_string(most_features_of_an_event) +
                      " features of this event. Cross fewer fields",
                  line};
    return block_.rows.add(product.index, product.value);
  }
  const auto& factors = factors_[slots[depth]];
  // Of a field with itself every pair comes once.
  for (std::size_t k = slots[depth] == slots[depth - 1] ? from : 0; k < factors.size(); ++k) {
    const FeatureHash hash = product.hash.times(factors[k].hash);
    multiply(slots, depth + 1, k, {hash, product_index(hash, product, factors[k]), product.value * factors[k].value},
             line);
  }
}

std::int32_t Builder::product_index(FeatureHash hash, const Factor& left, const Factor& right) {
  if (options_.space == Space::hashed) return first_ + hash.index(options_.bits);
  key_.assign(key_of(left.index));
  key_ += product_mark;
  key_ += key_of(right.index);
  const std::int32_t known = block_.known ? block_.known->find(hash.mixed(), key_) : -1;
  return is_known(known) ? first_ + known : new_from_ + block_.names.add(hash.mixed(), key_);
}

// Of the last row, in which a feature was there twice.
void Builder::check_sums(std::string_view line) {
  const auto begin = block_.rows.value.begin() + block_.rows.start[row() - 1];
  const bool finite = std::all_of(begin, block_.rows.value.end(), [](double sum) { return std::isfinite(sum); });
  if (finite && options_.space != Space::indices) return;
  block_.rows.start.pop_back();
  throw Fault{finite ? "an index is there twice" : "the values of a feature add up to more than a float holds", line};
}

void Builder::finish_row(std::string_view line) {
  // Features that are numbers have no fields that could hold a date: a trend would take the place of one of them.
  if (predicts_ && options_.space != Space::indices && !options_.date_spans.empty()) absent_trends();
  if (!pending_.empty()) look_up_names();
  if (!active_.empty()) {
    multiply(line);
    if (pairs_fields()) multiply_pairs(line);
    forget_factors();
  }
  constexpr std::size_t most = 0x7fffffff;
  if (block_.rows.index.size() + block_.texts.features() > most)
    throw Fault{"these events have too many features to be read at once", line};
  if (maker_.finish(block_.rows)) check_sums(line);
  if (!options_.history.empty()) finish_history();
  if (options_.texts.inverse_frequencies) block_.texts.finish_event();
  names_before_ = block_.names.size();
  numbered_before_ = numbered_.size();
}

void Builder::finish(std::string_view line) {
  finish_row(line);
  block_.label.push_back(label_);
  block_.label_text.push_back(label_text_);
  block_.line.push_back(block_.lines);
  for (Misfits& each : misfits_) count_misfit(std::move(each));
  misfits_.clear();
  label_ = Block::none, label_text_ = -1;
  label_names_before_ = block_.label_names.size();
}

void Builder::count_misfit(Misfits misfit) {
  const auto same = std::find_if(block_.misfits.begin(), block_.misfits.end(),
                                 [&](const Misfits& each) { return each.field == misfit.field; });
  if (same != block_.misfits.end()) {
    ++same->count;
    return;
  }
  misfit.line = block_.lines;
  block_.misfits.push_back(std::move(misfit));
}

void Builder::forget() {
  has_date_.clear();
  while (!block_.dated.empty() && block_.dated.back().row == row()) block_.dated.pop_back();
  forget_history();
  terms_.clear();
  block_.texts.forget();
  misfits_.clear();
  pending_.clear();
  long_names_ = false;
  block_.rows.forget();
  forget_factors();
  block_.names.cut(names_before_), block_.label_names.cut(label_names_before_);
  for (; numbered_.size() > numbered_before_; numbered_.pop_back()) numbered_.back()->index = -1;
  for (OptionalNumbers* column : {&block_.weight, &block_.offset, &block_.time, &block_.group}) column->cut(row());
  if (block_.tag.size() > row()) block_.tag.resize(row() <= first_tag_ ? 0 : row());
  label_ = Block::none, label_text_ = -1;
}

void Builder::find_index(Field& field, std::string_view where) {
  field.index = index_of(field.hash, field.name, field, {}, where);
  if (field.lasting && options_.space == Space::names && field.index >= new_from_) numbered_.push_back(&field);
}

void Builder::restart() {
  misfits_.clear();
  block_.rows.clear();
  block_.texts.clear();
  block_.dated.clear();
  has_date_.clear();
  for (Field::DateParts& each : parts_) each.earlier.reset();
  if (!options_.history.empty()) block_.history_number.clear(), block_.history_key.clear(), block_.history_keys.cut(0);
  new_from_ = first_ + block_.n_known();
  if (block_.names.size() == 0) return;
  block_.names.cut(0);
  names_before_ = 0;
  for (Field* const field : numbered_)
    if (field->index >= new_from_) field->index = -1;
  numbered_.clear(), numbered_before_ = 0;
}

void Builder::close() {
  for (OptionalNumbers* column : {&block_.weight, &block_.offset, &block_.time, &block_.group}) column->fill(row());
  if (!block_.tag.empty()) block_.tag.resize(row());
  if (options_.space == Space::hashed) block_.width = std::int64_t{1} << options_.bits;
  if (options_.space == Space::indices)
    for (std::size_t i = 1; i < block_.rows.start.size(); ++i)  // the last one of a row is its largest
      if (const std::int32_t end = block_.rows.start[i]; end > block_.rows.start[i - 1])
        block_.width = std::max<std::int64_t>(block_.width, block_.rows.index[static_cast<std::size_t>(end) - 1] + 1);
}

}  // namespace odca::text
