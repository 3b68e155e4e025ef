"""Phones, keyboards, screen readers, colours, motion."""

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("selenium", reason="selenium drives the browser: pip install 'odca[browser]'")

if TYPE_CHECKING:
    from browsing import Browser
    from watched import Watched

pytestmark = pytest.mark.browser

VIEWS = ["", "#/models/shop"]

CONTRAST = """
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return canvas.getImageData(0, 0, 1, 1).data; };
    const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (element) => { for (let e = element; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255]; };
    const bad = [];
    let seen = 0;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility({ visibilityProperty: true }) || element.closest(".visually-hidden, .skip, option")) continue;
        const style = getComputedStyle(element);
        const text = rgba(element instanceof SVGElement ? style.fill : style.color);
        const [light, dark] = [luminance(text), luminance(behind(element))].sort((a, b) => b - a);
        const ratio = (light + 0.05) / (dark + 0.05);
        seen += 1;
        if (ratio < 4.5) bad.push(`${ratio.toFixed(2)}: ${walker.currentNode.data.trim().slice(0, 40)}`);
    }
    return [seen, bad];
"""


def opened(browser: "Browser", shop: "Watched", view: str) -> None:
    browser.open(shop.url + view)
    browser.sees("10,000", "main")


@pytest.mark.parametrize("view", VIEWS)
def test_a_phone_shows_everything_without_scrolling_sideways(browser: "Browser", shop: "Watched", view: str) -> None:
    browser.resize(360, 740, phone=True)
    with browser.quiet():
        opened(browser, shop, view)
        assert browser.run("return document.documentElement.scrollWidth") == 360
        too_small = browser.run("""
            return [...document.querySelectorAll("button, select, input, summary, main a")].filter((each) => each.checkVisibility()).map((each) => [each.outerHTML.slice(0, 80),
                each.getBoundingClientRect()]).filter(([, box]) => box.height < 20 || box.width < 20 || box.right > 361 || box.left < -1).map(([html]) => html);
        """)
        assert too_small == []


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_the_contrast_of_aa(browser: "Browser", shop: "Watched", view: str, scheme: str) -> None:
    browser.colours(scheme)
    opened(browser, shop, view)
    seen, bad = browser.run(CONTRAST)
    assert bad == []
    assert seen > 20


def test_the_switch_of_colours_wins_over_the_system_and_is_remembered(browser: "Browser", shop: "Watched") -> None:
    def background() -> str:
        return str(browser.run("return getComputedStyle(document.body).backgroundColor"))

    opened(browser, shop, "")
    light = background()
    browser.run(
        "const theme = document.getElementById('theme'); theme.value = 'dark'; theme.dispatchEvent(new Event('change'));"
    )
    dark = background()
    assert light != dark
    opened(browser, shop, "")
    assert background() == dark
    browser.colours("dark")
    browser.run(
        "const theme = document.getElementById('theme'); theme.value = 'auto'; theme.dispatchEvent(new Event('change'));"
    )
    assert background() == dark
    browser.colours("light")
    assert background() == light


def test_a_person_with_a_keyboard_gets_everywhere(browser: "Browser", shop: "Watched") -> None:
    from selenium.webdriver.common.keys import Keys

    with browser.quiet():
        opened(browser, shop, "")
        assert browser.tab().text == "Skip to the content"
        browser.type(Keys.ENTER)
        assert browser.focused.get_attribute("id") == "main"
        while browser.tab().tag_name != "a":
            assert browser.focused.tag_name == "button"  # headings that sort
        browser.type(Keys.ENTER)
        browser.sees("10,000", ".figures")
        assert browser.focused.get_attribute("id") == "main"

        met = []
        for _ in range(80):
            focused = browser.tab()
            if focused.tag_name == "body":
                break
            outline = browser.run(
                "const s = getComputedStyle(arguments[0].matches('.choice input') ? arguments[0].nextElementSibling : arguments[0]); return s.outlineStyle",
                focused,
            )
            assert outline not in {"none", ""}, focused.get_attribute("outerHTML")
            met.append(
                f"{focused.tag_name} {focused.get_attribute('role') or focused.get_attribute('type') or ''}".strip()
            )
            if focused.get_attribute("role") == "slider" and met.count("div slider") == 1:
                newest = focused.get_attribute("aria-valuetext")
                browser.type(Keys.ARROW_LEFT)
                assert focused.get_attribute("aria-valuetext") != newest
                assert browser.one(".tip")
                browser.type(Keys.END)
                assert focused.get_attribute("aria-valuetext") == newest
                browser.type(Keys.ESCAPE)
                assert not browser.all(".tip")
            if focused.tag_name == "summary" and met.count("summary") == 1:
                browser.type(Keys.ENTER)
                browser.until(lambda: browser.all(".table-scroll tbody tr"), "no table")
            if (
                focused.tag_name == "input"
                and focused.get_attribute("inputmode") == "decimal"
                and not browser.text(".answer")
            ):
                browser.type("50" + Keys.ENTER)
                browser.sees("Prediction", ".answer")
        assert met.count("div slider") >= 4
        assert {"input radio", "summary", "input text", "select select-one", "button submit"} <= set(met)


@pytest.mark.parametrize("view", VIEWS)
def test_a_screen_reader_is_told_what_everything_is(browser: "Browser", shop: "Watched", view: str) -> None:
    opened(browser, shop, view)
    nodes = browser.accessible()
    roles = [each["role"] for each in nodes]
    assert {"banner", "main", "navigation", "heading", "status"} <= set(roles)
    unnamed = [
        each for each in nodes if each["focusable"] and not each["name"] and each["role"] not in {"main", "RootWebArea"}
    ]
    assert unnamed == []
    if view:
        charts = [each for each in nodes if each["role"] == "slider"]
        assert charts
        assert all(each["value"] not in {"", None} for each in charts)
        pictures = browser.run(
            "return [...document.querySelectorAll('figure.chart')].filter((each) => each.querySelector('.stage').checkVisibility()).map((each) => each.querySelector('details summary') !== null)"
        )
        assert pictures
        assert all(pictures)
    levels = browser.run(
        "return [...document.querySelectorAll('h1, h2, h3')].filter((each) => each.checkVisibility()).map((each) => Number(each.tagName[1]))"
    )
    assert levels.count(1) == 1
    assert levels[0] == 1


def test_nothing_moves_for_those_who_asked_for_that(browser: "Browser", served: "Watched") -> None:
    browser.colours("light", reduced_motion=True)
    browser.open(served.url)
    browser.sees("No models yet", "main")
    browser.run("document.getElementById('connection').dataset.state = 'reconnecting'")
    assert browser.run("return document.getAnimations().length") == 0
    browser.colours("light")
    assert browser.run("return document.getAnimations().length") == 1
