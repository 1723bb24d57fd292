"""Pages of the site for what stands outside docs/ and is linked from it: examples, tests, the changelog.

On a forge such links show the file. Here each gets a page: Markdown as it is,
code as a listing, a folder as a list.
"""

# ruff: noqa: INP001 - a script, no part of a package

import ast
import re
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
FOLDER = "generated/files"
"""Where the pages are written, in docs/."""

FIRST = ("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "benchmarks/README.md", "examples")
"""What the site's contents name themselves."""

LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
LANGUAGES = {".py": "python", ".c": "c", ".h": "c", ".toml": "toml", ".yml": "yaml", ".sh": "bash"}


def rewritten(text: str, folder: Path) -> tuple[str, set[Path]]:
    """Return a page's text with links as the site needs them, and the files outside that they lead to.

    Parameters
    ----------
    text
        Markdown.
    folder
        Where the file stands from which its relative links count.
    """
    outside = set()

    def link(match: re.Match[str]) -> str:
        path = (folder / match[1]).resolve()
        if "://" in match[1] or not path.exists() or not path.is_relative_to(ROOT):
            return match[0]
        if path.is_relative_to(DOCS) and path.suffix not in LANGUAGES:
            return f"](/{path.relative_to(DOCS)}{match[2] or ''})"
        outside.add(path)
        return f"](/{name(path)}{match[2] or ''})"

    return LINK.sub(link, text), outside


def name(path: Path) -> str:
    """Return the page of a file or folder, as a path in docs/."""
    inside = path.relative_to(ROOT)
    if path.suffix == ".md":  # not .md again: the tests run what those say, and have run this one
        return f"{FOLDER}/{inside.with_suffix('.markdown')}"
    return f"{FOLDER}/{inside}.rst"


def pages() -> dict[str, str]:
    """Return all pages by path: of what docs/ links to, and of what these link to in turn."""
    waiting = {ROOT / first for first in FIRST}
    for page in DOCS.rglob("*.md"):
        waiting |= rewritten(page.read_text(encoding="utf-8"), page.parent)[1]
    texts: dict[str, str] = {}
    while waiting:
        path = waiting.pop()
        if name(path) in texts:
            continue
        if path.is_dir():
            texts[name(path)], more = _listing(path)
        elif path.suffix == ".md":
            text, more = rewritten(path.read_text(encoding="utf-8"), path.parent)
            texts[name(path)] = f"---\norphan: true\n---\n{_one_title(text, path)}"
        else:
            texts[name(path)], more = _code(path), set()
        waiting |= more
    return texts


def _one_title(text: str, path: Path) -> str:
    """Return a page with one title: where it has several, they are headings under the name of its folder."""
    flags = re.MULTILINE | re.DOTALL
    text = re.sub(
        r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL
    )  # what a journal asks for, before the first heading
    code = r"^```.*?^```$"
    if len(re.findall(r"^# ", re.sub(code, "", text, flags=flags), flags)) == 1:
        return text
    lower = re.sub(rf"({code})|^#+ ", lambda match: match[1] or f"#{match[0]}", text, flags=flags)
    return f"# {path.parent.name.capitalize()}\n\n{lower}"


def _code(path: Path) -> str:
    inside = path.relative_to(ROOT)
    language = LANGUAGES.get(path.suffix, "text")
    return f"{_title(inside)}.. literalinclude:: /../{inside}\n   :language: {language}\n"


def _listing(folder: Path) -> tuple[str, set[Path]]:
    """Return a page that lists a folder, each file of Python with the first line of its docstring."""
    inside = [p for p in sorted(folder.iterdir()) if p.is_dir() or p.suffix in LANGUAGES or p.suffix == ".md"]
    inside = [path for path in inside if path.name != "__pycache__"]
    lines = [f":doc:`{p.name} </{name(p).rpartition('.')[0]}>`\n   {_about(p)}\n" for p in inside]
    return _title(folder.relative_to(ROOT)) + "\n".join(lines), set(inside)


def _about(path: Path) -> str:
    if path.suffix != ".py":
        return "a folder" if path.is_dir() else path.suffix.removeprefix(".").upper()
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.name).partition("\n")[0]


def _title(inside: Path) -> str:
    return f":orphan:\n\n{inside}\n{'=' * len(str(inside))}\n\n"
