"""Lead compensation."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bondloop.control.base import Compensator
from bondloop.control.blocks.filters import LinearFilter, rational
from bondloop.control.blocks.history import from_line
from bondloop.engine.data import POSITIVE, Parameter, si_array
from bondloop.engine.ir import Const
from bondloop.engine.passes import Applied, Context

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from bondloop.control.base import Measured
    from bondloop.engine.ir import Expr


@dataclass(frozen=True)
class LeadCompensation(Compensator):
    """A first-order lead, (T s + 1)/(T s/ratio + 1): the inverse of a lag T with a filter.

    For slow motions it leads by T (1 - 1/ratio); T is chosen so that this is ``delay``. For fast ones its
    gain rises to ``ratio``, so a large ratio leads further up in frequency and amplifies noise more.

    With the ratio without bound it is du Bois 2010's inverse of G1; discretised with the filter's pole at
    z = 0 instead, it is the inverse compensation of Chen and Ricles (2009).

    Parameters
    ----------
    delay
        The lag to cancel, in s: a delay, a time constant, or their sum.
    ratio
        Gain for fast motions, above 1.

    Examples
    --------
    >>> lead = LeadCompensation(0.01, ratio=5)
    >>> abs(lead.response([0.0, 500.0], 0.001)).round(3).tolist()
    [1.0, 4.948]

    References
    ----------
    Zhao, French, Shield and Posbergh (2003), EESD 32(11); Chen and Ricles (2009), EESD 38(10).
    """

    set_point: ClassVar[bool] = True

    delay: Parameter = Parameter(least=0, unit="s")
    ratio: Parameter = Parameter(5.0, above=1, unit="1")

    def _filter(self) -> LinearFilter:
        lag = self.delay / (self.ratio - 1)
        return rational([self.ratio * lag, 1.0], [lag, 1.0]) if lag else rational([1.0], [1.0])

    def response(self, frequency: ArrayLike, period: float | str) -> NDArray[np.complex128]:
        """Return the ratio of command to demand at frequencies in Hz, for a sample period in s.

        Parameters
        ----------
        frequency
            Frequencies in Hz.
        period
            The sample period in s.
        """
        period = POSITIVE.check(period, "period", "s")
        return self._filter().response(si_array(frequency, "frequency", "Hz"), period)[..., 0]

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:  # noqa: ARG002
        """Return the command."""
        applied, line, rate = from_line(desired, context)
        filtered, _ = self._filter().apply(applied.value, context, "lead")
        return Applied(
            [*applied.steps, *filtered.steps],
            line + Const(self.delay) * rate + filtered.value,
            {**applied.states, **filtered.states},
        )
