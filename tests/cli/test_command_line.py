"""`odca` itself: what it knows, what it imports, how its commands end."""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import odca
from odca import cli


def in_a_new_process(code: str, **environment: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env={**os.environ, **environment}
    ).stdout


def command_that(run) -> SimpleNamespace:
    """A command that does what `run` does, with one option."""

    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true")
        parser.add_argument("--number", type=int)

    return SimpleNamespace(EPILOG="", add_arguments=add_arguments, run=run)


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The exit code and the output of a command whose body raises."""
    monkeypatch.setitem(cli.COMMANDS, "try", "try it")

    def run(error: BaseException, *words: str) -> tuple[int, str, str]:
        def body(arguments: argparse.Namespace) -> int:
            raise error

        monkeypatch.setitem(sys.modules, "odca.cli.commands.try", command_that(body))
        code = cli.main(["try", *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


# What it knows


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    shown = capsys.readouterr().out
    for name, summary in cli.COMMANDS.items():
        assert f"  {name}" in shown
        assert summary in shown


def test_the_help_explains_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["--help"])
    assert end.value.code == 0
    shown = capsys.readouterr().out
    for code in (0, cli.REFUSED, 2, cli.INTERRUPTED, cli.BROKEN_PIPE):
        assert f"\n  {code} " in shown


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"odca {odca.__version__}\n"


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_shows_its_summary_and_its_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = cli.command(name)
    assert f"odca {name}" in module.EPILOG
    with pytest.raises(SystemExit) as end:
        cli.main([name, "--help"])
    assert end.value.code == 0
    shown = capsys.readouterr().out
    assert cli.COMMANDS[name] in " ".join(shown.split())
    assert module.EPILOG in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dmeo"], "there is no command 'dmeo'. Did you mean 'demo'?"),
        (["study"], f"there is no command 'study'. The commands are {', '.join(cli.COMMANDS)}."),
        (["--fast"], "--fast"),
        (["completion"], "shell"),
        (["completion", "cmd"], "'cmd'"),
        (["demo", "--event", "5000"], "--event"),  # no abbreviations
    ],
)
def test_the_error_for_a_wrong_command_or_option_says_what_is_right(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(words)
    assert end.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


# What it imports


@pytest.mark.parametrize("words", [[], ["--help"], ["--version"], ["dmeo"], ["completion", "--help"], ["completion"]])
def test_commands_that_need_no_arrays_do_not_import_numpy(words: list[str]) -> None:
    code = (
        "import contextlib, io, sys; from odca.cli import main\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()),"
        f" contextlib.redirect_stderr(io.StringIO()): main({words!r})\n"
        "print({'numpy', 'rich', 'shtab', 'odca.cli.commands.demo', 'odca.learner'} & set(sys.modules))"
    )
    assert in_a_new_process(code) == "set()\n"


def test_a_command_imports_no_other_command() -> None:
    code = "import sys; from odca.cli import command; command('demo'); print('odca.cli.commands.completion' in sys.modules)"
    assert in_a_new_process(code) == "False\n"


def test_python_m_odca_runs_the_command_line() -> None:
    done = subprocess.run([sys.executable, "-m", "odca", "--version"], check=True, capture_output=True, text=True)
    assert done.stdout == f"odca {odca.__version__}\n"


# How commands end


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("row 7 has no label."), "row 7 has no label."),
        (FileNotFoundError(2, "No such file or directory", "x.csv"), "x.csv: No such file or directory."),
        (OSError("the disk is gone."), "the disk is gone."),
        (ImportError("that needs rich."), "that needs rich."),
    ],
)
def test_an_error_is_one_line_on_stderr_and_exit_code_1(ends, error: Exception, message: str) -> None:
    assert ends(error) == (1, "", f"odca try: {message}\n")


def test_with_json_an_error_is_a_json_object(ends) -> None:
    code, out, err = ends(ValueError("row 7 has no label."), "--json")
    assert (code, err) == (1, "odca try: row 7 has no label.\n")
    assert out == '{"event": "error", "text": "odca try: row 7 has no label."}\n'


def test_the_traceback_is_shown_on_request(ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODCA_DEBUG", "1")
    code, _, err = ends(ValueError("row 7 has no label."))
    assert code == 1
    assert err.startswith("Traceback")
    assert err.endswith("odca try: row 7 has no label.\n")


def test_a_bug_in_odca_is_not_reported_as_a_users_mistake(ends) -> None:
    with pytest.raises(ZeroDivisionError):
        ends(ZeroDivisionError())


def test_ctrl_c_ends_a_command_with_130(ends) -> None:
    assert ends(KeyboardInterrupt()) == (130, "", "Interrupted.\n")


def test_an_argument_found_wrong_later_is_reported_as_by_argparse(ends, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        ends(argparse.ArgumentTypeError("argument --number: it must be even."))
    assert end.value.code == 2
    assert "odca try: error: argument --number: it must be even." in capsys.readouterr().err


# The package, whose names are imported when they are asked for


def test_every_public_name_exists_and_is_listed() -> None:
    for name in odca.__all__:
        assert getattr(odca, name) is not None
    assert {*odca.__all__, "ODCAClassifier", "ODCARegressor"} <= set(dir(odca))
    code = "from odca import *; print(Learner.__name__, Hinge.__name__, load.__name__)"
    assert in_a_new_process(code) == "Learner Hinge load\n"


def test_a_public_name_is_imported_from_its_module_on_first_use() -> None:
    code = (
        "import odca, sys; assert 'numpy' not in sys.modules\n"
        "assert 'Hinge' not in vars(odca); odca.Hinge; assert vars(odca)['Hinge'] is odca.losses.Hinge; print('yes')"
    )
    assert in_a_new_process(code) == "yes\n"


def test_submodules_are_attributes_but_sklearn_and_river_must_be_imported() -> None:
    code = (
        "import odca; print(odca.losses.__name__, hasattr(odca, 'sklearn'), hasattr(odca, 'river'), hasattr(odca, 'x'))"
    )
    assert in_a_new_process(code) == "odca.losses False False False\n"
    code = "import odca.sklearn; print(odca.ODCAClassifier is odca.sklearn.ODCAClassifier)"
    assert in_a_new_process(code) == "True\n"


def test_type_checkers_see_the_same_names_as_the_run_time() -> None:
    source = Path(odca.__file__).read_text(encoding="utf-8")
    block = source[source.index("if TYPE_CHECKING:") : source.index("__version__ =")]
    for name in odca.__all__:
        assert name == "__version__" or name in block.replace(",", " ").split()
