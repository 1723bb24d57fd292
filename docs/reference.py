"""Every public name, room by room: writes docs/reference.md, and the site's pages with all docstrings.

Run: python docs/reference.py
"""

# ruff: noqa: INP001 - a script, no part of a package

import ast
import enum
import importlib
import inspect
import itertools
import pkgutil
import re
import textwrap
from functools import cache
from pathlib import Path

import bondloop

PAGE = Path(__file__).with_suffix(".md")
ROOMS = sorted(
    (
        module.name.removeprefix("bondloop.")
        for module in pkgutil.walk_packages(bondloop.__path__, "bondloop.")
        if module.ispkg or module.name.count(".") == 1
    ),
    key=lambda room: (room == "extend", room),
)
"""The rooms, and folders within them: ``control``, ``integrate.structural``. Last comes the one that has all
its names from others, so that each is described where it is at home."""

ROOM = """{title}
{rule}

.. py:module:: {title}

{about}

"""

CONTENTS = """
```{toctree}
:hidden:
:glob:

generated/reference/*
```
"""

HEAD = """# Reference

Every public name, room by room, with the first line of its description; `help(bl.control.MCS)` shows all.
Names that are not listed here are private and may change. This page is written by `make pages`.
"""


@cache
def public() -> dict[str, dict[str, object]]:
    """Return what each room offers, by room and name, without modules and what the room around it offers."""
    rooms: dict[str, dict[str, object]] = {}
    for room in ROOMS:
        module = importlib.import_module(f"bondloop.{room}")
        around = rooms.get(room.rpartition(".")[0], {})
        things = {name: getattr(module, name) for name in sorted(getattr(module, "__all__", ()))}
        rooms[room] = {
            name: thing
            for name, thing in things.items()
            if not inspect.ismodule(thing) and around.get(name) is not thing
        }
    return rooms


def description(room: str, name: str, thing: object) -> str:
    """Return a docstring; that of a constant stands after it in its file."""
    if inspect.isclass(thing) or inspect.isroutine(thing):
        return inspect.getdoc(thing) or ""
    folder = Path(bondloop.__path__[0], *room.split("."))
    for path in sorted(folder.rglob("*.py")) or [folder.with_suffix(".py")]:
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for line, after in itertools.pairwise(body):
            targets = getattr(line, "targets", [getattr(line, "target", None)])
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                value = getattr(after, "value", None)
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    return inspect.cleandoc(value.value)
    return ""


def page() -> str:
    """Write the page."""
    lines = [HEAD]
    for room, things in public().items():
        if things:
            about = (importlib.import_module(f"bondloop.{room}").__doc__ or "").partition("\n")[0]
            lines += [f"## bondloop.{room}\n", f"{about}\n"]
            own = [name for name, thing in things.items() if home(name, thing) == f"bondloop.{room}"]
            lines += ["| name | what it is |", "|---|---|"] if own else []
            for name in own:
                line = description(room, name, things[name]).partition("\n")[0]
                text = line.replace("|", "\\|").replace("``", "`")
                lines.append(f"| `{name}` | {text} |")
            others = [name for name in things if name not in own]
            for first in sorted({home(name, things[name]) for name in others}):
                listed = ", ".join(f"`{name}`" for name in others if home(name, things[name]) == first)
                lines.append(f"- of [{first}](#{first.replace('.', '')}): {listed}")
            lines.append("")
    return "\n".join(lines)


def entry(room: str, name: str, thing: object) -> str:
    """Write the directive with which the site shows a name's whole docstring."""
    path = f"bondloop.{room}.{name}"
    if inspect.isclass(thing):
        kind = "exception" if issubclass(thing, BaseException) else "class"
        values = "   :undoc-members:\n" if issubclass(thing, enum.Enum) else ""
        return f".. auto{kind}:: {path}\n   :members:\n{values}"
    if inspect.isroutine(thing):
        return f".. autofunction:: {path}\n"
    text = textwrap.indent(description(room, name, thing), "   ")
    return f".. py:data:: {name}\n   :module: bondloop.{room}\n\n{text}\n"


def home(name: str, thing: object) -> str:
    """Return where a name is described: in the room that defines it, or else the first one that offers it."""
    rooms = [f"bondloop.{room}" for room, things in public().items() if things.get(name) is thing]
    inside = [room for room in rooms if f"{getattr(thing, '__module__', '')}.".startswith(f"{room}.")]
    return max(inside, key=len, default=rooms[0])


def room_pages() -> dict[str, str]:
    """Return the site's pages, by room: every name once, and a link where a second room offers it too.

    Pages are written in reStructuredText, the language of the docstrings.
    """
    pages = {}
    for room, things in public().items():
        module = importlib.import_module(f"bondloop.{room}")
        title = f"bondloop.{room}"
        lines = [ROOM.format(title=title, rule="=" * len(title), about=inspect.getdoc(module) or "")]
        for name, thing in things.items():
            first = home(name, thing)
            see = f"``{name}`` is that of :py:obj:`{first} <{first}.{name}>`.\n"
            lines.append(entry(room, name, thing) if first == title else see)
        if things:
            pages[room] = "\n".join(lines)
    return pages


def with_links(text: str) -> str:
    """Return the page of all names with a link from each to its description, as the site shows it."""
    rooms = re.split(r"(?m)^## bondloop\.([\w.]+)$", text)
    for i in range(1, len(rooms), 2):
        room, things = rooms[i], public()[rooms[i]]
        rooms[i] = f"## [bondloop.{room}](/generated/reference/{room}.rst)"
        for name, thing in things.items():
            link = f"{{py:obj}}`{name} <{home(name, thing)}.{name}>`"
            rooms[i + 1] = rooms[i + 1].replace(f"\n| `{name}` |", f"\n| {link} |")
            rooms[i + 1] = re.sub(
                rf"(?m)^(- of .*)(?<!\w)`{name}`", lambda m, link=link: m[1] + link, rooms[i + 1]
            )
    return "".join([*rooms, CONTENTS])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
