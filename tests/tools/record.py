"""Write anew what the commands and snippets of a page print: python tests/tools/record.py docs/cli.md

What the page shows already and is alike (see tests/pages.py) stays as it is. Read the difference before it is committed.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pages


def record(page: Path) -> int:
    """Write what differs; return how much did."""
    text, changes = page.read_text(encoding="utf-8"), 0
    for each in reversed(list(pages.run(page))):
        if not each.fits:
            changes += 1
            text = text[: each.start] + pages.abridged(each.shown, each.actual) + text[each.start + len(each.shown) :]
    if changes:
        page.write_text(text, encoding="utf-8")
    return changes


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(f"{path}: {record(Path(path).resolve())} recorded anew")
