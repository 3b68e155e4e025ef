"""`odca predict`: one line for each event, in order, whatever the data look like."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from odca import Hinge, Learner, LogLoss, Poisson, cli
from odca.models.options import ModelOptions
from odca.stream import Features, Position
from odca.stream.checkpoint import Checkpoint
from odca.stream.model import StreamModel
from stream_files import events, libsvm, trained, vw, write


@pytest.fixture
def predict(capsys: pytest.CaptureFixture[str]):
    """The exit code, the lines and what is told."""

    def run(*words: object) -> tuple[int, list[str], str]:
        code = cli.main(["predict", *map(str, words)])
        captured = capsys.readouterr()
        return code, captured.out.splitlines(), captured.err

    return run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def two_classes(path: Path, **options) -> tuple[list[dict], str]:
    rows = events(300)
    data = write(path.with_name("data.vw"), [vw(each) for each in rows])
    trained(data, ModelOptions(**options)).save(path)
    return rows, data


# What is written


def test_a_line_is_the_class_and_the_tag_in_the_order_of_the_input(predict, path: Path) -> None:
    rows, data = two_classes(path)
    code, lines, told = predict(path, data)
    assert (code, told) == (0, "")
    assert [line.split()[1] for line in lines] == [each["tag"] for each in rows]
    right = sum(line.split()[0] == each["label"] for line, each in zip(lines, rows, strict=True))
    assert right > 270
    assert {line.split()[0] for line in lines} == {"-1", "1"}


def test_written_numbers_are_read_back_unchanged(predict, path: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "data.vw", [vw(each, label="score") for each in events(50)])
    model = trained(data, ModelOptions(task="numbers"))
    model.save(path)
    _, lines, _ = predict(path, data)
    assert np.array_equal([float(line.split()[0]) for line in lines], model.predict(data))
    with pytest.raises(SystemExit):
        predict(path, data, "--proba")


def test_the_probabilities_of_two_classes_are_two_columns_below_their_names(predict, path: Path) -> None:
    _, data = two_classes(path, loss=Hinge())
    _, lines, _ = predict(path, data, "--proba")
    assert lines[0].split("\t") == ["-1", "1", "tag"]
    p = np.array([[float(each) for each in line.split("\t")[:2]] for line in lines[1:]])
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    _, chosen, _ = predict(path, data)
    assert [("-1", "1")[place] for place in p.argmax(axis=1)] == [line.split()[0] for line in chosen]
    assert predict(path, data, "--proba", "--no-names")[1] == lines[1:]


def test_three_classes_have_three_columns_of_probabilities_and_of_margins(predict, path: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "data.vw", [vw(each) for each in events(200, labels=("1", "2", "3"))])
    model = trained(data, ModelOptions(task="classes"))
    model.save(path)
    for option, wanted in (("--proba", "probabilities"), ("--raw", "margins")):
        _, lines, _ = predict(path, data, option)
        assert lines[0].split("\t") == ["1", "2", "3", "tag"]
        written = [[float(each) for each in line.split("\t")[:3]] for line in lines[1:]]
        assert np.array_equal(written, model.predict(data, wanted))


def test_the_margin_of_two_classes_is_one_number(predict, path: Path) -> None:
    _, data = two_classes(path)
    _, margins, _ = predict(path, data, "--raw")
    _, chosen, _ = predict(path, data)
    assert [float(line.split()[0]) > 0 for line in margins] == [line.startswith("1") for line in chosen]


def test_json_gives_an_object_for_each_event(predict, path: Path) -> None:
    rows, data = two_classes(path)
    _, lines, told = predict(path, data, "--json", "--raw")
    first = json.loads(lines[0])
    assert told == ""
    assert len(lines) == len(rows)
    assert set(first) == {"prediction", "tag", "probabilities", "margins"}
    assert first["tag"] == "e0"
    assert first["prediction"] in {-1, 1}
    assert first["probabilities"]["1"] + first["probabilities"]["-1"] == pytest.approx(1.0)
    assert first["probabilities"]["1"] == pytest.approx(1 / (1 + np.exp(-first["margins"])))


def test_an_infinite_number_is_null_in_json(predict, path: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "data.vw", [f"{2**k} |n a:{k}\n" for k in range(8)] * 20)
    trained(data, ModelOptions(loss=Poisson())).save(path)
    _, lines, _ = predict(path, write(tmp_path / "new.vw", ["|n a:3\n", "|n a:1e6\n"]), "--json")
    assert [json.loads(line)["prediction"] is None for line in lines] == [False, True]


# Data


def test_data_need_no_labels_and_unknown_names_are_ignored(predict, path: Path, tmp_path: Path) -> None:
    rows, data = two_classes(path)
    before = path.read_bytes()
    _, expected, _ = predict(path, data)
    lines = [vw(each, label="", order=("c", "b", "a")).replace("|country", "|new x:1e9 |country") for each in rows]
    code, found, _ = predict(path, write(tmp_path / "bare.vw", lines))
    assert code == 0
    assert found == expected
    assert path.read_bytes() == before


def test_several_files_and_threads_are_one_stream(predict, path: Path, tmp_path: Path) -> None:
    rows, data = two_classes(path)
    _, expected, _ = predict(path, data)
    for k in range(3):
        write(tmp_path / f"part{k}.vw", [vw(each) for each in rows[100 * k : 100 * (k + 1)]])
    assert predict(path, tmp_path / "part*.vw", "--threads", "3")[1] == expected


def test_a_model_of_hashed_features_reads_other_formats(predict, path: Path, tmp_path: Path) -> None:
    rows = events(200)
    plain = [libsvm(each) for each in rows]
    data = write(tmp_path / "data.svm", plain)
    trained(data, features=Features(bits=14)).save(path)
    as_vw = [f"{line.split(' ', 1)[0]} | {line.split(' ', 1)[1]}" for line in plain]
    assert predict(path, write(tmp_path / "data.vw", as_vw))[1] == predict(path, data)[1]


def test_a_model_with_names_treats_libsvm_indices_as_names(predict, path: Path, tmp_path: Path) -> None:
    plain = [libsvm(each) for each in events(200)]
    data = write(tmp_path / "data.vw", [f"{line.split(' ', 1)[0]} | {line.split(' ', 1)[1]}" for line in plain])
    trained(data).save(path)
    assert predict(path, write(tmp_path / "data.svm", plain))[1] == predict(path, data)[1]


def test_a_model_with_indices_refuses_names(predict, path: Path, tmp_path: Path) -> None:
    trained(write(tmp_path / "data.svm", [libsvm(each) for each in events(50)])).save(path)
    code, lines, told = predict(path, write(tmp_path / "data.vw", [vw(each) for each in events(5)]))
    assert (code, lines) == (cli.REFUSED, [])
    assert "the model's features are libsvm's indices, but features in vw have names" in told


def test_a_warning_is_printed_if_no_feature_is_known(predict, path: Path, tmp_path: Path) -> None:
    two_classes(path)
    code, lines, told = predict(path, write(tmp_path / "other.vw", ["|x y:1\n"]))
    assert (code, len(lines)) == (0, 1)
    assert "none of the features of these events occurred in the training data" in told


def test_events_too_large_to_be_predicted_follow_on_error(predict, path: Path, tmp_path: Path) -> None:
    two_classes(path)
    huge = "1 'huge|n a:1e308 b:-1e308 |country NZ\n"
    data = write(tmp_path / "new.vw", [vw(events(1)[0]), huge, "no event\n", vw(events(2)[1])])
    code, _, told = predict(path, data)
    assert code == cli.REFUSED
    assert "new.vw, line 2: the prediction is not finite" in told
    code, lines, told = predict(path, data, "--on-error", "skip")
    assert code == 0
    assert [line.split()[1] for line in lines] == ["e0", "e1"]
    assert "2 lines could not be read" in told


def test_an_unknown_kind_of_prediction_is_refused(path: Path) -> None:
    _, data = two_classes(path)
    with pytest.raises(ValueError, match="wanted must be one of label, probabilities, margins; got 'proba'"):
        StreamModel.load(path).predict(data, "proba")


# Files


def test_predictions_are_written_whole_or_not_at_all(predict, path: Path, tmp_path: Path) -> None:
    _, data = two_classes(path)
    out = tmp_path / "out.txt"
    assert predict(path, data, "-o", out) == (0, [], "")
    assert out.read_text().splitlines() == predict(path, data, "-o", "-")[1]
    before = out.read_bytes()
    code, _, _ = predict(path, data, write(tmp_path / "bad.vw", ["no event\n"]), "-o", out)
    assert code == cli.REFUSED
    assert out.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bad.vw", "data.vw", "model.safetensors", "out.txt"]


def test_predicting_with_a_checkpoint_uses_its_model(predict, path: Path, tmp_path: Path) -> None:
    _, data = two_classes(path)
    Checkpoint(StreamModel.load(path), Position(), 0, {}).save(tmp_path / "state.safetensors")
    code, lines, told = predict(tmp_path / "state.safetensors", data)
    assert code == 0
    assert "is a checkpoint" in told
    assert lines == predict(path, data)[1]


def test_a_model_that_does_not_know_how_to_read_data_is_refused(predict, path: Path, tmp_path: Path) -> None:
    Learner(loss=LogLoss()).save(path)
    code, _, told = predict(path, write(tmp_path / "a.vw", ["1 |n a\n"]))
    assert code == cli.REFUSED
    assert "holds a Learner, which does not know how to read data files" in told
    assert predict(tmp_path / "none.safetensors", "a.vw")[0] == cli.REFUSED


def test_predictions_flow_through_a_pipe_and_a_closed_pipe_is_no_error(path: Path) -> None:
    _, data = two_classes(path)
    command = [sys.executable, "-m", "odca", "predict", str(path), "-"]
    with Path(data).open("rb") as lines:
        done = subprocess.run(command, stdin=lines, capture_output=True, check=True)
    assert len(done.stdout.splitlines()) == 300
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        process.stdin.write(Path(data).read_bytes())
        process.stdin.close()
        assert process.wait(timeout=60) == cli.BROKEN_PIPE


# Tables and JSON


def csv(rows: list[dict], names: list[str]) -> list[str]:
    return [",".join(names) + "\n", *(",".join(str(each[name]) for name in names) + "\n" for each in rows)]


NAMES = ["label", "a", "b", "c", "country"]


def test_columns_are_matched_by_name_and_the_label_may_be_missing(predict, path: Path, tmp_path: Path) -> None:
    rows = events(200, labels=("no", "yes"))
    data = write(tmp_path / "data.csv", csv(rows, NAMES))
    trained(data, label="label").save(path)
    _, expected, _ = predict(path, data)
    assert set(expected) == {"no", "yes"}
    turned = write(tmp_path / "turned.csv", csv(rows, ["country", "tag", "c", "b", "a"]))
    code, found, told = predict(path, turned, "--tag", "tag")
    assert (code, told) == (0, "")
    assert found == [f"{label} {each['tag']}" for label, each in zip(expected, rows, strict=True)]
    assert predict(path, turned, "--tag", "nowhere")[0] == cli.REFUSED


def test_without_a_header_only_the_last_column_may_be_missing(predict, path: Path, tmp_path: Path) -> None:
    rows = events(200, labels=("0", "1"))
    first, last = ["label", "a", "b"], ["a", "b", "label"]
    trained(write(tmp_path / "last.csv", csv(rows, last)[1:]), label=-1).save(path)
    bare = write(tmp_path / "bare.csv", csv(rows, ["a", "b"])[1:])
    assert predict(path, bare)[1] == predict(path, tmp_path / "last.csv")[1]
    trained(write(tmp_path / "first.csv", csv(rows, first)[1:]), label=1).save(path)
    code, _, told = predict(path, bare)
    assert code == cli.REFUSED
    assert "it has 2 columns, 1 fewer than the model's data, and no header that says which" in told
    empty = write(tmp_path / "empty.csv", [f",{each['a']},{each['b']}\n" for each in rows])
    assert predict(path, empty)[1] == predict(path, tmp_path / "first.csv")[1]


def test_a_model_trained_on_json_reads_tables(predict, path: Path, tmp_path: Path) -> None:
    rows = [{**each, "when": f"2024-01-{1 + number % 20:02}"} for number, each in enumerate(events(200))]
    names = [*NAMES, "when"]
    data = write(tmp_path / "data.jsonl", [json.dumps({name: each[name] for name in names}) + "\n" for each in rows])
    trained(data, label="label").save(path)
    assert predict(path, write(tmp_path / "data.csv", csv(rows, names)), "--raw") == predict(path, data, "--raw")


def test_a_model_trained_on_a_table_reads_json_and_dictionaries(predict, path: Path, tmp_path: Path) -> None:
    rows = events(200, labels=("no", "yes"))
    model = trained(write(tmp_path / "data.csv", csv(rows, NAMES)), label="label")
    model.save(path)
    bare = [{name: each[name] for name in NAMES[1:]} for each in rows]
    _, expected, _ = predict(path, tmp_path / "data.csv")
    data = write(tmp_path / "data.jsonl", [json.dumps(each) + "\n" for each in bare])
    assert predict(path, data)[1] == expected
    assert model.predict(bare).tolist() == expected


def test_dictionaries_get_the_same_predictions_as_json_lines(tmp_path: Path) -> None:
    rows = [{name: each[name] for name in NAMES} for each in events(100)]
    data = write(tmp_path / "data.jsonl", [json.dumps(each) + "\n" for each in rows])
    model = trained(data, label="label")
    for wanted in ("label", "probabilities", "margins"):
        assert np.array_equal(model.predict(rows, wanted), model.predict(data, wanted))
    assert len(model.predict([])) == 0
    with pytest.raises(ValueError, match="event 1 is at fault: 'a' must be finite; got inf"):
        model.predict([{"a": float("nan")}, {"a": float("inf")}])
