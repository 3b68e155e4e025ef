"""The client against a service that is played: what is sent, what is sent again, and what errors say."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

httpx = pytest.importorskip("httpx", reason="odca.client needs httpx")

from odca.client import AsyncClient, Client, ServiceError  # noqa: E402 - after the check

Handler = Callable[[Any], Any]


def client(handler: Handler, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Client:
    """A client of a service that answers by the handler, and does not wait before it asks again."""
    waits: list[float] = []
    monkeypatch.setattr("odca.client.time.sleep", waits.append)
    made = Client("http://service", **options)
    made._http = httpx.Client(transport=httpx.MockTransport(handler), **made._settings)
    made.waits = waits  # type: ignore[attr-defined]
    return made


def ready(request: Any) -> Any:
    """Answers every event with its number of fields."""
    lines = [json.loads(line) for line in request.content.splitlines()]
    answers = [{"prediction": len(line)} for line in lines]
    if request.headers["content-type"] == "application/json":
        return httpx.Response(200, json=answers[0])
    return httpx.Response(200, text="\n".join(map(json.dumps, answers)))


def test_one_event_has_one_answer_and_several_have_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    service = client(ready, monkeypatch)
    assert service.predict("shop", {"a": 1, "b": 2}) == {"prediction": 2}
    assert service.learn("shop", [{"a": 1}, {"a": 1, "b": 2}]) == [{"prediction": 1}, {"prediction": 2}]
    assert service.learn("shop", []) == []


def test_events_are_sent_in_batches_each_with_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    keys, sizes = [], []

    def handler(request: Any) -> Any:
        keys.append(request.headers["idempotency-key"])
        sizes.append(len(request.content.splitlines()))
        return ready(request)

    service = client(handler, monkeypatch, batch=3)
    assert len(service.learn("shop", ({"n": n} for n in range(8)))) == 8
    assert sizes == [3, 3, 2]
    assert len(set(keys)) == 3


@pytest.mark.parametrize("failure", ["connection", 429, 500, 503, 504])
def test_a_request_is_sent_again_with_the_same_key(failure: object, monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []

    def handler(request: Any) -> Any:
        keys.append(request.headers["idempotency-key"])
        if len(keys) < 3:
            if failure == "connection":
                raise httpx.ConnectError("refused")
            return httpx.Response(failure, headers={"Retry-After": "2"}, json={"detail": "busy"})
        return ready(request)

    service = client(handler, monkeypatch)
    assert service.learn("shop", {"a": 1}) == {"prediction": 1}
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert service.waits == ([0.1, 0.2] if failure == "connection" else [2.0, 2.0])  # type: ignore[attr-defined]


def test_after_so_many_tries_the_error_says_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def handler(request: Any) -> Any:
        raise httpx.ConnectError("refused")

    with pytest.raises(ServiceError, match=r"http://service cannot be reached: refused\. Is `odca serve` running"):
        client(handler, monkeypatch, retries=2).models()


def test_what_could_be_done_twice_is_not_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def handler(request: Any) -> Any:
        asked.append(request.method)
        return httpx.Response(503, json={"detail": "loading", "type": "urn:odca:not-ready"})

    with pytest.raises(ServiceError, match="loading"):
        client(handler, monkeypatch).delete("shop")
    assert asked == ["DELETE"]


def test_an_error_has_the_status_the_kind_and_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = {"type": "urn:odca:invalid-event", "status": 422, "detail": "line 3: no label.", "line": 3}
    service = client(lambda _: httpx.Response(422, json=problem), monkeypatch)
    with pytest.raises(ServiceError, match="line 3: no label") as caught:
        service.learn("shop", [{"a": 1}])
    assert (caught.value.status, caught.value.kind, caught.value.line) == (422, "invalid-event", 3)


def test_numbers_of_numpy_and_dates_are_sent_and_what_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []
    service = client(lambda request: sent.append(json.loads(request.content)) or ready(request), monkeypatch)
    event = {
        "a": np.float64(1.5),
        "b": np.int32(2),
        "c": np.datetime64("2026-01-05").item(),
        "d": None,
        "e": np.bool_(True),
    }
    service.predict("shop", event)
    assert sent == [{"a": 1.5, "b": 2, "c": "2026-01-05", "d": None, "e": True}]
    with pytest.raises(ValueError, match="nan or infinity"):
        service.predict("shop", {"a": float("nan")})
    with pytest.raises(TypeError, match="set cannot be sent"):
        service.predict("shop", {"a": {1}})


def test_names_of_models_cannot_lead_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = []
    service = client(
        lambda request: paths.append(request.url.raw_path) or httpx.Response(404, json={"detail": "none"}), monkeypatch
    )
    with pytest.raises(ServiceError):
        service.describe("../../etc/passwd?x=1#y")
    assert paths == [b"/v1/models/..%2F..%2Fetc%2Fpasswd%3Fx%3D1%23y"]


def test_the_token_is_sent_and_options_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    service = client(
        lambda request: seen.append(request.headers["authorization"]) or httpx.Response(200, json={}),
        monkeypatch,
        token="t",
    )
    service.models()
    assert seen == ["Bearer t"]
    with pytest.raises(ValueError, match="must begin with http"):
        Client("127.0.0.1:8080")
    with pytest.raises(ValueError, match="batch"):
        Client("http://service", batch=0)


def test_the_asynchronous_client_does_the_same() -> None:
    async def ask() -> Any:
        async with AsyncClient("http://service", batch=2) as service:
            service._http = httpx.AsyncClient(transport=httpx.MockTransport(ready), **service._settings)
            return await service.predict("shop", {"a": 1}), await service.learn("shop", [{"a": 1}] * 3)

    assert asyncio.run(ask()) == ({"prediction": 1}, [{"prediction": 1}] * 3)
