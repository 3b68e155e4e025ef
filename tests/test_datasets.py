"""Sets are found where they may be, downloaded where they are not, and say what to do where neither can be."""

import functools
import gzip
import hashlib
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import odca
from odca.research import datasets
from odca.research.datasets import files, sets

ROWS = b"1 1:0.5 3:2\n-1 2:1\n"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nothing is found."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("ODCA_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def served(alone: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and where its files can be had."""
    folder = alone / "served"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def one_set(monkeypatch: pytest.MonkeyPatch, *given: files.File) -> None:
    variant = sets.Variant("two rows", tuple(given), sets._libsvm(3))
    monkeypatch.setitem(sets.SETS, "two", (variant,))


def test_files_are_searched_for_in_order_and_the_first_match_wins(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_set(monkeypatch, files.File("two.gz"))
    for place, label in ((alone / "cache" / "odca", b"3"), (alone / "shared" / "data", b"2"), (alone / "mine", b"1")):
        place.mkdir(parents=True)
        (place / "two.gz").write_bytes(gzip.compress(label + ROWS[1:]))
        if label == b"1":
            monkeypatch.setenv("ODCA_DATA", str(place))
        assert datasets.load("two").y[0] == float(label)


def test_a_data_set_has_rows_labels_and_its_origin(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_set(monkeypatch, files.File("two.gz"), files.File("two.t.gz"))
    monkeypatch.setenv("ODCA_DATA", str(alone))
    for name in ("two.gz", "two.t.gz"):
        (alone / name).write_bytes(gzip.compress(ROWS))
    two = datasets.load("two")
    assert two.X.toarray().tolist() == [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]]
    assert two.y.tolist() == [1.0, -1.0]
    assert (two.X_test != two.X).nnz == 0
    assert two.files == (str(alone / "two.gz"), str(alone / "two.t.gz"))
    assert two.file_names == "two.gz and two.t.gz"


def test_the_error_for_missing_data_says_what_to_do(alone: Path) -> None:
    with pytest.raises(datasets.MissingDataError) as caught:
        datasets.load("spam")
    said = str(caught.value)
    assert "spamassassin_drift.libsvm.gz was not found" in said
    assert str(alone / "cache" / "odca") in said
    assert "set ODCA_DATA to a folder that contains it" in said
    with pytest.raises(ValueError, match=r"there is no data set 'iris'\. The data sets are adult, rcv1"):
        datasets.load("iris")


def test_a_missing_file_is_downloaded_once(
    served: tuple[Path, str], alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, url = served
    (folder / "two.gz").write_bytes(gzip.compress(ROWS))
    known = hashlib.sha256((folder / "two.gz").read_bytes()).hexdigest()
    one_set(monkeypatch, files.File("two.gz", url + "two.gz", known))
    assert datasets.load("two").X.shape == (2, 3)
    (folder / "two.gz").unlink()
    assert datasets.load("two").files == (str(alone / "cache" / "odca" / "two.gz"),)


def test_a_download_with_the_wrong_checksum_is_refused(
    served: tuple[Path, str], alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, url = served
    (folder / "two.gz").write_bytes(gzip.compress(ROWS))
    one_set(monkeypatch, files.File("two.gz", url + "two.gz", 64 * "0"))
    with pytest.raises(datasets.MissingDataError, match="could not be downloaded"):
        datasets.load("two")
    assert not (alone / "cache" / "odca" / "two.gz").exists()


def test_without_a_network_the_error_names_the_url(
    alone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one_set(monkeypatch, files.File("two.gz", "http://127.0.0.1:9/two.gz"))
    with pytest.raises(
        datasets.MissingDataError, match=r"could not be downloaded from http://127.0.0.1:9/two.gz: "
    ) as caught:
        datasets.load("two")
    assert "two.gz: [Errno 111] Connection refused. Put" in str(caught.value)
    assert capsys.readouterr().err == ""


def test_a_substitute_data_set_is_marked_as_inexact(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODCA_DATA", str(alone))
    for name in ("rcv1sub.gz", "rcv1sub.t.gz"):
        (alone / name).write_bytes(gzip.compress(ROWS))
    found = datasets.load("rcv1")
    assert not found.exact
    assert "as a substitute for" in found.what


def test_download_true_fetches_the_papers_own_files(
    served: tuple[Path, str], alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, url = served
    (folder / "own.gz").write_bytes(gzip.compress(ROWS))
    own = sets.Variant("own", (files.File("own.gz", url + "own.gz"),), sets._libsvm(3))
    other = sets.Variant("other", (files.File("other.gz"),), sets._libsvm(3), exact=False)
    monkeypatch.setitem(sets.SETS, "two", (own, other))
    monkeypatch.setenv("ODCA_DATA", str(alone))
    (alone / "other.gz").write_bytes(gzip.compress(ROWS))
    assert datasets.load("two").what == "other"
    assert datasets.load("two", download=True).what == "own"
    (folder / "own.gz").unlink()
    assert datasets.load("two", download=True).exact  # it is here now


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: datasets.random_walk(50, 4, jump_at=20, seed=seed),
        lambda seed: datasets.drifting_hyperplane(50, 4, seed=seed),
    ],
)
def test_the_same_seed_gives_the_same_stream(make: object) -> None:
    assert callable(make)
    one, same, other = make(1), make(1), make(2)
    assert one.X.tobytes() == same.X.tobytes()
    assert one.y.tobytes() == same.y.tobytes()
    assert one.X.tobytes() != other.X.tobytes()


def test_labels_come_from_the_targets() -> None:
    walk = datasets.random_walk(400, 5, noise=0.0, jump_at=200)
    np.testing.assert_allclose((walk.X * walk.targets).sum(axis=1), walk.y, rtol=1e-12, atol=1e-12)
    assert walk.targets[199] @ walk.targets[200] < 0.0
    turning = datasets.drifting_hyperplane(4000, 5, turn=1e-3, flipped=0.1)
    np.testing.assert_allclose(np.linalg.norm(turning.targets, axis=1), 1.0)
    np.testing.assert_allclose((turning.targets[1:] * turning.targets[:-1]).sum(axis=1), np.cos(1e-3))
    wrong = np.mean(np.sign((turning.X * turning.targets).sum(axis=1)) != turning.y)
    assert wrong == pytest.approx(0.1, abs=0.02)


def test_generated_documents_resemble_rcv1() -> None:
    X, y = datasets.rcv1_like(3000, 5000)
    assert X.shape == (3000, 5000)
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1.0)
    assert 40.0 < X.nnz / 3000 < 90.0
    assert y.shape == (3000,)
    assert abs(y.mean()) < 0.5
    frequency = np.sort(np.bincount(X.indices))[::-1]
    assert frequency[0] > 20 * np.median(frequency)


def test_blocks_of_one_world_share_one_teacher() -> None:
    """What is learned from one block predicts another; with teachers of their own it does not."""
    first, second = (datasets.rcv1_like(3000, 500, noise=0.0, world=1, seed=seed) for seed in (1, 2))
    other = datasets.rcv1_like(3000, 500, noise=0.0, world=2, seed=2)
    learner = odca.Learner(loss=odca.Hinge(), rho=1e-3)
    learner.learn(*first)
    right = [np.mean(learner.predict(X) * y > 0.0) for X, y in (second, other)]
    assert right[0] > 0.8
    assert right[1] < 0.65
    assert datasets.rcv1_like(10, 500, teachers=3)[1].shape == (10, 3)
