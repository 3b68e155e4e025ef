"""What the values of columns are: decided by the majority, the same at every door, and what does not fit is counted."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odca import EventLearner, LogLoss, stream
from odca.features import Features
from odca.models.options import ModelOptions
from odca.stream.model import StreamModel
from odca.stream.read.stream import read_events
from stream_files import trained, write


def features_of(path: Path, **how: Any) -> tuple[list[dict[str, float]], Any]:
    """The features of each event by name, and the stream."""
    out = []
    with stream.open(path, **how) as opened:
        for block in opened:
            keys = [stream.feature_name(key) for key in opened.vocabulary.keys()]  # noqa: SIM118 - not a dictionary
            for row in range(len(block)):
                event = block.X[[row]]
                out.append({keys[k]: float(x) for k, x in zip(event.indices, event.data, strict=True)})
    return out, opened


def test_one_text_among_numbers_does_not_make_a_category(tmp_path: Path) -> None:
    lines = ["y,x\n", *(f"{k / 7},{'oops' if k == 500 else k / 9}\n" for k in range(3000))]
    with_text = trained(write(tmp_path / "a.csv", lines), label="y")
    assert len(with_text.names) == 2
    lines[501] = f"{500 / 7},\n"
    assert with_text.learner == trained(write(tmp_path / "b.csv", lines), label="y").learner


@pytest.mark.parametrize("place", [500, 2500])
def test_a_text_is_missing_and_counted_wherever_it_comes(place: int, tmp_path: Path) -> None:
    lines = ["y,x\n", *(f"{k % 2},{'oops' if k == place else k}\n" for k in range(3000))]
    events, opened = features_of(Path(write(tmp_path / "a.csv", lines)), label="y")
    assert events[place] == {"x is missing": 1.0}
    misfit = opened.findings.misfits["x"]
    assert (misfit.count, misfit.line, misfit.text) == (1, place + 2, "oops")


def test_what_was_said_of_a_column_must_hold(tmp_path: Path) -> None:
    for kind, bad in (("numeric", "oops"), ("dates", "soon"), ("booleans", "perhaps"), ("numeric", "inf")):
        path = Path(write(tmp_path / "a.csv", ["y,x\n", f"1,{bad}\n"]))
        with pytest.raises(stream.StreamError, match=r"'x' must be .*`categorical=\['x'\]`|finite") as caught:
            features_of(path, label="y", features=Features(**{kind: ("x",)}))
        assert caught.value.line == 2
        assert "`on_error='skip'`" in str(caught.value)


def test_a_value_that_does_not_fit_may_be_refused(tmp_path: Path) -> None:
    path = Path(write(tmp_path / "a.csv", ["y,x\n", *(f"1,{k}\n" for k in range(30)), "1,oops\n"]))
    with pytest.raises(stream.StreamError, match=r"line 32, .*'x' must be a number; got 'oops'"):
        features_of(path, label="y", features=Features(missing="error"))


WORDS = ("NA", "NaN", "nan", "null", "NULL", "None", "N/A", "n/a", "#N/A", "<NA>", "NaT", "?", "")


@pytest.mark.parametrize("kind", ["number", "category", "text"])
def test_the_usual_words_are_missing_at_every_door(kind: str, tmp_path: Path) -> None:
    usual = "1.5" if kind == "number" else "word"
    values = [*WORDS, *[usual] * 20]
    options = Features(numeric=("x",) * (kind == "number"), text=("x",) * (kind == "text"))
    expected = [{"x is missing": 1.0}] * len(WORDS) + [{"x": 1.5} if kind == "number" else {"x=word": 1.0}] * 20
    quoted = ['""' if value == "" else value for value in values]
    csv = write(tmp_path / "a.csv", ["y,x\n", *(f"1,{value}\n" for value in quoted)])
    lines = write(tmp_path / "a.jsonl", [json.dumps({"y": 1, "x": value}) + "\n" for value in values])
    pq.write_table(pa.table({"y": [1] * len(values), "x": values}), tmp_path / "a.parquet")
    for path in (csv, lines, str(tmp_path / "a.parquet")):
        assert features_of(Path(path), label="y", features=options)[0] == expected
    model = EventLearner(loss=LogLoss(), numeric=options.numeric, text=options.text, intercept=False)
    model.learn_many([{"x": value} for value in values], [1.0] * len(values))
    assert set(model.weights()) == {"x is missing", "x" if kind == "number" else "x=word"}


def test_the_words_for_missing_values_may_be_given(tmp_path: Path) -> None:
    options = Features(na_values=("-200", "none"))
    expected = [{"x is missing": 1.0}] * 3 + [{"x": 5.0}]
    csv = write(tmp_path / "a.csv", ["y,x\n", "1,-200\n", "-200,-200.0\n", "1,none\n", "1,5\n"])
    lines = write(tmp_path / "a.jsonl", [json.dumps({"y": 1, "x": x}) + "\n" for x in (-200, "-2e2", "none", 5)])
    pq.write_table(pa.table({"y": [1.0] * 4, "x": [-200.0, -200.0, None, 5.0]}), tmp_path / "a.parquet")
    for path in (csv, lines, str(tmp_path / "a.parquet")):
        assert features_of(Path(path), label="y", features=options)[0] == expected
    assert features_of(Path(csv), label="y", features=options)[1].sample.is_unlabelled.tolist() == [
        False,
        True,
        False,
        False,
    ]
    model = EventLearner(loss=LogLoss(), na_values=["-200"], intercept=False)
    model.learn_many([{"x": -200.0}, {"x": 5}, {"x": -200}, {"x": "NA"}], [1.0] * 4)
    assert set(model.weights()) == {"x is missing", "x", "x=NA"}


# Labels


def test_an_infinite_label_does_not_make_classes_of_numbers(tmp_path: Path) -> None:
    lines = ["y,x\n", *(f"{'inf' if k == 700 else k / 7},{k}\n" for k in range(2000))]
    path = write(tmp_path / "a.csv", lines)
    with pytest.raises(stream.StreamError, match=r"line 702, .*'y' must be finite; got 'inf'. .*`na_values=\['inf'\]`"):
        trained(path, label="y")
    model = trained(path, label="y", on_error="skip")
    assert (model.task, model.metrics.events) == ("numbers", 1999)
    assert trained(path, label="y", features=Features(na_values=("inf",))).unlabelled == 1


def test_a_text_among_numbers_is_no_class(tmp_path: Path) -> None:
    lines = ["y,x\n", *(f"{'unknown' if k == 700 else k / 7},{k}\n" for k in range(2000))]
    path = write(tmp_path / "a.csv", lines)
    with pytest.raises(stream.StreamError, match=r"line 702: the label 'unknown' is not a number. .*`task='classes'`"):
        trained(path, label="y")
    with stream.open(path, label="y", on_error="skip") as opened:
        model = StreamModel.begin(ModelOptions(), opened.schema, opened.sample)
        model.vocabulary = opened.vocabulary
        for block in opened:
            model.learn_skipping_faulty(block, opened.bad)
    assert (model.task, model.metrics.events, opened.bad.count) == ("numbers", 1999, 1)


def test_texts_and_numbers_may_be_classes_together(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ["y,x\n", *(f"{('1', '2', '3', 'many')[k % 4]},{k}\n" for k in range(40))])
    assert trained(path, label="y").classes == (1.0, 2.0, 3.0, "many")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "vw"])
def test_an_event_without_a_label_is_predicted_and_not_learned(ending: str, tmp_path: Path) -> None:
    def lines(rows: list[int]) -> list[str]:
        labels = {k: "" if k % 5 == 3 else str(k / 3) for k in rows}
        if ending == "csv":
            return ["y,x\n", *(f"{labels[k]},{k}\n" for k in rows)]
        if ending == "jsonl":
            return [json.dumps({"y": float(labels[k]) if labels[k] else None, "x": k}) + "\n" for k in rows]
        return [f"{labels[k]} | x:{k}\n" for k in rows]

    label = None if ending == "vw" else "y"
    path = write(tmp_path / f"a.{ending}", lines(list(range(100))))
    model = trained(path, label=label)
    assert (model.unlabelled, model.metrics.events) == (20, 80)
    labelled = write(tmp_path / f"b.{ending}", lines([k for k in range(100) if k % 5 != 3]))
    assert model.learner == trained(labelled, label=label).learner
    assert len(model.predict(path)) == 100
    model.save(tmp_path / "model")
    assert StreamModel.load(tmp_path / "model").unlabelled == 20


def test_events_without_a_label_are_counted_once_if_another_one_is_refused(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.csv", ["y,x\n", *(f"{'' if k % 5 == 3 else k},{'1e300' if k == 50 else k}\n" for k in range(100))]
    )
    with stream.open(path, label="y", on_error="skip") as opened:
        model = StreamModel.begin(ModelOptions(), opened.schema, opened.sample)
        model.vocabulary = opened.vocabulary
        for block in opened:
            model.learn_skipping_faulty(block, opened.bad)
    assert (model.unlabelled, model.metrics.events, opened.bad.count) == (20, 79, 1)


# Dates


FORMS = {
    "iso": "2004-10-03T{h:02}:30:00",
    "with a zone": "2004-10-03 {h:02}:30:00+00:00",
    "month first": "10/3/2004 {h}:30",
    "with half days": "10/3/04 {h12}:30 {half}",
    "dots": "3.10.2004 {h:02}:30",
    "basic": "20041003T{h:02}3000Z",
}


@pytest.mark.parametrize("form", FORMS)
def test_dates_in_common_forms_are_the_same_at_every_door(form: str, tmp_path: Path) -> None:
    hours = list(range(24))
    texts = [FORMS[form].format(h=h, h12=h % 12 or 12, half="PM" if h >= 12 else "AM") for h in hours]
    moments = pd.to_datetime([f"2004-10-03T{h:02}:30:00" for h in hours])
    csv = write(tmp_path / "a.csv", ["y,at\n", *(f"1,{text}\n" for text in texts)])
    lines = write(tmp_path / "a.jsonl", [json.dumps({"y": 1, "at": text}) + "\n" for text in texts])
    pq.write_table(pa.table({"y": [1] * 24, "at": texts}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"y": [1] * 24, "at": moments}), tmp_path / "b.parquet")
    expected, _ = features_of(tmp_path / "b.parquet", label="y")
    assert expected[13].keys() == {"at.hour=13", "at.weekday=6", "at.month=10", "at.trend.2004", "at.trend.2005"}
    for path in (csv, lines, str(tmp_path / "a.parquet")):
        events, opened = features_of(Path(path), label="y")
        assert events == expected
        read = read_events([{"y": 1, "at": text} for text in texts], opened.schema, opened.vocabulary)
        assert np.array_equal(
            read.X.toarray(), [[event.get(name, 0.0) for name in names(opened)] for event in expected]
        )


def names(opened: Any) -> list[str]:
    return [stream.feature_name(key) for key in opened.vocabulary.keys()]  # noqa: SIM118 - not a dictionary


@pytest.mark.parametrize(("factor", "name"), [(1, "timestamp"), (1000, "created_at"), (10**6, "pickupTime")])
def test_numbers_that_are_moments_are_dates_if_their_name_says_so(factor: int, name: str, tmp_path: Path) -> None:
    seconds = [1096803000 + 3600 * k for k in range(30)]
    csv = write(tmp_path / "a.csv", [f"y,{name}\n", *(f"1,{each * factor}\n" for each in seconds)])
    lines = write(tmp_path / "a.jsonl", [json.dumps({"y": 1, name: each * factor}) + "\n" for each in seconds])
    pq.write_table(pa.table({"y": [1] * 30, name: [each * factor for each in seconds]}), tmp_path / "a.parquet")
    expected, _ = features_of(Path(csv), label="y")
    assert {f"{name}.hour=11", f"{name}.weekday=6", f"{name}.month=10"} <= expected[0].keys()
    for path in (lines, str(tmp_path / "a.parquet")):
        assert features_of(Path(path), label="y")[0] == expected
    other = write(tmp_path / "b.csv", ["y,amount\n", *(f"1,{each * factor}\n" for each in seconds)])
    assert features_of(Path(other), label="y")[0][0].keys() == {"amount"}
    said, _ = features_of(Path(other), label="y", features=Features(dates=("amount",)))
    assert {"amount.hour=11"} <= said[0].keys()


def test_the_order_of_day_and_month_is_seen_or_said(tmp_path: Path) -> None:
    shown = write(tmp_path / "a.csv", ["y,at\n", *(f"1,{k}/2/2004\n" for k in range(1, 29))])
    events, opened = features_of(Path(shown), label="y")
    assert opened.schema.features.day_first is True
    assert "at.month=2" in events[0]
    hidden = write(tmp_path / "b.csv", ["y,at\n", "1,1/2/2004\n"])
    assert "at.month=1" in features_of(Path(hidden), label="y")[0][0]
    assert "at.month=2" in features_of(Path(hidden), label="y", features=Features(day_first=True))[0][0]
    assert "at.month=2" in features_of(Path(hidden), schema=opened.schema)[0][0]


def test_the_trend_is_a_line_that_bends_at_new_year(tmp_path: Path) -> None:
    days = pd.date_range("2011-01-01", "2013-12-31", freq="D")
    value = np.interp(np.arange(len(days)), [0, 365, 731, 1095], [1.0, 3.0, 2.0, 6.0])
    path = tmp_path / "a.csv"
    pd.DataFrame({"y": value, "at": days.strftime("%Y-%m-%d")}).to_csv(path, index=False)
    with stream.open(path, label="y", features=Features(keep=("at.trend",))) as opened:
        (block,) = opened
        assert len(names(opened)) == 4
        fitted = np.linalg.lstsq(block.X.toarray(), block.y, rcond=None)[0]
    assert np.allclose(fitted, [1.0, 3.0, 2.0, 6.0], atol=0.02)
    assert features_of(path, label="y", features=Features(trend=False))[0][0].keys() == {"at.weekday=5", "at.month=1"}


def test_texts_in_iso_8601_are_dates_in_dictionaries_too() -> None:
    model = EventLearner(loss=LogLoss(), intercept=False)
    model.learn_one({"at": "2024-07-31T13:05:00Z", "code": "2024-07-xx", "short": "2024"}, 1.0)
    calendar = {"at.hour=13", "at.weekday=2", "at.month=7", "at.trend.2024", "at.trend.2025"}
    assert set(model.weights()) == {*calendar, "code=2024-07-xx", "short=2024"}
    plain = EventLearner(loss=LogLoss(), intercept=False, find_dates=False)
    plain.learn_one({"at": "2024-07-31"}, 1.0)
    assert set(plain.weights()) == {"at=2024-07-31"}


def test_a_report_of_a_stream_says_times_in_words(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    lines = ["y,x,at\n"]
    for k in range(4000):
        x = float(rng.normal())
        lines.append(f"{x * np.sin(k / 40) + 0.1 * rng.normal():.4f},{x:.4f},{86_400 * 20_000 + 60 * k}\n")
    model = trained(write(tmp_path / "a.csv", lines), ModelOptions(auto="time"), label="y", time="at")
    assert "unit" not in model.report().in_words()
    assert re.search(
        r"remember about the last [\d,]+ events \(about [\d.]+ (minutes|hours)\)", model.report().in_words()
    )
