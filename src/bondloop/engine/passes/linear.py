"""Sparse state space, straight from the list of assignments.

The assignments of a linear (or linearised) program read ``w = W w + G g`` with ``w`` all assigned variables
and ``g`` the states, inputs and tears. Without loops ``W`` is nilpotent: a causal path has finite length. So
``(I - W)^-1 = (I + W)(I + W^2)(I + W^4)...`` ends after log2(longest path) sparse products, and nothing is
ever factorised. Loops are solved for their tears only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.ir import (
    Const,
    Expr,
    MatrixRow,
    Op,
    SingularError,
    StateSpace,
    Var,
    VectorNumbers,
    evaluate,
    factorised,
    is_linear,
    partials,
    refuse_unknown,
    shortened,
    singular_loop,
    tear,
    variables,
)
from bondloop.engine.passes.descriptor_form import rate_rows
from bondloop.engine.passes.mode_resolution import folded, needed
from bondloop.errors import SolveError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from bondloop.engine.analysis.simulation import Key
    from bondloop.engine.ir import Compressed, SystemData


class SingularLoopError(SolveError):
    """An algebraic loop has no unique solution: ``matrix @ tears = right @ (states, inputs, rates)``."""

    def __init__(self, message: str, matrix: Compressed, right: Compressed) -> None:
        super().__init__(message)
        self.matrix, self.right = matrix, right

    def bound(self) -> NDArray[np.float64]:
        """Return how much each column takes part in what must vanish for there to be a solution."""
        H, G = self.matrix.toarray(), self.right.toarray()
        left, sizes, _ = np.linalg.svd(H)
        loose = left[:, sizes <= 1e-10 * max(sizes.max(initial=0.0), 1.0)]
        weights = np.abs(loose.T @ G).max(axis=0, initial=0.0)
        return np.asarray(np.where(weights > 1e-9 * np.abs(G).max(initial=0.0), weights, 0.0), dtype=float)


class NonlinearError(SolveError):
    """A derivative depends on the operating point, and none was given."""


class _Rows:
    """Collects the partial derivatives of expressions as sparse matrix entries."""

    def __init__(self, columns: Mapping[Var, int], values: dict[Var, float], at_point: bool) -> None:
        self.columns, self.values, self.at_point = columns, values, at_point
        self.i: list[int] = []
        self.j: list[int] = []
        self.v: list[float] = []
        self.number = VectorNumbers()
        self.vectors: dict[int, Any] = {}
        self.blocks: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []

    def add(self, row: int, expr: Expr) -> None:
        """Add the row of one expression."""
        if type(expr) is MatrixRow and self._product(row, expr):
            return
        start = len(self.v)
        if not self._linear(row, expr, 1.0):
            del self.i[start:], self.j[start:], self.v[start:]
            self._general(row, expr)

    def _product(self, row: int, expr: MatrixRow) -> bool:
        """Add the entries of a row of a matrix at once; False where it multiplies more than variables."""
        vector = self.vectors.get(self.number(expr.args))
        if vector is None:
            minus = [isinstance(a, Op) and a.name == "neg" for a in expr.args]
            plain = [a.args[0] if m else a for a, m in zip(expr.args, minus, strict=True)]  # type: ignore[attr-defined]
            found = [self.columns.get(a, -1) if isinstance(a, Var) else -1 for a in plain]
            vector = self.vectors[self.number(expr.args)] = (np.array(found), np.where(minus, -1.0, 1.0))
        columns, values = expr.matrix.row(expr.index)
        places, signs = (part[columns] for part in vector)
        if (places < 0).any():
            return False
        self.blocks.append((np.full(len(places), row), places, signs * values))
        return True

    def _linear(self, row: int, expr: Expr, factor: float) -> bool:  # noqa: PLR0911, PLR0912 - the hot path
        """Add the entries of a sum of variables times constants; False where it is anything else."""
        kind = type(expr)
        if kind is Var:
            column = self.columns.get(expr)  # type: ignore[call-overload]
            if column is None:
                self._value(expr)  # type: ignore[arg-type]
                self._constant(expr, expr)
            else:
                self.i.append(row)
                self.j.append(column)
                self.v.append(factor)
            return True
        if kind is not Op:
            return False
        name, args = expr.name, expr.args  # type: ignore[attr-defined]
        if name == "add":
            for a in args:
                # A junction's sum, plus or minus one each, is most of a large model: no call for those.
                sign = factor
                if type(a) is Op and a.name == "neg":
                    a, sign = a.args[0], -factor  # noqa: PLW2901
                column = self.columns.get(a) if type(a) is Var else None
                if column is None:
                    if not self._linear(row, a, sign):
                        return False
                else:
                    self.i.append(row)
                    self.j.append(column)
                    self.v.append(sign)
            return True
        if name == "neg":
            return self._linear(row, args[0], -factor)
        if name == "mul":
            a, b = args
            if type(a) is Var and a not in self.columns:
                return self._linear(row, b, factor * self._value(a))
            return type(b) is Var and b not in self.columns and self._linear(row, a, factor * self._value(b))
        if name == "div":
            a, b = args
            if type(b) is Var and b not in self.columns:
                if not self._value(b):
                    raise SolveError(f"'{shortened(expr)}' cannot be computed: {b.name} is zero")
                return self._linear(row, a, factor / self.values[b])
        return False

    def _value(self, var: Var) -> float:
        """Return the value of a parameter; there is none of what a pass has left without an assignment."""
        if var not in self.values:
            refuse_unknown([var])
        return self.values[var]

    def _constant(self, expr: Expr, term: Expr) -> None:
        if not self.at_point:
            raise NonlinearError(
                f"the model is not linear: '{shortened(expr)}' has the constant term '{term}'; "
                "use linearise(states=..., inputs=...) at an operating point"
            )

    def _entry(self, row: int, column: int, value: float) -> None:
        self.i.append(row)
        self.j.append(column)
        self.v.append(value)

    def _general(self, row: int, expr: Expr) -> None:
        if not self.at_point and not is_linear(expr, self.values):
            raise NonlinearError(
                f"the model is nonlinear: '{shortened(expr)}'; "
                "use linearise(states=..., inputs=...) at an operating point"
            )
        for var, d in partials(expr).items():
            column = self.columns.get(var)
            if column is None:
                continue
            try:
                self._entry(row, column, evaluate(d, self.values))
            except (ZeroDivisionError, ValueError, OverflowError) as error:
                raise SolveError(
                    f"the slope of '{shortened(expr)}' cannot be computed here: {error}"
                ) from error

    def matrix(self, rows: int) -> Any:
        from scipy import sparse

        shape = (rows, len(self.columns))
        whole = [(np.array(self.i, np.int64), np.array(self.j, np.int64), np.array(self.v, float))]
        i, j, v = (np.concatenate(part) for part in zip(*whole, *self.blocks, strict=True))
        return sparse.coo_array((v, (i, j)), shape=shape).tocsr()


def state_space(system: SystemData, values: dict[Var, float], *, at_point: bool) -> StateSpace:
    """Eliminate everything but states, inputs and their rates.

    Rates that others need are in E. Where a loop leaves something open as long as these rates are given (a
    flow that goes round a ring and cancels, but is the rate of a state), they are unknowns of it too.

    Parameters
    ----------
    system
        The compiled system.
    values
        Numbers for all parameters; at an operating point also for all other variables.
    at_point
        Whether to linearise; otherwise anything that is not linear is refused.
    """
    try:
        return _with_rates_in_E(system, values, at_point)
    except SingularLoopError:
        if not system.dots:
            raise
        try:
            return _with_rates_in_E(system.replaced(dots={}), values, at_point)
        except SolveError:
            pass
        raise


def numeric(system: SystemData, values: Mapping[str, float] | None = None) -> StateSpace:
    """Return the sparse matrices of a linear system; of any other there are none without a point.

    Parameters
    ----------
    system
        What is linear.
    values
        Parameter values that replace the model's own.
    """
    system.refuse_switching("matrices without a point")
    return state_space(system, system.values(values), at_point=False)


def linearised(
    system: SystemData,
    states: Mapping[str, float] | ArrayLike | None = None,
    inputs: Mapping[str, float] | ArrayLike | None = None,
    values: Mapping[str, float] | None = None,
) -> StateSpace:
    """Return the sparse matrices of a system that does not switch at an operating point.

    Parameters
    ----------
    system
        What to linearise.
    states, inputs
        By name, the others as the model starts or gives them; or a full vector.
    values
        Parameter values that replace the model's own.
    """
    numbers = system.values(values)
    x, u = system.initial(states), system.operating_inputs(inputs)
    if not system.is_linear:
        result = system.definition_values(
            x.tolist(), u.tolist(), [0.0] * len(system.input_rates), list(numbers.values())
        )
        numbers = {**numbers, **dict(zip(system.definitions, result, strict=True))}
        numbers.update(zip(system.state_vars, x.tolist(), strict=True))
        numbers.update(zip(system.input_vars, u.tolist(), strict=True))
        numbers.update(dict.fromkeys(system.input_rates.values(), 0.0))
    return state_space(system, numbers, at_point=True)


def check_loops(system: SystemData, values: dict[Var, float]) -> None:
    """Raise a `SingularLoopError` where a loop has no unique solution, the rates that others need given."""
    body = _Body(system, values, at_point=True)
    if body.tears:
        body.solved()


class _Body:
    """The assignments at a point, in terms of what is given: states, inputs, rates; and the loops in them."""

    def __init__(self, system: SystemData, values: dict[Var, float], at_point: bool) -> None:
        dots = list(system.dots.values())
        is_dot = set(dots)
        self.names = [v for v in system.definitions if v not in is_dot]
        known = [*system.state_vars, *system.input_vars, *system.input_rates.values(), *dots]
        self.count, self.head = len(self.names), len(known)
        self.columns = {v: i for i, v in enumerate([*self.names, *known])}
        rows = _Rows(self.columns, values, at_point)
        definitions = system.definitions
        for i, v in enumerate(self.names):
            rows.add(i, definitions[v])
        full = rows.matrix(self.count)
        self.W, self.G = full[:, : self.count].tocsc(), full[:, self.count :].tocsr()
        self.tears = _tears(self.W, self.names, definitions, system.tears)

    def solved(self) -> sparse.csr_array[np.float64]:
        """Return every assigned variable per column of what is given."""
        from scipy import sparse

        W, G, tears = self.W, self.G, self.tears
        if tears:
            G = sparse.hstack([G, W[:, tears]]).tocsr()
            keep = np.ones(self.count)
            keep[tears] = 0.0
            W = W @ sparse.diags_array(keep)
        Y = nilpotent_solve(W.tocsr(), G)
        return with_tears(Y, tears, self.head, [self.names[t].name for t in tears])


def _with_rates_in_E(system: SystemData, values: dict[Var, float], at_point: bool) -> StateSpace:
    """Return the state space with the rates that others need in E."""
    body = _Body(system, values, at_point)
    n_x, n_u, n_r = len(system.state_vars), len(system.input_vars), len(system.input_rates)
    ends = _Rows(body.columns, values, at_point)
    rows = rate_rows(system)
    weights = [1.0 if mass is None else evaluate(mass, values) for _, mass in rows]
    goals = [*(row for row, _ in rows), *system.output_exprs.values()]
    for i, expr in enumerate(goals):
        ends.add(i, expr)
    last = ends.matrix(len(goals))
    result = (last[:, : body.count] @ body.solved()) + last[:, body.count :]
    cut = np.cumsum([n_x, n_u, n_r])
    result = result.tocsc()
    X, U, R, V = (result[:, a:b] for a, b in zip([0, *cut], [*cut, body.head], strict=True))
    number = {s: i for i, s in enumerate(system.state_vars)}
    dot_states = [number[s] for s in system.dots]
    return StateSpace.from_blocks(
        X.tocsr(),
        U.tocsr(),
        R.tocsr(),
        V.tocsr(),
        dot_states,
        states=system.states,
        inputs=system.inputs,
        outputs=system.outputs,
        rated=[system.input_vars.index(u) for u in system.input_rates],
        weights=weights,
    )


def _tears(
    W: sparse.csc_array[np.float64],
    names: Sequence[Var],
    definitions: Mapping[Var, Expr],
    preferred: Sequence[Var],
) -> list[int]:
    """Rows of the variables that break every loop of ``W``."""
    from scipy.sparse.csgraph import connected_components

    count, labels = connected_components(W, directed=True, connection="strong")
    looped = W.diagonal() != 0
    if count == len(names) and not looped.any():
        return []
    sizes = np.bincount(labels, minlength=count)
    groups: dict[int, list[Var]] = {}
    for row in np.flatnonzero((sizes[labels] > 1) | looped):
        groups.setdefault(int(labels[row]), []).append(names[int(row)])
    row_of = {v: i for i, v in enumerate(names)}
    rank = {v: i for i, v in enumerate(preferred)}
    return sorted(row_of[t] for members in groups.values() for t in tear(members, definitions, rank)[0])


def nilpotent_solve(
    W: sparse.csr_array[np.float64], G: sparse.csr_array[np.float64]
) -> sparse.csr_array[np.float64]:
    """Return (I - W)^-1 G for a nilpotent W: a finite product, see above."""
    Y = G
    for _ in range(64):
        W.eliminate_zeros()
        if W.nnz == 0:
            return Y
        Y = Y + W @ Y
        W = W @ W
    raise SolveError("internal: the causal order is not finite")  # pragma: no cover


def with_tears(
    Y: sparse.csr_array[np.float64], tears: Sequence[int], head: int, names: Sequence[str]
) -> sparse.csr_array[np.float64]:
    """Solve the loops for their tears, whose columns stand from ``head`` on, and put the solution back."""
    if not tears:
        return Y
    from scipy import sparse

    Z = Y[tears, :].tocsc()
    H = sparse.eye_array(len(tears), format="csc") - Z[:, head:]
    try:
        solution = sparse.csr_array(factorised(H)(Z[:, :head]))
    except SingularError:
        raise SingularLoopError(singular_loop(names), H, Z[:, :head]) from None
    return Y[:, :head] + Y[:, head:] @ solution


def slopes(
    system: SystemData, x: Sequence[float], u: Sequence[float], values: Mapping[str, float] | None
) -> sparse.csr_array[np.float64]:
    """Return the slopes of the rates at a point, as a sparse matrix."""
    return _explicit(
        numeric(system, values) if system.is_linear else linearised(system, list(x), list(u), values)
    )


def mode_slopes(
    system: SystemData, modes: Key, x: Sequence[float], u: Sequence[float], values: Mapping[str, float]
) -> sparse.csr_array[np.float64]:
    """Return the same in one mode of a system that switches; those of modes are zero.

    Storages that follow from others are states here, as they are for a solver.
    """
    from scipy.sparse import csr_array

    rules = [rule for part in system.switching for rule in part.rules]
    constants: dict[Var, Expr] = {r.mode: Const(m) for r, m in zip(rules, modes, strict=True)}
    places = [i for i, v in enumerate(system.state_vars) if v not in constants]
    rates = {system.state_vars[i]: folded(system.rate_exprs[i], constants) for i in places}
    definitions = needed(system.definitions, rates.values(), lambda e: folded(e, constants))
    used = {v for e in (*rates.values(), *definitions.values()) for v in variables(e)}
    mode = system.replaced(
        states=rates,
        outputs={},
        definitions=definitions,
        tears=[v for v in system.tears if v in definitions],
        initial={},
        dots={v: dot for v, dot in system.dots.items() if v in rates and dot in used},
        input_rates={v: rate for v, rate in system.input_rates.items() if rate in used},
        lookup=None,
        switching=(),
    )
    A = slopes(mode, [x[i] for i in places], u, values).tocoo()
    n = len(system.state_vars)
    rows, columns = ([places[k] for k in part] for part in (A.row.tolist(), A.col.tolist()))
    return csr_array((A.data, (rows, columns)), shape=(n, n))


def _explicit(space: StateSpace) -> sparse.csr_array[np.float64]:
    from scipy.sparse import csr_array, eye_array

    if (space.E - eye_array(space.E.shape[0])).nnz == 0:
        return csr_array(space.A)
    return csr_array(factorised(space.E)(space.A))
