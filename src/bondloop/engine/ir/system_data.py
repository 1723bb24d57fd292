"""A continuous-time system as data, in five frozen parts.

Whoever changes a system changes one of its parts, by `dataclasses.replace` or `SystemData.replaced`: a field
that nobody names stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bondloop.engine.data import checked_values, number
from bondloop.engine.ir.causal_order import schedule
from bondloop.engine.ir.evaluation import evaluator, refuse_unknown
from bondloop.engine.ir.expr import Const, Expr, Op, Var, variables
from bondloop.engine.ir.matrices import MatrixRow, VectorNumbers
from bondloop.engine.ir.quantity import Quantity, quantity_of
from bondloop.engine.ir.renaming import PATHS
from bondloop.engine.ir.statespace import named_index, named_vector
from bondloop.engine.ir.tolerances import NEWTON_ITERATIONS
from bondloop.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.engine.ir.statement import Statement
    from bondloop.engine.ir.switching import HeldMode, Rule, Switching


@dataclass(frozen=True)
class SystemPart:
    """One part of a system. Its tables and rows are copies, so that nobody else changes them."""

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Mapping):
                object.__setattr__(self, f.name, dict(value))
            elif isinstance(value, Sequence):
                object.__setattr__(self, f.name, tuple(value))


@dataclass(frozen=True)
class Interface(SystemPart):
    """What is seen of a system from outside.

    Parameters
    ----------
    states
        Each state variable with the expression of its rate of change.
    inputs
        Input variables.
    outputs
        Output names with their expressions.
    parameters
        Parameter variables with their values; None where no value was given.
    input_defaults
        Values of inputs where the user gives none (zero for those left out).
    quantities
        What is measured by paths that are no single variable; of variables, they know it themselves.
    """

    states: Mapping[Var, Expr] = field(default_factory=dict)
    inputs: Sequence[Var] = ()
    outputs: Mapping[str, Expr] = field(default_factory=dict, metadata=PATHS)
    parameters: Mapping[Var, float | None] = field(default_factory=dict)
    input_defaults: Mapping[Var, float] = field(default_factory=dict)
    quantities: Mapping[str, Quantity] = field(default_factory=dict, metadata=PATHS)


@dataclass(frozen=True)
class Program(SystemPart):
    """The assignments that rates and outputs need.

    Parameters
    ----------
    definitions
        Each assigned variable with its expression.
    tears
        Variables at which algebraic loops are preferably cut.
    iterations
        Newton steps of nonlinear loops.
    dots
        For states whose rate appears in the program itself (dependent storage): the variable of that rate.
    input_rates
        For inputs whose rate appears in the program: the variable of that rate.
    """

    definitions: Mapping[Var, Expr] = field(default_factory=dict)
    tears: Sequence[Var] = ()
    iterations: int = NEWTON_ITERATIONS
    dots: Mapping[Var, Var] = field(default_factory=dict)
    input_rates: Mapping[Var, Var] = field(default_factory=dict)


@dataclass(frozen=True)
class Storage(SystemPart):
    """What states begin with, and what they keep.

    Parameters
    ----------
    initial
        Initial values of states that do not start at zero.
    memories
        States that keep their value within a step (their rate is zero), each with what it becomes at the
        beginning of the next: what a law remembers of the displacements that it went through.
    """

    initial: Mapping[Var, float] = field(default_factory=dict)
    memories: Mapping[Var, Expr] = field(default_factory=dict)


@dataclass(frozen=True)
class SwitchedModes(SystemPart):
    """How a system switches between modes, or which mode it is of.

    Parameters
    ----------
    switching
        One entry for each part that switches; the modes are among the states.
    held
        Of a system of one mode: the elements that would switch.
    """

    switching: Sequence[Switching] = ()
    held: Sequence[HeldMode] = ()


@dataclass(frozen=True)
class Divisor:
    """Something that is divided by and changes in time: it is watched in simulations.

    Attributes
    ----------
    path
        Of the element that has it.
    word
        What it is called there: ``"ratio"``.
    value
        What is divided by.
    advice
        What would make the division a product, as a clause.
    """

    path: str = field(metadata=PATHS)
    word: str
    value: Expr
    advice: str

    def __str__(self) -> str:
        return f"the {self.word} of {self.path}"


@dataclass(frozen=True)
class Annotations(SystemPart):
    """What is known of a system besides its equations: for notes, warnings and messages.

    Parameters
    ----------
    dependent
        Paths of storages in derivative causality.
    remarks
        Further notes, from whoever made the system.
    divisors
        Moduli that the program divides by and that change with its states: where one passes zero, what is
        computed is not accurate.
    lookup
        Finds the expression of any other path of the model.
    """

    dependent: Sequence[str] = field(default=(), metadata=PATHS)
    remarks: Sequence[str] = ()
    divisors: Sequence[Divisor] = ()
    lookup: Callable[[str], Expr] | None = None


@dataclass(frozen=True)
class Turn:
    """One equation turned round, where a system is inverted.

    Attributes
    ----------
    output
        Number of the output it serves.
    storage
        The state whose rate is the equation; None where it is the output's own.
    path
        The variables whose definitions changed, from the equation to the command or state that it gives.
    """

    output: int
    storage: Var | None
    path: tuple[Var, ...]


@dataclass(frozen=True)
class Inversion:
    """How a system came about as the inverse of another.

    Attributes
    ----------
    orders
        For every imposed output, and every other input: how many of its rates are inputs too.
    turns
        Which equations were turned round, in order.
    singular
        Inputs and states that cannot be found where the model starts, though elsewhere they can.
    rules
        Of elements that would switch, were it not for the mode that the system is of.
    """

    orders: Mapping[str, int] = field(metadata=PATHS)
    turns: tuple[Turn, ...] = ()
    singular: tuple[str, ...] = field(default=(), metadata=PATHS)
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class SystemData:
    """A system as data, on which passes and readings work; `bondloop.engine.System` describes its parts."""

    name: str = field(metadata=PATHS)
    interface: Interface = Interface()
    program: Program = Program()
    storage: Storage = Storage()
    modes: SwitchedModes = SwitchedModes()
    annotations: Annotations = Annotations()
    inversion: Inversion | None = None

    def replaced(self, **changes: Any) -> Self:
        """Return a system in which some fields, of whatever part, are others.

        Paths of this system are found in it too. What is given other states, inputs or assignments is no
        longer the inverse that it was.

        Parameters
        ----------
        **changes
            Fields of the system or of its parts by name, with what stands in place of this system's own.
        """
        changes.setdefault("lookup", self.expression)
        if not changes.keys().isdisjoint(("states", "inputs", "definitions")):
            changes.setdefault("inversion", None)
        own: dict[str, Any] = {}
        for f in fields(self):
            part = getattr(self, f.name)
            if isinstance(part, SystemPart):
                inner = {g.name: changes.pop(g.name) for g in fields(part) if g.name in changes}
                own[f.name] = replace(part, **inner) if inner else part
        return replace(self, **{**own, **changes})

    def __repr__(self) -> str:
        return (
            f"<System {self.name}: {len(self.states)} states, {len(self.inputs)} inputs, "
            f"{len(self.outputs)} outputs, {len(self.parameters_by_var)} parameters>"
        )

    # ------------------------------------------------------------------ fields of the parts

    @cached_property
    def state_vars(self) -> tuple[Var, ...]:
        """Variables of the states."""
        return tuple(self.interface.states)

    @cached_property
    def rate_exprs(self) -> tuple[Expr, ...]:
        """Expressions of their rates."""
        return tuple(self.interface.states.values())

    @cached_property
    def input_vars(self) -> tuple[Var, ...]:
        """Variables of the inputs."""
        return tuple(self.interface.inputs)

    @property
    def output_exprs(self) -> Mapping[str, Expr]:
        """Outputs by name, with their expressions."""
        return self.interface.outputs

    @property
    def parameters_by_var(self) -> Mapping[Var, float | None]:
        """Parameters with their values."""
        return self.interface.parameters

    @cached_property
    def input_defaults(self) -> dict[str, float]:
        """Values of inputs by name where they are not zero and the user gives none."""
        return {v.name: value for v, value in self.interface.input_defaults.items() if value}

    @property
    def quantities(self) -> Mapping[str, Quantity]:
        """What is measured by paths that are no single variable."""
        return self.interface.quantities

    @property
    def definitions(self) -> Mapping[Var, Expr]:
        """The assignments: each assigned variable with its expression."""
        return self.program.definitions

    @property
    def tears(self) -> tuple[Var, ...]:
        """Variables at which algebraic loops are preferably cut."""
        return tuple(self.program.tears)

    @property
    def iterations(self) -> int:
        """Newton steps of nonlinear loops."""
        return self.program.iterations

    @property
    def dots(self) -> Mapping[Var, Var]:
        """States whose rate appears in the program, with the variable of that rate."""
        return self.program.dots

    @property
    def input_rates(self) -> Mapping[Var, Var]:
        """Inputs whose rate appears in the program, with the variable of that rate."""
        return self.program.input_rates

    @property
    def initial_by_var(self) -> Mapping[Var, float]:
        """Initial values of states that do not start at zero."""
        return self.storage.initial

    @property
    def memories(self) -> Mapping[Var, Expr]:
        """States that keep their value within a step, with what they become in the next."""
        return self.storage.memories

    @property
    def switching(self) -> tuple[Switching, ...]:
        """How it switches, one entry for each part that does."""
        return tuple(self.modes.switching)

    @property
    def dependent(self) -> tuple[str, ...]:
        """Paths of storages in derivative causality."""
        return tuple(self.annotations.dependent)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes from whoever made the system."""
        return tuple(self.annotations.remarks)

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
        if self.annotations.lookup is not None:
            return self.annotations.lookup(path)
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

    # ------------------------------------------------------------------ structure

    @cached_property
    def is_linear(self) -> bool:
        """Whether every assignment is linear in states and inputs; what switches or remembers is not."""
        if self.switching or self.memories:
            return False
        return all(is_linear(e, self.parameters_by_var) for e in _distinct(self._all_exprs()))

    def _all_exprs(self) -> list[Expr]:
        return [*self.definitions.values(), *self.rate_exprs, *self.output_exprs.values()]

    def schedule(self, goals: Sequence[Expr]) -> list[Statement]:
        """Order what the expressions ``goals`` need."""
        roots = [v for goal in goals for v in variables(goal)]
        return schedule(self.definitions, roots, self.tears, self.iterations)

    @cached_property
    def statements(self) -> list[Statement]:
        """The program in causal order: what rates and outputs need, first things first."""
        goals = [*self.rate_exprs, *self.output_exprs.values()]
        result = self.schedule(goals)
        self._check_reads(result, goals)
        return result

    def _check_reads(self, statements: Sequence[Statement], goals: Sequence[Expr]) -> None:
        """Refuse what reads a variable that is neither given nor assigned: readings would leave it out."""
        given = [*self.parameters_by_var, *self.state_vars, *self.input_vars]
        known = {*given, *self.input_rates.values(), *self.dots.values()}
        known.update(v for s in statements for v in s.writes)
        read = _distinct([*goals, *(e for s in statements for e in s.expressions)])
        refuse_unknown(dict.fromkeys(v for e in read for v in variables(e) if v not in known))

    def refuse_switching(self, what: str) -> None:
        """Refuse what is known of one mode only, where there are several.

        Parameters
        ----------
        what
            What cannot be had, with its article.
        """
        if self.switching:
            modes = ", ".join(f"'{r.path}': '{r.words[0]}'" for part in self.switching for r in part.rules)
            raise InputError(
                f"{self.name} switches, and {what} can be had of one mode only: "
                f"compile the model with modes={{{modes}}} or others, or take linearise(...), which is of "
                "the mode that holds at a point"
            )

    def refuse_memory(self, what: str) -> None:
        """Refuse what follows the states by their rates alone, where some are remembered.

        Parameters
        ----------
        what
            What does so, with its article.
        """
        if self.memories:
            names = ", ".join(v.name for v in self.memories)
            raise InputError(
                f"{self.name} remembers its displacements from step to step ({names}), and {what} knows "
                "rates only; simulate it in steps, bl.Simulation({...}, rate=...)"
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
            for key, value in self.in_si(given).items():
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
            given = self.in_si({**self.input_defaults, **(given or {})})
        return named_vector("input", given, self.inputs)

    def in_si(self, given: Mapping[str, object]) -> dict[str, Any]:
        """Return values by path with texts as numbers; each must measure what the variable does.

        Parameters
        ----------
        given
            Numbers in SI or texts with a unit, by the path of a variable.
        """
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
    def definition_values(self) -> Callable[..., list[float]]:
        """The same of every variable of the program: whoever follows a motion linearises again and again."""
        return self.function(list(self.definitions))


def _distinct(exprs: Sequence[Expr]) -> Iterable[Expr]:
    """Return expressions, of the rows of a product one: they read the same vector."""
    vector = VectorNumbers()
    return {vector(e.args) if isinstance(e, MatrixRow) else -1 - i: e for i, e in enumerate(exprs)}.values()


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
