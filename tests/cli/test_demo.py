"""The demo: what a person sees, what a machine reads, how it ends."""

import json
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from odca import cli
from odca.cli.commands import demo
from terminal import on_a_terminal

SMALL = 20_000  # events: the windows hold 500, enough for every claim below
# A shell may have started the tests with Ctrl-C switched off, which children inherit: it is switched on again.
COMMAND = [
    sys.executable,
    "-c",
    (
        "import signal, sys; from odca.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler); sys.exit(main())"
    ),
]


@pytest.fixture(scope="module")
def problem() -> demo.Problem:
    return demo.Problem(events=SMALL)


@pytest.fixture(scope="module")
def over(problem: demo.Problem) -> demo.Standing:
    return list(demo.race(problem))[-1]


# The race


def test_every_event_is_counted_for_every_predictor(problem: demo.Problem) -> None:
    standings = list(demo.race(problem))
    assert [s.done for s in standings] == sorted({s.done for s in standings})
    assert standings[-1].done == SMALL
    for score in standings[-1].scores:
        assert len(score.errors) == demo.STRETCHES
        assert score.so_far == pytest.approx(np.mean(score.errors), abs=1e-12)  # the stretches are equally long


def test_finite_windows_recover_from_the_change_and_the_infinite_one_does_not(over: demo.Standing) -> None:
    rows = {row.name: row.errors for row in demo.table(over)}
    for name in ("exponential", "sliding"):
        assert rows[name][1] < 0.75 * rows["infinite"][1]  # in the first stretch after the turn
        assert rows[name][2] < 0.75 * rows["infinite"][2]  # and at the end


def test_finite_windows_beat_both_baselines_away_from_the_change(over: demo.Standing) -> None:
    rows = {row.name: row.errors for row in demo.table(over)}
    for name in ("exponential", "sliding"):
        for when in (0, 2):
            assert rows[name][when] < 0.5 * min(rows[demo.NO_CHANGE][when], rows[demo.MAJORITY][when])


def test_at_a_small_rho_the_infinite_window_is_best_as_the_footer_says(over: demo.Standing) -> None:
    # The windows' order is a matter of rho. If this ever fails, the footer and the README are wrong.
    small = list(demo.race(demo.Problem(events=SMALL, rho=0.001)))[-1]
    infinite, exponential, sliding = (score.so_far for score in small.scores[: len(demo.LEARNERS)])
    assert infinite < 0.75 * min(exponential, sliding)
    infinite, exponential, sliding = (score.so_far for score in over.scores[: len(demo.LEARNERS)])
    assert infinite > 1.25 * max(exponential, sliding)


def test_no_learner_beats_the_true_model_by_more_than_chance(over: demo.Standing) -> None:
    truth = next(score for score in over.scores if score.name == demo.TRUTH)
    assert truth.so_far == pytest.approx(0.05, abs=5 * np.sqrt(0.05 * 0.95 / SMALL))
    assert all(score.so_far >= truth.so_far for score in over.scores)


def test_the_same_seed_gives_the_same_demo(problem: demo.Problem, over: demo.Standing) -> None:
    def errors(seed: int) -> list[tuple[float, ...]]:
        last = list(demo.race(demo.Problem(events=SMALL, seed=seed)))[-1]
        return [score.errors for score in last.scores]

    assert errors(0) == [score.errors for score in over.scores]
    assert errors(1) != errors(0)


@pytest.mark.parametrize("events", [demo.FEWEST_EVENTS, demo.FEWEST_EVENTS + 1, 1234])
def test_a_stream_of_any_length_is_cut_into_whole_stretches(events: int) -> None:
    problem = demo.Problem(events=events)
    assert sum(len(y) for _, y, _ in problem.batches()) == events
    last = list(demo.race(problem))[-1]
    assert last.done == events
    assert all(len(score.errors) == demo.STRETCHES for score in last.scores)


def test_the_hyperplane_changes_half_way_and_nowhere_else() -> None:
    problem = demo.Problem(events=40_000, flipped=0.0)
    X, y, clean = (np.concatenate(parts) for parts in zip(*problem.batches(), strict=True))
    assert np.array_equal(y, clean)
    half = problem.edge(demo.STRETCHES // 2)
    # The mean of y·x points where the hyperplane does.
    directions = [(y[:, None] * X)[part].mean(axis=0) for part in (slice(half - 2000, half), slice(half, half + 2000))]
    cosine = directions[0] @ directions[1] / np.prod([np.linalg.norm(d) for d in directions])
    assert np.degrees(np.arccos(cosine)) == pytest.approx(120, abs=15)


# Text


def test_the_table_has_a_line_for_every_predictor_and_fits_a_terminal(
    problem: demo.Problem, over: demo.Standing
) -> None:
    text = demo.view_table(problem, over)
    for name in (*demo.LEARNERS, *demo.BASELINES):
        assert re.search(rf"^{name} .*%", text, flags=re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 80
    assert text.isascii()


def test_the_best_learner_of_a_column_is_bold_and_no_baseline_ever_is(
    problem: demo.Problem, over: demo.Standing
) -> None:
    lines = demo.view_table(problem, over, demo.Style(colour=True)).splitlines()[2 : 2 + len(over.scores)]
    bold = {line[:13].strip(): line.count("\x1b[1m") for line in lines}
    assert sum(bold[name] for name in demo.LEARNERS) >= 3
    assert not any(bold[name] for name in demo.BASELINES)


@pytest.mark.parametrize("blocks", [False, True])
def test_the_live_view_keeps_its_shape_from_the_first_batch_to_the_last(problem: demo.Problem, blocks: bool) -> None:
    frames = [demo.view_live(problem, s, demo.Style(blocks=blocks)) for s in demo.race(problem)]
    assert len({len(frame) for frame in frames}) == 1
    assert max(len(line) for frame in frames for line in frame) <= demo.LIVE_COLUMNS
    assert len(frames[0]) <= demo.LIVE_LINES
    assert "\n".join(frames[-1]).isascii() != blocks


# The command


def test_redirected_to_a_file_the_demo_writes_a_few_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--events", str(SMALL)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out.isascii()
    assert out.count("error so far") == 4
    assert len(out.splitlines()) < 30


def test_with_json_the_demo_writes_nothing_but_json(capsys: pytest.CaptureFixture[str], over: demo.Standing) -> None:
    assert cli.main(["demo", "--events", str(SMALL), "--seed", "0", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["problem"]["events"] == SMALL
    assert document["problem"]["turn_at"] == SMALL // 2
    errors = [(row["name"], (row["before"], row["after"], row["end"])) for row in document["table"]]
    assert errors == [(row.name, row.errors) for row in demo.table(over)]
    assert set(document["errors_by_stretch"]) == {*demo.LEARNERS, *demo.BASELINES}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--events", "12"], "must be a whole number >= 400; got '12'"),
        (["demo", "--events", "many"], "must be a whole number >= 400; got 'many'"),
        (["demo", "--seed", "-1"], "must be a whole number >= 0; got '-1'"),
        (["demo", "--rho", "0"], "must be a finite number > 0; got '0'"),
        (["demo", "--rho", "nan"], "must be a finite number > 0; got 'nan'"),
        (["demo", "--fast"], "--fast"),
    ],
)
def test_the_error_for_wrong_arguments_says_what_is_needed(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


def test_ctrl_c_ends_the_demo_with_a_short_message() -> None:
    process = subprocess.Popen(
        [*COMMAND, "demo", "--events", "1000000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert "events in" in process.stdout.readline()  # it has begun; the first progress line is far away
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "Interrupted.\n"
    assert "error so far" not in out


def test_a_closed_pipe_ends_the_demo_quietly() -> None:
    process = subprocess.Popen(
        [*COMMAND, "demo", "--events", str(SMALL)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


# A real terminal


def test_on_a_terminal_lines_are_redrawn_and_the_cursor_is_restored() -> None:
    seen = on_a_terminal([*COMMAND, "demo", "--events", str(SMALL)])
    assert "▁" in seen or "▂" in seen
    assert "100%" in seen
    assert re.search(r"\x1b\[\d+F", seen)
    assert seen.rindex("\x1b[?25h") > seen.rindex("\x1b[?25l")
    assert "error so far" not in seen


def test_no_color_and_a_poor_encoding_are_respected() -> None:
    seen = on_a_terminal([*COMMAND, "demo", "--events", str(SMALL)], NO_COLOR="1", PYTHONIOENCODING="ascii")
    assert "100%" in seen
    assert not re.search(r"\x1b\[\d+m", seen)
    assert seen.isascii()


@pytest.mark.parametrize("size", [(60, 40), (100, 6)])
def test_a_terminal_too_small_for_the_live_view_gets_plain_lines(size: tuple[int, int]) -> None:
    seen = on_a_terminal([*COMMAND, "demo", "--events", str(SMALL)], columns=size[0], lines=size[1])
    assert seen.count("error so far") == 4
    assert not re.search(r"\x1b\[\d+F", seen)


def test_a_dumb_terminal_gets_no_escape_sequences() -> None:
    assert "\x1b" not in on_a_terminal([*COMMAND, "demo", "--events", str(SMALL)], TERM="dumb")
