"""Whether the proof of stability of an MCS controller holds for its test (Wagg 2001, eqs. 10 to 14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.control import MCS
from bondloop.engine.analysis import PositiveRealness, positive_realness
from bondloop.errors import BondloopError
from bondloop.substructure import reference_model

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest


def passivity(test: HybridTest) -> PositiveRealness | None:
    """Return what is found of {A_m, B_e, C_e}; None where the controller is not an MCS of second order.

    A_m = H14 is that of the test's own numerical half: its interface motion with all other motions held
    (Wagg 2001, eqs. 7 to 9 and 11). It must be stable, and with C_e strictly positive real.

    Parameters
    ----------
    test
        The test.

    Examples
    --------
    >>> from bondloop.papers import wagg_three_mass
    >>> passivity(wagg_three_mass.test()).why_not
    'its real part falls to -1900, at 1.049 rad/s'
    """
    controller = test.controller
    if not isinstance(controller, MCS) or controller.order != 2:
        return None
    model = reference_model(test.half)
    return positive_realness(model.A, model.B, controller.error_matrix(test.half))


def passivity_notes(test: HybridTest) -> list[str]:
    """Say whether the proof of stability holds: worth knowing, and no verdict, for it is sufficient only."""
    what = "strictly positive real, which the proof of stability asks for (Wagg 2001, eq. 11)"
    try:
        result = passivity(test)
    except BondloopError as error:
        return [f"it is not known whether the error dynamics of the adaptive law are {what}: {error}"]
    if result is None:
        return []
    if result.strict:
        return [f"the error dynamics of the adaptive law are {what}"]
    advice = (
        "the gains may burst; error_filter='reference' makes them so"
        if result.stable
        else "no error filter makes them so: the numerical half's interface motion does not decay"
    )
    return [f"the error dynamics of the adaptive law are not {what}: {result.why_not}; {advice}"]
