"""The base of the imperfections, and several one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bondloop.display import brief
from bondloop.errors import InputError
from bondloop.program.block import Applied, Context
from bondloop.program.described import Described

if TYPE_CHECKING:
    from bondloop.program.expr import Expr

__all__ = ["Chain", "Imperfection", "chain", "checked", "imperfection_from", "in_turn"]

STREAMS = 65536
"""How many streams of noise are there to give away; a chain's further ones lie beyond them."""


class Imperfection(Described, family="imperfection"):
    """Base of the imperfections: frozen values with one pure step."""

    __repr__ = brief

    @property
    def streams(self) -> int:
        """How many streams of random numbers it draws from."""
        return 0

    @property
    def last_event(self) -> float:
        """Seconds after which it is as it will be: 0, but for a fault that comes at its time."""
        return 0.0

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the statements that make an imperfect value from a perfect one."""
        raise NotImplementedError


def imperfection_from(description: Mapping[str, Any]) -> Imperfection:
    """Return the imperfection of a description, the inverse of ``imperfection.describe()``.

    Parameters
    ----------
    description
        As ``imperfection.describe()`` returns it.

    Examples
    --------
    >>> imperfection_from({"imperfection": "Bias", "offset": "2 mm"})
    Bias(offset=0.002)
    """
    return Imperfection.from_description(description)


def in_turn(parts: Sequence[Imperfection], value: Expr, contexts: Sequence[Context]) -> Applied:
    """Return a value after parts one after the other, each in a context of its own."""
    result = Applied([], value)
    for part, context in zip(parts, contexts, strict=True):
        applied = part.apply(result.value, context)
        result = Applied(
            [*result.steps, *applied.steps],
            applied.value,
            {**result.states, **applied.states},
            {**result.parameters, **applied.parameters},
            (*result.channels, *applied.channels),
        )
    return result


@dataclass(frozen=True)
class Chain(Imperfection):
    """Imperfections one after the other.

    Parameters
    ----------
    parts
        In the order in which the signal passes them.
    """

    parts: tuple[Imperfection, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", checked(self.parts, "Chain(parts)"))

    @property
    def last_event(self) -> float:
        """The last of its parts' events."""
        return max((part.last_event for part in self.parts), default=0.0)

    @property
    def streams(self) -> int:
        """Those of its parts together."""
        return sum(part.streams for part in self.parts)

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the value after all parts; each has its own names and its own streams of noise."""
        contexts = []
        stream = context.stream
        for i, part in enumerate(self.parts):
            name = f"{context.name}.{type(part).__name__.lower()}{i}"
            common = context.common + stream - context.stream
            contexts.append(replace(context, name=name, stream=stream, common=common))
            stream += part.streams * STREAMS
        return in_turn(self.parts, value, contexts)


def checked(parts: Any, what: str) -> tuple[Imperfection, ...]:
    """Return parts as a tuple, refusing what is no imperfection."""
    result = tuple(parts) if isinstance(parts, Sequence) else (parts,)
    for part in result:
        if not isinstance(part, Imperfection):
            raise InputError(f"{what}: expected imperfections, such as Noise(rms=0.1); found {part!r:.60}")
    return result


def chain(parts: Sequence[Imperfection]) -> Chain:
    """Return imperfections one after the other as one.

    Parameters
    ----------
    parts
        In the order in which the signal passes them.

    Examples
    --------
    >>> from bondloop.rigs.imperfections import Bias, GainError
    >>> chain([Bias(0.5), GainError("1 %")]).parts[1].error
    0.01
    """
    return Chain(tuple(parts))
