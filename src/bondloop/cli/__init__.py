"""The command line: related verbs in one module, put together in `bondloop.cli.main`.

Nothing heavy is imported when the program starts; a verb imports what it needs when it runs.
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__: list[str] = []

__getattr__, __dir__ = lazy_names(__name__, __file__)
