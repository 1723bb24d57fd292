"""How far a rehearsal is off what the complete structure does, and what of its force is chatter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.ir import Role
from bondloop.rehearsal import ExactReference, exact_reference
from bondloop.results.assess import band_edge, chatter_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.check.dry_run import DryRun
    from bondloop.hybrid import Checkable
    from bondloop.rehearsal import Rehearsal
    from bondloop.results.assess import Chatter


def against_exact(
    test: Checkable, ran: DryRun, rehearsal: Rehearsal
) -> tuple[ExactReference, Mapping[str, float]]:
    """Return the exact reference of a test, and how far its dry run is off it, by channel.

    Each is the rms of the difference over the rms of the reference, of displacements and forces at the
    interfaces as they are. Where there is no exact reference it is the test's own, if it has one.

    Parameters
    ----------
    test
        The test.
    ran, rehearsal
        Its dry run, and what was kept of it.
    """
    if getattr(test, "switches", None) is not None:
        reference = ExactReference(missing="its halves are coupled only when the switches have closed")
    elif not test.feedback:
        reference = ExactReference(missing="the measured force is not fed back")
    elif rehearsal.motions is None:
        reference = ExactReference(missing="the run is too long to be kept for a comparison")
    else:
        reference = exact_reference(test, ran.seconds - test.period)  # the last tick is at its end
    if not reference:
        return reference, ran.off_reference
    assert rehearsal.motions is not None
    off = {}
    both = (Role.DESIRED, Role.ACTUAL)
    for name in (*ran.channels_of(*both, kind="displacement"), *ran.channels_of(Role.ACTUAL, kind="effort")):
        exact = reference.channels.get(name)
        if exact is not None:
            n = min(len(exact), len(rehearsal.motions[name]))
            error = relative_rms(rehearsal.motions[name][:n], exact[:n], ran.bounds.get(name, 0.0))
            if np.isfinite(error):
                off[name] = error
    return reference, off


def chattering(
    test: Checkable, ran: DryRun, rehearsal: Rehearsal, reference: ExactReference
) -> Mapping[str, Chatter]:
    """Return by force what of its power lies above the band of the motion, the structure's own taken off.

    Parameters
    ----------
    test
        The test.
    ran, rehearsal
        Its dry run, and what was kept of it.
    reference
        What the complete structure does.
    """
    kept = rehearsal.motions
    if kept is None:
        return {}
    found = {}
    for name in ran.channels_of(Role.ACTUAL, kind="effort"):
        place = ran.meanings[name].interface
        motion = [
            next((n for n in ran.channels_of(Role.ACTUAL, kind=k) if ran.meanings[n].interface == place), "")
            for k in ("displacement", "flow")
        ]
        if not all(motion) or not np.isfinite(kept[name]).all():
            continue
        own = reference.channels.get(name)
        own = None if own is None or len(own) != len(kept[name]) else own
        # The rig's own motion may chatter with its force: the band is that of the complete structure.
        moved = kept if own is None else reference.channels
        edge = band_edge(moved[motion[0]], moved[motion[1]], test.period)
        found[name] = chatter_of(kept[name], test.period, edge, own)
    return found


def relative_rms(
    found: NDArray[np.float64], exact: NDArray[np.float64], bound: float, *, floor: float = 1e-4
) -> float:
    """Return the rms of a difference over the rms of what is exact; NaN where that hardly moves.

    Parameters
    ----------
    found, exact
        The two.
    bound
        Limit of the channel; infinite or 0 for none.
    floor
        Share of the limit below which a channel hardly moves: less than any sensor of that range resolves.

    Examples
    --------
    >>> relative_rms(np.array([1.1, -1.1]), np.array([1.0, -1.0]), 0.0).__round__(3)
    0.1
    """
    size = float(np.sqrt(np.mean(exact**2)))
    least = floor * bound if np.isfinite(bound) else 0.0
    return float(np.sqrt(np.mean((found - exact) ** 2))) / size if size > least else float("nan")
