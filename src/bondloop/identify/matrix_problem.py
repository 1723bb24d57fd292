"""The error of a matrix of process models on the lines of a record's spectra, and its derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.identify.fit_frequency import response_derivatives
from bondloop.identify.line_fit import last_above_noise, sampled, slowed
from bondloop.identify.tolerances import FASTEST_POLE, LINES_OF_MATRIX
from bondloop.transfer.thin_products import orthonormal, project_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.identify.structure import Structure

    Array = NDArray[np.float64]
    Complex = NDArray[np.complex128]
    Bounds = Callable[[Structure], tuple[Array, Array]]

__all__ = ["Joint", "MatrixProblem"]


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

        def of(wanted: Structure) -> tuple[Array, Array]:
            low, high = np.full(wanted.size, -np.inf), np.full(wanted.size, np.inf)
            low[wanted.positive], high[wanted.positive] = 1e-3 * self.period, 100 * len(self.y) * self.period
            for place in wanted.squares:
                low[place], high[place] = (1e-2 * self.period) ** 2, high[place] ** 2
            if wanted.delay:
                low[-1], high[-1] = 0.0, longest
            return low, high

        return of

    def without_others(
        self,
        output: int,
        input: int,  # noqa: A002 - as in `Data`
        wanted: list[list[Structure]],
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
        wanted: list[list[Structure]],
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
