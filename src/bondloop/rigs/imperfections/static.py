"""Imperfections without memory: noise, bias, gain, bow, quantisation, saturation."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from dataclasses import dataclass

from bondloop.engine.data import Parameter, Whole, number, state_unit
from bondloop.engine.ir import Const, Expr, as_expr, function, select
from bondloop.engine.passes import Applied, Context, named
from bondloop.errors import InputError
from bondloop.rigs.imperfections.base import Imperfection


def _limited(value: Expr, low: float, high: float) -> Expr:
    return select(value > high, high, select(value < low, low, value))


@dataclass(frozen=True)
class Noise(Imperfection):
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
