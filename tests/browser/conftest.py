"""A service to look at, and a browser to look with. (The modules that need selenium are imported when a test asks for them.)"""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from browsing import Browser
    from watched import Watched


@pytest.fixture(scope="session")
def window(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Browser]":
    from browsing import CHROMIUM, DRIVER, Browser

    missing = [name for name, path in (("chromium", CHROMIUM), ("chromedriver", DRIVER)) if path is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (Debian: apt install chromium chromium-driver)")
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def browser(window: "Browser") -> "Iterator[Browser]":
    """The window as a new one: light, wide, and nothing remembered."""
    window.resize(1320, 900)
    window.colours("light")
    yield window
    window.run("if (location.protocol === 'http:') { sessionStorage.clear(); localStorage.clear(); }")
    window.driver.get("about:blank")


@pytest.fixture
def served(window: "Browser", tmp_path: Path) -> "Iterator[Watched]":
    """A service of its own, which has no models yet."""
    from watched import Watched

    with Watched(tmp_path / "models") as service:
        yield service


@pytest.fixture(scope="session")
def shop(window: "Browser", tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Watched]":
    """A service that has been busy for half a minute: 10,000 events, of which some are labelled late. Tests look at it, and change nothing."""
    from watched import Watched, fill_shop

    with Watched(tmp_path_factory.mktemp("shop")) as service:
        fill_shop(service)
        yield service
