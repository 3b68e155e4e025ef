"""Small files as people have them: made up, but each with what was met in real ones; and how each of their columns must be read."""

import gzip
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class File:
    """A file and how it must be read.

    columns: the kind of each column; of JSON, of each key that is no plain value.
    concerns: what a warning says about a column (`odca.stream.read.profile.Concern`). error: what is said of a file that is refused.
    events: how many there are. misfits: how many values of a column count as missing because they are of another kind.
    how: what must be said to read it, beside the label.
    """

    name: str
    content: bytes
    columns: dict[str, str]
    events: int
    label: str | None = "y"
    misfits: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    stray_quotes: int = 0
    bad: int = 0
    day_first: bool | None = None
    how: dict[str, Any] = field(default_factory=dict)
    concerns: dict[str, str] = field(default_factory=dict)
    error: str = ""


def rows(header: str, line: Callable[[int], str], count: int = 40) -> bytes:
    """A header and so many lines."""
    return (header + "\n" + "".join(line(k) + "\n" for k in range(count))).encode()


def objects(each: Callable[[int], Any], count: int = 40) -> bytes:
    """So many lines of JSON."""
    return "".join(json.dumps(each(k)) + "\n" for k in range(count)).encode()


def at(k: int, form: str) -> str:
    """The k-th hour of a made-up log."""
    day, hour = 1 + k // 24, k % 24
    return form.format(d=day, h=hour, h12=hour % 12 or 12, half="PM" if hour >= 12 else "AM")


def spread(values: Iterable[str]) -> Callable[[int], str]:
    """The values in turn."""
    listed = list(values)
    return lambda k: listed[k % len(listed)]


city, grade = spread(["Rome", "Oslo", "São Paulo"]), spread(["1", "2", "3", "K", "PK"])

FILES = [
    # Quotes
    File("plain.csv", rows("y,x,city", lambda k: f"{k % 2},{k / 4},{city(k)}"), {"y": "number", "x": "number", "city": "category"}, 40),
    File("quoted.csv", rows('"y","x","city"', lambda k: f'"{k % 2}","{k / 4}","{city(k)}, ""the"" city"'),
         {"y": "number", "x": "number", "city": "category"}, 40),
    File("lines_in_quotes.csv", rows("y,note,x", lambda k: f'{k % 2},"first line\nsecond, line {k}",{k}'),
         {"y": "number", "note": "category", "x": "number"}, 40),
    File("messages.tsv", rows("", lambda k: f'{("ham", "spam")[k % 2]}\t{("see you", chr(34) + "ok then", "12" + chr(34) + " pipe", "say " + chr(34) + "hi" + chr(34))[k % 4]}').lstrip(),
         {"1": "category", "2": "category"}, 40, label="1", stray_quotes=10),
    File("quotes_mean_nothing.tsv", rows("", lambda k: f'{("ham", "spam")[k % 2]}\t"never closed {k}').lstrip(),
         {"1": "category", "2": "category"}, 40, label="1", how={"quote": "none"}),
    File("inches.csv", rows("y,size", lambda k: f'{k % 2},{k}" pipe'), {"y": "number", "size": "category"}, 40),
    # Delimiters and headers
    File("semicolons.csv", rows("y;x;city", lambda k: f"{k % 2};{k};{city(k)}"), {"y": "number", "x": "number", "city": "category"}, 40),
    File("bars.csv", rows("y|x|city", lambda k: f"{k % 2}|{k}|{city(k)}"), {"y": "number", "x": "number", "city": "category"}, 40),
    File("no_header.csv", rows("", lambda k: f"{k % 2},{k},{city(k)}").lstrip(), {"1": "number", "2": "number", "3": "category"}, 40, label="1"),
    File("blanks.csv", rows("y , x, city ", lambda k: f" {k % 2} , {k} ,{city(k)}\t"), {"y": "number", "x": "number", "city": "category"}, 40),
    File("windows.csv", rows("y,x\r", lambda k: f"{k % 2},{k}\r"), {"y": "number", "x": "number"}, 40),
    File("byte_order_mark.csv", b"\xef\xbb\xbf" + rows("y,x", lambda k: f"{k % 2},{k}"), {"y": "number", "x": "number"}, 40),
    File("ragged.csv", rows("y,x", lambda k: f"{k % 2},{k}" + ",extra" * (k == 7)), {"y": "number", "x": "number"}, 39, bad=1,
         how={"on_error": "skip"}),
    File("wide.csv", rows(",".join(["y", *(f"x{j}" for j in range(500))]), lambda k: ",".join([str(k % 2), *(str(k * j % 7) for j in range(500))]), 5),
         {"y": "number", **{f"x{j}": "number" for j in range(500)}}, 5),
    # Gaps
    File("gaps.csv", rows("y,a,b,c,d", lambda k: f"{k % 2},{('NA', '', 'nan', k)[k % 4]},{('?', k, k, k)[k % 4]},{('null', 'None', 'x', 'y')[k % 4]},{('N/A', True)[k % 2]}"),
         {"y": "number", "a": "number", "b": "number", "c": "category", "d": "boolean"}, 40, missing={"a": 30, "b": 10, "c": 20, "d": 20}),
    File("own_gaps.csv", rows("y,co,no2", lambda k: f"{k % 2},{-200 if k % 4 == 0 else k / 8},{'-200.0' if k % 5 == 0 else k}"),
         {"y": "number", "co": "number", "no2": "number"}, 40, missing={"co": 10, "no2": 8}, how={"na_values": ("-200",)}),
    File("empty_column.csv", rows("y,x,nothing", lambda k: f"{k % 2},{k},"), {"y": "number", "x": "number", "nothing": "any"}, 40,
         missing={"nothing": 40}),
    File("one_word.csv", rows("y,x", lambda k: f"{k / 3},{'broken' if k == 11 else k}"), {"y": "number", "x": "number"}, 40, misfits={"x": 1}),
    File("infinite.csv", rows("y,x", lambda k: f"{k / 3},{'inf' if k == 11 else '1e999' if k == 12 else k}"), {"y": "number", "x": "number"}, 40,
         misfits={"x": 2}),
    File("word_after_the_sample.csv", rows("y,x", lambda k: f"{k / 3},{'broken' if k == 1500 else k}", 1600), {"y": "number", "x": "number"}, 1600,
         misfits={"x": 1}, concerns={"x": "id"}),
    File("unlabelled.csv", rows("y,x", lambda k: f"{'' if k % 5 == 0 else k / 3},{k}"), {"y": "number", "x": "number"}, 40),
    # Codes, categories, identifiers
    File("codes.csv", rows("y,diagnosis", lambda k: f"{k % 2},{('250', 'V57', '428', 'E909', '401')[k % 5]}"), {"y": "number", "diagnosis": "category"}, 40),
    File("grades.csv", rows("y,grade", lambda k: f"{k % 2},{grade(k)}"), {"y": "number", "grade": "category"}, 40),
    File("versions.csv", rows("y,version", lambda k: f"{k % 2},1.{k % 3}.{10 + k % 4}"), {"y": "number", "version": "category"}, 40),
    File("yes_no.csv", rows("y,new,sold", lambda k: f"{k % 2},{k % 3 == 0},{('yes', 'no')[k % 2]}"), {"y": "number", "new": "boolean", "sold": "category"}, 40),
    File("money.csv", rows("y;price", lambda k: f'{k % 2};"1,{k:03}.50"'), {"y": "number", "price": "category"}, 40),
    # Dates
    File("iso.csv", rows("at,y", lambda k: at(k, "2024-01-{d:02}T{h:02}:00:00Z") + f",{k % 2}"), {"at": "date", "y": "number"}, 40),
    File("zones.csv", rows("at,y", lambda k: at(k, "2024-01-{d:02} {h:02}:00:00.250 +02:00") + f",{k % 2}"), {"at": "date", "y": "number"}, 40),
    File("month_first.csv", rows("at,y", lambda k: at(k + 400, "1/{d}/2004 {h}:00") + f",{k % 2}"), {"at": "date", "y": "number"}, 40, day_first=False),
    File("day_first.csv", rows("at,y", lambda k: at(k + 400, "{d}/01/2004 {h:02}:00") + f",{k % 2}"), {"at": "date", "y": "number"}, 40, day_first=True),
    File("either_first.csv", rows("at,y", lambda k: at(k, "{d}/1/2004 {h}:00") + f",{k % 2}"), {"at": "date", "y": "number"}, 40,
         concerns={"at": "order"}),
    File("said_day_first.csv", rows("at,y", lambda k: at(k, "{d}/1/2004 {h}:00") + f",{k % 2}"), {"at": "date", "y": "number"}, 40, day_first=True,
         how={"day_first": True}),
    File("half_days.csv", rows("at,y", lambda k: at(k + 400, "1/{d}/04 {h12}:30 {half}") + f",{k % 2}"), {"at": "date", "y": "number"}, 40, day_first=False),
    File("dots.csv", rows("at;y", lambda k: at(k, "{d:02}.01.2024") + f";{k % 2}"), {"at": "date", "y": "number"}, 40),
    File("seconds.csv", rows("timestamp,user,y", lambda k: f"{881250949 + 3600 * k},{100 + k},{k % 2}"), {"timestamp": "date", "user": "number", "y": "number"}, 40),
    File("milliseconds.csv", rows("createdAt,y", lambda k: f"{1700000000000 + 60000 * k},{k % 2}"), {"createdAt": "date", "y": "number"}, 40),
    File("eight_digits.csv", rows("date,y", lambda k: f"202401{1 + k % 28:02},{k % 2}"), {"date": "date", "y": "number"}, 40),
    File("large_numbers.csv", rows("revenue,y", lambda k: f"{1700000000 + k},{k % 2}"), {"revenue": "number", "y": "number"}, 40),
    File("gaps_in_dates.csv", rows("at,y", lambda k: ("soon" if k == 9 else "NA" if k == 10 else at(k, "2024-01-{d:02}")) + f",{k % 2}"),
         {"at": "date", "y": "number"}, 40, misfits={"at": 1}, missing={"at": 1}),
    File("no_such_day.csv", rows("at,y", lambda k: ("2023-02-30" if k == 9 else at(k, "2024-01-{d:02}")) + f",{k % 2}"),
         {"at": "date", "y": "number"}, 40, misfits={"at": 1}),
    # JSON
    File("plain.jsonl", objects(lambda k: {"y": k % 2, "x": k / 4, "city": city(k), "new": k % 3 == 0}), {}, 40),
    File("stamps.jsonl", objects(lambda k: {"y": k % 2, "at": at(k, "2024-01-{d:02}T{h:02}:00:00Z"), "x": k}), {"at": "date"}, 40),
    File("nested.jsonl", objects(lambda k: {"y": k % 2, "user": {"born": at(k, "{d}.1.1990"), "tags": ["a", "b"]}, "size": [k, None]}),
         {"user.born": "date"}, 40),
    File("epochs.jsonl", objects(lambda k: {"y": k % 2, "ts": 1700000000 + k, "id": str(k)}), {"ts": "date"}, 40),
    File("gaps.jsonl", objects(lambda k: {"y": k % 2, "x": ("NA", None, "", k)[k % 4]}), {}, 40, missing={"x": 30}),
    File("one_list.json", json.dumps([{"y": 1, "x": 2}]).encode(), {}, 0, error="an object in braces on each line, not a list of them"),
    File("two_types.jsonl", objects(lambda k: {"y": k % 2, "x": k if k % 2 else str(k), "z": [k, "a"] if k % 3 else {"q": 1}}, 120), {}, 120,
         concerns={"x": "mixed"}),
    File("truths.jsonl", objects(lambda k: {"y": k % 2 == 0, "x": k % 3 == 0}), {}, 40),
    File("label_is_an_object.jsonl", objects(lambda k: {"y": {"a": 1}, "x": k}), {}, 0, error="'y' must be a single value"),
    # Encodings and lines
    File("utf16.csv", rows("y,x", lambda k: f"{k % 2},{k}").decode().encode("utf-16"), {}, 0, error="UTF-16 or UTF-32. Convert it to UTF-8"),
    File("latin1.csv", rows("y,city", lambda k: f"{k % 2},São Paulo").decode().encode("latin-1"), {}, 0, error="is not UTF-8"),
    File("packed.csv.gz", gzip.compress(rows("y,x", lambda k: f"{k % 2},{k}")), {"y": "number", "x": "number"}, 40),
    File("old_mac.csv", rows("y,x", lambda k: f"{k % 2},{k}").replace(b"\n", b"\r"), {}, 0, error="lines end with a carriage return alone"),
    File("zero_bytes.csv", rows("y,x", lambda k: f"{k % 2},{k}\0"), {}, 0, error="there is a NUL byte"),
    File("blank_lines.csv", rows("y,x", lambda k: f"{k % 2},{k}" + "\n" * (k % 5 == 0)), {"y": "number", "x": "number"}, 40),
    # Headers
    File("index_without_a_name.csv", rows(",y,x", lambda k: f"{k},{k % 2},{k % 7}", 120), {"1": "number", "y": "number", "x": "number"}, 120,
         concerns={"1": "id"}),
    File("trailing_delimiters.csv", rows("y,x,", lambda k: f"{k % 2},{k},"), {"y": "number", "x": "number", "3": "any"}, 40),
    File("trailing_delimiters_below.csv", rows("y,x", lambda k: f"{k % 2},{k},"), {}, 0, error="the row has 3 fields, expected 2"),
    File("short_row.csv", rows("y,x,z", lambda k: f"{k % 2},{k}" + ",1" * (k != 7)), {"y": "number", "x": "number", "z": "number"}, 39, bad=1,
         how={"on_error": "skip"}),
    File("same_name_twice.csv", rows("y,x,x", lambda k: f"{k % 2},{k},{k}"), {}, 0, error="the columns 2 and 3 of the header are both named 'x'"),
    File("names_with_blanks.csv", rows("y,unit price (EUR),City name", lambda k: f"{k % 2},{k},{city(k)}"),
         {"y": "number", "unit price (EUR)": "number", "City name": "category"}, 40),
    File("comments.csv", b"# made by a tool\n# in 2024\n" + rows("y,x", lambda k: f"{k % 2},{k}"), {}, 0, error="Line 3 has it: remove the lines before it"),
    File("title.csv", b"Sales of 2024\n\n" + rows("y;x", lambda k: f"{k % 2};{k}"), {}, 0, error="Line 3 has it: remove the lines before it"),
    File("separator_is_said.csv", b"sep=;\n" + rows("y;x", lambda k: f"{k % 2};{k}"), {}, 0, error="Line 2 has it: remove the lines before it"),
    # Numbers and dates as people write them
    *(File(f"{name}.csv", rows("y;price", lambda k, form=form: f"{k % 2};{form(k)}", 120), {"y": "number", "price": "number"}, 120)
      for name, form in (("decimal_commas", lambda k: f"{k % 50},5"), ("thousands_with_points", lambda k: f"{1 + k % 9}.{100 + k},00"),
                         ("exponents_with_commas", lambda k: f"{k % 50},25E-03"), ("losses_with_commas", lambda k: f"-{k % 50},5"))),
    File("decimal_commas_without_header.csv", rows("7,25;1,5", lambda k: f"{k % 9},25;{k % 50},5", 120), {"1": "number", "2": "number"}, 121, label="1"),
    *(File(f"{name}.csv", rows("y;price", lambda k, form=form: f"{k % 2};{form(k)}", 120), {"y": "number", "price": "category"}, 120,
           concerns={"price": "form"})
      for name, form in (("thousands", lambda k: f"{1 + k % 9},{100 + k}.50"), ("thousands_or_decimals", lambda k: f"{1 + k % 9},{100 + k}"),
                         ("thousands_with_apostrophes", lambda k: f"{1 + k % 9}'{100 + k}"),
                         ("dollars", lambda k: f"${k % 50}.99"), ("euros", lambda k: f"{k % 50}.99 €"), ("percent", lambda k: f"{k % 50}.5%"),
                         ("kilograms", lambda k: f"{k % 50} kg"), ("losses_in_brackets", lambda k: f"({k})"), ("months", lambda k: f"20{10 + k // 12}-{1 + k % 12:02}"),
                         ("american_dates", lambda k: f"Jan {1 + k % 28}, 2024"), ("mail_dates", lambda k: f"Mon, {1 + k % 28:02} Jan 2024 10:00:00 +0000"))),
    File("names_of_months.csv", rows("at,y", lambda k: f"{1 + k % 28}-Jan-2024,{k % 2}"), {"at": "date", "y": "number"}, 40),
    File("long_names_of_months.csv", rows("at,y", lambda k: f"{1 + k % 28} January 2024 10:{k:02},{k % 2}"), {"at": "date", "y": "number"}, 40),
    File("compact_times.csv", rows("at,y", lambda k: f"202401{1 + k % 28:02}T10{k:02}00,{k % 2}"), {"at": "date", "y": "number"}, 40),
    File("yes_true.csv", rows("y,a,b,c", lambda k: f"{k % 2},{('yes', 'no')[k % 3 == 0]},{('TRUE', 'FALSE')[k % 3 == 0]},{('Y', 'N')[k % 3 == 0]}"),
         {"y": "number", "a": "category", "b": "boolean", "c": "category"}, 40),
    # What is odd about a column
    File("dashes.csv", rows("y,x", lambda k: f"{k % 2},{'-' if k % 4 == 0 else k}", 120), {"y": "number", "x": "category"}, 120, concerns={"x": "mixed"}),
    File("said_dashes.csv", rows("y,x", lambda k: f"{k % 2},{'-' if k % 4 == 0 else k % 90}", 120), {"y": "number", "x": "number"}, 120, missing={"x": 30},
         how={"na_values": ("-",)}),
    File("ids.csv", rows("id,user,y", lambda k: f"{10000 + k},u{k * 7919 % 100000:05},{k % 2}", 120), {"id": "number", "user": "category", "y": "number"}, 120,
         concerns={"id": "id", "user": "id"}),
    File("constant.csv", rows("y,x,unit", lambda k: f"{k % 2},{k % 7},EUR", 120), {"y": "number", "x": "number", "unit": "category"}, 120,
         concerns={"unit": "constant"}),
    File("leak.csv", rows("y,x,outcome", lambda k: f"{k % 2},{k % 7},{('lost', 'won')[k % 2]}", 120), {"y": "number", "x": "number", "outcome": "category"}, 120,
         concerns={"outcome": "leak"}),
    File("infinite_label.csv", rows("y,x", lambda k: f"{'inf' if k == 9 else k / 3},{k}"), {}, 0, error="the label in 'y' must be finite; got 'inf'"),
    File("late_word.jsonl", objects(lambda k: {"y": k % 2, "at": "soon" if k == 20 else at(k, "2024-01-{d:02}")}), {"at": "date"}, 40, misfits={"at": 1}),
]  # fmt: skip
