"""What MkDocs does with these pages beside showing them: files of the repository become pages, and commands are described.

The pages link to files outside of docs/ (`../cpp/odca/experts/experts.hpp`), as they must where they are read in the repository. On the site
each such file has a page of its own under source/. `changes.md` and `contributing.md` are the files of the repository's root, and
`reference/commands.md` has what `odca <command> --help` prints. Nothing is loaded from elsewhere, also by the search of pages that are opened as files.
"""

import argparse
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.utils import get_relative_url

from odca.cli import COMMANDS, prepare, top_parser

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = re.compile(r"\]\(((?:\.\./)+)([^)#\s]+)(#[^)\s]*)?\)")
ROOT_PAGES = {
    "CHANGELOG.md": "changes.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "readme.md",
    "SECURITY.md": "security.md",
}
LANGUAGES = {
    ".py": "python",
    ".hpp": "cpp",
    ".cpp": "cpp",
    ".json": "json",
    ".toml": "toml",
    ".sh": "bash",
    ".js": "javascript",
}
SHIM = re.compile(r"https://[\w.]+/iframe-worker/shim")
"""What the theme would load for the search of pages that are opened as files."""
OWN_SHIM = "search-without-a-server.js"
ELSEWHERE = re.compile(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(https?://[^"]*)"')
LONGEST = 60_000
"""Characters of a file that are shown."""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made of other files."""
    pages = [each for each in files if each.src_path.endswith(".md")]
    for name, page in ROOT_PAGES.items():
        if files.get_file_from_path(page) is None:
            text = (ROOT / name).read_text(encoding="utf-8")
            files.append(File.generated(config, page, content=_from_root(text)))
    for path in sorted({found for each in pages for found in _linked(each)}):
        if not path.is_dir():
            files.append(File.generated(config, f"source/{path.relative_to(ROOT)}.md", content=_source(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to files of the repository lead to their pages."""
    folder = Path(page.file.src_path).parent

    def replaced(match: re.Match[str]) -> str:
        path = (ROOT / "docs" / folder / (match[1] + match[2])).resolve()
        if path.is_relative_to(ROOT / "docs") or not path.exists() or path.is_dir():
            return match[0]
        up = "../" * len(folder.parts)
        name = str(path.relative_to(ROOT))
        if name in ROOT_PAGES:
            return f"]({up}{ROOT_PAGES[name]}{match[3] or ''})"
        return f"]({up}source/{name}.md)"

    text = OUTSIDE.sub(replaced, markdown)
    return text + _commands() if page.file.src_path == "reference/commands.md" else text


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Take the script for the search from the site itself. PluginError if anything else would be loaded from elsewhere."""
    output = SHIM.sub(get_relative_url(OWN_SHIM, page.url), output)
    if found := ELSEWHERE.search(output):
        raise PluginError(f"{page.file.src_path} loads {found[1]} from elsewhere.")
    return output


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """The same on the page for addresses that do not exist, which has an address of its own only on a server."""
    return SHIM.sub(f"/{OWN_SHIM}", output_content) if template_name == "404.html" else output_content


def _linked(page: File) -> set[Path]:
    """The files outside of docs/ that a page links to."""
    folder = (ROOT / "docs" / page.src_path).parent
    paths = {(folder / (match[1] + match[2])).resolve() for match in OUTSIDE.finditer(page.content_string)}
    inside = ROOT / "docs"
    return {
        path
        for path in paths
        if path.is_file() and not path.is_relative_to(inside) and str(path.relative_to(ROOT)) not in ROOT_PAGES
    }


def _source(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    rest = "" if len(text) <= LONGEST else f"\n\nThe first {LONGEST:,} characters of {len(text):,}.\n"
    name = path.relative_to(ROOT)
    return f"---\nsearch:\n  exclude: true\n---\n# {name}\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{text[:LONGEST]}\n````\n{rest}"


def _from_root(text: str) -> str:
    """A page of the repository's root as one of docs/: its links lose "docs/", and lead to the pages of the root's other files."""
    text = re.sub(r"\]\(docs/", "](", text)
    return re.sub(r"\]\(([A-Z_]+\.md)\)", lambda match: f"]({ROOT_PAGES.get(match[1], match[1])})", text)


def _commands() -> str:
    parts = [f"\n```text\n{top_parser().format_help()}```\n"]
    for name in COMMANDS:
        parser = prepare(argparse.ArgumentParser(prog=f"odca {name}"), name)
        parts.append(f"## odca {name}\n\n```text\n{parser.format_help()}```\n")
    return "\n".join(parts)
