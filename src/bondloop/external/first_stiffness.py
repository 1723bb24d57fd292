"""The stiffness that a test's emulated specimen has where it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph.cut import interfaces
from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.hybrid import HybridTest

__all__ = ["first_stiffness"]

SLOW = 1e-3
"""rad/s at which it is read off: slow enough for a static stiffness, without dividing by zero."""


def first_stiffness(test: HybridTest) -> NDArray[np.float64]:
    """Return the static stiffness of the specimen at its initial state, one row an interface, N/m.

    Parameters
    ----------
    test
        The test.

    Examples
    --------
    >>> import bondloop as bl
    >>> from bondloop.devices import GiuffreMenegottoPinto
    >>> from bondloop.rigs import Emulated, mounted
    >>> from bondloop.substructure import ExternalHalf
    >>> rig = Emulated(mounted(GiuffreMenegottoPinto(stiffness="2 MN/m")), bl.transfer.ServoHydraulic())
    >>> test = bl.HybridTest(
    ...     ExternalHalf("50 mm", "0.1 m/s"),
    ...     rig=rig,
    ...     controller=bl.control.Direct(),
    ...     excitation={},
    ...     rate=1000,
    ... )
    >>> print(f"{first_stiffness(test)[0, 0]:.4g}")
    2e+06
    """
    try:
        space = test.rig.physical.compile().linearise()
        response = space.frequency_response([SLOW])[0]
    except BondloopError as error:
        raise InputError(
            f"the stiffness of the specimen at its start is not known ({error}); give "
            "ExternalHalf(stiffness=...)"
        ) from error
    ends = [end.path for end in interfaces(test.rig.physical)]
    rows = [space.outputs.index(f"{path}.effort") for path in ends]
    columns = [space.inputs.index(f"{path}.flow") for path in ends]
    # A force per velocity; times the frequency it is one per displacement.
    answer: NDArray[np.float64] = (1j * SLOW * response[np.ix_(rows, columns)]).real
    if not np.isfinite(answer).all():
        raise InputError("the specimen has no stiffness at its start; give ExternalHalf(stiffness=...)")
    return answer
