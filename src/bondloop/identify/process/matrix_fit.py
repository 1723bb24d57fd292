"""Fits of a matrix of process models: several actuators that act on each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import as_text, brief, with_progress
from bondloop.engine.data import POSITIVE
from bondloop.errors import InputError, SolveError
from bondloop.identify.least_squares import minimise
from bondloop.identify.policy import POLICY
from bondloop.identify.process.frequency_fit import fit_response, lines_to_fit, response_derivatives
from bondloop.identify.process.line_fit import (
    RecordLines,
    criterion,
    last_above_noise,
    sampled,
    search,
    slowed,
)
from bondloop.identify.process.process_fit import ModelStructure, structure
from bondloop.identify.spectra import MatrixResponse, checked_matrix, matrix_response
from bondloop.identify.tolerances import FASTEST_POLE, LINES_OF_MATRIX
from bondloop.transfer import orthonormal, project_out

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from bondloop.identify.process.line_fit import LineFit
    from bondloop.transfer import Process

    Array = NDArray[np.float64]
    Complex = NDArray[np.complex128]
    Bounds = Callable[[ModelStructure], tuple[Array, Array]]


GENERAL = ModelStructure(4, 2, True)
"""What ``"auto"`` begins with: enough to take off an output what the other inputs do to it."""

Models = ModelStructure | str | Sequence[Sequence[ModelStructure | str]]


@dataclass(frozen=True, eq=False)
class MatrixFit:
    """A matrix of process models, and the measured responses beside it.

    Attributes
    ----------
    matrix
        ``matrix[i][j]`` leads from input j to output i.
    measured
        The responses without a model.
    residual
        Measured less modelled outputs, shape (samples, outputs), the settling at the beginning included.
    fit
        For each output 100 (1 - rms residual / rms of the output about its mean), after the first tenth.
    common_poles
        Whether the entries of a column share their poles.
    sample_period
        In s, of inputs that a converter held: its hold is in the measured responses; 0 for smooth inputs.

    Examples
    --------
    >>> from bondloop.transfer.process import first_order
    >>> rng = np.random.default_rng(1)
    >>> u, late = rng.normal(size=(4000, 2)), first_order(0.2, 0.03)
    >>> y = np.column_stack(
    ...     [
    ...         first_order(1.0, 0.02).simulate(u[:, 0], 1e-3) + late.simulate(u[:, 1], 1e-3),
    ...         first_order(0.9, 0.01).simulate(u[:, 1], 1e-3) + late.simulate(u[:, 0], 1e-3),
    ...     ]
    ... )
    >>> fit = fit_matrix(u, y, 1e-3, "G1")
    >>> [[round(entry.gain, 3) for entry in row] for row in fit.matrix]
    [[1.0, 0.2], [0.2, 0.9]]
    """

    matrix: tuple[tuple[Process, ...], ...]
    measured: MatrixResponse
    residual: Array
    fit: tuple[float, ...]
    common_poles: bool
    sample_period: float = 0.0

    __repr__ = brief
    _repr_html_ = as_text

    def process(self, output: int, input: int) -> Process:  # noqa: A002 - as in `Data`
        """Return the model from an input to an output, both counted from 0."""
        rows, columns = len(self.matrix), len(self.matrix[0])
        if not (0 <= output < rows and 0 <= input < columns):
            raise InputError(
                f"there are outputs 0 to {rows - 1} and inputs 0 to {columns - 1}; found {output}, {input}"
            )
        return self.matrix[output][input]

    def response(self, frequency: ArrayLike) -> NDArray[np.complex128]:
        """Return the models' responses at frequencies in Hz, shape (n, outputs, inputs).

        Parameters
        ----------
        frequency
            Frequencies in Hz.
        """
        rows = [[entry.response(frequency) for entry in row] for row in self.matrix]
        return np.moveaxis(np.array(rows), 2, 0)

    def simulate(self, inputs: ArrayLike, period: float | str, *, hold: str = "zero") -> Array:
        """Return the outputs from rest for inputs of shape (samples, inputs), as `Process.simulate`.

        Parameters
        ----------
        inputs
            Samples of each input in a column.
        period
            The sample period in s.
        hold
            ``"zero"``: inputs keep their value between samples; ``"first"``: they run straight on.
        """
        u = np.asarray(inputs, dtype=float)
        rows = [
            sum(entry.simulate(u[:, j], period, hold=hold) for j, entry in enumerate(row))
            for row in self.matrix
        ]
        return np.column_stack([np.asarray(row) for row in rows])

    def figure(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw gain and phase of every entry, measured and modelled.

        Parameters
        ----------
        path
            Where to save it as well, ``"matrix.png"``; None: it is only returned.
        """
        from bondloop.results.figures import process_matrix

        entries: list[list[tuple[Array, NDArray[np.complex128]]]] = []
        for i, row in enumerate(self.matrix):
            entries.append([])
            for j in range(len(row)):
                f, H, deviation = self.measured.entry(i, j)
                sure = np.abs(H) > 5 * deviation
                x = f[sure] * self.sample_period  # the converter's hold is no part of the models
                entries[i].append((f[sure], H[sure] / (np.sinc(x) * np.exp(-1j * np.pi * x))))
        return process_matrix(entries, self.matrix, path=path)

    def to_dict(self) -> dict[str, Any]:
        """Return the fit as a dictionary that fits into JSON."""
        return {
            "matrix": [[entry.describe() for entry in row] for row in self.matrix],
            "fit": list(self.fit),
            "common_poles": self.common_poles,
        }

    def __str__(self) -> str:
        lines = []
        for i, row in enumerate(self.matrix):
            lines += [f"output {i}, input {j}: {entry}" for j, entry in enumerate(row)]
            lines.append(f"output {i}: fit {self.fit[i]:.2f} %")
        return "\n".join(lines)


@with_progress("fitting a matrix of models")
def fit_matrix(
    inputs: ArrayLike,
    outputs: ArrayLike,
    sample_period: float | str,
    models: Models = "auto",
    *,
    common_poles: bool = False,
    hold: str = "zero",
    segments: int = 16,
    max_delay: float | str | None = None,
) -> MatrixFit:
    """Fit a process model to every pair of an input and an output.

    The inputs may act all at once (different noises, or multisines that are not alike) or one after another
    in one record.

    Parameters
    ----------
    inputs, outputs
        Shapes (samples, inputs) and (samples, outputs).
    sample_period
        Seconds between samples.
    models
        One structure for all entries, a matrix of them, or ``"auto"``, which chooses each.
    common_poles
        Whether the entries of a column share their poles, as where one actuator moves several points.
    hold
        As for `fit_time`.
    segments
        For the responses without a model, `matrix_response`.
    max_delay
        Longest delay in seconds; unless given, what the phase allows.
    """
    sample_period = POSITIVE.check(sample_period, "sample_period", "s")
    u, y = checked_matrix(inputs, outputs)
    shape = (y.shape[1], u.shape[1])
    measured = matrix_response(u, y, sample_period, segments=segments)
    wanted, thetas = _first(measured, models, shape, sample_period if hold == "zero" else 0.0, max_delay)
    problem = MatrixProblem.of(u, y, sample_period, hold)
    automatic = isinstance(models, str) and models == "auto"
    if automatic:
        thetas = _refined(problem, wanted, thetas, common=False)
        wanted, thetas = _chosen(problem, wanted, thetas)
    if common_poles and automatic:
        wanted, thetas = _shared(wanted, thetas)
    elif common_poles and any(len({row[j].poles for row in wanted}) > 1 for j in range(shape[1])):
        raise InputError("entries with common poles need the same number of poles in every column")
    thetas = _refined(problem, wanted, thetas, common_poles)
    matrix = tuple(
        tuple(wanted[i][j].process(thetas[i][j]) for j in range(shape[1])) for i in range(shape[0])
    )
    held = sample_period if hold == "zero" else 0.0
    empty = MatrixFit(matrix, measured, np.zeros(0), (), common_poles, held)
    residual = y - y.mean(axis=0) - empty.simulate(u - u.mean(axis=0), sample_period, hold=hold)
    late = slice(u.shape[0] // 10, None)
    left, size = residual[late].std(axis=0), y[late].std(axis=0)
    fit = tuple((100 * (1 - left / size)).tolist())
    return replace(empty, residual=residual, fit=fit)


def _first(
    measured: MatrixResponse,
    models: Models,
    shape: tuple[int, int],
    held: float,
    max_delay: float | str | None,
) -> tuple[list[list[ModelStructure]], list[list[Array]]]:
    """Return structures and coordinates that follow the responses measured without a model."""
    if (
        not isinstance(models, (str, ModelStructure))
        and [len(row) for row in models] != [shape[1]] * shape[0]
    ):
        raise InputError(
            f"expected a row of {shape[1]} structures for each of the {shape[0]} outputs; found rows of "
            f"{[len(row) for row in models]}"
        )
    wanted: list[list[ModelStructure]] = [[] for _ in range(shape[0])]
    thetas: list[list[Array]] = [[] for _ in range(shape[0])]
    for i in range(shape[0]):
        for j in range(shape[1]):
            model = models if isinstance(models, (str, ModelStructure)) else models[i][j]
            f, H, deviation = measured.entry(i, j)
            good = np.abs(H) > 5 * deviation
            if good.sum() < 12:
                raise InputError(
                    f"the effect of input {j} on output {i} hardly shows: {int(good.sum())} "
                    "frequencies stand out of the noise, 12 or more are needed; excite more, longer, or "
                    "leave the pair out"
                )
            floor = 1e-3 * np.abs(H[good]).max()
            lines = lines_to_fit(
                f[good], H[good], weight=1 / np.maximum(deviation[good], floor), held_period=held
            )
            s = GENERAL if model == "auto" else structure(model)
            p = fit_response(lines, s, max_delay).process
            wanted[i].append(s)
            thetas[i].append(
                s.coordinates(np.array(p.numerator[::-1]), np.array(p.denominator[::-1]), p.delay)
            )
    return wanted, thetas


def _simplest(tried: list[LineFit], close: float = POLICY.close) -> LineFit:
    """Return the simplest fit whose criterion is near the least."""
    sound = [f for f in tried if not f.idle_pole] or tried
    least = criterion(sound[0])
    return min(
        (f for f in sound if criterion(f) - least <= close),
        key=lambda f: (f.structure.size, criterion(f)),
    )


def _chosen(
    problem: MatrixProblem,
    wanted: list[list[ModelStructure]],
    thetas: list[list[Array]],
) -> tuple[list[list[ModelStructure]], list[list[Array]]]:
    """Choose each structure again, from the outputs less what the other inputs do to them."""
    for i in range(len(wanted)):
        for j in range(len(wanted[i])):
            clean = problem.without_others(i, j, wanted, thetas)
            data = RecordLines(problem.u[:, j], clean, problem.period, problem.hold)
            furthest = 2 * thetas[i][j][-1] if wanted[i][j].delay else 4 * problem.period
            bounds = problem.bounds(2 * furthest)
            tried = search(data, bounds, furthest)
            if tried:
                best = _simplest(tried)
                wanted[i][j], thetas[i][j] = best.structure, best.theta
    return wanted, thetas


def _shared(
    wanted: list[list[ModelStructure]], thetas: list[list[Array]]
) -> tuple[list[list[ModelStructure]], list[list[Array]]]:
    """Give the entries of a column the poles of the one with the most, and zeros enough."""
    for j in range(len(wanted[0])):
        column = [row[j] for row in wanted]
        most = max(range(len(column)), key=lambda i: (column[i].poles, -i))
        poles, most_zeros = column[most].poles, max(s.zeros for s in column)
        _, a, _ = column[most].polynomials(thetas[most][j])
        for i, s in enumerate(column):
            b, _, delay = s.polynomials(thetas[i][j])
            # Poles that it lacks are cancelled by as many zeros, if there is room.
            zeros = min(max(most_zeros, s.zeros + poles - s.poles), poles - 1)
            grown = ModelStructure(poles, zeros, s.delay)
            b = np.concatenate([b, np.zeros(zeros - s.zeros)])
            wanted[i][j] = grown
            thetas[i][j] = grown.coordinates(b, a, delay)
    return wanted, thetas


def _refined(
    problem: MatrixProblem, wanted: list[list[ModelStructure]], thetas: list[list[Array]], common: bool
) -> list[list[Array]]:
    """Fit all entries together, beginning where they are; without common poles row by row."""
    rows = [list(range(len(wanted)))] if common else [[i] for i in range(len(wanted))]
    longest = max(
        (
            2 * thetas[i][j][-1] + 20 * problem.period
            for i, row in enumerate(wanted)
            for j, s in enumerate(row)
            if s.delay
        ),
        default=0.0,
    )
    bounds = problem.bounds(longest)
    for group in rows:
        joint = problem.joint(group, wanted, thetas, bounds, common)
        for _ in range(2):  # the second time with the delays' whole samples known
            optimum = minimise(joint.evaluate, joint.start, joint.low, joint.high, most=60)
            if optimum is None:
                raise SolveError("the matrix could not be fitted: take simpler structures, or excite more")
            for (i, j), place in joint.places.items():
                thetas[i][j] = optimum.theta[place]
            joint = problem.joint(group, wanted, thetas, bounds, common)
    return thetas


@dataclass(frozen=True, eq=False)
class Joint:
    """Some entries that are fitted together.

    Attributes
    ----------
    places
        Where the coordinates of each entry stand in the common vector.
    start, low, high
        The vector to begin with, and its bounds.
    evaluate
        Residuals and their derivatives.
    """

    places: dict[tuple[int, int], NDArray[np.int64]]
    start: Array
    low: Array
    high: Array
    evaluate: Callable[[Array], tuple[Array, Array] | None]


@dataclass(frozen=True, eq=False)
class MatrixProblem:
    """A record of several inputs and outputs.

    Attributes
    ----------
    u, y
        Shapes (samples, inputs) and (samples, outputs).
    period, hold
        Seconds between samples; what the inputs do between them.
    index
        The lines that take part, as parts of the whole record's spectrum: frequencies in Hz.
    """

    u: Array
    y: Array
    period: float
    hold: str
    index: Array

    @classmethod
    def of(cls, u: Array, y: Array, period: float, hold: str) -> MatrixProblem:
        """Return the problem of a record, with the lines in which the outputs stand out of the noise."""
        U, Y = (np.fft.rfft(x - x.mean(axis=0), axis=0)[1:] for x in (u, y))
        last = max(last_above_noise(np.abs(column) ** 2) for column in Y.T)
        power = (np.abs(U[:last]) ** 2 / np.mean(np.abs(U) ** 2, axis=0)).max(axis=1)
        lines = (
            np.arange(last)
            if last <= LINES_OF_MATRIX
            else np.sort(np.argpartition(power, -LINES_OF_MATRIX)[-LINES_OF_MATRIX:])
        )
        return cls(u, y, period, hold, (lines + 1) / (u.shape[0] * period))

    def bounds(self, longest: float) -> Bounds:
        """Return bounds of a structure's coordinates, as those of a record with one input."""
        fastest, slowest = 1e-3 * self.period, 100 * len(self.y) * self.period
        return lambda s: s.bounds(fastest, slowest, longest, fastest_pair=1e-2 * self.period)

    def without_others(
        self,
        output: int,
        input: int,  # noqa: A002 - as in `Data`
        wanted: list[list[ModelStructure]],
        thetas: list[list[Array]],
    ) -> Array:
        """Return an output less what all inputs but one do to it, by the models so far."""
        clean = self.y[:, output] - self.y[:, output].mean()
        for k in range(self.u.shape[1]):
            if k != input:
                model = wanted[output][k].process(thetas[output][k])
                clean = clean - model.simulate(
                    self.u[:, k] - self.u[:, k].mean(), self.period, hold=self.hold
                )
        return np.asarray(clean)

    def joint(
        self,
        rows: list[int],
        wanted: list[list[ModelStructure]],
        thetas: list[list[Array]],
        bounds: Bounds,
        common: bool,
    ) -> Joint:
        """Return the entries of some rows as one problem.

        Parameters
        ----------
        rows
            Outputs that are fitted together.
        wanted, thetas
            Structures, and coordinates to begin with; delays tell by how much the inputs are moved.
        bounds
            Of a structure's coordinates.
        common
            Whether a column's entries share their poles.
        """
        columns = range(self.u.shape[1])
        places: dict[tuple[int, int], NDArray[np.int64]] = {}
        start: list[float] = []
        low: list[float] = []
        high: list[float] = []
        top = FASTEST_POLE * 2 * np.pi * float(self.index[-1])
        for j in columns:
            shared: NDArray[np.int64] | None = None
            for i in rows:
                s = wanted[i][j]
                least, most = bounds(s)
                place = np.empty(s.size, dtype=np.int64)
                own = np.ones(s.size, dtype=bool)
                if common and shared is not None:
                    place[s.positive], own[s.positive] = shared, False
                place[own] = len(start) + np.arange(int(own.sum()))
                start += slowed(s, np.clip(thetas[i][j], least, most), top)[own].tolist()
                low += least[own].tolist()
                high += most[own].tolist()
                places[i, j] = place
                shared = place[s.positive] if shared is None else shared
        shifts = {(i, j): int(thetas[i][j][-1] / self.period) if wanted[i][j].delay else 0 for i, j in places}
        first = max(shifts.values())
        scale = np.sqrt(2 / (len(self.y) - first))
        f = np.unique(np.round(self.index * (len(self.y) - first) * self.period)).astype(int)
        f = f[(f >= 1) & (f <= (len(self.y) - first) // 2 - 1)]
        frequency = f / ((len(self.y) - first) * self.period)
        # Every input is taken as much earlier as its entry is late.
        drives = {
            (i, j): scale
            * _lines(self.u[first - shift : len(self.y) - shift, j], f)
            * np.exp(2j * np.pi * frequency * self.period * shift)
            for (i, j), shift in shifts.items()
        }
        targets = {i: scale * _lines(self.y[first:, i], f) for i in rows}
        size = {i: float(np.sqrt(np.mean(np.abs(targets[i]) ** 2))) or 1.0 for i in rows}
        s_axis, count = 2j * np.pi * frequency, len(start)

        def evaluate(theta: Array) -> tuple[Array, Array] | None:
            residuals, slopes = [], []
            for i in rows:
                e, J = -targets[i], np.zeros((frequency.size, count), dtype=complex)
                ends = []
                for j in columns:
                    s, own = wanted[i][j], theta[places[i, j]]
                    G, dG = response_derivatives(s, own, s_axis)
                    pair = sampled(s.process(own), frequency, self.period, self.hold)
                    if pair is None:
                        return None
                    H, rows_of_ends = pair
                    images = np.divide(H, G, out=np.ones_like(H), where=np.abs(G) > 0)
                    e = e + drives[i, j] * H
                    J[:, places[i, j]] += (drives[i, j] * images)[:, None] * dG
                    ends.append(rows_of_ends)
                table = np.hstack(ends)
                basis = orthonormal(np.vstack([table.real, table.imag]).T)
                r = project_out(basis, np.concatenate([e.real, e.imag]) / size[i])
                residuals.append(r)
                slopes.append(project_out(basis, np.vstack([J.real, J.imag]).T / size[i]))
            whole, slope = np.concatenate(residuals), np.hstack(slopes)
            return (whole, slope) if np.all(np.isfinite(whole)) and np.all(np.isfinite(slope)) else None

        return Joint(places, np.array(start), np.array(low), np.array(high), evaluate)


def _lines(x: Array, index: NDArray[np.int64]) -> Complex:
    return np.asarray(np.fft.rfft(x - x.mean())[index])
