"""What the package offers: each room's ``__all__``, with what its docstrings and the pages say of it."""

import enum
import importlib.util
import inspect
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@cache
def reference():
    """The script that writes docs/reference.md."""
    spec = importlib.util.spec_from_file_location("docs_reference", ROOT / "docs" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def public():
    """Every public name with what it stands for, ``{"control.MCS": <class ...>}``.

    What several rooms offer is listed once, in the one that comes first in the alphabet.
    """
    names, met = {}, []
    for room, things in reference().public().items():
        for name, thing in things.items():
            if not any(thing is other for other in met):
                met.append(thing)
                names[f"{room}.{name}"] = thing
    return names


def classes():
    return {name: thing for name, thing in public().items() if inspect.isclass(thing)}


def callables():
    """Those whose parameters a user gives: not enumerations, errors, or what has no signature."""
    return {
        name: thing
        for name, thing in public().items()
        if inspect.isroutine(thing)
        or (inspect.isclass(thing) and not issubclass(thing, (enum.Enum, BaseException)))
    }


def sections(text):
    """The sections of a NumPy docstring by title."""
    parts = re.split(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def described(thing):
    """Names that the docstring has an entry for: ``name``, ``name : type`` or ``name, other``."""
    titled = sections(inspect.getdoc(thing) or "")
    entries = [titled.get(title, "") for title in ("Parameters", "Attributes", "Other Parameters")]
    lines = re.findall(r"^[\w*][\w*, ]*(?= ?:|$)", "\n".join(entries), re.MULTILINE)
    return {word.strip().lstrip("*") for line in lines for word in line.split(",")}


def missing_parameters(thing):
    """Parameters without an entry; ``**keywords`` have one if any keyword that is no parameter has.

    A class that takes nothing but arguments by any name takes none: Python's own ``__init__``, wrapped.
    """
    names, parameters = described(thing), inspect.signature(thing).parameters
    anything = {name for name, p in parameters.items() if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    if names - set(parameters) or anything == set(parameters):
        names |= anything
    return [name for name in parameters if name not in names]


@cache
def shown_lines():
    """Every line of Python that is run as an example: in docstrings, on pages, in examples/."""
    lines = []
    for path in [*PAGES, *sorted((ROOT / "src").rglob("*.py"))]:
        text = path.read_text(encoding="utf-8")
        lines += re.findall(r"^\s*(?:>>>|\.\.\.) (.*)$", text, re.MULTILINE)
        lines += re.findall(r"^\s*bondloop\.errors\.\w+: ", text, re.MULTILINE)  # what an example refuses
    lines += [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").rglob("*.py"))]
    return "\n".join(lines)


@cache
def returned():
    """Names of classes that an example returns: by the annotations of what has a doctest."""
    names = set()
    for thing in public().values():
        members = [thing, *vars(thing).values()] if inspect.isclass(thing) else [thing]
        for member in members:
            function = getattr(member, "__func__", getattr(member, "fget", member))
            if inspect.isfunction(function) and ">>>" in (function.__doc__ or ""):
                names |= set(re.findall(r"\w+", str(function.__annotations__.get("return", ""))))
    return names


def is_shown(name, thing):
    """Whether an example names it, returns one, or stands in its docstring or a method's."""
    own = name.rpartition(".")[2]
    docs = [thing.__doc__, *(getattr(member, "__doc__", None) for member in vars(thing).values())]
    if any(">>>" in text for text in docs if isinstance(text, str)) or own in returned():
        return True
    return re.search(rf"\b{re.escape(own)}\b", shown_lines()) is not None
