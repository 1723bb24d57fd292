"""A structure, a scheme, a load: one tick, and its response; schemes by name, and their work."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import brief
from bondloop.engine.codegen import Runner
from bondloop.engine.data import number
from bondloop.engine.ir import (
    Channel,
    Const,
    Expr,
    Factored,
    Loop,
    Op,
    Product,
    Repeat,
    Role,
    Step,
    Tick,
    Var,
)
from bondloop.engine.passes import from_sympy
from bondloop.errors import InputError, SolveError, unknown_name
from bondloop.integrate.base import check_period
from bondloop.integrate.structural.base import (
    Array,
    EquationOfMotion,
    Motion,
    Restoring,
    Scheme,
    square,
    stepped_by,
)
from bondloop.integrate.structural.explicit import CentralDifference, ChenRicles, KRAlpha, NewmarkExplicit
from bondloop.integrate.structural.implicit import AlphaOS, HHTAlpha, NewmarkImplicit, Rosenbrock
from bondloop.integrate.tolerances import DIVERGED
from bondloop.signals import Constant, Signal, Signals, Table, tabulated_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike


SCHEMES: tuple[type[Scheme], ...] = (
    CentralDifference,
    NewmarkExplicit,
    AlphaOS,
    HHTAlpha,
    NewmarkImplicit,
    ChenRicles,
    KRAlpha,
    Rosenbrock,
)
"""Every scheme that `find_scheme` knows."""


def find_scheme(name: str) -> type[Scheme]:
    """Return a scheme by its name here, in OpenSees or in the literature.

    Parameters
    ----------
    name
        Of the class, in OpenSees, or another that the literature has; case does not matter.

    Examples
    --------
    >>> find_scheme("KRAlphaExplicit").__name__, find_scheme("cr").__name__
    ('KRAlpha', 'ChenRicles')
    >>> find_scheme("AlphaOSS")
    Traceback (most recent call last):
    bondloop.errors.InputError: unknown scheme 'AlphaOSS'; did you mean 'AlphaOS' or ...
    """
    known: dict[str, type[Scheme]] = {}
    for scheme in SCHEMES:
        for spelt in (scheme.__name__, scheme.opensees, *scheme.aliases):
            if spelt:
                known.setdefault(spelt, scheme)
    wanted = {spelt.lower(): scheme for spelt, scheme in known.items()}
    if name.lower() not in wanted:
        raise InputError(unknown_name("scheme", name, known))
    return wanted[name.lower()]


@dataclass(frozen=True)
class Response:
    """Motion of a structure.

    Attributes
    ----------
    time
        Instants in seconds, shape (steps + 1,).
    displacement, velocity, acceleration
        Shape (steps + 1, n), in SI units.
    command
        Displacements at which the restoring force was last asked for in the step that begins at each instant.
    backend
        ``"c"`` or ``"numpy"``.
    """

    time: Array
    displacement: Array
    velocity: Array
    acceleration: Array
    command: Array
    backend: str

    __repr__ = brief


def simulate_structure(  # noqa: PLR0913 - what to integrate, and how
    scheme: Scheme,
    M: ArrayLike,
    C: ArrayLike | None,
    K: ArrayLike | None,
    period: float | str,
    steps: int,
    *,
    load: Any = None,
    restoring: Callable[..., Any] | None = None,
    initial: tuple[ArrayLike, ArrayLike] | None = None,
    dofs: Sequence[str] | None = None,
    backend: str = "auto",
) -> Response:
    """Integrate M ü + C u̇ + K u + r(u, u̇) = F with a scheme for structures.

    Parameters
    ----------
    scheme
        The scheme, with the estimates of the specimen that it needs.
    M, C, K
        Matrices, shape (n, n); numbers where n = 1; None is zero.
    period
        Time step in seconds.
    steps
        How many.
    load
        External forces: an array of shape (steps + 1, n), interpolated within steps; or one entry per
        degree of freedom: a number or a `Signal`.
    restoring
        The specimen: a function of the displacements, or of the displacements and velocities (lists of SymPy
        symbols), that gives the forces, one per degree of freedom. Or, with three arguments, a `Restoring`.
    initial
        Displacements and velocities at t = 0; at rest if left out. The accelerations follow from equilibrium.
    dofs
        Names of the degrees of freedom; ``u1``, ``u2``, ... if left out.
    backend
        As for `Runner`.

    Examples
    --------
    A softening spring of initial stiffness 400 N/m, known to the scheme, that yields at 1 N:

    >>> import sympy as sp
    >>> from bondloop.integrate.structural import AlphaOS
    >>> run = simulate_structure(
    ...     AlphaOS(specimen_stiffness=400),
    ...     1,
    ...     0.2,
    ...     None,
    ...     period=0.01,
    ...     steps=300,
    ...     restoring=lambda u: [sp.tanh(400 * u[0])],
    ...     initial=(0, 0.1),
    ... )
    >>> print(f"{run.displacement.max():.4f}")
    0.0067
    """
    if steps < 0:
        raise InputError(f"steps must be from 0 up; found {steps}")
    tick, table = structure_tick(
        scheme, M, C, K, period, steps, load=load, restoring=restoring, initial=initial, dofs=dofs
    )
    runner = Runner(tick, backend)
    result = runner.run(steps + 1, table)
    if not result.finished:
        raise SolveError(_diverged(scheme, tick, M, K, f"{result.message}"))
    rows = np.column_stack(list(result.channels.values()))
    u, v, a, command = np.split(rows, 4, axis=1)
    return Response(result.time, u, v, a, command, runner.backend)


def structure_tick(  # noqa: PLR0913 - what to integrate, and how
    scheme: Scheme,
    M: ArrayLike,
    C: ArrayLike | None,
    K: ArrayLike | None,
    period: float | str,
    steps: int = 0,
    *,
    load: Any = None,
    restoring: Callable[..., Any] | None = None,
    initial: tuple[ArrayLike, ArrayLike] | None = None,
    dofs: Sequence[str] | None = None,
) -> tuple[Tick, Array | None]:
    """Build the tick of `simulate_structure`, and the table of its inputs, if it has any.

    Parameters
    ----------
    scheme, M, C, K, period, steps, load, restoring, initial, dofs
        As for `simulate_structure`.

    Examples
    --------
    >>> from bondloop.integrate.structural import ChenRicles
    >>> tick, _ = structure_tick(ChenRicles(), 1, 0, 4, period=0.1, initial=(1, 0))
    >>> {v.name: value for v, value in tick.states.items()}["u1.acceleration"]
    -4.0
    """
    period = number(period, "period", "s")
    check_period(period)
    size = _size(M)
    mass = square("the mass matrix", M, size)
    damping, stiffness = square("the damping matrix", C, size), square("the stiffness matrix", K, size)
    names = tuple(dofs) if dofs is not None else tuple(f"u{i + 1}" for i in range(size))
    if len(names) != size or len(set(names)) != size:
        raise InputError(f"dofs: expected {size} different names; found {', '.join(names)}")
    motion = Motion.named(names, prefix="")
    t, k = Var("t"), Var("k")
    forces = Signals(t, period)
    loads = dict(zip(names, _loads(load, size, steps, period), strict=True))

    def load_at(fraction: float) -> list[Expr]:
        return [forces.at(f"{name}.load", signal, fraction) for name, signal in loads.items()]

    specimen = restoring_from(restoring, size)
    equation = EquationOfMotion(mass, damping, stiffness, period, motion, load_at, specimen)
    made = stepped_by(scheme, equation)
    u0, v0 = (
        _vector(word, x, size)
        for word, x in zip(("displacements", "velocities"), initial or (0, 0), strict=True)
    )
    start = {**dict(zip(motion.displacement, u0, strict=True)), **dict(zip(motion.velocity, v0, strict=True))}
    asked, r = specimen(motion.displacement, motion.velocity, "start")
    channels = [Channel(str(i), e) for i, e in enumerate([*r, *load_at(0.0)])]
    signals = [signal for signal, _, _ in forces.tables.values()]
    table = tabulated_inputs(signals, steps + 1, period) if signals else None
    before = Tick("start", period, t, k, forces.inputs, start, {}, (*forces.steps, *asked), tuple(channels))
    r0, F0 = _at_start(before, table).reshape(2, size)
    unbalanced = F0 - r0 - damping @ v0 - stiffness @ u0
    # Without mass there is no acceleration: the pseudo-inverse leaves such degrees of freedom at zero.
    a0 = np.linalg.pinv(mass, hermitian=bool(np.allclose(mass, mass.T))) @ unbalanced
    start.update(zip(motion.acceleration, a0.tolist(), strict=True))
    channels = [
        Channel.of(v.name, v, v.quantity, Role.STATE)
        for group in (motion.displacement, motion.velocity, motion.acceleration)
        for v in group
    ]
    channels += [
        Channel.of(f"{u}.command", e, v.quantity, Role.COMMAND)
        for u, e, v in zip(names, made.command, motion.displacement, strict=True)
    ]
    tick = Tick(
        "structure", period, t, k, forces.inputs, {**start, **made.initial(start)}, {},
        (*forces.steps, *made.steps), tuple(channels), {v.name: DIVERGED for v in motion.displacement},
    )  # fmt: skip
    return tick, table


def _size(matrix: Any) -> int:
    """Return the number of rows of a matrix, sparse or not; 1 of a number."""
    return len(
        np.atleast_2d(matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix, dtype=float))
    )


def restoring_from(law: Callable[..., Any] | None, size: int) -> Restoring:
    """Return the `Restoring` of a law written as a function of lists of SymPy symbols."""
    if law is None:
        return lambda _u, _v, _label: ([], [Const(0.0)] * size)
    count = len(inspect.signature(law).parameters)
    if count == 3:
        return law
    if count not in (1, 2):
        raise InputError(
            "restoring: expected a function of displacements, or of displacements and velocities; "
            f"found {count} arguments"
        )

    def ask(u: Sequence[Expr], v: Sequence[Expr], _label: str) -> tuple[list[Step], list[Expr]]:
        import sympy as sp

        symbols = [sp.symbols(f"{word}:{size}", real=True) for word in ("u", "v")]
        table: dict[Any, Expr] = dict(zip((*symbols[0], *symbols[1]), (*u, *v), strict=True))
        found = law(*symbols[:count])
        forces = list(found) if isinstance(found, (list, tuple, np.ndarray)) else [found]

        def known(symbol: Any) -> Expr:
            if symbol not in table:
                raise InputError(f"restoring: the symbol '{symbol}' has no value; put a number for it")
            return table[symbol]

        return [], [from_sympy(f, known, "restoring") for f in forces]

    return ask


def _vector(what: str, given: ArrayLike, size: int) -> Array:
    found = np.asarray(given, dtype=float)
    if found.ndim == 0:
        found = np.full(size, float(found))
    if found.shape != (size,) or not np.isfinite(found).all():
        raise InputError(f"initial {what}: expected {size} finite numbers; found {given!r}")
    return found


def _at_start(tick: Tick, table: Array | None) -> Array:
    """Return the channels of a tick at t = 0."""
    result = Runner(tick, "numpy").run(1, None if table is None else table[:1])
    values = np.array([c[0] for c in result.channels.values()]) if result.finished else np.array([np.nan])
    if not np.isfinite(values).all():
        raise InputError(
            "the restoring force or the load at t = 0 is not finite; check the initial displacements"
        )
    return values


def _diverged(scheme: Scheme, tick: Tick, M: ArrayLike, K: ArrayLike | None, message: str) -> str:
    """Say that a response diverged, and what the scheme's limit has to do with it."""
    name = type(scheme).__name__
    text = f"{name}: the response diverged ({message})"
    if np.isfinite(scheme.limit) and K is not None:
        mass, stiffness = (square("", X, _size(X)) for X in (M, K))
        fastest = tick.period * float(
            np.sqrt(np.abs(np.linalg.eigvals(np.linalg.solve(mass, stiffness))).max())
        )
        text += (
            f"; ω·period reaches {fastest:.3g} without the specimen, the scheme's limit is "
            f"{scheme.limit:.3g}: shorten the period"
        )
    else:
        text += "; is the estimate of the specimen's stiffness too low?"
    return text


def _loads(load: Any, n: int, steps: int, period: float) -> list[Signal]:
    """Return the force on each degree of freedom as a signal."""
    if load is None:
        load = [0.0] * n
    elif isinstance(load, Signal) or np.isscalar(load):
        load = [load]
    if isinstance(load, np.ndarray) or any(isinstance(e, (list, tuple, np.ndarray)) for e in load):
        rows = np.asarray(load, dtype=float)
        rows = rows[:, None] if rows.ndim == 1 and n == 1 else rows
        if rows.shape != (steps + 1, n):
            raise InputError(
                f"load: expected an array of shape ({steps + 1}, {n}), a row per instant; found {rows.shape}"
            )
        return [Table(np.arange(steps + 1) * period, column) for column in rows.T]
    if len(load) != n:
        raise InputError(f"load: expected {n} entries, one per degree of freedom; found {len(load)}")
    return [e if isinstance(e, Signal) else Constant(number(e, "load")) for e in load]


@dataclass(frozen=True)
class Work:
    """Work of a list of statements.

    Attributes
    ----------
    statements
        Assignments, each target of a matrix product and of an update counting as one.
    multiplications
        Multiplications, divisions and function calls; entries of a matrix that are zero do not count.
    """

    statements: int
    multiplications: int


def work(steps: Iterable[Step]) -> Work:
    """Count what a list of statements without algebraic loops computes.

    Parameters
    ----------
    steps
        The statements.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import Var
    >>> from bondloop.engine.ir.statement import Assign
    >>> work([Assign(Var("y"), 2 * Var("x") + 1)])
    Work(statements=1, multiplications=1)
    """
    statements = multiplications = 0
    for step in steps:
        if isinstance(step, Loop):
            raise TypeError("the work of an algebraic loop depends on its solver")
        if isinstance(step, Repeat):
            once = work(step.body)
            statements += step.count * once.statements
            multiplications += step.count * once.multiplications
            continue
        statements += len(step.writes)
        multiplications += sum(_count(e) for e in step.expressions)
        if isinstance(step, Product):
            kept = [not isinstance(e, Const) or e.value != 0.0 for e in step.sources]
            multiplications += _entries(step.matrix, kept)
    return Work(statements, multiplications)


def _entries(matrix: Any, kept: list[bool]) -> int:
    """Return how many numbers of a matrix are multiplied."""
    if isinstance(matrix, Factored):
        return matrix.entries
    return int(
        matrix[:, kept].count_nonzero() if hasattr(matrix, "tocsr") else np.count_nonzero(matrix[:, kept])
    )


def _count(expr: Expr) -> int:
    if not isinstance(expr, Op):
        return 0
    own = 0 if expr.name in ("add", "neg", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not") else 1
    return own + sum(_count(a) for a in expr.args)
