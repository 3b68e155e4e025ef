"""docs/errors-and-threads.md says which models the hostile tests try."""

from pathlib import Path

from hostile import run
from hostile.faces import BY_NAME

PAGE = (Path(__file__).parents[2] / "docs" / "errors-and-threads.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `")]


def name_of(cell: str) -> str:
    return cell.replace("`", "")


def test_the_table_of_promises_has_every_model_that_is_tried() -> None:
    assert [name_of(row[0]) for row in ROWS if len(row) == 5] == list(BY_NAME)
    head = next(line for line in PAGE.splitlines() if line.startswith("| model |"))
    for what in ("threads", "signals", "forks"):
        assert f"| {what} |" in head
        assert what in run.commands()


def test_every_hostile_command_is_on_the_page() -> None:
    for command in run.commands():
        assert f"`{command}`" in PAGE or f"run.py {command}" in PAGE
