"""What the package offers: each room's ``__all__``, with what its docstrings and the pages say of it."""

import enum
import importlib.util
import inspect
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

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


class Method(NamedTuple):
    """A public method: its function, what it takes besides ``self``, and methods that it overrides."""

    function: Callable
    parameters: tuple[str, ...]
    overridden: tuple[Callable, ...]

    def missing(self):
        """Parameters that are described neither here nor where it is first promised."""
        docs = [self.function, *self.overridden]
        return [name for name in self.parameters if not any(self._says(doc, name) for doc in docs)]

    def _says(self, function, name):
        """Whether a docstring has an entry for it, or its one line of at most two parameters names it."""
        if name in described(function):
            return True
        line = re.split(r"\n(?=>>>|[A-Z][A-Za-z ]+\n-{3,}\n)", inspect.getdoc(function) or "")[0].strip()
        short = len(self.parameters) <= 2 and "\n" not in line
        return short and re.search(rf"\b{re.escape(name)}\b", line) is not None


def _own(kind, name):
    """A method that a class of the package itself defines, as a function; None: it has none of this name."""
    ours = kind.__module__.partition(".")[0] == "bondloop"
    function = inspect.unwrap(vars(kind).get(name))  # also of a class method
    return function if ours and inspect.isfunction(function) else None


@cache
def methods():
    """Public methods of public classes that take anything, ``{"bondgraph.Model.cut": Method(...)}``.

    Each once: as that of the public class that defines it, or of the first that has it from a private one.
    """
    home = {thing: name for name, thing in classes().items()}
    found = {}
    for public_name, thing in classes().items():
        for name in (name for name in dir(thing) if not name.startswith("_")):
            owners = [kind for kind in thing.__mro__ if name in vars(kind)]
            function, *overridden = [_own(kind, name) for kind in owners] or [None]
            if function is None:
                continue
            first = 0 if isinstance(vars(owners[0])[name], staticmethod) else 1
            parameters = tuple(inspect.signature(function).parameters)[first:]
            if parameters:
                method = Method(function, parameters, tuple(base for base in overridden if base))
                found.setdefault(function, (f"{home.get(owners[0], public_name)}.{name}", method))
    return dict(found.values())


@cache
def words_of_examples():
    """All words of the Python that is run as an example: in docstrings, on pages, in `examples`."""
    scripts = [path.read_text(encoding="utf-8") for path in (ROOT / "examples").rglob("*.py")]
    texts = [path.read_text(encoding="utf-8") for path in [*PAGES, *(ROOT / "src").rglob("*.py")]]
    ran = re.compile(r"^ *(?:(?:>>>|\.\.\.) (?!from|import)|bondloop\.errors\.)(.*)", re.MULTILINE)
    doctests = [line for text in texts for line in ran.findall(text)]
    return {word for text in [*scripts, *doctests] for word in re.findall(r"\w+", text)}


def is_shown(thing):
    """Whether an example names a class, stands in it or its methods, or returns one."""
    name = thing.__name__
    docs = [thing.__doc__ or "", *(inspect.getdoc(member) or "" for member in vars(thing).values())]
    returns = [
        str(getattr(other, "__annotations__", {}).get("return", ""))
        for owner in public().values()
        for other in [owner, *(vars(owner).values() if inspect.isclass(owner) else ())]
        if ">>>" in (getattr(other, "__doc__", "") or "")
        for other in [getattr(other, "fget", other), getattr(other, "__func__", other)]
    ]
    return (
        any(">>>" in text for text in docs)
        or name in words_of_examples()
        or any(re.search(rf"\b{name}\b", text) for text in returns)
    )
