"""Imports between rooms go through the front door, and no import goes in a circle; part of `make lint`.

A room is a folder of `src/bondloop`, in `engine` one of its sub-folders. What a room offers to others stands
in the stub of its `__init__`, or of a sub-folder's. Imports inside functions count; those for type checkers
alone do not go into circles.
"""

# ruff: noqa: T201 - a script: printing is the job

import ast
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "bondloop"


def name_of(path: Path) -> str:
    """Return the dotted name of a file."""
    parts = ("bondloop", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """Return the room of a module: its folder, in the engine the folder within."""
    words = module.split(".")
    return ".".join(words[1:3]) if words[1:2] == ["engine"] else ".".join(words[1:2])


def imports(tree: ast.Module) -> list[tuple[ast.ImportFrom, bool]]:
    """Return what a module imports from the package, each with whether only type checkers see it."""
    checked = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return [(node, id(node) in checked) for node in nodes if (node.module or "").startswith("bondloop")]


def main() -> int:
    """Print what is wrong; return how much."""
    files = {name_of(p): p for p in PACKAGE.rglob("*.py")}
    doors = {name: path.with_suffix(".pyi") for name, path in files.items() if path.name == "__init__.py"}
    homes: dict[tuple[str, str], str] = {}
    faults: list[str] = []
    for door, stub in doors.items():
        lines = ast.parse(stub.read_text(encoding="utf-8")).body if stub.exists() else []
        for line in (line for line in lines if isinstance(line, ast.ImportFrom)):
            for offered in line.names:
                homes[door, offered.name] = line.module or ""
                if f"{door}.{offered.name}" in files and line.module != door:
                    faults.append(f"{stub}: '{offered.name}' is the name of a module too; rename the module")
    graph: dict[str, set[str]] = {name: set() for name in files}
    for name, path in files.items():
        for node, checked in imports(ast.parse(path.read_text(encoding="utf-8"))):
            for imported in node.names:
                source = node.module or ""
                whole = f"{source}.{imported.name}"
                offered_by = homes.get((source, imported.name), "")
                module = offered_by if offered_by not in ("", source) else whole if whole in files else source
                inside = source if offered_by else module
                past = inside in files and inside not in doors and inside.count(".") > 1
                if past and room_of(inside) != room_of(name) and name != "bondloop":
                    faults.append(f"{path}:{node.lineno}: {inside} is inside another room: take its __init__")
                if not checked and "bondloop" != name != module:
                    graph[name].add(module)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        faults.append(f"imports in a circle: {' -> '.join(error.args[1])}")
    print("\n".join(faults) or f"{len(files)} modules: rooms import through front doors, none in a circle")
    return len(faults)


if __name__ == "__main__":
    sys.exit(main() > 0)
