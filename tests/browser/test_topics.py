"""Topics on the page: what was read, what was skipped, and that the broker is gone."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("selenium", reason="selenium drives the browser: pip install 'odca[browser]'")

from brokers import redis_server
from watched import Watched, orders

if TYPE_CHECKING:
    from browsing import Browser

pytestmark = pytest.mark.browser

TOPICS = "section[aria-labelledby=panel-topics]"


def test_a_person_sees_what_was_read_what_was_skipped_and_that_the_broker_is_gone(
    browser: "Browser", tmp_path: Path
) -> None:
    messages = [json.dumps(each).encode() for each in orders(500, seed=1)]
    with redis_server(tmp_path / "redis") as redis:
        redis.send("orders", [*messages, b"<b>no event</b>"])
        with Watched(tmp_path / "models", follow=f"shop={redis.address('orders')}") as service, browser.quiet():
            service.create("shop", first_events=100)
            browser.open(f"{service.url}#/models/shop")
            browser.sees("redis:orders", TOPICS)
            browser.sees("501", f"{TOPICS} tbody tr:first-child td:nth-child(3)")
            assert browser.text(f"{TOPICS} .badge") == "following"
            assert browser.text(f"{TOPICS} tbody tr:first-child td:last-child") == "1"
            browser.sees("expected an object in braces; got '<b>no event</b>'", TOPICS)
            assert browser.text("h1 + .badge") == "ready"

            redis.stop()
            browser.sees("disconnected", f"{TOPICS} .badge")
            browser.sees("topic", "h1 + .badge")
            assert redis.address("orders") in browser.text(".banner")
            assert browser.driver.title.startswith("⚠ shop")
            browser.open(service.url)
            browser.sees("1 with a problem")

            redis.start()
            redis.send("orders", messages[:10])
            browser.sees("all well")
            browser.open(f"{service.url}#/models/shop")
            browser.sees("511", f"{TOPICS} tbody tr:first-child td:nth-child(3)")
            browser.sees("following", f"{TOPICS} .badge")
