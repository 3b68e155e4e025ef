#include "odca/features/dates.hpp"

#include <doctest/doctest.h>

using namespace odca::text;

namespace {

// The seconds, or a number that is not a date.
constexpr double seconds_of(std::string_view text) {
  Moment moment;
  return read_date(text, moment) == DateCheck::date ? moment.seconds : -1e300;
}

DateCheck check(std::string_view text) {
  Moment moment;
  return read_date(text, moment);
}

static_assert(seconds_of("1970-01-01") == 0.0);
static_assert(calendar(0.0).weekday == 3);

}  // namespace

TEST_CASE("a date is midnight, in seconds since 1970") {
  CHECK(seconds_of("1970-01-02") == 86400.0);
  CHECK(seconds_of("2000/02/29") == 951782400.0);
  CHECK(seconds_of("1969-12-31") == -86400.0);
  CHECK(seconds_of("2024-07-31") == 1722384000.0);
  CHECK(seconds_of("0000-01-01") == first_moment);
  CHECK(seconds_of("9999-12-31") == behind_last_moment - 86400.0);
}

TEST_CASE("a time of day follows a T or a blank, with a zone or in UTC") {
  const double noon = 1722384000.0 + 12 * 3600;
  for (const char* text : {"2024-07-31T12:00", "2024-07-31 12:00:00", "2024/07/31t12:00:00.000", "2024-07-31T12:00Z",
                           "2024-07-31T12:00:00z", "2024-07-31T14:00:00+02:00", "2024-07-31T14:00+0200",
                           "2024-07-31 14:00+02", "2024-07-31T06:30:00-05:30", "2024-08-01T01:00+13:00"}) {
    CAPTURE(text);
    CHECK(seconds_of(text) == noon);
  }
  CHECK(seconds_of("2024-07-31T12:00:00.25") == noon + 0.25);
  CHECK(seconds_of("2024-07-31T12:00:00.123456") == 1722427200123456.0 / 1e6);
  CHECK(seconds_of("2024-07-31T12:00:00.123456789123") == doctest::Approx(noon + 0.123456789).epsilon(1e-15));
  CHECK(seconds_of("2016-12-31T23:59:60Z") == seconds_of("2017-01-01"));  // a leap second
}

TEST_CASE("day and month come in the order that is said") {
  const auto read = [](std::string_view text, bool day_first) {
    Moment moment;
    return read_date(text, moment, day_first) == DateCheck::date ? moment.seconds : -1e300;
  };
  const double third = seconds_of("2004-10-03");
  for (const char* text : {"10/3/2004", "10/03/2004", "10-3-2004", "10/3/04"}) CHECK(read(text, false) == third);
  for (const char* text : {"3/10/2004", "03-10-2004", "3/10/04"}) CHECK(read(text, true) == third);
  for (const bool day_first : {false, true}) CHECK(read("3.10.2004", day_first) == third);
  CHECK(read("2004-10-3", true) == third);
  CHECK(read("13/1/2004", false) == -1e300);
  CHECK(read("1/1/69", false) == seconds_of("1969-01-01"));
}

TEST_CASE("a time of day may be short, and have halves") {
  const double morning = seconds_of("2004-10-03T01:05"), evening = seconds_of("2004-10-03T13:05");
  for (const char* text : {"2004-10-03 1:05", "10/3/2004 1:05 AM", "10/3/2004 1:05:00am", "20041003T010500Z",
                           "2004-10-03 01:05 UTC", "2004-10-03 03:05 +02:00"})
    CHECK(seconds_of(text) == morning);
  for (const char* text : {"10/3/2004 1:05 PM", "10/3/2004 13:05", "20041003T1305"}) CHECK(seconds_of(text) == evening);
  CHECK(seconds_of("10/3/2004 12:05 AM") == morning - 3600.0);
  CHECK(seconds_of("10/3/2004 12:05 PM") == evening - 3600.0);
}

TEST_CASE("a month may have its English name") {
  const double day = seconds_of("2024-07-31");
  for (const char* text : {"31-Jul-2024", "31 July 2024", "31/JUL/2024", "31.jul.2024", "31-jul-24"}) {
    CAPTURE(text);
    CHECK(seconds_of(text) == day);
  }
  CHECK(seconds_of("1 May 2024") == seconds_of("2024-05-01"));
  CHECK(seconds_of("31 July 2024 13:05") == day + 47'100.0);
  CHECK(check("31-Jun-2024") == DateCheck::impossible);
  for (const char* text :
       {"31-Jui-2024", "31-July", "31-Ju-2024", "31 7 2024", "31-Jul 2024", "31-Jul-024", "1-a", "1 "})
    CHECK(check(text) == DateCheck::other);
}

TEST_CASE("numbers are days or moments by their size") {
  const auto seconds = [](double number) {
    Moment moment;
    return date_of_number(number, moment) == DateCheck::date ? moment.seconds : -1e300;
  };
  CHECK(seconds(20240731) == seconds_of("2024-07-31"));
  CHECK(seconds(1722384000) == seconds_of("2024-07-31"));
  CHECK(seconds(1722384000250) == seconds_of("2024-07-31") + 0.25);
  CHECK(seconds(1722384000000000) == seconds_of("2024-07-31"));
  CHECK(seconds(1722384000000000000) == seconds_of("2024-07-31"));
  for (const double number : {0.0, -1.0, 2024.0, 20240230.0, 20240731.5, 1e20, 99'999'999.0})
    CHECK(seconds(number) == -1e300);
}

TEST_CASE("a year's part is how much of it has passed") {
  CHECK(year_part(seconds_of("2024-01-01")).year == 2024);
  CHECK(year_part(seconds_of("2024-01-01")).passed == 0.0);
  CHECK(year_part(seconds_of("2023-07-02T12:00")).passed == 0.5);
  CHECK(year_part(seconds_of("1969-12-31T23:59:59.5")).year == 1969);
  CHECK(year_part(seconds_of("1969-12-31T23:59:59.5")).passed < 1.0);
}

TEST_CASE("a moment records whether the time of day is known") {
  Moment moment;
  CHECK(read_date("2024-07-31", moment) == DateCheck::date);
  CHECK_FALSE(moment.with_time);
  CHECK(read_date("2024-07-31 00:00", moment) == DateCheck::date);
  CHECK(moment.with_time);
}

TEST_CASE("an invalid date is distinguished from text that is not a date") {
  for (const char* text :
       {"2023-02-29", "2024-02-30", "1900-02-29", "2024-13-01", "2024-00-10", "2024-04-31", "2024-01-00",
        "2024-01-01T25:00", "2024-01-01T24:00", "2024-01-01T12:60", "2024-01-01T12:00:61", "2024-01-01T12:00+24:00",
        "2024-01-01T12:00+01:60", "9999-12-31T23:00-02:00"}) {
    CAPTURE(text);
    CHECK(check(text) == DateCheck::impossible);
  }
  for (const char* text : {"",
                           "2024",
                           "2024-01",
                           "20240101",
                           "2024-01/01",
                           "01-01-24",
                           "1.2.24",
                           "1/2/2004x",
                           "31/12",
                           "1/2-2004",
                           "1/2/2004 13:00 PM",
                           "1/2/2004 0:30 AM",
                           "2024-01-01T",
                           "2024-01-01T12",
                           "2024-01-01T12:",
                           "2024-01-01T12:00:",
                           "2024-01-01T12:00:00.",
                           "2024-01-01x12:00",
                           "2024-01-01T12:00Zx",
                           "2024-01-01T12:00+1",
                           "2024-01-01T12:00+01:0",
                           "2024-01-01T12:00+01:",
                           "2024-01-01 ",
                           "-2024-01-01",
                           "2024-01-01T12:00:00,5"}) {
    CAPTURE(text);
    CHECK(check(text) == DateCheck::other);
  }
}

TEST_CASE("the calendar knows month, weekday and hour, before 1970 too") {
  const auto is = [](std::string_view text, int month, int weekday, int hour) {
    const CalendarParts parts = calendar(seconds_of(text));
    return parts.month == month && parts.weekday == weekday && parts.hour == hour;
  };
  CHECK(is("2024-07-31T13:59:59.999", 7, 2, 13));
  CHECK(is("2024-02-29", 2, 3, 0));
  CHECK(is("1969-12-31T23:59:59.5", 12, 2, 23));
  CHECK(is("2024-01-01T00:30+01:00", 12, 6, 23));
  CHECK(is("0000-01-01", 1, 5, 0));
  CHECK(is("9999-12-31T23:00", 12, 4, 23));
}

TEST_CASE("weekdays follow each other through 400 years") {
  int weekday = calendar(seconds_of("1800-01-01")).weekday;
  for (double seconds = seconds_of("1800-01-01"); seconds < seconds_of("2200-01-01"); seconds += 86400.0) {
    REQUIRE(calendar(seconds + 86399.0).weekday == weekday);
    REQUIRE(calendar(seconds + 86399.0).hour == 23);
    weekday = (weekday + 1) % 7;
  }
}
