"""`odca.train`: what the command does, in Python."""

import io
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odca
from odca import Exponential, Hinge, LogLoss, cli
from odca.stream import StreamError
from odca.stream.model import StreamModel
from odca.stream.progress import ProgressLine
from odca.stream.training import Interval
from stream_files import write


def table(path: Path, count: int = 600, *, bad: int | None = None) -> Path:
    rng = np.random.default_rng(0)
    lines = ["a,b,country,y,w\n"]
    for n in range(count):
        a, b = rng.normal(size=2).round(3)
        country = ("NZ", "FR", "IT")[n % 3]
        lines.append(f"{a},{b},{country},{'yes' if a + (country == 'NZ') > b else 'no'},{n % 3}\n")
    if bad is not None:
        lines.insert(bad, "1,2\n")
    return write(path, lines)


def by_command(*words: Any, out: Path) -> StreamModel:
    assert cli.main(["train", *map(str, words), "-o", str(out), "--quiet"]) == 0
    model: StreamModel = odca.load(out)
    return model


def assert_same_model(one: StreamModel, other: StreamModel) -> None:
    arrays, others = one.saved().all_arrays(), other.saved().all_arrays()
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)
    assert one.options == other.options


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], {}),
        (["--memory", "events", "--bits", "10"], {"memory": "events", "bits": 10}),
        (["--loss", "hinge"], {"loss": "hinge"}),
        (["--loss", "hinge"], {"loss": Hinge()}),
        (["--rho", "0.01", "--window", "0.99"], {"rho": 0.01, "window": Exponential(0.99)}),
        (["--weight", "w", "--ignore", "a"], {"weight": "w", "ignore": ["a"]}),
        (["--interact", "country", "a", "--no-intercept"], {"interactions": [("country", "a")], "intercept": False}),
        (["--no-scale", "--penalty", "elasticnet:0.2"], {"scale": False, "penalty": "elasticnet:0.2"}),
        (["--classes", "no,yes,maybe"], {"classes": ["no", "yes", "maybe"]}),
        (["--prior-strength", "2", "--smoothing", "0.9"], {"prior_strength": 2.0, "smoothing": 0.9}),
    ],
)
def test_it_makes_the_model_of_the_command_to_the_bit(
    words: list[str], options: dict[str, Any], tmp_path: Path
) -> None:
    data = table(tmp_path / "d.csv")
    expected = by_command(data, "--label", "y", *words, out=tmp_path / "m")
    assert_same_model(odca.train(data, label="y", **options), expected)


def test_several_files_are_one_stream_and_numbers_are_predicted(tmp_path: Path) -> None:
    data = [table(tmp_path / "1.csv", 300), table(tmp_path / "2.csv", 200)]
    expected = by_command(*data, "--label", "a", out=tmp_path / "m")
    model = odca.train(data, label="a")
    assert_same_model(model, expected)
    assert model.task == "numbers"
    assert model.metrics.events == 500


def test_an_initial_model_goes_on_learning_with_its_own_options(tmp_path: Path) -> None:
    first, second = table(tmp_path / "1.csv", 300), table(tmp_path / "2.csv", 200)
    expected = by_command(first, second, "--label", "y", "--loss", "log_loss", out=tmp_path / "m")
    model = odca.train(first, label="y", loss=LogLoss())
    model.save(tmp_path / "first")
    assert_same_model(odca.train(second, initial=tmp_path / "first"), expected)
    assert odca.train(second, initial=model) is model
    assert_same_model(model, expected)
    with pytest.raises(ValueError, match="loss is fixed by the initial model"):
        odca.train(second, initial=model, loss="hinge")


def test_a_training_resumes_from_its_checkpoint(tmp_path: Path) -> None:
    data, state = table(tmp_path / "d.csv"), tmp_path / "state"
    whole = odca.train(data, label="y")
    again = odca.train(data, label="y", checkpoint=state, every=100)
    assert_same_model(again, whole)
    assert_same_model(odca.train(data, label="y", checkpoint=state, resume=True), whole)  # nothing is left to learn
    with pytest.raises(ValueError, match="checkpoint of a training with"):
        odca.train(data, label="y", bits=5, checkpoint=state, resume=True)
    with pytest.raises(
        ValueError, match=r"after 600 events of .*d.csv, which would be lost. Continue that training with `resume=True`"
    ):
        odca.train(data, label="y", checkpoint=state)
    with pytest.raises(ValueError, match="resume=True needs a checkpoint"):
        odca.train(data, label="y", resume=True)


def test_a_training_that_broke_off_resumes_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, state = [table(tmp_path / f"{n}.csv", 300) for n in range(3)], tmp_path / "state"
    learn, calls = StreamModel.learn, []

    def learn_twice(model: StreamModel, block: Any, **how: Any) -> Any:
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(len(block))
        return learn(model, block, **how)

    with monkeypatch.context() as patch:
        patch.setattr(StreamModel, "learn", learn_twice)
        with pytest.raises(KeyboardInterrupt):
            odca.train(data, label="y", checkpoint=state, every=1)
    assert odca.load(state).model.metrics.events == sum(calls) < 900
    resumed = odca.train(data, label="y", checkpoint=state, resume=True)
    assert_same_model(resumed, odca.train(data, label="y"))


def test_skipped_lines_are_reported_as_a_warning(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv", bad=200)
    with pytest.raises(odca.stream.StreamError, match="line 201"):
        odca.train(data, label="y")
    with pytest.warns(UserWarning, match=r"1 line\(s\) could not be read and were skipped. The first: .*line 201"):
        model = odca.train(data, label="y", on_error="skip")
    assert model.metrics.events == 600


def test_odd_values_and_stray_quotes_are_reported_as_warnings(tmp_path: Path) -> None:
    rows = [f"{n % 7},{'far' if n == 50 else n % 5},{chr(34) if n == 70 else ''}a{n % 3}\n" for n in range(100)]
    data = tmp_path / "d.csv"
    data.write_text("".join(["y,distance,place\n", *rows]))
    with pytest.warns(UserWarning, match="quote|distance") as raised:
        odca.train(data, label="y", task="numbers")
    told = [str(each.message) for each in raised]
    assert "1 field begins with a quote that is not closed in the same field, first in " in told[0]
    assert told[0].endswith("line 72. A field whose quote is never closed ends with its line. If quotes are characters like others in these data, "
                            "use `quote='none'`.")  # fmt: skip
    assert told[1].startswith(
        "1 value of 'distance' is not of the kind of the others and counts as missing, first 'far' in "
    )
    assert told[1].endswith("line 52. If 'distance' is a category, use `categorical=['distance']`.")
    odca.train(data, label="y", task="numbers", quote="none", na_values=["far"])


def test_labels_that_could_be_classes_or_numbers_are_reported(tmp_path: Path) -> None:
    data = write(tmp_path / "d.csv", ["a,y\n", *(f"{n % 5},1\n" for n in range(50))])
    with pytest.warns(
        UserWarning, match="are all 1, so they are treated as numbers. If they are classes, use `task='classes'`"
    ):
        odca.train(data, label="y")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        odca.train(data, label="y", task="numbers")


def test_the_automatic_mode_and_options_of_a_linear_model_exclude_each_other(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv")
    with pytest.raises(ValueError, match=r"memory is for the automatic mode, .* but loss was given"):
        odca.train(data, label="y", loss="hinge", memory="time")
    with pytest.raises(ValueError, match=r"an automatic model of classes has log_loss; got loss=Hinge\(\)"):
        odca.train(data, label="y", loss="hinge", auto=True)


def test_events_with_offsets_are_learned_by_one_linear_model(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv")
    model = odca.train(data, label="y", offset="b")
    assert model.options.auto is None
    assert_same_model(model, by_command(data, "--label", "y", "--offset", "b", out=tmp_path / "m"))


def test_an_interval_is_a_number_of_events_or_a_time() -> None:
    assert Interval.of("30s") == Interval(seconds=30.0)
    assert Interval.of("1h").is_over(0, 3600.0)
    assert Interval.of(100) == Interval.of("100") == Interval(events=100.0)
    assert not Interval.of(100).is_over(99, 1e9)
    with pytest.raises(
        ValueError, match="every must be a number of events, or a time such as 30s, 5m, 1h; got 'often'"
    ):
        odca.train("d.csv", label="y", checkpoint="state", every="often")


def test_progress_is_shown_on_terminals_or_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def drawn(stream: io.StringIO, shown: bool | None) -> str:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr("odca.stream.progress.SECONDS_PER_FRAME", 0.0)
        with ProgressLine(200, shown=shown) as line:
            line.update(1000, 50)
        return stream.getvalue()

    assert drawn(Terminal(), None) == f"\r{'━' * 7}{'─' * 23} 25 %  1,000 events\x1b[K\r\x1b[K"
    assert drawn(io.StringIO(), True) == drawn(Terminal(), None)
    assert drawn(io.StringIO(), None) == drawn(Terminal(), False) == ""


def test_progress_is_shown_in_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    class Handle:
        def update(self, shown: dict[str, str], *, raw: bool) -> None:  # noqa: ARG002 - as IPython calls it
            drawn.append(shown["text/html"])

    def display(shown: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        drawn.append(shown["text/html"])
        return Handle()

    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    monkeypatch.setattr("odca.stream.progress.SECONDS_PER_FRAME", 0.0)
    with ProgressLine(200) as line:
        line.update(1000, 50)
        line.update(2000, 100)
    assert drawn[0] == '<div><progress max="1" value="0.250"></progress> 25 % &nbsp;1,000 events</div>'
    assert "50 %" in drawn[1]
    assert drawn[2:] == [""]
    with ProgressLine(200, shown=False) as line:
        line.update(1000, 50)
    assert len(drawn) == 3


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_file_whose_header_differs_is_refused_as_a_whole_and_never_skipped(tmp_path: Path, on_error: Any) -> None:
    (tmp_path / "a.csv").write_text("a,y\n" + "1,0\n2,1\n" * 50, encoding="utf-8")
    (tmp_path / "b.csv").write_text("y,a\n" + "0,1\n1,2\n" * 50, encoding="utf-8")
    with pytest.raises(StreamError, match="the header names column 1 'y', expected 'a'"):
        odca.train([tmp_path / "a.csv", tmp_path / "b.csv"], label="y", on_error=on_error)
