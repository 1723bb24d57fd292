"""Names of a room that are imported when they are first used (PEP 562): for all front doors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["lazy_names"]


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package whose names live in its modules.

    Parameters
    ----------
    package
        ``__name__`` of the package.
    modules
        Of each name the module below the package that defines it. For type checkers the package imports the
        names under ``TYPE_CHECKING``, too.

    Examples
    --------
    >>> get, names = lazy_names("bondloop", {"InputError": "errors"})
    >>> get("InputError").__name__, "InputError" in names()
    ('InputError', True)
    """

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=None)
        thing: object = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, thing)
        return thing

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get, names
