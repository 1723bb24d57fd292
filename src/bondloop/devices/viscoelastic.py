"""A spring and a dashpot side by side.

A spring and a dashpot in series.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bondloop.devices.device import DAMPING, STIFFNESS, Device
from bondloop.engine.data import Parameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.engine.laws import Value


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


class Maxwell(Device):
    """A spring and a dashpot in series; the spring's elongation u goes as u' = v - k u/c.

    Parameters
    ----------
    stiffness
        k, N/m.
    damping
        c, N s/m.

    Examples
    --------
    >>> from bondloop.devices import Imposed, Maxwell
    >>> Maxwell(stiffness=1e6).at_states(elongation=0.01).force(Imposed())
    10000.0
    """

    source = "Maxwell (1867), Phil. Trans. 157"
    mass_is = "none"

    stiffness: Parameter = Parameter(1e6, above=0, unit=STIFFNESS)
    damping: Parameter = Parameter(2e5, above=0, unit=DAMPING)
    states: ClassVar[Mapping[str, float]] = {"elongation": 0.0}
    units: ClassVar[Mapping[str, str]] = {"elongation": "m"}

    def rates(self, motion: Imposed) -> Mapping[str, Value]:
        """Return how the spring is drawn out."""
        return {"elongation": motion.velocity - self.stiffness * self.elongation / self.damping}

    def force(self, motion: Imposed) -> Value:  # noqa: ARG002 - it follows from the spring
        """Return the spring's force."""
        return self.stiffness * self.elongation
