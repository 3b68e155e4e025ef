"""Every file of the corpus is read as it must be, or what is odd about it is reported."""

from pathlib import Path
from typing import Any

import pytest

from corpus.files import FILES, File
from odca import stream
from odca.features import Features
from odca.stream.read.errors import StreamError
from odca.stream.read.profile import profiles
from odca.stream.read.stream import Stream

FEATURES = ("na_values", "day_first")
READ, REFUSED = [file for file in FILES if not file.error], [file for file in FILES if file.error]


def opened(file: File, folder: Path) -> Stream:
    path = folder / file.name
    path.write_bytes(file.content)
    features = Features(**{name: file.how[name] for name in FEATURES if name in file.how})
    how: dict[str, Any] = {name: value for name, value in file.how.items() if name not in FEATURES}
    return stream.open(path, label=file.label, features=features, **how)


@pytest.mark.parametrize("file", REFUSED, ids=[file.name for file in REFUSED])
def test_a_file_that_cannot_be_read_is_refused_with_what_is_wrong(file: File, tmp_path: Path) -> None:
    with pytest.raises(StreamError) as refused, opened(file, tmp_path) as events:
        list(events)
    assert file.error in str(refused.value)
    assert file.name in str(refused.value)


@pytest.mark.parametrize("file", READ, ids=[file.name for file in READ])
def test_a_file_is_read_as_it_must_be(file: File, tmp_path: Path) -> None:
    with opened(file, tmp_path) as events:
        missing: dict[str, int] = dict.fromkeys(file.missing, 0)
        count = 0
        for block in events:
            count += len(block)
            assert events.vocabulary is not None
            names = [stream.feature_name(key) for key in events.vocabulary.keys()]  # noqa: SIM118 - not a dictionary
            for column in missing:
                if f"{column} is missing" in names:
                    missing[column] += int((block.X[:, [names.index(f"{column} is missing")]] != 0).sum())
    kinds = {column.name: column.kind for column in events.schema.columns} or events.schema.features.kinds()
    assert kinds == file.columns
    assert {each.name: each.concern for each in profiles(events) if each.concern} == file.concerns
    assert (count, events.bad.count) == (file.events, file.bad)
    found = events.findings
    assert {name: misfit.count for name, misfit in found.misfits.items()} == file.misfits
    assert found.stray_quotes == file.stray_quotes
    assert events.schema.features.day_first == file.day_first
    assert missing == {name: each + file.misfits.get(name, 0) for name, each in file.missing.items()}


def test_there_are_enough_files() -> None:
    assert len(FILES) >= 25
    assert len({file.name for file in FILES}) == len(FILES)
