"""The equations of minimal control synthesis, one command after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bondloop.engine.data import FINITE, NOT_NEGATIVE, POSITIVE
from bondloop.engine.ir import Channel, Const, Expr, Quantity, Role, Var, function, quantity_of, select
from bondloop.units import multiplied

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.control.adaptive.mcs import MCS
    from bondloop.engine.data import Range
    from bondloop.substructure import NumericalHalf


class AdaptiveLaw:
    """Collects states, definitions and parameters of the adaptive laws.

    Parameters
    ----------
    mcs
        The controller's settings.
    states, definitions
        Those of the numerical half, to which the law's are added.
    sampled
        Whether the integral parts of the gains are inputs, changed at every sample, and not states.

    Attributes
    ----------
    measured, model, kinds
        By interface: displacement, velocity and so on, measured and desired, and what each of them measures.
    gains, held
        The integral parts, where they are kept from sample to sample, and the inputs by which the law knows
        them where it is sampled.
    initial
        First values of the integral parts.
    growths
        Where it is sampled: what each integral part grows by, a second.
    """

    def __init__(
        self, mcs: MCS, states: dict[Var, Expr], definitions: dict[Var, Expr], *, sampled: bool
    ) -> None:
        self.states, self.definitions, self.sampled = states, definitions, sampled
        self.order = mcs.order
        self.parameters: dict[Var, float | None] = {}
        self.initial: dict[Var, float] = {}
        self.channels: list[Channel] = []
        self.gains: list[Var] = []
        self.held: list[Var] = []
        self.growths: list[Expr] = []
        self.reference = Var("controller.reference")
        self.kinds: list[list[Quantity]] = []
        self.measured: list[list[Expr]] = []
        self.model: list[list[Expr]] = []
        self.displacements: tuple[Var, ...] = ()
        self.velocities: tuple[Var, ...] = ()
        self.alpha = self._constant("alpha", mcs.alpha, POSITIVE)
        self.beta = self._constant("beta", mcs.beta, POSITIVE)
        self.leakage = self._constant("leakage", mcs.leakage, NOT_NEGATIVE) if mcs.leakage else None
        self.dead_zone = self._constant("dead_zone", mcs.dead_zone, NOT_NEGATIVE) if mcs.dead_zone else None
        self.lag = (
            self._constant("differentiation_time", mcs.differentiation_time, POSITIVE)
            if mcs.order > 2
            else None
        )

    def _constant(self, name: str, value: float, allowed: Range) -> Var:
        var = Var(f"controller.{name}", allowed)
        self.parameters[var] = value
        return var

    def observe(self, half: NumericalHalf, names: Sequence[str], desired: Sequence[Expr]) -> None:
        """Add what is known of every interface motion, measured and desired, up to the order."""
        displacements: list[Var] = []
        velocities: list[Var] = []
        for index, z, flow, domain in zip(names, desired, half.flows, half.domains, strict=True):
            kinds = [domain.displacement, domain.flow, domain.acceleration]
            while len(kinds) < self.order:
                kinds.append(kinds[-1].rate)
            self.kinds.append(kinds[: self.order])
            x = Var(f"controller.displacement{index}", quantity=kinds[0])
            displacements.append(x)
            measured: list[Expr] = [x]
            model = [z]
            if self.order > 1:
                v = Var(f"controller.velocity{index}", quantity=kinds[1])
                velocities.append(v)
                measured.append(v)
                model.append(flow)
            for k in range(2, self.order):
                measured.append(self._rate(measured[-1], f"controller.measured{index}.rate[{k}]", kinds[k]))
                model.append(self._rate(model[-1], f"controller.desired{index}.rate[{k}]", kinds[k]))
            self.measured.append(measured)
            self.model.append(model)
        self.displacements, self.velocities = tuple(displacements), tuple(velocities)

    def _rate(self, signal: Expr, name: str, kind: Quantity) -> Var:
        """Add a filtered derivative, s/(T s + 1): nothing measured is differentiated."""
        assert self.lag is not None
        slow = Var(f"{name}.lagging", quantity=quantity_of(signal))
        rate = Var(name, quantity=kind)
        self.definitions[rate] = (signal - slow) / self.lag
        self.states[slow] = rate
        return rate

    def weights(
        self, mcs: MCS, C_e: NDArray[np.float64]
    ) -> tuple[list[list[Var]], list[list[tuple[int, int]]]]:
        """Add C_e as constants; return for every interface its constants, and which errors they weigh.

        Weights that are alike at all interfaces are constants that they share.
        """
        count = len(C_e)
        blocks = C_e.reshape(count, self.order, count)
        if mcs.error_filter != "reference":
            shared = [
                self._constant(f"error_weight[{k}]", float(blocks[0, k, 0]), NOT_NEGATIVE)
                for k in range(self.order)
            ]
            return [shared] * count, [[(i, k) for k in range(self.order)] for i in range(count)]
        constants: list[list[Var]] = []
        places: list[list[tuple[int, int]]] = []
        for i, rows in enumerate(blocks):
            places.append([(j, k) for k in range(self.order) for j in range(count) if rows[k, j]])
            row = f"[{i}]" if count > 1 else ""
            constants.append(
                [
                    self._constant(f"error_weight{row}[{place}]", float(rows[k, j]), FINITE)
                    for place, (j, k) in enumerate(places[-1])
                ]
            )
        return constants, places

    def error(
        self,
        interface: int,
        index: str,
        places: Sequence[tuple[int, int]],
        weights: Sequence[Var],
        measures: Quantity | None,
    ) -> None:
        """Add y_e of one command, a row of ``C_e x_e``."""
        error: Expr = Const(0.0)
        for (j, k), weight in zip(places, weights, strict=True):
            error = error + weight * (self.model[j][k] - self.measured[j][k])
        self.y_e = Var(f"controller.error{index}")
        self.definitions[self.y_e] = error
        self.channels.append(Channel.of(self.y_e.name, self.y_e, measures, Role.ERROR, interface))

    def command(
        self,
        interface: int,
        index: str,
        seen: Sequence[Expr],
        references: Sequence[Expr],
        first: Sequence[float],
    ) -> Expr:
        """Add one command, ``u = K x + K_r r``; return it."""
        gains = [(f"K{index}[{j}]", x) for j, x in enumerate(seen)]
        several = len(references) > 1
        gains += [(f"K_r{index}[{j}]" if several else f"K_r{index}", r) for j, r in enumerate(references)]
        total: Expr = Const(0.0)
        for (name, signal), start in zip(gains, first, strict=True):
            total = total + self._gain(interface, f"controller.{name}", signal, start) * signal
        u = Var(f"command{index}")
        self.definitions[u] = total
        return u

    def _gain(self, interface: int, name: str, signal: Expr, first: float) -> Var:
        """Add one gain: its integral part, which adapts, and its proportional part beside it."""
        adapting: Expr = self.y_e
        if self.dead_zone is not None:
            adapting = select(function("fabs", self.y_e) > self.dead_zone, self.y_e, 0)
        integral = Var(f"{name}.integral")
        self.gains.append(integral)
        self.initial[integral] = first
        known: Expr = integral
        if self.sampled:
            known = Var(f"{name}.held")
            self.held.append(known)
        growth = self.alpha * adapting * signal
        growth = growth if self.leakage is None else growth - self.leakage * known
        if self.sampled:
            self.growths.append(growth)
        else:
            self.states[integral] = growth
        gain = Var(name)
        self.definitions[gain] = known + self.beta * self.y_e * signal
        unit = quantity_of(signal)
        per = None if unit is None else Quantity("gain", multiplied("", unit.unit, -1))
        self.channels.append(Channel.of(name, gain, per, Role.GAIN, interface))
        return gain
