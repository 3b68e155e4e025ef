"""The modules that prepare what is drawn, run where they live: in the browser."""

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("selenium", reason="selenium drives the browser: pip install 'odca[browser]'")

if TYPE_CHECKING:
    from browsing import Browser
    from watched import Watched

pytestmark = pytest.mark.browser


def run(browser: "Browser", shop: "Watched", module: str, body: str) -> Any:
    """What the body returns; the module's exports are in `m`."""
    browser.open(shop.url)
    opening, closing = (
        "const [path, done] = arguments; import(path).then((m) => {",
        "}).then(done, (error) => done(String(error)));",
    )
    return browser.driver.execute_async_script(f"{opening}{body}{closing}", f"{shop.url}page/{module}")


def test_a_history_in_pieces_is_the_whole_one(browser: "Browser", shop: "Watched") -> None:
    assert run(
        browser,
        shop,
        "history.js",
        """
        const part = (from, to) => {
            const times = Array.from({ length: to - from }, (_, i) => from + i);
            const late = times.map((t) => (t < 4 ? null : t));
            return { every: 10, time: times, events: times, events_per_second: times, loss: late, pending: times, label_delay: late,
                scores: { accuracy: times }, groups: { a: times, ...(to > 4 ? { b: late } : {}) }, weights: { ["__proto__"]: times }, alarms: from <= 3 && 3 < to ? [{ time: 3, event: 3, text: "x" }] : [] };
        };
        const plain = (h) => JSON.stringify({ ...h, scores: [...h.scores], groups: [...h.groups], weights: [...h.weights] });
        const whole = plain(m.appended(m.emptyHistory(), part(0, 10)));
        const wrong = [];
        for (let cut = 0; cut <= 10; cut += 1) {
            for (const overlap of [0, 1, 2]) { // the service may send its last points again
                const pieces = m.appended(m.appended(m.emptyHistory(), part(0, cut)), part(Math.max(0, cut - overlap), 10));
                if (plain(pieces) !== whole) wrong.push([cut, overlap]);
            }
        }
        const kept = m.appended(m.appended(m.emptyHistory(), part(0, 300)), part(300, 500));
        return [wrong, kept.time.length, kept.time[0], kept.weights.size];
        """,
    ) == [[], 360, 140, 1]


def test_ticks_are_round_numbers_that_enclose_the_values(browser: "Browser", shop: "Watched") -> None:
    wrong = run(
        browser,
        shop,
        "scales.js",
        """
        const wrong = [];
        for (const low of [-1e6, -3.7, 0, 1e-9, 0.41, 12, 99999]) {
            for (const width of [0, 1e-7, 0.013, 1, 7.7, 1e5, 3e9]) {
                const ticks = m.niceTicks(low, low + width, 5);
                const steps = ticks.slice(1).map((tick, i) => tick - ticks[i]);
                const slack = 1e-8 * steps[0]; // less than a pixel
                const even = steps.every((step) => Math.abs(step - steps[0]) <= 1e-6 * Math.abs(step) + 1e-9 * Math.abs(low));
                if (!(ticks.length >= 2 && ticks.length <= 13 && even && ticks[0] <= low + slack && ticks.at(-1) >= low + width - slack)) wrong.push([low, width, ticks]);
            }
        }
        return wrong;
        """,
    )
    assert wrong == []


TEXTS = {
    "number(0.123456)": "0.123",
    "number(-1234.5)": "−1,235",
    "number(1e-9)": "1.00e-9",
    "number(null)": "–",
    "percent(0.9312)": "93.1%",
    "signed(0.5)": "+0.500",
    "duration(0)": "0 s",
    "duration(0.25)": "250 ms",
    "duration(86.2)": "86 s",
    "duration(1920)": "32 min",
    "duration(604800)": "7 days",
    "bytes(999)": "999 B",
    "bytes(120000)": "120 KB",
    "tickNumber(0.5, 0.5)": "0.5",
    "tickNumber(-20, 10)": "−20",
    "tickPercent(0.92, 0.02)": "92%",
    "tickPercent(0.925, 0.005)": "92.5%",
    "rate(0.34)": "0.3",
    "rate(7812.4)": "7,812",
}


def test_numbers_read_as_people_write_them(browser: "Browser", shop: "Watched") -> None:
    calls = ", ".join(f"m.{call}" for call in TEXTS)
    assert dict(zip(TEXTS, run(browser, shop, "format.js", f"return [{calls}];"), strict=True)) == TEXTS
