"""Tests whose numerical half is computed by another program: OpenSees, or one of one's own.

The names are imported when they are first used: `RemoteRig` and `OpenSeesHalf` need nothing but Python, so
that they work where that program lives.

>>> from bondloop import external
>>> external.RemoteRig.__name__
'RemoteRig'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bondloop.external.clocked_rig import ClockedRig
    from bondloop.external.following_rig import FollowingRig
    from bondloop.external.opensees_half import OpenSeesHalf, step_by_step
    from bondloop.external.protocol import Answer, RigFaultError
    from bondloop.external.pseudo_dynamic_rig import run_pseudo_dynamic
    from bondloop.external.rehearsed_rig import RehearsedRig
    from bondloop.external.remote_rig import RemoteRig
    from bondloop.external.server import Server, Serving, serve_on_the_clock, serve_rehearsed

__all__ = [
    "Answer",
    "ClockedRig",
    "FollowingRig",
    "OpenSeesHalf",
    "RehearsedRig",
    "RemoteRig",
    "RigFaultError",
    "Server",
    "Serving",
    "run_pseudo_dynamic",
    "serve_on_the_clock",
    "serve_rehearsed",
    "step_by_step",
]

# The module of each name. A name added here goes into __all__ and into the TYPE_CHECKING block above.
_LAZY = {
    "Answer": "protocol",
    "ClockedRig": "clocked_rig",
    "FollowingRig": "following_rig",
    "OpenSeesHalf": "opensees_half",
    "RehearsedRig": "rehearsed_rig",
    "RemoteRig": "remote_rig",
    "RigFaultError": "protocol",
    "Server": "server",
    "Serving": "server",
    "run_pseudo_dynamic": "pseudo_dynamic_rig",
    "serve_on_the_clock": "server",
    "serve_rehearsed": "server",
    "step_by_step": "opensees_half",
}


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
