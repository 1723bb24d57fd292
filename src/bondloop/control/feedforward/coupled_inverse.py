"""Inverse of a coupled transfer system: several actuators follow, each knowing what the others do to it."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.control.base import Compensator
from bondloop.control.blocks.filters import LinearFilter, dot, earlier, from_first, rational, weighted
from bondloop.control.blocks.least_squares import RecursiveLeastSquares
from bondloop.engine.data import POSITIVE, Parameter, Whole, si_array
from bondloop.engine.ir import (
    Channel,
    Const,
    Expr,
    Op,
    Quantity,
    Role,
    Var,
    as_expr,
    substitute,
    transmission_zeros,
)
from bondloop.engine.passes import Applied, Context, Statements
from bondloop.errors import InputError
from bondloop.transfer import motion_space, width

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.control.base import Design, Measured
    from bondloop.transfer import TransferSystem

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Weights:
    """The coefficients of a sample.

    Attributes
    ----------
    rows
        Of each command, in the order of the features.
    explain
        The states that keep the commands (of these the filtered ones), where they are learnt from.
    applied
        Statements, states and channels that they come with.
    """

    rows: list[list[Expr]]
    explain: list[Var] = field(default_factory=list)
    applied: Applied = field(default_factory=lambda: Applied([], Const(0.0)))


@dataclass(frozen=True, eq=False)
class CoupledInverse(Compensator):
    """Sends what several actuators need in order to follow, each knowing what the others do to it.

    The command of each actuator is a sum over the demands of all::

        u_i = Σ_j (Σ_m a_ijm ∇^m x_j + Σ_p b_ijp w_jp),   w_jp(k) = e^(pT) w_jp(k-1) + (1 - e^(pT)) x_j(k)

    of backward differences ∇ and of filters whose poles p are the zeros of the transfer system G, so that the
    sum can be its inverse. The coefficients are those that make G u nearest to x over all frequencies up to
    half the rate, with the command held between samples: a linear least-squares problem. Motions slower than
    ``bandwidth`` count most, faster ones just enough not to be amplified, so that nothing has to be filtered
    afterwards. A zero that is not stable is mirrored; what is lost then `error` tells.

    Parameters
    ----------
    model
        Model of the transfer system: a coupled one, as `bondloop.transfer.coupled_transfer` takes it, such as
        ``ProcessMatrix(...).actuator()``; linear.
    differences
        Highest difference of the demands.
    bandwidth
        In Hz: motions slower than this are to be followed.
    delay
        Latency in s that the model has not, of the rig's command for instance.

    Examples
    --------
    >>> from bondloop.transfer import ProcessMatrix, first_order
    >>> G = ProcessMatrix(
    ...     (
    ...         (first_order(1.0, 0.02), first_order(0.3, 0.02)),
    ...         (first_order(0.2, 0.03), first_order(0.9, 0.03)),
    ...     )
    ... )
    >>> law = CoupledInverse(G.actuator())
    >>> bool(law.error([1.0, 5.0], 0.001).max() < 0.002)
    True
    """

    model: TransferSystem
    differences: Whole = Whole(2, least=1, most=4)
    bandwidth: Parameter = Parameter(8.0, above=0, unit="Hz")
    delay: Parameter = Parameter(0.0, least=0, unit="s")

    def __post_init__(self) -> None:
        motion_space(self.model)  # refuses what is no linear transfer system

    # ---------------------------------------------------------------- design

    def _sampled(self, frequency: ArrayLike, period: float) -> NDArray[np.complex128]:
        """Return G at frequencies in Hz for a command that is held, exact at the samples."""
        from scipy.linalg import expm

        A, B, C = motion_space(self.model)
        n, m = B.shape
        full = expm(np.block([[A, B], [np.zeros((m, n + m))]]) * period)
        F, H = full[:n, :n], full[:n, n:]
        f = np.asarray(frequency, dtype=float)
        z = np.exp(2j * np.pi * f * period)[:, None, None]
        late = np.exp(-2j * np.pi * f * self.delay)[:, None, None]
        return np.asarray(C @ np.linalg.solve(z * np.eye(n) - F, np.broadcast_to(H, (len(f), n, m))) * late)

    def _poles(self, period: float) -> list[complex]:
        """Return the poles of the filters per sample; of a pair the one above the axis."""
        A, B, C = motion_space(self.model)
        zeros = transmission_zeros(A, B, C, np.zeros((len(C), B.shape[1])))
        scale = float(np.abs(zeros).max(initial=1.0))
        # The displacements are integrals of velocities: zeros at the origin are theirs, and no dynamics.
        kept = [z for z in zeros if 1e-7 * scale < abs(z) < np.pi / period and z.imag > -1e-9 * abs(z)]
        return [
            complex(np.exp((-abs(z.real) + 1j * z.imag * (z.imag > 1e-9 * abs(z))) * period)) for z in kept
        ]

    def _features(self, frequency: ArrayLike, period: float) -> NDArray[np.complex128]:
        """Return the response of every difference and filter at frequencies in Hz, those last."""
        back = np.asarray(np.exp(-2j * np.pi * np.asarray(frequency, dtype=float) * period), dtype=complex)
        unit = self._unit(period)
        columns: list[NDArray[np.complex128]] = [
            np.power((1 - back) * unit, m) for m in range(self.differences + 1)
        ]
        for p in self._poles(period):
            one, other = (1 - p) / (1 - p * back), (1 - np.conj(p)) / (1 - np.conj(p) * back)
            columns += [one] if p.imag == 0 else [(one + other) / 2, (one - other) / 2j]
        return np.stack(columns, axis=-1)

    def _unit(self, period: float) -> float:
        """Return the factor of a difference: a motion at the bandwidth then has differences of its size."""
        return 1 / (2 * np.pi * self.bandwidth * period)

    def coefficients(self, period: float | str) -> NDArray[np.float64]:
        """Return the coefficients for a sample period in s, shape (actuators, demands, features)."""
        period = POSITIVE.check(period, "period", "s")
        return np.array(_fitted(self, period))

    def response(self, frequency: ArrayLike, period: float | str) -> NDArray[np.complex128]:
        """Return commands per demands at frequencies in Hz, shape (frequencies, actuators, demands).

        Parameters
        ----------
        frequency
            Frequencies in Hz.
        period
            The sample period in s.
        """
        period = POSITIVE.check(period, "period", "s")
        features = self._features(si_array(frequency, "frequency", "Hz"), period)
        return np.asarray(np.einsum("fm,ijm->fij", features, self.coefficients(period)))

    def error(self, frequency: ArrayLike, period: float | str) -> NDArray[np.float64]:
        """Return how far motion per demand is from 1 (and from 0, of the others) at frequencies in Hz.

        For the model itself; the largest entry at each frequency.

        Parameters
        ----------
        frequency
            Frequencies in Hz.
        period
            The sample period in s.
        """
        period = POSITIVE.check(period, "period", "s")
        f = si_array(frequency, "frequency", "Hz")
        moved = self._sampled(f, period) @ self.response(f, period)
        return np.asarray(np.abs(moved - np.eye(moved.shape[-1])).max(axis=(1, 2)))

    def _fit(self, period: float, beyond: float = 1e-3) -> NDArray[np.float64]:
        """Return the coefficients; motions far beyond the bandwidth have a weight of ``beyond``.

        It is just enough that the inverse does not amplify them.
        """
        half = 0.5 / period
        if not self.bandwidth < half:
            raise InputError(
                f"{type(self).__name__}: a bandwidth of {self.bandwidth:g} Hz is not below half the rate, "
                f"{half:g} Hz"
            )
        f = np.unique(
            np.concatenate(
                [np.linspace(self.bandwidth / 200, 8 * self.bandwidth, 600), np.linspace(0, half, 301)[1:]]
            )
        )
        f = f[f <= half]
        G, features = self._sampled(f, period), self._features(f, period)
        weight = 1 / (1 + (f / self.bandwidth) ** 4) + beyond
        n, m = G.shape[1], features.shape[1]
        rows = np.einsum("fil,fm,f->film", G, features, weight).reshape(len(f) * n, n * m)
        real = np.concatenate([rows.real, rows.imag])
        size = np.linalg.norm(real, axis=0)
        result = np.zeros((n, n, m))
        for j in range(n):
            target = np.zeros((len(f), n))
            target[:, j] = weight
            goal = np.concatenate([target.reshape(-1), np.zeros(len(f) * n)])
            solution = np.linalg.lstsq(real / size, goal, rcond=1e-13)[0] / size
            result[:, j] = solution.reshape(n, m)
        return result

    # ---------------------------------------------------------------- in the tick

    def _inputs(self, signal: Expr, context: Context, word: str) -> tuple[Applied, list[Expr]]:
        """Return the differences and filters of a signal at this sample."""
        body, unit = Statements(context.name), self._unit(context.period)
        steps, past = earlier(signal, range(self.differences + 1), context, word)
        body.steps += steps
        result: list[Expr] = []
        for m in range(self.differences + 1):
            signs = [(-1) ** k * comb(m, k) * unit**m for k in range(m + 1)]
            result.append(body.put(f"{word}_difference[{m}]", weighted(signs, past[: m + 1])))
        for i, p in enumerate(self._poles(context.period)):
            words = [f"{word}_filter[{i}].{part}" for part in ("real", "imaginary")[: 1 + (p.imag != 0)]]
            kept = [body.state(f"{w}.last") for w in words]
            x = past[0]
            rows = [Const(p.real) * kept[0] + Const(1 - p.real) * x]
            if p.imag:
                rows = [
                    rows[0] - Const(p.imag) * kept[1],
                    Const(p.imag) * kept[0] + Const(p.real) * kept[1] - Const(p.imag) * x,
                ]
            parts = [body.put(w, row) for w, row in zip(words, rows, strict=True)]
            body.update(dict(zip(kept, parts, strict=True)))
            result += parts
        return body.applied(result[0]), result

    def _weights(self, measured: Sequence[Expr], context: Context) -> Weights:  # noqa: ARG002 - learns nothing
        """Return the coefficients at this sample, given what is measured."""
        return Weights(
            [[Const(float(a)) for a in row.reshape(-1)] for row in self.coefficients(context.period)]
        )

    def _learn(self, weights: Weights, commands: Sequence[Var], context: Context) -> Applied:  # noqa: ARG002
        """Return what is done when the commands are known."""
        return Applied([], Const(0.0))

    def commands(
        self,
        design: Design,
        values: Mapping[Var, Expr],
        measured: Sequence[Measured],
        contexts: Sequence[Context],
    ) -> list[Applied]:
        """Return the statements that make all commands, with the first of them."""
        desired = [substitute(c, dict(values)) for c in design.commands]
        return self._applied(desired, measured, replace(contexts[0], name="controller"))

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the statements for a transfer system of one port."""
        return self._applied([desired], [measured], context)[0]

    def _applied(
        self, desired: Sequence[Expr], measured: Sequence[Measured], context: Context
    ) -> list[Applied]:
        n = width(self.model)
        if n != len(desired):
            raise InputError(
                f"{type(self).__name__}: its model has {n} commands, and there are {len(desired)} transfer "
                "systems"
            )
        body = Statements(context.name)
        origins: list[Expr] = []
        features: list[Expr] = []
        for j, demand in enumerate(desired):
            first, origin = from_first(demand, replace(context, name=f"{context.name}.demand[{j}]"))
            origins.append(origin)
            inputs, found = self._inputs(body.add(first), context, f"demand_{j}")
            body.add(inputs)
            features += found
        moved = [as_expr(m.displacement) - o for m, o in zip(measured, origins, strict=True)]
        weights = self._weights(moved, context)
        body.add(weights.applied)
        # At rest every difference is zero and every filter gives what it is given.
        at_rest = self._features([0.0], context.period)[0].real
        static = np.einsum("m,ijm->ij", at_rest, self.coefficients(context.period))
        results: list[Expr] = []
        changes: list[Var] = []
        for i, row in enumerate(weights.rows):
            changes.append(body.put(f"change[{i}]", dot(row, features)))
            rest = weighted(static[i].tolist(), origins)
            results.append(body.put(f"sent[{i}]", rest + changes[-1]))
        body.add(self._learn(weights, changes, context))
        return [body.applied(results[0]), *(Applied([], command) for command in results[1:])]


@lru_cache(maxsize=64)
def _fitted(law: CoupledInverse, period: float) -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Keep the coefficients: the check builds a tick many times."""
    return tuple(tuple(tuple(row) for row in rows) for rows in law._fit(period).tolist())


@dataclass(frozen=True, eq=False)
class AdaptiveCoupledInverse(CoupledInverse):
    """A coupled inverse that learns what its model does not know, by recursive least squares.

    The coefficients are those that give, of the *measured* motions of all actuators, the commands that were
    sent: u_i is explained by the differences and filters of the measured motions, both through the same low
    pass. They begin as those of `CoupledInverse`, each uncertain by a share of itself, so that what the
    motion does not show stays as the model has it. Nothing is differentiated after it has been adapted: a
    coefficient that moves moves the command by as much.

    Parameters
    ----------
    model, differences, bandwidth, delay
        As of `CoupledInverse`.
    uncertainty
        Share of each coefficient by which it may be wrong at the beginning: 0.1 for a tenth.
    noise
        Rms in m of what the sum does not explain of a command: the sensors' noise as the inverse passes it
        on, in essence. Smaller learns faster, and more from noise.
    filter_frequency
        Corner in Hz of the low pass (Butterworth, third order).
    memory
        Time in s after which a sample counts 1/e; 1e9 for hardly ever.
    threshold
        Motion in m below which nothing is learnt: a rig at rest shows nothing but its sensors' noise.

    Examples
    --------
    >>> from bondloop.transfer import ProcessMatrix, first_order
    >>> G = ProcessMatrix(
    ...     (
    ...         (first_order(1.0, 0.02), first_order(0.3, 0.02)),
    ...         (first_order(0.2, 0.03), first_order(0.9, 0.03)),
    ...     )
    ... )
    >>> AdaptiveCoupledInverse(G.actuator(), uncertainty="20 %", bandwidth="5 Hz").uncertainty
    0.2

    References
    ----------
    The coefficients' law is that of Quiroz, Gálmez and Fermandois (2024), Frontiers in Built Environment 10,
    1394952, there for each actuator alone and with taps only.
    """

    adapts: ClassVar[bool] = True

    uncertainty: Parameter = Parameter(0.1, above=0, unit="1")
    noise: Parameter = Parameter(1e-3, above=0, unit=("m", "rad"))
    filter_frequency: Parameter = Parameter(10.0, above=0, unit="Hz")
    memory: Parameter = Parameter(1e9, above=0, unit="s")
    threshold: Parameter = Parameter(5e-5, least=0, unit=("m", "rad"))

    def _low_pass(self) -> LinearFilter:
        w = 2 * np.pi * self.filter_frequency
        return rational([w**3], np.polymul([1.0, w], [1.0, w, w**2]))

    def _weights(self, measured: Sequence[Expr], context: Context) -> Weights:
        first = self.coefficients(context.period)
        low, count = self._low_pass(), first[0].size
        body = Statements(context.name)
        # The pair of the sample before: its command was not known when its motion was measured.
        last = [body.state(f"regressor[{k}].last") for k in range(count)]
        sent = [body.state(f"explained[{i}].last") for i in range(len(first))]
        # How far it is from rest and how fast it moves, the latter over the bandwidth.
        size: Expr = Const(0.0)
        for k in range(0, count, count // len(first)):
            size = size + last[k] * last[k] + last[k + 1] * last[k + 1]
        moving = body.put("moving", Op("gt", (size, Const(float(self.threshold) ** 2))))
        rows: list[list[Expr]] = []
        for i, (row, value) in enumerate(zip(first.reshape(len(first), -1), sent, strict=True)):
            sizes = self.uncertainty * np.maximum(np.abs(row), 1e-3 * np.abs(row).max())
            law = RecursiveLeastSquares(
                *(tuple(row.tolist()), tuple(sizes.tolist())),
                noise=self.noise,
                memory=self.memory,
            )
            estimate = law.apply(
                last, value, replace(context, name=f"{context.name}.learnt[{i}]"), when=moving
            )
            body.add(estimate.applied)
            rows.append(list(estimate.parameters))
            body.adapted += estimate.parameters
            body.channels += [
                Channel.of(f"controller.coefficient[{i}][{k}]", p, Quantity("coefficient"), Role.ESTIMATE, i)
                for k, p in enumerate(estimate.parameters)
            ]
        now: list[Expr] = []
        for j, motion in enumerate(measured):
            filtered = body.add(low.apply(motion, context, f"filtered_motion_{j}")[0])
            inputs, found = self._inputs(filtered, context, f"motion_{j}")
            body.add(inputs)
            now += found
        body.update(dict(zip(last, now, strict=True)))
        return Weights(rows, sent, body.applied(Const(0.0)))

    def _learn(self, weights: Weights, commands: Sequence[Var], context: Context) -> Applied:
        low, body = self._low_pass(), Statements(context.name)
        for i, (command, sent) in enumerate(zip(commands, weights.explain, strict=True)):
            body.update({sent: body.add(low.apply(command, context, f"filtered_command_{i}")[0])})
        return body.applied(Const(0.0))
