"""A gap: it pushes back once it has closed, and may yield."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.devices.hook import Hook
from bondloop.devices.ode_specimen import Imposed as Motion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.devices.ode_specimen import Imposed
    from bondloop.program.traced import Value

__all__ = ["Gap"]


class Gap(Hook):
    """It pushes back once the gap has closed: a bumper, a pounding joint. A hook that is pushed.

    What yields opens the gap for good; see `Hook`.

    Parameters
    ----------
    stiffness, gap, yield_force, hardening
        As for `Hook`; the gap closes at a displacement of -gap.

    Examples
    --------
    >>> from bondloop.devices import Gap
    >>> Gap(stiffness=1e6, gap="2 mm").respond([0.01, -0.002, -0.005], 100, backend="numpy").tolist()
    [-0.0, -0.0, -3000.0]
    """

    def memory(self, motion: Imposed) -> Mapping[str, Value]:
        """Return the plastic shortening after a way without a turn."""
        return super().memory(Motion(-motion.displacement, -motion.velocity))

    def force(self, motion: Imposed) -> Value:
        """Return the push, which is negative."""
        return -super().force(Motion(-motion.displacement, -motion.velocity))
