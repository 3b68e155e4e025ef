#include "odca/ingest/csv/guess.hpp"
#include "odca/ingest/csv/decimal_comma.hpp"

#include <doctest/doctest.h>

#include "table_support.hpp"

using namespace odca::text;
using odca::test::holds;
using odca::test::Strings;

TEST_CASE("the cells of a header are returned without quotes and blanks") {
  CHECK(csv_fields("a, b ,\"c,d\",\"e\"\"f\"\r\n1,2,3,4\n", {','}) == Strings{"a", "b", "c,d", "e\"f"});
  CHECK(csv_fields("\n  \na,b\n", {','}) == Strings{"a", "b"});
  CHECK(csv_fields("one", {','}) == Strings{"one"});
  CHECK(csv_fields("a\t\tb", {'\t'}) == Strings{"a", "", "b"});
  CHECK(csv_fields("\"two\nlines\",b\n", {','}) == Strings{"two\nlines", "b"});
  CHECK(csv_fields("a,b\"c", {','}) == Strings{"a", "b\"c"});
  CHECK(csv_fields("\"a,b\",c", {',', false}) == Strings{"\"a", "b\"", "c"});
  CHECK_THROWS_AS(csv_fields("a,\xff", {','}), Fault);
}

TEST_CASE("the delimiter is the one that gives all lines the same number of cells") {
  CHECK(guess_delimiter("a,b,c\n1,2,3\n", true) == ',');
  CHECK(guess_delimiter("a\tb\n1,5\t2\n3\t4\n", true) == '\t');
  CHECK(guess_delimiter("a;b\n1,5;2,5\n", true) == ';');
  CHECK(guess_delimiter("a|b|c\n1|2|x;y\n", true) == '|');
  CHECK(guess_delimiter("a,b,c\nx;y,\"1;2\",3\n", true) == ',');
  CHECK(guess_delimiter("a;b\n\"x,y\";1\n\"z,w\";2\n", true) == ';');
  CHECK(guess_delimiter("tags,n,m\na;b,1,2\n", true) == ',');
  CHECK(guess_delimiter("one\n1\n", true) == ',');
  CHECK(guess_delimiter("3,14;2,5;1,0\n4,14;3,5;2,0\n", true) == ';');
  CHECK(guess_delimiter("1,2\t3,4\n1,5\t3,6\n", true) == '\t');
  CHECK(guess_delimiter("", true) == ',');
  CHECK(guess_delimiter("ham\tsay \"hi\"\nham\t\"well, ok\nspam\twin, now\n", true) == '\t');
  CHECK(guess_delimiter("\"a;\"b\n\"a,b;\"c\n", false) == ';');
}

TEST_CASE("a header is a line of words above a column of numbers or dates") {
  CHECK(guess_header("a,b\n1,x\n", {','}, {}));
  CHECK(guess_header("\na,b\n2024-01-01,x\n", {','}, {}));
  CHECK(guess_header(",a\n0,1\n", {','}, {}));  // a name is missing: `header_fault` says so
  CHECK(guess_header("a,b\nNA,x\n1,y\n", {','}, {}));
  CHECK_FALSE(guess_header("1,x\n2,y\n", {','}, {}));
  CHECK_FALSE(guess_header("2024-01-01,x\n2024-01-02,y\n", {','}, {}));
  CHECK_FALSE(guess_header("a,b\nx,y\n", {','}, {}));
  CHECK_FALSE(guess_header("a,b\n", {','}, {}));
  CHECK_FALSE(guess_header("", {','}, {}));
  CHECK_FALSE(guess_header(",\n1,2\n", {','}, {}));
  CHECK(guess_header("a\"b,c\n1,2\n", {','}, {}));
}

TEST_CASE("a decimal comma is found by majority, and not where commas separate cells") {
  CHECK(guess_decimal("a;b\n1,5;x\n2,25;y\n", {';'}) == ',');
  CHECK(guess_decimal("a\tb\n1.234,50\t1\n", {'\t'}) == ',');
  CHECK(guess_decimal("a;b\n0,125;1\n0,250;2\n", {';'}) == ',');
  CHECK(guess_decimal("a;b\n1.5;x\n2,25;y\n2.5;y\n", {';'}) != ',');
  CHECK(guess_decimal("a;b\n1,234;1\n5,678;2\n", {';'}) != ',');  // thousands, perhaps
  CHECK(guess_decimal("a,b\n1,5\n2,25\n", {','}) != ',');
  CHECK(guess_decimal("a;b\n1;x, y\n", {';'}) != ',');
}

TEST_CASE("numbers with a decimal comma have a point afterwards, and nothing else changes") {
  std::string buffer;
  const auto made = [&](std::string_view cell) { return std::string(with_point(cell, buffer)); };
  CHECK(made("3,14") == "3.14");
  CHECK(made("-1.234,56") == "-1234.56");
  CHECK(made("1.234.567") == "1234567");
  CHECK(made("+12345,5") == "+12345.5");
  CHECK(made("1,5e-3") == "1.5e-3");
  for (const char* const other :
       {"3.14", "1.2345", "12.34.567", "1,2,3", ",5", "5,", "1.234,", "31.7.2024", "a,b", "", "-", "1,5e"})
    CHECK(made(other) == other);
}

TEST_CASE("a header with an empty or a repeated name is an error") {
  CHECK(header_fault({"a", "b"}).empty());
  CHECK(holds(header_fault({"a", ""}), "column 2 of the header has no name"));
  CHECK(holds(header_fault({"a", "b", "a"}), "columns 1 and 3 of the header are both named 'a'"));
}

TEST_CASE("the majority decides what a column holds") {
  const auto kinds = [](std::string_view sample, std::size_t columns, bool header = false) {
    std::vector<Kind> out;
    for (const Tally& each : tally_columns(sample, {','}, columns, header, {})) out.push_back(each.kind("v"));
    return out;
  };
  using Kinds = std::vector<Kind>;
  CHECK(kinds("1,x,2024-01-01,,2\nNA,3,2024/01/02T10:00,?,\n", 5) ==
        Kinds{Kind::number, Kind::category, Kind::date, Kind::any, Kind::number});
  CHECK(kinds("2024-01-01\n7\n", 1) == Kinds{Kind::category});
  CHECK(kinds("2023-02-30\n2023-02-01\n", 1) == Kinds{Kind::date});
  CHECK(kinds("1.5\n-inf\n1e999\n", 1) == Kinds{Kind::number});
  CHECK(kinds("inf\n", 1) == Kinds{Kind::category});
  CHECK(kinds("a long text of many words\nanother one that is as long\n", 1) == Kinds{Kind::category});
  CHECK(kinds("1,2\n1,2,x\nx\n\n\"x,3\n", 2) == Kinds{Kind::number, Kind::number});  // bad lines are ignored
  CHECK(kinds("\na,b\n1,x\n", 2, true) == Kinds{Kind::number, Kind::category});
  CHECK(kinds("", 2) == Kinds{Kind::any, Kind::any});
  const auto repeated = [](const char* line, int count) {
    std::string out;
    for (int k = 0; k < count; ++k) out += line;
    return out;
  };
  CHECK(kinds(repeated("1\n", 9) + "word\n", 1) == Kinds{Kind::number});
  CHECK(kinds(repeated("1\n", 8) + "word\nword\n", 1) == Kinds{Kind::category});
  CHECK(kinds(repeated("1\n", 18) + "V5\n", 1) == Kinds{Kind::category});
  CHECK(kinds(repeated("1\n", 19) + "V5\n", 1) == Kinds{Kind::number});
  CHECK(kinds(repeated("1\n", 40) + "V5\nV6\n", 1) == Kinds{Kind::category});
  CHECK(kinds(repeated("1\n", 198) + "V5\nV6\n", 1) == Kinds{Kind::number});
  CHECK(kinds(repeated("true\n", 9) + "word\n", 1) == Kinds{Kind::boolean});
  CHECK(kinds("true\n1\n", 1) == Kinds{Kind::category});
}

TEST_CASE("numbers are dates if they can be and the column's name says so") {
  const auto kind = [](const char* name, std::string_view sample) {
    return tally_columns(sample, {','}, 1, false, {})[0].kind(name);
  };
  for (const char* name : {"timestamp", "created_at", "pickupTime", "Date", "unix time", "event.ts"})
    CHECK(kind(name, "1700000000\n1700000060\n") == Kind::date);
  for (const char* name : {"amount", "attempts", "stats", "times_seen_by", "updates"})
    CHECK(kind(name, "1700000000\n1700000060\n") == Kind::number);
  CHECK(kind("date", "20240101\n20240229\n") == Kind::date);
  CHECK(kind("date", "20240101\n20240230\n") == Kind::number);
  CHECK(kind("time", "0\n60\n") == Kind::number);
  CHECK(kind("ts", "1700000000000\nNA\n") == Kind::date);
}

TEST_CASE("a tally knows what is odd about a column") {
  const auto of = [](std::string_view sample) { return tally_columns(sample, {','}, 2, false, {}); };
  const auto both = of("1,x\n2,x\nNA,x\n3,x\n");
  CHECK(both[0].count() == 4);
  CHECK(both[0].missing() == 1);
  CHECK(both[0].distinct() == 3);
  CHECK(both[0].example() == "1");
  CHECK_FALSE(both[0].is_constant());
  CHECK(both[1].is_constant());
  CHECK(of("4,a\n5,b\n6,c\n")[0].counts_rows());
  CHECK_FALSE(of("4,a\n6,b\n7,c\n")[0].counts_rows());
  std::string text;
  for (int k = 0; k < 60; ++k) text += std::to_string(k % 2) + (k % 2 ? ",yes\n" : ",no\n");
  CHECK(of(text)[1].tells(of(text)[0]));
  CHECK_FALSE(of(text + "1,no\n")[1].tells(of(text + "1,no\n")[0]));
  const Tally dates = of("13/1/2004,a\n1/13/2004,b\n1/2/2004,c\n1.2.2004,d\n")[0];
  CHECK(dates.orders().day_first == 1);
  CHECK(dates.orders().month_first == 1);
  CHECK(dates.orders().either == 1);
}
