"""The operator's page: watch and steer a test in the browser, replay a run, prepare the next.

The names are imported when they are first used, for they need the extra ``dashboard``.

>>> from bondloop import dashboard
>>> dashboard.Settings(port=0).host
'127.0.0.1'
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["PagePolicy", "Settings", "serve"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
