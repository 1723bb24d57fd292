"""Descriptor form: E(x) dx/dt = f(x, u, du/dt), the symbolic twin of the sparse E, A, B, C, D.

Where storages depend on each other, a state's rate needs the rates of others. Solved for, these equations
grow with the determinant of E; left as they are, they are Newton's law as one would write it down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bondloop.engine.ir import (
    Assign,
    Const,
    ConstantMatrix,
    Expr,
    Loop,
    MatrixRow,
    Op,
    SolvedMatrix,
    Statement,
    Var,
    VectorNumbers,
    partials,
    schedule,
    substitute,
    variables,
)
from bondloop.engine.passes.sympy_bridge import Symbols, shown, to_sympy
from bondloop.errors import SolveError

if TYPE_CHECKING:
    from bondloop.engine.ir import Number, SystemData
    from bondloop.engine.passes.sympy_bridge import Symbols


FEW = 2
"""Most unknowns of a linear loop that is solved in letters."""

MOST_TERMS = 20_000
"""Terms of a determinant, estimated, up to which a loop is solved in letters for A, B, C and D: six unknowns
of a ladder, 5 s; each further one takes four times as long."""

Row = dict[Var, Any]


class Expansion:
    """A scheduled program as SymPy expressions.

    Parameters
    ----------
    statements
        The program, in order.
    symbol
        The SymPy symbols of variables.
    keeps
        Whether the unknowns of a small linear loop stay all the same.

    Attributes
    ----------
    kept
        The loops whose unknowns stay.
    unknowns
        Variables that stay, with what they must be equal to.
    solved
        Whether a loop was solved, so that there may be something to cancel.
    """

    def __init__(
        self, statements: Iterable[Statement], symbol: Symbols, keeps: Callable[[Loop], bool] | None = None
    ) -> None:
        self.statements = tuple(statements)
        self.symbol = symbol
        self.unsolved_loops: list[Loop] = []
        self.unknowns: dict[Var, Expr] = {}
        self.solved = False
        self._expanded: dict[Var, Any] = {}
        for statement in self.statements:
            if isinstance(statement, Assign):
                self._expand(statement, stays=False)
            elif not statement.linear or len(statement.tears) > FEW or (keeps and keeps(statement)):
                self._keep(statement)
            else:
                self._solve(statement)

    def value(self, var: Var) -> Any:
        """Return a variable in terms of states, inputs, parameters and the unknowns that stay."""
        return self._expanded[var] if var in self._expanded else self.symbol(var)

    def expand(self, expr: Expr) -> Any:
        """Return an expression in the same terms."""
        return to_sympy(expr, self.value)

    @cached_property
    def _uses(self) -> Counter[Var]:
        """How often every variable is used in the program."""
        uses: Counter[Var] = Counter()
        for statement in self.statements:
            for _, expr in statement.defines:
                uses.update(variables(expr))
        return uses

    @cached_property
    def _multiplied(self) -> set[Var]:
        """What matrices are multiplied by: a line that says ``matrix * vector`` needs its elements."""
        vectors = {
            s.expr.args for s in self.statements if isinstance(s, Assign) and isinstance(s.expr, MatrixRow)
        }
        return {v for vector in vectors for a in vector for v in variables(a)}

    def _expand(self, assign: Assign, stays: bool) -> None:
        """Write out an assignment, or let its variable stay, as those of products of matrices do."""
        if stays or isinstance(assign.expr, MatrixRow) or assign.target in self._multiplied:
            self._expanded[assign.target] = self.symbol(assign.target)
            self.unknowns[assign.target] = assign.expr
        else:
            self._expanded[assign.target] = self.expand(assign.expr)

    def _keep(self, loop: Loop) -> None:
        self.unsolved_loops.append(loop)
        for t in loop.tears:
            self._expanded[t] = self.symbol(t)
        large = len(loop.tears) > FEW
        for assign in loop.body:
            shared = self._uses[assign.target] > 1 and not _is_alias(assign.expr)
            self._expand(assign, stays=large and shared)
        self.unknowns.update(zip(loop.tears, loop.definitions, strict=True))

    def _solve(self, loop: Loop) -> None:
        for t in loop.tears:
            self._expanded[t] = self.symbol(t)
        for assign in loop.body:
            self._expanded[assign.target] = self.expand(assign.expr)
        self.solved = True
        import sympy as sp

        symbols = [self.symbol(t) for t in loop.tears]
        zero = dict.fromkeys(symbols, sp.Integer(0))
        right = [self.expand(d).subs(zero) for d in loop.definitions]
        slopes = {a.target: a.expr for a in loop.tangents}
        matrix = [
            [sp.Integer(int(i == j)) - self.expand(inlined(e, slopes)) for j, e in enumerate(row)]
            for i, row in enumerate(loop.jacobian)
        ]
        values = [shown(e) for e in solve_symbolic(matrix, right, loop.tears)]
        solution = dict(zip(symbols, values, strict=True))
        for t, s in zip(loop.tears, symbols, strict=True):
            self._expanded[t] = solution[s]
        for assign in loop.body:
            self._expanded[assign.target] = self._expanded[assign.target].subs(solution)

    def rows(self, goals: Sequence[Expr], columns: Sequence[Var]) -> list[Row]:
        """Partial derivatives of expressions, accumulated assignment by assignment.

        A loop whose unknowns are among the columns is left open; any other is solved for its slopes.
        """
        memo: dict[Var, Row] = {v: {v: 1} for v in columns}
        for statement in self.statements:
            if isinstance(statement, Loop):
                self._loop_rows(statement, memo, solved=statement.tears[0] not in memo)
            elif statement.target not in memo:
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
                factor: Any = _whole(d.value)
            else:
                factor = self.expand(d)
            for key, value in inner.items():
                term = value if factor == 1 else factor * value
                row[key] = row[key] + term if key in row else term
        return {k: v for k, v in row.items() if v != 0}

    def _loop_rows(self, loop: Loop, memo: dict[Var, Row], solved: bool) -> None:
        import sympy as sp

        if not solved:
            for assign in loop.body:
                if assign.target not in memo:
                    memo[assign.target] = self._row(assign.expr, memo)
            return
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
        _check_size(matrix, loop.tears)
        for t in loop.tears:
            memo[t] = {}
        for key in keys:
            column = solve_symbolic(matrix, [row.get(key, 0) for row in ends], loop.tears)
            for t, value in zip(loop.tears, column, strict=True):
                if value != 0:
                    memo[t][key] = value
        for assign in loop.body:
            memo[assign.target] = self._row(assign.expr, memo)


def _is_alias(expr: Expr) -> bool:
    """Whether an expression is another variable, or its negative."""
    return isinstance(expr, Var) or (isinstance(expr, Op) and expr.name == "neg" and _is_alias(expr.args[0]))


def _whole(value: Number) -> Any:
    return int(value) if value == int(value) else value


def inlined(expr: Expr, slopes: dict[Var, Expr]) -> Expr:
    """Put the tangents of a loop into an entry of its Jacobian."""
    while any(v in slopes for v in variables(expr)):
        expr = substitute(expr, slopes)
    return expr


def _check_size(matrix: Sequence[Sequence[Any]], tears: Sequence[Var]) -> None:
    """Refuse a loop whose determinant has too many terms: one for each choice of a term in every row."""
    import sympy as sp

    if len(tears) <= FEW:
        return
    terms = 1
    for row in matrix:
        tops = [sp.fraction(sp.together(e))[0].expand() for e in row if e != 0]
        letters = [a for top in tops for a in sp.Add.make_args(top) if a.free_symbols]
        terms *= max(1, len(letters))
    if terms > MOST_TERMS:
        names = ", ".join(v.name for v in tears[:8]) + (", ..." if len(tears) > 8 else "")
        raise SolveError(
            f"in letters, the algebraic loop through {names} has {len(tears)} unknowns, and its solution "
            f"would be ratios of polynomials of some {terms:.0e} terms (at most {MOST_TERMS:.0e}); numeric() "
            "gives A, B, C and D as sparse numbers, equations() keeps the loop's own equations"
        )


def solve_fraction(matrix: Any, right: Any, names: Sequence[Var]) -> tuple[list[Any], Any]:
    """Solve a linear system in letters, without fractions on the way: numerators and their denominator.

    The rows are cleared of denominators, so that all arithmetic is that of polynomials; with fractions, every
    step would look for common divisors anew (the transfer function of four masses in a chain: 85 s, not 0.3).
    """
    import sympy as sp
    from sympy.polys.matrices import DomainMatrix
    from sympy.polys.matrices.exceptions import DMNonInvertibleMatrixError

    both = sp.Matrix(matrix).row_join(sp.Matrix([sp.sympify(r) for r in right]))
    both = both.applyfunc(lambda e: sp.nsimplify(e, rational=True) if e.has(sp.Float) else e)
    n = both.shape[0]
    letters: dict[Any, Any] = {}
    if DomainMatrix.from_Matrix(both).domain.is_EX:  # a root beside its square, sine beside cosine
        both = both.applyfunc(lambda e: _with_letters(e, letters))
    _, whole = DomainMatrix.from_Matrix(both).to_field().clear_denoms_rowwise(convert=True)
    try:
        numerators, denominator = whole.extract(range(n), range(n)).solve_den(
            whole.extract(range(n), [n]), method="charpoly"
        )
    except (DMNonInvertibleMatrixError, ZeroDivisionError):
        denominator = None
    if not denominator:
        raise SolveError(
            f"the equations for {', '.join(v.name for v in names[:8])} have no unique solution (singular); "
            "check the elements on this loop for zero or cancelling coefficients"
        )
    solved = [*numerators.to_Matrix(), whole.domain.to_sympy(denominator)]
    for function, letter in reversed(letters.items()):
        solved = [e.xreplace({letter: function}) for e in solved]
    return solved[:-1], solved[-1]


def _with_letters(expression: Any, letters: dict[Any, Any]) -> Any:
    """Return an expression with a letter for every function and root, which are kept, inner ones first."""
    import sympy as sp

    return expression.replace(
        lambda e: e.is_Function or (e.is_Pow and not e.exp.is_Integer),
        lambda e: letters.setdefault(e, sp.Dummy(f"f{len(letters)}")),
    )


def solve_symbolic(matrix: Any, right: Any, names: Sequence[Var]) -> list[Any]:
    """Solve a small linear system in letters; the solutions are cancelled."""
    import sympy as sp

    numerators, denominator = solve_fraction(matrix, right, names)
    return [sp.cancel(numerator / denominator) for numerator in numerators]


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
