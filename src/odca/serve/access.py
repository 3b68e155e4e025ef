"""Who may do what: tokens, and requests of web pages from elsewhere."""

import ipaddress

from odca.serve.exchange import Exchange
from odca.serve.problems import Problem
from odca.serve.tokens import SCOPES, Tokens


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Access:
    """Checks each request."""

    def __init__(self, tokens: Tokens, *, needs_token: bool) -> None:
        self._tokens, self._always = tokens, needs_token

    @property
    def needs_token(self) -> bool:
        """Whether a token is needed: on an address that others reach, and wherever there are tokens."""
        return self._always or bool(self._tokens.now())

    def scopes(self, exchange: Exchange) -> tuple[str, ...]:
        """What the caller may do. Problem if the token is not known, or a page from elsewhere asks."""
        self._refuse_other_pages(exchange)
        kind, _, text = exchange.header("authorization").partition(" ")
        if kind.lower() == "bearer" and text:
            token = self._tokens.found(text.strip())
            if token is None:
                raise Problem("no-token", "the token is not known: it was revoked, or mistyped.")
            exchange.who = f"{token.name} ({token.id})"
            return token.scopes
        return () if self.needs_token else SCOPES

    def require(self, exchange: Exchange, scope: str) -> None:
        """Problem if the caller may not do this."""
        scopes = self.scopes(exchange)
        if scope in scopes:
            return
        if not scopes:
            raise Problem(
                "no-token",
                "a token is needed: send it as `Authorization: Bearer TOKEN`. `odca serve token create` makes one.",
            )
        raise Problem("wrong-scope", f"this needs the scope {scope!r}; the token has {', '.join(scopes)}.")

    def _refuse_other_pages(self, exchange: Exchange) -> None:
        """A page of another site must not use the service through a person's browser; nor by a name that leads here (rebinding)."""
        host = exchange.header("host")
        origin = exchange.header("origin")
        if origin and origin != f"{exchange.scheme}://{host}":
            raise Problem("wrong-scope", "requests of pages from elsewhere are refused.")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        if not self.needs_token and not is_loopback(name):
            raise Problem(
                "wrong-scope", "without tokens, the service answers under localhost, 127.0.0.1 and [::1] only."
            )
