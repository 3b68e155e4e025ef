// Dates and times of day in ISO 8601, and what the calendar says of them. The calendar is the Gregorian one; all is UTC.
#pragma once

#include <chrono>
#include <cstdint>
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

// What is left of a date's text.
class DateText {
 public:
  constexpr explicit DateText(std::string_view text) : rest_(text) {}

  constexpr bool at_end() const { return rest_.empty(); }
  constexpr bool at_digit() const { return !rest_.empty() && is_digit(rest_.front()); }
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
  // What follows the point of a second, as over / under. More digits than a double tells apart are skipped.
  constexpr void fraction(double& over, double& under) {
    for (; at_digit(); rest_.remove_prefix(1)) {
      if (under >= 1e9) continue;
      over = over * 10.0 + (rest_.front() - '0');
      under *= 10.0;
    }
  }

 private:
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

// HH:MM[:SS[.fff]], then Z, +hh:mm, +hhmm, +hh (or with -), or nothing.
constexpr bool read_time_of_day(DateText& text, TimeOfDay& out) {
  if (!text.number(2, out.hour) || !text.skip(':') || !text.number(2, out.minute)) return false;
  if (text.skip(':')) {
    if (!text.number(2, out.second)) return false;
    if (text.skip('.')) {
      if (!text.at_digit()) return false;
      text.fraction(out.over, out.under);
    }
  }
  if (text.skip('Z') || text.skip('z')) return true;
  out.west = text.skip('-');
  if (!out.west && !text.skip('+')) return true;
  if (!text.number(2, out.zone_hour)) return false;
  return text.at_end() || ((text.skip(':') || true) && text.number(2, out.zone_minute));
}

// YYYY-MM-DD or YYYY/MM/DD, alone or with a T or a blank and the time of day.
constexpr DateCheck read_date(std::string_view from, Moment& out) {
  DateText text(from);
  int year = 0, month = 0, day = 0;
  if (!text.number(4, year)) return DateCheck::other;
  const char between = text.skip('/') ? '/' : '-';
  if (between == '-' && !text.skip('-')) return DateCheck::other;
  if (!text.number(2, month) || !text.skip(between) || !text.number(2, day)) return DateCheck::other;
  TimeOfDay time;
  out.with_time = !text.at_end();
  if (out.with_time && !((text.skip('T') || text.skip('t') || text.skip(' ')) && read_time_of_day(text, time)))
    return DateCheck::other;
  if (!text.at_end()) return DateCheck::other;
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok() || !time.possible()) return DateCheck::impossible;
  const std::int64_t whole = std::chrono::sys_days{date}.time_since_epoch().count() * std::int64_t{86'400} +
                             time.hour * 3600 + time.minute * 60 + time.second - time.zone_seconds();
  // One division, so that microseconds come out as they do from a table's timestamps.
  out.seconds = (static_cast<double>(whole) * time.under + time.over) / time.under;
  return out.seconds >= first_moment && out.seconds < behind_last_moment ? DateCheck::date : DateCheck::impossible;
}

}  // namespace odca::text
