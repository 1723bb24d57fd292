"""Tests whose numerical half is computed by another program: OpenSees, or one of one's own.

The names are imported when they are first used: `RemoteRig` and `OpenSeesHalf` need nothing but Python, so
that they work where that program lives.

>>> from bondloop import interop
>>> interop.RemoteRig.__name__
'RemoteRig'
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "Answer",
    "OpenSeesHalf",
    "RehearsedRig",
    "RemoteRig",
    "RigFaultError",
    "run_pseudo_dynamic",
    "step_by_step",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
