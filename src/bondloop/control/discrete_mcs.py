"""Minimal control synthesis as a difference equation, from sample to sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, ClassVar

from bondloop.control.base import Design
from bondloop.control.mcs import MCS
from bondloop.errors import ModelError
from bondloop.program.block import Applied, Context
from bondloop.program.expr import Const, Expr, Var, substitute
from bondloop.program.tick import Update

if TYPE_CHECKING:
    from bondloop.control.base import Measured
    from bondloop.substructure.half import NumericalHalf
    from bondloop.transfer.base import TransferSystem

__all__ = ["DiscreteMCS"]


@dataclass(frozen=True)
class _SampledDesign(Design):
    """A design whose gains change at every sample: first values, and what they grow by a second."""

    growths: tuple[Expr, ...] = ()
    first: tuple[float, ...] = ()


@dataclass(frozen=True)
class DiscreteMCS(MCS):
    """MCS whose gains are changed once a sample, by a difference equation.

    With the sample period T and the products of one sample, ``p_k = y_e x^T``,

    ``K_k = K_(k-1) + b p_k - (b - a T) p_(k-1)``,

    likewise for K_r. That is the rectangle rule for the integral part, where `MCS` integrates it together
    with the numerical half, by the same scheme. It works sample by sample, so the coupling of a test must be
    ``"sampled"``.

    Parameters
    ----------
    alpha, beta, settling_time, order, reference, error_filter, dead_zone, leakage, coupled, initial_gains
        As of `MCS`.
    differentiation_time
        As of `MCS`, for orders above 2.

    Examples
    --------
    >>> DiscreteMCS(alpha=1000, beta=100, error_filter="reference", leakage=0.01).sampled
    True
    """

    sampled: ClassVar[bool] = True

    def design(self, half: NumericalHalf, actuators: Sequence[TransferSystem]) -> Design:  # noqa: ARG002 - needs no model
        """Join the laws to the numerical half; the integral parts of the gains are held over a sample."""
        joined, law = self._joined(half, sampled=True)
        known = {f.name: getattr(joined, f.name) for f in fields(Design)}
        first = tuple(law.initial[gain] for gain in joined.gains)
        return _SampledDesign(**known, growths=tuple(law.growths), first=first)

    def observe(
        self,
        design: Design,
        measured: Sequence[Measured],  # noqa: ARG002 - it reads what the numerical half makes of them
        context: Context,  # noqa: ARG002
    ) -> tuple[Applied, Mapping[Var, Expr]]:
        """Give the integral parts as they are since the last sample."""
        sampled = _sampled(design)
        states = dict(zip(design.gains, sampled.first, strict=True))
        return Applied([], Const(0.0), states), dict(zip(design.adapted, design.gains, strict=True))

    def commands(
        self,
        design: Design,
        values: Mapping[Var, Expr],
        measured: Sequence[Measured],
        contexts: Sequence[Context],
    ) -> list[Applied]:
        """Return the commands, and with the last of them the gains' step to the next sample."""
        sampled = _sampled(design)
        period = Const(contexts[0].period)
        known = dict(values)
        steps = tuple(
            (gain, gain + period * substitute(growth, known))
            for gain, growth in zip(design.gains, sampled.growths, strict=True)
        )
        result = super().commands(design, values, measured, contexts)
        last = result[-1]
        return [*result[:-1], replace(last, steps=[*last.steps, Update(steps)])]


def _sampled(design: Design) -> _SampledDesign:
    if not isinstance(design, _SampledDesign):
        raise ModelError("DiscreteMCS needs the design that it made itself")
    return design
