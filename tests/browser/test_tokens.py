"""Who may look: the token field."""

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("selenium", reason="selenium drives the browser: pip install 'odca[browser]'")

from watched import Watched, make_token, orders

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from browsing import Browser

pytestmark = pytest.mark.browser


@pytest.fixture
def guarded(window: "Browser", tmp_path: "Path") -> "Iterator[Watched]":
    """A service that needs tokens, with one model."""
    admin = make_token(tmp_path, "admin")
    with Watched(tmp_path, token=admin) as service:
        service.create("shop", first_events=20)
        service.learn("shop", orders(200, seed=1))
        yield service


def test_a_wrong_token_is_refused_clearly_and_the_right_one_lets_in(browser: "Browser", guarded: Watched) -> None:
    from selenium.webdriver.common.keys import Keys

    assert guarded.token is not None
    with browser.quiet(allowed=("401",)):
        browser.open(guarded.url)
        browser.sees("This service needs a token.", "dialog")
        assert browser.focused.get_attribute("id") == "token"
        assert not browser.all("table.models")

        browser.type("odca_wrong" + Keys.ENTER)
        browser.sees("The service does not know this token.", "dialog")
        assert browser.text(".connection") == "Not allowed"

        browser.type(guarded.token + Keys.ENTER)
        browser.sees("shop", "table.models")
        assert not browser.all("dialog")
        assert not browser.all("#notice")
        # It stays in this tab: not in the address, in no cookie, nothing that outlives the tab, nowhere on the page.
        assert guarded.token not in browser.driver.current_url
        assert guarded.token not in browser.driver.page_source
        assert browser.run("return [document.cookie, JSON.stringify(localStorage)]") == ["", "{}"]

        browser.driver.refresh()
        browser.sees("shop", "table.models")
        browser.click("#token-button")
        browser.click("#token-forget")
        browser.sees("This service needs a token.", "dialog")
        assert browser.run("return sessionStorage.length") == 0


def test_a_token_that_may_only_predict_sees_everything_but_the_errors(browser: "Browser", guarded: Watched) -> None:
    from selenium.webdriver.common.keys import Keys

    watcher = make_token(guarded.folder, "predict")
    with browser.quiet(allowed=("403",)):
        browser.open(f"{guarded.url}#/models/shop")
        browser.sees("This service needs a token.", "dialog")
        browser.type(watcher + Keys.ENTER)
        browser.sees("200", ".figures")
        browser.sees("tokens with the scope admin", "section[aria-labelledby=panel-last-errors]")
