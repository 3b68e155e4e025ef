"""A browser and what a person does with it: look, click, type, tab. Chromium runs headless and talks to nobody but the service."""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",  # containers run as root
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
PATIENCE = 30.0
Result = TypeVar("Result")


class Browser:
    """One window."""

    def __init__(self, profile: Path) -> None:
        options = Options()
        options.binary_location = str(CHROMIUM)
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
        self.resize(1320, 900)
        self.colours("light")

    # What a person does

    def open(self, address: str) -> None:
        """Open the address as in a new tab (a change after # alone would not load the page again)."""
        self.driver.get("about:blank")
        self.driver.get(address)

    def click(self, css: str) -> None:
        self.until(lambda: self._click(css), f"nothing to click at {css}")

    def _click(self, css: str) -> bool:
        self.one(css).click()
        return True

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.driver.switch_to.active_element.send_keys(text)

    def tab(self) -> WebElement:
        """Press the tabulator; what has the focus then."""
        self.type(Keys.TAB)
        return self.focused

    @property
    def focused(self) -> WebElement:
        return self.driver.switch_to.active_element

    # What a person sees

    def one(self, css: str) -> WebElement:
        """The first visible element."""
        seen = [each for each in self.driver.find_elements(By.CSS_SELECTOR, css) if each.is_displayed()]
        assert seen, f"nothing visible at {css}; the page says:\n{self.text()}"
        return seen[0]

    def all(self, css: str) -> list[WebElement]:
        return [each for each in self.driver.find_elements(By.CSS_SELECTOR, css) if each.is_displayed()]

    def text(self, css: str = "body") -> str:
        return str(self.driver.find_element(By.CSS_SELECTOR, css).text)

    def until(self, condition: Callable[[], Result], what: str, patience: float = PATIENCE) -> Result:
        """What the condition says as soon as that is true. Elements may be replaced meanwhile, or not be there yet."""
        end = time.monotonic() + patience
        reason: object = None
        while True:
            try:
                if result := condition():
                    return result
            except (AssertionError, StaleElementReferenceException, WebDriverException) as error:
                reason = error
            assert time.monotonic() < end, f"{what} within {patience:g} s ({reason}); the page says:\n{self.text()}"
            time.sleep(0.1)

    def sees(self, text: str, css: str = "body", patience: float = PATIENCE) -> None:
        """Wait until the text is visible there."""
        self.until(lambda: text in self.text(css), f"{text!r} does not appear in {css}", patience)

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    # How it is looked at

    def resize(self, width: int, height: int, *, phone: bool = False) -> None:
        self._devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone
        )
        self._devtools("Emulation.setTouchEmulationEnabled", enabled=phone)

    def colours(self, scheme: str, *, reduced_motion: bool = False) -> None:
        features = {
            "prefers-color-scheme": scheme,
            "prefers-reduced-motion": "reduce" if reduced_motion else "no-preference",
        }
        self._devtools("Emulation.setEmulatedMedia", features=[{"name": k, "value": v} for k, v in features.items()])

    def _devtools(self, command: str, **parameters: object) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)

    def accessible(self) -> list[dict[str, Any]]:
        """What a screen reader is told of: role, name and whether it can have the focus."""
        nodes = self._devtools("Accessibility.getFullAXTree")["nodes"]
        return [
            {
                "role": each["role"]["value"],
                "name": each.get("name", {}).get("value", ""),
                "focusable": any(p["name"] == "focusable" and p["value"]["value"] for p in each.get("properties", [])),
                "value": each.get("value", {}).get("value"),
            }
            for each in nodes
            if not each["ignored"]
        ]

    # What went on behind the page

    def complaints(self) -> list[str]:
        """Errors and warnings of the console since the last call."""
        return [each["message"] for each in self.driver.get_log("browser") if each["level"] in {"SEVERE", "WARNING"}]

    def requests(self) -> Iterator[str]:
        """The addresses that were asked for since the last call."""
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                yield message["params"]["request"]["url"]

    @contextmanager
    def quiet(self, *, allowed: tuple[str, ...] = ()) -> Iterator[None]:
        """Inside, the console must stay empty (but for messages with one of the texts in them) and no other host be asked."""
        self.complaints(), list(self.requests())
        yield
        host = urlsplit(self.driver.current_url).netloc
        asked = {urlsplit(url).netloc for url in self.requests() if urlsplit(url).scheme not in {"about", "data"}}
        assert asked <= {host}
        assert [each for each in self.complaints() if not any(text in each for text in allowed)] == []

    def close(self) -> None:
        self.driver.quit()
