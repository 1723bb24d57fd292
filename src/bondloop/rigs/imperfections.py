"""What is wrong with a real signal path, as parts: noise, bias, quantisation, delay, play and the like.

Each part takes a value and gives a worse one, as statements of a tick (`bondloop.engine.ir.Tick`); what is
rehearsed is what is compiled. Parts that compare pass NaN on rather than replacing it by a limit, so that a
diverging run is seen.

>>> from bondloop.engine.ir import Var, evaluate
>>> from bondloop.engine.passes import Context
>>> from bondloop.rigs import Bias
>>> x = Var("x")
>>> applied = Bias("2 mm").apply(x, Context("rig.x", Var("n"), period=0.001))
>>> evaluate(applied.value, {x: 1.0})
1.002
"""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bondloop.display import brief
from bondloop.engine.data import Described, Parameter, Whole, common_unit, number, state_unit, stated_units
from bondloop.engine.ir import Const, Delay, Expr, Op, Var, as_expr, function, select
from bondloop.engine.passes import Applied, Context, Statements, applied_of, named
from bondloop.errors import InputError
from bondloop.units import is_of_kind, multiplied

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


def in_turn(parts: Sequence[Imperfection], value: Expr, contexts: Sequence[Context]) -> Applied:
    """Return a value after parts one after the other, each in a context of its own."""
    body = Statements("")
    for part, context in zip(parts, contexts, strict=True):
        value = body.add(applied_of(part, "apply", value, context))
    return body.applied(value)


@dataclass(frozen=True)
class Chain(Imperfection):
    """Imperfections one after the other.

    Parameters
    ----------
    parts
        In the order in which the signal passes them.

    Examples
    --------
    >>> from bondloop.rigs import Bias, Chain, GainError
    >>> Chain((Bias(0.5), GainError("1 %"))).parts[1].error
    0.01
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
            raise InputError(
                f"{what}: expected imperfections, such as WhiteNoise(rms=0.1); found {part!r:.60}"
            )
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
    >>> from bondloop.rigs import Bias
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


def _limited(value: Expr, low: float, high: float) -> Expr:
    return select(value > high, high, select(value < low, low, value))


@dataclass(frozen=True)
class WhiteNoise(Imperfection):
    """White normal noise of a given rms, one draw a sample, from the Philox generator.

    Parameters
    ----------
    rms
        Standard deviation, in the unit of the value.
    common
        Whether the sensors of all interfaces read the same noise, as from one supply; each its own otherwise.
    """

    rms: Parameter = Parameter(least=0)
    common: bool = False

    @property
    def streams(self) -> int:
        """One."""
        return 1

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return value + rms * normal(seed, stream, count)."""
        stream = context.common if self.common else context.stream
        draw = function("normal", as_expr(context.seed), Const(stream), context.count)
        return Applied([], value + self.rms * draw)


@dataclass(frozen=True)
class Bias(Imperfection):
    """A constant offset.

    Parameters
    ----------
    offset
        In the unit of the signal.
    """

    offset: Parameter = Parameter()

    def apply(self, value: Expr, context: Context) -> Applied:  # noqa: ARG002 - the interface
        """Return value + offset."""
        return Applied([], value + self.offset)


@dataclass(frozen=True)
class GainError(Imperfection):
    """A wrong sensitivity: value * (1 + error); the error is a fraction or a text such as ``"0.5 %"``.

    Parameters
    ----------
    error
        A fraction, or a text with per cent.
    """

    error: Parameter = Parameter(unit="1")

    def apply(self, value: Expr, context: Context) -> Applied:  # noqa: ARG002 - the interface
        """Return value * (1 + error)."""
        return Applied([], (1 + self.error) * value)


@dataclass(frozen=True)
class Nonlinearity(Imperfection):
    """A bowed characteristic, right at zero and at both ends of the range.

    value + error range (3√3/2) (x - x³), x = value/range: the cubic whose largest deviation, at 58 % of the
    range, is the error that a data sheet states. Beyond the range it is continued.

    Parameters
    ----------
    error
        Largest deviation as a fraction of the range; its sign is that of the deviation for positive values.
    range
        Full scale.

    Examples
    --------
    >>> from bondloop.engine.passes import Context
    >>> from bondloop.engine.ir import Var, evaluate
    >>> x = Var("x")
    >>> shown = Nonlinearity(0.001, range="100 N").apply(x, Context("rig.force", Var("n"), period=1e-3)).value
    >>> [round(float(evaluate(shown, {x: force})), 3) for force in (0.0, 57.735, 100.0)]
    [0.0, 57.835, 100.0]
    """

    error: Parameter = Parameter(unit="1")
    range: Parameter = Parameter(above=0)

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the bowed value."""
        steps, value = named(value, context, "straight")
        x = value / self.range
        bow = self.error * self.range * 1.5 * math.sqrt(3)
        return Applied(steps, value + bow * (x - x * x * x))


@dataclass(frozen=True)
class Quantisation(Imperfection):
    """An analogue-to-digital converter: mid-tread (zero is a level), saturating at full scale.

    The step is range / 2^(bits-1); levels reach from -range to range less one step.

    Parameters
    ----------
    bits
        From 2 to 32.
    range
        Full scale: values from -range to range.
    """

    bits: Whole = Whole(least=2, most=32)
    range: Parameter = Parameter(above=0)

    @property
    def resolution(self) -> float:
        """The step between two levels.

        >>> Quantisation(16, range=10).resolution
        0.00030517578125
        """
        return float(self.range / 2.0 ** (self.bits - 1))

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the nearest level."""
        steps, scaled = named(value / self.resolution, context, "level")
        half = 2.0 ** (self.bits - 1)
        # Limited before floor, so that a number too large for an integer never reaches it.
        return Applied(steps, function("floor", _limited(scaled, -half, half - 1) + 0.5) * self.resolution)


@dataclass(frozen=True)
class Saturation(Imperfection):
    """Limits of a value.

    Parameters
    ----------
    high
        The upper limit.
    low
        The lower limit; by default minus the upper one.
    """

    high: Parameter = Parameter()
    low: float | str | None = None

    def __post_init__(self) -> None:
        state_unit(self, "low", self.low)
        super().__post_init__()
        low = -self.high if self.low is None else number(self.low, "Saturation(low)")
        object.__setattr__(self, "low", low)
        if low >= self.high:
            raise InputError(f"Saturation: expected low below high; found {low:g} and {self.high:g}")

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the value, limited."""
        assert isinstance(self.low, float)
        steps, value = named(value, context, "free")
        return Applied(steps, _limited(value, self.low, self.high))


@dataclass(frozen=True)
class PureDelay(Imperfection):
    """A pure delay; a part of a period is interpolated linearly between two samples.

    Interpolation at a fraction f of a period T has the gain |1 - f + f exp(-iωT)|: exact for a whole number
    of periods, 1 - f(1 - f)(ωT)²/2 for slow signals in between.

    Parameters
    ----------
    delay
        By which the signal is late, in seconds or as text.
    initial
        The value before the first one has come through.

    Examples
    --------
    >>> PureDelay("2.5 ms").delay
    0.0025
    """

    delay: Parameter = Parameter(least=0, unit="s")
    initial: Parameter = Parameter(0.0)

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the delayed value."""
        periods = self.delay / context.period
        whole = math.floor(periods + 1e-9)
        part = max(periods - whole, 0.0)
        steps, now = named(value, context, "undelayed")
        if whole:
            late = Var(f"{context.name}.delayed")
            steps.append(Delay(late, now, whole, self.initial))
            now = late
        if part < 1e-9:
            return Applied(steps, now)
        later = Var(f"{context.name}.delayed_more")
        steps.append(Delay(later, now, 1, self.initial))
        return Applied(steps, (1 - part) * now + part * later)


@dataclass(frozen=True)
class Backlash(Imperfection):
    """Backlash as a play operator: the output stays until the input has crossed the gap, then follows it.

    Parameters
    ----------
    width
        The whole gap; the output lies within half of it from the input.
    initial
        The output before the first sample.

    Examples
    --------
    >>> Backlash("0.2 mm").width
    0.0002

    References
    ----------
    Krasnosel'skii and Pokrovskii (1989), Systems with Hysteresis.
    """

    width: Parameter = Parameter(least=0)
    initial: Parameter = Parameter(0.0)

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the play's output."""
        body, half = Statements(context.name), self.width / 2
        u, w = body.once("tight", value), body.state("play", self.initial)
        gap = w - u
        moved = select(gap > half, u + half, u - half)
        y = body.put("slack", select(abs(gap) <= half, w, moved))
        body.update({w: y})
        return body.applied(y)


@dataclass(frozen=True)
class RateLimit(Imperfection):
    """A limit of the rate of change, in units per second, the same both ways.

    Parameters
    ----------
    rate
        The largest rate.
    initial
        The output before the first sample.

    Examples
    --------
    >>> RateLimit("50 mm/s").rate
    0.05
    """

    rate: Parameter = Parameter(above=0)
    initial: Parameter = Parameter(0.0)

    def _value_units(self) -> dict[str, str]:
        units = super()._value_units()
        return {name: multiplied(unit, "s") if name == "rate" else unit for name, unit in units.items()}

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the limited value."""
        body, most = Statements(context.name), self.rate * context.period
        u, last = body.once("fast", value), body.state("last", self.initial)
        change = u - last
        y = body.put("limited", select(change > most, last + most, select(change < -most, last - most, u)))
        body.update({last: y})
        return body.applied(y)


@dataclass(frozen=True)
class LowPass(Imperfection):
    """A first-order low-pass filter, 1/(1 + s/ω), exact for an input that is linear between samples.

    y(k) = a y(k-1) + b u(k) + c u(k-1), with a = exp(-ωT), g = (1 - a)/(ωT), b = 1 - g, c = g - a. A held
    input instead would make it late by half a period more.

    Parameters
    ----------
    frequency
        Corner frequency, Hz: -3 dB.
    initial
        Input and output before the first sample.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import Var
    >>> LowPass("10 Hz").apply(Var("x"), Context("rig.x", Var("n"), period=0.001)).states
    {<Var rig.x.low>: 0.0, <Var rig.x.low_input>: 0.0}
    """

    frequency: Parameter = Parameter(above=0, unit="Hz")
    initial: Parameter = Parameter(0.0)

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the filtered value."""
        rate, body = 2 * math.pi * self.frequency * context.period, Statements(context.name)
        a, g = math.exp(-rate), -math.expm1(-rate) / rate
        u = body.once("unfiltered", value)
        last, before = body.state("low", self.initial), body.state("low_input", self.initial)
        y = body.put("filtered", a * last + (1 - g) * u + (g - a) * before)
        body.update({last: y, before: u})
        return body.applied(y)


class _Fault(Imperfection):
    """Base of the faults: when they begin and end."""

    at: Parameter
    until: float | str | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.until is None:
            return
        name = type(self).__name__
        until = number(self.until, f"{name}(until)", "s")
        if until <= self.at:
            raise InputError(
                f"{name}(until): expected a time after its beginning at {self.at:g} s; found {until:g} s"
            )
        object.__setattr__(self, "until", until)

    @property
    def last_event(self) -> float:
        """When it comes, or goes again."""
        return float(self.at if self.until is None else self.until)

    def _present(self, context: Context) -> Expr:
        """Return whether the fault is there; samples are counted, so that no rounding of the time matters."""
        began = context.count >= _sample(self.at, context)
        if self.until is None:
            return began
        assert isinstance(self.until, float)
        return Op("and", (began, context.count < _sample(self.until, context)))


def _sample(time: float, context: Context) -> int:
    return math.ceil(time / context.period - 1e-9)


@dataclass(frozen=True)
class NotANumber(_Fault):
    """The value is NaN: a converter that fails, a division by zero in someone's driver.

    Parameters
    ----------
    at
        Seconds: the first faulty sample is the first one not before this time.
    until
        Seconds: the first good sample again is the first one not before this time; None for never.

    Examples
    --------
    >>> NotANumber("1.5 s", until=2).until
    2.0
    """

    at: Parameter = Parameter(least=0, unit="s")
    until: float | str | None = None

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return NaN while the fault is there."""
        return Applied([], select(self._present(context), Const(math.nan), value))


@dataclass(frozen=True)
class Infinite(_Fault):
    """The value is infinite.

    Parameters
    ----------
    at
        Seconds: the first faulty sample is the first one not before this time.
    until
        Seconds: the first good sample again is the first one not before this time; None for never.

    Examples
    --------
    >>> from bondloop.engine.ir import evaluate
    >>> x, n = Var("x"), Var("n")
    >>> shown = Infinite(at="1.5 s", until="2 s").apply(x, Context("rig.force", n, period=0.5)).value
    >>> [float(evaluate(shown, {x: 7.0, n: sample})) for sample in (2, 3, 4)]
    [7.0, inf, 7.0]
    """

    at: Parameter = Parameter(least=0, unit="s")
    until: float | str | None = None

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return infinity while the fault is there."""
        return Applied([], select(self._present(context), Const(math.inf), value))


@dataclass(frozen=True)
class Frozen(_Fault):
    """The value stays at what the sample before the fault was: a lost link, a sensor that hangs.

    Present from the first sample on, it stays at that one.

    Parameters
    ----------
    at
        Seconds: the first faulty sample is the first one not before this time.
    until
        Seconds: the first good sample again is the first one not before this time; None for never.
    """

    at: Parameter = Parameter(least=0, unit="s")
    until: float | str | None = None

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return the held value while the fault is there."""
        body = Statements(context.name)
        u, held = body.once("moving", value), body.state("held")
        holds = Op("and", (self._present(context), context.count > 0))
        y = body.put("frozen", select(holds, held, u))
        body.update({held: y})
        return body.applied(y)


@dataclass(frozen=True)
class Jump(_Fault):
    """The value is off by a constant: a slipped mounting, a drifted zero, a broken wire.

    Parameters
    ----------
    at
        Seconds: the first faulty sample is the first one not before this time.
    size
        By how much, in the unit of the value.
    until
        Seconds: the first good sample again is the first one not before this time; None for never.
    """

    at: Parameter = Parameter(least=0, unit="s")
    size: Parameter = Parameter()
    until: float | str | None = None

    def apply(self, value: Expr, context: Context) -> Applied:
        """Return value + size while the fault is there."""
        return Applied([], value + select(self._present(context), self.size, 0.0))
