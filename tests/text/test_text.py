"""Text as features: words, series of characters, tf-idf; the same in files, dictionaries and frames, whole or in parts."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import odca
from odca import EventLearner, LogLoss, river, stream
from odca.cli import main
from odca.features import Features, feature_name
from odca.models.auto_events import AutoEvents
from odca.models.options import ModelOptions
from odca.stream.model import StreamModel
from text.slow_text import SlowTexts

ALL: dict[str, Any] = {"chars": (2, 3), "sublinear": True, "tf_idf": True, "unit_norm": True, "ngrams": 2}
OPTIONS: dict[str, dict[str, Any]] = {
    "characters": {"chars": (3, 5)},
    "characters alone": {"chars": (2, 2), "ngrams": 0},
    "sublinear": {"sublinear": True},
    "unit norm": {"unit_norm": True},
    "a part": {"text_length": 7, "chars": (3, 3)},
    "tf-idf": {"tf_idf": True},
    "all": ALL,
    "all, hashed": ALL | {"bits": 14},
}
WORDS = ["quiet", "Sea", "view", "I'm", "Zürich", "über", "ça-va", "10km", "Привет", "sunny"]
Row = dict[str, Any]


def rows(count: int = 150, seed: int = 0) -> list[Row]:
    """Texts of some words, of which some repeat; a few are missing."""
    rng = np.random.default_rng(seed)
    out = []
    for k in range(count):
        words = rng.choice(WORDS, size=rng.integers(1, 12), p=np.arange(1, 11) / 55)
        positive = bool(rng.random() < (0.8 if "quiet" in words or "Sea" in words else 0.2))
        text = None if k % 17 == 3 else " ".join(words) + f" w{rng.integers(60)}"
        out.append({"y": float(positive), "x": round(float(rng.normal()), 3), "t": text})
    return out


def written(table: list[Row], path: Path) -> Path:
    names = list(table[0])
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table))
    elif path.suffix == ".parquet":
        pyarrow.parquet.write_table(pa.table({name: [row[name] for row in table] for name in names}), path)
    else:
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            writer.writerows(["" if row[name] is None else row[name] for name in names] for row in table)
    return path


def trained(path: Path, **options: Any) -> StreamModel:
    return odca.train(path, label="y", text=["t"], progress=False, **options)


def in_blocks(path: Path, chunk_size: int, **options: Any) -> StreamModel:
    features = Features(text=("t",), **options)
    with stream.open(path, label="y", features=features, chunk_size=chunk_size, threads=3) as opened:
        model = StreamModel.begin(ModelOptions(auto="events"), opened.schema, opened.sample)
        model.vocabulary = opened.vocabulary
        for block in opened:
            model.learn(block)
    return model


def counts_of(model: StreamModel) -> dict[str, list[int]]:
    assert model.past is not None
    return {name: array.tolist() for name, array in model.past.state().items()}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_features_are_those_of_the_reference(options: dict[str, Any], tmp_path: Path) -> None:
    table, features = rows(), Features(text=("t",), **{**options, "bits": None})
    slow = SlowTexts(features)
    with stream.open(written(table, tmp_path / "a.csv"), label="y", features=features) as opened:
        blocks = list(opened)
        keys = [feature_name(key) for key in opened.vocabulary.keys()]  # noqa: SIM118 - no dictionary
    past = odca._core.History(features.native()) if features.tf_idf else None
    found = [
        dict(zip([keys[i] for i in X.indices[begin:end]], X.data[begin:end].tolist(), strict=True))
        for block in blocks
        for X in [past.extended(block.rows, block.rows.label, None, enters=True) if past is not None else block.rows]
        for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]
    assert len(found) == len(table)
    for row, got in zip(table, found, strict=True):
        text = row["t"] or ""
        wanted = slow.values(text)
        assert {key: value for key, value in got.items() if key.startswith(("t=", "t.chars="))} == pytest.approx(
            wanted, rel=1e-13
        )
        slow.learn(text)


def test_series_of_characters_are_those_of_scikit_learn(tmp_path: Path) -> None:
    text_module = pytest.importorskip("sklearn.feature_extraction.text")
    texts = ["I'm here, über  Zürich!", "a", "no-op\u2003x\u00a0y", "Привет мир"]
    for sizes in ((1, 1), (3, 5), (2, 9)):
        analyse = text_module.CountVectorizer(analyzer="char_wb", ngram_range=sizes).build_analyzer()
        events = AutoEvents("numbers", text=["t"], chars=sizes, ngrams=0)
        for text in texts:
            found = {key[1] for key in _features_of(events, text)}
            assert found == set(analyse(text))


def _features_of(events: AutoEvents, text: str) -> list[tuple[str, str]]:
    fresh = AutoEvents("numbers", text=["t"], chars=events.spec.chars, ngrams=0)
    fresh.learn_one({"t": text}, 1.0)
    return [feature for feature in fresh.features if feature[0] == "t.chars"]  # type: ignore[misc] # pairs


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_all_formats_give_the_same_model_to_the_bit(options: dict[str, Any], tmp_path: Path) -> None:
    table, more = rows(), rows(40, seed=1)
    models = [trained(written(table, tmp_path / name), **options) for name in ("a.csv", "a.jsonl", "a.parquet")]
    assert len({model.metrics.log_loss for model in models}) == 1
    interfaces = [
        *(model.predict(written(more, tmp_path / "b.csv"), "probabilities").tolist() for model in models),
        models[0].predict(written(more, tmp_path / "b.jsonl"), "probabilities").tolist(),
        models[0].predict(written(more, tmp_path / "b.parquet"), "probabilities").tolist(),
        models[0].predict(more, "probabilities").tolist(),
        models[0].predict(pd.DataFrame(more), "probabilities").tolist(),
    ]
    assert all(each == interfaces[0] for each in interfaces)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_dictionaries_give_the_model_of_a_file_to_the_bit(options: dict[str, Any], tmp_path: Path) -> None:
    table = rows()
    model = trained(written(table, tmp_path / "a.csv"), loss="log_loss", scale=False, rho=1.0, window=None, **options)
    learner = EventLearner(loss=LogLoss(), text=["t"], scale=False, rho=1.0, **options)
    events = [{"x": row["x"], "t": row["t"]} for row in table]
    margins = learner.learn_many(events, [2 * row["y"] - 1 for row in table])
    one_by_one = EventLearner(loss=LogLoss(), text=["t"], scale=False, rho=1.0, **options)
    assert [
        one_by_one.learn_one(event, 2 * row["y"] - 1) for event, row in zip(events, table, strict=True)
    ] == margins.tolist()
    if model.past is not None:
        assert {name: array.tolist() for name, array in learner._core.past().items()} == counts_of(model)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_prediction_is_that_of_the_event_before_it_is_learned_and_changes_nothing(options: dict[str, Any]) -> None:
    learner = EventLearner(loss=LogLoss(), text=["t"], scale=False, **options)
    for row in rows():
        event = {"x": row["x"], "t": row["t"]}
        said = learner.predict_one(event)
        assert learner.predict_one(event) == said
        assert learner.learn_one(event, 2 * row["y"] - 1) == pytest.approx(said, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("chunk_size", [150, 1000])
@pytest.mark.parametrize("bits", [None, 12])
def test_blocks_of_any_size_give_the_same_model(chunk_size: int, bits: int | None, tmp_path: Path) -> None:
    path = written(rows(), tmp_path / "a.csv")
    whole, split = in_blocks(path, 10**6, **ALL, bits=bits), in_blocks(path, chunk_size, **ALL, bits=bits)
    assert split.metrics.log_loss == whole.metrics.log_loss
    assert counts_of(split) == counts_of(whole)
    assert split.names == whole.names


@pytest.mark.parametrize("bits", [None, 12])
def test_a_model_that_is_saved_and_loaded_goes_on_to_the_bit(bits: int | None, tmp_path: Path) -> None:
    table = rows()
    whole = trained(written(table, tmp_path / "whole.csv"), **ALL, bits=bits)
    trained(written(table[:70], tmp_path / "first.csv"), **ALL, bits=bits).save(tmp_path / "model")
    loaded = StreamModel.load(tmp_path / "model")
    second = odca.train(written(table[70:], tmp_path / "second.csv"), initial=loaded, progress=False)
    assert second.metrics.log_loss == whole.metrics.log_loss
    assert counts_of(second) == counts_of(whole)


def test_a_training_that_is_resumed_ends_with_the_same_model(tmp_path: Path) -> None:
    table = rows()
    whole = trained(written(table, tmp_path / "whole.csv"), **ALL)
    path, checkpoint = written(table[:70], tmp_path / "growing.csv"), tmp_path / "checkpoint"
    trained(path, checkpoint=checkpoint, **ALL)
    resumed = trained(written(table, path), checkpoint=checkpoint, resume=True, **ALL)
    assert resumed.metrics.log_loss == whole.metrics.log_loss
    assert counts_of(resumed) == counts_of(whole)


def test_predictions_count_no_documents(tmp_path: Path) -> None:
    model = trained(written(rows(), tmp_path / "a.csv"), **ALL)
    before, path = counts_of(model), written(rows(60, seed=1), tmp_path / "b.csv")
    together = model.predict(path, "probabilities").tolist()
    assert model.predict(path, "probabilities", chunk_size=200).tolist() == together
    assert counts_of(model) == before


def test_an_event_that_is_refused_is_not_counted() -> None:
    learner = EventLearner(loss=LogLoss(), text=["t"], tf_idf=True)
    learner.learn_one({"t": "a b"}, 1.0)
    before = {name: array.tolist() for name, array in learner._core.past().items()}
    with pytest.raises(ValueError, match="y"):
        learner.learn_many([{"t": "a c"}, {"t": "a d"}], [1.0, np.nan])
    assert {name: array.tolist() for name, array in learner._core.past().items()} == before
    assert learner.features == [("t", "a"), ("t", "b")]


@pytest.mark.parametrize("bits", [None, 12])
def test_merging_adds_the_counts(bits: int | None, tmp_path: Path) -> None:
    table = rows()
    how = {"memory": "events", **ALL, "bits": bits}
    whole = trained(written(table, tmp_path / "whole.csv"), **how)
    parts = [trained(written(part, tmp_path / "part.csv"), **how) for part in (table[:70], table[70:])]
    merged = parts[0].merge(parts[1])

    def by_name(model: StreamModel) -> dict[Any, int]:
        state = counts_of(model)
        names = model.names if bits is None else range(2**12)
        return dict(zip([names[k] for k in state["document_feature"]], state["document_count"], strict=True))

    assert by_name(merged) == by_name(whole)
    assert counts_of(merged)["documents"] == [len(table)]
    merged.save(tmp_path / "merged")
    assert counts_of(StreamModel.load(tmp_path / "merged")) == counts_of(merged)


def test_an_explanation_has_the_values_of_the_prediction() -> None:
    learner = EventLearner(loss=LogLoss(), text=["t"], **ALL)
    for row in rows():
        learner.learn_one({"t": row["t"]}, 2 * row["y"] - 1)
    event = {"t": "quiet quiet Sea neverseen"}
    parts = learner.explain_one(event)
    assert sum(parts.values()) == pytest.approx(learner.predict_one(event), rel=1e-12)


def test_an_event_whose_label_comes_late_is_learned() -> None:
    model = river.AutoClassifier(text=["t"], **ALL)
    for k, row in enumerate(rows()):
        model.predict_proba_one({"t": row["t"]}, id=k)
        model.learn_label(k, bool(row["y"]))
    assert model.predict_proba_one({"t": "quiet Sea"})[True] > 0.5


def test_a_frozen_model_predicts_with_the_same_counts(tmp_path: Path) -> None:
    model = trained(written(rows(), tmp_path / "a.csv"), **ALL)
    frozen, more = model.freeze(), rows(20, seed=1)
    assert counts_of(frozen) == counts_of(model)
    assert np.mean(frozen.predict(more) == model.predict(more)) > 0.9


def test_products_take_a_text_without_the_events_before() -> None:
    learner = EventLearner(loss=LogLoss(), text=["t"], tf_idf=True, unit_norm=True, interactions=[["t", "x"]])
    for _ in range(3):
        learner.learn_one({"t": "a a a b b b b", "x": 5.0}, 1.0)
    assert learner._core.feature_values({"t": "a a a b b b b", "x": 5.0})[-2:] == [3.0, 4.0]


@pytest.mark.parametrize(
    ("change", "of_features"),
    [
        ({"documents": np.array([-1])}, 9),
        ({"documents": np.array([1, 2])}, 9),
        ({"document_count": np.array([1, 3])}, 9),
        ({"document_count": np.array([1, 0])}, 9),
        ({"document_count": np.array([1])}, 9),
        ({"document_feature": np.array([1, 1], np.int32)}, 9),
        ({"document_feature": np.array([-1, 1], np.int32)}, 9),
        ({}, 1),
    ],
)
def test_counts_that_cannot_be_are_refused(change: dict[str, Any], of_features: int) -> None:
    past = odca._core.History(Features(text=("t",), tf_idf=True).native())
    sound = past.state() | {
        "documents": np.array([2]),
        "document_feature": np.array([0, 1], np.int32),
        "document_count": np.array([2, 1]),
    }
    past.restore(sound, 2)
    with pytest.raises(ValueError, match=r"documents|counts"):
        past.restore(sound | change, of_features)
    assert past.state()["document_count"].tolist() == [2, 1]


@pytest.mark.parametrize(
    "options",
    [
        {"ngrams": 0},
        {"ngrams": 9},
        {"chars": (3,)},
        {"chars": (5, 3)},
        {"chars": (0, 3)},
        {"chars": "3-5"},
        {"chars": (3, 33)},
        {"tf_idf": 1},
        {"text_length": 0},
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        Features(**options)


def test_the_command_has_the_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(rows(), tmp_path / "a.csv")
    arguments = ["train", str(path), "--label", "y", "--text", "t", "--ngrams", "2", "--chars", "2-3", "--sublinear"]
    arguments += ["--tf-idf", "--unit-norm", "--text-length", "1000", "-o", str(tmp_path / "model"), "--quiet"]
    assert main(arguments) == 0
    model = StreamModel.load(tmp_path / "model")
    whole = trained(path, **ALL, text_length=1000)
    assert model.schema.features == whole.schema.features
    assert counts_of(model) == counts_of(whole)
    with pytest.raises(SystemExit):
        main([*arguments[:8], "--chars", "x", "-o", str(tmp_path / "model")])
    assert "--chars: must be a number or two, such as 4 or 3-5; got 'x'" in capsys.readouterr().err
