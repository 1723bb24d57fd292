"""A continuous-time system: states, inputs, outputs, parameters and the program that relates them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import telling
from bondloop.display.html import listed, notebook, paragraph, table
from bondloop.errors import InputError, UnknownNameError
from bondloop.program.causal_order import NEWTON_ITERATIONS, schedule
from bondloop.program.evaluator import evaluator
from bondloop.program.expr import Const, Expr, Op, Var, variables
from bondloop.program.loop_notes import loop_note
from bondloop.program.matrix_rows import MatrixRow, VectorNumbers
from bondloop.program.quantity import Quantity, quantity_of
from bondloop.program.ranges import checked_values, number
from bondloop.program.schedule import Statement, loops
from bondloop.program.statespace import StateSpace, named_index, named_vector

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray
    from scipy import signal

    from bondloop.program.divisor import Divisor
    from bondloop.program.equations import Equations
    from bondloop.program.input_extremes import InputValue
    from bondloop.program.inverse_system import InverseSystem
    from bondloop.program.mode_check import HeldMode
    from bondloop.program.simulate import Trajectory
    from bondloop.program.steady_result import SteadyState
    from bondloop.program.switching import Switching
    from bondloop.program.symbolic import Symbolic

__all__ = ["System", "is_linear"]


TYPESET = 8
"""States up to which a notebook is offered the equations of a system."""


class System:
    """States, inputs, outputs and parameters, related by a program of small named assignments.

    Usually made by ``Model.compile()``. Every variable has a path name, the same in equations, results,
    generated code and messages.

    Parameters
    ----------
    name
        Name of the system.
    states
        Each state variable with the expression of its rate of change.
    inputs
        Input variables.
    outputs
        Output names with their expressions.
    parameters
        Parameter variables with their values; None where no value was given.
    definitions
        The program: each assigned variable with its expression.
    tears
        Variables at which algebraic loops are preferably cut.
    initial
        Initial values of states that do not start at zero.
    dots
        For states whose rate appears in the program itself (dependent storage): the variable of that rate.
    input_rates
        For inputs whose rate appears in the program: the variable of that rate.
    input_defaults
        Values of inputs where the user gives none (zero for those left out).
    lookup
        Finds the expression of any other path of the model.
    dependent
        Paths of storages in derivative causality, for the notes.
    remarks
        Further notes, from whoever made the system.
    iterations
        Newton steps of nonlinear loops.
    divisors
        Moduli that the program divides by and that change with its states, by what they are called: where one
        passes zero, what is computed is not accurate.
    switching
        How it switches between modes, one entry for each part that does; the modes are among the states.
    quantities
        What is measured by paths that are no single variable; of variables, they know it themselves.
    held_modes
        Of a system of one mode: the elements that would switch.
    memories
        States that keep their value within a step (their rate is zero), each with what it becomes at the
        beginning of the next: what a law remembers of the displacements that it went through.
    """

    def __init__(  # noqa: PLR0913 - each is one part of the definition above
        self,
        name: str,
        states: Mapping[Var, Expr],
        inputs: Sequence[Var],
        outputs: Mapping[str, Expr],
        parameters: Mapping[Var, float | None],
        definitions: Mapping[Var, Expr],
        *,
        tears: Sequence[Var] = (),
        initial: Mapping[Var, float] | None = None,
        dots: Mapping[Var, Var] | None = None,
        input_rates: Mapping[Var, Var] | None = None,
        input_defaults: Mapping[Var, float] | None = None,
        lookup: Callable[[str], Expr] | None = None,
        dependent: Sequence[str] = (),
        remarks: Sequence[str] = (),
        iterations: int = NEWTON_ITERATIONS,
        divisors: Mapping[str, Divisor] | None = None,
        switching: Sequence[Switching] = (),
        quantities: Mapping[str, Quantity] | None = None,
        held_modes: Sequence[HeldMode] = (),
        memories: Mapping[Var, Expr] | None = None,
    ) -> None:
        self.name = name
        self.state_vars = tuple(states)
        self.rate_exprs = tuple(states.values())
        self.input_vars = tuple(inputs)
        self.output_exprs = dict(outputs)
        self.parameters_by_var = dict(parameters)
        self.definitions = dict(definitions)
        self.tears = tuple(tears)
        self.initial_by_var = dict(initial or {})
        self.dots = dict(dots or {})
        self.input_rates = dict(input_rates or {})
        self.input_defaults = {v.name: value for v, value in (input_defaults or {}).items() if value}
        self.dependent = tuple(dependent)
        self.remarks = tuple(remarks)
        self.iterations = iterations
        self.divisors = dict(divisors or {})
        self.switching = tuple(switching)
        self.quantities = dict(quantities or {})
        self.held_modes = tuple(held_modes)
        self.memories = dict(memories or {})
        self._lookup = lookup

    def replaced(self, **changes: Any) -> System:
        """Return a system that differs from this one in some arguments of the constructor.

        Parameters
        ----------
        **changes
            Arguments of the constructor by name, with what stands in place of this system's own.
        """
        own: dict[str, Any] = {
            "name": self.name,
            "states": dict(zip(self.state_vars, self.rate_exprs, strict=True)),
            "inputs": self.input_vars,
            "outputs": self.output_exprs,
            "parameters": self.parameters_by_var,
            "definitions": self.definitions,
            "tears": self.tears,
            "initial": self.initial_by_var,
            "dots": self.dots,
            "input_rates": self.input_rates,
            "input_defaults": {u: self.input_defaults.get(u.name, 0.0) for u in self.input_vars},
            "lookup": self.expression,
            "dependent": self.dependent,
            "remarks": self.remarks,
            "iterations": self.iterations,
            "divisors": self.divisors,
            "switching": self.switching,
            "quantities": self.quantities,
            "held_modes": self.held_modes,
            "memories": self.memories,
        }
        return System(**{**own, **changes})

    # ------------------------------------------------------------------ names

    @cached_property
    def states(self) -> tuple[str, ...]:
        """Path names of the states."""
        return tuple(v.name for v in self.state_vars)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(v.name for v in self.input_vars)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return tuple(self.output_exprs)

    @cached_property
    def parameters(self) -> dict[str, float | None]:
        """Parameters by path name, with their values (None where the model gives none)."""
        return {v.name: value for v, value in self.parameters_by_var.items()}

    @cached_property
    def _by_name(self) -> dict[str, Var]:
        known = [
            *self.parameters_by_var,
            *self.state_vars,
            *self.input_vars,
            *self.input_rates.values(),
            *self.definitions,
        ]
        return {v.name: v for v in reversed(known)}

    def expression(self, path: str) -> Expr:
        """Return the expression of any variable of the model by its path name."""
        if path in self.output_exprs:
            return self.output_exprs[path]
        var = self._by_name.get(path)
        if var is not None:
            return var
        if self._lookup is not None:
            return self._lookup(path)
        raise UnknownNameError("variable", path, self._by_name, self.name)

    def quantity(self, path: str) -> Quantity | None:
        """Return what a variable measures, by its path; None where that is not known.

        >>> from bondloop.bondgraph import I, Model, R, Se
        >>> coil = Model("coil")
        >>> coil.V, coil.L = Se("V"), I(inductance="3 mH")
        >>> _ = coil.V >> coil.L
        >>> coil.compile().quantity("L.flow")
        Quantity(name='current', unit='A', kind='flow')
        """
        known = self.quantities.get(path)
        return quantity_of(self.expression(path)) if known is None else known

    def __repr__(self) -> str:
        return (
            f"<System {self.name}: {len(self.states)} states, {len(self.inputs)} inputs, "
            f"{len(self.outputs)} outputs, {len(self.parameters_by_var)} parameters>"
        )

    def _repr_html_(self) -> str:
        names = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        rows = [(word, str(len(paths)), listed(paths)) for word, paths in names.items()]
        values = [n if x is None else f"{n} = {x:.6g}" for n, x in self.parameters.items()]
        rows.append(("parameters", str(len(values)), listed(values)))
        notes = [paragraph(f"Note: {note}") for note in self.notes]
        return notebook(f"System {self.name}", [table(("", "", ""), rows, ("", "number", "")), *notes])

    def _repr_latex_(self) -> str | None:
        return self.equations()._repr_latex_() if len(self.states) <= TYPESET else None

    # ------------------------------------------------------------------ structure

    @cached_property
    def is_linear(self) -> bool:
        """Whether every assignment is linear in states and inputs; what switches or remembers is not."""
        if self.switching or self.memories:
            return False
        vector = VectorNumbers()
        once = {
            vector(e.args) if isinstance(e, MatrixRow) else -1 - i: e for i, e in enumerate(self._all_exprs())
        }
        return all(is_linear(e, self.parameters_by_var) for e in once.values())

    def _all_exprs(self) -> list[Expr]:
        return [*self.definitions.values(), *self.rate_exprs, *self.output_exprs.values()]

    def schedule(self, goals: Sequence[Expr]) -> list[Statement]:
        """Order what the expressions ``goals`` need."""
        roots = [v for goal in goals for v in variables(goal)]
        return schedule(self.definitions, roots, self.tears, self.iterations)

    @cached_property
    def statements(self) -> list[Statement]:
        """The program in causal order: what rates and outputs need, first things first."""
        return self.schedule([*self.rate_exprs, *self.output_exprs.values()])

    @cached_property
    def notes(self) -> list[str]:
        """What the causality implies: dependent storages, algebraic loops, input rates; each by name."""
        notes = list(self.remarks)
        if self.dependent:
            notes.append(self._dependence())
        notes += [loop_note(self, loop) for loop in loops(self.statements)]
        notes += [
            f"the rate of input {u.name} is needed: a source drives a storage in derivative causality"
            for u in self.input_rates
        ]
        if self.memories:
            names = ", ".join(v.name for v in self.memories)
            notes.append(f"remembered within a step, and renewed at the beginning of each: {names}")
        return notes

    def _dependence(self) -> str:
        on = ", ".join(v.name for v in self.dots) or "inputs only"
        return (
            f"derivative causality: {', '.join(self.dependent)} follow the other storages "
            f"(their rates enter through {on})"
        )

    # ------------------------------------------------------------------ values

    def values(self, given: Mapping[str, float] | None = None) -> dict[Var, float]:
        """Parameter values, with some replaced by name; an error names every one that is missing.

        A value outside the parameter's range is refused.

        Parameters
        ----------
        given
            New values by name, numbers in SI or texts with a unit; those not named stay. None: the
            model's own.
        """
        result = dict(self.parameters_by_var)
        result.update(checked_values(self.parameters_by_var, given or {}, self.name))
        missing = [v.name for v, value in result.items() if value is None]
        if missing:
            raise InputError(
                f"no value for {', '.join(missing[:8])}{' ...' if len(missing) > 8 else ''}; "
                "give one with model.let(name=value) or values={...}"
            )
        return result  # type: ignore[return-value]

    def initial(self, given: Mapping[str, float] | ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the initial state vector: the model's own, with some replaced by name.

        Parameters
        ----------
        given
            Numbers in SI or texts with a unit by the name of the state, those not named as the model
            says; or all of them as a vector. None: the model's own.
        """
        own = np.array([self.initial_by_var.get(v, 0.0) for v in self.state_vars], dtype=float)
        given = _by_name(given, self.states)
        if isinstance(given, Mapping):
            for key, value in self._in_si(given).items():
                own[named_index("state", key, self.states)] = number(value, f"state '{key}'")
            return own
        return own if given is None else named_vector("state", given, self.states)

    def operating_inputs(self, given: Mapping[str, float] | ArrayLike | None = None) -> NDArray[np.float64]:
        """Return constant inputs as a vector: the model's own values, with some replaced by name.

        Parameters
        ----------
        given
            Numbers in SI or texts with a unit by the name of the input, those not named as the model
            says; or all of them as a vector. None: the model's own.
        """
        given = _by_name(given, self.inputs)
        if given is None or isinstance(given, Mapping):
            given = self._in_si({**self.input_defaults, **(given or {})})
        return named_vector("input", given, self.inputs)

    def _in_si(self, given: Mapping[str, object]) -> dict[str, Any]:
        """Return values by path with texts as numbers; each must measure what the variable does."""
        result = dict(given)
        for name, value in given.items():
            if isinstance(value, str):
                var = self._by_name.get(name)
                quantity = None if var is None else var.quantity
                result[name] = number(value, name, *((quantity.unit,) if quantity and quantity.unit else ()))
        return result

    def function(self, goals: Sequence[Expr]) -> Callable[..., list[float]]:
        """Return a Python function ``f(x, u, input_rates, parameters)`` of given expressions.

        Parameters
        ----------
        goals
            What it returns, a list with a number for each. Its four arguments are sequences: states,
            inputs, the rates of inputs that are needed, and all parameters, in the order of ``states``,
            ``inputs``, ``input_rates`` and ``parameters``.
        """
        arguments = [
            self.state_vars,
            self.input_vars,
            tuple(self.input_rates.values()),
            tuple(self.parameters_by_var),
        ]
        return evaluator(self.schedule(goals), arguments, goals)

    @cached_property
    def rates(self) -> Callable[..., list[float]]:
        """Python function ``f(x, u, input_rates, parameters) -> dx/dt``."""
        return self.function(self.rate_exprs)

    @cached_property
    def _all_definitions(self) -> Callable[..., list[float]]:
        """The same of every variable of the program: whoever follows a motion linearises again and again."""
        return self.function(list(self.definitions))

    # ------------------------------------------------------------------ readings

    def equations(self, form: str = "state") -> Equations:
        """Readable equations.

        Parameters
        ----------
        form
            ``"state"``: rates and outputs in terms of states and inputs; loops of more than a few unknowns
            stay as equations, and where rates depend on each other through the states the form is the
            next; equations that would be endless (of a long law) are shown as the program.
            ``"descriptor"``: E(x) dx/dt = f(x, u), no rate solved for. ``"causal"``: the program,
            one assignment a line, in the order of computation.
        """
        from bondloop.program.equations import equations

        return equations(self, form)

    @cached_property
    def symbolic(self) -> Symbolic:
        """The symbolic reading: rates, outputs and Jacobians as SymPy expressions."""
        from bondloop.program.symbolic import Symbolic

        return Symbolic(self)

    @property
    def A(self) -> Any:
        """SymPy matrix d(rates)/d(states); depends on the states where the model is nonlinear."""
        return self._letters("rates", "states")

    @property
    def B(self) -> Any:
        """SymPy matrix d(rates)/d(inputs)."""
        return self._letters("rates", "inputs")

    @property
    def C(self) -> Any:
        """SymPy matrix d(outputs)/d(states)."""
        return self._letters("outputs", "states")

    @property
    def D(self) -> Any:
        """SymPy matrix d(outputs)/d(inputs)."""
        return self._letters("outputs", "inputs")

    def _letters(self, what: str, by: str) -> Any:
        self._refuse_switching("a matrix in letters")
        return self.symbolic.jacobian(what, by)

    def numeric(self, values: Mapping[str, float] | None = None) -> StateSpace:
        """Sparse E, A, B, C, D of a linear system.

        Parameters
        ----------
        values
            Parameter values that replace the model's own.
        """
        from bondloop.program.linear import state_space

        self._refuse_switching("matrices without a point")
        return state_space(self, self.values(values), at_point=False)

    def linearise(
        self,
        states: Mapping[str, float] | ArrayLike | None = None,
        inputs: Mapping[str, float] | ArrayLike | None = None,
        values: Mapping[str, float] | None = None,
        modes: Mapping[str, int | str] | None = None,
    ) -> StateSpace:
        """Sparse E, A, B, C, D at an operating point; of what switches, in the mode that holds there.

        Parameters
        ----------
        states
            By name, the others as the model starts; or a full vector.
        inputs
            By name, the others as the model gives them (``Se(effort=...)``), or zero; or a full vector.
        values
            Parameter values that replace the model's own.
        modes
            Of a system that switches: another mode, as for `Model.compile`. The result names the mode; modes,
            and storages that follow from others in it, are none of its states.
        """
        from bondloop.program.linear import state_space

        numbers = self.values(values)
        x, u = self.initial(states), self.operating_inputs(inputs)
        if self.switching:
            from bondloop.program.one_mode import linearised_mode

            return linearised_mode(self, x.tolist(), u.tolist(), numbers, modes)
        if modes is not None:
            raise InputError(f"{self.name} has no elements that switch; modes are for models that have")
        if not self.is_linear:
            result = self._all_definitions(
                x.tolist(), u.tolist(), [0.0] * len(self.input_rates), list(numbers.values())
            )
            numbers = {**numbers, **dict(zip(self.definitions, result, strict=True))}
            numbers.update(zip(self.state_vars, x.tolist(), strict=True))
            numbers.update(zip(self.input_vars, u.tolist(), strict=True))
            numbers.update(dict.fromkeys(self.input_rates.values(), 0.0))
        return state_space(self, numbers, at_point=True)

    def poles(self, values: Mapping[str, float] | None = None) -> NDArray[np.complex128]:
        """Poles in rad/s; what is not linear is linearised where it starts, with the model's own inputs.

        What switches is so in the mode that holds there, which ``linearise().mode`` tells.

        Parameters
        ----------
        values
            Parameter values that replace the model's own, by name.
        """
        return self._local(values).poles()

    def frequency_response(
        self, omega: ArrayLike, values: Mapping[str, float] | None = None
    ) -> NDArray[np.complex128]:
        """Frequency response at angular frequencies in rad/s, shape (frequencies, outputs, inputs).

        Parameters
        ----------
        omega
            Angular frequencies in rad/s, any number of them.
        values
            Parameter values that replace the model's own, by name. What is not linear is linearised where
            it starts.
        """
        return self._local(values).frequency_response(omega)

    def _local(self, values: Mapping[str, float] | None) -> StateSpace:
        return self.numeric(values) if self.is_linear else self.linearise(values=values)

    def _refuse_switching(self, what: str) -> None:
        """Refuse what is known of one mode only."""
        if self.switching:
            modes = ", ".join(f"'{r.path}': '{r.words[0]}'" for part in self.switching for r in part.rules)
            raise InputError(
                f"{self.name} switches, and {what} can be had of one mode only: "
                f"compile the model with modes={{{modes}}} or others, or take linearise(...), which is of "
                "the mode that holds at a point"
            )

    def _refuse_memory(self, what: str) -> None:
        """Refuse what follows the states by their rates alone."""
        if self.memories:
            names = ", ".join(v.name for v in self.memories)
            raise InputError(
                f"{self.name} remembers its displacements from step to step ({names}), and {what} knows "
                "rates only; simulate it in steps, bl.Simulation({...}, rate=...)"
            )

    def transfer_function(self, output: str, input: str) -> Any:  # noqa: A002
        """Symbolic transfer function of a small linear system, as a SymPy expression in ``s``.

        One that is improper (an output that needs an input's rate) is its polynomial part plus the strictly
        proper rest.

        Parameters
        ----------
        output, input
            Names of one of the outputs and one of the inputs.
        """
        self._refuse_switching("a transfer function")
        return self.symbolic.transfer_function(output, input)

    def steady_state(
        self,
        inputs: Mapping[str, float] | None = None,
        values: Mapping[str, float] | None = None,
        initial: Mapping[str, float] | ArrayLike | None = None,
    ) -> SteadyState:
        """States at which nothing changes, as the motion from the start leads to them.

        The inputs are constant. What is conserved keeps its value: two springs side by side keep the
        difference of their lengths. Of a model that switches the result is in the mode that holds at the end,
        and the modes are among the states: 0 where the flow is imposed (a stop closed, a diode off).

        Parameters
        ----------
        inputs
            By name; those left out keep the model's value (``Se(effort=...)``), or zero.
        values
            Parameter values that replace the model's own.
        initial
            Where the motion starts: states by name (others as the model says), or a full vector.

        Returns
        -------
        SteadyState
            Every state by its path, for example as the point of ``linearise(states, inputs)``. Where the
            equations leave a choice ``unique`` is false, ``free`` names the states that they leave open and
            ``remark`` says so.

        Raises
        ------
        SolveError
            Where nothing comes to rest, or where it cannot be known at which of several rests it does.

        Warns
        -----
        StabilityWarning
            Where the only steady state is unstable.
        ModeWarning
            Where the model was compiled with ``modes={...}`` and its mode does not hold there.

        Examples
        --------
        >>> from bondloop.bondgraph import C, I, Model, One, R, Se, Stop
        >>> m = Model("buffer")
        >>> m.v, m.spring, m.stop = One(), C(stiffness=1000), Stop(gap=0.01)
        >>> _ = Se("F") >> m.v >> [I(mass=1), m.spring, R(damping=10), m.stop]
        >>> rest = m.compile().steady_state({"F": 30})  # 30 mm without the stop
        >>> print(f"{rest['spring.displacement']:.6f}")
        0.010000
        """
        from bondloop.program.steady import steady_state

        return steady_state(self, inputs, values, initial)

    def inverse(self, output: str | Sequence[str], input: str | Sequence[str]) -> InverseSystem:  # noqa: A002
        """Return the inverse: the motion of an output goes in, the input that causes it comes out.

        Parameters
        ----------
        output
            Path of the variable that is to follow a motion, or of several.
        input
            Name of the input that is to be found, or of as many. The other inputs stay inputs.

        Returns
        -------
        InverseSystem
            A system whose inputs are the motions and those of their rates that it needs
            (``"d/dt tip.flow"``, ``"d2/dt2 tip.flow"``), and whose states are the zero dynamics, judged by
            ``zero_dynamics()`` and in ``notes``.

        Raises
        ------
        SolveError
            Where no path leads from input to output, where the outputs cannot be moved independently, or
            where the relative degree is not defined.
        """
        from bondloop.program.inverse_system import inverse_system

        self._refuse_switching("an inverse")
        self._refuse_memory("an inverse")
        return inverse_system(self, output, input)

    def sensitivity(self, parameters: Sequence[str]) -> System:
        """Return the system extended by its sensitivity equations with respect to named parameters.

        The result has, besides the original states and outputs, ``d(state)/d(parameter)`` and
        ``d(output)/d(parameter)``: the sensitivity bond graph (Gawthrop 2000) in equation form.

        Parameters
        ----------
        parameters
            Their names; an unknown one is refused.
        """
        from bondloop.program.sensitivity import sensitivity_system

        self._refuse_switching("sensitivities")
        self._refuse_memory("a sensitivity")
        return sensitivity_system(self, parameters)

    @telling("simulating")
    def simulate(  # noqa: PLR0913 - what to integrate, and how
        self,
        duration: float | str | tuple[float | str, float | str],
        inputs: Mapping[str, InputValue | str] | None = None,
        initial: Mapping[str, float] | ArrayLike | None = None,
        values: Mapping[str, float] | None = None,
        *,
        times: ArrayLike | None = None,
        method: str | None = None,
        rtol: float = 1e-9,
        atol: float | None = None,
        max_step: float | str = np.inf,
    ) -> Trajectory:
        """Integrate with SciPy's solvers; see :func:`bondloop.program.simulate.simulate`.

        Parameters
        ----------
        duration
            Length in s, or (start, end); numbers or texts with a unit.
        inputs
            Each input by name: a number, a function of time in s, or a pair (times, values) that is
            interpolated. Inputs left out keep the model's value, or zero. Where a rate of an input is
            needed (see ``system.notes``), give it under ``"d/dt NAME"``; for numbers and pairs it is
            worked out.
        initial
            Initial states by name, those not named as the model says; or all of them as a vector.
        values
            Parameter values that replace the model's own, by name.
        times
            Instants in s at which to report; by default 1,000, evenly spaced.
        method
            ``"DOP853"``, ``"RK45"``, ``"RK23"``, ``"Radau"``, ``"BDF"`` or ``"LSODA"``; by default the
            first, and ``"BDF"`` as long as the motion is stiff.
        rtol
            Relative tolerance.
        atol
            Absolute tolerance in SI units, the same for all states; by default 1e-12 of the size of each.
        max_step
            Largest step in s, or text, ``"1 ms"``; events of a system that switches are found whatever it is.
        """
        from bondloop.program.simulate import simulate

        self._refuse_memory("a solver of differential equations")
        return simulate(
            self, duration, inputs, initial, values,
            times=times, method=method, rtol=rtol, atol=atol, max_step=max_step,
        )  # fmt: skip

    def to_scipy(self) -> signal.StateSpace:
        """Return a ``scipy.signal.StateSpace``."""
        return self._local(None).to_scipy()

    def to_control(self) -> Any:
        """Return a python-control ``StateSpace`` with the same names."""
        return self._local(None).to_control()

    def write_fmu(
        self, path: str | Path, *, rate: float | str | None = None, version: int = 3, binary: bool = True
    ) -> Path:
        """Write the system as an FMU: rates, outputs and directional derivatives, or steps of its own.

        Parameters
        ----------
        path
            Of the file, ``"frame.fmu"``.
        rate
            Steps a second of an FMU for co-simulation, which integrates itself by RK4 with its inputs held
            (`bondloop.integrate.write_stepped_fmu` has other schemes); None for one for model exchange.
        version
            Of FMI, 2 or 3.
        binary
            Whether a binary for this platform is built and put in beside the C sources.
        """
        import bondloop

        if rate is None:
            return bondloop.fmu.write_system_fmu(self, path, version=version, binary=binary)
        return bondloop.integrate.write_stepped_fmu(self, path, rate=rate, version=version, binary=binary)

    @classmethod
    def from_control(cls, plant: Any, name: str | None = None) -> System:
        """Return a system from a continuous-time python-control ``StateSpace`` or ``TransferFunction``.

        Parameters
        ----------
        plant
            In continuous time; its names are kept. One with a sample period is refused.
        name
            Of the system; by default the plant's own.
        """
        from bondloop.program.from_matrices import system_from_control

        return system_from_control(plant, name)


def _by_name(
    given: Mapping[str, float] | ArrayLike | None, names: Sequence[str]
) -> Mapping[str, float] | ArrayLike | None:
    """Return a row with texts in it by name, since each must measure what its variable does."""
    if isinstance(given, (list, tuple)) and any(isinstance(x, str) for x in given):
        if len(given) != len(names):
            raise InputError(
                f"expected {len(names)} values, one for each of {', '.join(names[:8])}; found {len(given)}"
            )
        return dict(zip(names, given, strict=True))
    return given


def is_linear(expr: Expr, parameters: Mapping[Var, object]) -> bool:
    """Whether an expression is linear and homogeneous in everything that is not a parameter.

    Parameters
    ----------
    expr
        The expression.
    parameters
        The variables that are parameters.
    """
    if isinstance(expr, Var):
        return expr not in parameters
    if isinstance(expr, Const):
        return expr.value == 0.0
    assert isinstance(expr, Op)
    name, args = expr.name, expr.args
    if name in ("add", "neg", "row"):
        return all(is_linear(a, parameters) for a in args)
    if name == "mul":
        a, b = args
        return (_constant(a, parameters) and is_linear(b, parameters)) or (
            is_linear(a, parameters) and _constant(b, parameters)
        )
    return name == "div" and is_linear(args[0], parameters) and _constant(args[1], parameters)


def _constant(expr: Expr, parameters: Mapping[Var, object]) -> bool:
    return all(v in parameters for v in variables(expr))
