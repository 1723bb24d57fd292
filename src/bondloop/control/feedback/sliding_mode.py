"""Sliding mode with a boundary layer (Slotine 1984; Li and others 2021)."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.control.base import Compensator
from bondloop.control.blocks.filters import clipped, earlier, fit_weights, from_first, rational, weighted
from bondloop.control.blocks.transfer_model import ackermann
from bondloop.control.feedforward.inverse_model import expect_process
from bondloop.engine.data import Parameter
from bondloop.engine.ir import Const, Expr, Product
from bondloop.engine.passes import Applied, Context, Statements
from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control.base import Measured
    from bondloop.transfer import Process


@dataclass(frozen=True)
class SlidingMode(Compensator):
    """Sliding mode in a boundary layer: the error is driven to a surface, on which it dies away by itself.

    For a model of n poles, x⁽ⁿ⁾ + Σ α_i x⁽ⁱ⁾ = w with w = β(s) u, and the error e = x - x_d the surface is
    s = (1 + (d/dt)/λ)^(n-1) e = 0, in metres. The law ::

        w = Σ α_i x⁽ⁱ⁾ + x_d⁽ⁿ⁾ - Σ_(i<n-1) C(n-1, i) λ^(n-1-i) e⁽ⁱ⁺¹⁾ - λⁿ clip(s, ±Φ)

    makes ds/dt = -λ clip(s, ±Φ) of the model. Outside the layer Φ the error sinks by λΦ m/s whatever it is,
    inside as (d/dt + λ)ⁿ e = 0, without chattering. What the model does not know may push by a share δ of the
    model's own terms; the layer is as thick as that needs, dΦ/dt = -λΦ + η + δ |Σ α_i x⁽ⁱ⁾|/λ^(n-1), so
    without uncertainty it is η/λ, and from a distance s₀ it is reached after (|s₀| - η/λ)/η.

    The derivatives of the measured displacement come from an observer on the same model, those of the demand
    from its newest samples. Zeros of the model become the poles of the filter 1/β(s).

    Use it where a model of low order is known roughly, and λ can be chosen above the model's own frequencies:
    with λ far below them errors of the model count more than without any feedback. A delay is no part of it:
    give poles in its place.

    Parameters
    ----------
    process
        Model without delay, with at most six poles and with stable zeros.
    bandwidth
        λ/(2π) in Hz: how quickly the error dies away on the surface.
    reaching
        η in m/s (rad/s where the interface turns): how fast the surface is reached from afar.
    uncertainty
        δ: share of the model's terms by which it may be wrong.
    observer
        Corner in Hz of the observer; 0 for three times the bandwidth.
    ahead
        By how many samples the motion leads the demand, to make up for the hold and a force that comes late.

    Examples
    --------
    >>> from bondloop.transfer import second_order
    >>> law = SlidingMode(second_order(gain=1.0, frequency=35.0, damping=0.5), bandwidth=30.0)
    >>> round(law.layer * 1e3, 3)  # η/λ in mm
    0.531

    References
    ----------
    Slotine (1984), Sliding controller design for non-linear systems, International Journal of Control 40(2);
    Li, Maghareh, Montoya, Condori Uribe, Dyke and Xu (2021), Sliding mode control design for the benchmark
    problem in real-time hybrid simulation, Mechanical Systems and Signal Processing 151, 107364.
    """

    process: Process
    bandwidth: Parameter = Parameter(30.0, above=0, unit="Hz")
    reaching: Parameter = Parameter(0.1, above=0, unit=("m/s", "rad/s"))
    uncertainty: Parameter = Parameter(0.1, least=0, most=1, unit="1")
    observer: Parameter = Parameter(0.0, least=0, unit="Hz")
    ahead: Parameter = Parameter(0.0, least=0, most=10, unit="1")

    def __post_init__(self) -> None:
        expect_process(self.process, "SlidingMode(process)")
        if self.process.delay:
            raise InputError(
                f"SlidingMode: the process model has a delay of {self.process.delay:g} s, which no surface "
                "takes away; fit poles in its place, or take a SmithPredictor"
            )
        most = 6  # more derivatives of a measured motion than this are noise
        if not 1 <= self.process.order <= most or self.process.relative_degree < 1:
            raise InputError(
                f"SlidingMode: expected a process with one to {most} poles and fewer zeros than poles; "
                f"found {self.process.order} and {len(self.process.numerator) - 1}"
            )
        if not self.process.denominator[-1]:
            raise InputError("SlidingMode: the process has a pole at 0, so no command holds it in a place")
        self.process.check_invertible()

    @property
    def _lambda(self) -> float:
        return 2 * math.pi * self.bandwidth

    @property
    def layer(self) -> float:
        """Thickness of the layer at rest, in m."""
        return self.reaching / self._lambda

    def _observer(self, period: float) -> tuple[NDArray[np.float64], ...]:
        """Return F, G, L of ẑ = (I - L C)(F ẑ₋ + G w₋) + L x, with time in units of 1/λ.

        Its poles are all at e^(-ω T): Ackermann's formula for the pair F, C F.
        """
        from scipy.linalg import expm

        n, scale = self.process.order, self._lambda
        a = np.array(self.process.denominator) / self.process.denominator[0]
        big = np.zeros((n + 1, n + 1))
        big[: n - 1, 1:n] = np.eye(n - 1)
        big[n - 1, :n] = -a[:0:-1] / scale ** np.arange(n, 0, -1)
        big[n - 1, n] = 1.0
        e = expm(big * (scale * period))
        F, G = e[:n, :n], e[:n, n]
        seen = F[0]
        pole = math.exp(-2 * math.pi * (self.observer or 3 * self.bandwidth) * period)
        rows = [seen @ np.linalg.matrix_power(F, i) for i in range(n)]
        return F, G, ackermann(F, rows, pole)

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:
        """Return the command."""
        n, T, rate, body = self.process.order, context.period, self._lambda, Statements(context.name)
        put = body.put
        if rate * T > 0.5:
            raise InputError(
                f"SlidingMode: a bandwidth of {self.bandwidth:g} Hz is too much for {1 / T:g} samples a "
                f"second; at most {0.5 / (2 * math.pi * T):.4g} Hz, or more samples"
            )
        first, origin = from_first(desired, context)
        points = max(n, 2) + 1
        more, past = earlier(body.add(first), range(points), context, "demand")
        body.steps += more
        # All derivatives are in units of λ: x⁽ⁱ⁾/λⁱ, in m.
        times = [-i * T for i in range(points)]
        wanted = [
            put(
                f"wanted[{j}]",
                weighted((fit_weights(times, points - 1, self.ahead * T, j) / rate**j).tolist(), past),
            )
            for j in range(n + 1)
        ]
        z = [body.state(f"observed[{i}]") for i in range(n)]
        before, thick = body.state("pushed_before"), body.state("layer", self.layer)
        F, G, L = self._observer(T)
        guess = tuple(body.var(f"guess[{i}]") for i in range(n))
        body.steps.append(Product(guess, np.column_stack([F, G]), (*z, before)))
        miss = put("miss", measured.displacement - origin - guess[0])
        body.update({v: g + float(weight) * miss for v, g, weight in zip(z, guess, L, strict=True)})
        a = np.array(self.process.denominator) / self.process.denominator[0]
        own = put("own", weighted((a[:0:-1] / rate ** np.arange(n, 0, -1)).tolist(), z))
        errors = [put(f"error[{i}]", z[i] - wanted[i]) for i in range(n)]
        binomials = [math.comb(n - 1, i) for i in range(n)]
        surface = put("surface", weighted(binomials, errors))
        slide = weighted(binomials[:-1], errors[1:]) if n > 1 else Const(0.0)
        pull = put("pull", clipped(surface, -thick, thick, 0))
        push = put("push", own + wanted[n] - slide - pull)
        kept = math.exp(-rate * T)
        level = self.layer + (self.uncertainty * abs(own) if self.uncertainty else Const(0.0))
        following = clipped(kept * thick + (1 - kept) * level, self.layer, 1e150, self.layer)
        body.update({before: push, thick: following})
        b = np.array(self.process.numerator) / self.process.denominator[0]
        sent = body.add(rational([rate**n], b).apply(push, context, "sent")[0])
        return body.applied(origin / self.process.gain + sent)
