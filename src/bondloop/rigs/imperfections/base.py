"""The base of the imperfections, and several one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bondloop.display import brief
from bondloop.engine.data import Described, common_unit, stated_units
from bondloop.engine.passes import Applied, Context, applied_of
from bondloop.errors import InputError
from bondloop.units import is_of_kind

if TYPE_CHECKING:
    from bondloop.engine.ir import Expr


class Imperfection(Described, family="imperfection"):
    """Base of the imperfections: frozen values with one pure step."""

    __repr__ = brief

    def __post_init__(self) -> None:
        _ = self.value_unit  # refused here where its parameters differ

    @property
    def value_unit(self) -> str:
        """Unit of the values that it acts on, as its parameters were given; empty for plain numbers."""
        return common_unit({f"{type(self).__name__}({n})": u for n, u in self._value_units().items()})

    def _value_units(self) -> dict[str, str]:
        """Return what the values are in by each of the parameters that were given in a unit."""
        return stated_units(self)

    @property
    def streams(self) -> int:
        """How many streams of random numbers it draws from."""
        return 0

    @property
    def last_event(self) -> float:
        """Seconds after which it is as it will be: 0, but for a fault that comes at its time."""
        return 0.0

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the statements that make an imperfect value from a perfect one.

        Parameters
        ----------
        value
            The perfect value, in its unit.
        context
            Where it stands in the tick: names, tick number, period, noise.
        """
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
        applied = applied_of(part, "apply", result.value, context)
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
        super().__post_init__()

    def _value_units(self) -> dict[str, str]:
        return {f"parts[{i}]": part.value_unit for i, part in enumerate(self.parts) if part.value_unit}

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
        apart = 65536  # streams of noise that there are to give away: those of further parts lie beyond them
        contexts = []
        stream = context.stream
        for i, part in enumerate(self.parts):
            name = f"{context.name}.{type(part).__name__.lower()}{i}"
            common = context.common + stream - context.stream
            contexts.append(replace(context, name=name, stream=stream, common=common))
            stream += part.streams * apart
        return in_turn(self.parts, value, contexts)


def checked(parts: object, what: str) -> tuple[Imperfection, ...]:
    """Return parts as a tuple, refusing what is no imperfection."""
    result = tuple(parts) if isinstance(parts, Sequence) else (parts,)
    for part in result:
        if not isinstance(part, Imperfection):
            raise InputError(f"{what}: expected imperfections, such as Noise(rms=0.1); found {part!r:.60}")
    return result


def expect_unit(part: Imperfection, units: Sequence[str], what: str) -> None:
    """Refuse an imperfection of values in another unit than those that it stands on: newtons of a motion.

    Parameters
    ----------
    part
        The imperfection, or the sensor.
    units
        Of the values at every interface; empty where one is not known.
    what
        Where it stands, for the message.

    Examples
    --------
    >>> from bondloop.rigs.imperfections import Bias
    >>> expect_unit(Bias("2 N"), ["m"], "rig.sensors.displacement")
    Traceback (most recent call last):
    bondloop.errors.InputError: rig.sensors.displacement: Bias has values in N; expected one in m, or ...
    """
    known = list(dict.fromkeys(unit for unit in units if unit))
    unit = part.value_unit
    if not unit or all(is_of_kind(f"1 {unit}", one) for one in known):
        return
    one = f"one in {known[0]}, or in another unit of that kind"
    many = f"plain numbers, which hold in {' and in '.join(known)} alike"
    raise InputError(
        f"{what}: {type(part).__name__} has values in {unit}; expected {one if len(known) == 1 else many}"
    )


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
