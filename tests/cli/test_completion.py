"""Completion, asked as a shell asks."""

import subprocess
import sys
from pathlib import Path

import pytest

from odca import cli
from odca.cli.commands import completion


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    printed = subprocess.run(
        [sys.executable, "-m", "odca", "completion", "bash"], check=True, capture_output=True, text=True
    ).stdout
    path = tmp_path_factory.mktemp("completion") / "odca.bash"
    path.write_text(printed, encoding="utf-8")
    return path


def completions(script: Path, *words: str) -> list[str]:
    """What bash offers for the last word of a line."""
    line = " ".join(f"'{word}'" for word in ("odca", *words))
    code = (
        f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words)}\n"
        "completer=$(complete -p odca | sed 's/.*-F \\([^ ]*\\).*/\\1/')\n"
        "$completer odca; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(["bash", "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.split()


def test_bash_offers_the_commands(script: Path) -> None:
    assert set(cli.COMMANDS) <= set(completions(script, ""))
    assert completions(script, "dem") == ["demo"]


def test_bash_offers_the_options_of_a_command(script: Path) -> None:
    assert {"--events", "--seed", "--rho", "--json"} <= set(completions(script, "demo", "--"))
    assert completions(script, "completion", "z") == ["zsh"]


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_every_shell_gets_a_script_of_its_own(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert {"bash": "complete -o", "zsh": "#compdef odca", "tcsh": "complete odca"}[shell] in script
    assert "demo" in script
    assert ("--events" in script) == (shell != "tcsh")  # shtab gives tcsh the commands alone


def test_without_shtab_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert cli.main(["completion", "bash"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "odca completion: completion needs shtab: pip install 'odca[cli]'.\n"
