"""The operator's page: watch and steer a test in the browser, replay a run, prepare the next.

The names are imported when they are first used, for they need the extra ``dashboard``.

>>> from bondloop import dashboard
>>> dashboard.Settings(port=0).host
'127.0.0.1'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bondloop.dashboard.server import serve
    from bondloop.dashboard.settings import Absence, Settings, Subject

__all__ = ["Absence", "Settings", "Subject", "serve"]

# The module of each name. A name added here goes into __all__ and into the TYPE_CHECKING block above.
_LAZY = {"Absence": "settings", "Settings": "settings", "Subject": "settings", "serve": "server"}


def __getattr__(name: str) -> object:
    """Import what `name` stands for (PEP 562)."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=None)
    found: object = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Show the lazy names before they are imported."""
    return sorted({*globals(), *_LAZY})
