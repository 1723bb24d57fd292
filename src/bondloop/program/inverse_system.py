"""Inverse of a system as a system of its own: motions in, the inputs that cause them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import BondloopError, InputError, SolveError, unknown_name
from bondloop.program.expr import Expr, Var, substitute
from bondloop.program.generic_point import reach
from bondloop.program.inversion import Inverse, invert
from bondloop.program.merging import merged
from bondloop.program.one_mode import without_idle
from bondloop.program.quantity import quantity_of
from bondloop.program.simulate import sampled_rows
from bondloop.program.system import System
from bondloop.program.time_derivative import rate_name
from bondloop.program.zero_dynamics import ZeroDynamics, judged

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bondloop.program.input_extremes import InputValue, Row
    from bondloop.program.simulate import Trajectory
    from bondloop.program.switching_rules import Rule

__all__ = ["InverseSystem", "inverse_system", "invert_for"]


class InverseSystem(System):
    """A system turned round: its inputs are motions (and their rates), its outputs what causes them.

    Made by ``system.inverse(output, input)``, or by compiling a model with bicausal source-sensors. It is a
    System like others: simulate it, read its equations, write it as C.

    Parameters
    ----------
    name, states, inputs, outputs, parameters, definitions, tears, initial, dots
        As for `System`.
    input_rates, input_defaults, lookup, dependent, remarks, iterations, divisors, switching, memories
        As for `System`.
    quantities, held_modes
        As for `System`.

    Attributes
    ----------
    orders
        For every imposed output, and every other input: how many of its rates are inputs too.
    inversion
        How it came about: which definitions were turned round.
    rules
        Of elements that would switch, were it not for the mode that the system is of.

    Examples
    --------
    >>> from bondloop.bondgraph import I, Model, One, R, Se
    >>> m = Model("cart")
    >>> m.force, m.v, m.mass, m.drag = Se("F"), One(), I(mass=2.0), R(damping=3.0)
    >>> _ = m.force >> m.v >> [m.mass, m.drag]
    >>> inverse = m.compile(outputs=["v.flow"]).inverse("v.flow", "F")
    >>> inverse.inputs, inverse.outputs
    (('v.flow', 'd/dt v.flow'), ('F',))
    """

    orders: dict[str, int]
    inversion: Inverse
    rules: tuple[Rule, ...] = ()

    def zero_dynamics(
        self,
        states: Mapping[str, float] | ArrayLike | None = None,
        inputs: Mapping[str, float] | ArrayLike | None = None,
        values: Mapping[str, float] | None = None,
    ) -> ZeroDynamics:
        """Return and judge what the imposed motions leave free; what is not linear, at an operating point.

        How far a stop has come that cannot switch here is no part of it.

        Parameters
        ----------
        states, inputs, values
            The operating point and the values of parameters, as for ``linearise``.
        """
        system, kept = without_idle(self, self.rules)
        if not kept:
            return judged((), np.zeros(0, dtype=complex))
        x = self.initial(states)[kept]
        try:
            space = system.numeric(values) if system.is_linear else system.linearise(x, inputs, values)
        except SolveError as error:
            u = self.operating_inputs(inputs).tolist()
            point = ", ".join(f"{name} = {value:.6g}" for name, value in zip(self.inputs, u, strict=True))
            raise SolveError(f"{self.name} at {point}: {error}") from error
        return judged(system.states, space.poles())

    def _dependence(self) -> str:
        return f"derivative causality: {', '.join(self.dependent)} follow the imposed motions"

    @property
    def notes(self) -> list[str]:
        """What the causality implies, and the zero dynamics, judged where the model starts."""
        notes = super().notes
        try:
            return [*notes, str(self.zero_dynamics())]
        except BondloopError as error:
            return [*notes, f"zero dynamics of {', '.join(self.states)}: not judged ({error})"]

    def simulate(
        self,
        duration: float | str | tuple[float | str, float | str],
        inputs: Mapping[str, InputValue | str] | None = None,
        initial: Mapping[str, float] | ArrayLike | None = None,
        values: Mapping[str, float] | None = None,
        **options: Any,
    ) -> Trajectory:
        """Integrate, as any system; the rates of imposed motions are worked out from (times, values).

        A motion given as a function of time needs its rates as functions too, under ``"d/dt NAME"``,
        ``"d2/dt2 NAME"`` and so on; a number has none. Samples are joined by a spline that is smooth enough
        for the highest rate.

        Parameters
        ----------
        duration, initial, values
            As of `System.simulate`.
        inputs
            Imposed motions and other inputs by name.
        **options
            Times, method and tolerances, as of `System.simulate`.
        """
        given = dict(inputs or {})
        for name, order in self.orders.items():
            self._add_rates(given, name, order)
        return super().simulate(duration, given, initial, values, **options)

    def _add_rates(self, given: dict[str, InputValue | str], name: str, order: int) -> None:
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
                f"the inverse of {self.name} needs {', '.join(missing)}; give each "
                f"as a function of time, or '{name}' as a pair (times, values), whose rates are worked out"
            )


def _spline(motion: tuple[Row, Row], order: int, name: str) -> Callable[[int], Callable[[float], float]]:
    """Return the rates of a sampled motion by their order."""
    from scipy.interpolate import make_interp_spline

    t, y = sampled_rows(motion, name)
    degree = order + 3 - order % 2  # odd, and its highest rate used is still a cubic or better
    if len(t) <= degree:
        raise InputError(f"input '{name}': expected at least {degree + 1} samples; found {len(t)}")
    spline = make_interp_spline(t, y, k=degree)

    def rate(of_order: int) -> Callable[[float], float]:
        piece = spline.derivative(of_order) if of_order else spline
        return lambda s: float(piece(s))

    return rate


def inverse_system(system: System, outputs: Sequence[str], inputs: Sequence[str]) -> InverseSystem:
    """Return the system whose inputs are the named outputs, and whose outputs are the named inputs.

    Parameters
    ----------
    system
        What to invert.
    outputs
        Paths of the variables that are to follow given motions.
    inputs
        As many inputs, which are to be found.
    """
    outputs, inputs = _names("output", outputs), _names("input", inputs)
    by_name = {u.name: u for u in system.input_vars}
    for name in inputs:
        if name not in by_name:
            raise InputError(unknown_name("input", name, by_name, where=system.name))
    commands = [by_name[name] for name in inputs]
    imposed = {path: system.expression(path) for path in outputs}
    others = {n: e for n, e in system.output_exprs.items() if n not in imposed and n not in by_name}
    return invert_for(system, imposed, commands, {**dict(zip(inputs, commands, strict=True)), **others})


def _names(kind: str, given: str | Sequence[str]) -> list[str]:
    names = [given] if isinstance(given, str) else list(given)
    if not names or len(set(names)) < len(names):
        raise InputError(f"inverse: expected the name of at least one {kind}, each once; found {names}")
    return names


def invert_for(
    system: System, imposed: Mapping[str, Expr], commands: Sequence[Var], outputs: Mapping[str, Expr]
) -> InverseSystem:
    """Invert for expressions by name.

    Parameters
    ----------
    system
        What to invert.
    imposed
        What is to follow given motions, by the names that these get.
    commands
        The inputs that are to be found.
    outputs
        The outputs of the inverse.
    """
    if len(imposed) != len(commands):
        raise SolveError(
            f"{system.name} cannot be inverted: {len(imposed)} outputs ({', '.join(imposed)}) are to be "
            f"imposed by {len(commands)} inputs ({', '.join(u.name for u in commands)}); it takes one input "
            "for each output"
        )
    # An input whose rate acts (it drives a storage in derivative causality) is found through its rate.
    rated = {u: r for u, r in system.input_rates.items() if u in commands}
    plant = system
    if rated:
        states: dict[Var, Expr] = dict(zip(system.state_vars, system.rate_exprs, strict=True))
        plant = system.replaced(
            states=states | dict(rated),
            inputs=[*(u for u in system.input_vars if u not in rated), *rated.values()],
            initial=system.initial_by_var | {u: system.input_defaults.get(u.name, 0.0) for u in rated},
            input_rates={u: r for u, r in system.input_rates.items() if u not in rated},
        )
    sought = [rated.get(u, u) for u in commands]
    _check_paths(plant, imposed, sought)
    motions = {name: Var(name, quantity=quantity_of(e)) for name, e in imposed.items()}
    imposing = System("motions", {}, list(motions.values()), {}, {}, {})
    result = invert(
        plant, sought, list(imposed.values()), list(motions.values()), imposing, {},
        all_rates=True, what=system.name,
    )  # fmt: skip
    return _finished(plant, result, imposed, motions, sought, outputs)


def _check_paths(system: System, imposed: Mapping[str, Expr], commands: Sequence[Var]) -> None:
    """Refuse an output that no input acts on, and an input that acts on none of the outputs."""
    flows = {**system.definitions, **dict(zip(system.state_vars, system.rate_exprs, strict=True))}
    reached = {name: reach([expr], flows) for name, expr in imposed.items()}
    for name, behind in reached.items():
        if not any(u in behind for u in commands):
            raise SolveError(
                f"{system.name} cannot be inverted: there is no path from "
                f"{', '.join(u.name for u in commands)} to {name}; choose an input that acts on it"
            )
    for u in commands:
        if not any(u in behind for behind in reached.values()):
            raise SolveError(
                f"{system.name} cannot be inverted: there is no path from {u.name} to "
                f"{', '.join(imposed)}; choose an output that it acts on"
            )


def _finished(
    system: System,
    result: Inverse,
    imposed: Mapping[str, Expr],
    motions: Mapping[str, Var],
    sought: Sequence[Var],
    outputs: Mapping[str, Expr],
) -> InverseSystem:
    """Assemble the inverse; all rates that it needs are inputs."""
    others = [u for u in system.input_vars if u not in sought]
    # A variable that is imposed under its own name is the input itself.
    same: dict[Var, Expr] = {
        motion: v for motion, v in zip(motions.values(), imposed.values(), strict=True)
        if isinstance(v, Var) and v.name == motion.name and result.definitions[v] is motion
    }  # fmt: skip
    original = {*system.definitions, *system.state_vars, *sought}
    needed = reach([*result.states.values(), *outputs.values(), *original], result.definitions)
    definitions, copies = merged(
        {
            v: substitute(e, same)
            for v, e in result.definitions.items()
            if v in needed and v not in same.values()
        },
        original,
    )
    same |= copies
    sources = [*motions.values(), *others]
    rates = _rates(sources, result.input_rates)
    motion_inputs = [same.get(m, m) for m in motions.values()]
    inverse = InverseSystem(
        f"{system.name}.inverse",
        {s: substitute(e, same) for s, e in result.states.items()},
        [v for v in (*motion_inputs, *others, *(r for r, _ in rates)) if isinstance(v, Var)],
        {name: substitute(e, same) for name, e in outputs.items()},
        system.parameters_by_var,
        definitions,
        tears=[*system.tears, *result.dependent],
        initial={s: x for s, x in system.initial_by_var.items() if s in result.states},
        input_defaults={u: system.input_defaults.get(u.name, 0.0) for u in others},
        lookup=system.expression,
        dependent=[*system.dependent, *(s.name.rpartition(".")[0] for s in result.dependent)],
        remarks=[*system.remarks, *_singular(result)],
        iterations=system.iterations,
        quantities=system.quantities,
    )
    inverse.orders = {u.name: sum(of is u for _, of in rates) for u in sources}
    inverse.inversion = result
    inverse.rules = tuple(held.rule for held in system.held_modes)
    return inverse


def _singular(result: Inverse) -> list[str]:
    if not result.singular:
        return []
    names = ", ".join(result.singular)
    return [f"at the start the inverse is singular: {names} cannot be found there; start it elsewhere"]


def _rates(sources: Sequence[Var], rates: Mapping[Var, Var]) -> list[tuple[Var, Var]]:
    """Return the rates of inputs, first ones first, each with the input."""
    result: list[tuple[Var, Var]] = []
    level = [(u, u) for u in sources]
    while level:
        level = [(rates[at], u) for at, u in level if at in rates]
        result += level
    return result
