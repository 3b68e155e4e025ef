"""A client of `odca serve`, for programs: `pip install 'odca[client]'`.

    from odca.client import Client

    with Client("http://127.0.0.1:8080") as service:
        service.create("shop", task="classes", label="bought")
        service.learn("shop", {"price": 3.2, "country": "NZ", "bought": "yes"})
        service.predict("shop", {"price": 2.0, "country": "FR"})["probabilities"]

`AsyncClient` has the same methods to be awaited. One event is a dictionary, and so is its answer; several are any iterable of them, sent in
requests of `batch` events, and the answer is a list.

Whatever changes a model is sent with a key, and sent again with the same key if the connection breaks, the service is busy or restarts:
each event is learned once. docs/serve-api.md lists what the service answers.
"""

import asyncio
import json
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias
from urllib.parse import quote

try:
    import httpx
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise ImportError("odca.client needs httpx: pip install 'odca[client]'.") from error

from odca.records import record

Event: TypeAlias = Mapping[str, Any]
ONE, SEVERAL, FILE = "application/json", "application/x-ndjson", "application/octet-stream"
TRY_AGAIN = frozenset({429, 500, 502, 503, 504})
LONGEST_WAIT = 30.0


class ServiceError(Exception):
    """The service refused a request, or could not be reached. Nothing of the request was learned if `status` is below 500."""

    def __init__(self, status: int, kind: str, detail: str, line: int | None = None) -> None:
        super().__init__(f"{detail} ({status})" if status else detail)
        self.status, self.kind, self.detail, self.line = status, kind, detail, line


@record(kw_only=True)
class Call:
    """A request. Only one that is safe to repeat is sent again."""

    method: str
    path: str
    params: dict[str, Any]
    content: bytes = b""
    type: str = ONE
    key: str | None = None
    raw: bool = False
    """Whether the answer is a file."""

    @property
    def headers(self) -> dict[str, str]:
        """What says how to read it, and its key."""
        found = {"Content-Type": self.type} if self.content else {}
        return found | ({"Idempotency-Key": self.key} if self.key else {})

    @property
    def can_be_repeated(self) -> bool:
        """Whether sending it twice does what sending it once does."""
        return self.key is not None or self.method in {"GET", "PUT"} or self.path.endswith("/predict")


class Calls(ABC):
    """The methods of both clients. Each makes one or more calls; `_answer` sends them."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int, batch: int) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"url must begin with http:// or https://; got {url!r}.")
        if batch < 1 or retries < 0 or timeout <= 0:
            raise ValueError("batch must be at least 1, retries at least 0, and timeout more than 0.")
        self.url, self.retries, self.batch = url.rstrip("/"), retries, batch
        self._settings: dict[str, Any] = {
            "base_url": self.url,
            "timeout": timeout,
            "headers": {"Authorization": f"Bearer {token}"} if token else {},
        }

    @abstractmethod
    def _answer(self, calls: Iterator[Call], *, several: bool) -> Any:
        """Send the calls one after the other. The answers as one list if there are several events, else the only answer."""

    # Events

    def predict(
        self, model: str, events: Event | Iterable[Event], *, answer: str = "live", coverage: float | None = None
    ) -> Any:
        """Predict. Events with an id wait for their labels. coverage: adds intervals or sets that hold this share of the labels."""
        return self._events(model, "predict", events, {"answer": answer, "coverage": coverage})

    def learn(
        self, model: str, events: Event | Iterable[Event], *, partial: bool = False, predictions: bool = True
    ) -> Any:
        """Learn; the answers are the predictions from before each event was learned.

        All events of a request (`batch`) are learned or none, and ServiceError says which line is at fault; with `partial`, the sound ones
        are learned, and the answers of the others say what is wrong.
        """
        return self._events(model, "learn", events, {"partial": partial, "predictions": predictions})

    def label(self, model: str, labels: Event | Iterable[Event], *, partial: bool = False) -> Any:
        """Learn the labels of events that wait: `{"id": ..., "label": ...}`, with the model's own names of both."""
        return self._events(model, "label", labels, {"partial": partial})

    def explain(self, model: str, event: Event, *, answer: str = "live") -> Any:
        """Predict an event, and say what each feature adds."""
        return self._one("POST", f"{_path(model)}/explain", {"answer": answer}, _line(event))

    # Models

    def create(self, model: str, **options: Any) -> Any:
        """Create a model: task, classes, columns, label, id, weight, offset, time, options, first_events. All are optional."""
        return self._one("PUT", _path(model), {}, _line(options))

    def upload(self, model: str, file: str | Path, *, id: str | None = None) -> Any:  # noqa: A002 - what it is called there
        """Create a model from a file of `odca train`."""
        return self._one("PUT", _path(model), {"id": id}, Path(file).read_bytes(), type=FILE)

    def models(self) -> Any:
        """All models at a glance."""
        return self._one("GET", "/v1/models", {})

    def describe(self, model: str) -> Any:
        """Everything about a model."""
        return self._one("GET", _path(model), {})

    def history(self, model: str, span: str = "hour") -> Any:
        """How a model went over the last "hour", "day" or "month"."""
        return self._one("GET", f"{_path(model)}/history", {"span": span})

    def snapshot(self, model: str, *, frozen: bool = False) -> Any:
        """The model as the bytes of a file, which `odca.load` reads; frozen: its steady answer as one small linear model."""
        return self._one("GET", f"{_path(model)}/snapshot", {"frozen": frozen}, raw=True)

    def merge(self, model: str, file: str | Path) -> Any:
        """Add what the model of a file has learned."""
        return self._one("POST", f"{_path(model)}/merge", {}, Path(file).read_bytes(), type=FILE)

    def freeze(self, model: str, name: str) -> Any:
        """Make a new model of the steady answer."""
        return self._one("POST", f"{_path(model)}/freeze", {}, _line({"name": name}))

    def delete(self, model: str) -> Any:
        """Delete a model with everything it has stored."""
        return self._one("DELETE", _path(model), {})

    # Calls

    def _one(self, method: str, path: str, params: dict[str, Any], content: bytes = b"", **more: Any) -> Any:
        call = Call(method=method, path=path, params=_given(params), content=content, **more)
        return self._answer(iter([call]), several=False)

    def _events(self, model: str, route: str, events: Event | Iterable[Event], params: dict[str, Any]) -> Any:
        several = not isinstance(events, Mapping)
        path, given = f"{_path(model)}/{route}", _given(params)

        def calls() -> Iterator[Call]:
            if isinstance(events, Mapping):
                yield Call(method="POST", path=path, params=given, content=_line(events), key=_new_key())
                return
            rest = iter(events)
            while lines := [_line(event) for event in islice(rest, self.batch)]:
                content = b"\n".join(lines)
                yield Call(method="POST", path=path, params=given, content=content, type=SEVERAL, key=_new_key())

        return self._answer(calls(), several=several)

    def _wait(self, call: Call, tries: int, failure: httpx.Response | httpx.TransportError) -> float:
        """How long to wait before sending it again. ServiceError if it is not to be sent again."""
        is_answer = isinstance(failure, httpx.Response)
        if tries >= self.retries or not call.can_be_repeated or (is_answer and failure.status_code not in TRY_AGAIN):
            raise _error_of(failure) if is_answer else _unreachable(self.url, failure) from None
        usual = 0.1 * 2.0**tries
        told = failure.headers.get("Retry-After", "") if is_answer else ""
        return min(float(told) if told.replace(".", "", 1).isdigit() else usual, LONGEST_WAIT)


class Client(Calls):
    """A client that waits for each answer. Several threads may use one.

    url: where the service is, such as "http://127.0.0.1:8080".
    token: what `odca serve token` printed, if the service needs one.
    timeout: seconds that an answer may take.
    retries: how often a request is sent again, after a wait that doubles, beginning with 0.1 seconds; or as long as the service says.
    batch: how many events are sent in one request.
    """

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 30.0, retries: int = 8, batch: int = 1000
    ) -> None:
        super().__init__(url, token, timeout, retries, batch)
        self._http = httpx.Client(**self._settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _answer(self, calls: Iterator[Call], *, several: bool) -> Any:
        found: list[Any] = []
        for call in calls:
            found += _read(call, self._sent(call), several=several)
        return found if several else found[0]

    def _sent(self, call: Call) -> httpx.Response:
        tries = 0
        while True:
            failure: httpx.Response | httpx.TransportError
            try:
                failure = self._http.request(**_request(call))
                if failure.is_success:
                    return failure
            except httpx.TransportError as error:
                failure = error
            time.sleep(self._wait(call, tries, failure))
            tries += 1


class AsyncClient(Calls):
    """The same, to be awaited: `await service.predict("shop", event)`. For the options see `Client`."""

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 30.0, retries: int = 8, batch: int = 1000
    ) -> None:
        super().__init__(url, token, timeout, retries, batch)
        self._http = httpx.AsyncClient(**self._settings)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _answer(self, calls: Iterator[Call], *, several: bool) -> Any:
        found: list[Any] = []
        for call in calls:
            found += _read(call, await self._sent(call), several=several)
        return found if several else found[0]

    async def _sent(self, call: Call) -> httpx.Response:
        tries = 0
        while True:
            failure: httpx.Response | httpx.TransportError
            try:
                failure = await self._http.request(**_request(call))
                if failure.is_success:
                    return failure
            except httpx.TransportError as error:
                failure = error
            await asyncio.sleep(self._wait(call, tries, failure))
            tries += 1


def _path(model: str) -> str:
    return f"/v1/models/{quote(model, safe='')}"


def _line(value: Any) -> bytes:
    """JSON on one line. A number that is none is missing."""
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False, default=_plain).encode()
    except ValueError as error:
        raise ValueError(
            f"an event must not hold nan or infinity; leave the field out, or set it to None: {error}."
        ) from None


def _plain(value: Any) -> Any:
    """NumPy's numbers and times as JSON has them."""
    if hasattr(value, "item"):
        return value.item()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} cannot be sent as JSON; send numbers, strings, booleans, dates or None.")


def _given(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters that are given, as the service reads them."""
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in params.items()
        if value is not None
    }


def _new_key() -> str:
    return uuid.uuid4().hex


def _request(call: Call) -> dict[str, Any]:
    return {
        "method": call.method,
        "url": call.path,
        "params": call.params,
        "content": call.content or None,
        "headers": call.headers,
    }


def _read(call: Call, response: httpx.Response, *, several: bool) -> list[Any]:
    if call.raw:
        return [response.content]
    if several:
        return [json.loads(line) for line in response.text.splitlines() if line]
    return [response.json() if response.content else None]


def _error_of(response: httpx.Response) -> ServiceError:
    try:
        problem = response.json()
    except ValueError:
        return ServiceError(response.status_code, "", f"the service answered: {response.text[:200]}")
    kind = str(problem.get("type", "")).removeprefix("urn:odca:")
    return ServiceError(response.status_code, kind, str(problem.get("detail", "")), problem.get("line"))


def _unreachable(url: str, error: Exception) -> ServiceError:
    return ServiceError(0, "unreachable", f"{url} cannot be reached: {error}. Is `odca serve` running there?")
