"""A fixed compensator with an adaptive one for what it leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from bondloop.control.base import Compensator, Measured
from bondloop.engine.ir import Var, reads, variables
from bondloop.engine.passes import Applied, Context, named
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.engine.ir import Expr, Step


@runtime_checkable
class LearnsRemainder(Protocol):
    """An adaptive compensator that can act on another signal than that of which it learns."""

    def remainder(self, desired: Expr, sent: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command: the law on ``sent``, adapted as if it stood before what made it of the demand.

        Parameters
        ----------
        desired
            The desired displacement at this sample.
        sent
            What the fixed part makes of it.
        measured
            What the sensors read.
        context
            Names and period.
        """


@dataclass(frozen=True)
class AdaptiveRemainder(Compensator):
    """A fixed compensator, such as an inverse, and an adaptive one that learns what it leaves.

    To the adaptive part A the fixed part F and the transfer system G together are the plant, which is close
    to 1: u = F(A(x)), and A is adapted by its own output and the measured displacement. Linear parts commute
    as long as A changes slowly, and what is computed is u = A(F(x)): so F, which may differentiate five
    times, acts on the smooth demand, and never on a coefficient that moves. Derivatives in A are those of a
    low pass (at five times ``filter_frequency``): differences of what F has differentiated already would be
    noise.

    What is left may lead as well as lag: the adaptive part's bounds hold in both directions here, its delay
    from -``largest_delay`` to ``largest_delay``, and likewise every coefficient of a derivative. Begin it
    with a delay of 0; a small ``largest_delay`` keeps it close to the fixed part.

    An adaptive compensator that cannot act on one signal and learn of another (a `ControlLaw` of one's own)
    stands before the fixed part, u = F(A(x)) as it is written: then F should not differentiate more than
    once or twice.

    Parameters
    ----------
    fixed
        A compensator that neither adapts nor reads what is measured.
    adaptive
        One that adapts: `AdaptiveTimeSeries`, `AdaptiveModelBased`, `AdaptivePrediction`.

    Examples
    --------
    >>> from bondloop.control import AdaptiveModelBased, InverseModel
    >>> from bondloop.transfer import first_order
    >>> law = AdaptiveRemainder(
    ...     InverseModel(first_order(1.0, "20 ms")), AdaptiveModelBased(largest_delay="10 ms")
    ... )
    >>> law.adapts
    True
    """

    fixed: Compensator
    adaptive: Compensator

    def __post_init__(self) -> None:
        for word, example in (("fixed", "InverseModel(process)"), ("adaptive", "AdaptiveTimeSeries()")):
            part = getattr(self, word)
            if not isinstance(part, Compensator):
                raise InputError(
                    f"AdaptiveRemainder({word}): expected a compensator, such as {example}; "
                    f"found {part!r:.60}"
                )
            if part.adapts != (word == "adaptive"):
                raise InputError(
                    f"AdaptiveRemainder({word}): {type(part).__name__} "
                    f"{'adapts' if part.adapts else 'does not adapt'}; "
                    f"expected one that does{' not' if part.adapts else ''}, such as {example}"
                )
        object.__setattr__(self, "adapts", True)

    @property
    def opaque(self) -> str:
        """The Python function that one of its parts calls; "" for none."""
        return self.fixed.opaque or self.adaptive.opaque

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command."""
        inner, outer = (replace(context, name=f"{context.name}.{word}") for word in ("fixed", "adaptive"))
        learn = self.adaptive
        if isinstance(learn, LearnsRemainder):
            more, demand = named(desired, context, "desired")
            first = self._fixed(demand, inner)
            steps, sent = named(first.value, inner, "sent")
            second = learn.remainder(demand, sent, measured, outer)
            return _joined([*more, *first.steps, *steps, *second.steps], second.value, first, second)
        first = learn.compensate(desired, measured, outer)
        steps, sent = named(first.value, outer, "sent")
        second = self._fixed(sent, replace(inner, velocity=None))
        return _joined([*first.steps, *steps, *second.steps], second.value, first, second)

    def _fixed(self, demand: Expr, context: Context) -> Applied:
        """Return the fixed part, which may not read what is measured."""
        sensors = [Var(f"{context.name}.{word}") for word in ("force", "displacement", "velocity")]
        applied = self.fixed.compensate(demand, Measured(*sensors), context)
        if {*reads(applied.steps), *variables(applied.value)} & {*sensors}:
            raise InputError(
                f"AdaptiveRemainder(fixed): {type(self.fixed).__name__} reads what is measured: it is "
                "no fixed filter of the demand; give it the chain instead, as its feedforward or compensator"
            )
        return applied


def _joined(steps: list[Step], value: Expr, first: Applied, second: Applied) -> Applied:
    return Applied(
        steps,
        value,
        {**first.states, **second.states},
        {**first.parameters, **second.parameters},
        (*first.channels, *second.channels),
        (*first.adapted, *second.adapted),
    )
