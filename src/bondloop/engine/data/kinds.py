"""Kinds of things that describe themselves: how each is made, and how it was made.

A *kind* is a class or a function by name, in a family: ``Sine`` among the signals, ``MassSpringDamper`` among
the transfer systems. What it takes is its signature; nothing else is written down about it. A frozen
dataclass holds its arguments as fields (`Described`); anything else remembers the call that made it, if its
class or function is marked `describable`. Either way the description is a dictionary of plain numbers, texts
and lists, whose first entry names family and kind, ``{"signal": "Sine", "amplitude": 0.01, ...}``.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import inspect
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    Json: TypeAlias = dict[str, "Json"] | list["Json"] | str | float | bool | None
    """What a description is made of: it fits into JSON."""


class Family(Mapping[str, "Kind"]):
    """Kinds by name. Before one is missed, or all are listed, the rooms that have such kinds are imported."""

    def __init__(self) -> None:
        self._known: dict[str, Kind] = {}
        self._rooms: dict[str, bool] = {}  # by name, with whether all that they promise is imported

    def add(self, kind: Kind) -> None:
        """Take in a kind."""
        self._known[kind.name] = kind
        self.add_room(kind.make.__module__)

    def add_room(self, module: str) -> None:
        """Note that a module's room has kinds of this family."""
        if module.startswith("bondloop."):
            self._rooms.setdefault(".".join(module.split(".")[:2]), False)

    def __getitem__(self, name: str) -> Kind:
        return self._known[name] if name in self._known else self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Kind]:
        while waiting := [room for room, imported in self._rooms.items() if not imported]:
            for room in waiting:
                self._rooms[room] = True
                _import_promised(room)
        return self._known


def _import_promised(room: str) -> None:
    """Import everything that a room and the folders in it promise."""
    module = importlib.import_module(room)
    for name in getattr(module, "__all__", ()):
        getattr(module, name)
    for inner in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if inner.ispkg:
            _import_promised(f"{room}.{inner.name}")


@cache
def import_all_kinds() -> None:
    """Import everything that the package promises: a file may name any of its kinds."""
    package = sys.modules["bondloop"]
    for name in package.__all__:
        if isinstance(room := getattr(package, name), ModuleType):
            _import_promised(room.__name__)


FAMILIES: dict[str, Family] = {}
"""Every kind by family and name."""

DERIVED: dict[str, list[str]] = {}
"""Families whose base derives from the base of another, by that other: a device is an ode."""

_WORDS: dict[str, Kind | str] = {}
"""What a class stands for in a type, by its name: a kind, or a family by its base."""

_IN_FILES: dict[tuple[str, str], Kind] = {}
"""The users' own kinds by family and ``file.py:name``: two files may each have one of the same name."""

ATOMS = frozenset({float, int, str, bool, type(None)})
"""Kinds of what a description holds that holds nothing itself."""

PYTHON = "python"
"""Entry that stands in a description for a Python object that cannot be described."""

Maker = TypeVar("Maker", bound=Callable[..., Any])


@dataclass(frozen=True)
class Kind:
    """A class or function that a description can name.

    Attributes
    ----------
    family, name
        First entry of the description.
    make
        The class or function.
    alone
        Whether it is the only one where it may stand, so that the first entry can be left out.
    source
        ``file.py:name`` of a class of the user's own; empty for one of bondloop's.
    """

    family: str
    name: str
    make: Callable[..., Any]
    alone: bool = False
    source: str = ""

    @property
    def ours(self) -> bool:
        """Whether it is one of bondloop's."""
        return str(self.make.__module__).startswith("bondloop.")

    @property
    def reads_texts(self) -> bool:
        """Whether it reads texts with units itself: what is bondloop's does, but for functions of tests."""
        return self.ours and (self.family != "test" or isinstance(self.make, type))

    @functools.cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """What it takes, by name."""
        return dict(inspect.signature(self.make).parameters)

    @property
    def allowed(self) -> Mapping[str, Any]:
        """Which numbers or words single arguments may be, as far as the class says so (``_allowed``)."""
        rules: Mapping[str, Any] = getattr(self.make, "_allowed", {})
        return rules

    @property
    def open_ended(self) -> bool:
        """Whether it takes further arguments by any name."""
        return any(p.kind is p.VAR_KEYWORD for p in self.parameters.values())

    def head(self) -> dict[str, Json]:
        """Return the entry that names it."""
        return {} if self.alone else {self.family: self.source or self.name}


def register(kind: Kind, word: str = "") -> Kind:
    """Add a kind to its family; types may name it by its class."""
    FAMILIES.setdefault(kind.family, Family()).add(kind)
    if kind.source:
        _IN_FILES[kind.family, kind.source] = kind
    if word:
        _WORDS[word] = kind
    return kind


def kind_in_file(family: str, source: str) -> Kind | None:
    """Return a kind of the user's own that has been defined already, by ``file.py:name``."""
    return _IN_FILES.get((family, source))


def file_of(owner: type) -> str:
    """Return ``file.py:name`` of a class of the user's own; nothing where no file defines it.

    To be asked while its file runs: what a description runs is no module afterwards.
    """
    module = sys.modules.get(owner.__module__)
    file = getattr(module, "__file__", None)
    if owner.__module__.partition(".")[0] == "bondloop" or file is None or not file.endswith(".py"):
        return ""
    path = Path(file).resolve()
    # A class typed into a shell, or into a text that is tried out, says that it is of another program's file.
    codes = [f.__code__.co_filename for f in vars(owner).values() if inspect.isfunction(f)]
    written = not codes or any(Path(code).resolve() == path for code in codes)
    return f"{path}:{owner.__qualname__}" if written and path.is_file() else ""


def family_word(word: str, family: str, module: str) -> None:
    """Let types name a whole family by its base class, which a module defines."""
    FAMILIES.setdefault(family, Family()).add_room(module)
    _WORDS[word] = family


def kind_of_name(name: str) -> Kind | str | None:
    """Return the kind or the family that a class of this name stands for; None for any other."""
    return _WORDS.get(name)


@dataclass(frozen=True)
class Origin:
    """How a thing was made.

    Attributes
    ----------
    kind
        The class or function that was called.
    arguments
        What it was given, defaults included.
    marks
        What the thing, and what it was made of, looked like then.
    holds
        In the place of marks, where they would cost more than the thing: whether it would be made alike now.
    """

    kind: Kind
    arguments: Mapping[str, Any]
    marks: tuple[object, ...] = ()
    holds: Callable[[Any], bool] | None = None

    def describe(self) -> dict[str, Json]:
        """Return the description."""
        entries = self.kind.head()
        for name, value in self.arguments.items():
            if self.kind.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                entries.update({key: plain(v) for key, v in value.items()})
            elif value is not None or self.kind.parameters[name].default is not None:
                entries[name] = plain(value)
        return entries


def origin_of(value: object) -> Origin | None:
    """Return how a thing was made; None where nothing is known, or it has been edited since.

    A thing that can be edited has a method ``_mark``, which tells what it looks like.
    """
    origin: Origin | None = getattr(value, "__dict__", {}).get("_origin")
    if origin is None:
        return None
    if origin.holds is not None:
        return origin if origin.holds(value) else None
    return origin if origin.marks == _marks(value, *origin.arguments.values()) else None


def stamp(value: object, kind: Kind, arguments: Mapping[str, object]) -> None:
    """Let a thing remember how it was made."""
    stamp_all({kind.name: value}, {kind.name: kind}, arguments)


def stamp_all(
    values: Mapping[str, object], kinds: Mapping[str, Kind], arguments: Mapping[str, object]
) -> None:
    """Let things that were made together remember it."""
    others = _marks(*arguments.values())
    for name, value in values.items():
        object.__setattr__(value, "_origin", Origin(kinds[name], arguments, (*_marks(value), *others)))


def _marks(*things: Any) -> tuple[object, ...]:
    """Return what things look like now, as far as they can be edited."""
    return tuple(thing._mark() for thing in things if hasattr(type(thing), "_mark"))


def describable(family: str, name: str = "", *, remembered: bool = True) -> Callable[[Maker], Maker]:
    """Mark a class or function, so that what it makes can be described by the call.

    Parameters
    ----------
    family
        Of the kind.
    name
        Of the kind; by default that of the class or function.
    remembered
        False where what is made describes itself better, a table that was read from a file by its numbers:
        the kind can be named in a description, but is not written.

    Examples
    --------
    >>> class Beam:
    ...     pass
    >>> @describable("example")
    ... def beam(length, width=0.1):
    ...     return Beam()
    >>> origin_of(beam(2.0)).describe()
    {'example': 'beam', 'length': 2.0, 'width': 0.1}
    """

    def mark(make: Maker) -> Maker:
        kind = Kind(family, name or make.__name__, make)
        if isinstance(make, type):
            register(kind, make.__name__)
            if remembered:
                _remember_class(make, kind)
            return make
        if not remembered:
            register(kind)
            return make

        @functools.wraps(make)
        def remembering(*args: object, **options: object) -> object:
            value = make(*args, **options)
            stamp(value, kind, _bound(kind, args, options))
            return value

        kind = register(Kind(family, kind.name, remembering))  # which another process finds by its name
        return remembering  # type: ignore[return-value]

    return mark


def _remember_class(owner: type, kind: Kind) -> None:
    original = owner.__init__  # type: ignore[misc]

    @functools.wraps(original)
    def remembering(self: object, *args: object, **options: object) -> None:
        original(self, *args, **options)
        if type(self) is owner:  # a subclass has arguments of its own
            stamp(self, kind, _bound(kind, args, options))

    owner.__init__ = remembering  # type: ignore[misc]


def _bound(kind: Kind, args: tuple[object, ...], options: Mapping[str, object]) -> dict[str, object]:
    bound = inspect.signature(kind.make).bind(*args, **options)
    bound.apply_defaults()
    return {name: _in_si(kind, name, copied_argument(value)) for name, value in bound.arguments.items()}


def _in_si(kind: Kind, name: str, value: object) -> object:
    """Return a text with a unit as a number, where the class says what it measures: 1 kg is a mass of 1."""
    rule = kind.allowed.get(name)
    return (
        value
        if rule is None or isinstance(rule, tuple) or not isinstance(value, str)
        else rule.check(value, name)
    )


def copied_argument(value: Any) -> Any:
    """Return an argument as it is now: the caller may change a list or a matrix after the call.

    >>> row = [1.0, [2.0]]
    >>> now = copied_argument(row)
    >>> row[1][0] = 3.0
    >>> now
    [1.0, [2.0]]
    """
    if type(value) in (list, tuple):
        return type(value)(map(copied_argument, value))
    if type(value) is dict:
        return {key: copied_argument(v) for key, v in value.items()}
    matrix = isinstance(value, np.ndarray) or hasattr(value, "toarray")  # dense or sparse
    return value.copy() if matrix else value


def plain(value: Any) -> Any:
    """Return a value as numbers, texts, lists and dictionaries.

    A Python object that cannot be described becomes ``{"python": "..."}`` with words that say what it is.

    >>> plain({"a": (1, 2.5)}), plain(len)
    ({'a': [1, 2.5]}, {'python': 'the function len of builtins'})
    """
    if isinstance(value, (np.ndarray, np.generic)):  # NumPy's float is one of Python's too
        return value.tolist()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(v) for key, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if not isinstance(value, type) and callable(getattr(value, "describe", None)):
        return value.describe()
    origin = origin_of(value)
    if origin is not None:
        return origin.describe()
    if hasattr(value, "toarray"):
        return value.toarray().tolist()
    return {PYTHON: in_words(value)}


def same(one: object, other: object) -> bool:
    """Whether two things have equal descriptions, and complete ones: words do not say what a lambda does."""
    description = plain(one)
    return complete(description) and bool(description == plain(other))


def complete(description: object) -> bool:
    """Whether all of a description is data.

    >>> complete(plain([1.0, len]))
    False
    """
    if isinstance(description, Mapping):
        return not is_words(description) and all(complete(v) for v in description.values())
    return not isinstance(description, list) or is_row(description) or all(map(complete, description))


def is_words(description: Mapping[str, object]) -> bool:
    """Whether a description says in words what a Python object is; a part may be called python too."""
    return len(description) == 1 and isinstance(description.get(PYTHON), str)


def in_python(description: object) -> str:
    """Write a description as the Python that makes it; long lists are cut short.

    >>> in_python({"signal": "Sine", "amplitude": 0.01, "frequency": 2.0})
    'Sine(amplitude=0.01, frequency=2.0)'
    """
    if isinstance(description, list):
        shown = [in_python(item) for item in description[:6]]
        return f"[{', '.join(shown)}{', ...' if len(description) > len(shown) else ''}]"
    if not isinstance(description, Mapping):
        return repr(description)
    if is_words(description):
        return f"<{description[PYTHON]}>"
    head = next(iter(description), "")
    if head in FAMILIES and isinstance(description[head], str):
        rest = {k: v for k, v in description.items() if k != head}
        if all(key.isidentifier() for key in rest):
            name = description[head].rpartition(".py:")[2]
            return f"{name}({', '.join(f'{k}={in_python(v)}' for k, v in rest.items())})"
    return f"{{{', '.join(f'{k!r}: {in_python(v)}' for k, v in description.items())}}}"


def without_folders(description: Any) -> Any:
    """Return a description that names what Python files define by the names of the files alone.

    Signals keep their folders: what a run tells of its excitation is computed from it again.

    Parameters
    ----------
    description
        Of anything; it is left as it is.

    Examples
    --------
    >>> import bondloop.control  # which has controllers
    >>> without_folders({"controller": "/home/ann/laws/mine.py:Lead", "ahead": 0.01})
    {'controller': 'mine.py:Lead', 'ahead': 0.01}
    """
    if isinstance(description, list):
        return list(description) if is_row(description) else [without_folders(item) for item in description]
    if not isinstance(description, Mapping):
        return description
    return {
        key: Path(value).name if _is_of_file(key, value) else without_folders(value)
        for key, value in description.items()
    }


def file_digests(description: Any) -> dict[str, str]:
    """Return what stood in the Python files that a description names: SHA-256, its beginning, by name.

    With it two files of one name, or one file before and after a change, are told apart without a folder.

    Parameters
    ----------
    description
        Of anything, with the folders. A file that cannot be read any more has no digest.
    """
    if isinstance(description, list):
        items = [] if is_row(description) else description
        return {name: d for item in items for name, d in file_digests(item).items()}
    if not isinstance(description, Mapping):
        return {}
    digests = {}
    for key, value in description.items():
        if _is_of_file(key, value):
            with contextlib.suppress(OSError):
                content = Path(value.rpartition(":")[0]).read_bytes()
                digests[Path(value).name] = hashlib.sha256(content).hexdigest()[:16]
        digests |= file_digests(value)
    return digests


def is_row(values: Sequence[object]) -> bool:
    """Whether a list holds nothing but numbers, texts and the like: a sampled signal has a million of them.

    >>> is_row([0.0, 1.5, "a"]), is_row([0.0, [1.5]])
    (True, False)
    """
    return ATOMS.issuperset(map(type, values))


def _is_of_file(key: str, value: object) -> bool:
    """Whether an entry names what a Python file defines, ``"/home/ann/mine.py:Lead"``, but for signals."""
    return key in FAMILIES and key != "signal" and isinstance(value, str) and ".py:" in value


def in_words(value: object) -> str:
    """Say what a Python object is, so that its author finds it."""
    if inspect.isroutine(value):
        code = getattr(value, "__code__", None)
        at = (
            f"of {value.__module__}"
            if code is None
            else f"in {os.path.basename(code.co_filename)}, line {code.co_firstlineno}"  # noqa: PTH119
        )
        what = "a lambda" if value.__name__ == "<lambda>" else f"the function {value.__name__}"
        return f"{what} {at}"
    kind = type(value)
    return f"an object of the class {kind.__qualname__} of {kind.__module__}"
