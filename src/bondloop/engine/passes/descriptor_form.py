"""Descriptor form: E(x) dx/dt = f(x, u, du/dt), the symbolic twin of the sparse E, A, B, C, D.

Where storages depend on each other, a state's rate needs the rates of others. Solved for, these equations
grow with the determinant of E; left as they are, they are Newton's law as one would write it down.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bondloop.engine.ir import (
    Const,
    ConstantMatrix,
    Expr,
    MatrixRow,
    Op,
    SolvedMatrix,
    Var,
    VectorNumbers,
    schedule,
    variables,
)
from bondloop.engine.passes.expansion import Expansion

if TYPE_CHECKING:
    from bondloop.engine.ir import Loop, SystemData
    from bondloop.engine.passes.sympy_bridge import Symbols


def rate_rows(system: SystemData) -> list[tuple[Expr, Expr | None]]:
    """Return for every state an expression of its rate and, or None, what the rate is multiplied by.

    A rate that appears in the program by name is an unknown: its definition is the row. That of an inertia
    field reads rate = (effort - mass @ other rates) / mass, and E takes the masses.
    """
    number = VectorNumbers()
    products = _products(system, number)
    rows: list[tuple[Expr, Expr | None]] = []
    for state, expr in zip(system.state_vars, system.rate_exprs, strict=True):
        row = system.definitions[system.dots[state]] if state in system.dots else expr
        if (
            state in system.dots
            and isinstance(row, Op)
            and row.name == "div"
            and row.args[1] in system.parameters_by_var
        ):
            rows.append((row.args[0], row.args[1]))
        elif (
            isinstance(row, MatrixRow)
            and state in system.dots
            and (id(row.matrix), number(row.args)) in products
        ):
            product = products[id(row.matrix), number(row.args)]
            rows.append(
                (MatrixRow(product.matrix, row.index, product.args), Const(product.masses[row.index]))
            )
        else:
            rows.append((row, None))
    return rows


@dataclass(frozen=True)
class _Implicit:
    """The rows ``left @ rates = right @ sources`` as ``diagonal * rates = matrix @ (rates, sources)``."""

    matrix: ConstantMatrix
    args: tuple[Expr, ...]
    masses: list[float]


def _products(system: SystemData, number: VectorNumbers) -> dict[tuple[int, int], _Implicit]:
    """Return the products whose results are the rates of states, all of them, so that E can take ``left``."""
    from scipy import sparse

    groups: dict[tuple[int, int], dict[int, Var]] = {}
    vectors: dict[tuple[int, int], tuple[Expr, ...]] = {}
    matrices: dict[int, SolvedMatrix] = {}
    for dot in system.dots.values():
        row = system.definitions.get(dot)
        if isinstance(row, MatrixRow) and isinstance(row.matrix, SolvedMatrix):
            matrices[id(row.matrix)] = row.matrix
            key = (id(row.matrix), number(row.args))
            vectors[key] = row.args
            groups.setdefault(key, {})[row.index] = dot
    result = {}
    for key, found in groups.items():
        matrix = matrices[key[0]]
        left = sparse.csr_array(matrix.left)
        if len(found) == left.shape[0]:
            diagonal = left.diagonal()
            others = sparse.diags_array(diagonal) - left
            block = sparse.csr_array(sparse.hstack([others, sparse.csr_array(matrix.right)]))
            args = (*(found[i] for i in range(len(found))), *vectors[key])
            result[key] = _Implicit(ConstantMatrix(block, matrix.name), args, diagonal.tolist())
    return result


def has_rates(system: SystemData, loop: Loop) -> bool:
    """Whether rates of states are among the unknowns of a loop, or on the way round it."""
    dots = set(system.dots.values())
    return any(v in dots for v in (*loop.tears, *(a.target for a in loop.body)))


def moves(system: SystemData, loop: Loop) -> bool:
    """Whether the coefficients of a loop change with the states: a lever that turns."""
    fixed = {*system.parameters_by_var, *(a.target for a in loop.tangents)}
    slopes = [*(a.expr for a in loop.tangents), *(e for row in loop.jacobian for e in row)]
    return any(v not in fixed for e in slopes for v in variables(e))


class Descriptor:
    """E(x) dx/dt = f(x, u, du/dt) in SymPy; ``dots`` are the rates that E is multiplied by.

    Parameters
    ----------
    system
        The system.
    symbol
        SymPy symbols of its variables.
    open_loops
        Whether the unknowns of every algebraic loop stay.

    Attributes
    ----------
    expansion
        The program written out, with the rates of states as given variables.
    unknowns
        The states, then the unknowns of loops that stay.
    """

    def __init__(self, system: SystemData, symbol: Symbols, open_loops: bool = False) -> None:
        self.system, self.symbol = system, symbol
        self.dots = dict(system.dots)
        named = set(self.dots.values())
        definitions = {v: e for v, e in system.definitions.items() if v not in named}
        self._rows = rate_rows(system)
        self._outputs = list(system.output_exprs.values())
        goals = [*(row for row, _ in self._rows), *self._outputs]
        roots = [v for goal in goals for v in variables(goal)]
        statements = schedule(definitions, roots, system.tears, system.iterations)
        self.expansion = Expansion(statements, symbol, keeps=lambda _: open_loops)
        self.unknowns = (*system.state_vars, *self.expansion.unknowns)

    @property
    def E(self) -> Any:
        """The matrix that multiplies the rates, as SymPy."""
        import sympy as sp

        return sp.Matrix(self._form[0])

    @property
    def f(self) -> list[Any]:
        """The right side, in terms of states, inputs and their rates, and the unknowns that stay."""
        return list(self._form[1])

    @cached_property
    def _form(self) -> tuple[Any, list[Any]]:
        import sympy as sp

        goals = [row for row, _ in self._rows]
        number = {self.dots[v]: j for j, v in enumerate(self.system.state_vars) if v in self.dots}
        zero = {self.symbol(dot): 0 for dot in number}
        f = [self.expansion.expand(row).subs(zero) for row in goals]
        E: dict[tuple[int, int], Any] = {}
        slopes = self.expansion.rows(goals, list(number))
        for i, (row, (_, weight)) in enumerate(zip(slopes, self._rows, strict=True)):
            E[i, i] = sp.Integer(1) if weight is None else self.expansion.expand(weight)
            for dot, slope in row.items():
                place = (i, number[dot])
                E[place] = E.get(place, 0) - slope
        # A rate that needs no other is known: where another row needs it, it goes over to the right side.
        bound = {i for i, row in enumerate(slopes) if row} | {
            i for (i, j), e in E.items() if i == j and e != 1
        }
        for i, j in [place for place in E if place[0] != place[1] and place[1] not in bound]:
            f[i] -= E.pop((i, j)) * f[j]
        return sp.SparseMatrix(len(f), len(f), E), f

    def pencil(self, s: Any, output: int, entry: int) -> tuple[list[list[Any]], list[Any], list[Any], Any]:
        """Return what a linear system is in the Laplace variable: P x = q u and y = c x + d u.

        ``x`` are the unknowns; ``entry`` is the number of the input. Rates are s times what changes.
        """
        system, loops = self.system, self.expansion
        u = system.input_vars[entry]
        rate = system.input_rates.get(u)
        place: dict[Var, tuple[int, Any]] = {v: (k, 1) for k, v in enumerate(self.unknowns)}
        place.update({dot: (place[v][0], s) for v, dot in self.dots.items()})
        columns = [*place, u, *([] if rate is None else [rate])]
        goals = [*(row for row, _ in self._rows), *loops.unknowns.values(), self._outputs[output]]
        n = len(self.unknowns)
        P: list[list[Any]] = [[0] * n for _ in range(n + 1)]
        q: list[Any] = [0] * (n + 1)
        for i, row in enumerate(loops.rows(goals, columns)):
            for v, slope in row.items():
                if v in place:
                    k, factor = place[v]
                    P[i][k] -= factor * slope
                else:
                    q[i] += slope if v is u else s * slope
        for i, (_, weight) in enumerate(self._rows):
            P[i][i] += s if weight is None else s * loops.expand(weight)
        for i in range(len(self._rows), n):
            P[i][i] += 1
        return P[:n], q[:n], [-c for c in P[n]], q[n]
