"""The symbolic reading of a program: SymPy expressions and Jacobians of small models.

Jacobians are accumulated assignment by assignment as sparse rows; large expressions are not formed and then
differentiated, and nothing is simplified unless asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bondloop.errors import InputError, SolveError
from bondloop.program.calculus import partials
from bondloop.program.expr import Const, Expr, Var, variables
from bondloop.program.schedule import Loop
from bondloop.program.sympy_bridge import Symbols, to_sympy

if TYPE_CHECKING:
    from bondloop.program.system import System

__all__ = ["Symbolic"]

Row = dict[Var, Any]


class Symbolic:
    """SymPy expressions of a system's rates and outputs, and their Jacobians."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.symbol = Symbols()
        self._expanded: dict[Var, Any] = {}
        self._expand_all()
        self._jacobians: dict[tuple[str, str], Any] = {}

    # ---------------------------------------------------------------- values

    def _expand_all(self) -> None:
        for statement in self.system.statements:
            if isinstance(statement, Loop):
                self._expand_loop(statement)
            else:
                self._expanded[statement.target] = self.expand(statement.expr)

    def expand(self, expr: Expr) -> Any:
        """Return an expression in terms of states, inputs and parameters only."""
        return to_sympy(expr, lambda v: self._expanded[v] if v in self._expanded else self.symbol(v))

    def _expand_loop(self, loop: Loop) -> None:
        for t in loop.tears:
            self._expanded[t] = self.symbol(t)
        for assign in loop.body:
            self._expanded[assign.target] = self.expand(assign.expr)
        if not loop.linear:
            return  # the tears stay as unknowns; equations() lists what they must satisfy
        import sympy as sp

        symbols = [self.symbol(t) for t in loop.tears]
        zero = dict.fromkeys(symbols, sp.Integer(0))
        right = [self.expand(d).subs(zero) for d in loop.definitions]
        slopes = {a.target: a.expr for a in loop.tangents}
        matrix = [
            [sp.Integer(int(i == j)) - to_sympy(_inline(e, slopes), self._value) for j, e in enumerate(row)]
            for i, row in enumerate(loop.jacobian)
        ]
        solution = dict(zip(symbols, _solve(matrix, right, loop.tears), strict=True))
        for t, s in zip(loop.tears, symbols, strict=True):
            self._expanded[t] = solution[s]
        for assign in loop.body:
            self._expanded[assign.target] = self._expanded[assign.target].subs(solution)

    @property
    def zero(self) -> Any:
        """SymPy's zero."""
        import sympy as sp

        return sp.Integer(0)

    def _value(self, var: Var) -> Any:
        return self._expanded[var] if var in self._expanded else self.symbol(var)

    @property
    def rates(self) -> list[Any]:
        """Rates of the states."""
        return [self.expand(e) for e in self.system.rate_exprs]

    @property
    def outputs(self) -> list[Any]:
        """Outputs."""
        return [self.expand(e) for e in self.system.output_exprs.values()]

    # ---------------------------------------------------------------- derivatives

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
            rows = self._rows(goals[of], columns)
            entries = {
                (i, j): row[v] for i, row in enumerate(rows) for j, v in enumerate(columns) if v in row
            }
            if any(isinstance(statement, Loop) for statement in self.system.statements):
                entries = {place: sp.cancel(value) for place, value in entries.items()}
            self._jacobians[key] = sp.Matrix(sp.SparseMatrix(len(rows), len(columns), entries))
        return self._jacobians[key].copy()

    def _rows(self, goals: Sequence[Expr], columns: Sequence[Var]) -> list[Row]:
        memo: dict[Var, Row] = {v: {v: 1} for v in columns}
        for statement in self.system.statements:
            if isinstance(statement, Loop):
                self._loop_rows(statement, memo)
            else:
                row = self._row(statement.expr, memo)
                if row:
                    memo[statement.target] = row
        return [self._row(g, memo) for g in goals]

    def _row(self, expr: Expr, memo: dict[Var, Row]) -> Row:
        row: Row = {}
        for var, d in partials(expr).items():
            inner = memo.get(var)
            if not inner:
                continue
            if isinstance(d, Const):
                factor: Any = int(d.value) if d.value == int(d.value) else d.value
            else:
                factor = to_sympy(d, self._value)
            for key, value in inner.items():
                term = value if factor == 1 else factor * value
                row[key] = row[key] + term if key in row else term
        return {k: v for k, v in row.items() if v != 0}

    def _loop_rows(self, loop: Loop, memo: dict[Var, Row]) -> None:
        import sympy as sp

        local = dict(memo)
        for t in loop.tears:
            local[t] = {t: 1}
        for assign in loop.body:
            local[assign.target] = self._row(assign.expr, local)
        ends = [self._row(d, local) for d in loop.definitions]
        keys = list(dict.fromkeys(k for row in ends for k in row if k not in loop.tears))
        matrix = [
            [sp.Integer(int(i == j)) - row.get(t, 0) for j, t in enumerate(loop.tears)]
            for i, row in enumerate(ends)
        ]
        solved: list[Row] = [{} for _ in loop.tears]
        for key in keys:
            column = _solve(matrix, [row.get(key, 0) for row in ends], loop.tears)
            for row, value in zip(solved, column, strict=True):
                if value != 0:
                    row[key] = value
        memo.update(zip(loop.tears, solved, strict=True))
        for assign in loop.body:
            memo[assign.target] = self._row(assign.expr, memo)

    def transfer_function(self, output: str, input: str) -> Any:  # noqa: A002
        """C (s I - A)^-1 B + D of one channel, cancelled."""
        import sympy as sp

        if not self.system.is_linear:
            raise SolveError(
                "a transfer function needs a linear system; use linearise(...).transfer_function(...)"
            )
        if self.system.input_rates:
            raise SolveError(
                "the symbolic transfer function does not cover input rates; use numeric().transfer_function"
            )
        from bondloop.program.system import named_index

        i = named_index("output", output, self.system.outputs)
        j = named_index("input", input, self.system.inputs)
        s = sp.Symbol("s")
        A, B = self.jacobian("rates", "states"), self.jacobian("rates", "inputs")
        C, D = self.jacobian("outputs", "states"), self.jacobian("outputs", "inputs")
        matrix = (s * sp.eye(A.shape[0]) - A).tolist()
        x = _solve(matrix, list(B[:, j]), self.system.state_vars)
        return sp.cancel(sum((c * v for c, v in zip(C[i, :], x, strict=True)), D[i, j]))


def _inline(expr: Expr, slopes: dict[Var, Expr]) -> Expr:
    from bondloop.program.expr import substitute

    while any(v in slopes for v in variables(expr)):
        expr = substitute(expr, slopes)
    return expr


def _solve(matrix: list[list[Any]], right: list[Any], names: Sequence[Var]) -> list[Any]:
    """Solve a small symbolic linear system exactly, over the field of rational functions."""
    import sympy as sp
    from sympy.polys.matrices import DomainMatrix
    from sympy.polys.matrices.exceptions import DMNonInvertibleMatrixError

    M, b = sp.Matrix(matrix), sp.Matrix([sp.sympify(r) for r in right])
    both = DomainMatrix.from_Matrix(M.row_join(b)).to_field()
    n = len(matrix)
    try:
        solution = both.extract(range(n), range(n)).lu_solve(both.extract(range(n), [n]))
    except (DMNonInvertibleMatrixError, ZeroDivisionError):
        raise SolveError(
            f"the equations for {', '.join(v.name for v in names[:8])} have no unique solution (singular); "
            "check the elements on this loop for zero or cancelling coefficients"
        ) from None
    return list(solution.to_Matrix())
