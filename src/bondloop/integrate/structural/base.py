"""Schemes for M ü + C u̇ + K u + r(u, u̇) = F, the form in which hybrid simulation knows them.

The restoring force ``r`` belongs to the specimen: an expression in a rehearsal of the scheme alone, a rig
in a hybrid test. A scheme asks for it by handing over trial displacements and velocities and gets
statements and forces back; how often it asks is fixed, so its work is bounded.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bondloop.display import brief
from bondloop.engine.data import Described
from bondloop.engine.ir import (
    FACTORED_ROWS,
    Assign,
    Const,
    ConstantMatrix,
    Expr,
    Factored,
    MatrixRow,
    Product,
    SingularError,
    Step,
    Update,
    Var,
    as_expr,
    evaluate,
    worth_factors,
)
from bondloop.engine.passes import call_part, expect_statements
from bondloop.errors import InputError, ModelError
from bondloop.integrate.base import check_period
from bondloop.integrate.tolerances import DENSE_ENTRIES, SINGULAR
from bondloop.structures import dof_domain

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


Array = NDArray[np.float64]
Vector = NDArray[np.object_]
"""Expressions, one for each degree of freedom, that are added and multiplied like numbers."""
Term = tuple[NDArray[Any], Sequence[Expr] | Vector]
"""A matrix, and the vector that it multiplies."""
Terms = Sequence[Term]
"""What is added up."""

Restoring = Callable[[Sequence[Expr], Sequence[Expr], str], tuple[list[Step], list[Expr]]]
"""``restoring(displacements, velocities, label)`` gives statements and the forces r after them, one per
degree of freedom. ``label`` is unique to the call and goes into variable names."""


def square(what: str, matrix: ArrayLike | None, size: int) -> Array:
    """Return a finite matrix of a given size; None is zero, a number stands for a matrix of one entry.

    >>> square("the mass matrix", [[1, 2]], 2)
    Traceback (most recent call last):
    bondloop.errors.InputError: the mass matrix must have the shape (2, 2); found (1, 2)
    """
    if matrix is None:
        return np.zeros((size, size))
    dense: Any = cast("Any", matrix).toarray() if hasattr(matrix, "toarray") else matrix
    found = np.atleast_2d(np.asarray(dense, dtype=float))
    if found.shape != (size, size):
        raise InputError(f"{what} must have the shape ({size}, {size}); found {found.shape}")
    if not np.isfinite(found).all():
        raise InputError(f"{what} has entries that are not finite")
    return found


class Inverse:
    """A number times the inverse of a matrix, which is formed only where it is asked for as an array.

    Parameters
    ----------
    left
        The matrix.
    factor
        The number.

    Examples
    --------
    >>> half = 0.5 * Inverse(np.eye(2))
    >>> (half @ np.ones((2, 2))).tolist(), np.asarray(-half)[0].tolist(), half.factors
    ([[0.5, 0.5], [0.5, 0.5]], [-0.5, -0.0], None)
    """

    __array_ufunc__ = None  # so that numbers of NumPy leave products to this class

    def __init__(self, left: Array, factor: float = 1.0) -> None:
        self.left, self.factor = left, factor

    def __rmul__(self, number: float) -> Inverse:
        return Inverse(self.left, float(number) * self.factor)

    def __neg__(self) -> Inverse:
        return Inverse(self.left, -self.factor)

    def __matmul__(self, other: ArrayLike) -> Array:
        return np.asarray(np.asarray(self) @ np.asarray(other), dtype=float)

    def __rmatmul__(self, other: ArrayLike) -> Array:
        return np.asarray(np.asarray(other) @ np.asarray(self), dtype=float)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.array(self.factor * np.linalg.inv(self.left), dtype=dtype or float)

    @cached_property
    def factors(self) -> Factored | None:
        """The factors, where solving with them is less work than a product with the inverse."""
        if len(self.left) < FACTORED_ROWS or not self.factor:
            return None
        found = Factored(self.left / self.factor)
        try:
            return found if worth_factors(found) else None
        except SingularError:
            return None


@dataclass(frozen=True)
class Motion:
    """The state of a structure: displacements, velocities, accelerations; variables that the tick keeps.

    Parameters
    ----------
    displacement, velocity, acceleration
        One variable for each degree of freedom.

    Examples
    --------
    >>> Motion.named(["tip.uy"]).velocity[0].name
    'numerical.tip.uy.velocity'
    """

    displacement: tuple[Var, ...]
    velocity: tuple[Var, ...]
    acceleration: tuple[Var, ...]

    __repr__ = brief

    @classmethod
    def named(cls, dofs: Sequence[str], prefix: str = "numerical.") -> Motion:
        """Variables named after degrees of freedom: ``numerical.tip.uy.displacement``.

        Parameters
        ----------
        dofs
            Their names, ``"tip.uy"``; the domain, and so the units, follow from ``u`` or ``r``.
        prefix
            Put before each name.
        """
        domains = [dof_domain(d) for d in dofs]
        words = {"displacement": "displacement", "velocity": "flow", "acceleration": "acceleration"}
        return cls(
            *(
                tuple(
                    Var(f"{prefix}{d}.{word}", quantity=getattr(domain, kind))
                    for d, domain in zip(dofs, domains, strict=True)
                )
                for word, kind in words.items()
            )
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the degrees of freedom."""
        return tuple(v.name.removesuffix(".displacement") for v in self.displacement)


@dataclass
class Stepped:
    """One step of a scheme.

    Attributes
    ----------
    steps
        Statements; they end with an update of all states.
    states
        Variables of the scheme's own beyond the motion, with initial values for a start from rest.
    starts
        Initial values of some of ``states`` for a start from elsewhere, as expressions of the initial motion.
    command
        The displacements with which the restoring force was last asked for, or what a rig was last given.
    parameters
        Constants that can be changed without compiling anew.
    error
        Forces out of balance at the beginning of the step, one for each degree of freedom, if they are known.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import Var
    >>> u, last = Var("u"), Var("u@last")
    >>> Stepped(states={last: 0.0}, starts={last: u - 0.01}).initial({u: 0.25})
    {<Var u@last>: 0.24}
    """

    steps: list[Step] = field(default_factory=list)
    states: dict[Var, float] = field(default_factory=dict)
    command: list[Expr] = field(default_factory=list)
    starts: dict[Var, Expr] = field(default_factory=dict)
    parameters: dict[Var, float] = field(default_factory=dict)
    error: list[Var] = field(default_factory=list)

    __repr__ = brief

    def initial(self, motion: Mapping[Var, float]) -> dict[Var, float]:
        """Return initial values of the scheme's own states for given values of the motion."""
        given = dict(motion)
        return {**self.states, **{v: evaluate(e, given) for v, e in self.starts.items()}}


@dataclass(frozen=True)
class EquationOfMotion:
    """M ü + C u̇ + K u + r(u, u̇) = F over one step: what a scheme writes its statements from.

    Parameters
    ----------
    M, C, K
        Matrices of the numerical half; ``K`` may also serve as the initial stiffness that a scheme needs.
    period
        Time step in seconds.
    motion
        The states at the beginning of the step.
    load
        External forces at a fraction of the step, one per degree of freedom.
    restoring
        Gives the specimen's forces; a `Coupling` where a rig does.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> motion = Motion.named(["u"], "")
    >>> equation = EquationOfMotion(one, 0 * one, 4 * one, 0.1, motion, load=None, restoring=None)
    >>> equation.displacement + 0.1 * equation.velocity
    array([<Op u.displacement + 0.1*u.velocity>], dtype=object)
    """

    M: Array
    C: Array
    K: Array
    period: float
    motion: Motion
    load: Callable[[float], Sequence[Expr]]
    restoring: Restoring

    __repr__ = brief

    def __post_init__(self) -> None:
        object.__setattr__(self, "period", check_period(self.period).value)

    @property
    def displacement(self) -> Vector:
        """The displacements at the beginning of the step."""
        return np.array(self.motion.displacement, dtype=object)

    @property
    def velocity(self) -> Vector:
        """The velocities at the beginning of the step."""
        return np.array(self.motion.velocity, dtype=object)

    @property
    def acceleration(self) -> Vector:
        """The accelerations at the beginning of the step."""
        return np.array(self.motion.acceleration, dtype=object)

    @property
    def eye(self) -> Array:
        """The identity matrix."""
        return np.eye(len(self.M))

    def named(self, *words: str) -> list[Vector]:
        """Return vectors of new variables, one vector for each of ``words``: ``tip.uy.predicted``."""
        return [np.array([Var(f"{name}.{word}") for name in self.motion.names], object) for word in words]

    def restoring_force(
        self, displacement: Vector, velocity: Vector, label: str
    ) -> tuple[list[Step], Vector]:
        """Return statements that ask for the restoring force, and the variables that have it.

        Parameters
        ----------
        displacement, velocity
            Of the specimen.
        label
            Unique to the call.
        """
        steps, forces = self.restoring(list(displacement), list(velocity), label)
        if len(forces) != len(self.M):
            raise InputError(
                f"the restoring force must have {len(self.M)} components, one per degree of freedom; found "
                f"{len(forces)}"
            )
        [targets] = self.named(f"restoring@{label}")
        return [*steps, *assigned(targets, forces)], targets

    def unbalanced(
        self, fraction: float, r: Vector, v: Vector, u: Vector
    ) -> list[tuple[NDArray[Any], Sequence[Expr] | Vector]]:
        """Return the terms of F - r - C v - K u.

        Parameters
        ----------
        fraction
            Of the step: where the load is taken.
        r, v, u
            Restoring forces, velocities and displacements.
        """
        return [(self.eye, self.load(fraction)), (-self.eye, r), (-self.C, v), (-self.K, u)]

    def solved(self, targets: Vector, inverse: Inverse | Array, terms: Terms, word: str) -> list[Step]:
        """Return statements for ``targets = inverse @ sum of matrix @ vector`` over terms.

        One product, or two where the sum is sparse and takes fewer multiplications on its own; ``word`` names
        it. The second is a solution with the factors of the matrix where that takes less than its inverse.

        Parameters
        ----------
        targets
            What is solved for.
        inverse
            Of the matrix on the left-hand side.
        terms
            The right-hand side.
        word
            Names it.
        """
        [total] = self.named(word)
        if isinstance(inverse, Inverse):
            if inverse.factors is not None:
                return [*combination(total, terms), Product(tuple(targets), inverse.factors, tuple(total))]
            inverse = np.asarray(inverse)
        merged = [(inverse @ matrix, vector) for matrix, vector in terms]
        apart = sum(np.count_nonzero(matrix) for matrix, _ in terms) + np.count_nonzero(inverse)
        if sum(np.count_nonzero(matrix) for matrix, _ in merged) <= apart:
            return combination(targets, merged)
        return [*combination(total, terms), *combination(targets, [(inverse, total)])]

    def update(self, u: Vector, v: Vector, a: Vector, own: Mapping[Var, Expr] | None = None) -> Update:
        """Return the update that ends a step.

        Parameters
        ----------
        u, v, a
            The motion at its end.
        own
            Next values of the scheme's own states.
        """
        m = self.motion
        pairs = zip((*m.displacement, *m.velocity, *m.acceleration), (*u, *v, *a), strict=True)
        return Update((*pairs, *(own or {}).items()))

    def of_acceleration(self, matrix: Array, word: str, targets: Vector) -> dict[Var, Expr]:
        """Return initial values: a matrix times the acceleration.

        Parameters
        ----------
        matrix, word
            The matrix, and its name.
        targets
            The variables that get them.
        """
        named = ConstantMatrix(matrix, word)
        return {var: MatrixRow(named, i, self.motion.acceleration) for i, var in enumerate(targets)}

    def inverse(self, matrix: Array, what: str, remedy: str) -> Inverse:
        """Return an inverse, or an error that names the degree of freedom which makes a matrix singular.

        Parameters
        ----------
        matrix
            Any of this size.
        what, remedy
            What it is, and what to do where it is singular.
        """
        result = Inverse(matrix)
        if result.factors is not None:
            return result
        scale = np.sqrt(np.abs(matrix).max(axis=1, initial=0.0))
        bad = np.flatnonzero(scale == 0.0)
        scaled = matrix / np.outer(scale, scale) if not len(bad) else matrix
        # The condition number of sums of columns takes a tenth of the time, and is at most n times too small.
        if len(matrix) and not len(bad) and len(matrix) * np.linalg.cond(scaled, 1) * SINGULAR >= 1:
            _, s, right = np.linalg.svd(scaled)
            bad = np.abs(right[-1:]).argmax(axis=1) if s[-1] <= SINGULAR * s[0] else bad
        if len(bad):
            raise InputError(f"{what} is singular at '{self.motion.names[int(bad[0])]}'; {remedy}")
        return result

    def mass_inverse(self, scheme: Scheme) -> Inverse:
        """Return the inverse of the mass matrix, which an explicit ``scheme`` needs."""
        return self.inverse(
            self.M,
            "the mass matrix",
            f"{type(scheme).__name__} is explicit and divides by the mass: give this degree of freedom a "
            "mass, condense it, or take AlphaOS, HHTAlpha or NewmarkImplicit",
        )


class Scheme(Described, ABC, family="scheme"):
    """A time-stepping scheme for structures."""

    order: ClassVar[int] = 2
    """Order of accuracy."""
    opensees: ClassVar[str] = ""
    """Name of the scheme in OpenSees, by which users may look for it."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names in the literature."""
    explicit: ClassVar[bool] = False
    """Whether the numerical half too is stepped without solving for its end; its mass must then be
    regular."""

    __repr__ = brief

    @property
    def calls(self) -> int:
        """How often a step asks for the restoring force."""
        return 1

    @property
    def control(self) -> str:
        """What a rig is given: ``"displacement"`` or ``"acceleration"``."""
        return "displacement"

    @property
    def limit(self) -> float:
        """Largest ω·period at which an undamped linear oscillator stays bounded."""
        return float("inf")

    @abstractmethod
    def advance(self, equation: EquationOfMotion) -> Stepped:
        """Write one step from t to t + period of an ``equation`` of motion."""


def stepped_by(scheme: Scheme, equation: EquationOfMotion) -> Stepped:
    """Return the step that a scheme writes, looked at: a command for each degree of freedom."""
    made = call_part(scheme, "advance", equation)
    where = f"{type(scheme).__name__}.advance"
    if not isinstance(made, Stepped):
        raise ModelError(f"{where}: expected Stepped(steps, command=...); found {made!r:.60}")
    expect_statements(made.steps, where)
    if len(made.command) != len(equation.M):
        raise ModelError(
            f"{where}: expected command with {len(equation.M)} entries, one for each degree of "
            f"freedom; found {len(made.command)}"
        )
    made.command = [as_expr(e) for e in made.command]
    return made


def combination(targets: Sequence[Var] | Vector, terms: Terms) -> list[Step]:
    """Statements for ``targets = sum of matrix @ vector`` over terms, as one constant matrix product.

    What is multiplied by zero is left out; large matrices are kept sparse.
    """
    from scipy import sparse

    n = len(targets)
    blocks: list[Any] = []
    sources: list[Expr] = []
    for matrix, vector in terms:
        block = np.atleast_2d(np.asarray(matrix, dtype=float))
        if block.shape != (n, len(vector)):
            raise InputError(
                f"a matrix of shape {block.shape} does not fit {n} targets and {len(vector)} sources"
            )
        acts = [not (isinstance(e, Const) and e.value == 0.0) for e in vector]
        small = n * len(vector) <= DENSE_ENTRIES
        blocks.append(block[:, acts] if small else sparse.csr_array(block)[:, acts])
        sources += [e for e, acting in zip(vector, acts, strict=True) if acting]
    if all(isinstance(block, np.ndarray) for block in blocks):
        return [Product(tuple(targets), np.hstack(blocks), tuple(sources))]
    return [Product(tuple(targets), sparse.csr_array(sparse.hstack(blocks)), tuple(sources))]


def assigned(targets: Sequence[Var] | Vector, values: Sequence[Expr] | Vector) -> list[Step]:
    """Statements that give targets their values, one by one."""
    return [Assign(t, v) for t, v in zip(targets, values, strict=True)]


@dataclass(frozen=True)
class Estimating(Scheme, family="scheme"):
    """A scheme that takes the specimen's force as r + K_s (u - u*) + C_s (v - v*) around what it asked for.

    The estimates K_s and C_s decide about stability, not about the order of accuracy: u* and v* differ from
    the end of the step by terms of second order.

    Parameters
    ----------
    specimen_stiffness, specimen_damping
        Estimates, shape (n, n), in N/m and Ns/m; a number where n = 1; zero if left out. In a pseudo-dynamic
        test also of the interface alone, in its order: a number where there is one interface. For a
        softening specimen take the initial stiffness, for a hardening one the largest.
    """

    specimen_stiffness: Any = field(default=None, kw_only=True)
    specimen_damping: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Keep matrices as tuples, so that schemes compare and hash as values."""
        for name in ("specimen_stiffness", "specimen_damping"):
            given = getattr(self, name)
            if given is not None:
                dense = given.toarray() if hasattr(given, "toarray") else given
                rows = np.atleast_2d(np.asarray(dense, dtype=float)).tolist()
                object.__setattr__(self, name, tuple(tuple(row) for row in rows))

    def estimates(self, size: int) -> tuple[Array, Array]:
        """Return the estimated stiffness and damping matrices of this ``size``; zero without any."""
        return (
            square("specimen_stiffness", self.specimen_stiffness, size),
            square("specimen_damping", self.specimen_damping, size),
        )


def spread(scheme: Scheme, at: Sequence[int], size: int) -> Scheme:
    """Return a scheme with estimates of all degrees of freedom, where it has those of an interface.

    Parameters
    ----------
    scheme
        Any.
    at
        Numbers of the interface's degrees of freedom.
    size
        How many degrees of freedom there are.
    """
    if not isinstance(scheme, Estimating) or len(at) == size:
        return scheme
    changes = {}
    for name in ("specimen_stiffness", "specimen_damping"):
        small = getattr(scheme, name)
        if small is not None and np.shape(small) == (len(at), len(at)):
            whole = np.zeros((size, size))
            whole[np.ix_(at, at)] = small
            changes[name] = whole
    return replace(scheme, **changes) if changes else scheme


def between(scheme: Scheme, name: str, value: float, low: float, high: float, remark: str = "") -> None:
    """Refuse a parameter outside its stable range."""
    if not low <= value <= high:
        allowed = f"between {low:g} and {high:g}" if math.isfinite(high) else f"at least {low:g}"
        raise InputError(
            f"{type(scheme).__name__}: {name} must be {allowed} for a stable scheme; found {value:g}{remark}"
        )


def check_alpha(scheme: Scheme, alpha: float) -> None:
    """Refuse an α outside [-1/3, 0], and recognise OpenSees' own."""
    hint = f" (OpenSees' alpha is 1 + ours: give {alpha - 1:g})" if 2 / 3 - 1e-9 <= alpha < 1 else ""
    between(scheme, "alpha", alpha, -1 / 3, 0.0, hint)
