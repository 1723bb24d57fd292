"""A spring and a dashpot side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.data.described import Parameter
from bondloop.devices.device import DAMPING, STIFFNESS, Device

if TYPE_CHECKING:
    from bondloop.devices.ode_specimen import Imposed
    from bondloop.program.traced import Value

__all__ = ["KelvinVoigt"]


class KelvinVoigt(Device):
    """A spring and a dashpot side by side: k x + c v.

    Parameters
    ----------
    stiffness
        k, N/m.
    damping
        c, N s/m.

    Examples
    --------
    >>> from bondloop.devices import Imposed, KelvinVoigt
    >>> KelvinVoigt(stiffness=1e5, damping=2e3).force(Imposed(0.01, 0.1))
    1200.0
    """

    source = "Voigt (1892), Ann. Phys. 283"
    mass_is = "none"

    stiffness: Parameter = Parameter(1e5, least=0, unit=STIFFNESS)
    damping: Parameter = Parameter(2e4, least=0, unit=DAMPING)

    def force(self, motion: Imposed) -> Value:
        """Return the sum of both forces."""
        return self.stiffness * motion.displacement + self.damping * motion.velocity
