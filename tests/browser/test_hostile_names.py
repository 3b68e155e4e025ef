"""Names of columns and classes come from anybody. They are shown as they are, and do nothing."""

import json
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("selenium", reason="selenium drives the browser: pip install 'odca[browser]'")

import numpy as np

from watched import Watched

if TYPE_CHECKING:
    from browsing import Browser

pytestmark = pytest.mark.browser

SCRIPT = "<script>window.hacked = 1</script>"
IMAGE = "<img src=x onerror=window.hacked=1>"
QUOTES = "\"'`&<!--\\${1}"
RIGHT_TO_LEFT = "\u202e\u05de\u05d7\u05d9\u05e8\u202e abc"
LONG = "very_long_name_" * 12
PROTOTYPE = "__proto__"
COLUMNS = [SCRIPT, IMAGE, QUOTES, RIGHT_TO_LEFT, LONG, PROTOTYPE, "constructor", " ", "a\nb", "✓ 価格"]
CLASSES = ["<b>no</b>", f"yes {QUOTES}"]


@pytest.fixture
def hostile(served: Watched) -> Watched:
    rng = np.random.default_rng(0)
    served.create("hostile", first_events=50)
    lines = []
    for x in rng.normal(size=(400, len(COLUMNS))):
        label = CLASSES[int(x.sum() + 0.3 * rng.normal() > 0)]
        lines.append({**dict(zip(COLUMNS, x.round(3).tolist(), strict=True)), "label": label})
    served.learn("hostile", lines)
    return served


def test_hostile_names_are_texts_and_nothing_else(browser: "Browser", hostile: Watched) -> None:
    with browser.quiet():
        browser.open(f"{hostile.url}#/models/hostile")
        browser.sees("400", ".figures")
        browser.until(lambda: len(browser.all(".field")) == len(COLUMNS), "not all fields")
        shown = browser.run("return [...document.querySelectorAll('.field label bdi')].map((each) => each.textContent)")
        assert set(shown) == set(COLUMNS)
        for k, field in enumerate(browser.all(".field input")):
            field.send_keys(str(k))
        browser.click(".try button[type=submit]")
        browser.sees("Prediction", ".answer")
        browser.one(".try .answer details summary").click()
        command = browser.text(".answer .copyable code")
        sent = json.loads(command.split(" -d '", 1)[1].rsplit("'", 1)[0].replace("'\\''", "'"))
        assert set(sent) == set(COLUMNS)
        browser.run("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        assert SCRIPT in browser.text("main")
        assert CLASSES[0] in browser.text("main")
        # Nothing became an element, nothing ran.
        assert browser.run("return window.hacked ?? null") is None
        assert (
            browser.run("return document.querySelectorAll('main script, main img, main b b, main iframe').length") == 0
        )
        assert browser.run("return document.scripts.length") == 1
        for width in (1320, 360):
            browser.resize(width, 800, phone=width < 500)
            assert browser.run("return document.documentElement.scrollWidth") <= width, browser.run(
                "return [...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.outerHTML.slice(0, 120)).slice(0,12)"
            )


def test_an_address_cannot_inject_anything(browser: "Browser", served: Watched) -> None:
    with browser.quiet(allowed=("404", "400")):
        for name in (SCRIPT, IMAGE, "..%2f..%2fv1%2fservice", "%", "a/b"):
            browser.open(f"{served.url}#/models/{name}")
            browser.until(
                lambda: "nothing here" in browser.text("main") or "No models yet" in browser.text("main"), name
            )
            assert browser.run("return window.hacked ?? null") is None
            assert browser.run("return document.querySelectorAll('main script, main img').length") == 0


def test_the_policy_forbids_inline_scripts_styles_and_html(browser: "Browser", served: Watched) -> None:
    browser.open(served.url)
    browser.sees("No models yet", "main")
    tried = browser.run("""
        const found = {};
        const script = document.createElement("script");
        try { script.text = "window.inline = 1"; document.head.append(script); } catch { found.script = "blocked"; }
        try { document.createElement("div").innerHTML = "<b>x</b>"; } catch { found.html = "blocked"; }
        const styled = document.createElement("p");
        styled.setAttribute("style", "color: rgb(1, 2, 3)");
        document.body.append(styled);
        found.style = getComputedStyle(styled).color === "rgb(1, 2, 3)" ? "allowed" : "blocked";
        return [found, window.inline ?? null];
    """)
    assert tried == [{"script": "blocked", "html": "blocked", "style": "blocked"}, None]
    assert (
        browser.driver.execute_async_script(
            "const done = arguments[0]; fetch('http://127.0.0.2:9/').then(() => done('sent'), () => done('blocked'));"
        )
        == "blocked"
    )
    assert any("connect-src" in each for each in browser.complaints())
