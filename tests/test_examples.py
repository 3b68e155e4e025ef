"""Every script of examples/ runs, draws a picture, and has its picture in the gallery and the docs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_an_example_runs_and_draws_its_picture(script: Path, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    surroundings = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "-W", "error", script, picture], capture_output=True, text=True, check=False, env=surroundings
    )
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert done.stdout.strip()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_an_example_has_a_row_and_a_picture_in_the_gallery(script: Path) -> None:
    assert f"[{script.name}]({script.name})" in (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert (ROOT / "docs" / "pictures" / f"{script.stem}.png").is_file()
