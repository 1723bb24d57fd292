"""What every time-stepping scheme offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from bondloop.display import brief
from bondloop.engine.data import Described
from bondloop.engine.ir import Const, Expr, Step, Var, instantiate, variables
from bondloop.engine.passes import remember, resolve
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.engine import System
    from bondloop.engine.ir import StateSpace


InputsAt = Callable[[float], Mapping[Var, Expr]]
"""Gives the inputs of a system at a fraction of the step: 0 at its beginning, 1 at its end."""


@dataclass
class Discretised:
    """One step of a system.

    Attributes
    ----------
    first
        Steps that evaluate the system at the beginning of the step.
    table
        What every variable of the system is after ``first``: outputs are read from here.
    rest
        Steps that carry the states to the end of the step; they end with an update of the states.
    """

    first: list[Step] = field(default_factory=list)
    table: dict[Var, Expr] = field(default_factory=dict)
    rest: list[Step] = field(default_factory=list)

    __repr__ = brief


class Integrator(Described, ABC, family="integrator"):
    """A time-stepping scheme: turns a continuous system into steps of a tick."""

    order: ClassVar[int]
    """Order of accuracy."""

    __repr__ = brief

    @abstractmethod
    def discretise(self, system: System, period: float, inputs: InputsAt, goals: list[Expr]) -> Discretised:
        """Write one step.

        Parameters
        ----------
        system
            What to integrate; its state variables become states of the tick.
        period
            Step in seconds.
        inputs
            The inputs at fractions of the step.
        goals
            Expressions besides the rates that are needed at the beginning of the step.
        """

    @staticmethod
    def at_start(
        system: System, period: float, inputs: InputsAt, goals: list[Expr], *, rates: bool = True
    ) -> tuple[list[Step], dict[Var, Expr]]:
        """Evaluate rates and goals at the beginning of the step, in the modes and with the memory of then.

        Parameters
        ----------
        system, period, inputs, goals
            As of `discretise`.
        rates
            Whether the rates of the states are wanted besides the goals.
        """
        given: dict[Var, Expr] = {v: v for v in system.state_vars}
        given.update(inputs(0.0))
        switched, now = resolve(system, inputs(0.0), period)
        given.update(now)
        remembered, now = remember(system, given)
        given.update(now)
        wanted = [*(system.rate_exprs if rates else ()), *goals]
        steps, table = instantiate(system.schedule(wanted), given, "")
        return [*switched, *remembered, *steps], table


def linear_space(system: System, which: str) -> StateSpace:
    """Return the explicit state space of a system for an integrator that needs a linear one."""
    if not system.is_linear:
        raise InputError(
            f"{system.name} is nonlinear; the {which} integrator needs a linear system (use RK4)"
        )
    if system.input_rates:
        names = ", ".join(u.name for u in system.input_rates)
        raise InputError(f"{system.name} needs the rate of {names}, which a held input has not; use RK4")
    return system.numeric().explicit()


def worked_in(system: System, goals: Iterable[Expr] = ()) -> frozenset[str]:
    """Return the names of the parameters on which the rates of a system depend: they are in its matrices.

    Parameters
    ----------
    system
        Of which matrices are made.
    goals
        Further expressions that become rows of a matrix.
    """
    work, seen = [*system.rate_exprs, *goals], set[Var]()
    while work:
        new = {v for v in variables(work.pop()) if v not in seen}
        seen |= new
        work += [system.definitions[v] for v in new if v in system.definitions]
    return frozenset(v.name for v in seen if v in system.parameters_by_var)


def check_period(period: float) -> Const:
    """Return the step as a constant, or say what is wrong with it."""
    if not 0 < period < 1e6:
        raise InputError(f"the time step must be positive; found {period} s")
    return Const(period)
