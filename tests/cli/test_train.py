"""`odca train`: the model depends on the events and the options, and on nothing else."""

import bz2
import gzip
import json
import lzma
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import real_data
from odca import (
    Automatic,
    Box,
    ElasticNet,
    Exponential,
    HalfLife,
    Hinge,
    Huber,
    Learner,
    LogLoss,
    NonNegative,
    Poisson,
    Sliding,
    SmoothHinge,
    SquaredError,
    cli,
    stream,
)
from odca.features.spec import feature_name
from odca.models.options import ModelOptions
from odca.stream.model import StreamModel
from stream_files import events, libsvm, trained, vw, write

NAMES = ["label", "a", "b", "c", "country"]
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": zstandard.ZstdCompressor().compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.fixture
def train(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The exit code, the lines and what is told on stderr; the model is `model.safetensors` unless told otherwise."""

    def run(*words: object) -> tuple[int, list[str], str]:
        output = [] if "-o" in words else ["-o", str(tmp_path / "model.safetensors")]
        try:
            code = cli.main(["train", *map(str, words), *output])
        except SystemExit as error:
            code = int(str(error.code))
        captured = capsys.readouterr()
        return code, captured.out.splitlines(), captured.err

    return run


@pytest.fixture
def bytes_of(train, tmp_path: Path):
    """The model file of a training that ends well."""

    def run(*words: object) -> bytes:
        assert train(*words, "--quiet") == (0, [], "")
        return (tmp_path / "model.safetensors").read_bytes()

    return run


@pytest.fixture
def model_of(bytes_of, tmp_path: Path):
    """The model of a training that ends well."""

    def run(*words: object) -> StreamModel:
        bytes_of(*words)
        return StreamModel.load(tmp_path / "model.safetensors")

    return run


def csv(rows: list[dict[str, Any]], names: list[str] = NAMES) -> list[str]:
    return [",".join(names) + "\n", *(",".join(str(each[name]) for name in names) + "\n" for each in rows)]


def jsonl(rows: list[dict[str, Any]], names: list[str] = NAMES) -> list[str]:
    return [json.dumps({name: each[name] for name in names}) + "\n" for each in rows]


def table(rows: list[dict[str, Any]], names: list[str] = NAMES) -> pa.Table:
    return pa.table({name: [each[name] for each in rows] for name in names})


def summary(lines: list[str]) -> dict[str, Any]:
    """The last object of --json."""
    found = json.loads(lines[-1])
    assert found["event"] == "summary"
    return found


def weights(model: StreamModel) -> dict[str, float]:
    """By the names of features."""
    plain = model if isinstance(model.learner, Learner) else model.freeze()
    names = [feature_name(key) for key in plain.keys()]  # noqa: SIM118 - no dictionary
    return dict(zip(names, plain.learner.smoothed_coef[0].tolist(), strict=True))


TEXTS = {"libsvm": libsvm, "vw": vw}


def text_file(folder: Path, kind: str, rows: list[dict[str, Any]], name: str = "data") -> Path:
    lines = csv(rows) if kind == "csv" else jsonl(rows) if kind == "jsonl" else [TEXTS[kind](each) for each in rows]
    return Path(write(folder / f"{name}.{kind}", lines))


# What the model does not depend on


@pytest.mark.parametrize("kind", ["libsvm", "vw", "csv", "jsonl"])
def test_the_model_does_not_depend_on_threads_blocks_compression_or_pipes(bytes_of, tmp_path: Path, kind: str) -> None:
    data = text_file(tmp_path, kind, events(600, labels=("x", "y", "z") if kind in {"csv", "jsonl"} else ("1", "2")))
    how = [] if kind in TEXTS else ["--label", "label"]
    expected = bytes_of(data, *how)
    for threads in (1, 2, 5):
        assert bytes_of(data, *how, "--threads", threads, "--max-line", 200 * threads) == expected
    for suffix, pack in PACK.items():
        packed = tmp_path / f"data.{kind}.{suffix}"
        packed.write_bytes(pack(data.read_bytes()))
        assert bytes_of(packed, *how) == expected
    options = {} if kind in TEXTS else {"label": "label"}
    for size in (1, 100, 3000):
        trained(str(data), ModelOptions(auto="events"), chunk_size=size, **options).save(tmp_path / "own.safetensors")
        assert (tmp_path / "own.safetensors").read_bytes() == expected
    for given in (data.read_bytes(), gzip.compress(data.read_bytes())):
        command = [sys.executable, "-m", "odca", "train", "-", *how, "-o", str(tmp_path / "model.safetensors")]
        done = subprocess.run([*command, "--format", kind], input=given, capture_output=True, check=True)
        assert b"accuracy" in done.stdout
        assert (tmp_path / "model.safetensors").read_bytes() == expected


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize("window", ["0.99", "100"])
def test_reported_metrics_do_not_depend_on_blocks(bytes_of, tmp_path: Path, loss, window) -> None:
    data = text_file(tmp_path, "vw", events(600, labels=("1", "2", "3")))
    options = [data, "--task", "classes", "--window", window, "--loss", loss]
    assert bytes_of(*options, "--max-line", "100") == bytes_of(*options)


def test_arrow_tables_are_learned_like_the_same_table_as_text(model_of, tmp_path: Path) -> None:
    rows = events(300, labels=("no", "yes"))
    expected = model_of(text_file(tmp_path, "csv", rows), "--label", "label")
    pq.write_table(table(rows), tmp_path / "data.parquet", row_group_size=70)
    with pa.ipc.new_file(tmp_path / "data.arrow", table(rows).schema) as writer:
        writer.write_table(table(rows), 90)
    for name in ("data.parquet", "data.arrow"):
        model = model_of(tmp_path / name, "--label", "label")
        assert model.learner == expected.learner
        assert (model.names, model.classes) == (expected.names, expected.classes)


@pytest.mark.parametrize("kind", ["libsvm", "vw", "csv", "jsonl"])
def test_several_files_and_globs_are_one_stream(model_of, tmp_path: Path, kind: str) -> None:
    rows, how = events(600), [] if kind in TEXTS else ["--label", "label"]
    expected = model_of(text_file(tmp_path, kind, rows, "all"), *how)
    parts = [text_file(tmp_path, kind, rows[200 * k :][:200], f"part{k}") for k in range(3)]
    assert model_of(*parts, *how).learner == expected.learner
    assert model_of(tmp_path / f"part*.{kind}", *how).learner == expected.learner


def test_continuing_from_a_model_equals_one_uninterrupted_training(model_of, tmp_path: Path) -> None:
    rows = events(600, labels=("1", "2", "3"))
    for kind, how in (("vw", ["--task", "classes"]), ("csv", ["--label", "label", "--task", "classes"])):
        options = [*how, "--loss", "hinge", "--window", "0.999"]
        expected = model_of(text_file(tmp_path, kind, rows, "all"), *options)
        first = text_file(tmp_path, kind, rows[:250], "first")
        assert model_of(first, *options, "-o", tmp_path / "model.safetensors").metrics.events == 250
        (tmp_path / "model.safetensors").rename(tmp_path / "half.safetensors")
        second = text_file(tmp_path, kind, rows[250:], "second")
        model = model_of(second, "-i", tmp_path / "half.safetensors")
        assert model.learner == expected.learner
        assert model.calibration == expected.calibration
        assert model.names == expected.names
        assert repr(model.metrics.scores()) == repr(expected.metrics.scores())  # nan is nan


def test_continuing_from_a_model_accepts_no_model_options(train, bytes_of, tmp_path: Path) -> None:
    data = text_file(tmp_path, "vw", events(50))
    bytes_of(data, "-o", tmp_path / "model.safetensors")
    for option in (["--loss", "hinge"], ["--bits", 10], ["--no-intercept"], ["--classes", "1,2"], ["--ignore", "n"]):
        code, _, told = train(data, "-i", tmp_path / "model.safetensors", "-o", tmp_path / "on.safetensors", *option)
        assert code == 2
        assert f"argument {option[0]}: is fixed by the model of --initial" in told
    assert not (tmp_path / "on.safetensors").exists()


# How to learn


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--loss", "log_loss"], {}),
        (["--rho", "auto"], {}),
        (["--loss", "hinge"], {"loss": Hinge()}),
        (["--loss", "smooth_hinge:0.5"], {"loss": SmoothHinge(0.5)}),
        (["--penalty", "elasticnet:0.3", "--rho", "1e-3"], {"penalty": ElasticNet(0.3), "rho": 1e-3}),
        (["--penalty", "nonnegative"], {"penalty": NonNegative()}),
        (["--penalty", "box:-1,0.5"], {"penalty": Box(-1.0, 0.5)}),
        (["--window", "0.9999"], {"window": Exponential(0.9999)}),
        (["--window", "200"], {"window": Sliding(200)}),
        (["--window", "2min"], {"window": Sliding(duration=120.0)}),
        (["--window", "7d"], {"window": Sliding(duration=7 * 86400.0)}),
        (["--window", "half-life:90s"], {"window": HalfLife(90.0)}),
        (["--smoothing", "0.9"], {"smoothing": 0.9}),
        (["--no-scale"], {"scale": False}),
        (["--no-intercept"], {"intercept": False}),
        (["--prior-strength", "3"], {"prior_strength": 3.0}),
    ],
)
def test_every_learner_option_reaches_the_learner(model_of, tmp_path: Path, options, expected) -> None:
    data = write(tmp_path / "data.csv", csv(events(400), [*NAMES, "time"]))
    model = model_of(data, "--label", "label", "--time", "time", *options)
    (block,) = stream.open(data, label="label", time="time")
    options = {"loss": LogLoss(), "scale": True, "intercept": True, "window": Automatic(), **expected}
    given = "rho" in options  # otherwise several strengths are tried
    options = {"prior_strength": model.options.prior_strength if given else 0.0} | options
    learner = Learner(**options, lanes=1)
    learner.learn(block.X, block.y[:, None], time=block.time)
    assert model.learner == learner


@pytest.mark.parametrize(
    ("options", "loss"),
    [(["--rho", "auto"], SquaredError()), (["--loss", "huber:0.5"], Huber(0.5)), (["--loss", "quantile:0.9"], None)],
)
def test_numbers_are_learned_by_the_default_options(model_of, tmp_path: Path, options, loss) -> None:
    data = write(tmp_path / "data.csv", csv(events(300), ["score", "a", "b", "country"]))
    model = model_of(data, "--label", "score", *options)
    assert model.options.task == "numbers"
    assert loss is None or model.options.loss == loss
    (block,) = stream.open(data, label="score")
    learner = Learner(loss=model.options.loss, window="auto", intercept=True, scale=True, lanes=1)
    learner.learn(block.X, block.y[:, None])
    assert model.learner == learner


def test_counts_are_learned_by_poisson(model_of, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000).round(3)
    lines = [f"{count} | x:{each}\n" for count, each in zip(rng.poisson(np.exp(1.0 + 0.5 * x)), x, strict=True)]
    model = model_of(write(tmp_path / "data.vw", lines), "--loss", "poisson", "--rho", "1e-3", "--smoothing", "0.999")
    assert model.options.loss == Poisson()
    assert weights(model)["x"] == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("labels", [("0", "1"), ("-1", "1"), ("1", "2"), ("2.5", "7"), ("ham", "spam")])
def test_two_labels_are_classes_whatever_they_are_called(train, model_of, tmp_path: Path, labels) -> None:
    data = write(tmp_path / "data.csv", csv(events(400, labels=labels)))
    model = model_of(data, "--label", "label")
    assert model.classes == tuple(each if each.isalpha() else float(each) for each in labels)
    code, lines, _ = train(data, "--label", "label", "--json")
    assert (code, summary(lines)["predictions"]["accuracy"] > 0.85) == (0, True)
    assert {row["label"] for row in map(json.loads, lines) if "label" in row} == set(labels)


def test_the_task_can_be_stated_explicitly(model_of, train, tmp_path: Path) -> None:
    data = text_file(tmp_path, "vw", events(100, labels=("0", "1")))
    assert model_of(data, "--task", "numbers").options.loss == SquaredError()
    three = text_file(tmp_path, "vw", events(100, labels=("1", "2", "3")), "three")
    model = tmp_path / "three.safetensors"
    code, _, told = train(three, "-o", model)
    assert (code, "are 1, 2, 3, and are treated as numbers. If they are classes, use --task classes." in told) == (
        0,
        True,
    )
    assert StreamModel.load(model).options.task == "numbers"
    assert model_of(three, "--task", "classes").classes == (1.0, 2.0, 3.0)
    code, _, told = train(three, "--task", "numbers", "--loss", "hinge")
    assert code == cli.REFUSED
    assert "Hinge() is not for numbers" in told


# Classes


def late(folder: Path, *labels: str, last: str) -> Path:
    """More events of some classes than are looked at beforehand, then one more class."""
    rows = [vw(each) for each in events(1300, labels=labels)]
    for place in range(1100, 1300, 2):
        rows[place] = f"{last} |late z\n"
    return Path(write(folder / "data.vw", rows))


def test_a_fourth_class_that_appears_late_is_learned(model_of, tmp_path: Path) -> None:
    data = late(tmp_path, "1", "2", "3", last="4")
    options = ["--task", "classes", "--smoothing", "0"]  # the mean of all weights so far would know little of it yet
    model = model_of(data, *options)
    assert model.classes == (1.0, 2.0, 3.0, 4.0)
    named = model_of(data, *options, "--classes", "1,2,3,4")
    assert np.array_equal(model.learner.coef, named.learner.coef)
    assert set(model.predict(data)[1100::2]) == {4.0}


def test_a_third_class_that_appears_late_is_learned_with_a_warning(train, tmp_path: Path) -> None:
    data = late(tmp_path, "1", "2", last="3")
    code, _, told = train(data)
    assert code == 0
    assert "there are 3 classes, of which 1 appeared after the first events" in told
    assert "--task numbers" in told
    model = StreamModel.load(tmp_path / "model.safetensors")
    assert model.classes == (1.0, 2.0, 3.0)
    assert set(model.predict(data)[1200::2]) == {3.0}
    assert model.freeze().classes == model.classes


def test_a_third_class_of_one_linear_model_must_be_declared(train, model_of, tmp_path: Path) -> None:
    data = late(tmp_path, "1", "2", last="3")
    code, _, told = train(data, "--loss", "log_loss")
    assert code == cli.REFUSED
    assert re.search(r"data.vw, line 1101: the label 3 is new; the classes are 1, 2. .*--classes", told)
    assert not (tmp_path / "model.safetensors").exists()
    assert model_of(data, "--classes", "1,2,3", "--task", "classes").classes == (1.0, 2.0, 3.0)
    code, _, told = train(data, "--loss", "log_loss", "--on-error", "skip")
    assert code == 0
    assert "the label 3 is new" in told


def test_training_on_a_single_class_is_refused(train, tmp_path: Path) -> None:
    data = text_file(tmp_path, "vw", events(50, labels=("1",)))
    code, _, told = train(data, "--task", "classes")
    assert code == cli.REFUSED
    assert "the first 50 events have only 1. Name all classes (--classes)" in told


# What becomes a feature


ROWS = [{**each, "note": f"Good {'day' if each['a'] > 0 else 'night'}", "zip": 100 + k % 3} for k, each in enumerate(events(300))]  # fmt: skip
COLUMNS = [*NAMES, "note", "zip"]


@pytest.mark.parametrize(
    ("options", "there", "gone"),
    [
        ([], {"a", "country=NZ", "zip", "note=Good day"}, {"note=good"}),
        (["--ignore", "a", "country"], {"b", "zip"}, {"a", "country=NZ"}),
        (["--keep", "a", "b"], {"a", "b"}, {"c", "country=NZ", "zip"}),
        (["--text", "note"], {"note=good", "note=day", "note=night"}, {"note=Good day", "note=good day"}),
        (["--text", "note", "--ngrams", 2], {"note=good", "note=good day"}, {"note=Good day"}),
        (["--categorical", "zip"], {"zip=100", "zip=101", "zip=102"}, {"zip"}),
        (["--interact", "a", "country"], {"a", "a * country=NZ"}, {"a * a"}),
        (["--interact", "a", "b", "--interact", "c", "c"], {"a * b", "c * c"}, {"a * c"}),
    ],
)  # fmt: skip
def test_every_feature_option_makes_the_features_it_describes(model_of, tmp_path: Path, options, there, gone) -> None:
    for data in (write(tmp_path / "a.csv", csv(ROWS, COLUMNS)), write(tmp_path / "a.jsonl", jsonl(ROWS, COLUMNS))):
        found = set(weights(model_of(data, "--label", "label", *options)))
        assert there <= found
        assert not gone & found


def test_bits_bound_the_features(model_of, tmp_path: Path) -> None:
    data = text_file(tmp_path, "vw", events(300))
    model = model_of(data, "--bits", 3, "--loss", "log_loss")
    assert (model.vocabulary, model.learner.n_features <= 8) == (None, True)
    wide = model_of(data, "--bits", 20, "--loss", "log_loss").learner
    named = model_of(data, "--loss", "log_loss").learner
    np.testing.assert_allclose(sorted(wide.coef[wide.coef != 0.0]), sorted(named.coef[0]), rtol=1e-12)


def test_missing_values_follow_the_missing_option(model_of, train, tmp_path: Path) -> None:
    lines = [f"{int(k % 3 > 0)},{k % 3 or ''},{k % 5}\n" for k in range(300)]
    data = write(tmp_path / "data.csv", ["y,a,b\n", *lines])
    assert weights(model_of(data, "--label", "y"))["a is missing"] < 0.0
    assert set(weights(model_of(data, "--label", "y", "--missing", "ignore"))) == {"a", "b"}
    code, _, told = train(data, "--label", "y", "--missing", "error")
    assert code == cli.REFUSED
    assert "data.csv, line 2, " in told


def test_dates_and_booleans_may_be_strings_of_json(model_of, tmp_path: Path) -> None:
    lines = [json.dumps({"y": k % 2, "when": f"2024-07-3{k % 2}T13:05", "new": "true"}) + "\n" for k in range(20)]
    data = write(tmp_path / "data.jsonl", lines)
    learned = weights(model_of(data, "--label", "y", "--dates", "when", "--booleans", "new"))
    calendar = {"when.hour=13", "when.weekday=1", "when.weekday=2", "when.month=7"}
    assert set(learned) == {*calendar, "when.trend.2024", "when.trend.2025", "new"}


def test_text_in_a_numeric_field_is_refused(train, tmp_path: Path) -> None:
    data = text_file(tmp_path, "csv", events(20))
    code, _, told = train(data, "--label", "label", "--numeric", "country")
    assert code == cli.REFUSED
    assert "data.csv, line 2, " in told
    assert "number" in told


# What is told


def test_a_table_a_summary_and_baselines_are_printed(train, tmp_path: Path) -> None:
    code, lines, told = train(text_file(tmp_path, "vw", events(300)))
    assert (code, told) == (0, "")
    assert [line.split()[2] for line in lines[2:11]] == ["1", "2", "4", "8", "16", "32", "64", "128", "256"]
    for part in ("learned", "accuracy", "AUC", "baselines", "no change (the previous label)", "majority class so far"):
        assert any(part in line for line in lines)


def test_with_json_the_same_facts_are_printed_as_json_lines(train, tmp_path: Path) -> None:
    code, lines, told = train(text_file(tmp_path, "vw", events(300)), "--json", "--table", 100)
    assert (code, told) == (0, "")
    *rows, note, last = map(json.loads, lines)
    assert note["event"] == "note"
    assert last["learned"]["mode"] == "automatic"
    assert [each["events"] for each in rows] == [100, 200, 300]
    assert last["learned"]["events"] == 300
    assert last["predictions"]["loss"] == rows[-1]["loss"]
    assert last["baselines"]["majority_accuracy"] < last["predictions"]["accuracy"]


def test_regression_has_baselines_too(train, tmp_path: Path) -> None:
    data = write(tmp_path / "data.vw", [vw(each, label="score") for each in events(300)])
    _, lines, _ = train(data, "--json")
    found = summary(lines)
    assert {"no_change_mae", "mean_mae", "best_constant_loss"} <= set(found["baselines"])
    assert found["predictions"]["mae"] < found["baselines"]["mean_mae"]


def test_a_quiet_training_is_quiet_but_for_errors(train, tmp_path: Path) -> None:
    data = text_file(tmp_path, "vw", events(50))
    assert train(data, "--quiet") == (0, [], "")
    code, lines, told = train(data, write(tmp_path / "bad.vw", ["bad\n"]), "--quiet")
    assert (code, lines) == (cli.REFUSED, [])
    assert "bad.vw, line 1" in told


# A table with no other hint than its label


def orders(n: int = 4000) -> list[str]:
    """Twenty columns: numbers of all sizes, categories, dates, text, blanks and noise; late orders of some countries come back."""
    rng = np.random.default_rng(0)
    names = ["id", "at", "country", "price", "weight", "colour", "note", *(f"x{k}" for k in range(12)), "returned"]
    lines = [",".join(names) + "\n"]
    for number in range(n):
        country, colour = rng.choice(["NZ", "FR", "IT", "PE"]), rng.choice(["red", "blue", ""])
        price, weight, hour = rng.lognormal(5.0, 1.0), rng.normal(1e-3, 2e-4), int(rng.integers(24))
        score = 2.0 * (country == "NZ") - 1.5 * (colour == "") + 4e3 * (weight - 1e-3) + (hour > 17) - 0.5
        cells = [f"o{number}", f"2024-05-{1 + number * 28 // n:02} {hour:02}:00:00", country]
        cells += [f"{price:.2f}" if rng.random() > 0.1 else "", f"{weight:.6f}", colour, f'"said ""{colour}"", twice"']
        cells += [f"{each:.3f}" if rng.random() > 0.05 else "" for each in rng.normal(size=12)]
        lines.append(",".join([*cells, "yes" if score + 0.5 * rng.normal() > 0 else "no"]) + "\n")
    return lines


def test_a_table_needs_no_option_except_its_label(train, tmp_path: Path) -> None:
    code, lines, told = train(write(tmp_path / "orders.csv", orders()), "--label", "returned", "--json")
    assert (code, told) == (0, "")
    found = summary(lines)
    assert found["predictions"]["accuracy"] > 0.8
    assert found["predictions"]["accuracy"] > max(
        found["baselines"][name] for name in ("no_change_accuracy", "majority_accuracy", "best_constant_accuracy")
    )
    assert found["predictions"]["log_loss"] < found["baselines"]["best_constant_log_loss"]
    kinds = {each.name: each.kind for each in StreamModel.load(tmp_path / "model.safetensors").schema.columns}
    assert [kinds[each] for each in ("at", "country", "price", "colour", "x3")] == [
        "date", "category", "number", "category", "number",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options", "score", "least"),
    [
        ("elec2_river.csv.gz", ["--label", "class", "--window", "0.999"], "accuracy", 0.76),
        ("bike_hour.csv.gz", ["--label", "cnt", "--ignore", "casual", "registered", "--categorical", "hr"], "r2", 0.35),
        ("toulouse_bikes.csv.gz", ["--label", "bikes"], "r2", 0.25),
        ("criteo_wideresdnn_train.csv.gz", ["--label", "1"], "auc", 0.7),
        ("letter.gz", ["--task", "classes", "--smoothing", "0.9999"], "accuracy", 0.65),
        ("a6a.gz", [], "accuracy", 0.83),
    ],
)
def test_real_data_are_learned(train, name: str, options: list[str], score: str, least: float) -> None:
    code, lines, _ = train(real_data.path_of(name), *options, "--json")
    found = summary(lines)
    constant = found["baselines"].get("majority_accuracy", 0.0)
    assert code == 0
    assert found["predictions"][score] > (max(least, constant) if score == "accuracy" else least)


# Starting


def test_training_on_text_does_not_import_slow_packages(tmp_path: Path) -> None:
    for kind, label in (("vw", []), ("csv", ["--label", "label"]), ("jsonl", ["--label", "label"])):
        words = ["train", str(text_file(tmp_path, kind, events(50))), *label, "-o", str(tmp_path / "model.safetensors")]
        heavy = {
            "scipy",
            "pandas",
            "sklearn",
            "pyarrow",
            "rich",
            "polars",
            "river",
            "zoneinfo",
            "asyncio",
            "multiprocessing",
        }
        code = f"import sys, odca.cli; odca.cli.main({words!r}); sys.exit(str({heavy!r} & set(sys.modules)))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.stderr.strip() == "set()"


def test_paths_are_checked_before_anything_else(tmp_path: Path) -> None:
    words = ["train", str(tmp_path / "none.vw"), "-o", str(tmp_path / "nowhere" / "model.safetensors")]
    code = f"import sys, odca.cli; odca.cli.main({words!r}); sys.exit(str({{'odca.stream', 'odca.learner'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "--output" in done.stderr
    assert done.stderr.strip().endswith("set()")


def test_without_an_output_the_model_is_judged_and_not_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = text_file(tmp_path, "csv", events(50))
    before = sorted(tmp_path.iterdir())
    assert cli.main(["train", str(data), "--label", "label"]) == 0
    said = capsys.readouterr().out
    assert "not saved; -o MODEL saves it" in said
    assert "predictions, each made before learning from the event" in said
    assert cli.main(["train", str(data), "--label", "label", "--json"]) == 0
    assert summary(capsys.readouterr().out.splitlines())["learned"]["model"] is None
    assert sorted(tmp_path.iterdir()) == before
