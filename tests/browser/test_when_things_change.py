"""Drift, restarts, and connections that break."""

import time
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("selenium", reason="selenium drives the browser: pip install 'odca[browser]'")

from watched import POINT, Watched, orders

if TYPE_CHECKING:
    from browsing import Browser

pytestmark = pytest.mark.browser

ALARMS = "section[aria-labelledby=panel-drift-alarms]"
OFFLINE = (
    "ERR_CONNECTION_REFUSED",
    "ERR_INCOMPLETE_CHUNKED_ENCODING",
    "ERR_CONNECTION_RESET",
    "ERR_EMPTY_RESPONSE",
    "503",
)


def learn_slowly(service: Watched, *, seed: int, flipped: bool = False, stretches: int = 2) -> None:
    for k in range(stretches):
        service.learn("shop", orders(1_500, seed=seed + k, flipped=flipped))
        time.sleep(POINT + 1.0)


def table_rows(browser: "Browser") -> list[str]:
    """The rows of the first chart's table, the newest first."""
    summary = "figure.chart:not([hidden]) details:not([open]) > summary"
    if browser.all(summary):
        browser.all(summary)[0].click()
    return browser.until(
        lambda: [each.text for each in browser.all("figure.chart:not([hidden]) .table-scroll tbody tr")], "no table"
    )


def test_a_flip_is_seen_as_an_alarm_and_is_still_there_after_a_restart(browser: "Browser", served: Watched) -> None:
    served.create("shop", first_events=100)
    learn_slowly(served, seed=10)
    with browser.quiet(allowed=OFFLINE):
        browser.open(f"{served.url}#/models/shop")
        browser.sees("No drift so far", ALARMS)
        assert browser.text("h1 + .badge") == "ready"

        learn_slowly(served, seed=20, flipped=True)
        browser.sees("The loss rose from", ALARMS)
        assert browser.text("h1 + .badge") == "drift"
        assert "the loss rose from" in browser.text(".banner")
        assert browser.all("figure.chart .alarm-mark")
        assert browser.driver.title.startswith("⚠ shop")
        assert "Drift alarm" in browser.run("return document.getElementById('announce').textContent")
        before = table_rows(browser)
        assert any("the loss rose from" in row for row in before)

        served.stop()
        browser.sees("This page reconnects by itself.", "#notice")
        assert browser.text(".connection") == "Not connected"
        assert "6,000" in browser.text(".figures")  # what was known stays in sight
        served.start()
        browser.until(lambda: browser.text(".connection") == "Live", "not live again")
        assert not browser.all("#notice")
        browser.sees("The loss rose from", ALARMS)

        browser.open(f"{served.url}#/models/shop")
        browser.sees("The loss rose from", ALARMS)
        assert browser.all("figure.chart .alarm-mark")
        after = table_rows(browser)
        assert set(before) <= set(after)
        learn_slowly(served, seed=30, flipped=True, stretches=1)
        browser.sees("7,500", ".figures")
        assert len(table_rows(browser)) > len(after)

        browser.open(served.url)
        browser.sees("drift", "table.models")


def test_a_deleted_model_says_so_and_leads_back(browser: "Browser", served: Watched) -> None:
    served.create("gone", first_events=20)
    served.learn("gone", orders(50, seed=1))
    with browser.quiet(allowed=("404",)):
        browser.open(f"{served.url}#/models/gone")
        browser.sees("50", ".figures")
        served.delete("gone")
        browser.sees("There is nothing here", "main")
        browser.click("main a")
        browser.sees("No models yet", "main")


def test_try_now_does_not_wait(browser: "Browser", served: Watched) -> None:
    with browser.quiet(allowed=OFFLINE):
        browser.open(served.url)
        browser.sees("No models yet", "main")
        served.stop()
        browser.sees("reconnects by itself", "#notice")
        time.sleep(8.0)  # by now it waits for longer than a person would
        served.start()
        browser.click("#notice button")
        browser.until(lambda: browser.text(".connection") == "Live", "not live again", patience=3.0)
