"""Interactions of every field: all pairs, and all pairs with one field; the same names at every door and in any order of the fields."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from odca import EventLearner, LogLoss, cli, stream
from odca.features import Features
from odca.stream.model import StreamModel
from stream_files import write

EVENTS: list[dict[str, Any]] = [
    {"b": 2.0, "a": "x", "at": "2024-01-01", "d": None},
    {"b": 3.0, "a": "y", "at": "2024-01-02", "d": 0.5},
]
FIELDS = ("a", "at.month", "at.trend", "at.weekday", "b", "d")


def names_of(path: Path, features: Features, **how: Any) -> set[str]:
    with stream.open(path, label="y", features=features, **how) as opened:
        list(opened)
        return {stream.feature_name(key) for key in opened.vocabulary.keys()}  # noqa: SIM118 - not a dictionary


def written(folder: Path, ending: str, *, reverse: bool = False) -> Path:
    rows = [dict(reversed([*each.items()])) if reverse else each for each in EVENTS]
    if ending == "jsonl":
        return Path(write(folder / "a.jsonl", [json.dumps({"y": k, **each}) + "\n" for k, each in enumerate(rows)]))
    lines = [",".join([*rows[0], "y"]) + "\n"]
    lines += [
        ",".join(["" if x is None else str(x) for x in each.values()] + [str(k)]) + "\n" for k, each in enumerate(rows)
    ]
    return Path(write(folder / "a.csv", lines))


def fields_of(name: str) -> tuple[str, ...]:
    """The fields of a product: at.trend of at.trend.2024."""
    parts = (part.split("=")[0].removesuffix(" is missing") for part in name.split(" * "))
    return tuple(part if not part.startswith("at.trend") else "at.trend" for part in parts)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("reverse", [False, True])
def test_all_pairs_have_the_same_names_at_every_door(ending: str, reverse: bool, tmp_path: Path) -> None:
    features = Features(interactions=(("*", "*"),))
    found = names_of(written(tmp_path, ending, reverse=reverse), features)
    products = {name for name in found if " * " in name}
    assert {fields_of(name) for name in products} == set(combinations(FIELDS, 2))
    model = EventLearner(loss=LogLoss(), intercept=False, interactions=[("*", "*")])
    rows = [dict(reversed([*each.items()])) if reverse else each for each in EVENTS]
    model.learn_many(rows, [1.0, 1.0])
    assert set(model.weights()) == found
    single = EventLearner(loss=LogLoss(), intercept=False, interactions=[("*", "*")])
    for each in rows:
        single.predict_one(each)
        single.learn_one(each, 1.0)
    assert single == model


def test_products_have_the_values_of_pairs_that_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, "csv")
    named = Features(interactions=tuple(combinations(("a", "b", "d"), 2)), ignore=("at",))
    pairs = Features(interactions=(("*", "*"),), ignore=("at",))
    found = []
    for features in (named, pairs, Features(interactions=(("*", "*"), ("a", "b")), ignore=("at",))):
        with stream.open(path, label="y", features=features) as opened:
            (block,) = opened
            names = [stream.feature_name(key) for key in opened.vocabulary.keys()]  # noqa: SIM118 - not a dictionary
            rows = [block.X[[k]] for k in range(2)]
            found.append([{names[k]: x for k, x in zip(row.indices, row.data, strict=True)} for row in rows])
    assert found[0] == found[1] == found[2]


def test_a_field_may_be_paired_with_every_other_one(tmp_path: Path) -> None:
    for pair in (("b", "*"), ("*", "b")):
        found = names_of(written(tmp_path, "csv"), Features(interactions=(pair,), ignore=("at",)))
        assert {fields_of(name) for name in found if " * " in name} == {("a", "b"), ("b", "d")}


def test_hashed_pairs_do_not_depend_on_the_order_of_fields(tmp_path: Path) -> None:
    features = Features(interactions=(("*", "*"),), bits=16)
    indices = []
    for reverse in (False, True):
        with stream.open(written(tmp_path, "csv", reverse=reverse), label="y", features=features) as opened:
            (block,) = opened
            indices.append(block.X.toarray().nonzero()[1].tolist())
    assert indices[0] == indices[1]


def test_namespaces_are_paired_too(tmp_path: Path) -> None:
    path = write(tmp_path / "a.vw", ["1 |u x |v y z:2\n", "-1 |v y |w q\n"])
    with stream.open(path, features=Features(interactions=(("*", "*"),))) as opened:
        list(opened)
        names = {stream.feature_name(key) for key in opened.vocabulary.keys()}  # noqa: SIM118 - not a dictionary
    assert {name for name in names if " * " in name} == {"u^x * v^y", "u^x * v^z", "v^y * w^q"}


def test_pairs_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = written(tmp_path, "csv")

    def names(*words: str) -> set[tuple[str, ...]]:
        code = cli.main(
            ["train", str(data), "--label", "y", "-o", str(tmp_path / "m"), "--ignore", "at", "--quiet", *words]
        )
        assert (code, capsys.readouterr().err) == (0, "")
        found = map(stream.feature_name, StreamModel.load(tmp_path / "m").names)
        return {fields_of(name) for name in found if " * " in name}

    everything = {("a", "b"), ("a", "d"), ("b", "d")}
    assert names("--pairs", "*") == names("--interact", "*", "*") == names("--pairs", "a", "b", "d") == everything
    assert names("--interact", "a", "*") == {("a", "b"), ("a", "d")}
    assert names("--pairs", "a", "d") == {("a", "d")}


def test_a_star_stands_in_pairs_only() -> None:
    with pytest.raises(ValueError, match="interaction of two fields"):
        Features(interactions=(("a", "*", "b"),))
