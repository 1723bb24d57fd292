"""The symbolic reading of a program: SymPy expressions, Jacobians and transfer functions of small models.

Jacobians are accumulated assignment by assignment as sparse rows; large expressions are not formed and then
differentiated, and nothing is simplified unless asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bondloop.engine.ir import loops, named_index
from bondloop.engine.passes import (
    Descriptor,
    Expansion,
    Symbols,
    cancelled,
    exact,
    has_rates,
    moves,
    shown,
    solve_fraction,
)
from bondloop.errors import InputError, SolveError

if TYPE_CHECKING:
    from bondloop.engine.ir import Expr, SystemData, Var


class Symbolic:
    """SymPy expressions of a system's rates and outputs, and their Jacobians."""

    def __init__(self, system: SystemData) -> None:
        self.system = system
        self.symbol = Symbols()
        self._jacobians: dict[tuple[str, str], Any] = {}

    @cached_property
    def expansion(self) -> Expansion:
        """The program written out; rates whose matrix E moves with the states stay as unknowns."""
        system = self.system
        return Expansion(
            system.statements, self.symbol, keeps=lambda loop: has_rates(system, loop) and moves(system, loop)
        )

    @cached_property
    def descriptor(self) -> Descriptor:
        """The form E(x) dx/dt = f(x, u), in which rates are not solved for."""
        return Descriptor(self.system, self.symbol)

    @property
    def rates(self) -> list[Any]:
        """Rates of the states."""
        return [self.expansion.expand(e) for e in self.system.rate_exprs]

    @property
    def outputs(self) -> list[Any]:
        """Outputs."""
        return [self.expansion.expand(e) for e in self.system.output_exprs.values()]

    def jacobian(self, of: str, wrt: str) -> Any:
        """Jacobian matrix as SymPy.

        Parameters
        ----------
        of
            ``"rates"`` or ``"outputs"``.
        wrt
            ``"states"``, ``"inputs"`` or ``"parameters"``.
        """
        import sympy as sp

        self.system.refuse_switching("a matrix in letters")
        key = (of, wrt)
        if key not in self._jacobians:
            groups: dict[str, Sequence[Var]] = {
                "states": self.system.state_vars,
                "inputs": self.system.input_vars,
                "parameters": tuple(self.system.parameters_by_var),
            }
            goals: dict[str, Sequence[Expr]] = {
                "rates": self.system.rate_exprs,
                "outputs": tuple(self.system.output_exprs.values()),
            }
            if of not in goals or wrt not in groups:
                raise InputError(
                    f"jacobian of {of!r} with respect to {wrt!r}: expected one of {list(goals)} "
                    f"and {list(groups)}"
                )
            columns = groups[wrt]
            rows = self.expansion.rows(goals[of], columns)
            entries = {
                (i, j): row[v] for i, row in enumerate(rows) for j, v in enumerate(columns) if v in row
            }
            if loops(self.system.statements):
                entries = {place: cancelled(value) for place, value in entries.items()}
            self._jacobians[key] = sp.Matrix(sp.SparseMatrix(len(rows), len(columns), entries))
        return self._jacobians[key].copy()

    def transfer_function(self, output: str, input: str) -> Any:  # noqa: A002
        """One channel, cancelled; where it is improper, its polynomial part plus the strictly proper rest."""
        import sympy as sp

        self.system.refuse_switching("a transfer function")
        if not self.system.is_linear:
            raise SolveError(
                "a transfer function needs a linear system; use linearise(...).transfer_function(...)"
            )
        i = named_index("output", output, self.system.outputs)
        j = named_index("input", input, self.system.inputs)
        s = sp.Symbol("s")
        # One linear system for states and unknowns of loops together: solved in turn, loops would be divided
        # by their determinants, and the states by expressions of these.
        form = Descriptor(self.system, self.symbol, open_loops=True)
        pencil, right, weights, through = form.pencil(s, i, j)
        value = sp.sympify(through)
        if right:
            x, denominator = solve_fraction(pencil, right, form.unknowns)
            value += sp.Add(*(c * v for c, v in zip(weights, x, strict=True))) / denominator
        given, value = value, sp.cancel(exact(value))
        top, bottom = sp.fraction(sp.together(value))
        if sp.degree(top, s) <= sp.degree(bottom, s):
            return shown(value, like=given)
        quotient, rest = sp.div(top, bottom, s)
        whole = sp.collect(shown(sp.cancel(quotient), like=given), s)
        return whole + shown(sp.cancel(rest / bottom), like=given)
