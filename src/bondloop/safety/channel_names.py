"""The names under which switches and interlock of a test are recorded and changed, written out here alone."""

from __future__ import annotations

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
