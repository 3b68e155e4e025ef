"""The README and docs/: every snippet runs, every link leads somewhere, every equation has its code and its test."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from pages import alike, run

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MAP = ROOT / "docs" / "paper-to-code.md"


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


# Snippets


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "spark.md"], ids=name
)  # tests/spark runs that one
def test_the_snippets_and_commands_of_a_page_run_one_after_the_other(page: Path) -> None:
    for each in run(page):
        assert each.fits, (
            f"{name(page)}:{each.line} does not show what {each.command} writes:\n{each.actual}\n"
            f"If that is right: python tests/tools/record.py {name(page)}"
        )


@pytest.mark.parametrize(
    ("shown", "actual", "expected"),
    [
        ("time  0.40 s\n", "time  12.3 s\n", True),
        ("rate  114 k/s\n", "rate  950/s\n", True),
        ("events  114\n", "events  115\n", False),
        ("loss  0.357149\n", "loss  0.357150\n", True),
        ("loss  0.357149\n", "loss  0.357151\n", False),
        ("loss  8.249e-04\n", "loss  8.250e-04\n", True),
        ("loss  8.249e-04\n", "loss  8.249e-05\n", False),
        ("p  0.12345678901234567\n", "p  0.12345678901239\n", True),
        ("a\n...\nz\n", "a\nb\nc\nz\n", True),
        ("a\n...\nz\n", "a\nz\n", True),
        ("a\n...\nz\n", "a\nb\nc\n", False),
        ("a\n...\nz\n", "z\n", False),
        ("a\n...\nm\n...\n", "a\nb\nm\nz\n", True),
        ("a\n...\nm\n...\n", "a\nb\nz\n", False),
        ("", "a\n", False),
        ('{"seconds": 0.1, "loss": 0.5}\n', '{"seconds": 12.5e-3, "loss": 0.5}\n', True),
    ],
)
def test_only_the_parts_marked_as_varying_may_differ(shown: str, actual: str, expected: bool) -> None:
    assert alike(shown, actual) == expected


def test_measured_numbers_may_differ_but_the_words_may_not() -> None:
    shown, actual = "parse   1   66 MB/s   933 k/s    77.3\n", "parse   1  253 MB/s   3.6 M/s   120.1\n"
    assert alike(shown, actual, shape_only=True)
    assert not alike(shown, actual.replace("parse", "learn"), shape_only=True)


@pytest.mark.parametrize(
    "block", ["$ rm -r /\n", "$ odca nothing\n", "$ head -n 1 a\n$ odca demo > file\n", "odca demo\n"]
)
def test_a_page_may_run_only_allowed_commands_and_reports_failures(block: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```console\n{block}```\n")
    with pytest.raises((AssertionError, OSError)):
        list(run(page))


def test_recording_a_page_writes_the_actual_output(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n```text\n2\n```\n```console\n$ odca tran\n$ echo $?\n3\n```\nEnd.\n")
    program = [sys.executable, str(ROOT / "tests" / "tools" / "record.py"), str(page)]
    for changes in (3, 0):
        said = subprocess.run(program, capture_output=True, text=True, check=True).stdout
        assert said == f"{page}: {changes} recorded anew\n"
    text = page.read_text()
    assert "print(1)\n```\n```text\n1\n```\n" in text
    assert "Did you mean 'train'?\n$ echo $?\n2\n```\nEnd.\n" in text


def test_the_readme_states_the_two_commands_exactly() -> None:
    lines = [line.strip() for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()]
    assert "pip install . && odca demo" in lines
    assert "pip install '.[test]' && pytest" in lines


# Links


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_has_a_target(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in target:
            assert (page.parent / target.split("#")[0]).exists(), f"{name(page)} links to {target}"


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in PAGES[1:]:
        path = page.relative_to(ROOT / "docs")
        is_listed_elsewhere = path.parts[0] in {"reference", "results"}
        assert page.name == "index.md" or is_listed_elsewhere or f"({path.as_posix()})" in index


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_file_and_folder_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = {each.split("::")[0] for each in re.findall(r"`((?:src|cpp|tests|benchmarks|docs)/[^`\s]*)`", text)}
    assert not [path for path in named if not list(ROOT.glob(path))]


# The map from the paper to the code

# The equations of the paper in their order; those without a label go by their number.
EQUATIONS = set(
    """
    eq.1 2 eq.tradition_er eq.primal_problem 5 6 cost_function cst 9 10 11 eq.dual_old eq.primal_first_order
    lemma.subgradient eq.primal_two eq.primal_dual_var eq.dual_problem eq.22 exp.window eq.25 eq.primal_update 22 23 24
    eq.mainAlgorithm1 eq.mainAlgorithm2 eq.mainAlgorithm3 26 27 28 29 eq.ODCA eq.SGD eq.SPG 33 34 35 36a 36b eq.41 38
    eq.hinge 40 41 42 43 eq.ODCA_SVM eq.SGD_SVM
    """.split()  # noqa: SIM905 - a list of 48 strings says less
)

REFERENCE = re.compile(r"`([\w/.-]+\.(?:py|hpp|cpp))::([\w.]+)`")


def rows(section: str) -> dict[str, list[tuple[Path, str]]]:
    """The rows of the tables under a heading: first cell -> all `file::name` references in the row."""
    text = MAP.read_text(encoding="utf-8")
    part = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    assert part, f"docs/paper-to-code.md has no section {section!r}"
    found = {}
    for table in re.findall(r"(?:^\|.*\n)+", part[1], flags=re.MULTILINE):
        for line in table.splitlines()[2:]:  # behind the heading and the rule
            references = [(ROOT / file, what) for file, what in REFERENCE.findall(line)]
            assert len(references) == line.count("::"), f"a reference is not of the form `file::name`: {line}"
            found[line.split("|")[1].strip().strip("`")] = references
    return found


def sections() -> list[str]:
    return re.findall(r"^## (.+)$", MAP.read_text(encoding="utf-8"), flags=re.MULTILINE) if MAP.exists() else []


def is_test(file: Path) -> bool:
    return (ROOT / "tests") in file.parents or (ROOT / "cpp" / "tests") in file.parents


@cache
def python_definitions(file: Path) -> frozenset[str]:
    """Functions, classes, methods as Class.method, and names assigned at the top."""
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names.update(f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef))
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(target.id for target in targets if isinstance(target, ast.Name))
    return frozenset(names)


def is_defined_in_cpp(file: Path, what: str) -> bool:
    text = file.read_text(encoding="utf-8")
    if re.search(rf"^\s*(?:struct|class)\s+{what}\b(?!\s*;)", text, flags=re.MULTILINE):
        return True
    # A function: its name behind a type, and a body behind its arguments.
    body = r"\s*\([^;{}]*\)\s*(?:const\s*)?(?:->[^;{}]*)?\{"
    return re.search(rf"^\s*[\w:<>,&*\[\]\s]*[\s&*](?:\w+::)*{what}{body}", text, flags=re.MULTILINE) is not None


@pytest.mark.parametrize("section", sections())
def test_every_row_of_the_map_names_code_and_a_test_and_all_of_it_exists(section: str) -> None:
    missing = []
    for row, references in rows(section).items():
        if not any(is_test(file) for file, _ in references) or all(is_test(file) for file, _ in references):
            missing.append(f"{row}: needs both code and a test")
        for file, what in references:
            where = f"{row}: {name(file)}::{what}"
            if not file.exists():
                missing.append(f"{where}: no such file")
            elif not (what in python_definitions(file) if file.suffix == ".py" else is_defined_in_cpp(file, what)):
                missing.append(f"{where}: not defined there")
    assert not missing, "\n" + "\n".join(missing)


def test_the_map_has_every_equation_of_the_paper() -> None:
    mapped = set()
    for section in sections():
        if section.startswith("Equations"):
            mapped |= {label.strip("()`") for row in rows(section) for label in row.split()}
    assert EQUATIONS - mapped == set()


def test_the_map_has_every_loss_penalty_and_window() -> None:
    from odca.losses import LOSSES
    from odca.penalties import PENALTIES
    from odca.windows import WINDOWS

    assert {loss.__name__ for loss in LOSSES} <= set(rows("Losses"))
    assert {penalty.__name__ for penalty in PENALTIES} <= set(rows("Penalties"))
    assert {window.__name__ for window in WINDOWS} <= {row.split("(")[0] for row in rows("Windows")}


@pytest.mark.parametrize(
    ("file", "what", "expected"),
    [
        ("cpp/odca/problem/losses.hpp", "PiecewiseQuadratic", True),
        ("cpp/odca/problem/losses.hpp", "named_loss", True),
        ("cpp/odca/problem/losses.hpp", "clip", False),  # only called there
        ("cpp/odca/step/solve.hpp", "solve_bracketed", True),
        ("cpp/odca/step/solve.hpp", "lambda", False),
        ("cpp/odca/step/step.hpp", "add_to_dual_sum", True),
        ("cpp/odca/step/step.hpp", "no_such_thing", False),
        ("cpp/odca/step/step.hpp", "squared_norm", False),
        ("cpp/odca/learner/merging.cpp", "merge", True),
    ],
)
def test_cpp_definitions_are_told_apart_from_calls(file: str, what: str, expected: bool) -> None:
    assert is_defined_in_cpp(ROOT / file, what) == expected


def test_the_tables_in_the_docs_match_the_recorded_results() -> None:
    check = subprocess.run(
        [sys.executable, "-m", "benchmarks.tables", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert check.returncode == 0, check.stderr


# The way of an event through the code


@pytest.mark.parametrize("way", ["The way of one CSV line", "The way of one dictionary"])
def test_every_hop_of_an_event_exists_and_there_are_at_most_twelve(way: str) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    part = text.split(f"## {way}\n")[1].split("\n## ")[0]
    hops = re.findall(r"^\| \d+ \| `([\w/.-]+)::([\w.]+)` \|", part, flags=re.MULTILINE)
    assert len(re.findall(r"^\| \d+ \|", part, flags=re.MULTILINE)) == len(hops)
    assert 1 < len(hops) <= 12
    for file, what in hops:
        path = ROOT / file
        found = what in python_definitions(path) if path.suffix == ".py" else is_defined_in_cpp(path, what)
        assert found, f"{what} is not defined in {file}"
