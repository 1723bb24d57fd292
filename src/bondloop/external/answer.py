"""What a rig answers with, and that it cannot: known to both ends, without anything that computes."""

from __future__ import annotations

from dataclasses import dataclass

from bondloop.errors import BondloopError

__all__ = ["Answer", "RigFaultError"]


class RigFaultError(BondloopError):
    """The rig went to its safe state, or does not reach what it is asked for: it cannot be moved any more.

    Examples
    --------
    >>> raise RigFaultError("the measured force went beyond its limit at t = 4.379 s")
    Traceback (most recent call last):
    bondloop.external.answer.RigFaultError: the measured force went beyond its limit at t = 4.379 s
    """


@dataclass(frozen=True)
class Answer:
    """What a rig answers with, when it was moved.

    Attributes
    ----------
    force
        That the specimen resists with at each interface, N: +k x of a spring pulled out by x.
    displacement
        As measured, m.
    time
        Of the rig's own test, s.
    """

    force: tuple[float, ...]
    displacement: tuple[float, ...]
    time: float
