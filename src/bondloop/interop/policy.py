"""Policies: how a rig that is moved from outside is waited for, and how its server waits for others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FollowingPolicy:
    """When a rig is at its target, and what is done until it is.

    Attributes
    ----------
    corrections
        How often what the rig is short of its target may be added to it.
    near
        Share of the tolerance within which the desired motion is at its target: the way there has ended.
    drift
        Share of the tolerance by which the measured displacement may still move while the rig rests.
    creep
        Or share of what it is short of its target: a servo's integral part may creep on for seconds.
    look
        Seconds between looks at the telemetry of a loop on the clock.
    silence
        Seconds without a tick after which a loop that says that it is active is not believed any more.
    """

    corrections: int = 30
    near: float = 0.1
    drift: float = 0.25
    creep: float = 0.02
    look: float = 5e-4
    silence: float = 5.0


@dataclass(frozen=True)
class ServerPolicy:
    """How a server listens.

    Attributes
    ----------
    greeting
        Seconds within which a connection says its sizes: OpenSees does so at once, and others wait.
    look
        Seconds between looks at whether to go on.
    lines
        Sentences that are said of strangers; a flood of packets is no flood of lines.
    checked
        Seconds for which the check rehearses a test that has no length of its own.
    """

    greeting: float = 5.0
    look: float = 0.1
    lines: int = 200
    checked: float = 2.0
