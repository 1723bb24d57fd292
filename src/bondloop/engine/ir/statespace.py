"""Linear state space with names: E dx/dt = A x + B u, y = C x + D u."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from bondloop.display import brief
from bondloop.engine.data import number, si_array
from bondloop.engine.ir.matrices import SingularError, factorised
from bondloop.engine.ir.tolerances import DENSE_POLES, NULL_RANK
from bondloop.errors import InputError, SolveError, unknown_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy import signal, sparse

    Matrix: TypeAlias = sparse.csr_array[Any]
    Left = TypeVar("Left")
    Right = TypeVar("Right")
    Solution = TypeVar("Solution")


@dataclass(frozen=True)
class StateSpace:
    """Sparse descriptor state space, ``E dx/dt = A x + B u + F du/dt``, ``y = C x + D u + H du/dt``.

    Attributes
    ----------
    E, A, B, C, D
        Sparse arrays (CSR).
    F, H
        Effect of the inputs' rates: not zero where an input drives a storage in derivative causality.
    states, inputs, outputs
        Path names, in the order of the matrices.
    dt
        Sample period in seconds; 0 for continuous time.
    mode
        In words, the mode in which a system that switches was linearised: ``diode off, key closed``.

    Examples
    --------
    >>> from bondloop.bondgraph import C, I, Model, One, R, Se
    >>> m = Model("oscillator")
    >>> m.force, m.v = Se("F"), One()
    >>> _ = m.force >> m.v >> [I(mass=1.0), C(stiffness=25.0), R(damping=6.0)]
    >>> space = m.compile(outputs=["v.flow"]).numeric()
    >>> space.states, space.poles().real.round(9).tolist()  # s^2 + 6 s + 25
    (('I.momentum', 'C.displacement'), [-3.0, -3.0])
    """

    E: Matrix
    A: Matrix
    B: Matrix
    C: Matrix
    D: Matrix
    F: Matrix
    H: Matrix
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    dt: float = 0.0
    mode: str = ""

    __repr__ = brief

    @classmethod
    def from_blocks(  # noqa: PLR0913 - the blocks of one matrix and its names
        cls,
        X: sparse.csr_array[np.float64],
        U: sparse.csr_array[np.float64],
        R: sparse.csr_array[np.float64],
        V: sparse.csr_array[np.float64],
        dot_states: Sequence[int],
        *,
        states: Sequence[str],
        inputs: Sequence[str],
        outputs: Sequence[str],
        rated: Sequence[int],
        weights: Sequence[float],
    ) -> StateSpace:
        """Build from the eliminated program: rows are rates then outputs, columns x, u, du/dt, dx/dt.

        ``weights`` are what each rate is multiplied by on the left side.

        Parameters
        ----------
        X, U, R, V
            Sparse blocks of the matrix, by the columns that they belong to.
        dot_states
            Numbers of the states whose dx/dt have columns in V.
        states, inputs, outputs
            Their names.
        rated
            Numbers of the inputs whose rates have columns in R.
        weights
            One for each state.
        """
        from scipy import sparse

        n, m = len(states), len(inputs)
        names = (tuple(states), tuple(inputs), tuple(outputs))
        rates = R @ _selection(rated, m)
        E = (
            sparse.diags_array(np.asarray(weights, dtype=float), format="csr")
            if n
            else sparse.csr_array((0, 0))
        )
        C, D, H = X[n:], U[n:], rates[n:]
        if dot_states:
            full = V @ _selection(dot_states, n)
            E = (E - full[:n]).tocsr()
            solve = cls(E, X[:n], U[:n], C, D, rates[:n], H, *names)._solve_E
            through = full[n:]
            if through.nnz:  # outputs that need dx/dt: put the solved rates in
                C, D, H = (_sum(M, through, solve(N[:n])) for M, N in ((C, X), (D, U), (H, rates)))
            else:
                solve(sparse.csr_array((n, 1)))
        E, A, B, C, D, F, H = (sparse.csr_array(M) for M in (E, X[:n], U[:n], C, D, rates[:n], H))
        return cls(E, A, B, C, D, F, H, *names)

    def _solve_E(self, right: sparse.csr_array[np.float64]) -> sparse.csr_array[np.float64]:
        from scipy import sparse

        try:
            return sparse.csr_array(factorised(self.E)(right))
        except SingularError:
            involved = np.flatnonzero(np.diff(sparse.csr_array(self.E).indptr) != 1)[:8]
            raise SolveError(
                "E is singular: the dependent storages leave dx/dt undetermined; states involved: "
                + ", ".join(self.states[int(i)] for i in involved)
            ) from None

    @property
    def is_explicit(self) -> bool:
        """Whether E is the identity and no input rate appears."""
        from scipy import sparse

        return bool(
            (self.E - sparse.eye_array(self.E.shape[0])).nnz == 0 and self.F.nnz == 0 and self.H.nnz == 0
        )

    def explicit(self) -> StateSpace:
        """Return the equivalent system with E = I and without input rates.

        With ``z = x - E^-1 F u`` the input's rate disappears from the state equation. An output that needs an
        input's rate has no proper state space and is refused.
        """
        if self.is_explicit:
            return self
        result = self._resolved()
        if result.H.nnz:
            row, column = (int(k[0]) for k in result.H.nonzero())
            raise SolveError(
                f"output '{self.outputs[row]}' depends on the rate of input '{self.inputs[column]}' "
                "(a storage is driven directly by a source), so it has no proper state space; "
                "choose another output, or put a compliance between source and storage"
            )
        return result

    def _resolved(self) -> StateSpace:
        """Return the equivalent system with E = I and F = 0; an output may still need an input's rate.

        So ``D + s H`` is the polynomial part of the transfer functions and ``C (s I - A)^-1 B`` their
        strictly proper rest.
        """
        from scipy import sparse

        if self.is_explicit:
            return self
        A, B, F = (self._solve_E(M) for M in (self.A, self.B, self.F))
        H = sparse.csr_array(self.H)
        H.eliminate_zeros()
        return replace(
            self,
            E=sparse.eye_array(self.A.shape[0], format="csr"),
            A=sparse.csr_array(A),
            B=sparse.csr_array(B + A @ F),
            D=sparse.csr_array(self.D + self.C @ F),
            F=sparse.csr_array(self.F.shape),
            H=H,
        )

    def poles(self) -> NDArray[np.complex128]:
        """Poles in rad/s, sorted by magnitude.

        Returns
        -------
        complex array
            Roots of det(A - s E).
        """
        n = self.A.shape[0]
        if n > DENSE_POLES:
            raise InputError(
                f"poles of {n} states would need a dense matrix; "
                "reduce the model or use scipy.sparse.linalg.eigs"
            )
        values = np.linalg.eigvals(self._resolved().A.toarray()) if n else np.zeros(0, complex)
        return np.asarray(values[np.lexsort((values.imag, np.abs(values)))], dtype=complex)

    def frequency_response(self, omega: ArrayLike) -> NDArray[np.complex128]:
        """Response C (jw E - A)^-1 (B + jw F) + D + jw H.

        Parameters
        ----------
        omega
            Angular frequencies in rad/s, shape (n,).

        Returns
        -------
        complex array
            Shape (n, outputs, inputs).
        """
        from scipy import sparse
        from scipy.sparse.linalg import splu

        omega = np.atleast_1d(si_array(omega, "omega", "rad/s"))
        result = np.empty((len(omega), self.C.shape[0], self.B.shape[1]), dtype=complex)
        small = self.A.shape[0] <= 200
        E, A, B, F, C, D, H = (
            M.toarray() if small else M for M in (self.E, self.A, self.B, self.F, self.C, self.D, self.H)
        )
        for k, w in enumerate(omega):
            s = 1j * w
            right = B + s * F
            if small:
                x = _at_frequency(_scaled_solve, s * E - A, right, w)
                result[k] = C @ x + D + s * H
            else:
                M = sparse.csc_array(s * E - A)
                x = _at_frequency(lambda m, b: splu(m).solve(b), M, right.toarray(), w)
                result[k] = C @ x + (D + s * H).toarray()
        return result

    def zeros(
        self,
        output: str | None = None,
        input: str | None = None,  # noqa: A002
    ) -> NDArray[np.complex128]:
        """Transmission zeros of a channel (or of the whole square system), in rad/s, sorted by magnitude.

        Parameters
        ----------
        output, input
            Names of the channel's two ends; None: all of them, which must be as many.
        """
        system = self._resolved()
        rows = (
            list(range(len(self.outputs)))
            if output is None
            else [named_index("output", output, self.outputs)]
        )
        cols = list(range(len(self.inputs))) if input is None else [named_index("input", input, self.inputs)]
        if len(rows) != len(cols):
            raise InputError("zeros need as many outputs as inputs; name one output and one input")
        A, B, C, D, H = (M.toarray() for M in (system.A, system.B, system.C, system.D, system.H))
        channel = np.ix_(rows, cols)
        return transmission_zeros(A, B[:, cols], C[rows], D[channel], H[channel])

    def transfer_function(
        self,
        output: str,
        input: str,  # noqa: A002
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Numerator and denominator polynomials, highest power first, from zeros, poles and gain.

        Where the output needs the input's rate, the numerator is longer than the denominator;
        ``np.polydiv(numerator, denominator)`` gives the polynomial part and the rest.

        Parameters
        ----------
        output, input
            Names of the channel's two ends.
        """
        explicit = self._resolved()
        zeros = explicit.zeros(output, input)
        poles = explicit.poles()
        i, j = named_index("output", output, self.outputs), named_index("input", input, self.inputs)
        # The gain is fixed by one point away from poles and zeros.
        size = np.concatenate([np.abs(zeros), np.abs(poles), [1.0]])
        s = 1j * 1.7 * float(np.median(size))
        value = explicit.frequency_response([s.imag])[0, i, j]
        gain = value * np.prod(s - poles) / np.prod(s - zeros)
        numerator, denominator = (np.atleast_1d(np.real(np.poly(roots))) for roots in (zeros, poles))
        return np.real(gain) * numerator, denominator

    def to_scipy(self) -> signal.StateSpace:
        """Return a ``scipy.signal.StateSpace`` (or, with ``dt``, its discrete form)."""
        from scipy import signal

        s = self.explicit()
        matrices = [M.toarray() for M in (s.A, s.B, s.C, s.D)]
        return signal.StateSpace(*matrices, **({"dt": self.dt} if self.dt else {}))

    def to_control(self) -> Any:
        """Return a python-control ``StateSpace`` (extra ``control``).

        python-control does not allow dots in the names of inputs and outputs: ``v.flow`` becomes ``v_flow``.
        ``System.from_control()`` gives the path names back.
        """
        try:
            import control
        except ImportError:
            raise InputError(
                "to_control() needs the package 'control': pip install bondloop[control]"
            ) from None
        s = self.explicit()
        inputs = [name.replace(".", "_") for name in self.inputs]
        outputs = [name.replace(".", "_") for name in self.outputs]
        for short, names in ((inputs, self.inputs), (outputs, self.outputs)):
            if len(set(short)) != len(short):
                raise InputError(f"the names {', '.join(names)} are not distinct once '.' is written as '_'")
        matrices = (M.toarray() for M in (s.A, s.B, s.C, s.D))
        plant = control.ss(*matrices, self.dt, states=list(self.states), inputs=inputs, outputs=outputs)
        plant.path_names = dict(zip([*inputs, *outputs], [*self.inputs, *self.outputs], strict=True))
        return plant


def _selection(columns: Sequence[int], width: int) -> sparse.csr_array[np.float64]:
    """Sparse matrix with a one in the given column of each row."""
    from scipy import sparse

    rows = len(columns)
    place = (np.arange(rows), np.array(columns, dtype=np.int64))
    return sparse.coo_array((np.ones(rows), place), shape=(rows, width)).tocsr()


def _sum(
    M: sparse.csr_array[np.float64],
    through: sparse.csr_array[np.float64],
    solved: sparse.csr_array[np.float64],
) -> sparse.csr_array[np.float64]:
    """``M + through @ solved``, with what cancels to rounding made zero."""
    total = (M + through @ solved).tocoo()
    size = (abs(M) + abs(through) @ abs(solved)).tocsr()
    scale = np.asarray(size[total.row, total.col]).ravel()
    total.data[np.abs(total.data) <= 1e-14 * scale] = 0.0
    total.eliminate_zeros()
    return total.tocsr()


def _scaled_solve(matrix: NDArray[np.complex128], right: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Solve with rows and columns scaled to 1: pivots of flows lose digits beside stiffnesses."""
    rows = 1 / np.maximum(np.abs(matrix).max(axis=1, initial=0.0), 1e-300)
    columns = 1 / np.maximum(np.abs(matrix * rows[:, None]).max(axis=0, initial=0.0), 1e-300)
    scaled = np.linalg.solve(matrix * rows[:, None] * columns, right * rows[:, None])
    return np.asarray(scaled * columns[:, None])


def _at_frequency(solve: Callable[[Left, Right], Solution], matrix: Left, right: Right, w: float) -> Solution:
    try:
        return solve(matrix, right)
    except (np.linalg.LinAlgError, RuntimeError):
        raise SolveError(
            f"the frequency response at {w:g} rad/s is infinite: a pole lies there; leave this frequency out"
        ) from None


def named_index(kind: str, name: str, known: Sequence[str]) -> int:
    """Return the position of a name, or raise with suggestions."""
    try:
        return known.index(name)
    except ValueError:
        raise InputError(unknown_name(kind, name, known)) from None


def named_vector(
    kind: str, given: Mapping[str, float] | ArrayLike | None, names: Sequence[str]
) -> NDArray[np.float64]:
    """Return a vector from a mapping of names (missing ones zero) or a sequence of the right length."""
    result = np.zeros(len(names))
    if given is None:
        return result
    if isinstance(given, Mapping):
        for key, value in given.items():
            result[named_index(kind, key, names)] = number(value, f"{kind} '{key}'")
        return result
    try:
        vector = si_array(given, f"{kind}s")
    except InputError:
        raise InputError(f"{kind}s: expected {len(names)} numbers; found {given!r:.60}") from None
    if vector.shape != (len(names),):
        raise InputError(f"{kind}s: expected {len(names)} values, found shape {vector.shape}")
    if not np.isfinite(vector).all():
        i = int(np.argmin(np.isfinite(vector)))
        raise InputError(f"{kind} '{names[i]}': expected a finite number; found {vector[i]}")
    return vector


Dense = NDArray[np.float64]


def transmission_zeros(
    A: Dense, B: Dense, C: Dense, D: Dense, H: Dense | None = None
) -> NDArray[np.complex128]:
    """Finite zeros of a square system, sorted by magnitude; ``H`` is what the inputs' rates give.

    The pencil [[A - s I, B], [C, D]] is reduced by orthogonal transformations until the feed-through is
    invertible; what is left has the finite zeros as eigenvalues (Emami-Naeini and Van Dooren 1982,
    doi:10.1016/0005-1098(82)90070-X).
    """
    from scipy.linalg import matrix_balance

    if H is not None and H.any():
        A, B, C, D = _with_rates(A, B, C, D, H)
    if A.shape[0]:
        balanced, (scale, _) = matrix_balance(A, permute=False, separate=True)
        A = np.asarray(balanced, dtype=float)
        B, C = B / scale[:, None], C * scale
    # Units of inputs and outputs do not move zeros; bring them to the size of A.
    size = max(float(np.abs(A).max(initial=0.0)), 1e-300)
    columns = np.abs(np.vstack([B, D])).max(axis=0, initial=0.0)
    B, D = B * size / np.where(columns > 0, columns, 1.0), D * size / np.where(columns > 0, columns, 1.0)
    rows = np.abs(np.hstack([C, D])).max(axis=1, initial=0.0)
    rows = np.where(rows > 0, rows, 1.0)[:, None]
    C, D = C * size / rows, D * size / rows
    tolerance = NULL_RANK * size
    A, B, C, D = _reduce(A, B, C, D, tolerance)
    A, B, C, D = (M.T for M in _reduce(A.T, C.T, B.T, D.T, tolerance))
    B, C = C, B
    if not A.shape[0]:
        return np.zeros(0, dtype=complex)
    if D.shape[0] != D.shape[1]:
        return np.zeros(0, dtype=complex)  # the channel transmits nothing: every s is a zero, none is finite
    values = np.linalg.eigvals(A - B @ np.linalg.solve(D, C) if D.size else A)
    return np.asarray(values[np.argsort(np.abs(values), kind="stable")], dtype=complex)


def _reduce(A: Dense, B: Dense, C: Dense, D: Dense, tolerance: float) -> tuple[Dense, ...]:
    """Return an equivalent system whose D has full row rank."""
    while True:
        p, n = C.shape
        if not p:
            return A, B, C, D
        U, s, _ = np.linalg.svd(D) if D.shape[1] else (np.eye(p), np.zeros(0), None)
        sigma = int((s > tolerance).sum())
        C, D = U.T @ C, U.T @ D
        if sigma == p:
            return A, B, C, D
        upper, lower, D = C[:sigma], C[sigma:], D[:sigma]
        _, s, V = np.linalg.svd(lower) if n else (None, np.zeros(0), np.eye(0))
        rho = int((s > tolerance).sum())
        if not rho:
            return A, B, upper, D
        V = np.roll(V.T, -rho, axis=1)  # columns that the lower outputs do not see come first
        A, B, upper = V.T @ A @ V, V.T @ B, upper @ V
        nu = n - rho
        C = np.vstack([upper[:, :nu], A[nu:, :nu]])
        D = np.vstack([D, B[nu:]])
        # The states seen directly are forced: the part of A and B that drives them becomes an output ...
        A, B = A[:nu, :nu], B[:nu]


def _with_rates(A: Dense, B: Dense, C: Dense, D: Dense, H: Dense) -> tuple[Dense, ...]:
    """Return a system with the same zeros whose outputs need no input rates.

    Where an output is zero, ``C x + D u + H du/dt = 0`` gives the rates of as many combinations of inputs as
    ``H`` has rank: they become states, and these outputs are used up.
    """
    U, s, V = np.linalg.svd(H)
    rank = int((s > NULL_RANK * s[0]).sum())
    B, C, D = B @ V.T, U.T @ C, U.T @ D @ V.T
    top = -1 / s[:rank, None]
    A = np.block([[A, B[:, :rank]], [top * C[:rank], top * D[:rank, :rank]]])
    B = np.vstack([B[:, rank:], top * D[:rank, rank:]])
    return A, B, np.hstack([C[rank:], D[rank:, :rank]]), D[rank:, rank:]
