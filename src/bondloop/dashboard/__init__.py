"""The operator's page: watch and steer a test in the browser, replay a run, prepare the next.

The names are imported when they are first used, for they need the extra ``dashboard``.

>>> from bondloop import dashboard
>>> dashboard.Settings(port=0).host
'127.0.0.1'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.lazy_names import lazy_names

if TYPE_CHECKING:
    from bondloop.dashboard.server import serve
    from bondloop.dashboard.settings import Absence, Settings, Subject

__all__ = ["Absence", "Settings", "Subject", "serve"]

__getattr__, __dir__ = lazy_names(
    __name__, {"Absence": "settings", "Settings": "settings", "Subject": "settings", "serve": "server"}
)
