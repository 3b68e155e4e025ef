"""History through every door: files of all formats, dictionaries and frames; blocks, checkpoints, predictions, the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import odca
from history.slow_history import SlowHistory
from history.tables import LINES, NAMES, Row, rows, written_csv, written_json, written_parquet
from odca import stream
from odca.cli import main
from odca.features import Features
from odca.models.auto_events import AutoEvents
from odca.models.options import ModelOptions
from odca.stream.model import StreamModel

HOW: dict[str, Any] = {"label": "sold", "time": "at", "progress": False, "dates": ["at"]}


def trained(path: Path, **options: Any) -> StreamModel:
    return odca.train(path, history=LINES, **HOW, **options)


def in_blocks(table: list[Row], folder: Path, chunk_size: int | None = None) -> StreamModel:
    """A model that has learned the table in blocks of so many bytes."""
    path = written_csv(table, folder / "progressive.csv")
    size = {} if chunk_size is None else {"chunk_size": chunk_size}
    with stream.open(path, label="sold", time="at", features=Features(history=tuple(LINES)), **size) as opened:
        model = StreamModel.begin(ModelOptions(auto="events"), opened.schema, opened.sample)
        model.vocabulary = opened.vocabulary
        for block in opened:
            model.learn(block)
    return model


def state_of(model: StreamModel) -> dict[str, Any]:
    assert model.past is not None
    return {name: array.tolist() for name, array in model.past.state().items()}


def test_all_formats_give_the_same_model_to_the_bit(tmp_path: Path) -> None:
    table = rows()
    models = [
        trained(written_csv(table, tmp_path / "a.csv")),
        trained(written_json(table, tmp_path / "a.jsonl")),
        trained(written_parquet(table, tmp_path / "a.parquet")),
    ]
    assert len({model.metrics.mae for model in models}) == 1
    assert state_of(models[0]) == state_of(models[1]) == state_of(models[2])
    more = rows(50, seed=1)
    doors = [
        *(model.predict(written_csv(more, tmp_path / "more.csv")).tolist() for model in models),
        models[0].predict(written_json(more, tmp_path / "more.jsonl")).tolist(),
        models[0].predict(written_parquet(more, tmp_path / "more.parquet")).tolist(),
        models[0].predict(more).tolist(),
        models[0].predict(pd.DataFrame(more)).tolist(),
    ]
    assert all(each == doors[0] for each in doors)


def test_dictionaries_give_the_model_of_files_to_the_bit(tmp_path: Path) -> None:
    table = rows()
    from_file = odca.train(written_csv(table, tmp_path / "a.csv"), history=LINES[:2], memory="time", **HOW)
    events = AutoEvents("numbers", history=LINES[:2])
    seen = [{name: row[name] for name in NAMES if name not in {"at", "sold"}} for row in table]
    said = events.learn_many(seen, [row["sold"] for row in table], time=[row["at"] for row in table])
    errors = np.abs(said - [row["sold"] for row in table])
    assert float(errors.mean()) == pytest.approx(from_file.metrics.mae, rel=1e-12)
    assert {name: array.tolist() for name, array in events._core.past().items()} == state_of(from_file)
    some = seen[:20]
    times = [row["at"] for row in table[:20]]
    expected = from_file.predict([row | {"sold": None} for row in table[:20]], answer="live")
    assert events.predict_many(some, time=times).tolist() == pytest.approx(expected.tolist(), rel=1e-12)


def test_the_features_are_those_of_the_reference(tmp_path: Path) -> None:
    table = rows(120)
    model = trained(written_csv(table[:60], tmp_path / "a.csv"))
    slow = SlowHistory([line.replace("sold", "y") for line in LINES])  # as the label is called in every history
    with stream.open(
        written_csv(table[60:], tmp_path / "b.csv"), schema=model.schema, vocabulary=model.vocabulary, grow=False
    ) as opened:
        (block,) = opened
    assert model.past is not None
    assert block.time is not None
    found = model.past.extended(block.rows, block.rows.label, block.time, enters=False)
    for row in table[:60]:
        slow.learn(row, row["sold"], (row["at"] - pd.Timestamp(0)).total_seconds())
    names = model.names
    for k, row in enumerate(table[60:]):
        time = (row["at"] - pd.Timestamp(0)).total_seconds()
        part = slice(found.indptr[k], found.indptr[k + 1])
        got = dict(zip([names[i] for i in found.indices[part]], found.data[part].tolist(), strict=True))
        for name, value in zip(
            [name for line in slow.lines for name in line.names], slow.values(row, time), strict=True
        ):
            if np.isnan(value):
                assert got[name.encode() + b"\xfe"] == 1.0
            else:
                assert got[name.encode()] == pytest.approx(value, rel=1e-9)
        slow.learn(row, row["sold"], time)


@pytest.mark.parametrize("chunk_size", [200, 1000, 7000])
def test_blocks_of_any_size_give_the_same_model(chunk_size: int, tmp_path: Path) -> None:
    whole, split = in_blocks(rows(), tmp_path), in_blocks(rows(), tmp_path, chunk_size)
    assert split.metrics.mae == whole.metrics.mae
    assert state_of(split) == state_of(whole)


def test_a_training_that_is_resumed_ends_with_the_same_model(tmp_path: Path) -> None:
    table = rows()
    whole = trained(written_csv(table, tmp_path / "whole.csv"))
    path, checkpoint = written_csv(table[:250], tmp_path / "growing.csv"), tmp_path / "checkpoint"
    trained(path, checkpoint=checkpoint)
    written_csv(table, path)
    resumed = trained(path, checkpoint=checkpoint, resume=True)
    assert resumed.metrics.events == len(table)
    assert resumed.metrics.mae == whole.metrics.mae
    assert state_of(resumed) == state_of(whole)


def test_a_model_that_is_saved_and_loaded_goes_on_to_the_bit(tmp_path: Path) -> None:
    table = rows()
    whole = trained(written_csv(table, tmp_path / "whole.csv"))
    trained(written_csv(table[:250], tmp_path / "first.csv")).save(tmp_path / "model")
    second = odca.train(
        written_csv(table[250:], tmp_path / "second.csv"), initial=StreamModel.load(tmp_path / "model"), progress=False
    )
    assert second.metrics.mae == whole.metrics.mae
    assert state_of(second) == state_of(whole)


def test_predictions_of_a_file_with_labels_see_the_labels_of_the_rows_before(tmp_path: Path) -> None:
    """As in training: a linear model that does not learn from the new events gives what it would give one event after another."""
    table = rows()
    first, more = table[:300], table[300:]
    model = odca.train(written_csv(first, tmp_path / "a.csv"), history=LINES, loss="squared_error", **HOW)
    together = model.predict(written_csv(more, tmp_path / "b.csv"))
    small = model.predict(written_csv(more, tmp_path / "b.csv"), chunk_size=300)
    assert small.tolist() == pytest.approx(together.tolist(), rel=1e-12)
    past = model.past_for_predictions()
    one_by_one = []
    for k in range(len(more)):
        path = written_csv(more[k : k + 1], tmp_path / "one.csv")
        with stream.open(path, schema=model.schema, vocabulary=model.vocabulary, grow=False) as opened:
            for block in opened:
                one_by_one += model.predict(block, past=past).tolist()
    assert one_by_one == pytest.approx(together.tolist(), rel=1e-12)
    before = state_of(model)
    unlabelled = [row | {"sold": None} for row in more]
    assert model.predict(written_csv(unlabelled, tmp_path / "c.csv")).tolist() != together.tolist()
    without = written_csv(more, tmp_path / "d.csv", ("at", "shop", "price"))
    assert model.predict(without).tolist() == model.predict(tmp_path / "c.csv").tolist()
    assert state_of(model) == before


def test_an_event_that_is_refused_or_has_no_label_leaves_no_trace(tmp_path: Path) -> None:
    table = rows(200)
    clean = trained(written_csv(table, tmp_path / "clean.csv"))
    odd = [each for row in table for each in (row, row | {"sold": None, "price": 1e6})]
    with_gaps = trained(written_csv(odd, tmp_path / "gaps.csv"))
    assert with_gaps.unlabelled == len(table)
    assert state_of(with_gaps) == state_of(clean)
    bad = [each for row in table for each in (row, row | {"sold": "none of them"})]
    with pytest.warns(UserWarning, match="skipped"):
        skipping = trained(written_csv(bad, tmp_path / "bad.csv"), on_error="skip", task="numbers")
    assert state_of(skipping) == state_of(clean)
    model = trained(tmp_path / "clean.csv")
    with pytest.raises(ValueError, match="none of them"):
        odca.train(written_csv(bad[:3], tmp_path / "one.csv"), initial=model, progress=False)
    assert state_of(model) == state_of(clean)


def test_two_classes_with_names_have_a_history_and_three_have_none(tmp_path: Path) -> None:
    table = [row | {"sold": "many" if row["sold"] > 0 else "few"} for row in rows()]
    path = written_csv(table, tmp_path / "two.csv")
    with_past = odca.train(path, history=["y by shop: lag 1,2; mean 5"], **HOW)
    assert with_past.metrics.accuracy > odca.train(path, **HOW).metrics.accuracy
    table[100]["sold"] = "none"
    with pytest.raises(ValueError, match="the history of the label needs numbers, or two classes"):
        odca.train(written_csv(table, tmp_path / "three.csv"), history=["y: lag 1"], **HOW)
    with pytest.warns(UserWarning, match="the class 'none' occurred once"):
        third = odca.train(tmp_path / "three.csv", history=["price: lag 1"], **HOW)
    assert third.classes == ("few", "many", "none")
    assert len(with_past.predict(tmp_path / "three.csv")) == len(table)  # a class that is not known is no label


def test_fields_that_are_ignored_have_a_history(tmp_path: Path) -> None:
    path = written_csv(rows(), tmp_path / "a.csv")
    model = trained(path, ignore=["shop", "price"])
    assert b"y by shop: lag 1" in model.names
    assert not [name for name in model.names if name.startswith((b"shop\xff", b"price\xfe")) or name == b"price"]
    assert state_of(model) == state_of(trained(path))


def test_the_first_column_of_dates_is_the_time_in_json_and_dictionaries_too(tmp_path: Path) -> None:
    table = rows()
    model = odca.train(written_csv(table[:300], tmp_path / "a.csv"), label="sold", history=LINES, progress=False)
    more = written_csv(table[300:], tmp_path / "b.csv")
    expected = model.predict(more).tolist()
    assert model.predict(table[300:]).tolist() == expected
    assert model.predict(written_json(table[300:], tmp_path / "b.jsonl")).tolist() == expected
    on_json = odca.train(tmp_path / "b.jsonl", initial=model, progress=False)
    model = odca.train(tmp_path / "a.csv", label="sold", history=LINES, progress=False)
    assert state_of(on_json) == state_of(odca.train(more, initial=model, progress=False))


def test_merging_models_with_history_is_refused(tmp_path: Path) -> None:
    model = trained(written_csv(rows(), tmp_path / "a.csv"))
    with pytest.raises(ValueError, match=r"models with history cannot be merged.*Train one model on all data"):
        model.merge(model)


def test_a_frozen_model_has_the_history(tmp_path: Path) -> None:
    model = trained(written_csv(rows(), tmp_path / "a.csv"))
    more = rows(10, seed=2)
    assert model.freeze().predict(more).tolist() == pytest.approx(model.predict(more).tolist())


@pytest.mark.parametrize(
    ("line", "options", "message"),
    [
        (
            "price by store: lag 1",
            {},
            r"needs the column 'store', which is not there. The columns are at, price, shop, sold",
        ),
        ("y by at: lag 1", {"time": "at"}, r"needs 'at' as a field, but that is the time"),
        ("shop: mean 2", {}, r"the history of 'shop' needs numbers; got '[ABC]'.*history"),
    ],
)
def test_a_field_that_history_cannot_use_is_refused(
    line: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = written_csv(rows(20), tmp_path / "a.csv")
    with pytest.raises(ValueError, match=message):
        odca.train(path, label="sold", history=[line], progress=False, **options)


def test_history_over_time_without_a_column_of_time_is_refused(tmp_path: Path) -> None:
    path = written_csv([row | {"at": k} for k, row in enumerate(rows(20))], tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"'y: mean 2h' needs the time of every event, and no field.*time"):
        odca.train(path, label="sold", history=["y: mean 2h"], progress=False)


def test_vw_text_has_a_history_of_its_labels_only(tmp_path: Path) -> None:
    path = tmp_path / "a.vw"
    path.write_text("".join(f"{k % 5} | a:{k % 3}\n" for k in range(100)))
    assert b"y: lag 5" in odca.train(path, history=["y: lag 5"], task="numbers", progress=False).names
    with pytest.raises(ValueError, match="vw's text has no fields with single values"):
        odca.train(path, history=["a: lag 1"], progress=False)


def test_the_command_line_trains_predicts_and_evaluates_with_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = rows()
    path, model = written_csv(table[:300], tmp_path / "a.csv"), tmp_path / "m.safetensors"
    more = written_csv(table[300:], tmp_path / "b.csv")
    lines = [part for line in LINES for part in ("--history", line)]
    assert (
        main(["train", str(path), "--label", "sold", "--history-keys", "50", *lines, "-o", str(model), "--quiet"]) == 0
    )
    loaded = StreamModel.load(model)
    assert loaded.schema.features.history_keys == 50
    capsys.readouterr()
    assert main(["predict", str(model), str(more), "--threads", "1"]) == 0
    printed = [float(line) for line in capsys.readouterr().out.split()]
    assert printed == loaded.predict(more).tolist()
    assert main(["evaluate", str(model), str(more), "--json"]) == 0
    told = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    error = float(np.abs(np.array(printed) - [row["sold"] for row in table[300:]]).mean())
    assert error == pytest.approx(_found(told, "mae"), rel=1e-9)


def _found(told: Any, name: str) -> float:
    """The first number of this name in a JSON object, however deep."""
    if isinstance(told, dict):
        if isinstance(told.get(name), float):
            return float(told[name])
        for each in told.values():
            if not np.isnan(found := _found(each, name)):
                return found
    return float("nan")


def test_predictions_while_training_are_progressive_and_events_without_labels_see_the_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = [row | ({"sold": None} if k % 5 == 4 else {}) for k, row in enumerate(rows())]
    path, model, said = written_csv(table, tmp_path / "a.csv"), tmp_path / "m.safetensors", tmp_path / "said"
    lines = [part for line in LINES for part in ("--history", line)]
    command = ["train", str(path), "--label", "sold", *lines, "-o", str(model), "--quiet"]
    assert main([*command, "--predictions", str(said)]) == 0
    told = np.array(said.read_text().split(), dtype=float)
    labels = np.array([np.nan if row["sold"] is None else row["sold"] for row in table])
    trained_model = StreamModel.load(model)
    assert float(np.nanmean(np.abs(told - labels))) == pytest.approx(trained_model.metrics.mae, rel=1e-9)
    assert main(command) == 0
    assert state_of(trained_model) == state_of(StreamModel.load(model))
    capsys.readouterr()


def test_a_wrong_line_on_the_command_line_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written_csv(rows(10), tmp_path / "a.csv")
    with pytest.raises(SystemExit, match="2"):
        main(["train", str(path), "--label", "sold", "--history", "y lag 1", "-o", str(tmp_path / "m")])
    assert "history 'y lag 1' has no colon" in capsys.readouterr().err
