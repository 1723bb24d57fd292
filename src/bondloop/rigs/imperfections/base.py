"""The base of the imperfections, where they stand in a tick, and one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bondloop.errors import InputError
from bondloop.program.described import Described
from bondloop.program.expr import Expr, Var
from bondloop.program.schedule import Assign
from bondloop.program.tick import Step, is_trivial

__all__ = ["Applied", "Chain", "Context", "Imperfection", "chain", "checked", "imperfection_from", "named"]

STREAMS = 65536
"""How many streams of noise are there to give away; a chain's further ones lie beyond them."""


@dataclass(frozen=True)
class Context:
    """Where an imperfection stands; given by whoever builds the tick.

    Attributes
    ----------
    name
        A unique prefix for the names of variables, such as ``"rig.force[0]"``.
    count
        Variable of the number of the tick, from 0.
    period
        Seconds between executions.
    seed, stream
        Of the noise; a stream below 65536, another one for every part. A part that draws several times (a
        chain) takes further streams, each 65536 after the one before it.
    """

    name: str
    count: Var
    period: float
    seed: int = 0
    stream: int = 0


@dataclass(frozen=True)
class Applied:
    """An imperfection as statements: execute ``steps`` in order, then ``value`` is the imperfect value.

    Attributes
    ----------
    steps
        Statements; updates of states stand among them.
    value
        An expression of what the steps compute; evaluate it after them.
    states
        Variables that keep their value from tick to tick, with initial values.
    """

    steps: list[Step]
    value: Expr
    states: dict[Var, float] = field(default_factory=dict)


class Imperfection(Described, family="imperfection"):
    """Base of the imperfections: frozen values with one pure step."""

    @property
    def streams(self) -> int:
        """How many streams of random numbers it draws from."""
        return 0

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the statements that make an imperfect value from a perfect one."""
        raise NotImplementedError


def imperfection_from(description: Mapping[str, Any]) -> Imperfection:
    """Return the imperfection of a description, the inverse of ``imperfection.describe()``.

    >>> imperfection_from({"imperfection": "Bias", "offset": "2 mm"})
    Bias(offset=0.002)
    """
    return Imperfection.from_description(description)


def named(value: Expr, context: Context, word: str) -> tuple[list[Step], Expr]:
    """Name an expression that is used more than once, so that it is computed once."""
    if is_trivial(value):
        return [], value
    variable = Var(f"{context.name}.{word}")
    return [Assign(variable, value)], variable


@dataclass(frozen=True)
class Chain(Imperfection):
    """Imperfections one after the other."""

    parts: tuple[Imperfection, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", checked(self.parts, "Chain(parts)"))

    @property
    def streams(self) -> int:
        """Those of its parts together."""
        return sum(part.streams for part in self.parts)

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the value after all parts; each has its own names and its own streams of noise."""
        result = Applied([], value)
        stream = context.stream
        for i, part in enumerate(self.parts):
            name = f"{context.name}.{type(part).__name__.lower()}{i}"
            applied = part.apply(result.value, replace(context, name=name, stream=stream))
            result = Applied(
                [*result.steps, *applied.steps], applied.value, {**result.states, **applied.states}
            )
            stream += part.streams * STREAMS
        return result


def checked(parts: Any, what: str) -> tuple[Imperfection, ...]:
    """Return parts as a tuple, refusing what is no imperfection."""
    result = tuple(parts) if isinstance(parts, Sequence) else (parts,)
    for part in result:
        if not isinstance(part, Imperfection):
            raise InputError(f"{what}: expected imperfections, such as Noise(rms=0.1); found {part!r:.60}")
    return result


def chain(parts: Sequence[Imperfection]) -> Chain:
    """Return imperfections one after the other as one.

    >>> from bondloop.rigs.imperfections import Bias, GainError
    >>> chain([Bias(0.5), GainError("1 %")]).parts[1].error
    0.01
    """
    return Chain(tuple(parts))
