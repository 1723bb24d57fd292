"""Exact integration of linear systems: as a whole by the matrix exponential, or mode by mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bondloop.engine.ir import Assign, Const, Expr, Op, Product, Step, Update, Var, instantiate
from bondloop.errors import InputError
from bondloop.integrate.base import Discretised, InputsAt, Integrator, check_period, linear_space, worked_in
from bondloop.integrate.tolerances import COUPLED_STATES, SUM_TERMS
from bondloop.structures import mode_step

if TYPE_CHECKING:
    from scipy import sparse

    from bondloop.engine import System

    Sparse: TypeAlias = sparse.csr_array[np.float64]


@dataclass(frozen=True)
class Exact(Integrator):
    """x(t+h) = e^(Ah) x + integral of e^(A(h-s)) B u(s) ds, for inputs as the hold has them.

    Parameters
    ----------
    hold
        ``"zero"``: inputs keep their value over the step; ``"first"``: they change linearly to the next one;
        ``"second"``: as a parabola through their value in the middle.

    Notes
    -----
    Parameter values are built into the matrices: a compiled test with this scheme keeps them.

    Examples
    --------
    An oscillation cos t, right to rounding however long the step:

    >>> import math
    >>> from bondloop.bondgraph import C, I, Model, One
    >>> from bondloop.hybrid import Simulation
    >>> mass = Model("mass")
    >>> mass.v, mass.spring = One(), C(stiffness=1, initial=1)
    >>> _ = mass.v >> [I(mass=1), mass.spring]
    >>> x = "mass.spring.displacement"
    >>> swing = Simulation({"mass": mass}, excitation={}, rate=10, integrator=Exact(), record=x).run(10)[x]
    >>> bool(abs(swing[-1] - math.cos(10)) < 1e-12)
    True
    """

    order: ClassVar[int] = 2
    hold: str = "zero"

    def __post_init__(self) -> None:
        if self.hold not in ("zero", "first", "second"):
            raise InputError(f"hold must be 'zero', 'first' or 'second'; found {self.hold!r}")

    def discretise(self, system: System, period: float, inputs: InputsAt, goals: list[Expr]) -> Discretised:
        """Write one step: one product with the matrix exponential."""
        h = check_period(period).value
        space = linear_space(system, "exact")
        phi, gamma0, gamma1, gamma2 = _van_loan(space.A.toarray(), space.B.toarray(), h, 3)
        gamma2 = 2 * gamma2
        first, table = self.at_start(system, period, inputs, goals)
        now = [inputs(0.0)[u] for u in system.input_vars]
        sources: list[Expr] = [*system.state_vars, *now]
        if self.hold == "zero":
            matrix = np.hstack([phi, gamma0])
        elif self.hold == "first":
            matrix = np.hstack([phi, gamma0 - gamma1, gamma1])
            sources += [inputs(1.0)[u] for u in system.input_vars]
        else:
            ends = gamma0 - 3 * gamma1 + 2 * gamma2, 2 * gamma2 - gamma1
            matrix = np.hstack([phi, ends[0], 4 * (gamma1 - gamma2), ends[1]])
            sources += [inputs(c)[u] for c in (0.5, 1.0) for u in system.input_vars]
        targets = tuple(Var(x.name + "@next") for x in system.state_vars)
        return Discretised(
            first,
            table,
            [
                Product(targets, matrix, tuple(sources), worked_in(system)),
                Update(tuple(zip(system.state_vars, targets, strict=True))),
            ],
        )


Triplets = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Rows, columns and values of entries."""


@dataclass(frozen=True)
class Modal(Integrator):
    """Exact steps of a linear system, part by part: modes in closed form, the rest by the matrix exponential.

    A system from `modal_system` falls into pairs q̇ = v, v̇ = -λ q - c v + b u; each is carried over the
    step exactly (undamped, damped, overdamped or rigid) for inputs that are held or linear. The step is one
    sparse product, its cost linear in the number of modes. Parts that do not come apart, up to 200 states
    each, are carried over by their matrix exponential, as `Exact` does for the whole.

    Parameters
    ----------
    hold
        ``"zero"``: inputs keep their value over the step; ``"first"``: they change linearly to the next one.

    Notes
    -----
    Parameter values are built into the matrices: a compiled test with this scheme keeps them.

    Examples
    --------
    A mode on which a force of 8 N acts from the start: 1 m (1 - cos 2t), in one step to a second.

    >>> import math
    >>> from bondloop.hybrid import Simulation
    >>> from bondloop.structures import Matrices, modal_system
    >>> matrices = Matrices([[2.0]], None, [[8.0]], ("mass.ux",))
    >>> one = modal_system(matrices, count=1, inputs=["mass.ux"], outputs=["mass.ux"])
    >>> pushed = Simulation({"one": one}, excitation={"mass.ux.force": 8.0}, rate=1, integrator=Modal())
    >>> print(f"{pushed.run(1)['one.mass.ux'][-1]:.6f} {1 - math.cos(2):.6f}")
    1.416147 1.416147
    """

    order: ClassVar[int] = 2
    hold: str = "zero"

    def __post_init__(self) -> None:
        if self.hold not in ("zero", "first"):
            raise InputError(f"hold must be 'zero' or 'first'; found {self.hold!r}")

    def discretise(self, system: System, period: float, inputs: InputsAt, goals: list[Expr]) -> Discretised:
        """Write one step: outputs as dot products, then one sparse product."""
        from scipy import sparse

        h = check_period(period).value
        space = linear_space(system, "modal")
        phi, constant, ramp = _propagators(space.A, space.B, h, system.states)
        now = inputs(0.0)
        given: dict[Var, Expr] = {v: v for v in system.state_vars}
        given.update(now)
        steps, table = instantiate(system.schedule(goals), given, "")
        first = _as_products(steps, system)
        sources: list[Expr] = [*system.state_vars, *(now[u] for u in system.input_vars)]
        columns = [phi, constant]
        if self.hold == "first":
            columns = [phi, constant - ramp, ramp]
            after = inputs(1.0)
            sources += [after[u] for u in system.input_vars]
        matrix = sparse.csr_array(sparse.hstack(columns))
        targets = tuple(Var(x.name + "@next") for x in system.state_vars)
        return Discretised(
            first,
            table,
            [
                Product(targets, matrix, tuple(sources), worked_in(system, goals)),
                Update(tuple(zip(system.state_vars, targets, strict=True))),
            ],
        )


def _propagators(A: Sparse, B: Sparse, h: float, names: Sequence[str]) -> tuple[Sparse, Sparse, Sparse]:
    """Return e^(Ah) and the effects of a constant input and of one that rises from 0 to 1, all sparse."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    A, B = sparse.csr_array(A), sparse.csr_array(B)
    A.eliminate_zeros()
    count, label = connected_components(A, directed=False)
    members = np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label, minlength=count))[:-1])
    pairs = [pair for pair in (_pair(A, m) for m in members if len(m) == 2) if pair]
    paired = {i for pair in pairs for i in pair}
    phi, constant, ramp = _of_pairs(A, B, h, np.array(pairs, dtype=np.int64).reshape(-1, 2))
    for m in members:
        if m[0] in paired:
            continue
        if len(m) > COUPLED_STATES:
            raise InputError(
                f"{len(m)} states are coupled with one another ({names[m[0]]}, {names[m[1]]}, ...), so they "
                f"are not single modes; at most {COUPLED_STATES} can be carried together: reduce the model "
                "with modal_system, or use another integrator"
            )
        for total, part in zip((phi, constant, ramp), _of_coupled(A, B, h, m), strict=True):
            total.append(part)
    n, k = A.shape[0], B.shape[1]
    return (
        _assembled(phi, (n, n)),
        _assembled(constant, (n, k)),
        _assembled(ramp, (n, k)),
    )


def _assembled(parts: list[Triplets], shape: tuple[int, int]) -> Sparse:
    from scipy import sparse

    if not parts:
        return sparse.csr_array(shape)
    i, j, v = (np.concatenate(x) for x in zip(*parts, strict=True))
    return sparse.coo_array((v, (i, j)), shape=shape).tocsr()


def _pair(A: Sparse, members: NDArray[np.int64]) -> tuple[int, int] | None:
    """Return (displacement, velocity) if two states are one mode."""
    a, b = (int(i) for i in members)
    block = A[[a, b]][:, [a, b]].toarray()
    if block[0, 0] == 0 and block[0, 1] == 1:
        return a, b
    if block[1, 1] == 0 and block[1, 0] == 1:
        return b, a
    return None


def _of_pairs(
    A: Sparse, B: Any, h: float, pairs: NDArray[np.int64]
) -> tuple[list[Triplets], list[Triplets], list[Triplets]]:
    q, v = pairs[:, 0], pairs[:, 1]
    if not len(q):
        return [], [], []
    k, c = -np.asarray(A[v, q]).ravel(), -np.asarray(A[v, v]).ravel()
    step = mode_step(k, c, h)
    phi = [(q, q, step.qq), (q, v, step.qv), (v, q, step.vq), (v, v, step.vv)]
    into_q, into_v = B[q].tocoo(), B[v].tocoo()
    # Integrals of the response of (q, v) to an impulse of v, and with φ_qq = φ_vv + c φ_qv to one of q.
    hold, rise = (step.q0 + step.q1, step.v0 + step.v1), (step.q1, step.v1)
    results: list[list[Triplets]] = []
    for of_q, of_v in (hold, rise):
        found: list[Triplets] = []
        for into, on_q, on_v in (
            (into_v, of_q, of_v),
            (into_q, of_v + c * of_q, -k * of_q),
        ):
            i, j = into.coords
            found += [(q[i], j, into.data * on_q[i]), (v[i], j, into.data * on_v[i])]
        results.append([t for t in found if len(t[0])])
    return phi, results[0], results[1]


def _of_coupled(
    A: Sparse, B: Sparse, h: float, members: NDArray[np.int64]
) -> tuple[Triplets, Triplets, Triplets]:
    """Return the triplets of e^(Ah), and of the integrals for held and for linear inputs."""

    def triplets(part: NDArray[np.float64], columns: NDArray[np.int64]) -> Triplets:
        i, j = part.nonzero()
        return members[i], columns[j], part[i, j]

    every = np.arange(B.shape[1])
    phi, held, rising = _van_loan(A[members][:, members].toarray(), B[members].toarray(), h, 2)
    return triplets(phi, members), triplets(held, every), triplets(rising, every)


def _van_loan(A: Any, B: Any, h: float, count: int) -> list[NDArray[np.float64]]:
    """Return e^(Ah), and the integrals of e^(A(h-s)) B (s/h)^j / j! for j = 0, 1, ..., by one exponential."""
    from scipy.linalg import expm

    n, m = B.shape
    block = np.zeros((n + count * m, n + count * m))
    block[:n, :n], block[:n, n : n + m] = A * h, B * h
    block[n : n + (count - 1) * m, n + m :] = np.eye((count - 1) * m)
    return np.split(expm(block)[:n], range(n, n + count * m, m) if m else [n] * count, axis=1)


def _as_products(steps: Sequence[Step], system: System) -> list[Step]:
    """Write long sums over states as products: all sums over the same states in one."""
    values = {p: float(x) for p, x in system.parameters_by_var.items() if x is not None}
    place = {x: i for i, x in enumerate(system.state_vars)}
    found: dict[tuple[int, ...], list[tuple[Var, dict[int, float]]]] = {}
    rest: list[Step] = []
    for step in steps:
        terms = _terms(step.expr, place, values) if isinstance(step, Assign) else None
        if terms is None or len(terms) < SUM_TERMS:
            rest.append(step)
        else:
            found.setdefault(tuple(sorted(terms)), []).append((step.writes[0], terms))
    products: list[Step] = []
    for columns, sums in found.items():
        matrix = np.array([[terms[j] for j in columns] for _, terms in sums])
        sources = tuple(system.state_vars[j] for j in columns)
        products.append(Product(tuple(target for target, _ in sums), matrix, sources))
    return [*products, *rest]


def _number(expr: Expr, values: dict[Var, float]) -> float | None:
    if isinstance(expr, Const):
        return expr.value
    return values.get(expr) if isinstance(expr, Var) else None


def _terms(expr: Expr, place: dict[Var, int], values: dict[Var, float]) -> dict[int, float] | None:
    """Return the weights of a sum of states, each with a number; None for anything else."""
    if not (isinstance(expr, Op) and expr.name == "add"):
        return None
    total: dict[int, float] = {}
    for term in expr.args:
        weight, x = 1.0, term
        if isinstance(x, Op) and x.name == "neg":
            weight, x = -1.0, x.args[0]
        if isinstance(x, Op) and x.name == "mul":
            factor, x = x.args
            number = _number(factor, values)
            if number is None:
                return None
            weight *= number
        if not isinstance(x, Var) or x not in place:
            return None
        total[place[x]] = total.get(place[x], 0.0) + weight
    return total
