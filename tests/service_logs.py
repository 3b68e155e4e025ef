"""The log of a model of a service, and whether the model is what the log gives."""

from pathlib import Path

from odca.io.model_file import to_chunks
from odca.serve.entries import Entry
from odca.serve.log import Log
from odca.serve.saved_state import SavedState
from odca.serve.state import State

KEEP = ("--keep-log-bytes", "1000000000")


def logged(folder: Path) -> list[Entry]:
    log = Log(folder / "models" / "m" / "log.sqlite")
    try:
        return list(log.entries(0))
    finally:
        log.close()


def bytes_of(state: State) -> bytes:
    return b"".join(to_chunks(SavedState(state).saved()))


def saved(folder: Path) -> SavedState:
    return SavedState.load(folder / "models" / "m" / "snapshot.safetensors")


def require_same_as_in_order(folder: Path) -> State:
    """The snapshot holds what the log gives, applied in order, one request after the other."""
    found = saved(folder).state
    state = State(found.spec)
    for entry in logged(folder):
        state.apply([entry])
    assert state.position == found.position
    assert bytes_of(state) == bytes_of(found)
    return state
