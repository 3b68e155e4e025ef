"""The trend of a date is known for the learned days only: predictions hold it flat outside of them."""

import copy
import itertools
import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import odca
from odca import SquaredError
from odca.models.auto_events import AutoEvents
from odca.models.events import EventLearner
from odca.sklearn import AutoRegressor
from odca.stream.model import StreamModel

N = 600
FIRST = datetime(2024, 3, 1, tzinfo=UTC)
OUTSIDE: list[datetime | None] = [
    None,
    FIRST - timedelta(days=4000),
    FIRST + timedelta(hours=N + 200),
    FIRST + timedelta(days=275),
    FIRST + timedelta(days=700),
]
"""Dates that no model has learned, of all sorts."""


def table(missing: float = 0.0) -> pd.DataFrame:
    """Labels from 0 to 14 with a trend, in 25 days."""
    random = np.random.default_rng(0)
    x = random.normal(size=N)
    y = np.linspace(0.0, 14.0, N) + x + 0.3 * random.normal(size=N)
    at = [FIRST + timedelta(hours=hour) for hour in range(N)]
    dates: list[datetime | None] = [
        None if gap else date for gap, date in zip(random.random(N) < missing, at, strict=True)
    ]
    return pd.DataFrame({"at": dates, "x": x, "y": y})


def asked(dates: list[datetime | None]) -> pd.DataFrame:
    return pd.DataFrame({"at": pd.Series(dates, dtype="datetime64[ns, UTC]"), "x": 0.0})


def require_sane(predictions: npt.ArrayLike) -> None:
    """Within the labels, and their noise."""
    assert np.all(np.abs(np.asarray(predictions) - 7.0) < 8.0), predictions


@pytest.mark.parametrize("missing", [0.0, 0.002, 0.02, 0.2])
@pytest.mark.parametrize("answer", ["steady", "live"])
def test_predictions_for_dates_that_were_not_learned_are_within_the_labels(missing: float, answer: Any) -> None:
    model = odca.train(table(missing), label="y")
    require_sane(model.predict(asked(OUTSIDE), answer=answer))
    require_sane(model.predict({"x": 0.0}, answer=answer))  # no date at all


def test_after_the_last_learned_day_the_trend_stays_where_it_is() -> None:
    model = odca.train(table(), label="y")
    weeks = [FIRST + timedelta(hours=N - 1, weeks=week) for week in (0, 4)]  # the same weekday and hour
    assert weeks[0].month == weeks[1].month - 1
    trend = [
        {name: value for name, value in each.items() if ".trend." in name and "×" not in name}
        for each in model.explain(asked(list(weeks)))
    ]
    assert trend[0]
    assert trend[0] == trend[1]


@pytest.mark.parametrize(
    ("first", "last", "asked_for", "counts_as"),
    [
        # (month, weekday, hour) that a date counts as. Months: March to May; 2025-07-14 is a Monday.
        ("2024-03-10T00:00", "2024-05-20T00:00", "2025-07-14T06:00", (5, 0, 6)),
        ("2024-03-10T00:00", "2024-05-20T00:00", "2025-04-14T06:00", (4, 0, 6)),
        ("2024-03-10T00:00", "2024-05-20T00:00", "2023-12-14T06:00", (3, 3, 6)),
        ("2023-11-30T00:00", "2024-02-01T00:00", "2026-01-05T06:00", (1, 0, 6)),  # over New Year
        ("2023-11-30T00:00", "2024-02-01T00:00", "2026-10-05T06:00", (2, 0, 6)),
        ("2024-03-31T00:00", "2025-03-01T00:00", "2026-03-05T06:00", (3, 3, 6)),
        # Friday to Monday, before noon on the last day: a Wednesday is none of these days
        ("2024-03-01T09:00", "2024-03-04T11:00", "2024-03-06T15:00", (3, 0, 15)),
        ("2024-03-01T09:00", "2024-03-04T11:00", "2024-03-10T15:00", (3, 6, 15)),
        # an hour and a half
        ("2024-03-01T23:30", "2024-03-02T01:10", "2024-03-02T00:59", (3, 5, 0)),
        ("2024-03-01T23:30", "2024-03-02T01:10", "2024-03-09T00:59", (3, 5, 0)),
        ("2024-03-01T23:30", "2024-03-02T01:10", "2024-03-09T02:59", (3, 5, 1)),
    ],
)
def test_a_month_that_was_not_learned_counts_as_that_of_the_nearest_learned_day(
    first: str, last: str, asked_for: str, counts_as: tuple[int, int, int]
) -> None:
    model = EventLearner(loss=SquaredError(), rho=1e-3)
    learned_days = pd.date_range(first, last, freq="10min").tolist()
    for k, each in enumerate([*learned_days, pd.Timestamp(last)]):
        model.learn_one({"at": each.isoformat()}, float(k % 2))
    found = [name for name in model.explain_one({"at": asked_for}) if "=" in name]
    month, weekday, hour = counts_as
    assert sorted(found) == sorted([f"at.month={month}", f"at.weekday={weekday}", f"at.hour={hour}"])


def test_a_missing_date_has_the_middle_of_the_learned_days() -> None:
    model = odca.train(table(), label="y")
    middle = FIRST + timedelta(hours=(N - 1) / 2)
    explained = model.explain(asked([None, middle]))
    trends = [
        {name: value for name, value in each.items() if ".trend." in name and "×" not in name} for each in explained
    ]
    assert trends[0] == pytest.approx(trends[1], rel=1e-9)
    assert trends[0]


def test_a_date_that_was_missing_while_learning_means_the_same_when_it_is_predicted() -> None:
    """Also in parts of any size: the reference comes from the first events."""
    data = table(0.1)
    whole = odca.train(data, label="y")
    parts = odca.train(data[:300], label="y")
    parts.learn(data[300:400])
    parts.learn(data[400:].to_dict("records"))
    assert np.array_equal(whole.predict(asked(OUTSIDE)), parts.predict(asked(OUTSIDE)))
    assert whole.schema.dates == parts.schema.dates


@pytest.mark.parametrize("bits", [None, 12])
def test_every_form_of_the_data_gives_the_same_predictions(tmp_path: Any, bits: int | None) -> None:
    data, more = table(0.05), asked(OUTSIDE)
    paths = [tmp_path / name for name in ("a.csv", "a.jsonl", "b.csv", "b.jsonl")]
    for frame, csv, lines in ((data, *paths[:2]), (more, *paths[2:])):
        frame.assign(at=frame["at"].astype(str).where(frame["at"].notna())).to_csv(csv, index=False)
        text = frame.assign(at=[None if pd.isna(each) else each.isoformat() for each in frame["at"]])
        text.to_json(lines, orient="records", lines=True, double_precision=15)
    events = [{"at": date, "x": 0.0} for date in OUTSIDE]
    predictions = []
    for source in (data, paths[0], paths[1]):
        model = odca.train(source, label="y", bits=bits)
        predictions += [model.predict(each) for each in (more, paths[2], paths[3], events)]
    for each in predictions[1:]:
        np.testing.assert_allclose(each, predictions[0], rtol=1e-9)


def test_learned_days_are_saved_copied_and_merged(tmp_path: Any) -> None:
    data = table()
    model = odca.train(data, label="y")
    model.save(tmp_path / "a.safetensors")
    expected = model.predict(asked(OUTSIDE))
    for twin in (odca.load(tmp_path / "a.safetensors"), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(twin.predict(asked(OUTSIDE)), expected)
    halves = [odca.train(part, label="y") for part in (data[:300], data[300:])]
    merged = halves[0].merge(halves[1])
    (_, _, first, last, count, missing), events = merged.schema.dates.spans[0], merged.schema.dates.events
    assert (first, last, count, missing, events) == (*[data["at"].iloc[k].timestamp() for k in (0, -1)], N, 0, N)
    require_sane(merged.predict(asked(OUTSIDE)))
    require_sane(model.freeze().predict(asked(OUTSIDE)))


def test_events_without_a_label_are_not_learned() -> None:
    data = table()
    data.loc[300:, "y"] = np.nan
    model = odca.train(data, label="y")
    assert model.schema.dates.events == 300
    assert model.schema.dates.spans[0][3] == data["at"].iloc[299].timestamp()


def test_a_file_of_before_holds_no_days_and_predicts_as_it_did() -> None:
    """Without days, nothing is held."""
    model = odca.train(table(), label="y")
    saved = model.saved()
    del saved.options["schema"]["dates"]
    old = StreamModel.restored(saved)
    inside = asked([FIRST + timedelta(hours=5)])
    assert np.array_equal(old.predict(inside), model.predict(inside))
    assert not np.array_equal(old.predict(asked(OUTSIDE)), model.predict(asked(OUTSIDE)))


# Dictionaries


def events_of(data: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {"at": None if pd.isna(at) else at.to_pydatetime(), "x": x} for at, x in zip(data["at"], data["x"], strict=True)
    ]


def learned(data: pd.DataFrame, size: int = 1, *, auto: bool) -> Any:
    model: Any = AutoEvents("numbers") if auto else EventLearner(loss=SquaredError(), rho=1e-4)
    events, labels = events_of(data), data["y"].tolist()
    for part in range(0, len(events), size):
        model.learn_many(events[part : part + size], labels[part : part + size])
    return model


def answers(model: Any, *, auto: bool) -> Any:
    how = {"answer": "steady"} if auto else {}
    return np.ravel(model.predict_many([{"at": date, "x": 0.0} for date in OUTSIDE] + [{"x": 0.0}], **how))


@pytest.mark.parametrize("auto", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.02, 0.2])
def test_models_of_dictionaries_hold_the_trend_too(auto: bool, missing: float) -> None:
    data = table(missing)
    model = learned(data, auto=auto)
    require_sane(answers(model, auto=auto))
    assert np.array_equal(answers(learned(data, 37, auto=auto), auto=auto), answers(model, auto=auto))


@pytest.mark.parametrize("auto", [False, True])
def test_models_of_dictionaries_keep_the_learned_days(tmp_path: Any, auto: bool) -> None:
    model = learned(table(0.02), auto=auto)
    model.save(tmp_path / "a.safetensors")
    twins = [odca.load(tmp_path / "a.safetensors"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for twin in twins:
        assert np.array_equal(answers(twin, auto=auto), answers(model, auto=auto))


def test_labels_that_come_late_bring_their_days() -> None:
    data = table()
    now, late = (EventLearner(loss=SquaredError(), rho=1e-4) for _ in range(2))
    for number, (event, y) in enumerate(zip(events_of(data), data["y"], strict=True)):
        now.learn_one(event, y)
        late.predict_one(event, id=number)
        late.learn_label(number, y)
    assert np.array_equal(answers(now, auto=False), answers(late, auto=False))


def test_a_field_that_not_every_event_has_is_not_missing_where_it_is_absent() -> None:
    model = EventLearner(loss=SquaredError(), rho=1e-3)
    for k in range(300):
        event = {"x": 1.0} | ({"paid": (FIRST + timedelta(days=k)).isoformat()} if k % 2 else {})
        model.learn_one(event, 10.0 if k % 2 else 0.0)
    assert abs(model.predict_one({"x": 1.0})) < 0.1
    assert abs(model.predict_one({"x": 1.0, "paid": "2031-01-01T00:00"}) - 10.0) < 0.1


def test_memory_does_not_grow_with_dated_dictionaries() -> None:
    import resource

    model = EventLearner(loss=SquaredError())
    event = {"at": FIRST, "x": 1.0}
    for _ in range(20_000):
        model.learn_one(event, 1.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _, _ in zip(range(200_000), itertools.repeat(None)):
        model.learn_one(event, 1.0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8_000  # KB; 64 bytes an event would be 12,800


# scikit-learn


@pytest.mark.parametrize("missing", [0.0, 0.02])
def test_estimators_with_frames_hold_the_trend_too(missing: float) -> None:
    data = table(missing)
    model = AutoRegressor()
    for part in (data[:250], data[250:]):
        model.partial_fit(part[["at", "x"]], part["y"])
    require_sane(model.predict(asked(OUTSIDE)))
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(asked(OUTSIDE)), model.predict(asked(OUTSIDE)))
