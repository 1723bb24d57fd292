"""Inputs of a simulation: as functions of time, with the rates that are needed, and when they are largest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from bondloop.engine.analysis import tolerances
from bondloop.engine.data import number
from bondloop.engine.passes import rate_name
from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.engine.ir import SystemData

    Row: TypeAlias = Sequence[float] | NDArray[np.floating | np.integer]
    InputValue: TypeAlias = float | Callable[[float], float] | tuple[Row, Row]
    """An input as `simulate` takes it: a number, a function of time, or a pair (times, values)."""


@runtime_checkable
class Sampled(Protocol):
    """A function of time that takes many times at once, as signals do."""

    def __call__(self, t: Any, /) -> Any:
        """Return the value at a time, or the values at many."""

    def sampled(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at increasing times."""


class Inputs:
    """Inputs of a system as functions of time, and what is known of them before a simulation.

    Parameters
    ----------
    given
        Inputs by name, as `simulate` takes them.
    signals, rates
        Inputs, and rates of inputs, as functions of time.
    span
        Start and end.

    >>> triangle = ([0.0, 1.0, 3.0], [0.0, -5.0, 0.0])
    >>> inputs = Inputs({"F": triangle}, [lambda t: -5 * t if t < 1 else 2.5 * t - 7.5], [], (0.0, 3.0))
    >>> inputs(0.5), inputs.extremes
    (([-2.5], []), [1.0])
    """

    def __init__(
        self,
        given: Mapping[str, InputValue],
        signals: Sequence[Callable[[float], float]],
        rates: Sequence[Callable[[float], float]],
        span: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self.steady = not any(callable(v) or isinstance(v, tuple) for v in given.values())
        self.jumps = max(map(abs, span)) if any(map(callable, given.values())) else 0.0
        """The latest time at which an input may jump; zero where none does."""
        self.span = span
        self.signals, self.rates, self._given = signals, rates, given

    @classmethod
    def of(cls, system: SystemData, given: Mapping[str, InputValue], span: tuple[float, float]) -> Inputs:
        """Return those of a system; what is not given is zero."""
        signals = [as_signal(given.get(name, 0.0), name) for name in system.inputs]
        rates = [rate_signal(given, u.name, v.name) for u, v in system.input_rates.items()]
        return cls(given, signals, rates, span)

    @classmethod
    def constant(
        cls, system: SystemData, values: Iterable[float], span: tuple[float, float] = (0.0, 0.0)
    ) -> Inputs:
        """Return those of a system that keep their values."""
        signals = [partial(_constant, value) for value in values]
        return cls({}, signals, [partial(_constant, 0.0) for _ in system.input_rates], span)

    def __call__(self, t: float) -> tuple[list[float], list[float]]:
        """Return inputs, and rates of inputs, at a time."""
        return [s(t) for s in self.signals], [s(t) for s in self.rates]

    def sampled(self, times: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return inputs, and rates of inputs, at some times: a row for each."""
        u, r = (
            np.array([[s(t) for s in group] for t in times]).reshape(len(times), len(group))
            for group in (self.signals, self.rates)
        )
        return u, r

    def value(self, name: str) -> InputValue:
        """Return an input as `simulate` takes it: a number, a function of time or a pair of rows."""
        return self._given.get(name, 0.0)

    @cached_property
    def extremes(self) -> list[float]:
        """When each input is farthest from zero; none where all are constant."""
        if self.steady:
            return []
        start, end = self.span
        times = [np.linspace(start, end, tolerances.INPUT_INSTANTS + 1)]
        times += [np.asarray(v[0], dtype=float) for v in self._given.values() if isinstance(v, tuple)]
        instants = np.unique(np.clip(np.concatenate(times), start, end))
        sizes = np.abs([[s(t) for t in instants.tolist()] for s in (*self.signals, *self.rates)])
        return sorted({float(instants[k]) for k in np.nanargmax(np.nan_to_num(sizes), axis=1)})


def _constant(value: float, _: float) -> float:
    return value


def with_rates(
    system: SystemData, inputs: Mapping[str, InputValue | str] | None
) -> dict[str, InputValue | str]:
    """Return the inputs of an inverse with the rates of imposed motions, worked out from (times, values).

    A motion given as a function of time needs its rates as functions too; a number has none.

    Parameters
    ----------
    system
        The inverse.
    inputs
        Imposed motions and other inputs by name.
    """
    given = dict(inputs or {})
    if system.inversion is not None:
        for name, order in system.inversion.orders.items():
            _add_rates(system, given, name, order)
    return given


def _add_rates(system: SystemData, given: dict[str, InputValue | str], name: str, order: int) -> None:
    names = [name]
    for _ in range(order):
        names.append(rate_name(names[-1]))
    motion = given.get(name, 0.0)
    missing = [rate for rate in names[1:] if rate not in given]
    if isinstance(motion, tuple) and len(motion) == 2:
        spline = _spline(motion, order, name)
        given[name] = spline(0)
        for rate in missing:
            given[rate] = spline(names.index(rate))
    elif missing and callable(motion):
        raise InputError(
            f"the inverse of {system.name} needs {', '.join(missing)}; give each "
            f"as a function of time, or '{name}' as a pair (times, values), whose rates are worked out"
        )


def _spline(motion: tuple[Row, Row], order: int, name: str) -> Callable[[int], Callable[[float], float]]:
    """Return the rates of a sampled motion by their order."""
    from scipy.interpolate import make_interp_spline

    t, y = _sampled_rows(motion, name)
    degree = order + 3 - order % 2  # odd, and its highest rate used is still a cubic or better
    if len(t) <= degree:
        raise InputError(f"input '{name}': expected at least {degree + 1} samples; found {len(t)}")
    spline = make_interp_spline(t, y, k=degree)

    def rate(of_order: int) -> Callable[[float], float]:
        piece = spline.derivative(of_order) if of_order else spline
        return lambda s: float(piece(s))

    return rate


def checked_column(given: ArrayLike, what: str) -> NDArray[np.float64]:
    """Return a list of finite numbers as an array that cannot be written to.

    Parameters
    ----------
    given
        The numbers.
    what
        What they are, for the message.
    """
    try:
        column = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected a list of numbers; found {given!r:.60}") from None
    if column.ndim != 1 or not len(column):
        raise InputError(f"{what}: expected a list of at least one number; found shape {column.shape}")
    if not np.all(np.isfinite(column)):
        i = int(np.argmin(np.isfinite(column)))
        raise InputError(f"{what}: expected finite numbers; entry {i} is {column[i]}")
    column.setflags(write=False)
    return column


def as_signal(given: InputValue, name: str) -> Callable[[float], float]:
    """Return an input as a function of time."""
    if callable(given):
        return partial(_value_at, given, name)
    if isinstance(given, tuple) and len(given) == 2:
        t, y = _sampled_rows(given, name)
        return lambda s: float(np.interp(s, t, y))
    if isinstance(given, Sequence) or np.ndim(given):
        raise InputError(
            f"input '{name}': expected a number, a function of time or a pair (times, values); "
            f"found {type(given).__name__}"
        )
    value = number(given, f"input '{name}'")
    return lambda _: value


def _value_at(function: Callable[[float], float], name: str, t: float) -> float:
    value = function(t)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"input '{name}': expected a function that returns a number; at t = {t:.6g} s it returned "
            f"{value!r:.60}"
        ) from None


def _sampled_rows(
    pair: tuple[ArrayLike, ArrayLike], name: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the times and values of a sampled input as finite rows of one length, times increasing."""
    times, values = (
        checked_column(row, f"input '{name}', {what}")
        for row, what in zip(pair, ("times", "values"), strict=True)
    )
    if times.shape != values.shape or np.any(np.diff(times) <= 0):
        raise InputError(f"input '{name}': times and values must be two equally long rows, times increasing")
    return times, values


def rate_signal(given: Mapping[str, InputValue], name: str, rate_name: str) -> Callable[[float], float]:
    """Return the rate of an input as a function of time: given under its own name, or worked out."""
    if rate_name in given:
        return as_signal(given[rate_name], rate_name)
    source = given.get(name, 0.0)
    if callable(source):
        raise InputError(f"the rate of input '{name}' is needed; give it as a function under '{rate_name}'")
    if isinstance(source, tuple):
        t, y = _sampled_rows(source, name)
        slope = np.diff(y) / np.diff(t)
        return lambda s: float(
            slope[min(max(int(np.searchsorted(t, s, side="right")) - 1, 0), len(slope) - 1)]
        )
    return lambda _: 0.0
