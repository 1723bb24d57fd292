"""Free parameters of a bond graph, fitted to measured data by its sensitivity equations.

The model need not be right in detail; it is to be *physically plausible* (Gawthrop 2005, section 5.1): each
parameter means something and has bounds. The sensitivity bond graph gives d(output)/d(parameter) beside the
output itself, for nonlinear models too; model and sensitivities run together in one compiled loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import Model
from bondloop.data.ranges import POSITIVE
from bondloop.display import brief, telling
from bondloop.display.html import as_text
from bondloop.errors import InputError, SolveError, unknown_name
from bondloop.identify.confidence import Estimate, covariance, estimates, freedom
from bondloop.identify.fit_time import checked
from bondloop.identify.least_squares import Minimum, minimise
from bondloop.identify.residuals import ResidualTests, check_residuals
from bondloop.identify.sensitivity_run import SensitivityRun
from bondloop.identify.tolerances import STARTS_OF_BOND_GRAPH
from bondloop.program.system import System
from bondloop.transfer.base import OUT, transfer_system
from bondloop.transfer.thin_products import dot

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.identify.least_squares import Evaluate

    Array = NDArray[np.float64]

__all__ = ["BondGraphFit", "fit_bond_graph"]


@dataclass(frozen=True, eq=False)
class BondGraphFit:
    """Parameters of a bond graph fitted to data.

    Attributes
    ----------
    parameters
        Each free parameter by its path, with its confidence interval.
    covariance
        Of the parameters, in their order.
    system
        The system that was fitted.
    predicted, residual
        Each output by name: the model's response, and measured less predicted.
    fit
        For each output 100 (1 - rms residual / rms of the data about their mean).
    tests
        Tests of each output's residuals against the first input.
    warnings
        What is doubtful.
    """

    parameters: dict[str, Estimate]
    covariance: Array
    system: System
    predicted: dict[str, Array]
    residual: dict[str, Array]
    fit: dict[str, float]
    tests: dict[str, ResidualTests]
    warnings: tuple[str, ...] = ()

    __repr__ = brief
    _repr_html_ = as_text

    @property
    def values(self) -> dict[str, float]:
        """The fitted values by path, as ``values=`` of ``System.simulate`` and others takes them."""
        return {name: e.value for name, e in self.parameters.items()}

    def __str__(self) -> str:
        lines = [f"{self.system.name}: " + ", ".join(f"{n} fits to {f:.2f} %" for n, f in self.fit.items())]
        lines += [f"  {name:<24} {e}" for name, e in self.parameters.items()]
        lines += [f"{name}: {test}" for name, test in self.tests.items()]
        return "\n".join([*lines, *(f"warning: {w}" for w in self.warnings)])


@telling("fitting a bond graph")
def fit_bond_graph(  # noqa: PLR0913 - an experiment, and what to make of it
    model: Model | System,
    inputs: Mapping[str, ArrayLike],
    outputs: Mapping[str, ArrayLike],
    sample_period: float | str,
    free: Mapping[str, tuple[float, float]],
    *,
    hold: str = "zero",
    offset: bool = False,
    initial: Mapping[str, float] | None = None,
    substeps: int | None = None,
) -> BondGraphFit:
    """Fit free parameters of a bond graph to measured inputs and outputs.

    Parameters
    ----------
    model
        A model or its compiled system. A model with a port ``out`` is taken as a transfer system with nothing
        attached.
    inputs
        The samples of each driven input by name; other inputs keep the model's value, or zero.
    outputs
        The measured samples of any variables by path name. Several outputs weigh alike, each by its own size.
    sample_period
        Seconds between samples.
    free
        Bounds (low, high) of each free parameter by its path, such as ``{"spring.stiffness": (1e3, 1e5)}``.
    hold
        What inputs do between samples: ``"zero"`` keeps their value, ``"first"`` runs straight to the next.
    offset
        Whether a constant is added to each output.
    initial
        States at the beginning that differ from the model's.
    substeps
        Runge-Kutta steps in a sample period; unless given, chosen from the fastest pole.

    Examples
    --------
    >>> from bondloop.transfer import MassSpringDamper
    >>> from bondloop.transfer.process import Process
    >>> step = np.ones(400)
    >>> x = Process((13618.0,), (2.2, 150.8, 13618.0)).simulate(step, 1e-3)
    >>> fit = fit_bond_graph(
    ...     MassSpringDamper(2.2, 100, 10_000, drive="position"),
    ...     {"x_d": step},
    ...     {"spring.displacement": x},
    ...     1e-3,
    ...     {"damper.damping": (1, 1e4), "spring.stiffness": (1e2, 1e6)},
    ... )
    >>> {name: round(value, 1) for name, value in fit.values.items()}
    {'damper.damping': 150.8, 'spring.stiffness': 13618.0}
    """
    system = _system(model)
    paths = list(free)
    low, high = _bounds(system, free)
    sample_period = POSITIVE.check(sample_period, "sample_period", "s")
    u, y = _signals(system, inputs, outputs)
    names = list(y)
    measured = np.array([y[name] for name in names])
    weight = 1 / np.std(measured, axis=1)
    run = SensitivityRun(system, u, names, paths, sample_period, hold, initial, substeps, (low, high))

    def evaluate(theta: Array) -> tuple[Array, Array] | None:
        found = run(theta)
        if found is None:
            return None
        e, J = found[0] - measured, found[1]
        if offset:
            e, J = e - e.mean(axis=1, keepdims=True), J - J.mean(axis=2, keepdims=True)
        return (e * weight[:, None]).ravel(), (J * weight[:, None]).reshape(len(paths), -1)

    best = _best(evaluate, _starts(system, paths, low, high), low, high)
    if best is None:
        raise SolveError(
            f"{system.name} could not be simulated anywhere between the bounds of {', '.join(paths)}: it "
            "diverges; narrow the bounds, or give more substeps"
        )
    residual = -best.residual.reshape(len(names), -1) / weight[:, None]
    tests = {n: check_residuals(r, next(iter(u.values()))) for n, r in zip(names, residual, strict=True)}
    white = all(t.white for t in tests.values())
    besides = len(names) if offset else 0
    spread = covariance(best.jacobian, best.residual, white=white, free=~best.at_bound, besides=besides)
    left = freedom(best.residual, len(paths) + besides, white=white)
    values = dict(zip(paths, best.theta.tolist(), strict=True))
    parameters = estimates(values, {}, spread, left, best.at_bound)
    return BondGraphFit(
        parameters=parameters,
        covariance=spread,
        system=system,
        predicted=dict(zip(names, measured - residual, strict=True)),
        residual=dict(zip(names, residual, strict=True)),
        fit={
            n: 100 * (1 - float(np.sqrt(dot(r, r) / r.size)) * w)
            for n, r, w in zip(names, residual, weight, strict=True)
        },
        tests=tests,
        warnings=tuple(_warnings(parameters, best, spread)),
    )


def _system(model: object) -> System:
    if isinstance(model, Model):
        return transfer_system(model).system if OUT in model.ports else model.compile()
    if isinstance(model, System):
        return model
    raise InputError(f"expected a Model or a System to fit; found {type(model).__name__}")


def _bounds(system: System, free: Mapping[str, tuple[float, float]]) -> tuple[Array, Array]:
    if not free:
        raise InputError('no parameter is free; give bounds as in free={"spring.stiffness": (1e3, 1e5)}')
    for path, pair in free.items():
        if path not in system.parameters:
            raise InputError(unknown_name("parameter", path, system.parameters, where=system.name))
        if not (len(list(pair)) == 2 and np.all(np.isfinite(pair)) and pair[0] < pair[1]):
            raise InputError(f"expected bounds (low, high) of {path}, finite and apart; found {pair!r}")
    low, high = np.array(list(free.values()), dtype=float).T
    return low, high


def _signals(
    system: System, inputs: Mapping[str, ArrayLike], outputs: Mapping[str, ArrayLike]
) -> tuple[dict[str, Array], dict[str, Array]]:
    if not inputs or not outputs:
        raise InputError("give at least one input and one output, each by name with its samples")
    for name in inputs:
        if name not in system.inputs:
            raise InputError(unknown_name("input", name, system.inputs, where=system.name))
    first = next(iter(inputs.values()))
    y = {name: checked(first, values)[1] for name, values in outputs.items()}
    measured = next(iter(outputs.values()))
    u = {name: checked(values, measured)[0] for name, values in inputs.items()}
    return u, y


def _starts(system: System, paths: Sequence[str], low: Array, high: Array) -> list[Array]:
    """Return the model's own values, and points spread evenly over the bounds (Halton's sequence)."""
    from scipy.stats import qmc

    own = [system.parameters[path] for path in paths]
    wide = (low > 0) & (high > 10 * low)  # bounds that span decades are divided by their logarithm
    points = qmc.Halton(len(paths), scramble=False).random(STARTS_OF_BOND_GRAPH + 1)[1:]
    safe_low, safe_high = np.where(wide, low, 1.0), np.where(wide, high, 1.0)
    spread = np.where(wide, safe_low * (safe_high / safe_low) ** points, low + (high - low) * points)
    known = all(value is not None for value in own)
    return ([np.clip(np.array(own, dtype=float), low, high)] if known else []) + list(spread)


def _best(evaluate: Evaluate, starts: list[Array], low: Array, high: Array) -> Minimum | None:
    """Fit from the two best starts."""
    ranked = []
    for theta in starts:
        found = evaluate(theta)
        if found is not None:
            ranked.append((dot(found[0], found[0]), theta))
    ranked.sort(key=lambda pair: pair[0])
    fits = [minimise(evaluate, theta, low, high) for _, theta in ranked[:2]]
    return min((f for f in fits if f is not None), key=lambda f: f.cost, default=None)


def _warnings(parameters: dict[str, Estimate], best: Minimum, spread: Array) -> list[str]:
    words = [
        f"{name} ran into its bound, {e.value:g}: widen the bounds, or the model cannot be right"
        for name, e in parameters.items()
        if e.at_bound
    ]
    if not best.converged:
        words.append("the fit did not settle; its parameters are uncertain")
    deviation = np.sqrt(np.diag(spread))
    names = list(parameters)
    for i in range(len(names)):
        for j in range(i):
            size = deviation[i] * deviation[j]
            if size > 0 and abs(spread[i, j]) / size > 0.999:
                words.append(
                    f"{names[j]} and {names[i]} can hardly be told apart by these data (correlation "
                    f"{spread[i, j] / size:.4f}): fix one of them, or excite or measure more"
                )
    return words
