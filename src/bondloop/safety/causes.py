"""Causes of a trip: numbers that never change, since generated code and records hold them, and words."""

from __future__ import annotations

import math
from enum import IntEnum

INTERLOCK = "interlock"
"""Begins the names of all that belongs to the interlock of a test."""
CAUSE = f"{INTERLOCK}.cause"
"""The channel that holds the number of the cause: not zero from the tick on in which the interlock trips."""
WARNING = f"{INTERLOCK}.warning"
"""The channel that holds the number of a cause that is near."""
POWER = f"{INTERLOCK}.power"
"""The channel of the power discrepancy, where a test with one interface has a power trip."""
WHEN = f"{INTERLOCK}.when"
"""Where a study keeps the time of a trip; no tick records it."""
TRIP = f"{INTERLOCK}.trip"
"""The parameter that requests a trip, by the number of its cause."""
LIMITS = {
    f"{INTERLOCK}.limits.{word}": word
    for word in ("displacement", "velocity", "force", "command", "command_rate", "tracking_error")
}
"""Limits that may be tightened while a test runs, by the names of their parameters."""

DISPLACEMENT_SWITCH, FORCE_SWITCH = "switch.displacement", "switch.force"
"""The channels of the two switches, from 0 to 1; the second is gamma in du Bois 2010, eq. 25."""
DISPLACEMENT_TARGET, FORCE_TARGET = f"{DISPLACEMENT_SWITCH}.target", f"{FORCE_SWITCH}.target"
"""The operator's parameters, to which they ramp."""


class Cause(IntEnum):
    """What tripped the interlock; 0 is none. Causes 9 to 16 and 18 to 20 are found outside the tick.

    Examples
    --------
    >>> Cause.POWER, Cause(9).name
    (<Cause.POWER: 6>, 'OPERATOR')
    >>> cause_words(Cause.POWER)
    'the power discrepancy at the interface stayed beyond its threshold'
    """

    NONE = 0
    DISPLACEMENT = 1
    VELOCITY = 2
    FORCE = 3
    COMMAND = 4
    TRACKING_ERROR = 5
    POWER = 6
    NOT_A_NUMBER = 7
    STALE = 8
    OPERATOR = 9
    LINK_LOST = 10
    OVERRUN = 11
    SUPERVISOR_LOST = 12
    RIG_FAULT = 13
    EMERGENCY_STOP = 14
    STOOD_STILL = 15
    RECORD_LOST = 16
    COMMAND_RATE = 17
    START_POSITION = 18
    OPERATOR_LOST = 19
    CONTROLLER_FAULT = 20


_WORDS = {
    Cause.NONE: "no trip",
    Cause.DISPLACEMENT: "the measured displacement went beyond its limit",
    Cause.VELOCITY: "the measured velocity went beyond its limit",
    Cause.FORCE: "the measured force went beyond its limit",
    Cause.COMMAND: "the command went beyond its limit",
    Cause.TRACKING_ERROR: "the tracking error went beyond its limit",
    Cause.POWER: "the power discrepancy at the interface stayed beyond its threshold",
    Cause.NOT_A_NUMBER: "a measured value or a command was infinite or not a number",
    Cause.STALE: "a measured value stayed the same to the last bit for too long",
    Cause.OPERATOR: "tripped by hand",
    Cause.LINK_LOST: "the link to the rig was lost",
    Cause.OVERRUN: "a tick took longer than its period",
    Cause.SUPERVISOR_LOST: "the supervising program no longer answered",
    Cause.RIG_FAULT: "the rig reported a fault of its own",
    Cause.EMERGENCY_STOP: "the emergency stop at the rig was pressed",
    Cause.STOOD_STILL: "the loop stood still for longer than the test allows",
    Cause.RECORD_LOST: "the record could not be kept, which the test demands",
    Cause.COMMAND_RATE: "the command changed faster than its limit",
    Cause.START_POSITION: "the rig stood elsewhere than where the test begins",
    Cause.OPERATOR_LOST: "no operator was there for longer than the run allows",
    Cause.CONTROLLER_FAULT: "the rig's controller reported a fault",
}


def cause_words(code: float) -> str:
    """Return a cause in words, by its number as generated code and records hold it.

    Parameters
    ----------
    code
        Number of a `Cause`.

    Examples
    --------
    >>> cause_words(6)
    'the power discrepancy at the interface stayed beyond its threshold'
    >>> cause_words(99.0)
    'unknown cause 99'
    """
    if math.isfinite(code) and code in _WORDS:
        return _WORDS[Cause(int(code))]
    return f"unknown cause {code:g}"


def limit_name(code: float) -> str:
    """Return the name of the limit whose passing is a cause, for warnings.

    Parameters
    ----------
    code
        Number of a `Cause`.

    Examples
    --------
    >>> limit_name(17)
    'command rate'
    """
    known = math.isfinite(code) and code in _WORDS
    return Cause(int(code)).name.lower().replace("_", " ") if known else f"unknown cause {code:g}"
