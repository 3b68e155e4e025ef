"""Docstrings are prose with formulas, not Markdown: an asterisk right after a symbol, as in Q*(x), stays an asterisk."""

import re
from typing import Any

import griffe

CODE = re.compile(r"(`[^`]*`)")
STAR = re.compile(r"(?<=\w)\*(?=\W|$)")


class Formulas(griffe.Extension):
    """Escapes the asterisks of formulas, except in code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change a docstring as it is collected."""
        if obj.docstring:
            obj.docstring.value = "\n".join(map(_escaped, obj.docstring.value.split("\n")))


def _escaped(line: str) -> str:
    if line.startswith(("    ", ">>>", "...")):
        return line
    return "".join(part if part.startswith("`") else STAR.sub(r"\\*", part) for part in CODE.split(line))
