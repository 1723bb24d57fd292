"""Fits of parameters of a bond graph to measured data, by its sensitivity equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import Model
from bondloop.display import as_text, brief, with_progress
from bondloop.engine import System
from bondloop.engine.codegen import Runner
from bondloop.engine.data import POSITIVE
from bondloop.engine.ir import (
    Assign,
    Channel,
    Const,
    Expr,
    Repeat,
    Step,
    Tick,
    Var,
    identifier,
    instantiate,
    substitute,
)
from bondloop.errors import InputError, SolveError, unknown_name
from bondloop.identify.least_squares import (
    Estimate,
    Minimum,
    ResidualTests,
    check_residuals,
    covariance,
    estimates,
    freedom,
    minimise,
)
from bondloop.identify.process.time_fit import checked_record
from bondloop.identify.tolerances import MOST_SUBSTEPS, STARTS_OF_BOND_GRAPH, STEP_REACH
from bondloop.integrate import RK4
from bondloop.transfer import HOLDS, OUT, dot, transfer_system

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.identify.least_squares import Evaluate

    Array = NDArray[np.float64]


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


@with_progress("fitting a bond graph")
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
    y = {name: checked_record(first, values)[1] for name, values in outputs.items()}
    measured = next(iter(outputs.values()))
    u = {name: checked_record(values, measured)[0] for name, values in inputs.items()}
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


class SensitivityRun:
    """Called with values of the free parameters, returns the outputs and their derivatives.

    Parameters
    ----------
    system
        The model.
    inputs
        Samples of the driven inputs by name.
    outputs
        Paths of the outputs.
    paths
        Paths of the free parameters.
    period
        Seconds between samples.
    hold
        ``"zero"`` or ``"first"``.
    initial
        States at the beginning that differ from the model's.
    substeps
        Runge-Kutta steps in a sample period; None chooses.
    bounds
        Lowest and highest values of the free parameters.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of one experiment
        self,
        system: System,
        inputs: Mapping[str, Array],
        outputs: Sequence[str],
        paths: Sequence[str],
        period: float,
        hold: str,
        initial: Mapping[str, float] | None,
        substeps: int | None,
        bounds: tuple[Array, Array],
    ) -> None:
        if hold not in HOLDS:
            raise InputError(f"hold must be 'zero' or 'first'; found {hold!r}")
        if system.input_rates:
            names = ", ".join(u.name for u in system.input_rates)
            raise InputError(
                f"{system.name} needs the rate of {names}: an input drives a storage directly; put a "
                "compliance between them"
            )
        self.outputs, self.paths = list(outputs), list(paths)
        middle = dict(zip(paths, _middle(*bounds), strict=True))
        self.values = {v.name: x for v, x in system.values({**middle}).items()}
        self.steps = len(next(iter(inputs.values())))
        columns = list(inputs.values())
        if hold == "first":
            columns += [np.append(c[1:], c[-1]) for c in columns]
        self.table = np.column_stack(columns)
        count = substeps or self._substeps(system, period, bounds)
        wanted = system.replaced(outputs={path: system.expression(path) for path in outputs})
        full = wanted.sensitivity(self.paths)
        self.runner = Runner(_tick(full, list(inputs), period, count, hold, self.values))
        self.initial = dict(zip(system.states, system.initial(initial).tolist(), strict=True))

    def __call__(self, theta: Array) -> tuple[Array, Array] | None:
        """Return outputs (outputs, samples) and derivatives (parameters, outputs, samples); None if wild."""
        self.runner.reset(self.initial)
        given = {path: float(x) for path, x in zip(self.paths, theta, strict=True)}
        result = self.runner.run(self.steps, self.table, parameters=given)
        if not result.finished:
            return None
        y = np.array([result.channels[name] for name in self.outputs])
        J = np.array([[result.channels[f"d({n})/d({p})"] for n in self.outputs] for p in self.paths])
        return (y, J) if np.all(np.isfinite(y)) and np.all(np.isfinite(J)) else None

    def _substeps(self, system: System, period: float, bounds: tuple[Array, Array]) -> int:
        fastest = 0.0
        for theta in (bounds[0], _middle(*bounds), bounds[1]):
            values = {**self.values, **dict(zip(self.paths, theta.tolist(), strict=True))}
            poles = system.linearise(system.initial(), values=values).poles()
            fastest = max(fastest, float(np.max(np.abs(poles[np.isfinite(poles)]), initial=0.0)))
        return int(np.clip(np.ceil(fastest * period / STEP_REACH), 1, MOST_SUBSTEPS))


def _middle(low: Array, high: Array) -> Array:
    positive = (low > 0) & (high > 0)
    return np.where(positive, np.sqrt(np.abs(low * high)), (low + high) / 2)


def _tick(
    system: System, driven: list[str], period: float, substeps: int, hold: str, values: Mapping[str, float]
) -> Tick:
    """Return one sample period: outputs recorded at its beginning, then so many Runge-Kutta steps."""
    now = {name: Var(f"{name}@now") for name in driven}
    ahead = {name: Var(f"{name}@ahead") for name in driven}
    counter = Var("substep")

    def at(fraction: float) -> dict[Var, Expr]:
        part = (counter + Const(fraction)) / Const(float(substeps))
        found: dict[Var, Expr] = {}
        for u in system.input_vars:
            if u.name not in driven:
                found[u] = Const(system.input_defaults.get(u.name, 0.0))
            elif hold == "zero":
                found[u] = now[u.name]
            else:
                found[u] = now[u.name] + (ahead[u.name] - now[u.name]) * part
        return found

    goals = list(system.output_exprs.values())
    given: dict[Var, Expr] = {x: x for x in system.state_vars}
    given.update({u: now[u.name] if u.name in driven else e for u, e in at(0.0).items()})
    first, table = instantiate(system.schedule(goals), given, "@out")
    steps: list[Step] = list(first)
    channels = []
    for i, (name, goal) in enumerate(system.output_exprs.items()):
        recorded = Var(f"recorded[{i}]")
        steps.append(Assign(recorded, substitute(goal, table)))
        channels.append(Channel(name, recorded))
    stepped = RK4().discretise(system, period / substeps, at, [])
    steps.append(Repeat(substeps, counter, (*stepped.first, *stepped.rest)))
    return Tick(
        name=identifier(system.name, "fit_"),
        period=period,
        time=Var("t"),
        count=Var("k"),
        inputs=(*now.values(), *(ahead.values() if hold == "first" else ())),
        states={x: system.initial_by_var.get(x, 0.0) for x in system.state_vars},
        parameters={v: values[v.name] for v in system.parameters_by_var},
        steps=tuple(steps),
        channels=tuple(channels),
    )
