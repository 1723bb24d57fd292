"""Recorded runs for the browser: another process reads the run files, the server passes answers on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.lazy_names import lazy_names

if TYPE_CHECKING:
    from bondloop.dashboard.replay.routes import Replay
    from bondloop.dashboard.replay.run_table import RunTable

__all__ = ["Replay", "RunTable"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Replay": "routes",
        "RunTable": "run_table",
    },
)
