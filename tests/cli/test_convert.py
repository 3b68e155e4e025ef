"""`odca convert`: the same events in another format, the same predictions from another program."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from odca import cli, stream
from odca.features.spec import feature_name
from odca.losses import Hinge, LogLoss, Poisson, SquaredError
from odca.models.options import ModelOptions
from odca.stream.model import StreamModel

VW = """\
1 2 0.5 'first|ad price:3.5 cat |user x:0.25 |ad again:-1
-1 | plain:0.001 other
'third|ad price
"""
TABLE = '''\
click,price,country,at,when
1,3.25,NZ,"a, b",2024-05-01
0,,FR,c d,2024-05-02
1,0,,"e ""f""",2024-05-03
0,1e-07,NZ,c d,2024-05-03
'''


def convert(*words: str | Path) -> None:
    assert cli.main(["convert", *map(str, words)]) == 0


def events(path: Path, **options: Any) -> list[tuple[Any, ...]]:
    """All that the events of a file are, with the names of their features."""
    found = []
    with stream.open(path, **options) as opened:
        for block in opened:
            rows, keys = block.rows, [] if opened.vocabulary is None else opened.vocabulary.keys()
            for row in range(len(block)):
                begin, end = rows.indptr[row : row + 2]
                features = {
                    feature_name(keys[index]) if keys else str(index): value
                    for index, value in zip(rows.indices[begin:end], rows.data[begin:end].tolist(), strict=True)
                }
                label = None if block.is_unlabelled[row] else block.y[row]
                weight = 1.0 if block.weight is None else block.weight[row]
                offset = 0.0 if block.offset is None else block.offset[row]
                found.append((label, weight, offset, block.tag[row] if block.tag else "", features))
    return found


@pytest.fixture
def vw(tmp_path: Path) -> Path:
    path = tmp_path / "events.vw"
    path.write_text(VW)
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "events.csv"
    path.write_text(TABLE)
    return path


# Text


def test_vw_to_vw_keeps_every_event(vw: Path, tmp_path: Path) -> None:
    convert(vw, "-o", tmp_path / "again.vw")
    assert (tmp_path / "again.vw").read_text() == VW
    assert events(tmp_path / "again.vw") == events(vw)


def test_libsvm_keeps_its_indices(tmp_path: Path) -> None:
    text = "1 qid:3 0:0.5 7:2\n-1 qid:4 1000000:1e-300\n"
    (tmp_path / "a.svm").write_text(text)
    convert(tmp_path / "a.svm", "-o", tmp_path / "b.svm")
    assert (tmp_path / "b.svm").read_text() == text


def test_names_become_indices_from_1_and_are_listed_in_a_table(
    vw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    convert(vw, "-o", tmp_path / "a.svm", "--names", tmp_path / "names")
    assert (tmp_path / "a.svm").read_text() == "1 1:3.5 2:1 3:0.25 4:-1\n-1 5:0.001 6:1\n0 1:1\n"
    names = dict(line.split("\t") for line in (tmp_path / "names").read_text().splitlines())
    assert names == {"1": "ad^price", "2": "ad^cat", "3": "user^x", "4": "ad^again", "5": "plain", "6": "other"}
    warnings = capsys.readouterr().err
    for lost, count in {"weight": 1, "offset": 1, "tag": 2}.items():
        assert f"the {lost} of events, which is lost: {count}." in warnings
    assert "events without a label were given the label 0, because the format needs one: 1." in warnings
    assert "time" not in warnings


def test_every_event_becomes_one_json_object(vw: Path, tmp_path: Path) -> None:
    convert(vw, "-o", tmp_path / "a.jsonl")
    assert [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()] == [
        {
            "label": 1, "weight": 2, "offset": 0.5, "tag": "first",
            "ad^price": 3.5, "ad^cat": 1, "user^x": 0.25, "ad^again": -1,
        },
        {"label": -1, "plain": 0.001, "other": 1},
        {"tag": "third", "ad^price": 1},
    ]  # fmt: skip


def test_numbers_survive_conversion_to_the_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    numbers = np.concatenate([rng.standard_normal(300) * 10.0 ** rng.integers(-300, 300, 300), np.arange(5) - 2.0])
    lines = [f"{number!r} | x:{number!r}" for number in numbers.tolist()]
    (tmp_path / "a.vw").write_text("\n".join(lines) + "\n")
    for ending in ("vw", "svm"):
        convert(tmp_path / "a.vw", "-o", tmp_path / f"b.{ending}")
        found = events(tmp_path / f"b.{ending}")
        assert [event[0] for event in found] == numbers.tolist()
        assert [value for event in found for value in event[-1].values()] == numbers.tolist()


@pytest.mark.parametrize("ending", ["gz", "zst", "bz2", "xz"])
def test_the_file_ending_selects_the_compression(vw: Path, tmp_path: Path, ending: str) -> None:
    convert(vw, "-o", tmp_path / f"a.vw.{ending}")
    assert not (tmp_path / f"a.vw.{ending}").read_bytes().startswith(b"1 2")
    assert events(tmp_path / f"a.vw.{ending}") == events(vw)


def test_converting_the_same_data_twice_gives_the_same_compressed_file(vw: Path, tmp_path: Path) -> None:
    convert(vw, "-o", tmp_path / "a.vw.gz")
    convert(vw, "-o", tmp_path / "b.vw.gz")
    assert (tmp_path / "a.vw.gz").read_bytes() == (tmp_path / "b.vw.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.vw.gz").read_bytes()).decode() == VW


def test_nothing_but_data_goes_to_standard_output(vw: Path, capfd: pytest.CaptureFixture[str]) -> None:
    convert(vw, "-o", "-", "--to", "vw")
    out, err = capfd.readouterr()
    assert out == VW
    assert "converted" in err


def test_damaged_input_leaves_the_old_output_unchanged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.vw").write_text("1 | a\n" * 1000 + "1 | a:1b\n")
    (tmp_path / "b.svm").write_text("1 1:1\n")
    before = sorted(tmp_path.iterdir())
    assert cli.main(["convert", str(tmp_path / "a.vw"), "-o", str(tmp_path / "b.svm")]) == cli.REFUSED
    assert "line 1001" in capsys.readouterr().err
    assert (tmp_path / "b.svm").read_text() == "1 1:1\n"
    assert sorted(tmp_path.iterdir()) == before


def test_an_unknown_output_format_must_be_stated(vw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["convert", str(vw), "-o", str(tmp_path / "a.onnx")])
    assert "Choose one with --to" in capsys.readouterr().err


def test_tables_on_standard_input_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["convert", "-", "--format", "vw", "-o", str(tmp_path / "a.csv")]) == cli.REFUSED
    assert "read twice" in capsys.readouterr().err


# Models


def shown_in_the_docs() -> Callable[[dict[str, Any], dict[str, float]], Any]:
    """The function of docs/convert.md that predicts from JSON."""
    page = (Path(__file__).parents[2] / "docs" / "convert.md").read_text(encoding="utf-8")
    space: dict[str, Any] = {}
    exec(re.search(r"```python\n(.*?)\n\nmodel = ", page, re.DOTALL)[1], space)  # our own documentation
    return space["predict"]


def made_events(classes: int) -> str:
    """Events of VW, of two classes or more, with values of very different sizes."""
    rng = np.random.default_rng(classes)
    weights = rng.standard_normal((classes, 30))
    lines = []
    for _ in range(600):
        names = rng.choice(30, 8, replace=False)
        values = rng.standard_normal(8) * 10.0 ** (names % 4)
        label = int(np.argmax(weights[:, names] @ (values / 10.0 ** (names % 4)) + rng.standard_normal(classes)))
        lines.append(f"{label} | " + " ".join(f"f{n}:{v:.6g}" for n, v in zip(names, values, strict=True)))
    return "\n".join(lines) + "\n"


PROBLEMS = {
    "two classes": (2, ModelOptions(task="classes", loss=LogLoss())),
    "two classes, calibrated": (2, ModelOptions(task="classes", loss=Hinge())),
    "five classes": (5, ModelOptions(task="classes", loss=LogLoss(), scale=True)),
    "five classes, calibrated": (5, ModelOptions(task="classes", loss=Hinge(), scale=True)),
    "numbers": (5, ModelOptions(task="numbers", loss=SquaredError(), scale=True)),
    "counts": (5, ModelOptions(task="numbers", loss=Poisson(), scale=True)),
    "without smoothing": (5, ModelOptions(task="numbers", loss=SquaredError(), scale=True, smoothing=0.0)),
    "automatic, two classes": (2, ModelOptions(task="classes", auto="events")),
    "automatic, five classes": (5, ModelOptions(task="classes", auto="events")),
    "automatic, numbers": (5, ModelOptions(task="numbers", auto="events")),
    "without an intercept": (2, ModelOptions(task="classes", loss=LogLoss(), scale=True, intercept=False)),
}


def trained(path: Path, problem: ModelOptions, **options: Any) -> tuple[StreamModel, list[stream.Block]]:
    opened = stream.open(path, **options)
    model = StreamModel.begin(problem, opened.schema, opened.sample)
    model.vocabulary = opened.vocabulary
    blocks = []
    for block in opened:
        model.learn(block)
        blocks.append(block)
    return model, blocks


@pytest.mark.parametrize("what", PROBLEMS)
def test_json_and_onnx_predict_what_the_model_predicts(what: str, tmp_path: Path) -> None:
    classes, problem = PROBLEMS[what]
    (tmp_path / "a.vw").write_text(made_events(classes))
    model, (block,) = trained(tmp_path / "a.vw", problem)
    model.save(tmp_path / "model.safetensors")
    convert(tmp_path / "model.safetensors", "-o", tmp_path / "model.json")
    convert(tmp_path / "model.safetensors", "-o", tmp_path / "model.onnx")

    predictions = model.predict_raw(block)
    labels, X = model.predicted(predictions), block.X.toarray()
    plain = json.loads((tmp_path / "model.json").read_text())
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    names = json.loads(session.get_modelmeta().custom_metadata_map["feature_names"])
    assert names == [key.decode() for key in model.keys()]  # noqa: SIM118 - a method of the model
    predict = shown_in_the_docs()
    by_json = [predict(plain, dict(zip(names, row, strict=True))) for row in X.tolist()]
    by_onnx = session.run(None, {"X": X})
    if problem.task == "numbers":
        np.testing.assert_allclose(by_json, labels, rtol=1e-9)
        np.testing.assert_allclose(by_onnx[0][:, 0], labels, rtol=1e-9)
        return
    expected = [model.classes[int(code)] for code in labels]
    assert [label for label, _ in by_json] == by_onnx[0].tolist() == expected
    p = model.shown(predictions, "probabilities")
    np.testing.assert_allclose([each for _, each in by_json], p, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(by_onnx[1], p, rtol=1e-9, atol=1e-12)


def test_a_hashed_model_has_a_column_for_every_hash(tmp_path: Path) -> None:
    (tmp_path / "a.vw").write_text(made_events(2))
    model, (block,) = trained(
        tmp_path / "a.vw", ModelOptions(loss=LogLoss(), rho=1e-5), features=stream.Features(bits=10)
    )
    model.save(tmp_path / "model.safetensors")
    convert(tmp_path / "model.safetensors", "-o", tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    assert session.get_inputs()[0].shape[1] == 1024
    p = session.run(["probabilities"], {"X": block.X.toarray()})[0]
    np.testing.assert_allclose(p, model.predict(block, "probabilities"), rtol=1e-9)


def test_a_model_too_wide_for_onnx_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.svm").write_text(f"1 1:1\n0 {1 << 21}:1\n")
    model, _ = trained(tmp_path / "a.svm", ModelOptions(loss=LogLoss()))
    model.save(tmp_path / "model.safetensors")
    words = ["convert", str(tmp_path / "model.safetensors"), "-o", str(tmp_path / "model.onnx")]
    assert cli.main(words) == cli.REFUSED
    assert "2,097,153 features" in capsys.readouterr().err
    assert not (tmp_path / "model.onnx").exists()


def test_labels_that_are_text_stay_text_in_onnx(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"y": "UP", "x": 1}\n{"y": "DOWN", "x": -1}\n' * 50)
    model, _ = trained(tmp_path / "a.jsonl", ModelOptions(), label="y")
    model.save(tmp_path / "model.safetensors")
    convert(tmp_path / "model.safetensors", "-o", tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    assert session.run(["label"], {"X": np.array([[2.0], [-2.0]])})[0].tolist() == ["UP", "DOWN"]


def test_a_model_is_recognised_by_its_content(vw: Path, tmp_path: Path) -> None:
    (tmp_path / "a.vw").write_text(made_events(2))
    model, _ = trained(tmp_path / "a.vw", ModelOptions())
    model.save(tmp_path / "model.vw")
    convert(tmp_path / "model.vw", "--to", "onnx", "-o", tmp_path / "a")
    onnx.checker.check_model(onnx.load_model_from_string((tmp_path / "a").read_bytes()))


# Tables, there and back


def test_csv_to_jsonl_to_csv_keeps_the_values(table: Path, tmp_path: Path) -> None:
    convert(table, "--label", "click", "-o", tmp_path / "a.jsonl")
    assert [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()] == [
        {"click": 1, "price": 3.25, "country": "NZ", "at": "a, b", "when": "2024-05-01"},
        {"click": 0, "price": None, "country": "FR", "at": "c d", "when": "2024-05-02"},
        {"click": 1, "price": 0, "country": None, "at": 'e "f"', "when": "2024-05-03"},
        {"click": 0, "price": 1e-07, "country": "NZ", "at": "c d", "when": "2024-05-03"},
    ]
    convert(tmp_path / "a.jsonl", "--label", "click", "-o", tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == TABLE


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_csv_to_arrow_to_csv_keeps_the_values(ending: str, table: Path, tmp_path: Path) -> None:
    convert(table, "--label", "click", "-o", tmp_path / f"a.{ending}")
    convert(tmp_path / f"a.{ending}", "--label", "click", "-o", tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == TABLE


def test_a_category_is_a_name_in_the_namespace_of_its_field(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    convert(table, "--label", "click", "-o", tmp_path / "a.vw")
    assert (tmp_path / "a.vw").read_text().splitlines() == [
        "1 | price:3.25 |country NZ |at a,_b |when 2024-05-01",
        "0 | price_is_missing |country FR |at c_d |when 2024-05-02",
        '1 | price:0 country_is_missing |at e_"f" |when 2024-05-03',
        "0 | price:1e-07 |country NZ |at c_d |when 2024-05-03",
    ]
    assert "which were replaced by '_': 3." in capsys.readouterr().err


def test_lists_become_columns_of_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"y": 1, "tags": ["a", "b", "a"], "x": "u"}\n{"y": 2, "tags": ["c"], "x": "v"}\n'
    )
    convert(tmp_path / "a.jsonl", "--label", "y", "-o", tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "y,tags=a,tags=b,x,tags=c\n1,2,1,u,0\n2,0,0,v,1\n"


def test_a_sparse_stream_becomes_a_table_of_zeros_and_values(vw: Path, tmp_path: Path) -> None:
    convert(vw, "-o", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines() == [
        "label,weight,offset,tag,ad^price,ad^cat,user^x,ad^again,plain,other",
        "1,2,0.5,first,3.5,1,0.25,-1,0,0",
        "-1,1,0,,0,0,0,0,0.001,1",
        ",1,0,third,1,0,0,0,0,0",
    ]


def test_a_feature_with_the_name_of_the_label_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.vw").write_text("1 | label:2\n")
    assert cli.main(["convert", str(tmp_path / "a.vw"), "-o", str(tmp_path / "a.jsonl")]) == cli.REFUSED
    assert "--ignore label" in capsys.readouterr().err


def test_labels_that_are_text_are_numbered_for_formats_of_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("y,x\nUP,1\nDOWN,2\nUP,3\n")
    convert(tmp_path / "a.csv", "--label", "y", "-o", tmp_path / "a.vw")
    assert (tmp_path / "a.vw").read_text() == "1 | x\n2 | x:2\n1 | x:3\n"
    assert "UP is 1, DOWN is 2." in capsys.readouterr().err
