"""What the check says of a rig that follows each held command before the next one comes.

A command is held from one sample to the next. A rig that is fast beside the sample period moves towards it at
first and slowly at the end, which is when its force is measured: in steps h, a lag of the time constant T has
(h/T)/(exp(h/T) - 1) of its mean velocity there. On a spring that does nothing; a damper is told too weak.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.bondgraph import interfaces
from bondloop.check.finding import percent
from bondloop.check.tolerances import MISSED_VELOCITY
from bondloop.engine.ir import reads, variables
from bondloop.errors import BondloopError

if TYPE_CHECKING:
    from bondloop.check.dry_run import DryRun
    from bondloop.engine import System
    from bondloop.hybrid import HybridTest


def held_command_notes(test: HybridTest, ran: DryRun | None) -> list[str]:
    """Say so where forces that go with the velocity are measured while the rig is slower than on average.

    Parameters
    ----------
    test
        The test.
    ran
        Its dry run.

    Examples
    --------
    >>> from bondloop.check.dry_run import dry_run
    >>> from bondloop.papers import gawthrop_three_mass
    >>> test = gawthrop_three_mass.test()  # an actuator of 0.16 Hz, a thousand samples a second
    >>> held_command_notes(test, dry_run(test, 5)[0])
    []
    """
    if ran is None or not ran.completed:
        return []
    off = {i: share for i, share in enumerate(ran.sampled_velocity) if abs(share - 1) > MISSED_VELOCITY}
    if not off:
        return []
    try:
        specimen = test.rig.physical.compile()
        ends = [end.path for end in interfaces(test.rig.physical)]
    except BondloopError:  # a specimen that is no bond graph: what its force depends on is not known
        return []
    return [
        f"interface {i + 1}: the rig follows each command before the next one comes, so at the samples its "
        f"velocity is {percent(share)} of the mean between them, and what the specimen's force owes to the "
        "velocity is measured as that much; a higher rate brings them together"
        for i, share in off.items()
        if i < len(ends) and _needs_velocity(specimen, ends[i])
    ]


def _needs_velocity(specimen: System, end: str) -> bool:
    """Whether the force at an interface is a function of the velocity there, not of states alone."""
    flow, effort = f"{end}.flow", f"{end}.effort"
    if flow not in specimen.inputs or effort not in specimen.output_exprs:
        return False  # it begins with a mass, whose velocity is a state of its own
    goal = specimen.output_exprs[effort]
    needed = {*variables(goal), *reads(specimen.schedule([goal]))}
    return any(v.name == flow for v in needed)
