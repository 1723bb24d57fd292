"""Paths: to which part of a test or model a variable belongs."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=50_000)  # a check asks the same of some hundred states at every point of a run
def within(path: str, *parts: str) -> bool:
    """Whether a path is that of a part, or of something inside it.

    What a variable *is* does not follow from its path; that is carried along with it
    (:mod:`bondloop.engine.ir.quantity`). Where it is, does.

    >>> within("rig.specimen.m3.v.flow", "rig"), within("command[0].held", "rig", "command")
    (True, True)
    >>> within("rigid.mass", "rig")
    False
    """
    return any(path == part or path.startswith((f"{part}.", f"{part}[")) for part in parts)
