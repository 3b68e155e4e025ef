"""Take the pictures of docs/serve/ anew, in about four minutes: python tests/tools/screenshots.py

A service with four models is watched in Chromium while the stream of clicks goes through one of them, whose pattern is reversed half-way.
Needs `pip install '.[browser,client]'`, chromium, chromedriver and redis-server. Look at the pictures before they are committed.
"""

import base64
import io
import json
import random
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from brokers import Redis, redis_server
from browsing import Browser
from odca import datasets
from watched import POINT, Watched, orders

PICTURES = Path(__file__).resolve().parent.parent.parent / "docs" / "serve"
STEPS, A_STEP = 200, 1.0
LATE = 10
"""Labels come this many steps after their events."""
MARGIN = 12
EVENT = {"site": "games", "device": "mobile", "age": "30", "ad": "ad44", "price": "12"}


def fill(service: Watched, redis: Redis, steps: int = STEPS) -> None:
    """Let three models learn for a few minutes; one is left with too few events to begin."""
    clicks = [{name: value for name, value in each.items() if name != "time"} for each in datasets.clicks()]
    per_step = len(clicks) // steps
    rng = random.Random(0)
    service.create("ads", label="click")
    service.create("demand", task="numbers")
    service.create("fresh")
    service.learn("fresh", orders(40, seed=3))
    for step in range(steps):
        began = time.monotonic()
        events = clicks[step * per_step : (step + 1) * per_step]
        late = [{**each, "id": f"{step}-{k}"} for k, each in enumerate(events[::20])]
        service.learn("ads", [each for k, each in enumerate(events) if k % 20])
        service.predict("ads", [{k: v for k, v in each.items() if k != "click"} for each in late])
        if step >= LATE:
            before = clicks[(step - LATE) * per_step : (step - LATE + 1) * per_step : 20]
            service.label("ads", [{"id": f"{step - LATE}-{k}", "click": e["click"]} for k, e in enumerate(before)])
        if step % 60 == 30:
            service.client.post("/v1/models/ads/learn", {"site": "games", "age": "thirty", "click": 1})
            service.client.post("/v1/models/ads/learn", {"site": "games", "age": 30})
        redis.send("orders", [json.dumps(each).encode() for each in orders(40, seed=step, flipped=step > 0.55 * steps)])
        service.learn("demand", [demand(rng) for _ in range(25)])
        time.sleep(max(0.0, A_STEP - (time.monotonic() - began)))


def demand(rng: random.Random) -> dict[str, float]:
    hour, temperature = rng.randrange(24), rng.gauss(15.0, 8.0)
    return {
        "hour": hour,
        "temperature": round(temperature, 1),
        "label": 40 + 3 * abs(temperature - 18) + rng.gauss(0, 3),
    }


def take(browser: Browser, name: str, first: str = "body", last: str | None = None) -> None:
    """A picture of the page from the top of some elements to the bottom of others, or of the same."""
    edges = """
        const [above, below] = [...arguments].map((css) => [...document.querySelectorAll(css)].map((each) => each.getBoundingClientRect()));
        return [Math.min(...above.map((each) => each.top)) + scrollY, Math.max(...below.map((each) => each.bottom)) + scrollY];
    """
    top, bottom = browser.run(edges, first, last or first)
    top = max(top - MARGIN, 0.0)
    clip = {"x": 0, "y": top, "width": browser.run("return innerWidth"), "height": bottom + MARGIN - top, "scale": 1}
    taken = browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    picture = Image.open(io.BytesIO(base64.b64decode(taken["data"])))
    picture.convert("RGB").quantize(128).save(PICTURES / f"{name}.png", optimize=True)


def look(browser: Browser, url: str) -> None:
    """Look at the models, and take pictures."""
    browser.resize(1100, 500)
    browser.open(url)
    browser.sees("demand")
    time.sleep(2.0)
    take(browser, "models", "header", "main")
    browser.open(f"{url}#/models/returns-eu")
    browser.sees("redis:orders")
    take(browser, "topics", "section[aria-labelledby=panel-topics]")
    browser.open(f"{url}#/models/ads")
    browser.sees("Drift alarms")
    time.sleep(2.0)
    take(browser, "model", "header", "section.wide")
    for field in browser.all(".field"):
        if (value := EVENT.get(field.text.split()[0])) is not None:
            field.find_element("css selector", "input").send_keys(value)
    browser.click("form button[type=submit]")
    browser.sees("One of these in 90%")
    take(browser, "details", ".stack")
    browser.resize(390, 800, phone=True)
    browser.colours("dark")
    browser.open(f"{url}#/models/ads")
    browser.sees("Drift alarms")
    time.sleep(2.0)
    take(browser, "phone", "header", "section.wide .choices + *")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, redis_server(Path(folder) / "redis") as redis:
        redis.send("orders", [b"this is not an event"])
        follow = f"returns-eu={redis.address('orders')}"
        with Watched(Path(folder) / "models", follow=follow) as service:
            service.create("returns-eu")
            fill(service, redis)
            time.sleep(POINT)
            with closing(Browser(Path(folder) / "profile")) as browser:
                look(browser, service.url)


if __name__ == "__main__":
    main()
