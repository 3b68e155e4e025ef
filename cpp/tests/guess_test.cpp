#include "odca/ingest/csv/guess.hpp"

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
  CHECK(guess_delimiter("", true) == ',');
  CHECK(guess_delimiter("ham\tsay \"hi\"\nham\t\"well, ok\nspam\twin, now\n", true) == '\t');
  CHECK(guess_delimiter("\"a;\"b\n\"a,b;\"c\n", false) == ';');
}

TEST_CASE("a header is a line of words above a column of numbers or dates") {
  CHECK(guess_header("a,b\n1,x\n", {','}));
  CHECK(guess_header("\na,b\n2024-01-01,x\n", {','}));
  CHECK(guess_header(",a\n0,1\n", {','}));  // a name is missing: `header_fault` says so
  CHECK(guess_header("a,b\nNA,x\n1,y\n", {','}));
  CHECK_FALSE(guess_header("1,x\n2,y\n", {','}));
  CHECK_FALSE(guess_header("2024-01-01,x\n2024-01-02,y\n", {','}));
  CHECK_FALSE(guess_header("a,b\nx,y\n", {','}));
  CHECK_FALSE(guess_header("a,b\n", {','}));
  CHECK_FALSE(guess_header("", {','}));
  CHECK_FALSE(guess_header(",\n1,2\n", {','}));
  CHECK(guess_header("a\"b,c\n1,2\n", {','}));
}

TEST_CASE("a header with an empty or a repeated name is an error") {
  CHECK(header_fault({"a", "b"}).empty());
  CHECK(holds(header_fault({"a", ""}), "column 2 of the header has no name"));
  CHECK(holds(header_fault({"a", "b", "a"}), "columns 1 and 3 of the header are both named 'a'"));
}

TEST_CASE("the kind of a column is that of all its values") {
  const auto kinds = [](std::string_view sample, std::size_t columns) {
    return guess_kinds(sample, {','}, columns, false);
  };
  using Kinds = std::vector<Kind>;
  CHECK(kinds("1,x,2024-01-01,,2\nNA,3,2024/01/02T10:00,?,\n", 5) ==
        Kinds{Kind::number, Kind::category, Kind::date, Kind::any, Kind::number});
  CHECK(kinds("2024-01-01\n7\n", 1) == Kinds{Kind::category});
  CHECK(kinds("2023-02-30\n2023-02-01\n", 1) == Kinds{Kind::date});
  CHECK(kinds("1.5\n-inf\n1e999\n", 1) == Kinds{Kind::number});
  CHECK(kinds("a long text of many words\nanother one that is as long\n", 1) == Kinds{Kind::category});
  CHECK(kinds("1,2\n1,2,x\nx\n\n\"x,3\n", 2) == Kinds{Kind::number, Kind::number});  // bad lines are ignored
  CHECK(guess_kinds("\na,b\n1,x\n", {','}, 2, true) == Kinds{Kind::number, Kind::category});
  CHECK(kinds("", 2) == Kinds{Kind::any, Kind::any});
}
