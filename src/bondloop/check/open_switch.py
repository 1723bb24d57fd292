"""What the rig would be asked for with the force switch open and no simulated specimen in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.check.dry_run import dry_run
from bondloop.safety import FORCE_TARGET, cause_words

if TYPE_CHECKING:
    from bondloop.check.dry_run import DryRun
    from bondloop.hybrid import HybridTest


def uncoupled(test: HybridTest, seconds: float, coupled: DryRun | None) -> str:
    """Rehearse a test with its force switch open; return how it leaves its limits if it does so only then.

    Without a simulated specimen the open switch feeds back nothing: what only the specimen holds, a building
    on the bearing that is tested, drifts away, and takes the rig with it as soon as the displacement switch
    is closed.

    Parameters
    ----------
    test, seconds
        The test, and the length of the run that the check is for.
    coupled
        Its dry run with the switches as they are scheduled.
    """
    if test.switches is None or test.switches.simulated is not None or not test.feedback:
        return ""
    if coupled is None or _left(coupled):
        return ""  # there is worse to say
    ran, _ = dry_run(test, seconds, parameters={FORCE_TARGET: 0.0})
    return _left(ran)


def _left(ran: DryRun) -> str:
    """Return how a run left its limits, in words; empty where it did not."""
    if ran.tripped is not None:
        return f"the interlock trips at {ran.tripped[0]:.3g} s ({cause_words(ran.tripped[1])})"
    if not ran.completed:
        return f"the run ends at {ran.seconds:.3g} s ({ran.message})"
    name, share = max(ran.usage.items(), key=lambda item: item[1], default=("", 0.0))
    if share <= 1:
        return ""
    unit = ran.units.get(name, "")
    return f"{name} goes to {ran.peaks[name]:.3g} {unit} of {ran.bounds[name]:.3g} {unit}"
