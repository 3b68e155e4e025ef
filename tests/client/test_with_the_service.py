"""The client and the real service, which is restarted in between."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("httpx", reason="odca.client needs httpx")
pytest.importorskip("uvicorn", reason="odca serve needs its extra")

import odca
from odca import datasets
from odca.client import AsyncClient, Client, ServiceError
from serving import Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path / "models")
    yield running
    running.stop()


def test_a_model_is_made_learns_predicts_explains_and_can_be_taken_home(server: Server, tmp_path: Path) -> None:
    events = datasets.clicks(600)
    with Client(f"http://127.0.0.1:{server.port}", batch=200) as client:
        client.create("clicks", task="classes", label="click")
        answers = client.learn("clicks", events)
        assert len(answers) == 600
        event = {name: value for name, value in events[-1].items() if name != "click"}
        answer = client.predict("clicks", event)
        assert sum(answer["probabilities"].values()) == pytest.approx(1.0)
        assert client.explain("clicks", event)["parts"]
        assert [each["name"] for each in client.models()["models"]] == ["clicks"]
        assert client.describe("clicks")["events"] == 600
        file = tmp_path / "clicks.safetensors"
        file.write_bytes(client.snapshot("clicks"))
        assert odca.load(file).metrics.events == 600
        with pytest.raises(ServiceError) as caught:
            client.learn("clicks", {"site": "mail"})
        assert caught.value.status == 422


def test_a_label_that_comes_later_is_learned(server: Server) -> None:
    async def ask() -> int:
        async with AsyncClient(f"http://127.0.0.1:{server.port}") as client:
            await client.create("later", task="classes", classes=["no", "yes"], columns={"a": "number"})
            await client.predict("later", {"a": 1.0, "id": "x"})
            await client.label("later", {"id": "x", "label": "yes"})
            return int((await client.describe("later"))["events"])

    assert asyncio.run(ask()) == 1


def test_a_request_that_meets_a_restart_is_sent_again_and_learned_once(tmp_path: Path) -> None:
    events, server = datasets.load(400), Server(tmp_path / "models")
    with Client(f"http://127.0.0.1:{server.port}", batch=100) as client:
        client.create("load", task="numbers", label="load")

        def interrupted() -> Iterator[dict[str, object]]:
            nonlocal server
            for n, event in enumerate(events):
                if n == 250:
                    server.kill()
                    server = Server(tmp_path / "models", port=server.port)
                yield event

        assert len(client.learn("load", interrupted())) == 400
        assert client.describe("load")["events"] == 400
    server.stop()
