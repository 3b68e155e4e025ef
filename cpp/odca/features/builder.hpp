// Events out of fields and values: the one place where a value becomes features.
//
//   number 3.2 in "price"        feature price             3.2
//   string NZ in "country"       feature country=NZ        1
//   true in "new"                feature new               1; 0 for false
//   a date in "when"             features when.month=7, when.weekday=2 (0 is Monday), and when.hour=13 if the time is known;
//                                and when.trend.2024 and when.trend.2025, how near these years are: a line that bends at New Year
//   no value in "price"          feature price is missing  1, or nothing, or a fault
//   name:0.5 in namespace "ad"   feature ad^name           0.5
//   name:red in namespace "ad"   feature ad^name=red       1
//   a text in "title"            feature title=word        how often the word (or a series of words) is there, or what the options make of that
//                                feature title.chars=wor   the same of a series of characters
//   fields a and b interact      feature a * b             for each feature of a and each of b, their product
//   * and * interact             the same                  for each pair of fields, in the order of their names; a and *: for a and each other
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "odca/features/block.hpp"
#include "odca/features/columns.hpp"
#include "odca/features/feature_options.hpp"
#include "odca/features/hash.hpp"
#include "odca/features/term_counts.hpp"
#include "odca/features/value.hpp"

namespace odca::text {

// What a date's parts are called behind its own name; they are in the order of `DateParts`.
inline constexpr std::array<const char*, 4> date_part_names = {".hour", ".weekday", ".month", ".trend"};

struct NamedField;

// What is wrong with a label that is infinite.
Fault infinite_label(const std::string& what, std::string_view label, std::string_view where);

// What it takes to add a feature to an event, and to multiply it with others.
struct Feature {
  FeatureHash hash;
  std::int32_t index = -1;  // once that was seen
  int slot = -1;            // among the fields that interact, or -1
};

// A field as the builder treats it; as a feature it is that of its number. Its name lies with whoever asked for the field.
struct Field : Feature {
  // The fields that a date is split into.
  struct DateParts {
    NamedField *hour, *weekday, *month, *trend;
    int year = 0;  // the last one, and the fields of its beginning and its end
    NamedField *begin = nullptr, *end = nullptr;
    std::int32_t number = -1;            // among the block's fields of dates, once there was one
    std::optional<double> earlier = {};  // the first date of a block whose events follow those learned before
  };

  std::string_view name;
  Kind kind = Kind::any;
  bool kept = true;                        // else nothing of it becomes a feature
  bool lasting = false;                    // whether it lies with the builder
  bool guessed = false;                    // its kind was found from a sample: what does not fit is missing
  DateParts* parts = nullptr;              // once they were needed
  std::int32_t remembered = -1, key = -1;  // its numbers among the `numbers` and `keys` of history, or -1

  // Whether history needs its values.
  bool is_watched() const { return remembered >= 0 || key >= 0; }

  // Whether a number in it is a feature, and there is nothing else to find out about it.
  bool is_plain_number() const {
    return kept && (kind == Kind::any || kind == Kind::number || kind == Kind::boolean) && !name.empty() &&
           !is_watched();
  }
};

// A field that lies with the builder and stays where it is as long as that does.
struct NamedField : Field {
  std::string text, prefix;  // its name; the prefix of names within the field: its own and ^, or nothing
  FeatureHash prefix_hash;
};

class Builder {
 public:
  // Where fields are `paths` ("user.age"), what the options say of "user" holds for all below. The indices of features that have
  // names begin with `first` (1 leaves 0 to an intercept).
  Builder(const FeatureOptions& options, Block& block, bool paths = false, std::int32_t first = 0);

  // Room for what so many bytes of text may hold, so that little is moved later.
  void expect(std::size_t bytes) {
    constexpr std::size_t of_a_feature = 12;  // a name of some letters and a number
    block_.rows.index.reserve(bytes / of_a_feature), block_.rows.value.reserve(bytes / of_a_feature);
  }

  // The field of this name. As a part of a `whole` (the hour of a date) it is kept, ignored and crossed with that too.
  NamedField& field(std::string_view name, std::string_view whole = {});
  // The same of a column whose kind is known.
  NamedField& field(std::string_view name, Kind kind);
  // The same for a single use: the builder does not keep it, and the name must stay where it is.
  Field described(std::string_view name, std::string_view whole = {}) {
    Field field;
    field.name = name;
    field.hash.add(name);
    if (!alike_) describe(field, whole);
    return field;
  }

  // Events are read to be predicted, or to be learned (`FeatureOptions::predicts`).
  void predict() { predicts_ = true; }
  // Every event is learned before the next call, so that the first date of a field is the reference of its trend at once. A text, whose
  // parts are read in any order, has references from its schema.
  void find_references() { finds_references_ = true; }

  // The number of fields that it remembers.
  std::size_t named_fields() const { return fields_.size() + static_cast<std::size_t>(paired_.size()); }
  const FeatureOptions& options() const { return options_; }

  // A value of the event at hand becomes features, as the kind of its field says: the one way that all values of tables, JSON
  // and dictionaries go through.
  void value(Field& field, const Value& value);
  // Whether an element of an array is one of several names that belong to the array as a whole; else it has a field of its own.
  static bool belongs_to_array(const Field& array, const Value& element);

  // Features of the event at hand. `where` is the part of the line to which a fault points.
  void number(Field& field, double value, std::string_view where) {
    if (field.index < 0) find_index(field, where);
    add(field, value);
  }
  // A number again, whose field has got an index from an event before.
  void add(const Feature& feature, double value) { add(feature.hash, feature.index, value, feature.slot); }
  // The name must stay where it is until the event is complete.
  void named(const NamedField& field, std::string_view name, double value) {
    FeatureHash hash = field.prefix_hash;
    named(field, name, hash.add(name), value);
  }
  // The same; the hash is that of the prefix and the name.
  void named(const NamedField& field, std::string_view name, FeatureHash hash, double value) {
    if (options_.space == Space::hashed)
      return add(hash,
                 first_ + (field.prefix.empty() ? hashed_index(hash, name, options_.bits) : hash.index(options_.bits)),
                 value, field.slot);
    if (field.slot >= 0)
      return add(hash, index_of(hash, joined(field.prefix, name), field, name, name), value, field.slot);
    const std::uint64_t mixed = hash.mixed();
    (block_.known ? *block_.known : block_.names).fetch_slot(mixed);
    pending_.push_back({mixed, &field, name, value});
    long_names_ |= field.prefix.size() + name.size() > NameTable::short_name;
  }
  void indexed(std::int32_t index, double value) { block_.rows.add(index, value); }
  // Whether a name that is a number is its own index, and nothing else is to be known of it.
  bool takes_numbers(const NamedField& field) const {
    return options_.space == Space::hashed && field.prefix.empty() && field.slot < 0;
  }
  void numbered(std::uint64_t number, double value) {
    indexed(first_ + FeatureHash::lowest(number, options_.bits), value);
  }
  void category(const Field& field, std::string_view value, std::string_view where);
  // The same for a name within the field; the value stands behind it in the line.
  void category(const NamedField& field, std::string_view name, std::string_view value, double weight);
  void missing(const Field& field, std::string_view where);
  void text(const Field& field, std::string_view text, std::string_view where);

  // The rest of the event.
  void label(double number) { label_ = number; }
  void label(std::string_view text, std::string_view where);
  void weight(double number) { block_.weight.set(row(), number); }
  void offset(double number) { block_.offset.set(row(), number); }
  void time(double seconds) { block_.time.set(row(), seconds); }
  void group(double number) { block_.group.set(row(), number); }
  void tag(std::string_view text, std::string_view where);

  void finish(std::string_view line);      // the event is complete
  void finish_row(std::string_view line);  // the same of one that has features and nothing else
  void forget();                           // there was none
  void close();                            // there is no other

  // For a builder of rows that outlives its block, whose last row is complete: the block is empty again, and what was new in it is
  // known by now, or forgotten.
  void restart();

 private:
  struct Factor {
    FeatureHash hash;
    std::int32_t index;
    double value;
  };
  struct Pending {
    std::uint64_t hash;
    const NamedField* field;
    std::string_view name;
    double value;
  };

  std::size_t row() const { return static_cast<std::size_t>(block_.rows.size()); }

  void add(FeatureHash hash, std::int32_t index, double value, int slot) {
    block_.rows.add(index, value);
    if (slot >= 0) add_factor(hash, index, value, slot);
  }
  void add_factor(FeatureHash hash, std::int32_t index, double value, int slot) {
    std::vector<Factor>& factors = factors_[static_cast<std::size_t>(slot)];
    if (factors.empty()) active_.push_back(static_cast<std::size_t>(slot));
    factors.push_back({hash, index, value});
  }

  // The key is made of the field's name and a `part`: both must be UTF-8.
  std::int32_t index_of(FeatureHash hash, std::string_view key, const Field& field, std::string_view part,
                        std::string_view where) {
    if (options_.space == Space::hashed) return first_ + hashed_index(hash, key, options_.bits);
    return index_of(hash.mixed(), key, field, part, where);
  }
  std::int32_t index_of(std::uint64_t hash, std::string_view key, const Field& field, std::string_view part,
                        std::string_view where) {
    const std::int32_t known = block_.known ? block_.known->find(hash, key) : -1;
    return is_known(known) ? first_ + known : new_from_ + new_name(hash, key, field, part, where);
  }
  // A name that came to a live table after the block began is new to the block.
  bool is_known(std::int32_t number) const { return number >= 0 && first_ + number < new_from_; }
  std::int32_t new_name(std::uint64_t hash, std::string_view key, const Field& field, std::string_view part,
                        std::string_view where);

  std::string_view joined(std::string_view prefix, std::string_view name) {
    if (prefix.empty()) return name;
    key_.assign(prefix);
    key_.append(name);
    return key_;
  }

  FeatureHash category_hash(const Field& field, std::string_view value) const {
    FeatureHash hash = field.hash;
    return hash.add(static_cast<unsigned char>(category_mark)).add(value);
  }
  std::int32_t category_index(FeatureHash hash, const Field& field, std::string_view value, std::string_view where) {
    key_ = field.name;
    key_ += category_mark;
    key_ += value;
    return index_of(hash, key_, field, value, where);
  }

  void look_up_names();
  void describe(Field& field, std::string_view whole);
  bool pairs_fields() const { return all_pairs_ || !paired_with_all_.empty(); }
  int paired_slot(std::string_view name);
  std::string_view name_of_slot(std::size_t slot) const;
  bool are_paired(std::size_t left, std::size_t right) const;
  void multiply_pairs(std::string_view line);
  void forget_factors();
  bool wanted(std::string_view field, FeatureHash hash, std::string_view whole) const;
  bool is_kept(const Field& field, std::string_view whole) const;
  std::int32_t meant(const FieldNames& names, std::string_view field, FeatureHash hash, std::string_view whole) const;
  void text_value(Field& field, const Value& value);
  void words(const Field& field, std::string_view text, std::string_view where);
  void characters(const Field& field, std::string_view text, std::string_view where);
  void term(const Field& field, std::string_view term, std::string_view where);
  void finish_text();
  void watch(const Field& field, const Value& value, bool is_missing);
  double remembered_number(const Field& field, const Value& value) const;
  void finish_history();
  void forget_history();
  void date(Field& field, const Value& value);
  void count_misfit(Misfits misfit);
  void misfit(Field& field, const Value& value, Fault fault);
  Field::DateParts& parts_of(Field& field);
  void add_trend(Field::DateParts& parts, double seconds, std::string_view where);
  void keep_date(Field::DateParts& parts, std::string_view field, double seconds);
  void missing_trend(Field& field, std::string_view where);
  void absent_trends();
  void note_date(std::int32_t span);
  Field::DateParts* known_parts(const Field& field) const;
  void find_index(Field& field, std::string_view where);
  void multiply(std::string_view line);
  void multiply(const std::vector<std::size_t>& slots, std::size_t depth, std::size_t from, const Factor& product,
                std::string_view line);
  void check_sums(std::string_view line);
  std::string_view key_of(std::int32_t index) const {
    return index < new_from_ ? (*block_.known)[index - first_] : block_.names[index - new_from_];
  }
  std::int32_t product_index(FeatureHash hash, const Factor& left, const Factor& right);

  const FeatureOptions& options_;
  Block& block_;
  bool paths_, alike_;
  std::int32_t first_;                                  // the index of the first feature
  FieldNames crossed_;                                  // the fields that interact
  std::vector<std::vector<std::size_t>> interactions_;  // their places in `crossed_`
  std::vector<std::size_t> paired_with_all_;            // those that interact with every other field
  bool all_pairs_ = false;                              // whether all fields interact with each other
  FieldNames paired_;                         // then, fields that are not in `crossed_`: their slots follow those
  std::vector<std::vector<Factor>> factors_;  // the event's features, of each of them
  std::vector<std::size_t> active_;           // the slots that have any
  NameTable field_names_;
  std::vector<std::unique_ptr<NamedField>> fields_;
  std::vector<Field*> numbered_;     // those of `fields_` whose index is that of a name that is new in the block
  std::size_t numbered_before_ = 0;  // the event
  std::deque<Field::DateParts> parts_;
  bool predicts_, finds_references_ = false;
  std::vector<std::uint8_t> has_date_;  // whether the event at hand, which is predicted, has the field of each span
  std::string key_, word_;
  std::vector<Misfits> misfits_;     // of the event at hand
  std::vector<Pending> pending_;     // names of the event that are yet to be looked up
  bool long_names_ = false;          // whether one of them does not fit into its slot
  std::string recent_;               // words
  std::vector<std::size_t> begins_;  // of these, or of the characters of a word
  TermCounts terms_;                 // of the text at hand, where they are scaled
  RowMaker maker_;
  std::vector<double> remembered_;         // what history needs of the event at hand
  std::vector<std::string> history_keys_;  // the same; empty if a key is not there
  double label_ = Block::none;
  std::int32_t new_from_ = first_ + block_.n_known();  // the index of the block's first new name
  std::int32_t label_text_ = -1, names_before_ = 0, label_names_before_ = 0;
  std::size_t first_tag_ = 0;  // the first row that has one
};

}  // namespace odca::text
