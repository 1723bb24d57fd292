"""Every public name, room by room, with the first line of its docstring: writes docs/reference.md.

Run: python docs/reference.py
"""

# ruff: noqa: INP001 - a script, no part of a package

import ast
import importlib
import inspect
import itertools
import pkgutil
from pathlib import Path

import bondloop

PAGE = Path(__file__).with_suffix(".md")
ROOMS = sorted(
    module.name.removeprefix("bondloop.")
    for module in pkgutil.walk_packages(bondloop.__path__, "bondloop.")
    if module.ispkg or module.name.count(".") == 1
)
"""The rooms, and folders within them: ``control``, ``integrate.structural``."""

HEAD = """# Reference

Every public name, room by room, with the first line of its description; `help(bl.control.MCS)` shows all.
Names that are not listed here are private and may change. This page is written by `make pages`.
"""


def public() -> dict[str, dict[str, object]]:
    """Return what each room offers, by room and name; modules in it are left out."""
    rooms = {}
    for room in ROOMS:
        module = importlib.import_module(f"bondloop.{room}")
        things = {name: getattr(module, name) for name in sorted(getattr(module, "__all__", ()))}
        rooms[room] = {name: thing for name, thing in things.items() if not inspect.ismodule(thing)}
    return rooms


def summary(room: str, name: str, thing: object) -> str:
    """Return the first line of a docstring; that of a constant stands after it in its file."""
    if inspect.isclass(thing) or inspect.isroutine(thing):
        return (inspect.getdoc(thing) or "").partition("\n")[0]
    folder = Path(bondloop.__path__[0], *room.split("."))
    for path in sorted(folder.rglob("*.py")) or [folder.with_suffix(".py")]:
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for line, after in itertools.pairwise(body):
            targets = getattr(line, "targets", [getattr(line, "target", None)])
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                value = getattr(after, "value", None)
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    return value.value.partition("\n")[0]
    return ""


def page() -> str:
    """Write the page."""
    lines = [HEAD]
    for room, things in public().items():
        if things:
            about = (importlib.import_module(f"bondloop.{room}").__doc__ or "").partition("\n")[0]
            lines += [f"## bondloop.{room}\n", f"{about}\n", "| name | what it is |", "|---|---|"]
            for name, thing in things.items():
                text = summary(room, name, thing).replace("|", "\\|").replace("``", "`")
                lines.append(f"| `{name}` | {text} |")
            lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
