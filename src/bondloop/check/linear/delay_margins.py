"""Margins of delay and jitter: commands that come late by any part of a sample, alike or unevenly.

A command is held, so one that comes ``D = K + F`` samples late acts as a step at a part F of a sample: until
then the command before it acts, from then on it does. With G(F) the states' answer, at the end of the sample,
to a unit command that acts for its first part F,

    x(n+1) = A x(n) + G(F) c(n-K-1) + [G(1) - G(F)] c(n-K),      c(n) = C x(n).

This is exact, where exp(-iwD) is true of a delay that the hold does not quantise: that one misses what the
held command does near half the sample rate, where a mass at the interface makes the loop large. The loop cut
open at its commands is z^-K M(z, F), with M(z, F) = C (zI - A)^-1 [G(1) - (1 - 1/z) G(F)], and the test is
at a border of stability where an eigenvalue of it is 1 at some z = exp(iw). Stability is not monotonic in the
delay: all borders are looked for, from the shortest delay up, and the first one counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from bondloop.check import tolerances
from bondloop.engine.analysis.spectrum import DelayedStep, dense_matrix, response, within, written_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.analysis.spectrum import OneStep

    Loci: TypeAlias = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.complex128]]
    """The eigenvalues of M at angles w T in rad and at fractions of a sample, shape (angles, fractions,
    interfaces); beyond 1 the fraction leads from just before a whole sample to the whole sample itself."""


def _ways(inner: DelayedStep, substeps: int) -> dict[int, list[int]]:
    """Return the lines of one step that lead a command to the substeps of its rig, by what goes into them."""
    late_of = {s: [j for j, other in enumerate(inner.sources) if other == s] for s in set(inner.sources)}
    return {
        s: late
        for s, late in sorted(late_of.items())
        if len(late) % substeps == 0 and all(inner.delays[j] == 1 for j in late)
    }


@dataclass(frozen=True, eq=False)
class LateCommands:
    """The loop of a test whose commands may reach the rig at any instant of a sample.

    Parameters
    ----------
    step
        One step of the test with a rig that is one sample late, in substeps fine enough to interpolate.
    substeps
        Their number in a sample.
    latency
        By how many samples the rig of the test itself is late.

    Attributes
    ----------
    opened
        The step without the commands on their way to the rig.
    answers
        By the substep at which it is over, the states' answer to a unit command since the beginning of the
        sample, shape (substeps + 1, states, commands).
    seen
        What the commands are made of: states, then what leaves other delay lines.
    """

    step: OneStep
    latency: float
    opened: DelayedStep
    answers: NDArray[np.float64]
    seen: NDArray[np.float64]

    @classmethod
    def of(cls, step: OneStep, substeps: int, latency: float) -> LateCommands | None:
        """Take the commands' ways to the rig out of a step; None where they cannot be told from others."""
        inner = step.step
        ways = _ways(inner, substeps)
        commands, columns = list(ways), list(ways.values())
        way = [j for late in columns for j in late]
        others = [j for j in range(len(inner.delays)) if j not in set(way)]
        A, B, C, E = (dense_matrix(x) for x in (inner.A, inner.B, inner.C, inner.E))
        if not commands or np.any(E[:, way]):
            return None
        # Two rigs with one command have their substeps one after the other: what they do together.
        parts = [B[:, late].reshape(len(A), -1, substeps).sum(axis=1) for late in columns]
        answers = np.zeros((substeps + 1, len(A), len(commands)))
        np.cumsum(np.stack(parts, axis=2).transpose(1, 0, 2), axis=0, out=answers[1:])
        opened = DelayedStep(
            A, B[:, others], C, E[:, others],
            tuple(inner.sources[j] for j in others), tuple(inner.delays[j] for j in others),
        )  # fmt: skip
        return cls(step, latency, opened, answers, np.hstack([C[commands], E[np.ix_(commands, others)]]))

    @cached_property
    def at_once(self) -> NDArray[np.float64]:
        """What takes a command over the moment it comes: what the rig was told last, to be measured next."""
        held = np.array([[within(name, "command")] for name in self.step.states])
        return np.asarray(np.where(held, self.answers[-1], 0.0))

    @cached_property
    def over_time(self) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """G at fractions of a sample, but for what takes a command at once."""
        from scipy.interpolate import CubicSpline

        nodes = np.linspace(0.0, 1.0, len(self.answers))
        spline = CubicSpline(nodes, np.where(self.at_once != 0.0, 0.0, self.answers))
        return lambda fractions: np.asarray(spline(fractions))

    # ------------------------------------------------------------ responses

    def loci(self, angles: NDArray[np.float64], fractions: NDArray[np.float64]) -> NDArray[np.complex128]:
        """Return the eigenvalues of M; see `Loci`."""
        z = np.exp(1j * angles)
        moved = np.flatnonzero(self.answers[-1].any(axis=1))
        drive = np.eye(len(self.step.states))[:, moved]
        none = np.zeros((self.opened.C.shape[0], len(moved)))
        felt = response(self.opened, z, drive, none, self.seen)
        late = self.over_time(np.minimum(fractions, 1.0))
        late = late + np.clip(fractions - 1.0, 0.0, 1.0)[:, None, None] * self.at_once
        answer = np.einsum("aim,fmj->afij", felt, late[:, moved], optimize=True)
        M = (felt @ self.answers[-1][moved])[:, None] - (1 - 1 / z)[:, None, None, None] * answer
        return by_size(M)

    @cached_property
    def own(self) -> NDArray[np.complex128]:
        """Eigenvalues of the loop that is open."""
        return replace(self.step, step=self.opened).eigenvalues

    # ------------------------------------------------------------ steps

    def weights(self, late: Sequence[float]) -> NDArray[np.float64]:
        """Return what each command does in one sample, shape (commands' ages, states, commands).

        Parameters
        ----------
        late
            By how many samples each command comes late, by its age in samples. None overtakes another.
        """
        edges = np.clip(np.asarray(late) - np.arange(len(late)), 0.0, 1.0)
        ends = np.concatenate([[1.0], edges[:-1]])
        parts = self.over_time(np.concatenate([ends, edges])).reshape(2, len(late), *self.at_once.shape)
        acting = np.asarray(parts[0] - parts[1])
        acting[int(np.argmax(edges < 1.0))] += self.at_once
        return acting

    def delayed(self, late: Sequence[float], *, all_ages: bool = False) -> DelayedStep:
        """Return one step in which commands of each age come late by so many samples."""
        opened, count, n = self.opened, len(self.seen), len(self.step.states)
        weights = self.weights(late)
        # What goes into the lines of the commands is what the commands are made of, put before the others.
        C = np.vstack([self.seen[:, :n], dense_matrix(opened.C)])
        E = np.vstack([self.seen[:, n:], dense_matrix(opened.E)])
        ages = [a for a in range(1, len(late)) if all_ages or weights[a].any()]
        B = np.hstack([dense_matrix(opened.B) + weights[0] @ E[:count], *(weights[a] for a in ages)])
        return DelayedStep(
            dense_matrix(opened.A) + weights[0] @ C[:count],
            B,
            C,
            np.hstack([E, np.zeros((len(E), len(ages) * count))]),
            (*(s + count for s in opened.sources), *(i for _ in ages for i in range(count))),
            (*opened.delays, *(a for a in ages for _ in range(count))),
        )

    def at(self, extra: float) -> OneStep:
        """Return one step with all commands late by so many samples more."""
        late = self.latency + extra
        return replace(self.step, step=self.delayed([late] * (math.floor(late) + 2)))

    def alternating(self, extra: float) -> tuple[OneStep, NDArray[np.float64]]:
        """Return two steps in a row, with every other command late by a part of a sample more; and the first.

        Parameters
        ----------
        extra
            In samples, at most one: then every other command is lost.
        """
        ages = range(math.floor(self.latency + extra) + 3)
        even, odd = (
            written_out(self.delayed([self.latency + extra * ((a + o) % 2) for a in ages], all_ages=True))
            for o in (0, 1)
        )
        n = len(even)
        both = DelayedStep(odd @ even, np.zeros((n, 0)), np.zeros((0, n)), np.zeros((0, 0)), (), ())
        return replace(self.step, step=both, period=2 * self.step.period), even


def by_size(M: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return eigenvalues of matrices, the smallest first: each size is continuous in what a matrix is of."""
    if M.shape[-1] == 1:
        return M[..., 0]
    values = np.linalg.eigvals(M).astype(complex)
    return np.take_along_axis(values, np.argsort(np.abs(values), axis=-1), axis=-1)


# -------------------------------------------------------------------- the first border


@dataclass(frozen=True)
class Crossing:
    """Where an eigenvalue leaves the unit circle first.

    Attributes
    ----------
    delay
        In samples.
    angle
        By which it turns in a sample, in rad.
    """

    delay: float
    angle: float


def first_crossing(
    loci: Loci,
    angles: NDArray[np.float64],
    latency: float,
    longest: float,
    fractions: int = tolerances.EDGE_FRACTIONS,
    precision: float = tolerances.BORDER,
) -> Crossing | None:
    """Return the shortest delay beyond a latency at which z^-K times a locus is 1, on the unit circle.

    In the plane of angle and fraction, 1 - z^-K M has a zero in a cell where its argument turns once round
    along the cell's edge. A locus is 1 only where its size is, which does not depend on K: only cells with
    that are looked at, in ever narrower bands of angle until the delay turns them little.

    Parameters
    ----------
    loci
        Eigenvalues of M.
    angles
        At which they are looked at first, in rad, rising, near every resonance of the loop and past pi.
    latency, longest
        Samples of delay at which the search begins, and beyond which none is looked for.
    fractions
        Of a sample, at which they are looked at.
    precision
        Of the extra delay, relative.
    """
    whole = math.floor(latency + 1e-9)
    began = max(latency - whole, 0.0)
    # The cells past 1 are the whole sample: what a command does at once is measured a sample later from there
    # on. That is a leap, and the way across is looked at as closely as the rest.
    leap = np.linspace(1.0, 2.0, fractions // 4 + 1)
    nodes = np.unique(np.concatenate([np.linspace(0.0, 1.0, fractions + 1), [began], leap]))
    low, high, a, b = _bands(loci, angles, nodes, latency)
    if not len(low):
        return None
    possible, block, first = _possible(a, b), 64, whole
    while first < longest:
        K = np.arange(first, first + block)
        around = np.abs(_turns(a, b, low, high, K)) > 0.5
        around &= possible & ((K[:, None, None] > whole) | (nodes[1:] > began + 1e-12))
        if around.any():
            rows = np.argwhere(around)
            k, j = min((r[0], r[2]) for r in rows.tolist())
            found = [
                _pinpointed(loci, (low[i], high[i]), (nodes[j], nodes[j + 1]), first + k, latency, precision)
                for kk, i, jj in rows.tolist()
                if (kk, jj) == (k, j)
            ]
            return min(found, key=lambda c: c.delay)
        first += block
    return None


def _possible(a: NDArray[np.complex128], b: NDArray[np.complex128]) -> NDArray[np.bool_]:
    """Return in which cells some locus may have the size 1, shape (bands, cells)."""
    near = tolerances.NEAR_ONE
    sizes = np.stack([np.abs(x) for v in (a, b) for x in (v[:, :-1], v[:, 1:])])
    return np.asarray(((sizes.min(axis=0) <= 1 + near) & (sizes.max(axis=0) >= 1 - near)).any(axis=-1))


def _bands(
    loci: Loci, angles: NDArray[np.float64], nodes: NDArray[np.float64], latency: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.complex128], NDArray[np.complex128]]:
    """Return narrow bands of angles in which a locus passes the size 1, and the loci at both their ends."""
    values = loci(angles, nodes)
    low, high, a, b = angles[:-1], angles[1:], values[:-1], values[1:]
    done: list[
        tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.complex128], NDArray[np.complex128]]
    ]
    done = []
    for halving in range(tolerances.FREQUENCY_HALVINGS + 1):
        kept = _possible(a, b).any(axis=1)
        low, high, a, b = low[kept], high[kept], a[kept], b[kept]
        # A border is at most one turn of the locus away from the latency.
        turned = (high - low) * (latency + 2 * np.pi / np.minimum(high, np.pi))
        wide = (turned > tolerances.PHASE_STEP) | (halving < 2)
        if halving == tolerances.FREQUENCY_HALVINGS:
            wide[:] = False
        done.append((low[~wide], high[~wide], a[~wide], b[~wide]))
        low, high, a, b = low[wide], high[wide], a[wide], b[wide]
        if not len(low):
            break
        middle = 0.5 * (low + high)
        m = loci(middle, nodes)
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        a, b = np.concatenate([a, m]), np.concatenate([m, b])
    return (
        np.concatenate([d[0] for d in done]), np.concatenate([d[1] for d in done]),
        np.concatenate([d[2] for d in done]), np.concatenate([d[3] for d in done]),
    )  # fmt: skip


def _turns(
    a: NDArray[np.complex128],
    b: NDArray[np.complex128],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    K: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return how often the argument of det(1 - z^-K M) turns along the edge of each cell, (K, band, cell)."""
    with np.errstate(all="ignore"):
        f, g = (
            np.prod(1 - np.exp(-1j * K[:, None] * w)[:, :, None, None] * v, axis=-1)
            for v, w in ((a, low), (b, high))
        )
        across = np.angle(g / f)
        along = np.angle(f[:, :, 1:] / f[:, :, :-1]), np.angle(g[:, :, 1:] / g[:, :, :-1])
        turns = along[0] + across[:, :, 1:] - along[1] - across[:, :, :-1]
    return np.asarray(np.nan_to_num(turns / (2 * np.pi)))


def _pinpointed(
    loci: Loci,
    band: tuple[float, float],
    cell: tuple[float, float],
    K: int,
    latency: float,
    precision: float,
) -> Crossing:
    """Return the zero in a cell, by halving it both ways; where rounding hides it, the cell's beginning."""
    (low, high), (left, right) = band, cell
    for _ in range(tolerances.CELL_HALVINGS):
        if right - left <= precision * max(K + left - latency, 0.0):
            break
        w, s = np.linspace(low, high, 3), np.linspace(left, right, 3)
        values = loci(w, s)
        turns = np.abs(_turns(values[:-1], values[1:], w[:-1], w[1:], np.array([K]))[0]) > 0.5
        if not turns.any():
            break
        j, i = min((j, i) for i, j in np.argwhere(turns).tolist())
        low, high, left, right = w[i], w[i + 1], s[j], s[j + 1]
    middle = 0.5 * (low + high)
    return Crossing(K + min(0.5 * (left + right), 1.0) - latency, min(middle, 2 * np.pi - middle))


def first_jitter(
    late: LateCommands, most: float, precision: float = tolerances.SPECIMEN_BORDER
) -> Crossing | None:
    """Return how late every other command may be, where that makes the loop unstable.

    Parameters
    ----------
    late
        The loop.
    most
        Samples beyond which it is not asked; never more than one, where every other command is lost.
    precision
        Relative.
    """
    good, unstable = 0.0, None
    sizes = np.linspace(0.0, 1.0, tolerances.JITTER_STEPS + 1)[1:]
    for bad in (*sizes[sizes < most].tolist(), min(most, 1.0)):
        two, one = late.alternating(bad)
        if not two.stable:
            unstable = two, one
            break
        good = bad
    if unstable is None:
        return None
    while bad - good > precision * bad:
        middle = 0.5 * (good + bad)
        two, one = late.alternating(middle)
        if two.stable:
            good = middle
        else:
            bad, unstable = middle, (two, one)
    return Crossing(0.5 * (good + bad), _turned(*unstable))


def _turned(two: OneStep, one: NDArray[np.float64]) -> float:
    """Return by which angle the fastest motion of two steps in a row turns in a sample: two leave it open."""
    values, vectors = np.linalg.eig(dense_matrix(two.step.A))
    v = vectors[:, np.argmin(np.abs(values - two.eigenvalues[0]))]
    angle = 0.5 * abs(float(np.angle(two.eigenvalues[0])))
    # More than a quarter of a turn in the first of them: the other of the two angles that come to the same.
    return np.pi - angle if (v.conj() @ one @ v).real < 0 else angle
