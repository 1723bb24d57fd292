"""A coupled inverse that learns, by recursive least squares, what its model does not know."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.control.coupled_inverse import CoupledInverse, Weights
from bondloop.control.linear_filter import LinearFilter, rational
from bondloop.control.recursive_least_squares import RecursiveLeastSquares
from bondloop.program.block import Applied, Context
from bondloop.program.described import Parameter
from bondloop.program.expr import Const, Expr, Op, Var
from bondloop.program.quantity import Quantity, Role
from bondloop.program.schedule import Assign
from bondloop.program.tick import Channel, Update

if TYPE_CHECKING:
    from bondloop.program.tick import Step

__all__ = ["AdaptiveCoupledInverse"]


@dataclass(frozen=True, eq=False)
class AdaptiveCoupledInverse(CoupledInverse):
    """A coupled inverse that learns what its model does not know, by recursive least squares.

    The coefficients are those that give, of the *measured* motions of all actuators, the commands that were
    sent: u_i is explained by the differences and filters of the measured motions, both through the same low
    pass. They begin as those of `CoupledInverse`, each uncertain by a share of itself, so that what the
    motion does not show stays as the model has it. Nothing is differentiated after it has been adapted: a
    coefficient that moves moves the command by as much.

    Parameters
    ----------
    model, differences, bandwidth, delay
        As of `CoupledInverse`.
    uncertainty
        Share of each coefficient by which it may be wrong at the beginning: 0.1 for a tenth.
    noise
        Rms in m of what the sum does not explain of a command: the sensors' noise as the inverse passes it
        on, in essence. Smaller learns faster, and more from noise.
    filter_frequency
        Corner in Hz of the low pass (Butterworth, third order).
    memory
        Time in s after which a sample counts 1/e; 1e9 for hardly ever.
    threshold
        Motion in m below which nothing is learnt: a rig at rest shows nothing but its sensors' noise.

    Examples
    --------
    >>> from bondloop.transfer import ProcessMatrix, first_order
    >>> G = ProcessMatrix(
    ...     (
    ...         (first_order(1.0, 0.02), first_order(0.3, 0.02)),
    ...         (first_order(0.2, 0.03), first_order(0.9, 0.03)),
    ...     )
    ... )
    >>> AdaptiveCoupledInverse(G.actuator(), uncertainty="20 %", bandwidth="5 Hz").uncertainty
    0.2

    References
    ----------
    The coefficients' law is that of Quiroz, Gálmez and Fermandois (2024), Frontiers in Built Environment 10,
    1394952, there for each actuator alone and with taps only.
    """

    adapts: ClassVar[bool] = True

    uncertainty: Parameter = Parameter(0.1, above=0, unit="1")
    noise: Parameter = Parameter(1e-3, above=0, unit=("m", "rad"))
    filter_frequency: Parameter = Parameter(10.0, above=0, unit="Hz")
    memory: Parameter = Parameter(1e9, above=0, unit="s")
    threshold: Parameter = Parameter(5e-5, least=0, unit=("m", "rad"))

    def _low_pass(self) -> LinearFilter:
        w = 2 * np.pi * self.filter_frequency
        return rational([w**3], np.polymul([1.0, w], [1.0, w, w**2]))

    def _weights(self, measured: Sequence[Expr], context: Context) -> Weights:
        first = self.coefficients(context.period)
        low, count = self._low_pass(), first[0].size
        steps: list[Step] = []
        # The pair of the sample before: its command was not known when its motion was measured.
        last = [Var(f"{context.name}.regressor[{k}].last") for k in range(count)]
        sent = [Var(f"{context.name}.explained[{i}].last") for i in range(len(first))]
        states: dict[Var, float] = dict.fromkeys([*last, *sent], 0.0)
        # How far it is from rest and how fast it moves, the latter over the bandwidth.
        size: Expr = Const(0.0)
        for k in range(0, count, count // len(first)):
            size = size + last[k] * last[k] + last[k + 1] * last[k + 1]
        moving = Var(f"{context.name}.moving")
        steps.append(Assign(moving, Op("gt", (size, Const(float(self.threshold) ** 2)))))
        rows: list[list[Expr]] = []
        channels: list[Channel] = []
        for i, (row, value) in enumerate(zip(first.reshape(len(first), -1), sent, strict=True)):
            sizes = self.uncertainty * np.maximum(np.abs(row), 1e-3 * np.abs(row).max())
            law = RecursiveLeastSquares(
                *(tuple(row.tolist()), tuple(sizes.tolist())),
                noise=self.noise,
                memory=self.memory,
            )
            estimate = law.apply(
                last, value, replace(context, name=f"{context.name}.learnt[{i}]"), when=moving
            )
            steps += estimate.applied.steps
            states.update(estimate.applied.states)
            rows.append(list(estimate.parameters))
            channels += [
                Channel.of(f"controller.coefficient[{i}][{k}]", p, Quantity("coefficient"), Role.ESTIMATE, i)
                for k, p in enumerate(estimate.parameters)
            ]
        now: list[Expr] = []
        for j, motion in enumerate(measured):
            applied, _ = low.apply(motion, context, f"filtered_motion_{j}")
            steps += applied.steps
            states.update(applied.states)
            now += self._inputs(applied.value, context, f"motion_{j}", steps, states)
        steps.append(Update(tuple(zip(last, now, strict=True))))
        adapted = tuple(p for row in rows for p in row if isinstance(p, Var))
        applied = Applied(steps, Const(0.0), states, channels=tuple(channels), adapted=adapted)
        return Weights(rows, sent, applied)

    def _learn(self, weights: Weights, commands: Sequence[Var], context: Context) -> Applied:
        low = self._low_pass()
        steps: list[Step] = []
        states: dict[Var, float] = {}
        for i, (command, sent) in enumerate(zip(commands, weights.explain, strict=True)):
            applied, _ = low.apply(command, context, f"filtered_command_{i}")
            steps += [*applied.steps, Update(((sent, applied.value),))]
            states.update(applied.states)
        return Applied(steps, Const(0.0), states)
