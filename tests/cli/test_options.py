"""The options that commands share: from text to odca's objects, and what is said of text that is none."""

import argparse
from collections.abc import Callable

import pytest

from odca import (
    L2,
    Automatic,
    Box,
    ElasticNet,
    EpsilonInsensitive,
    Expectile,
    Exponential,
    HalfLife,
    Hinge,
    Huber,
    Infinite,
    NonNegative,
    Quantile,
    Sliding,
    SmoothHinge,
)
from odca.cli.learning_options import LearningOptions, add_learning_options, learning_options
from odca.cli.option_types import number, reads_file, whole_number
from odca.losses import LOSS_NAMES


def parser() -> argparse.ArgumentParser:
    own = argparse.ArgumentParser(prog="odca try")
    add_learning_options(own)
    return own


def options(*words: str) -> LearningOptions:
    return learning_options(parser().parse_args(words))


def test_without_options_everything_is_left_to_the_command() -> None:
    assert options() == LearningOptions(None, L2(), "auto", Automatic(), "auto", "auto", intercept=True, scale="auto")


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        ("hinge", Hinge()),
        ("quantile:0.9", Quantile(0.9)),
        ("huber:1.35", Huber(1.35)),
        ("huber", Huber()),
        ("epsilon_insensitive:0.1", EpsilonInsensitive(0.1)),
        ("smooth_hinge:0.5", SmoothHinge(0.5)),
        ("expectile:0.9", Expectile(0.9)),
    ],
)
def test_loss_options_give_the_named_loss(text: str, loss: object) -> None:
    assert options("--loss", text).loss == loss


@pytest.mark.parametrize(
    ("text", "penalty"),
    [
        ("l2", L2()),
        ("elasticnet", ElasticNet(0.15 / 0.85)),
        ("elasticnet:0.2", ElasticNet(0.2)),
        ("nonnegative", NonNegative()),
        ("nonnegative:0.1", NonNegative(0.1)),
        ("box:-1,1", Box(-1.0, 1.0)),
        ("box:0,inf", Box(0.0, float("inf"))),
    ],
)
def test_penalty_options_give_the_named_penalty(text: str, penalty: object) -> None:
    assert options("--penalty", text).penalty == penalty


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("infinite", Infinite()),
        ("0.9999", Exponential(0.9999)),
        ("5000", Sliding(5000)),
        ("7d", Sliding(duration=7 * 86400.0)),
        ("36h", Sliding(duration=36 * 3600.0)),
        ("1.5min", Sliding(duration=90.0)),
        ("90s", Sliding(duration=90.0)),
        ("2w", Sliding(duration=14 * 86400.0)),
        ("half-life:7d", HalfLife(7 * 86400.0)),
        ("half_life:90s", HalfLife(90.0)),
    ],
)
def test_window_options_give_the_named_window(text: str, window: object) -> None:
    assert options("--window", text).window == window


def test_the_remaining_options_are_parsed() -> None:
    found = options("--rho", "1e-3", "--smoothing", "0.999", "--prior-strength", "2", "--no-intercept", "--no-scale")
    assert (found.rho, found.smoothing, found.prior_strength) == (1e-3, 0.999, 2.0)
    assert found.intercept is found.scale is False
    assert options("--scale").scale is True
    assert options("--rho", "auto").rho == "auto"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--loss", "hing"], "argument --loss: there is no loss named 'hing'. There are absolute_error, "),
        (["--loss", "quantile:0.9,1"], "argument --loss: a number must follow the colon; got 'quantile:0.9,1'."),
        (["--loss", "quantile:1.5"], "argument --loss: Quantile needs 0 < q < 1; got q=1.5."),
        (["--loss", "hinge:1"], "argument --loss: hinge has no parameter; got 'hinge:1'."),
        (["--penalty", "l1"], "argument --penalty: penalty must be one of l2, elasticnet,"),
        (["--penalty", "box"], "argument --penalty: penalty must be one of l2, elasticnet,"),
        (["--penalty", "l2:1"], "argument --penalty: penalty must be one of l2, elasticnet,"),
        (["--penalty", "box:1"], "2 numbers separated by commas must follow the colon; got 'box:1'"),
        (["--penalty", "box:1,2"], "argument --penalty: Box needs bounds"),
        (["--window", "7 days"], "argument --window: window must be 'auto', 'infinite', a whole number"),
        (["--window", "1.5"], "argument --window: window must be"),
        (["--window", "0s"], "argument --window: window must be"),
        (["--window", "half-life"], "argument --window: window must be"),
        (["--window", "halflife:7d"], "argument --window: window must be"),
        (["--window", "0"], "argument --window: window must be a whole number of at least 1; got 0."),
    ],
)
def test_the_error_for_an_unknown_name_lists_the_choices(words: list[str], message: str) -> None:
    parsed = parser().parse_args(words)
    with pytest.raises(argparse.ArgumentTypeError) as refused:
        learning_options(parsed)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rho", "-1"], "argument --rho: must be a finite number >= 0; got '-1'"),
        (["--rho", "much"], "argument --rho: must be a finite number >= 0; got 'much'"),
        (
            ["--smoothing", "1.5"],
            "argument --smoothing: must be a finite number >= 0 and <= 1; got '1.5'",
        ),
        (["--prior-strength", "nan"], "argument --prior-strength: must be a finite number >= 0; got 'nan'"),
    ],
)
def test_numbers_out_of_range_are_refused_by_the_parser(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        parser().parse_args(words)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("read", "right", "wrong", "rule"),
    [
        (number(above=0.0), "1e-9", "0", "a finite number > 0"),
        (number(most=5.0), "5", "5.1", "a finite number <= 5"),
        (number(), "-3", "inf", "a finite number"),
        (whole_number(3), "3", "2", "a whole number >= 3"),
        (whole_number(3), "30", "3.0", "a whole number >= 3"),
    ],
)
def test_range_limits_are_inclusive_or_exclusive(
    read: Callable[[str], float], right: str, wrong: str, rule: str
) -> None:
    assert read(right) == float(right)
    with pytest.raises(argparse.ArgumentTypeError, match=f"^must be {rule}; got '{wrong}'$"):
        read(wrong)


def test_the_help_names_every_loss() -> None:
    help_text = " ".join(parser().format_help().split())
    for name, kind in LOSS_NAMES.items():
        assert f"{name}:" in help_text if kind.__slots__ else name in help_text


def test_files_are_completed_where_a_command_says_so() -> None:
    shtab = pytest.importorskip("shtab")
    own = parser()
    argument = reads_file(own.add_argument("input"))
    assert all(shtab.FILE[shell] == function for shell, function in argument.complete.items())
    assert "_shtab_compgen_files" in shtab.complete(own, "bash").split("_shtab_odca_try_pos_0_COMPGEN=")[1][:30]
