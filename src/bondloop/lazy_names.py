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


def lazy_names(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a package whose stub lists its names.

    Parameters
    ----------
    package, file
        ``__name__`` and ``__file__`` of the package. Its stub has lines ``from module import name as name``.

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
        return getattr(import_module(homes[name]), name)  # not kept: a name has one home

    def names() -> list[str]:
        own = vars(sys.modules[package])
        return sorted({*(own.get("__all__") or homes), *(name for name in own if name.startswith("__"))})

    return get, names
