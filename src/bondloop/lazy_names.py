"""Rooms whose names are imported when they are first used (PEP 562).

The stub ``__init__.pyi`` of a room lists what it offers, once for type checkers and for Python, as SPEC 1 of
Scientific Python has it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

__all__: list[str] = []


def lazy_names(
    package: str, file: str, *, kept: bool = False
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a package whose stub lists its names.

    Parameters
    ----------
    package, file
        ``__name__`` and ``__file__`` of the package. Its stub has lines ``from module import name as name``.
    kept
        Whether the package keeps a name from its first use on: for names that are used thousands of times.
        Otherwise a name has one home, and what is put in its place there counts.

    Examples
    --------
    >>> import bondloop
    >>> get, names = lazy_names("bondloop", bondloop.__file__)
    >>> get("HybridTest").__name__, "control" in names()
    ('HybridTest', True)
    """
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    homes = {name: module for module, name in re.findall(r"(?m)^from (\S+) import (?:\(\s*)?(\w+) as", stub)}

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=None)
        if homes[name] == package:  # a room, or a folder of one
            return import_module(f"{package}.{name}")
        thing = getattr(import_module(homes[name]), name)
        if kept:
            setattr(sys.modules[package], name, thing)
        return thing

    def names() -> list[str]:
        own = vars(sys.modules[package])
        return sorted({*(own.get("__all__") or homes), *(name for name in own if name.startswith("__"))})

    return get, names
