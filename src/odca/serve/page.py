"""The page: static files that are part of the package. Nothing that a client sends is used as a path."""

from importlib.resources import files

from odca.serve.exchange import Reply

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Page:
    """The files of the page by their paths: `/` is index.html, the others are at /page/NAME."""

    def __init__(self) -> None:
        self.files: dict[str, Reply] = {}
        for each in files("odca.serve").joinpath("static").iterdir():
            suffix = each.name[each.name.rfind(".") :]
            if suffix in TYPES:
                path = "/" if each.name == "index.html" else f"/page/{each.name}"
                self.files[path] = Reply(200, each.read_bytes(), TYPES[suffix], HEADERS)
