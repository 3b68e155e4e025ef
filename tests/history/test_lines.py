"""The grammar of a line of history: what it says, and what is said of one that is wrong."""

import pytest

from odca import EventLearner, SquaredError
from odca.features import Features
from odca.features.history import lines_of, parsed


def test_a_line_names_what_is_remembered_the_keys_and_the_statistics() -> None:
    line = parsed("  units sold by shop , day of week:lag 1, 24; mean 90m;since ; ")
    assert (line.source, line.keys) == ("units sold", ("shop", "day of week"))
    assert line.names == [
        f"units sold by shop, day of week: {each}" for each in ("lag 1", "lag 24", "mean 90m", "since")
    ]
    assert [(each.size, each.timed) for each in line.features] == [(1, False), (24, False), (5400, True), (0, False)]


def test_a_name_may_hold_colons() -> None:
    assert parsed("http://shop:price: lag 1").source == "http://shop:price"


def test_lines_of_the_same_series_are_one() -> None:
    (line,) = lines_of(["y: lag 1,2", "y: lag 2; mean 3"])
    assert line.names == ["y: lag 1", "y: lag 2", "y: mean 3"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("y lag 1", r"'y lag 1' has no colon. Write what is remembered, a colon, and what of it: 'y by station"),
        (": lag 1", "lacks the name of a field before the colon"),
        ("y by : lag 1", "lacks the name of a field before the colon"),
        ("y by a, : lag 1", "lacks the name of a field before the colon"),
        ("y by a, a: lag 1", "names a field twice after 'by'"),
        ("y:", "says nothing after the colon"),
        ("y: median 3", "'median' is none of lag, mean, std, min, max, change, since"),
        ("y: lag", r"'lag' lacks a size. Write a number of events or a time behind it: 'lag 24' or 'lag 24h'"),
        ("y: lag 0", r"'lag' can look back from 1 to 10,000 events; got 0"),
        ("y: lag 10001", r"from 1 to 10,000 events; got 10001"),
        ("y: lag 1.5", r"must be a number of events, such as 24, or a time in s, m, h, d, w, such as 24h; got '1.5'"),
        ("y: mean 3y", "such as 24h; got '3y'"),
        ("y: mean -1h", "got '-1h'"),
        ("y: mean 1,,2", "got ''"),
        ("y: mean 0h", "longer than 0s"),
        ("y: since 3", "since has no size; got '3'"),
    ],
)
def test_a_line_that_is_wrong_is_refused_with_what_came_and_what_to_do(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Features(history=(line,))
    with pytest.raises(ValueError, match=message):
        EventLearner(loss=SquaredError(), history=[line])


def test_history_that_is_no_list_of_lines_is_refused() -> None:
    with pytest.raises(ValueError, match=r"history must be .* in a list; got 'y: lag 1'"):
        Features(history="y: lag 1")  # type: ignore[arg-type] # that is what is tested
    with pytest.raises(ValueError, match="history_keys must be a whole number of at least 1; got 0"):
        Features(history_keys=0)
