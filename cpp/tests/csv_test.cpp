#include "odca/ingest/csv/csv.hpp"
#include "odca/ingest/table/table.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "odca/features/vocabulary.hpp"
#include "table_support.hpp"

using namespace odca::text;
using odca::test::events_of;
using odca::test::holds;
using odca::test::Strings;

namespace {

using Columns = std::vector<TableColumn>;

const Columns plain = {{"y", Role::label}, {"x", Role::feature, Kind::number}, {"c", Role::feature, Kind::category}};

Block read(std::string_view text, const Columns& columns, const FeatureOptions& options = {}, bool skip_bad = false,
           char delimiter = ',') {
  Block block;
  read_csv(text, columns, {delimiter}, false, options, skip_bad, block);
  return block;
}

Strings events(std::string_view text, const Columns& columns, const FeatureOptions& options = {},
               char delimiter = ',') {
  const Block block = read(text, columns, options, false, delimiter);
  CHECK(block.bad_count == 0);
  return events_of(block);
}

// The message about the only line of the text, and its position.
Block::BadLine fault(std::string_view text, const Columns& columns, const FeatureOptions& options = {}) {
  const Block block = read(text, columns, options);
  REQUIRE(block.bad.size() == 1);
  CHECK(block.stopped);
  CHECK(block.size() == 0);
  CHECK(block.names.size() == 0);
  return block.bad[0];
}

Columns one(Kind kind, Role role = Role::feature) { return {{"v", role, kind}}; }

}  // namespace

TEST_CASE("a CSV row is an event") {
  CHECK(events("1,2.5,NZ\n-1,-3e2,AU\n", plain) == Strings{"1 | c=NZ:1 | x:2.5", "-1 | c=AU:1 | x:-300"});
  CHECK(events("1\t2.5\tN Z\n", plain, {}, '\t') == Strings{"1 | c=N Z:1 | x:2.5"});
  CHECK(events("yes;2.5;N,Z", plain, {}, ';') == Strings{"'yes' | c=N,Z:1 | x:2.5"});
}

TEST_CASE("line endings, blank lines and blanks around cells do not matter") {
  CHECK(events("1,2,a\r\n\r\n  \n 1 , 2 , a \n\t1\t,2\t,a\t\n", plain) ==
        Strings{"1 | c=a:1 | x:2", "1 | c=a:1 | x:2", "1 | c=a:1 | x:2"});
  CHECK(events("\t\t\n", plain, {}, '\t') == Strings{" | c is missing:1 | x is missing:1"});
}

TEST_CASE("quoted cells may contain delimiters, line endings and quotes") {
  CHECK(events("1,2,\"a,b\"\n1,\"3\",\"say \"\"hi\"\"\"\n\"1\",4,\"two\nlines\"\n1,5, \" kept \" \n", plain) ==
        Strings{"1 | c=a,b:1 | x:2", "1 | c=say \"hi\":1 | x:3", "1 | c=two\nlines:1 | x:4", "1 | c= kept :1 | x:5"});
  const Block block = read("1,2,\"a\n\nb\"\n1,x,c\n", plain);
  REQUIRE(block.bad.size() == 1);
  CHECK(block.bad[0].line == 3);
}

TEST_CASE("a quote opens a cell only at its beginning") {
  CHECK(events("1,2,12\" pipe\n1,3,a \"b\"\n1,4,\"\n1,5,x\n", plain) ==
        Strings{"1 | c=12\" pipe:1 | x:2", "1 | c=a \"b\":1 | x:3", "1 | c is missing:1 | x:4", "1 | c=x:1 | x:5"});
}

TEST_CASE("a quoted cell that is not closed ends with its line") {
  const Block block = read("1,2,\"a, b\n1,3,c\n1,4,\"d\" e \n1,5,\"f\n1,6,g \"h\" i\n1,7,\"j\nk\"\n1,8,\"l", plain);
  CHECK(events_of(block) == Strings{"1 | c=a, b:1 | x:2", "1 | c=c:1 | x:3", "1 | c=d e:1 | x:4", "1 | c=f:1 | x:5",
                                    "1 | c=g \"h\" i:1 | x:6", "1 | c=j\nk:1 | x:7", "1 | c=l:1 | x:8"});
  CHECK(block.stray_quotes == 4);
  CHECK(block.first_stray_quote == 0);
  CHECK(read("1,2,a\n1,3,\"b\n", plain).first_stray_quote == 1);
  CHECK(read("1,2,a\n1,3,\"b\"\n1,4,\"\"\n", plain).stray_quotes == 0);
}

TEST_CASE("quotes may be characters like others") {
  Block block;
  read_csv("1,2,\"a\n1,3,\"b\"\n", plain, {',', false}, false, {}, false, block);
  CHECK(events_of(block) == Strings{"1 | c=\"a:1 | x:2", "1 | c=\"b\":1 | x:3"});
  CHECK(block.stray_quotes == 0);
}

TEST_CASE("empty cells and the usual markers are missing values, quoted or not") {
  for (const char* word : {"", "\"\"", " ", "NA", "\"NA\"", "N/A", "NaN", "nan", "-nan", "null", "NULL", "None", "#N/A",
                           "?", "NaT", "<NA>", "-1.#IND"}) {
    CAPTURE(word);
    const std::string row = std::string("1,") + word + "," + word + "\n";
    CHECK(events(row, plain) == Strings{"1 | c is missing:1 | x is missing:1"});
    for (const Kind kind : {Kind::text, Kind::date, Kind::any})
      CHECK(events("1," + std::string(word) + "\n", {{"y", Role::label}, {"v", Role::feature, kind}}) ==
            Strings{"1 | v is missing:1"});
  }
  CHECK(events("?,1,a\n,1,a\n", plain) == Strings{" | c=a:1 | x:1", " | c=a:1 | x:1"});
  FeatureOptions options;
  options.missing = Missing::ignore;
  CHECK(events("1,,\n", plain, options) == Strings{"1"});
  options.missing = Missing::error;
  CHECK(holds(fault("1,,a\n", plain, options).message, "'x' is missing"));
}

TEST_CASE("what stands for a missing value can be said, and may be a number") {
  FeatureOptions options;
  options.missing_values = MissingValues({"-200", "none"});
  CHECK(events("1,-200,none\n-2e2,-200.0,NA\n1,5,-200\n", plain, options) ==
        Strings{"1 | c is missing:1 | x is missing:1", " | c=NA:1 | x is missing:1", "1 | c is missing:1 | x:5"});
}

TEST_CASE("a value that does not fit is missing and counted, where the kind was guessed") {
  FeatureOptions options;
  options.guessed = {"x"};
  const Block block = read("1,2,a\n1,abc,a\n1,inf,a\n1,1e999,b\n", plain, options);
  CHECK(events_of(block) == Strings{"1 | c=a:1 | x:2", "1 | c=a:1 | x is missing:1", "1 | c=a:1 | x is missing:1",
                                    "1 | c=b:1 | x is missing:1"});
  REQUIRE(block.misfits.size() == 1);
  CHECK(block.misfits[0].field == "x");
  CHECK(block.misfits[0].count == 3);
  CHECK(block.misfits[0].line == 1);
  CHECK(block.misfits[0].text == "abc");
  CHECK(read("1,abc,a,b\n1,abc\n", plain, options, true).misfits.empty());
  options.missing = Missing::error;
  CHECK(holds(fault("1,abc,a\n", plain, options).message, "must be a number"));
  options.guessed = {"v"}, options.missing = Missing::indicate;
  CHECK(events("soon\n2024-02-30\n7\n", one(Kind::date), options) ==
        Strings{" | v is missing:1", " | v is missing:1", " | v is missing:1"});
}

TEST_CASE("an infinite label is no name of a class") {
  CHECK(holds(fault("inf\n", one(Kind::any, Role::label)).message, "the label in 'v' must be finite; got 'inf'"));
}

TEST_CASE("a date has a trend between two years") {
  FeatureOptions options;
  options.trend = true, options.ignore = {"v.month", "v.weekday", "v.hour"};
  CHECK(events("2023-07-02T12:00\n2023-01-01\n", one(Kind::date), options) ==
        Strings{" | v.trend.2023:0.5 | v.trend.2024:0.5", " | v.trend.2023:1"});
  options.ignore = {"v.trend", "v.weekday"};
  CHECK(events("2023-07-02\n", one(Kind::date), options) == Strings{" | v.month=7:1"});
}

TEST_CASE("a column's kind says what its cells become") {
  CHECK(events("007\n7\n", one(Kind::category)) == Strings{" | v=007:1", " | v=7:1"});
  CHECK(events("7\nx7\n", one(Kind::any)) == Strings{" | v:7", " | v=x7:1"});
  CHECK(events("\"A cat, a dog\"\n", one(Kind::text)) == Strings{" | v=a:2 | v=cat:1 | v=dog:1"});
}

TEST_CASE("a label is a number if it parses as one, else text") {
  CHECK(events("1\n1.5\ncat\n\"cat\"\n2 cats\n", one(Kind::any, Role::label)) ==
        Strings{"1", "1.5", "'cat'", "'cat'", "'2 cats'"});
}

TEST_CASE("weight, offset, time, group and tag have columns") {
  const Columns columns = {{"w", Role::weight}, {"o", Role::offset}, {"t", Role::time},
                           {"g", Role::group},  {"id", Role::tag},   {"no", Role::ignored}};
  CHECK(events("2,0.5,100,7,first,\"x,y\"\n1,0,1970-01-02,8,,\n", columns) ==
        Strings{" w2 o0.5 t100 g7 #first", " w1 o0 t86400 g8 #"});
  for (const char* row : {",1,1,1,a,b\n", "1,,1,1,a,b\n", "1,1,,1,a,b\n", "1,1,1,,a,b\n"}) {
    CAPTURE(row);
    CHECK(holds(fault(row, columns).message, "has no value"));
  }
  CHECK(fault("x,1,1,1,a,b\n", columns).message == "the weight in 'w' must be a number; got 'x'");
  CHECK(holds(fault("1,1,noon,1,a,b\n", columns).message, "the time in 't' must be a date"));
  CHECK(holds(fault("1,1,1,1,\xff,b\n", columns).message, "not UTF-8"));
}

TEST_CASE("a date becomes calendar categories in fields of their own") {
  CHECK(events("2024-07-31\n2024-07-31T13:05\n", one(Kind::date)) ==
        Strings{" | v.month=7:1 | v.weekday=2:1", " | v.hour=13:1 | v.month=7:1 | v.weekday=2:1"});
  FeatureOptions options;
  options.ignore = {"v.month", "v.weekday"};
  CHECK(events("2024-07-31T13:05\n", one(Kind::date), options) == Strings{" | v.hour=13:1"});
  options.ignore = {"v"};
  CHECK(events("2024-07-31T13:05\n", one(Kind::date), options) == Strings{""});
  options.ignore = {}, options.keep = {"v"};
  CHECK(events("2024-07-31\n", one(Kind::date), options) == Strings{" | v.month=7:1 | v.weekday=2:1"});
  options.keep = {"v.month"};
  CHECK(events("2024-07-31\n", one(Kind::date), options) == Strings{" | v.month=7:1"});
  options.keep = {}, options.interactions = {{"v.month", "c"}};
  CHECK(events("2024-07-31,a\n", {{"v", Role::feature, Kind::date}, {"c", Role::feature, Kind::category}}, options) ==
        Strings{" | c=a:1 | v.month=7 * c=a:1 | v.month=7:1 | v.weekday=2:1"});
}

TEST_CASE("a date can be the event's time and a feature at once") {
  Columns columns = one(Kind::date);
  columns[0].is_time = true;
  CHECK(events("1970-01-02\n", columns) == Strings{" t86400 | v.month=1:1 | v.weekday=4:1"});
  CHECK(events("NA\n", columns) == Strings{" | v is missing:1"});  // an error only if the time is needed
  columns[0].kind = Kind::number;
  CHECK(events("5\n", columns) == Strings{" t5 | v:5"});
  FeatureOptions options;
  options.ignore = {"v"};
  CHECK(events("5\n", columns, options) == Strings{" t5"});
}

TEST_CASE("a row with too few or too many cells says how many") {
  CHECK(fault("1,2\n", plain).message == "the row has 2 fields, expected 3");
  CHECK(fault("1,2,a,\n", plain).message == "the row has 4 fields, expected 3");
  CHECK(fault("1\n", plain).message == "the row has 1 field, expected 3");
  CHECK(fault("1,a,b,c\n", plain).message ==
        "the row has 4 fields, expected 3");  // rather than that 'a' is not a number
  CHECK(fault("1,2\n", plain).column == 0);
}

TEST_CASE("an error says what is wrong with a cell, and where") {
  const auto number = fault("1,abc,a\n", plain);
  CHECK(number.message == "'x' must be a number; got 'abc'");
  CHECK(holds(number.remedy, "{categorical}"));
  CHECK(number.field == "x");
  CHECK(number.column == 3);
  CHECK(holds(fault("1,1.5x,a\n", plain).message, "got '1.5x'"));
  CHECK(holds(fault("1,1e999,a\n", plain).message, "'x' must be finite"));
  CHECK(holds(fault("1e999,1,a\n", plain).message, "the label in 'y' must be finite"));
  CHECK(holds(fault("1,inf,a\n", plain).message, "'x' must be a number"));
  CHECK(fault("1,\"2,a\n", plain).message ==
        "the row has 2 fields, expected 3. A quote in it is not closed, or is closed before its field ends");
  CHECK(holds(fault("2023-02-30\n", one(Kind::date)).message, "no such date in 'v': '2023-02-30'"));
  CHECK(holds(fault("2023-02-20T25:00\n", one(Kind::date)).message, "no such date"));
  CHECK(holds(fault("soon\n", one(Kind::date)).message, "'v' must be a date"));
  CHECK(holds(fault("5\n", one(Kind::date)).message, "'v' must be a date"));
  CHECK(holds(fault(std::string("1,2,\0\n", 6), plain).message, "NUL"));
  CHECK(holds(fault("1,2,\xff\n", plain).message, "not UTF-8"));
  CHECK(holds(fault("\xff,2,a\n", plain).message, "not UTF-8"));
}

TEST_CASE("a bad line can be skipped, and leaves nothing behind") {
  const Block block = read("1,2,a\n1,x,new\n1,3\nsure,4,\"b\nc\n1,5,b\n", plain, {}, true);
  CHECK(events_of(block) == Strings{"1 | c=a:1 | x:2", "'sure' | c=b:1 | x:4", "1 | c=b:1 | x:5"});
  CHECK(block.bad_count == 3);
  CHECK(block.names.size() == 3);
  CHECK(block.label_names.size() == 1);
  CHECK(events_of(read("1,x,new\n1,5,b\n", plain, {}, true)) == Strings{"1 | c=b:1 | x:5"});
}

TEST_CASE("an invalid header is refused before any row is read") {
  const auto headed = [](std::string_view text) {
    Block block;
    read_csv(text, plain, {','}, true, {}, true, block);
    return block;
  };
  const std::string text = "\n\"y\", x,c\r\n1,2,a\n1,bad,a\n";
  const Block block = headed(text);
  CHECK(events_of(block) == Strings{"1 | c=a:1 | x:2"});
  CHECK(block.line == std::vector<std::uint32_t>{2});
  CHECK(block.bad[0].line == 3);
  CHECK(block.lines == 4);
  CHECK(block.bytes == static_cast<std::int64_t>(text.size()));
  for (const char* header : {"y,c,x\n1,2,a\n", "y,x\n1,2,a\n", "y,x,c,d\n1,2,a\n", "y,\"x\"x,c\n1,2,a\n", "1,2,a\n"}) {
    CAPTURE(header);
    const Block wrong = headed(header);
    CHECK(wrong.stopped);
    CHECK(wrong.size() == 0);
    CHECK(wrong.bad.size() == 1);
    CHECK(wrong.bytes == 0);
    CHECK(wrong.bad[0].line == 0);
  }
  CHECK(holds(headed("y,c,x\n").bad[0].message, "column 2 'c', expected 'x'"));
  CHECK(headed("y,x\n").bad[0].message == "the header has 2 names, expected 3");
  CHECK(headed("").size() == 0);
  CHECK(headed("y,x,c").size() == 0);
}

TEST_CASE("invalid columns and delimiters are refused") {
  CHECK_THROWS_AS(read("", {{"a", Role::label}, {"b", Role::label}}), odca::InputError);
  Columns times = {{"a", Role::time}, {"b", Role::feature, Kind::date, true}};
  CHECK_THROWS_AS(read("", times), odca::InputError);
  CHECK_THROWS_AS(read("", {}), odca::InputError);
  for (const char delimiter : {'"', '\n', '.', '-', '5', 'e'})
    CHECK_THROWS_AS(read("", plain, {}, false, delimiter), odca::InputError);
  FeatureOptions options;
  options.space = Space::indices;
  CHECK_THROWS_AS(read("", plain, options), odca::InputError);
}

TEST_CASE("any cut of a text into whole lines gives the same events") {
  const Columns columns = {{"y", Role::label},
                           {"x", Role::feature, Kind::number},
                           {"c", Role::feature, Kind::category},
                           {"d", Role::feature, Kind::date, true},
                           {"a", Role::feature, Kind::any}};
  const std::string text =
      "1,2,NZ,2024-07-31,1\r\nno,,\"A\nU\",2024-07-31T10:00,x\n\n0,x,bad,2024-01-01,1\n,-4.25,\"q\"\"q\",2024-01-01,\n"
      "1,2,NZ,2024-07-31,1\n1,5,?,2023-02-29,1\n2,1e3,AU,1999-12-31 23:59:59.5Z,NA";
  FeatureOptions options;
  options.interactions = {{"c", "d"}};
  const Block whole = read(text, columns, options, true);
  CHECK(whole.size() == 5);
  CHECK(whole.bad_count == 2);
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    inside ^= text[at] == '"';
    if (text[at] != '\n' || inside) continue;
    const Block first = read(text.substr(0, at + 1), columns, options, true);
    const Block second = read(text.substr(at + 1), columns, options, true);
    Strings both = events_of(first);
    for (const std::string& event : events_of(second)) both.push_back(event);
    CHECK(both == events_of(whole));
    CHECK(first.bad_count + second.bad_count == whole.bad_count);
    CHECK(first.lines + second.lines == whole.lines);
  }
}

TEST_CASE("a table in memory gives the same events as its CSV") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double labels[] = {1, nan, -1}, numbers[] = {2.5, nan, -300}, ids[] = {7, 1e6, 0.5};
  const double seconds[] = {0, 1722430800, nan}, days[] = {86400, 0, 172800};
  const std::int32_t codes[] = {1, -1, 0};
  const std::string_view strings[] = {"AU", "NZ", "3"};
  const std::int32_t counts[] = {2, 2, -1};
  const Columns columns = {{"y", Role::label},
                           {"x", Role::feature, Kind::number},
                           {"id", Role::feature, Kind::category},
                           {"c", Role::feature, Kind::category},
                           {"n", Role::feature, Kind::number},
                           {"when", Role::feature, Kind::date},
                           {"day", Role::feature, Kind::date, true}};
  const std::vector<ValueColumn> table = {{columns[0], std::span<const double>(labels)},
                                          {columns[1], std::span<const double>(numbers)},
                                          {columns[2], std::span<const double>(ids)},
                                          {columns[3], CodedStrings{codes, strings}},
                                          {columns[4], CodedStrings{counts, strings}},
                                          {columns[5], Dates{seconds, true}},
                                          {columns[6], Dates{days, false}}};
  Block block;
  read_table(table, 3, {}, false, block);
  CHECK(block.bad_count == 0);
  CHECK(events_of(block) == events("1,2.5,7,NZ,3,1970-01-01T00:00,1970-01-02\n"
                                   ",,1000000,,3,2024-07-31T13:00,1970-01-01\n"
                                   "-1,-300,0.5,AU,,,1970-01-03\n",
                                   columns));
}

TEST_CASE("a row in memory that cannot be read is reported by its number") {
  const double numbers[] = {1, std::numeric_limits<double>::infinity(), 3}, far[] = {0, 1e15, 0};
  const std::int32_t codes[] = {0, 0, 1};
  const std::string_view strings[] = {"1", "x"};
  const TableColumn number = {"v", Role::feature, Kind::number}, date = {"d", Role::feature, Kind::date};
  const auto bad = [](const std::vector<ValueColumn>& table) {
    Block block;
    read_table(table, 3, {}, true, block);
    REQUIRE(block.bad.size() == 1);
    CHECK(block.bad[0].column == 0);
    CHECK(block.size() == 2);
    CHECK(block.lines == 3);
    return std::to_string(block.bad[0].line) + ": " + block.bad[0].message;
  };
  CHECK(bad({{number, std::span<const double>(numbers)}}) == "1: 'v' must be finite; got inf");
  CHECK(holds(bad({{number, CodedStrings{codes, strings}}}), "2: 'v' must be a number; got 'x'"));
  CHECK(holds(bad({{date, Dates{far, true}}}), "1: there is no such date in 'd'"));
  Block block;
  CHECK_THROWS_AS(read_table({{number, std::span<const double>(numbers)}}, 4, {}, false, block), odca::InputError);
  const std::int32_t wild[] = {0, 2};
  CHECK_THROWS_AS(read_table({{number, CodedStrings{wild, strings}}}, 2, {}, false, block), odca::InputError);
}

TEST_CASE("names known in advance give the same events") {
  const std::string text = "1,2,NZ\n1,,AU\n1,x,new\n1,3,NZ\n";
  Vocabulary vocabulary;
  std::string many;  // enough names to fill the table of known ones
  for (int n = 0; n < 1000; ++n) many += "1,1,c" + std::to_string(n) + "\n";
  vocabulary.absorb(read(many + "1,2,NZ\n", plain), true);
  Block block;
  block.known = vocabulary.known();
  REQUIRE(block.n_known() == 1002);
  read_csv(text, plain, {','}, false, {}, true, block);
  CHECK(block.names.size() == 2);
  CHECK(events_of(block) == events_of(read(text, plain, {}, true)));
}

TEST_CASE("rows of numbers are in order once they are resolved") {
  Block block = read("1,2\n3,4\n", {{"b", Role::feature, Kind::number}, {"a", Role::feature, Kind::number}});
  Vocabulary vocabulary;
  const auto places = vocabulary.absorb(block, true);
  Vocabulary::resolve(places, vocabulary.size(), block);
  CHECK(block.rows.index == std::vector<std::int32_t>{0, 1, 0, 1});
  CHECK(block.rows.value == std::vector<double>{1, 2, 3, 4});
}
