// Dates and times of day as files have them, and what the calendar says of them. The calendar is the Gregorian one; all is UTC.
//
//   2024-07-31, 2024/7/31, 20240731T130500Z          ISO 8601, and what is near to it
//   31/7/2024, 7/31/2024, 7/31/24, 31-7-2024         day and month in the order that is said
//   31.7.2024                                        always the day first
//   31-Jul-2024, 31 July 2024, 31/Jul/24             with the English name of the month
//   2024-07-31T13:05:00.25+02:00, 7/31/2024 1:05 PM  with a time of day, and perhaps a zone
//   1722430800, 1722430800000                        seconds, milli-, micro- or nanoseconds since 1970, by their size; 20240731
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "odca/features/number.hpp"

namespace odca::text {

// Years that four digits can say, in seconds since 1970.
inline constexpr double first_moment = -62'167'219'200.0, behind_last_moment = 253'402'300'800.0;

struct Moment {
  double seconds = 0.0;    // since 1970
  bool with_time = false;  // whether the time of day is known; the seconds are those of midnight if not
};

enum class DateCheck {
  other,       // it does not look like a date
  impossible,  // it looks like one, and there is none: February 30, 25 o'clock
  date,
};

struct CalendarParts {
  int month;    // 1 to 12
  int weekday;  // 0 for Monday, as Python has it
  int hour;
};

// `seconds` lie between the moments above.
constexpr CalendarParts calendar(double seconds) {
  auto whole = static_cast<std::int64_t>(seconds);
  whole -= static_cast<double>(whole) > seconds;  // down, before 1970 too
  constexpr std::int64_t day_seconds = 86'400;
  const std::int64_t in_day = ((whole % day_seconds) + day_seconds) % day_seconds;
  const std::chrono::sys_days day{std::chrono::days{(whole - in_day) / day_seconds}};
  return {static_cast<int>(static_cast<unsigned>(std::chrono::year_month_day{day}.month())),
          static_cast<int>(std::chrono::weekday{day}.iso_encoding()) - 1, static_cast<int>(in_day / 3600)};
}

struct YearPart {
  int year;
  double passed;  // how much of it, from 0 to 1
};

// The same.
constexpr YearPart year_part(double seconds) {
  auto whole = static_cast<std::int64_t>(seconds);
  whole -= static_cast<double>(whole) > seconds;
  constexpr std::int64_t day_seconds = 86'400;
  const std::int64_t in_day = ((whole % day_seconds) + day_seconds) % day_seconds;
  const std::chrono::sys_days day{std::chrono::days{(whole - in_day) / day_seconds}};
  const std::chrono::year year = std::chrono::year_month_day{day}.year();
  const std::chrono::sys_days begin{year / 1 / 1}, end{(year + std::chrono::years{1}) / 1 / 1};
  const auto days = static_cast<double>((end - begin).count());
  const double passed = static_cast<double>((day - begin).count()) + static_cast<double>(in_day) / 86'400.0;
  return {static_cast<int>(year), passed / days};
}

// What is left of a date's text.
class DateText {
 public:
  constexpr explicit DateText(std::string_view text) : rest_(text) {}

  constexpr bool at_end() const { return rest_.empty(); }
  constexpr bool at_digit() const { return !rest_.empty() && is_digit(rest_.front()); }
  constexpr bool at_letter() const { return !rest_.empty() && is_letter(rest_.front()); }
  constexpr bool skip(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // So many digits.
  constexpr bool number(std::size_t digits, int& out) {
    if (rest_.size() < digits) return false;
    out = 0;
    for (std::size_t k = 0; k < digits; ++k) {
      if (!is_digit(rest_[k])) return false;
      out = out * 10 + (rest_[k] - '0');
    }
    rest_.remove_prefix(digits);
    return true;
  }
  // How many digits come next.
  constexpr std::size_t digits() const {
    std::size_t count = 0;
    while (count < rest_.size() && is_digit(rest_[count])) ++count;
    return count;
  }
  // One digit or two.
  constexpr bool one_or_two(int& out) { return number(digits() == 1 ? 1 : 2, out); }
  // One of these characters; which one.
  constexpr bool skip_any(std::string_view characters, char& which) {
    if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) return false;
    which = rest_.front();
    rest_.remove_prefix(1);
    return true;
  }
  constexpr bool skip_word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // The English name of a month, whole or its first three letters.
  constexpr bool month(int& out) {
    constexpr std::string_view names[] = {"january", "february", "march",     "april",   "may",      "june",
                                          "july",    "august",   "september", "october", "november", "december"};
    std::size_t letters = 0;
    while (letters < rest_.size() && is_letter(rest_[letters])) ++letters;
    for (out = 1; out <= 12; ++out) {
      const std::string_view name = names[out - 1];
      if (letters != 3 && letters != name.size()) continue;
      std::size_t same = 0;
      while (same < letters && (rest_[same] | 0x20) == name[same]) ++same;
      if (same < letters) continue;
      rest_.remove_prefix(letters);
      return true;
    }
    return false;
  }
  // What follows the point of a second, as over / under. More digits than a double tells apart are skipped.
  constexpr void fraction(double& over, double& under) {
    for (; at_digit(); rest_.remove_prefix(1)) {
      if (under >= 1e9) continue;
      over = over * 10.0 + (rest_.front() - '0');
      under *= 10.0;
    }
  }

 private:
  static constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  std::string_view rest_;
};

struct TimeOfDay {
  int hour = 0, minute = 0, second = 0;
  double over = 0.0, under = 1.0;  // a fraction of a second
  int zone_hour = 0, zone_minute = 0;
  bool west = false;

  // The 60th second is a leap second.
  constexpr bool possible() const {
    return hour < 24 && minute < 60 && second <= 60 && zone_hour < 24 && zone_minute < 60;
  }
  constexpr int zone_seconds() const { return (west ? -1 : 1) * (zone_hour * 3600 + zone_minute * 60); }
};

// H:MM[:SS[.fff]] or HHMM[SS], perhaps with AM or PM; then Z, UTC, +hh:mm, +hhmm, +hh (or with -), or nothing.
constexpr bool read_time_of_day(DateText& text, TimeOfDay& out) {
  const bool compact = text.digits() >= 4;
  if (!text.one_or_two(out.hour) || !(compact || text.skip(':')) || !text.number(2, out.minute)) return false;
  if (compact ? text.at_digit() : text.skip(':')) {
    if (!text.number(2, out.second)) return false;
    if (text.skip('.')) {
      if (!text.at_digit()) return false;
      text.fraction(out.over, out.under);
    }
  }
  text.skip(' ');
  char half = 0;
  if (text.skip_any("AaPp", half)) {
    if (!(text.skip('M') || text.skip('m')) || out.hour < 1 || out.hour > 12) return false;
    out.hour = out.hour % 12 + (half == 'P' || half == 'p' ? 12 : 0);
    text.skip(' ');
  }
  if (text.skip('Z') || text.skip('z') || text.skip_word("UTC") || text.skip_word("GMT")) return true;
  out.west = text.skip('-');
  if (!out.west && !text.skip('+')) return true;
  if (!text.number(2, out.zone_hour)) return false;
  return text.at_end() || ((text.skip(':') || true) && text.number(2, out.zone_minute));
}

struct Day {
  int year = 0, month = 0, day = 0;
};

// The day with which a text begins. `day_first` says in which order the numbers of 7/8/2024 come.
constexpr bool read_day(DateText& text, bool day_first, Day& out) {
  char between = 0;
  const std::size_t digits = text.digits();
  if (digits == 8) return text.number(4, out.year) && text.number(2, out.month) && text.number(2, out.day);
  if (digits == 4)
    return text.number(4, out.year) && text.skip_any("-/", between) && text.one_or_two(out.month) &&
           text.skip(between) && text.one_or_two(out.day);
  if (digits != 1 && digits != 2) return false;
  int first = 0, second = 0;
  if (!text.one_or_two(first) || !text.skip_any("/.- ", between)) return false;
  if (text.at_letter()) {
    out.day = first;
    if (!text.month(out.month) || !text.skip(between)) return false;
    const bool is_short = text.digits() == 2;
    if (!text.number(is_short ? 2 : 4, out.year)) return false;
    if (is_short) out.year += out.year < 69 ? 2000 : 1900;
    return true;
  }
  if (between == ' ' || !text.one_or_two(second) || !text.skip(between)) return false;
  const bool short_year = text.digits() == 2 && between == '/';  // elsewhere it would make dates of other numbers
  if (!text.number(short_year ? 2 : 4, out.year)) return false;
  if (short_year) out.year += out.year < 69 ? 2000 : 1900;
  day_first |= between == '.';
  out.day = day_first ? first : second, out.month = day_first ? second : first;
  return true;
}

// A day, alone or with a T or a blank and the time of day. (Eight digits alone are a number.)
constexpr DateCheck read_date(std::string_view from, Moment& out, bool day_first = false) {
  DateText text(from);
  Day day;
  if (from.size() < 6 || !is_digit(from.front())) return DateCheck::other;
  const bool compact = text.digits() == 8;
  if (!read_day(text, day_first, day) || (compact && text.at_end())) return DateCheck::other;
  TimeOfDay time;
  out.with_time = !text.at_end();
  if (out.with_time && !((text.skip('T') || text.skip('t') || text.skip(' ')) && read_time_of_day(text, time)))
    return DateCheck::other;
  if (!text.at_end()) return DateCheck::other;
  const std::chrono::year_month_day date{std::chrono::year{day.year},
                                         std::chrono::month{static_cast<unsigned>(day.month)},
                                         std::chrono::day{static_cast<unsigned>(day.day)}};
  if (!date.ok() || !time.possible()) return DateCheck::impossible;
  const std::int64_t whole = std::chrono::sys_days{date}.time_since_epoch().count() * std::int64_t{86'400} +
                             time.hour * 3600 + time.minute * 60 + time.second - time.zone_seconds();
  // One division, so that microseconds come out as they do from a table's timestamps.
  out.seconds = (static_cast<double>(whole) * time.under + time.over) / time.under;
  return out.seconds >= first_moment && out.seconds < behind_last_moment ? DateCheck::date : DateCheck::impossible;
}

// Whether a text looks as dates of ISO 8601 do, so that nothing else is meant by it.
constexpr bool is_iso_date(std::string_view text) {
  return text.size() >= 10 && is_digit(text[0]) && is_digit(text[1]) && is_digit(text[2]) && is_digit(text[3]) &&
         text[4] == '-' && is_digit(text[5]) && is_digit(text[6]) && text[7] == '-';
}

// The moment in ISO 8601, which is read as the same moment: its seconds to a billionth, finer than a double is.
inline std::string iso_text(Moment moment) {
  const double whole = std::floor(moment.seconds);
  const auto seconds = static_cast<std::int64_t>(whole);
  constexpr std::int64_t day_seconds = 86'400;
  const std::int64_t in_day = ((seconds % day_seconds) + day_seconds) % day_seconds;
  const std::chrono::year_month_day day{std::chrono::sys_days{std::chrono::days{(seconds - in_day) / day_seconds}}};
  char text[64];
  int size = std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(day.year()),
                           static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
  if (moment.with_time)
    size += std::snprintf(text + size, sizeof text - static_cast<std::size_t>(size), "T%02d:%02d:%02d.%09dZ",
                          static_cast<int>(in_day / 3600), static_cast<int>(in_day / 60 % 60),
                          static_cast<int>(in_day % 60),
                          static_cast<int>(std::min((moment.seconds - whole) * 1e9, 999'999'999.0)));
  return {text, static_cast<std::size_t>(size)};
}

// A number that stands for a date: the day 20240731, or what has passed since 1970, from 1973 on.
constexpr DateCheck date_of_number(double number, Moment& out) {
  if (number >= 1e7 && number < 1e8) {
    const auto whole = static_cast<std::int64_t>(number);
    const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(whole / 10'000)},
                                           std::chrono::month{static_cast<unsigned>(whole / 100 % 100)},
                                           std::chrono::day{static_cast<unsigned>(whole % 100)}};
    if (static_cast<double>(whole) != number || !date.ok()) return DateCheck::other;
    out = {static_cast<double>(std::chrono::sys_days{date}.time_since_epoch().count() * std::int64_t{86'400}), false};
    return DateCheck::date;
  }
  if (!(number >= 1e8 && number < 1e20)) return DateCheck::other;
  out = {number < 1e11 ? number : number < 1e14 ? number / 1e3 : number < 1e17 ? number / 1e6 : number / 1e9, true};
  return DateCheck::date;
}

}  // namespace odca::text
