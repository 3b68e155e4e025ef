"""`odca train --auto`: files to a model with nothing to choose."""

import json
from pathlib import Path

import numpy as np
import pytest

import odca
from odca import AutoLearner, cli


def write_classes(path: Path, rows: int = 3000, classes: tuple[str, ...] = ("no", "yes"), seed: int = 0) -> Path:
    """Numbers of very different units and a category; a class that is the last appears only after a third of the rows."""
    rng = np.random.default_rng(seed)
    lines = ["small,large,colour,label"]
    for n in range(rows):
        x = rng.normal(size=2)
        colour = rng.choice(["red", "green", "blue"])
        known = len(classes) if len(classes) < 4 or n > rows // 3 else len(classes) - 1
        score = x[0] + x[1] + (1.0 if colour == "red" else -0.5)
        place = int(np.clip(np.floor((score + 2.0) / 4.0 * known), 0, known - 1))
        lines.append(f"{1e-5 * x[0]:.9f},{1e4 * x[1]:.2f},{colour},{classes[place]}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def train(*words: object) -> int:
    return cli.main(["train", "--auto", *map(str, words)])


def test_automatic_training_reports_what_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model = write_classes(tmp_path / "a.csv"), tmp_path / "m.safetensors"
    assert train(data, "--label", "label", "-o", model) == 0
    told = capsys.readouterr().out
    assert "While labels come in, the model relies on" in told
    assert "Without labels, it predicts by one linear model" in told
    loaded = odca.load(model)
    assert loaded.metrics.events == 3000
    assert loaded.learner.count == 3000
    assert cli.main(["predict", str(model), str(data), "--json"]) == 0
    predicted = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(predicted) == 3000
    labels = [line.rsplit(",", 1)[1] for line in data.read_text(encoding="utf-8").splitlines()[1:]]
    right = np.mean([loaded.predict(data) == np.array(labels)])
    assert right > 0.93
    p = loaded.predict(data, "probabilities")
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_a_third_class_may_appear_in_a_file_after_the_first_thousand_events(tmp_path: Path) -> None:
    data, model = tmp_path / "a.csv", tmp_path / "m.safetensors"
    header, *lines = (
        write_classes(data, 4000, classes=("low", "middle", "high")).read_text(encoding="utf-8").splitlines()
    )
    late = [line for n, line in enumerate(lines) if n > 2000 or not line.endswith("middle")]
    assert sum(line.endswith("middle") for line in late[:1200]) == 0
    data.write_text("\n".join([header, *late]) + "\n", encoding="utf-8")
    assert train(data, "--label", "label", "-o", model, "--quiet") == 0
    loaded = odca.load(model)
    assert set(loaded.classes) == {"low", "middle", "high"}
    labels = np.array([line.rsplit(",", 1)[1] for line in late])
    is_middle = labels == "middle"
    predicted = loaded.predict(data)
    assert np.mean(predicted[is_middle] == "middle") > 0.8
    assert np.mean(predicted == labels) > 0.8


@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c", "d")])
def test_blocks_and_threads_change_no_bit(tmp_path: Path, classes: tuple[str, ...]) -> None:
    data = write_classes(tmp_path / "a.csv", classes=classes)
    models = []
    for number, words in enumerate(([], ["--max-line", 2000, "--threads", 1], ["--max-line", 2000, "--threads", 2])):
        path = tmp_path / f"{number}.safetensors"
        assert train(data, "--label", "label", "-o", path, "--quiet", *words) == 0
        models.append(odca.load(path))
    for other in models[1:]:
        assert other.learner == models[0].learner
        assert other.metrics.as_arrays().keys() == models[0].metrics.as_arrays().keys()
        for name, array in models[0].metrics.as_arrays().items():
            np.testing.assert_array_equal(array, other.metrics.as_arrays()[name])
    assert set(models[0].classes) == set(classes)


def test_continuing_an_automatic_model_equals_one_uninterrupted_training(tmp_path: Path) -> None:
    whole = write_classes(tmp_path / "whole.csv", classes=("a", "b", "c", "d"))
    lines = whole.read_text(encoding="utf-8").splitlines(keepends=True)
    halves = [tmp_path / "first.csv", tmp_path / "second.csv"]
    halves[0].write_text("".join(lines[:1500]), encoding="utf-8")
    halves[1].write_text("".join([lines[0], *lines[1500:]]), encoding="utf-8")
    assert train(whole, "--label", "label", "-o", tmp_path / "w", "--quiet") == 0
    assert train(halves[0], "--label", "label", "-o", tmp_path / "h", "--quiet") == 0
    assert (
        cli.main(["train", str(halves[1]), "--initial", str(tmp_path / "h"), "-o", str(tmp_path / "g"), "--quiet"]) == 0
    )
    assert odca.load(tmp_path / "g").learner == odca.load(tmp_path / "w").learner


def test_automatic_regression_is_learned_and_inspected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) * [1.0, 100.0, 1e-3]
    y = X @ [1.0, 0.02, 500.0] + 3.0
    data = tmp_path / "n.csv"
    rows = "\n".join(f"{a},{b},{c},{label}" for (a, b, c), label in zip(X.tolist(), y.tolist(), strict=True))
    data.write_text(f"a,b,c,y\n{rows}\n", encoding="utf-8")
    model = tmp_path / "m.safetensors"
    assert train(data, "--label", "y", "-o", model, "--quiet") == 0
    assert odca.load(model).metrics.events == 2000
    capsys.readouterr()
    plot = tmp_path / "r.png"
    assert cli.main(["inspect", str(model), "--plot", str(plot)]) == 0
    shown = capsys.readouterr().out
    assert "experts, by their weight while labels come in" in shown
    assert "steady model, by the weight of its parts" in shown
    assert "diagonal Newton" in shown
    weights = {
        line.split()[0]: float(line.split()[1])
        for line in shown.splitlines()
        if line.split()[:1] in (["a"], ["b"], ["c"]) and "×" not in line
    }
    assert weights == pytest.approx({"a": 1.0, "b": 0.02, "c": 500.0}, rel=0.05)
    assert plot.read_bytes()[:4] == b"\x89PNG"
    assert cli.main(["evaluate", str(model), str(data)]) == 0
    assert "R²" in capsys.readouterr().out


def test_memories_can_count_in_events_or_in_time(tmp_path: Path) -> None:
    data = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    moments = np.cumsum(rng.exponential(size=400))
    rows = "\n".join(f"{t:.3f},{v:.4f},{'up' if v > 0 else 'down'}" for t, v in zip(moments, x, strict=True))
    data.write_text(f"t,x,y\n{rows}\n", encoding="utf-8")
    for memory in ("events", "time"):
        words = ["--label", "y", "--time", "t", "--memory", memory, "-o", tmp_path / memory, "--quiet"]
        assert train(data, *words) == 0
    by_event, by_time = (odca.load(tmp_path / memory).learner for memory in ("events", "time"))
    assert isinstance(by_time, AutoLearner)
    assert by_event != by_time


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--rho", "0.1"],
            "argument --auto: is for the automatic mode, which chooses everything itself, but --rho was given",
        ),
        (["--window", "0.99", "--no-intercept"], "but --window, --no-intercept were given. Leave out one of the two"),
        (["--offset", "small"], "but --offset was given"),
    ],
)
def test_automatic_training_refuses_model_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    data = write_classes(tmp_path / "a.csv", 50)
    with pytest.raises(SystemExit):
        train(data, "--label", "label", "-o", tmp_path / "m", *words)
    assert said in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_what_an_automatic_model_cannot_do_is_a_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model = write_classes(tmp_path / "a.csv", 200), str(tmp_path / "m.safetensors")
    assert train(data, "--label", "label", "-o", model, "--quiet") == 0
    plain = str(tmp_path / "plain.safetensors")
    words = ["train", str(data), "--label", "label", "--rho", "1e-3", "-o", plain, "--quiet"]
    assert cli.main(words) == 0
    assert cli.main(["merge", model, plain, "-o", str(tmp_path / "x")]) == 1
    fault = f"merge needs models of one kind; the mode is automatic in {model}"
    assert fault in capsys.readouterr().err
    assert cli.main(["inspect", model, "--all"]) == 0
    listed = dict(line.split("\t") for line in capsys.readouterr().out.splitlines()[1:])
    frozen = odca.load(model).freeze().learner
    assert float(listed["(intercept)"]) == frozen.intercept[0]
    products = [each.weights[0] for each in frozen.products]
    assert [float(each) for each in list(listed.values())[1:]] == frozen.coef[0].tolist() + products
    with pytest.raises(SystemExit):
        cli.main(["train", str(data), "--memory", "time", "--rho", "1", "--label", "label", "-o", str(tmp_path / "y")])
    assert "argument --memory: is for the automatic mode" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "mode"),
    [
        ([], "automatic"),
        (["--memory", "events", "--bits", "12"], "automatic"),
        (["--rho", "auto"], "one linear model (--rho was given)"),
        (["--penalty", "l2", "--window", "infinite"], "one linear model (--penalty, --window were given)"),
        (["--no-scale"], "one linear model (--no-scale was given)"),
        (["--offset", "small"], "one linear model (--offset was given)"),
    ],
)
def test_training_is_automatic_unless_an_option_of_one_linear_model_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], mode: str
) -> None:
    data, path = write_classes(tmp_path / "a.csv", 200), tmp_path / "m.safetensors"
    assert cli.main(["train", str(data), "--label", "label", "-o", str(path), "--json", *words]) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["learned"]["mode"] == mode
    assert (odca.load(path).options.auto is None) == (mode != "automatic")
    assert cli.main(["train", str(data), "-i", str(path), "-o", str(tmp_path / "again"), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["learned"]["mode"] == f"{mode.split(' (', maxsplit=1)[0]}, as the initial model"


def test_events_with_offsets_are_learned_by_one_linear_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "a.vw"
    data.write_text("".join(f"{n % 2} 1 0.5 | x:{n}\n" for n in range(50)), encoding="utf-8")
    assert cli.main(["train", str(data), "-o", str(tmp_path / "m"), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["learned"]["mode"] == "one linear model (the events have offsets)"
    assert cli.main(["train", "--auto", str(data), "-o", str(tmp_path / "m")]) == 1
    assert (
        "cannot use offsets. Leave the column out, or train one linear model (choose its --loss)."
        in capsys.readouterr().err
    )


def test_losing_to_a_baseline_is_said_with_what_to_try(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Noise: the best constant in hindsight cannot be reached. Runs of one label: who learns slowly loses to the last label."""
    rng = np.random.default_rng(0)
    noise, runs = tmp_path / "noise.csv", tmp_path / "runs.csv"
    noise.write_text("x,y\n" + "".join(f"{rng.normal():.3f},{rng.integers(2)}\n" for _ in range(300)), encoding="utf-8")
    rows = [f"{n // 50 % 2 + rng.normal():.3f},{n // 50 % 2}\n" for n in range(1000)]
    runs.write_text("x,y\n" + "".join(rows), encoding="utf-8")
    path = str(tmp_path / "m.safetensors")
    assert train(noise, "--label", "y", "-o", path) == 0
    told = capsys.readouterr().out
    assert "This is worse than the baseline" in told
    assert "The features say little about these labels: try other features, or more events." in told
    assert cli.main(["train", str(runs), "--label", "y", "-o", path, "--loss", "log_loss"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "This is worse than the baseline no change (the previous label): accuracy" in told
    assert "Try the automatic mode: train without the options that choose one linear model." in told
    assert train(runs, "--label", "y", "-o", path) == 0
    capsys.readouterr()
    assert cli.main(["evaluate", path, str(runs)]) == 0
    assert "If labels keep coming in, keep learning: see --progressive." in " ".join(capsys.readouterr().out.split())
