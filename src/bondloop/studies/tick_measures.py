"""Measures that are taken while a test runs, as statements of its tick: no history is stored."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bondloop.display import brief
from bondloop.engine.ir import (
    FUNCTIONS,
    Assign,
    Const,
    Expr,
    Op,
    Role,
    Tick,
    Update,
    Var,
    function,
    select,
    substitute,
    variables,
)
from bondloop.errors import BondloopError, InputError, unknown_name
from bondloop.safety import CAUSE, DISPLACEMENT_SWITCH
from bondloop.studies.tolerances import ACCUMULATED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.codegen import BatchResult

    Reader = Callable[[BatchResult, NDArray[np.float64]], NDArray[np.float64]]
    from bondloop.engine.ir import Channel, Tick
    from bondloop.safety import Limits


Kind = Literal[
    "rms", "mean", "peak", "largest", "smallest", "last", "first", "growth", "delay", "work", "exchange"
]
KINDS: tuple[str, ...] = get_args(Kind)

OF_TWO = ("delay", "work", "exchange")
"""Measures of two signals."""

End = Callable[[list[Any], Any], Any]
"""From the last values of the states and the samples of every test to the measure."""


@dataclass(frozen=True)
class Accumulator:
    """States that accumulate a measure.

    Attributes
    ----------
    initial
        Value of each state before the test.
    updates
        What each becomes at every tick.
    end
        The measure, from the last values of the states, in their order, and the samples of each test.
    """

    initial: Mapping[Var, float]
    updates: tuple[tuple[Var, Expr], ...]
    end: End


def accumulator(
    kind: str, word: str, of: Expr, along: Expr | None, tick: Tick, steps: int | None, before: Expr
) -> Accumulator:
    """Return what accumulates a measure.

    Parameters
    ----------
    kind
        One of `KINDS`.
    word
        What its states are named after.
    of, along
        Its signals, as expressions of the tick's variables.
    tick
        Of the test.
    steps
        Ticks of the test, which growth needs.
    before
        Samples that were measured before this one.
    """
    state = Var(f"measure.{word}")
    if kind == "growth":
        return _growth(state.name, of, tick, steps)
    if kind in OF_TWO:
        assert along is not None
        return (_delay if kind == "delay" else _work)(kind, state.name, of, along, tick, before)
    initial, update = _simple(kind, state, of, tick)
    return Accumulator({state: initial}, ((state, update),), lambda x, n: _simple_end(kind, x[0], n))


def _simple(kind: str, state: Var, expr: Expr, tick: Tick) -> tuple[float, Expr]:
    if kind == "rms":
        return 0.0, state + expr * expr
    if kind == "mean":
        return 0.0, state + expr
    if kind == "last":
        return 0.0, expr
    if kind == "peak":
        return 0.0, function("fmax", state, function("fabs", expr))
    if kind == "largest":
        return -np.finfo(float).max, function("fmax", state, expr)
    if kind == "smallest":
        return np.finfo(float).max, function("fmin", state, expr)
    came = Op("and", (state < 0, Op("ne", (expr, Const(0.0)))))
    return -1.0, select(came, tick.time, state)


def _simple_end(kind: str, value: NDArray[np.float64], samples: NDArray[np.float64]) -> NDArray[np.float64]:
    if kind == "rms":
        return np.asarray(np.sqrt(value / np.maximum(samples, 1)))
    if kind == "mean":
        return np.asarray(value / np.maximum(samples, 1))
    if kind == "first":
        return np.where(value < 0, np.nan, value)
    return value


def _sums(word: str, inside: Expr, terms: Mapping[str, Expr]) -> dict[Var, Expr]:
    """Return sums by state, with what they become at a tick."""
    states = {Var(f"{word}.{name}"): term for name, term in terms.items()}
    return {state: select(inside, state + term, state) for state, term in states.items()}


def _work(kind: str, word: str, of: Expr, along: Expr, _: Tick, before: Expr) -> Accumulator:
    """Return the sum of ∫of d(along) by the trapezoidal rule, as `bondloop.results.work`; or of sizes."""
    last, place = Var(f"{word}.of"), Var(f"{word}.along")
    part = (of + last) * 0.5 * (along - place)
    total = _sums(word, before > 0, {"sum": part if kind == "work" else function("fabs", part)})
    updates = {**total, last: of, place: along}
    return Accumulator(dict.fromkeys(updates, 0.0), tuple(updates.items()), lambda x, _: x[0])


def _delay(_: str, word: str, of: Expr, along: Expr, tick: Tick, before: Expr) -> Accumulator:
    """Return sums of a regression of one signal on another and its rate, in the middle between samples."""
    y_0, x_0 = Var(f"{word}.of"), Var(f"{word}.along")
    h = tick.period
    x, y, v = (along + x_0) * 0.5, (of + y_0) * 0.5, (along - x_0) / h
    terms = {"x": x, "v": v, "y": y, "xx": x * x, "xv": x * v, "vv": v * v, "xy": x * y, "vy": v * y}
    updates = {**_sums(word, before > 0, terms), y_0: of, x_0: along}

    def end(sums: list[NDArray[np.float64]], samples: NDArray[np.float64]) -> NDArray[np.float64]:
        return delay_of_sums(sums[:8], samples - 1, h)

    return Accumulator(dict.fromkeys(updates, 0.0), tuple(updates.items()), end)


def delay_of_sums(
    sums: list[NDArray[np.float64]], count: NDArray[np.float64], period: float
) -> NDArray[np.float64]:
    """Return the delay from sums of x, v, y, x², xv, v², xy and vy in the middle between samples.

    The regression y = c + a x + b v says of a sine, of angular frequency w with w² = var v/var x, that
    a = g cos(w delay) and b w = -g sin(w delay).

    Parameters
    ----------
    sums
        As above, one value for each test.
    count
        How many were summed.
    period
        Seconds between samples.
    """
    n = np.maximum(count, 1)
    x, v, y, xx, xv, vv, xy, vy = sums
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        cxx, cxv, cvv = xx - x * x / n, xv - x * v / n, vv - v * v / n
        cxy, cvy = xy - x * y / n, vy - v * y / n
        # Against rounding: a signal that stands still has any delay.
        alive = (cxx > ACCUMULATED * xx) & (cvv > ACCUMULATED * vv)
        determinant = cxx * cvv - cxv * cxv
        alive &= determinant > ACCUMULATED * cxx * cvv
        a, b = (cxy * cvv - cvy * cxv) / determinant, (cvy * cxx - cxy * cxv) / determinant
        # Means and differences of samples turn w into (2/h) tan(w h/2).
        w = np.sqrt(cvv / cxx)
        late = np.arctan2(-b * w, a) / (2 / period * np.arctan(w * period / 2))
    return np.where(alive, late, np.nan)


def _growth(word: str, of: Expr, tick: Tick, steps: int | None) -> Accumulator:
    """Return the sums from which a signal's rms about a line follow, in the second and the last quarter."""
    if steps is None or steps < 16:
        raise InputError(f"growth is measured over at least 16 samples; found {steps}")
    updates: dict[Var, Expr] = {}
    quarters = ((steps // 4, steps // 2), (3 * steps // 4, steps))
    for name, (first, last) in zip(("early", "late"), quarters, strict=True):
        inside = Op("and", (tick.count >= first, tick.count < last))
        middle = tick.count - (first + last - 1) / 2
        terms = {"z": of, "tz": middle * of, "zz": of * of}
        updates |= _sums(f"{word}.{name}", inside, terms)
    seconds = (steps - 1) * tick.period / 2

    def end(sums: list[NDArray[np.float64]], samples: NDArray[np.float64]) -> NDArray[np.float64]:
        left = []
        for (z, tz, zz), (first, last) in zip((sums[:3], sums[3:]), quarters, strict=True):
            n = last - first
            spread = zz - z * z / n - tz * tz / (n * (n * n - 1) / 12)
            left.append(np.maximum(spread, ACCUMULATED * zz) / n)
        early, late = left
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(late > 0, np.log(late / early) / 2 / seconds, -np.inf)
        return np.where(samples < steps, np.inf, rate)

    return Accumulator(dict.fromkeys(updates, 0.0), tuple(updates.items()), end)


@dataclass(frozen=True)
class Stretch:
    """Samples that are measured.

    Attributes
    ----------
    before
        How many were measured before this one.
    inside
        Whether this one is; None where all are.
    """

    before: Var
    inside: Expr | None = None

    def only(self, state: Var, update: Expr) -> Expr:
        """Return what a state becomes: it stays as it is where a sample is not measured."""
        return update if self.inside is None else select(self.inside, update, state)

    def samples(self, result: BatchResult, ran: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how many were measured of each test, of those that ran."""
        return ran if self.inside is None else np.asarray(result[self.before.name])


class Stretches:
    """The stretches of a tick's measures, each counted once.

    Parameters
    ----------
    count
        The tick's own number.
    cause
        Not zero from the tick on in which the interlock trips, which is the last that is measured: what comes
        then is the retreat. None where there is no interlock.

    Examples
    --------
    >>> whole = Stretches(Var("k"), None)
    >>> whole.of(None).inside is None, whole.updates
    (True, [])
    """

    def __init__(self, count: Var, cause: Expr | None) -> None:
        self._count, self._cause = count, cause
        self._known: list[tuple[Expr | None, Stretch]] = []
        self.updates: list[tuple[Var, Expr]] = []

    def of(self, during: Expr | None) -> Stretch:
        """Return the first stretch in which this is not zero; all until a trip, if not given."""
        for known, stretch in self._known:
            if known is during:
                return stretch
        stretch = self._new(during)
        self._known.append((during, stretch))
        return stretch

    def _new(self, during: Expr | None) -> Stretch:
        if during is None and self._cause is None:
            return Stretch(self._count)
        zero, number = Const(0.0), len(self._known)
        samples, over = Var(f"measured.samples[{number}]"), Var(f"measured.over[{number}]")
        inside: Expr = Op("eq", (over, zero))
        ends: list[Expr] = []
        if during is not None:
            inside = Op("and", (inside, Op("ne", (during, zero))))
            ends.append(Op("and", (samples > 0, Op("eq", (during, zero)))))
        if self._cause is not None:
            ends.append(Op("ne", (self._cause, zero)))
        end = ends[0] if len(ends) == 1 else Op("or", (ends[0], ends[1]))
        self.updates.append((samples, select(inside, samples + 1, samples)))
        self.updates.append((over, select(end, Const(1.0), over)))
        return Stretch(samples, inside)


@dataclass(frozen=True)
class Measure:
    """Something to measure of every test.

    Parameters
    ----------
    kind
        ``"rms"``, ``"mean"``, ``"peak"`` (largest magnitude), ``"largest"``, ``"smallest"`` or ``"last"`` of
        the values at all samples; ``"first"`` is the first time in s at which the value is not zero, NaN if
        it never is. ``"growth"`` is the rate in 1/s at which the rms about a straight line grows from the
        second to the last quarter of the test, infinite where it stopped. Of two signals, ``"delay"`` is how
        late in s this one follows the other, by a regression on the other and its rate: exact for a sine that
        is late by less than half a period. ``"work"`` is the integral of this one over the other, by the
        trapezoidal rule; ``"exchange"`` is that of its magnitude.
    of
        An expression of channels: `Var` with the name of one.
    over
        What is measured is divided by the same measure of this, or by this measure.
    along
        The other signal of a measure of two.
    during
        Only the first stretch of samples at which this is not zero is measured; all of the test unless given.

    Examples
    --------
    >>> force, actual, desired = Var("force"), Var("actual.displacement"), Var("desired.displacement")
    >>> error = Measure("rms", actual - desired, over=desired)
    >>> late = Measure("delay", actual, along=desired)
    >>> through = Measure("exchange", force, along=desired)
    >>> energy = Measure("work", force, along=actual - desired, over=through)
    """

    kind: Kind
    of: Expr
    over: Expr | Measure | None = None
    along: Expr | None = None
    during: Expr | None = None

    __repr__ = brief

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(unknown_name("kind of measure", str(self.kind), KINDS))
        exprs = (self.of, self.along, self.during, None if isinstance(self.over, Measure) else self.over)
        for expr in exprs:
            if expr is not None and not isinstance(expr, Expr):
                raise InputError(
                    f"Measure: expected an expression of channels, such as Var('force'); found {expr!r}"
                )
        if (self.kind in OF_TWO) != (self.along is not None):
            wanted = "two signals, of and along" if self.kind in OF_TWO else "one signal, without along"
            raise InputError(f"Measure: {self.kind} is a measure of {wanted}")
        if self.kind == "growth" and self.during is not None:
            raise InputError("Measure: growth is of a whole test, without during")

    @property
    def words(self) -> str:
        """What it is, as ``rms of x over rms of y``."""
        plain = f"{self.kind} of {self.of}"
        plain += f" along {self.along}" if self.along is not None else ""
        plain += f" during {self.during}" if self.during is not None else ""
        return plain if (below := self.below) is None else f"{plain}, over {below.words}"

    @property
    def below(self) -> Measure | None:
        """The measure by which it is divided; None where it is not."""
        if self.over is None or isinstance(self.over, Measure):
            return self.over
        return Measure(self.kind, self.over, along=self.along, during=self.during)


@dataclass(frozen=True)
class Measuring:
    """A tick that measures, and how the measures follow from its last states."""

    tick: Tick
    states: tuple[str, ...]
    readers: Mapping[str, Reader]

    def read(self, result: BatchResult, steps: int) -> dict[str, NDArray[np.float64]]:
        """Return the measures of all tests, each up to and including the sample at which it stopped."""
        samples = np.where(result.ends.code != 0, result.ends.tick + 1, steps).astype(float)
        return {name: reader(result, samples) for name, reader in self.readers.items()}


def measuring(tick: Tick, measures: Mapping[str, Measure], steps: int | None = None) -> Measuring:
    """Return a tick that measures as it runs.

    Parameters
    ----------
    tick
        Of a test.
    measures
        By name.
    steps
        Ticks of the test, which growth needs.
    """
    channels = {c.name: c.value for c in tick.channels}
    first: dict[Var, Expr] = {}
    states: dict[Var, float] = {}
    pairs: list[tuple[Var, Expr]] = []
    readers: dict[str, Reader] = {}

    def of_channels(expr: Expr, name: str) -> Expr:
        for v in variables(expr):
            if v.name not in channels:
                raise InputError(f"the measure '{name}': {unknown_name('channel', v.name, channels)}")
        value = substitute(expr, {v: channels[v.name] for v in variables(expr)})
        # A state in a channel stands for its value at the beginning of the tick.
        for v in variables(value):
            if v in tick.states:
                first.setdefault(v, Var(f"{v.name}.first"))
        return substitute(value, first)

    stretches = Stretches(tick.count, of_channels(Var(CAUSE), CAUSE) if CAUSE in channels else None)

    def accumulate(measure: Measure, name: str, word: str) -> Reader:
        along = None if measure.along is None else of_channels(measure.along, name)
        stretch = stretches.of(None if measure.during is None else of_channels(measure.during, name))
        of = of_channels(measure.of, name)
        one = accumulator(measure.kind, word, of, along, tick, steps, stretch.before)
        states.update(one.initial)
        pairs.extend((state, stretch.only(state, update)) for state, update in one.updates)
        names = [v.name for v in one.initial]

        def top(result: BatchResult, samples: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(one.end([result[n] for n in names], stretch.samples(result, samples)))

        if (under := measure.below) is None:
            return top
        below = accumulate(under, name, f"{word}.over")
        return lambda result, samples: _ratio(top(result, samples), below(result, samples))

    for name, measure in measures.items():
        readers[name] = accumulate(measure, name, name)
    states.update(dict.fromkeys((v for v, _ in stretches.updates), 0.0))
    pairs.extend(stretches.updates)
    before = [Assign(copy, v) for v, copy in first.items() if isinstance(copy, Var)]
    whole = replace(
        tick, states={**tick.states, **states}, steps=(*before, *tick.steps, Update(tuple(pairs)))
    )
    return Measuring(whole, tuple(v.name for v in states), readers)


def _ratio(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return a / b


TRIP = ("trip", "trip_time")
"""Whether a test was stopped, by a limit or by its interlock, and when: they are told by how it ended."""


OWN = ("error", "reference_error", "delay", "energy", "growth", "limit", *TRIP)


SHORT = {"abs": "fabs", "min": "fmin", "max": "fmax"}
"""Python's names of functions."""


NOISE = ("normal", "uniform")
"""Functions that are noise: they are no measure."""


TWO_ARGUMENTS = ("atan2", "fmin", "fmax")


_SIGNS = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], Callable[[Expr, Expr], Expr]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}  # fmt: skip


def named_measure(name: str, tick: Tick, limits: Limits | None = None) -> Measure:
    """Return a measure by name: ``error``, ``delay`` and others, or ``peak:EXPRESSION`` and the like.

    Parameters
    ----------
    name
        ``error`` is the rms error of the first transfer system over the rms of what it should follow,
        ``reference_error`` that of the first velocity at the interface over the reference's, ``delay`` by
        regression in s, ``energy`` the energy error over the energy exchanged, ``growth`` of the rig's motion
        in 1/s, ``limit`` the largest share of a limit that was reached. Otherwise a kind of measure and an
        expression of channels, ``rms:command - actual.displacement``.
    tick
        Of the test.
    limits
        Of its interlock, if it has one.
    """
    kind, colon, rest = (part.strip() for part in name.partition(":"))
    if colon and kind in KINDS and kind not in OF_TWO:
        return Measure(kind, written_expression(rest, tick))  # type: ignore[arg-type]
    if colon and kind in OF_TWO:
        of, also, along = rest.partition("~")
        if not also:
            raise InputError(f"{kind} is a measure of two signals, {kind}:ONE ~ OTHER; found {name!r}")
        return Measure(kind, written_expression(of, tick), along=written_expression(along, tick))  # type: ignore[arg-type]
    if name not in OWN or name in TRIP:
        known = [*OWN, *(f"{k}:EXPRESSION" for k in KINDS)]
        raise InputError(unknown_name("measure", name, known))
    return _limit(tick, limits) if name == "limit" else _at_the_interface(name, tick)


def _at_the_interface(name: str, tick: Tick) -> Measure:
    # As `Run.coupled`: there is nothing to follow before the rig is to.
    during = (
        Var(DISPLACEMENT_SWITCH) >= 1 if any(c.name == DISPLACEMENT_SWITCH for c in tick.channels) else None
    )
    if name == "reference_error":
        for c in tick.channels:
            if c.meaning.role == Role.REFERENCE and c.meaning.counterpart:
                known = Var(c.name)
                return Measure("rms", Var(c.meaning.counterpart) - known, over=known, during=during)
        raise InputError(f"{tick.name} has no reference to measure an error against")
    desired, actual = (_channel(tick, role, "displacement") for role in (Role.DESIRED, Role.ACTUAL))
    if name == "error":
        return Measure("rms", actual - desired, over=desired, during=during)
    if name == "delay":
        return Measure("delay", actual, along=desired, during=during)
    if name == "growth":
        return Measure("growth", actual)
    force = _channel(tick, Role.ACTUAL, "force")
    through = Measure("exchange", force, along=desired, during=during)
    return Measure("work", force, along=actual - desired, over=through, during=during)


def _channel(tick: Tick, role: Role, quantity: str) -> Var:
    for c in tick.channels:
        meaning = c.meaning
        if meaning.role == role and meaning.interface in (0, None) and meaning.quantity == quantity:
            return Var(c.name)
    raise InputError(f"{tick.name} has no {role} {quantity} at an interface to measure")


def _limit(tick: Tick, limits: Limits | None) -> Measure:
    shares = limit_shares(tick, limits)
    if not shares:
        raise InputError(f"{tick.name} has no limits to come near to; give limits=bl.safety.Limits(...)")
    largest = shares[0]
    for share in shares[1:]:
        largest = function("fmax", largest, share)
    return Measure("largest", largest)


def limit_shares(tick: Tick, limits: Limits | None) -> list[Expr]:
    """Return of every limit which share of it is reached, as expressions of channels.

    Parameters
    ----------
    tick
        Of the test: what stops it is in its bounds.
    limits
        Those of its interlock, which sees what is measured.
    """
    from bondloop.rehearsal import DIVERGED, limit_word

    bounds = [(Var(name), bound) for name, bound in tick.bounds.items() if bound < DIVERGED]
    seen: dict[tuple[str, int | None], Var] = {}
    for role in (Role.ACTUAL, Role.COMMAND, Role.MEASURED):  # what is measured takes the place of the actual
        for c in tick.channels:
            as_actual = replace(c.meaning, role=Role.ACTUAL) if role == Role.MEASURED else c.meaning
            if c.meaning.role == role and (word := limit_word(as_actual)):
                seen[word, c.meaning.interface] = Var(c.name)
    if limits is not None:
        bounds += [(v, b) for (word, _), v in seen.items() if (b := getattr(limits, word, None)) is not None]
    return [function("fabs", value) / float(bound) for value, bound in bounds]


def written_expression(text: str, tick: Tick) -> Expr:
    """Return an expression of channels that is written in Python's way.

    Parameters
    ----------
    text
        A channel's name, or ``force[0] - force[1]``, ``abs(command) > 0.02``, ``sqrt(x**2 + y**2)``.
    tick
        Whose channels they are.
    """
    names = {c.name: c for c in tick.channels}
    plain = text.strip()
    if plain in names:
        return Var(plain)
    try:
        return _read(ast.parse(plain, mode="eval").body, names)
    except BondloopError as error:
        raise InputError(f"{plain!r}: {error}") from None
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        raise InputError(
            f"{plain!r} is no channel of {tick.name} and no expression of its channels"
        ) from None


def _read(node: ast.expr, names: dict[str, Channel]) -> Expr:
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        name = ast.unparse(node)
        if name not in names:
            raise InputError(unknown_name("channel", name, names))
        return Var(name)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Const(float(node.value))  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _read(node.operand, names)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return _ARITHMETIC[type(node.op)](_read(node.left, names), _read(node.right, names))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _SIGNS:
        sign = _SIGNS[type(node.ops[0])]
        return Op(sign, (_read(node.left, names), _read(node.comparators[0], names)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _called(node.func.id, node.args, names)
    raise InputError(f"{ast.unparse(node)} is not arithmetic, a comparison or a function of channels")


def _called(name: str, arguments: list[ast.expr], names: dict[str, Channel]) -> Expr:
    called = SHORT.get(name, name)
    known = [n for n in (*FUNCTIONS, *SHORT) if n not in NOISE]
    if called not in known:
        raise InputError(unknown_name("function", name, known))
    takes = 2 if called in TWO_ARGUMENTS else 1
    if len(arguments) != takes:
        raise InputError(f"{name} takes {takes}; found {len(arguments)}")
    return function(called, *(_read(a, names) for a in arguments))
