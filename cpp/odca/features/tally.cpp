#include "odca/features/tally.hpp"

#include <algorithm>
#include <unordered_map>

#include "odca/features/dates.hpp"
#include "odca/features/hash.hpp"
#include "odca/features/value.hpp"

namespace odca::text {

namespace {

// The years 1980 to 2099, in seconds since 1970, and as days are written.
constexpr double first_plausible = 315'532'800.0, behind_plausible = 4'102'444'800.0;
constexpr double first_day = 19'000'101.0, last_day = 20'991'231.0;

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
char lower(char c) { return is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c; }

}  // namespace

bool suggests_date(std::string_view name) {
  static constexpr std::string_view words[] = {"time", "timestamp", "timestamps", "ts",  "date",    "datetime",
                                               "at",   "epoch",     "unix",       "day", "unixtime"};
  std::string word;
  const auto is_word = [&] { return std::find(std::begin(words), std::end(words), word) != std::end(words); };
  for (std::size_t k = 0; k < name.size(); ++k) {
    const char c = name[k];
    const bool is_letter = is_upper(c) || (c >= 'a' && c <= 'z');
    if (!is_letter || (is_upper(c) && k > 0 && !is_upper(name[k - 1]))) {
      if (is_word()) return true;
      word.clear();
    }
    if (is_letter) word += lower(c);
  }
  return is_word();
}

void Tally::add(std::string_view value, const MissingValues& missing, bool is_string) {
  if (missing.has(value)) return add_missing();
  note_hash(value);
  double number = 0.0;
  if (!is_string && is_number(value, number) && std::isfinite(number)) {
    note(What::number, value);
    return note_number(number);
  }
  if (!is_string && read_boolean(value, number)) return note(What::boolean, value);
  if (note_date(value)) return note(What::date, value);
  if (!is_string && (is_number(value, number) || is_infinity(value))) return note(What::infinite, value);
  note(std::any_of(value.begin(), value.end(), is_digit) ? What::code : What::word, value);
}

void Tally::add(double number, std::string_view written) {
  note_hash(written);
  note(What::number, written);
  note_number(number);
}

void Tally::note_hash(std::string_view value) {
  FeatureHash hash;
  hashes_.push_back(std::max<std::uint64_t>(hash.add(value).mixed(), 1));
}

void Tally::note(What what, std::string_view value) {
  Seen& seen = seen_[static_cast<std::size_t>(what)];
  if (seen.count++ == 0) seen.first = value;
  if (example_.empty()) example_ = value;
}

bool Tally::note_date(std::string_view value) {
  Moment moment;
  DateCheck checks[2];
  for (const bool day_first : {false, true}) checks[day_first] = read_date(value, moment, day_first);
  if (checks[0] == DateCheck::other) return false;
  const bool month_first = checks[0] == DateCheck::date, day_first = checks[1] == DateCheck::date;
  const bool is_ordered = value.size() > 2 && (!is_digit(value[1]) || !is_digit(value[2]));  // no year comes first
  const std::size_t between = value.find_first_not_of("0123456789");
  if (is_ordered && value[between] != '.' && is_digit(value[between + 1])) {  // the name of a month is no number
    orders_.either += month_first && day_first;
    orders_.month_first += month_first && !day_first;
    orders_.day_first += day_first && !month_first;
  }
  return true;
}

void Tally::note_number(double number) {
  ++numbers_;
  steps_ += number == last_ + 1.0;
  last_ = number;
  Moment moment;
  if (date_of_number(number, moment) != DateCheck::date) return;
  const bool is_day = number >= first_day && number <= last_day;
  const bool is_moment = moment.with_time && moment.seconds >= first_plausible && moment.seconds < behind_plausible;
  days_ += is_day, moments_ += is_moment;
}

std::int64_t Tally::values() const {
  std::int64_t sum = 0;
  for (const Seen& each : seen_) sum += each.count;
  return sum;
}

std::int64_t Tally::distinct() const {
  std::vector<std::uint64_t> sorted = hashes_;
  std::sort(sorted.begin(), sorted.end());
  const auto end = std::unique(sorted.begin(), sorted.end());
  return end - sorted.begin() - (missing_ > 0);
}

bool Tally::tells(const Tally& label) const {
  constexpr std::int64_t fewest_rows = 50, rows_per_value = 5;
  const std::int64_t different = distinct();
  if (hashes_.size() != label.hashes_.size() || values() < fewest_rows || different < 2 || label.distinct() < 2)
    return false;
  if (hashes_ == label.hashes_) return true;
  if (different * rows_per_value > values()) return false;
  std::unordered_map<std::uint64_t, std::uint64_t> labels;
  bool are_different = false;
  for (std::size_t k = 0; k < hashes_.size(); ++k) {
    if (!hashes_[k] || !label.hashes_[k]) continue;
    if (labels.emplace(hashes_[k], label.hashes_[k]).first->second != label.hashes_[k]) return false;
    are_different |= label.hashes_[k] != labels.begin()->second;
  }
  return are_different;
}

// Exceptions are at most one in ten, or a single one in four. Those with digits are at most one in a hundred, or a single one in twenty.
bool Tally::is_majority(std::int64_t of_kind) const {
  const std::int64_t all = values();
  const std::int64_t words = seen(What::word).count + seen(What::boolean).count + seen(What::infinite).count;
  const std::int64_t others = all - of_kind, with_digits = std::max<std::int64_t>(others - words, 0);
  return of_kind > 0 && (others * 10 <= all || (others == 1 && all >= 4)) &&
         (with_digits * 100 <= all || (with_digits == 1 && all >= 20));
}

bool Tally::are_dates(std::string_view name) const {
  if (is_majority(seen(What::date).count)) return true;
  const std::int64_t numbers = std::max(moments_, days_);
  return numbers > 0 && numbers == numbers_ && is_majority(numbers) && suggests_date(name);
}

Kind Tally::kind(std::string_view name) const {
  if (values() == 0) return Kind::any;
  if (are_dates(name)) return Kind::date;
  if (seen(What::number).count > 0 && is_majority(seen(What::number).count + seen(What::infinite).count))
    return Kind::number;
  const std::int64_t booleans = seen(What::boolean).count;
  return booleans > 0 && (values() - booleans) * 10 <= values() && seen(What::number).count == 0 ? Kind::boolean
                                                                                                 : Kind::category;
}

std::int64_t Tally::exceptions(Kind kind) const {
  switch (kind) {
    case Kind::number: return values() - seen(What::number).count;
    case Kind::boolean: return values() - seen(What::boolean).count - seen(What::number).count;
    case Kind::date: return values() - seen(What::date).count - std::max(moments_, days_);
    default: return 0;
  }
}

const std::string& Tally::first_exception(Kind kind) const {
  static const std::string none;
  if (exceptions(kind) == 0) return none;
  for (const What what : {What::word, What::infinite, What::code, What::boolean, What::date, What::number}) {
    if (kind == Kind::number && what == What::number) continue;
    if (kind == Kind::boolean && (what == What::boolean || what == What::number)) continue;
    if (kind == Kind::date && (what == What::date || (what == What::number && numbers_ == std::max(moments_, days_))))
      continue;
    if (seen(what).count) return seen(what).first;
  }
  return none;
}

}  // namespace odca::text
