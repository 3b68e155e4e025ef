// What the values of a column are, from a sample of them: one rule for CSV, JSON and tables in memory.
//
// The majority decides. A column is of numbers (or of dates, or of true and false) even if some of its values are not: words that stand
// for a gap in their own way, a slip of the pen. Few exceptions may have digits: many would be codes, V45 beside 250, which are categories.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "odca/features/columns.hpp"
#include "odca/features/missing_values.hpp"

namespace odca::text {

class Tally {
 public:
  // A value as it is written. In JSON and in tables with types a string that is a number is a category all the same: `is_string`.
  void add(std::string_view value, const MissingValues& missing, bool is_string = false);
  void add(double number, std::string_view written);
  void add_missing() {
    ++missing_;
    hashes_.push_back(0);
  }
  // The values up to this row that did not come are missing.
  void skip_to(std::size_t row) {
    while (hashes_.size() < row) add_missing();
  }

  // How the values are meant, in a column of this name.
  Kind kind(std::string_view name) const;
  // How many of them are of another kind; and the first one that is.
  std::int64_t exceptions(Kind kind) const;
  const std::string& first_exception(Kind kind) const;

  bool has_numbers_or_dates() const { return seen(What::number).count > 0 || seen(What::date).count > 0; }
  std::int64_t count() const { return values() + missing_; }
  std::int64_t missing() const { return missing_; }
  // How many different values there are, as they are written.
  std::int64_t distinct() const;
  bool is_constant() const { return missing_ == 0 && distinct() == 1; }
  // Whether the values are 1, 2, 3, ... or the like.
  bool counts_rows() const { return steps_ > 0 && steps_ + 1 == numbers_ && values() == numbers_; }
  const std::string& example() const { return example_; }
  // Whether each value goes with one value of the label only, as far as so few rows tell; or is that value.
  bool tells(const Tally& label) const;

  // How many dates can only be read with the day first, or only with the month first; and how many either way.
  struct Orders {
    std::int64_t day_first = 0, month_first = 0, either = 0;
  };
  const Orders& orders() const { return orders_; }

 private:
  enum class What { number, infinite, boolean, date, word, code };
  struct Seen {
    std::int64_t count = 0;
    std::string first;
  };

  void note(What what, std::string_view value);
  void note_hash(std::string_view value);
  bool note_date(std::string_view value);
  void note_number(double number);
  bool is_majority(std::int64_t of_kind) const;
  bool are_dates(std::string_view name) const;
  const Seen& seen(What what) const { return seen_[static_cast<std::size_t>(what)]; }
  std::int64_t values() const;

  Seen seen_[6];
  std::int64_t missing_ = 0, numbers_ = 0;
  std::int64_t moments_ = 0, days_ = 0;  // numbers that can be a time since 1970, or a day such as 20240731
  std::int64_t steps_ = 0;               // numbers that are one more than that before
  double last_ = std::numeric_limits<double>::quiet_NaN();
  Orders orders_;
  std::string example_;
  std::vector<std::uint64_t> hashes_;  // of the values, in their order; 0 where one is missing
};

// Whether a name says that the values are dates: created_at, timestamp, pickupTime.
bool suggests_date(std::string_view name);

}  // namespace odca::text
