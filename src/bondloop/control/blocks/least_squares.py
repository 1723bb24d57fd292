"""Least squares as statements of a tick: recursive with forgetting, and over a moving window."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bondloop.control.blocks.filters import clipped, dot
from bondloop.control.tolerances import LEAST_PIVOT, LEAST_VARIANCE
from bondloop.engine.data import Parameter, number
from bondloop.engine.ir import Assign, Const, Expr, Op, Step, Var, function, select
from bondloop.engine.passes import Applied, Context, Statements
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.engine.ir import Number


@dataclass(frozen=True)
class Estimate:
    """An estimator as statements: after ``applied.steps``, ``parameters`` are the newest estimates.

    Attributes
    ----------
    applied
        Statements; their value is the prediction error before the update.
    parameters
        The estimates.
    adapted
        The states in which they are kept.
    """

    applied: Applied
    parameters: tuple[Var, ...]
    adapted: tuple[Var, ...]


@dataclass(frozen=True)
class RecursiveLeastSquares:
    """Estimates parameters p of y = phi.p, sample by sample, forgetting exponentially.

    After N samples the estimate minimises
    ``sum_k f^(N-k) ((y_k - phi_k.p)/noise)^2 + f^N sum_i ((p_i - initial_i)/uncertainty_i)^2`` with
    ``f = exp(-period/memory)``. The covariance is kept as factors U D U^T (Bierman 1977), so that it stays
    symmetric and positive whatever the rounding.

    Three things protect it. A sample whose regressors are below the noise carries no news: nothing is
    updated, so nothing is forgotten either. When the covariance has grown to ``largest_uncertainty`` times
    the first one, forgetting stops until news comes; nor can it shrink below a
    millionth. Estimates are kept between ``least`` and ``most``.

    Parameters
    ----------
    initial
        First estimates, one for each parameter.
    uncertainty
        Standard deviations of the first estimates: one for each, or one for all.
    noise
        Standard deviation of the error in y.
    memory
        Time in s after which a sample counts 1/e.
    least, most
        Bounds of the estimates: one for each, or one for all.
    threshold
        How large the regressors, times the first uncertainties, must be in comparison with the noise.
    largest_uncertainty
        Bound on the root of the covariance's trace, as a multiple of its first value.

    References
    ----------
    Bierman (1977), Factorization Methods for Discrete Sequential Estimation, ch. V; Ljung (1999), System
    Identification, ch. 11.

    Examples
    --------
    The slope of y = 3 x, from three samples:

    >>> from bondloop.engine.codegen import Runner
    >>> from bondloop.engine.ir.tick import Channel, Tick
    >>> x, y, k = Var("x"), Var("y"), Var("k")
    >>> line = RecursiveLeastSquares((0.0,), uncertainty=10.0, noise=0.01)
    >>> update = line.apply([x], y, Context("line", k, 1e-3))
    >>> made = update.applied
    >>> slope = Channel("slope", update.parameters[0])
    >>> tick = Tick("line", 1e-3, Var("t"), k, (x, y), made.states, {}, tuple(made.steps), (slope,))
    >>> run = Runner(tick, "numpy").run(3, [[1.0, 3.0], [-2.0, -6.0], [0.5, 1.5]])
    >>> run.channels["slope"].round(4).tolist()
    [3.0, 3.0, 3.0]
    """

    initial: tuple[float, ...]
    uncertainty: Any = 1.0
    noise: Parameter = Parameter(1.0, above=0)
    memory: Parameter = Parameter(10.0, above=0, unit="s")
    least: Any = -1e300
    most: Any = 1e300
    threshold: Parameter = Parameter(1.0, least=0, unit="1")
    largest_uncertainty: Parameter = Parameter(10.0, least=1, unit="1")

    def __post_init__(self) -> None:
        initial = _numbers(self.initial, "initial")
        object.__setattr__(self, "initial", initial)
        for word in ("uncertainty", "least", "most"):
            given = _numbers(getattr(self, word), word)
            values = given * len(initial) if len(given) == 1 else given
            if len(values) != len(initial):
                raise InputError(
                    f"RecursiveLeastSquares({word}): expected 1 or {len(initial)} numbers; found "
                    f"{len(values)}"
                )
            object.__setattr__(self, word, values)
        if min(self.uncertainty) <= 0:
            raise InputError("RecursiveLeastSquares(uncertainty): expected positive numbers")
        for p, low, high in zip(initial, self.least, self.most, strict=True):
            if not low <= p <= high:
                raise InputError(
                    f"RecursiveLeastSquares: the first estimate {p:g} is not between {low:g} and {high:g}"
                )

    def apply(
        self, regressors: Sequence[Expr], value: Expr, context: Context, *, when: Expr | Number = 1.0
    ) -> Estimate:
        """Return the statements of one update.

        Parameters
        ----------
        regressors
            phi, as many as parameters.
        value
            y.
        context
            Names and period.
        when
            A condition besides the excitation: no update where it is 0.
        """
        return self.begin(regressors, context, when=when).finish(value)

    def begin(self, regressors: Sequence[Expr], context: Context, *, when: Expr | Number = 1.0) -> Correction:
        """Return the first half of an update, which needs the regressors only: how much an error will count.

        Where the value depends on the new estimates (a command that they make, and that is measured at the
        same sample), it can be solved for in between.

        Parameters
        ----------
        regressors, context, when
            As for `apply`.
        """
        if len(regressors) != len(self.initial):
            raise InputError(
                f"RecursiveLeastSquares: expected {len(self.initial)} regressors; found {len(regressors)}"
            )
        return Correction(self, regressors, context, when)


def _numbers(given: Any, word: str) -> tuple[float, ...]:
    several = (
        tuple(given) if isinstance(given, (Sequence, tuple)) and not isinstance(given, str) else (given,)
    )
    if hasattr(given, "tolist"):
        several = tuple(given.tolist()) if given.ndim else (given.item(),)
    if not several:
        raise InputError(f"RecursiveLeastSquares({word}): expected at least one number; found none")
    return tuple(number(v, f"RecursiveLeastSquares({word})") for v in several)


class Correction:
    """One update of the estimates, in two halves; inside in units of the first uncertainties and the noise.

    Attributes
    ----------
    steps
        Statements so far; `finish` returns them all.
    estimates
        Before the update.
    gains
        By how much the estimates change for an error of one; 0 where nothing is updated.
    """

    def __init__(
        self,
        settings: RecursiveLeastSquares,
        regressors: Sequence[Expr],
        context: Context,
        when: Expr | Number,
    ) -> None:
        self.settings, self.period, self.n = settings, context.period, len(settings.initial)
        self._body = body = Statements(context.name)
        self.steps, self._put = body.steps, body.put
        n, s = self.n, settings
        self._shift = [body.state(f"shift[{i}]") for i in range(n)]
        self._D = [body.state(f"variance[{i}]", 1.0) for i in range(n)]
        self._U = {(i, j): body.state(f"factor[{i}][{j}]") for j in range(n) for i in range(j)}
        self._regressors = list(regressors)
        self._h = [
            self._put(f"regressor[{i}]", r * (sigma / s.noise))
            for i, (r, sigma) in enumerate(zip(regressors, s.uncertainty, strict=True))
        ]
        forgetting = self._put("forgetting", self._forgetting())
        self._gain, self._variances, self._factors, total = self._bierman(self._h, forgetting)
        limits = Op("and", (dot(self._h, self._h) > s.threshold**2, Op("lt", (total, Const(1e280)))))
        self._news = self._put("news", Op("and", (limits, _truth(when))))
        self.estimates = self._estimates("estimate_before")
        self.gains = tuple(
            self._put(f"gain[{i}]", select(self._news > 0.5, sigma / s.noise * g, 0))
            for i, (sigma, g) in enumerate(zip(s.uncertainty, self._gain, strict=True))
        )

    def _estimates(self, word: str) -> tuple[Var, ...]:
        s = self.settings
        return tuple(
            self._put(f"{word}[{i}]", clipped(p + sigma * x, low, high, p))
            for i, (p, sigma, x, low, high) in enumerate(
                zip(s.initial, s.uncertainty, self._shift, s.least, s.most, strict=True)
            )
        )

    def finish(self, value: Expr) -> Estimate:
        """Return the whole update for a value of y."""
        s, n = self.settings, self.n
        explained = dot(self._regressors, map(Const, s.initial))
        error = self._put("error", (value - explained) / s.noise - dot(self._h, self._shift))
        # NaN fails every comparison, so data that are not numbers change nothing.
        known = Op("lt", (abs(error), Const(1e140)))
        active = self._put("active", Op("and", (self._news, known)))
        pairs: list[tuple[Var, Expr]] = []
        for i in range(n):
            low = (s.least[i] - s.initial[i]) / s.uncertainty[i]
            high = (s.most[i] - s.initial[i]) / s.uncertainty[i]
            moved = clipped(self._shift[i] + self._gain[i] * error, low, high, self._shift[i])
            pairs.append((self._shift[i], select(active > 0.5, moved, self._shift[i])))
            kept = select(self._variances[i] > LEAST_VARIANCE, self._variances[i], LEAST_VARIANCE)
            pairs.append((self._D[i], select(active > 0.5, kept, self._D[i])))
        pairs += [(u, select(active > 0.5, self._factors[at], u)) for at, u in self._U.items()]
        self._body.update(dict(pairs))
        estimates = self._estimates("estimate")
        return Estimate(self._body.applied(error * s.noise), estimates, tuple(self._shift))

    def _forgetting(self) -> Expr:
        """1 where another step of forgetting could take the covariance beyond its bound."""
        s, n = self.settings, self.n
        trace: Expr = Const(0.0)
        for j in range(n):
            trace = trace + self._D[j]
            for i in range(j):
                trace = trace + self._U[i, j] * self._U[i, j] * self._D[j]
        f = math.exp(-self.period / s.memory)
        most = s.largest_uncertainty**2 * n
        return select(self._put("trace", trace) <= f * most, f, 1)

    def _bierman(
        self, h: Sequence[Var], forgetting: Var
    ) -> tuple[list[Expr], list[Var], dict[tuple[int, int], Expr], Var]:
        """Update the factors for one scalar observation (Bierman 1977, p. 77); return the gain too."""
        n = self.n
        total = forgetting
        b: list[Expr] = []
        variances: list[Var] = []
        factors: dict[tuple[int, int], Expr] = {}
        for j in range(n):
            f: Expr = h[j]
            for i in range(j):
                f = f + self._U[i, j] * h[i]
            f_j = self._put(f"projection[{j}]", f)
            g_j = self._put(f"weight[{j}]", self._D[j] * f_j)
            new = self._put(f"total[{j}]", total + f_j * g_j)
            variances.append(self._put(f"next_variance[{j}]", self._D[j] * (total / new) / forgetting))
            for i in range(j):
                factors[i, j] = self._put(f"next_factor[{i}][{j}]", self._U[i, j] - b[i] * (f_j / total))
                b[i] = self._put(f"unscaled_gain[{i}][{j}]", b[i] + self._U[i, j] * g_j)
            b.append(g_j)
            total = new
        return [x / total for x in b], variances, factors, total


def _truth(when: Expr | Number) -> Expr:
    return when if isinstance(when, Expr) else Const(float(bool(when)))


@dataclass(frozen=True)
class MovingWindow:
    """The newest samples, of which sums are taken without drift.

    The window is made of ``parts``; when the newest part is full, the oldest is dropped. So it is between
    three quarters of the wanted length and the whole of it. Adding what comes in and subtracting what goes
    out would keep its rounding errors for ever, and one large value would spoil it.

    Parameters
    ----------
    samples
        Length of the window, rounded to a multiple of the parts.
    parts
        How many.
    """

    samples: int
    parts: int = 4

    @classmethod
    def of(cls, seconds: float, period: float) -> MovingWindow:
        """Return the window of a length in s, of at least one sample a part."""
        return cls(max(cls.parts, round(seconds / period)))

    def sums(self, values: Sequence[Expr], context: Context, word: str) -> tuple[Applied, list[Var]]:
        """Return statements, and the sums of values over the window.

        Parameters
        ----------
        values
            What is summed.
        context
            Names and period.
        word
            A name.
        """
        block, body = max(1, round(self.samples / self.parts)), Statements(f"{context.name}.{word}")
        left = context.count - block * function("floor", (context.count + 0.5) / block)
        starts = body.put("starts", Op("lt", (left, Const(0.5))))
        sums: list[Var] = []
        for i, value in enumerate(values):
            one = Statements(f"{body.name}[{i}]")
            parts = [one.state(f"part[{j}]") for j in range(self.parts)]
            newest = one.put("newest", select(starts > 0.5, 0, parts[0]) + value)
            shifted = [select(starts > 0.5, a, b) for a, b in pairwise(parts)]
            one.update({parts[0]: newest, **dict(zip(parts[1:], shifted, strict=True))})
            total: Expr = parts[0]
            for part in parts[1:]:
                total = total + part
            sums.append(Var(one.name))
            one.steps.append(Assign(sums[-1], total))
            body.add(one.applied(total))
        return body.applied(sums[0]), sums


def solve_symmetric(
    matrix: Sequence[Sequence[Expr]], right: Sequence[Expr], name: str
) -> tuple[list[Step], list[Var]]:
    """Solve M x = r for a positive definite M of a few rows, by the factors L D L^T.

    Parameters
    ----------
    matrix
        Entries of M; only those on and below the diagonal are read. The diagonal must be positive.
    right
        Entries of r.
    name
        Prefix of the variables.
    """
    n, body = len(right), Statements(name)
    put = body.put
    lower: dict[tuple[int, int], Expr] = {}
    pivots: list[Var] = []
    for j in range(n):
        diagonal = put(f"diagonal[{j}]", matrix[j][j])
        rest: Expr = diagonal
        for k in range(j):
            rest = rest - lower[j, k] * lower[j, k] * pivots[k]
        raw = put(f"raw_pivot[{j}]", rest)
        least = LEAST_PIVOT * diagonal
        pivots.append(put(f"pivot[{j}]", select(raw > least, raw, least)))
        for i in range(j + 1, n):
            entry: Expr = matrix[i][j]
            for k in range(j):
                entry = entry - lower[i, k] * lower[j, k] * pivots[k]
            lower[i, j] = put(f"factor[{i}][{j}]", entry / pivots[j])
    forward: list[Var] = []
    for i in range(n):
        value: Expr = right[i]
        for k in range(i):
            value = value - lower[i, k] * forward[k]
        forward.append(put(f"forward[{i}]", value))
    result: list[Var] = [Var("")] * n
    for i in reversed(range(n)):
        value = forward[i] / pivots[i] + Const(0.0)
        for k in range(i + 1, n):
            value = value - lower[k, i] * result[k]
        result[i] = put(f"solution[{i}]", value)
    return body.steps, result
