"""The page of the live service: static files, and the headers they are sent with.

`FILES` has them by path: "/" is the page itself, the others are "/page/<file>". All links between them are relative, so that the page also
works behind a proxy that adds a prefix.
"""

from hashlib import sha256
from importlib.resources import files

from odca.records import record

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Nothing inline, nothing from elsewhere, no text parsed as HTML. (The page's forms never submit: `method=dialog`, or a script answers.)"""


@record
class PageFile:
    """One file, read once."""

    body: bytes
    headers: dict[str, str]


def _read(name: str, body: bytes) -> PageFile:
    kind = TYPES[name[name.rindex(".") :]]
    return PageFile(
        body,
        {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-cache",
            "ETag": f'"{sha256(body).hexdigest()[:32]}"',
        },
    )


FILES: dict[str, PageFile] = {
    "/" if each.name == "index.html" else f"/page/{each.name}": _read(each.name, each.read_bytes())
    for each in files(__name__).iterdir()
    if any(each.name.endswith(ending) for ending in TYPES)
}
