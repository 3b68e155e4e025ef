"""What a person sees of a service: all models, then one of them."""

import re
import time
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("selenium", reason="selenium drives the browser: pip install 'odca[browser]'")

from watched import POINT, Watched, orders

if TYPE_CHECKING:
    from browsing import Browser

pytestmark = pytest.mark.browser

ROW = "table.models tbody tr"


def numbers(text: str) -> list[float]:
    return [float(each.replace(",", "")) for each in re.findall(r"[\d,]*\d(?:\.\d+)?", text)]


def test_an_empty_service_shows_commands_that_make_the_first_model(browser: "Browser", served: Watched) -> None:
    import subprocess

    with browser.quiet():
        browser.open(served.url)
        browser.sees("No models yet", "main")
        commands = [each.text for each in browser.all(".copyable code")]
        assert len(commands) == 2
        for command in commands:
            ran = subprocess.run(
                ["sh", "-c", f"{command} --silent --show-error --fail"],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert ran.returncode == 0, ran.stderr
        browser.sees("shop", ROW)  # by itself, without a reload
        browser.sees("collecting", ROW)
        browser.click(f"{ROW} a")
        browser.sees("1 of 100 labelled events", "main")


def test_the_overview_shows_each_model_beside_its_baseline(browser: "Browser", shop: Watched) -> None:
    with browser.quiet():
        browser.open(shop.url)
        row = browser.until(lambda: browser.one(ROW), "no model")
        cells = {each.get_attribute("data-title"): each.text for each in row.find_elements("css selector", "td")}
        assert cells["Events"] == "10,000"
        assert cells["Labels awaited"].startswith("12")
        score, baseline = numbers(cells["Score, lately"])[0], numbers(cells["Baseline"])[0]
        assert 80 < score <= 100
        assert 40 < baseline < 70
        assert "ready" in row.text
        assert browser.text(".connection") == "Live"
        assert browser.driver.title == "Models · odca"


def test_after_10_000_events_a_model_shows_how_it_went(browser: "Browser", shop: Watched) -> None:
    with browser.quiet():
        browser.open(f"{shop.url}#/models/shop")
        browser.sees("10,000", ".figures")
        figures = browser.text(".figures")
        for title in (
            "Accuracy, all events",
            "Loss, lately",
            "Events learned",
            "Events per second",
            "Labels awaited",
            "Drift alarms",
        ):
            assert title in figures
        # The score over time, beside the baselines: lines on axes, and the same as a table.
        chart = browser.one("figure.chart")
        assert chart.find_element("css selector", "h3").text == "Accuracy"
        assert [each.text for each in chart.find_elements("css selector", ".legend li bdi")] == [
            "model",
            "no change",
            "majority class",
        ]
        path = chart.find_element("css selector", "path.line.s-model").get_attribute("d")
        assert path is not None
        assert path.count("L") >= 2
        assert len(chart.find_elements("css selector", "text.axis")) >= 5
        chart.find_element("css selector", "summary").click()
        rows = browser.until(lambda: chart.find_elements("css selector", "tbody tr"), "no table")
        assert len(rows) >= 3
        learned = [numbers(each.find_element("css selector", "td").text)[0] for each in rows]
        assert learned == sorted(learned, reverse=True)  # the newest first
        assert 9_000 < learned[0] <= 10_000
        # Calibration, labels, weights, memories.
        assert "differ from predicted probabilities by" in browser.text("main")
        assert browser.all("svg.calibration circle")
        labels = browser.text("section[aria-labelledby=panel-throughput-and-labels]")
        assert "Labelled late\n100" in labels
        weights = browser.text("table.weights")
        assert "price" in weights
        assert "country=NZ" in weights
        assert browser.all("table.weights svg.spark path.line")
        memories = browser.one("section[aria-labelledby=panel-what-the-model-believes-in]")
        assert len(memories.find_elements("css selector", "path.area")) >= 3
        shares = [numbers(each.text)[-1] for each in memories.find_elements("css selector", ".legend li")]
        assert sum(shares) == pytest.approx(100, abs=3)  # each is rounded


def test_the_loss_and_longer_spans_can_be_chosen(browser: "Browser", shop: Watched) -> None:
    with browser.quiet():
        browser.open(f"{shop.url}#/models/shop")
        browser.click(".choice label:has(input[value=loss])")
        browser.until(lambda: browser.text("figure.chart:not([hidden]) h3") == "Loss", "no loss")
        for span in ("day", "month", "hour"):
            browser.click(f".choice label:has(input[value={span}])")
            browser.until(lambda: browser.all("figure.chart .s-model"), f"nothing drawn for {span}")


def test_what_is_learned_appears_without_a_reload(browser: "Browser", served: Watched) -> None:
    served.create("live", first_events=20)
    with browser.quiet():
        browser.open(f"{served.url}#/models/live")
        browser.sees("0 of 20 labelled events", "main")
        served.learn("live", orders(500, seed=3))
        browser.sees("500", ".figures")
        served.learn("live", orders(250, seed=4))
        browser.sees("750", ".figures")


def test_a_prediction_can_be_tried_and_is_explained(browser: "Browser", shop: Watched) -> None:
    with browser.quiet():
        browser.open(f"{shop.url}#/models/shop")
        fields = {}
        browser.until(lambda: len(browser.all(".field")) == 3, "no fields")
        for field in browser.all(".field"):
            label = field.find_element("css selector", "label bdi").text
            fields[label] = field.find_element("css selector", "input")
        assert set(fields) == {"price", "hour", "country"}
        fields["price"].send_keys("90")
        fields["country"].send_keys("NZ")
        browser.click(".try button[type=submit]")
        browser.sees("Prediction", ".answer")
        answer = browser.text(".answer")
        assert "Prediction\nyes" in answer
        assert "price" in answer
        assert "constant" in answer
        before = shop.describe("shop")
        assert (before["events"], before["pending"]) == (10_000, 12)  # nothing was learned or stored


def test_a_class_that_is_a_number_is_shown_as_it_is_called(browser: "Browser", served: Watched) -> None:
    served.create("codes")
    served.learn("codes", [{**each, "label": 20 if each["label"] == "yes" else 10} for each in orders(500, seed=6)])
    with browser.quiet():
        browser.open(f"{served.url}#/models/codes")
        browser.click(".try button[type=submit]")
        browser.sees("Prediction", ".answer")
        assert browser.text(".answer .prediction").split("\n")[1] in {"10", "20"}  # and not 10.0


def test_a_model_of_numbers_shows_its_mean_absolute_error(browser: "Browser", served: Watched) -> None:
    events = [{**each, "label": 2.0 * each["price"] + each["hour"]} for each in orders(2_000, seed=5)]
    served.create("demand", task="numbers")
    served.learn("demand", events[:1_000])
    time.sleep(POINT + 1.0)
    served.learn("demand", events[1_000:])
    with browser.quiet():
        browser.open(f"{served.url}#/models/demand")
        browser.sees("Mean absolute error", ".figures")
        browser.sees("A model of numbers has no probabilities.", "main")
        legend = browser.until(lambda: browser.all("figure.chart .legend li bdi"), "no chart")
        assert [each.text for each in legend[:3]] == ["model", "no change", "mean so far"]


def test_refused_requests_are_listed_and_bad_numbers_are_not_sent(browser: "Browser", served: Watched) -> None:
    served.create("strict", task="classes", classes=["no", "yes"], columns={"price": "number"})
    served.learn("strict", [{"price": 1.0, "label": "no"}, {"price": 2.0, "label": "yes"}])
    refused = served.client.post("/v1/models/strict/learn", {"price": "cheap <b>", "label": "yes"})
    assert refused.status == 422
    with browser.quiet():
        browser.open(f"{served.url}#/models/strict")
        errors = "section[aria-labelledby=panel-last-errors]"
        browser.sees("422", errors)
        browser.sees("cheap <b>", errors)
        # What the form can check itself is not sent.
        browser.one(".field input").send_keys("cheap")
        browser.click(".try button[type=submit]")
        browser.sees("must be a number", ".answer")
        assert browser.focused.get_attribute("aria-invalid") == "true"


def test_an_unknown_model_says_so(browser: "Browser", served: Watched) -> None:
    with browser.quiet(allowed=("404",)):
        browser.open(f"{served.url}#/models/nobody")
        browser.sees("There is nothing here", "main")
        browser.click("main a")
        browser.sees("No models yet", "main")
