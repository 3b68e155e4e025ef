"""All models of a folder: create, load, delete, and the service's own state."""

import asyncio
import contextlib
import fcntl
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from odca.io import model_file
from odca.serve import views
from odca.serve.audit import Audit
from odca.serve.hosted import Hosted
from odca.serve.limits import Limits
from odca.serve.problems import Problem, of_event
from odca.serve.saved_state import SavedState
from odca.serve.spec import Spec, require_name
from odca.serve.state import State
from odca.serve.telemetry import HasGauges, OfModels, Telemetry
from odca.serve.writer import write_snapshot
from odca.stream.model import StreamModel
from odca.stream.read.json_events import JsonReader

if TYPE_CHECKING:
    from collections.abc import Callable

LOADING_AT_ONCE = 2


class Service(HasGauges):
    """The models of a folder. One process at a time may use it."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self.models_folder = folder / "models"
        self.models_folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder)
        self.telemetry = Telemetry()
        self.telemetry.registry.register(OfModels(self))
        self.audit = Audit(folder / "audit.jsonl")
        self.models: dict[str, Hosted] = {}
        self.state = "loading"
        """"loading", "ready" or "closing"."""
        self._changing = asyncio.Lock()
        self.changed = asyncio.Event()

    async def load(self) -> None:
        """Load all models, a few at once."""
        for leftover in self.models_folder.glob(".*"):
            await asyncio.to_thread(shutil.rmtree, leftover, ignore_errors=True)
        for folder in sorted(self.models_folder.iterdir()):
            if folder.is_dir():
                self.models[folder.name] = Hosted(folder.name, folder, self.limits, self.telemetry)
        some = asyncio.Semaphore(LOADING_AT_ONCE)

        async def load(hosted: Hosted) -> None:
            async with some:
                await asyncio.to_thread(hosted.load)

        await asyncio.gather(*(load(each) for each in self.models.values()))
        self.state = "ready"

    async def close(self) -> None:
        """Refuse what comes, work off what waits, make snapshots."""
        self.state = "closing"
        for each in self.models.values():
            each.is_closing = True
        await asyncio.gather(*(asyncio.to_thread(each.close) for each in self.models.values()))
        os.close(self._lock)

    def model(self, name: str) -> Hosted:
        """The model of a name. Problem if there is none."""
        found = self.models.get(name)
        if found is None:
            require_name(name)
            raise Problem("no-model", f"there is no model {name!r}. Create it with PUT /v1/models/{name}.")
        return found

    def gauges(self) -> dict[str, dict[str, tuple[str, float]]]:
        """For Prometheus."""
        found: dict[str, dict[str, tuple[str, float]]] = {}
        for name, hosted in self.models.items():
            seen = views.glance(hosted)
            numbers = {
                "events": ("Events learned.", seen["events"]),
                "pending": ("Events that wait for their labels.", seen["pending"]),
                "label_delay_seconds": ("Mean delay of the last labels.", seen["label_delay"]),
                "loss": ("Mean progressive loss.", seen["loss"]),
                "recent_loss": ("Progressive loss of the last minutes.", seen["recent_loss"]),
                "queue": ("Requests that wait for the writer.", hosted.waiting),
                "alarms": ("Rises of the loss and changes of columns.", seen["alarms"]),
                "ready": (
                    "Whether it can learn.",
                    float(seen["state"] in {"ready", "collecting"} and not seen["problem"]),
                ),
            }
            found[name] = {
                each: (text, float("nan") if value is None else value) for each, (text, value) in numbers.items()
            }
        return found

    def source_gauges(self) -> list[tuple[str, str, dict[str, tuple[str, float]]]]:
        """For Prometheus: of the topics that models follow."""
        found = []
        for name, hosted in self.models.items():
            for each in views.sources(hosted) if hosted.writer is not None else []:
                numbers = {
                    "connected": ("Whether the topic can be read.", float(each["state"] == "following")),
                    "messages": ("Messages read.", float(each["messages"])),
                    "refused": ("Messages that could not be learned and were skipped.", float(each["refused"])),
                    "lag": ("Messages not read yet.", float("nan") if each["lag"] is None else float(each["lag"])),
                }
                found.append((name, each["source"], numbers))
        return found

    # Changes

    async def create(self, name: str, spec: Spec) -> tuple[Hosted, bool]:
        """A new model from options; or the one that has them already, and False."""
        spec.require_valid()
        async with self._changing:
            if (old := self.models.get(name)) is not None:
                if old.state.spec == spec:
                    return old, False
                raise Problem(
                    "exists", f"a model {name!r} exists, with other options. Delete it, or choose another name."
                )
            return await self._add(name, State(spec)), True

    async def upload(self, name: str, data: bytes, id_key: str) -> Hosted:
        """A new model from a file of `odca train`, or from a snapshot."""
        model = await asyncio.to_thread(_model_of, data, id_key)
        async with self._changing:
            if name in self.models:
                raise Problem("exists", f"a model {name!r} exists. Delete it, or choose another name.")
            return await self._add(name, _state_of(model, id_key))

    async def _add(self, name: str, state: State) -> Hosted:
        require_name(name)
        if len(self.models) >= self.limits.models:
            raise Problem(
                "too-many-models",
                f"there are {len(self.models)} models. Delete one, or let the service have more: its limit is `models`.",
            )
        folder, fresh = self.models_folder / name, self.models_folder / f".new-{name}"
        with _disk():
            await asyncio.to_thread(_make_folder, fresh, folder, state)
        hosted = Hosted(name, folder, self.limits, self.telemetry)
        await asyncio.to_thread(hosted.load)
        self.models[name] = hosted
        return hosted

    async def delete(self, name: str) -> None:
        """Delete a model with everything it has stored."""
        async with self._changing:
            hosted = self.model(name)
            hosted.is_closing = True
            gone = self.models_folder / f".gone-{name}"
            await asyncio.to_thread(hosted.close)
            hosted.folder.rename(gone)
            del self.models[name]
            hosted.changed.set()
            self.telemetry.forget(name)
            await asyncio.to_thread(shutil.rmtree, gone, ignore_errors=True)

    async def merge(self, name: str, data: bytes) -> Hosted:
        """Add what a model file has learned."""
        hosted = self.model(name)
        other = await asyncio.to_thread(_model_of, data, hosted.state.spec.id)

        def work() -> None:
            state, writer = hosted.state, hosted.writer
            assert writer is not None
            if state.model is None:
                raise Problem("collecting", "the model has not begun yet, so there is nothing to merge with.")
            try:
                merged = state.model.merge(other)
            except ValueError as error:
                raise of_event(error, kind="cannot-merge") from error
            later = SavedState.restored(SavedState(state).saved()).state
            later.model, later.reader, later.position = (
                merged,
                JsonReader(merged.schema, later.spec.id),
                state.position + 1,
            )
            with _disk():
                writer.replace(later)

        await hosted.control(work)
        return hosted

    async def freeze(self, name: str, to: str) -> Hosted:
        """A new model of the steady answer of another."""
        require_name(to)
        hosted = self.model(name)
        model = await asyncio.to_thread(lambda: _frozen(hosted))
        async with self._changing:
            if to in self.models:
                raise Problem("exists", f"a model {to!r} exists. Delete it, or choose another name.")
            return await self._add(to, _state_of(model, hosted.state.spec.id))

    async def snapshot(self, name: str, *, frozen: bool) -> bytes:
        """The model as a file, between two requests."""
        hosted = self.model(name)
        if hosted.state.model is None:
            raise Problem("collecting", "the model has not begun yet: it collects its first events.")

        def work() -> model_file.ModelFile:
            model = _frozen(hosted) if frozen else hosted.state.model
            assert model is not None
            return model.saved()

        contents = await hosted.control(work)
        return await asyncio.to_thread(lambda: b"".join(model_file.to_chunks(contents)))


def _frozen(hosted: Hosted) -> StreamModel:
    model = hosted.state.model
    if model is None:
        raise Problem("collecting", "the model has not begun yet: it collects its first events.")
    try:
        return model.freeze()
    except ValueError as error:
        raise Problem("cannot-merge", str(error)) from error


def _model_of(data: bytes, id_key: str) -> StreamModel:
    """The model of a file, whose events have ids under this key."""
    try:
        saved = model_file.from_bytes(data, "the file")
        kinds: dict[str, Callable[[model_file.ModelFile], StreamModel]] = {
            "StreamModel": StreamModel.restored,
            "Checkpoint": lambda each: StreamModel.restored(each.parts["model"]),
            "ServedModel": lambda each: StreamModel.restored(each.parts["model"]),
        }
        model = model_file.rebuild(saved, kinds, "the file")
        schema = model.schema
        if schema.roles.tag != id_key:
            if id_key in {
                *(column.name for column in schema.columns),
                *schema.features.kinds(),
                *schema.roles.by_name(),
            }:
                raise ValueError(
                    f"the model has a column {id_key!r} already. Name another key for the ids of events (?id=)."
                )
            model.schema = replace(schema, roles=replace(schema.roles, tag=id_key))
        JsonReader(model.schema)
    except (ValueError, MemoryError) as error:
        raise Problem("invalid-model", str(error)) from error
    return model


def _state_of(model: StreamModel, id_key: str) -> State:
    roles = model.schema.roles
    if roles.label is None:
        raise Problem(
            "invalid-model", "the model's training data had no key of labels, so it cannot learn from events."
        )
    spec = Spec(
        task=model.task,  # type: ignore[arg-type] # one of the two
        classes=model.classes_read,
        label=roles.label, id=id_key, weight=roles.weight, offset=roles.offset, time=roles.time,
    )  # fmt: skip
    return State(spec, model)


def _make_folder(fresh: Path, folder: Path, state: State) -> None:
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    try:
        (fresh / "spec.json").write_bytes(msgspec.json.format(msgspec.json.encode(state.spec)))
        write_snapshot(fresh, SavedState(state).saved())
        fresh.rename(folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    descriptor = os.open(folder.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _disk():  # type: ignore[no-untyped-def] # a generator of nothing
    try:
        yield
    except OSError as error:
        raise Problem("disk-full", f"the model cannot be stored: {error}.", retry_after=10) from error


def _locked(folder: Path) -> int:
    """A lock on the folder, which ends with the process. ValueError if another process has it."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ValueError(f"another process serves {folder}.") from None
    return descriptor
