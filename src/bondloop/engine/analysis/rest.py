"""Where a system of one mode comes to rest: one that is linear by projection, any other followed in time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.analysis import tolerances
from bondloop.engine.ir import NULL_RANK, SingularError, factorised
from bondloop.engine.passes import linearised, numeric
from bondloop.errors import SolveError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.ir import SystemData


def equilibrated(
    A: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return ``diag(rows) @ A @ diag(columns)`` with entries of size one, rows and columns."""
    rows, columns = np.ones(A.shape[0]), np.ones(A.shape[1])
    M = A
    for _ in range(4):
        size = np.sqrt(np.abs(M).max(axis=1, initial=0.0))
        rows /= np.where(size > 0, size, 1.0)
        size = np.sqrt(np.abs(rows[:, None] * A * columns).max(axis=0, initial=0.0))
        columns /= np.where(size > 0, size, 1.0)
        M = rows[:, None] * A * columns
    return M, rows, columns


def null(A: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns that A maps to zero.

    >>> null(np.array([[1e6, -1e6], [-1e-3, 1e-3]])).round(6).tolist()
    [[0.707107], [0.707107]]
    """
    M, _, columns = equilibrated(A)
    _, sizes, V = np.linalg.svd(M)
    rank = int(np.sum(sizes > NULL_RANK * sizes.max(initial=0.0)))
    # Rounding is made zero here, where entries are of size one: in units of the columns it may look large.
    basis = columns[:, None] * np.where(np.abs(V[rank:].T) > 1e-13, V[rank:].T, 0.0)
    basis = basis / np.where((size := np.linalg.norm(basis, axis=0)) > 0, size, 1.0)
    signs = np.sign(basis[np.abs(basis).argmax(axis=0), range(basis.shape[1])])
    return np.asarray(basis * signs, dtype=float)


def left_null(A: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns whose products with A are zero: what A never changes."""
    return null(A.T)


def solved(A: NDArray[np.float64], f: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve A x = f, by the smallest x where A is singular."""
    M, rows, columns = equilibrated(A)
    z = np.linalg.lstsq(M, rows * f, rcond=NULL_RANK)[0]
    return np.asarray(columns * z, dtype=float)


def rest_of(
    system: SystemData,
    inputs: Mapping[str, float] | None,
    values: Mapping[str, float] | None,
    x0: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return where a system that does not switch comes to rest; arguments as for `steady_state`."""
    if system.is_linear:
        return _linear(system, system.operating_inputs(inputs), values, x0)
    return Rest(system, inputs, values, x0).found()


def _linear(
    system: SystemData,
    u: NDArray[np.float64],
    values: Mapping[str, float] | None,
    x0: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return where a linear system rests: x - x0 has no part in what is conserved."""
    space = numeric(system, values)
    if len(x0) > tolerances.DENSE_REST:
        try:
            return np.asarray(-factorised(space.A)(space.B @ u), dtype=float)
        except SingularError:
            pass
    solve = factorised(space.E)
    A, b = solve(space.A), solve(space.B @ u)
    # Pascals beside metres: from here on each state is counted in a unit in which it is of the others' size.
    balance, A = state_units(A)
    x0, b = x0 / balance, b / balance
    particular = -solved(A, b)
    # What is left over cannot be balanced; what is less than rounding of the terms is nothing.
    left = A @ particular + b
    # A state that should be zero is rounding of the others, each counted in a unit of its own.
    unit = equilibrated(A)[2]
    rounding = unit * np.abs(particular / unit).max(initial=0.0)
    terms = np.abs(A) @ (
        tolerances.BALANCED_RATES * np.abs(particular) + 1e-12 * rounding
    ) + tolerances.BALANCED_RATES * np.abs(b)
    if np.any(np.abs(left) > terms):
        raise SolveError(_moving(system, left, terms))
    R = null(A)
    if not R.shape[1]:
        return balance * particular
    away = x0 - particular
    # Where integrators stand in a row, what the first one holds carries the second one away.
    L, power = left_null(A), A
    for _ in range(tolerances.INTEGRATOR_CHAIN):
        power = power @ A
        more = left_null(power)
        if more.shape[1] <= L.shape[1]:
            break
        L = more
    share = np.linalg.lstsq(L.T @ R, L.T @ away, rcond=1e-12)[0]
    missed = L.T @ (away - R @ share)
    size = np.abs(L.T) @ (np.abs(x0) + np.abs(particular))
    if np.any(np.abs(missed) > tolerances.BALANCED_RATES * size):
        drift = A @ L @ np.linalg.lstsq(L, away, rcond=None)[0]
        raise SolveError(_moving(system, drift, tolerances.BALANCED_RATES * np.abs(drift).max(initial=0.0)))
    return np.asarray(balance * (particular + R @ share), dtype=float)


def state_units(A: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return units of the states in which rows and columns are of like sizes, and the matrix in them.

    >>> import numpy as np
    >>> unit, A = state_units(np.array([[-1.0, 1e-6], [1e6, -1.0]]))
    >>> bool(np.abs(A).max() < 2), bool(np.allclose(unit[:, None] * A / unit, [[-1.0, 1e-6], [1e6, -1.0]]))
    (True, True)
    """
    from scipy.linalg import matrix_balance

    with np.errstate(invalid="ignore"):  # it casts large scales to whole numbers, which are not used here
        balanced, scales = matrix_balance(A, permute=False, separate=True)
    return np.asarray(scales[0], dtype=float), np.asarray(balanced, dtype=float)


def _moving(system: SystemData, rates: NDArray[np.float64], tolerance: NDArray[np.float64] | float) -> str:
    """Say what does not come to rest."""
    bound = np.broadcast_to(tolerance, rates.shape)
    worst = [system.states[i] for i in np.argsort(-np.abs(rates))[:4] if abs(rates[i]) > bound[i]]
    return (
        f"no steady state found: {', '.join(worst)} {'keeps' if len(worst) == 1 else 'keep'} changing with "
        "these inputs; check whether the system can come to rest, or give another start with initial={...}"
    )


class Rest:
    """The steady state of one system that the motion from a start leads to.

    Parameters
    ----------
    system, inputs, values
        The system, its constant inputs, its parameters.
    start
        The states where the motion starts.
    """

    def __init__(
        self,
        system: SystemData,
        inputs: Mapping[str, float] | None,
        values: Mapping[str, float] | None,
        start: NDArray[np.float64],
    ) -> None:
        self.system, self.inputs, self.given, self.start = system, inputs, values, start
        self._parameters = list(system.values(values).values())
        self._u = system.operating_inputs(inputs).tolist()
        self._still = [0.0] * len(system.input_rates)
        self._spent, self._most = 0, tolerances.REST_EVALUATIONS
        self.scale = np.abs(start)

    # ------------------------------------------------------------------ the equations

    def rates(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return dx/dt."""
        self._spent += 1
        return np.array(self.system.rates(x.tolist(), self._u, self._still, self._parameters))

    def slopes(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return d(dx/dt)/dx."""
        return self._linearised(x)[0]

    def _linearised(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return d(dx/dt)/dx, and the size of what the inputs add to each rate."""
        local = linearised(self.system, x, self._u, self.given)
        solve = factorised(local.E)
        return solve(local.A), np.abs(solve(local.B)) @ np.abs(self._u)

    # ------------------------------------------------------------------ the answer

    def found(self) -> NDArray[np.float64]:
        """Return where the motion from the start comes to rest."""
        guess = self._newton(self.start, self._conserved([self.start]), self.start)
        if guess is not None and self._only_one(guess):
            return guess
        return self._followed(guess)

    def _only_one(self, x: NDArray[np.float64]) -> bool:
        """Whether the start is a steady state already, and a stable one."""
        scale = np.abs(self.start) + np.abs(x)
        if np.any(np.abs(x - self.start) > 1e-12 * scale):
            return False
        return bool(np.linalg.eigvals(self.slopes(x)).real.max() <= 0)

    def _conserved(self, points: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return combinations of states that nothing changes, at none of some points: columns."""
        parts = []
        for x in points:
            try:
                parts.append(self.slopes(x))
            except (SolveError, ArithmeticError):
                continue  # a slope that does not exist just here
        if not parts:
            return np.zeros((len(self.start), 0))
        L = left_null(np.hstack(parts))
        f = self.rates(points[0])
        still = np.abs(L.T @ f) <= tolerances.BALANCED_RATES * (np.abs(L.T) @ np.abs(f)) + 1e-300
        return L[:, still]

    def _newton(
        self, x: NDArray[np.float64], L: NDArray[np.float64], held: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return a steady state near x with L.T x as held; None where there is none."""
        try:
            f = self.rates(x)
            for _ in range(60):
                A, terms = self._linearised(x)
                self.scale = np.maximum(self.scale, np.abs(x))
                tolerance = tolerances.BALANCED_RATES * (np.abs(A) @ self.scale + terms)
                miss = L.T @ (x - held)
                step = -solved(np.vstack([A, L.T]), np.concatenate([f, miss]))
                if np.all(np.abs(f) <= 1e-3 * tolerance) and np.all(np.abs(step) <= 1e-12 * self.scale):
                    return x
                size, trial = 1.0, self.rates(x + step)
                while size > 1e-6 and not _less(trial, f):
                    size /= 2
                    trial = self.rates(x + size * step)
                if not _less(trial, f):
                    break
                x, f = x + size * step, trial
            return x if np.all(np.abs(f) <= tolerance) else None
        except (SolveError, ArithmeticError, ValueError):
            return None

    # ------------------------------------------------------------------ the motion

    def _followed(self, guess: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Follow the motion from the start until it is clear where it ends."""
        x, points, seconds = self.start, [self.start], 0.0
        for _ in range(tolerances.REST_ROUNDS):
            span = tolerances.SETTLED_DECAYS / self._slowest(x if guess is None else guess)
            more, over = self._moved(x, span)
            seconds += span
            points += more
            x = points[-1]
            if not np.isfinite(x).all():
                raise SolveError(self._restless(points[-2], seconds))
            L = self._conserved([self.start, *points[:: max(1, len(points) // 3)], x])
            rest = self._newton(x, *self._held(L, x))
            if rest is not None and self._stays(rest) and self._drawn_in(more, rest, L):
                return self._followed_closely(rest, L, seconds)
            guess = rest if rest is not None else guess
            if not over:
                break
        return self._agreed(points, seconds)

    def _followed_closely(
        self, rest: NDArray[np.float64], L: NDArray[np.float64], seconds: float
    ) -> NDArray[np.float64]:
        """Return a rest that depends on the way there by a motion that is followed more closely.

        With a method of many steps: it goes on beyond a place where the equations divide by zero (a ring
        whose gain passes one), where one that starts anew with every step comes as near as it likes, and
        is left with the rounding of 0/0.
        """
        if self._neutral(rest)[1].shape[1] <= L.shape[1]:
            return rest
        self._most = min(tolerances.REST_EVALUATIONS, self._spent + tolerances.CLOSE_EVALUATIONS)
        try:
            x = self._integrated(self.start, (0.0, seconds), "LSODA", 1e-12, 1e-15 * self.scale)
            if x is None or np.any(np.abs(x - rest) > 1e-3 * self.scale):
                return rest
            for _ in range(2):
                # What is left of the motion changes none of the combinations N that nothing changes here.
                A, N = self._neutral(x)
                f = np.append(-self._relative(self.rates(x)), np.zeros(N.shape[1]))
                x = (
                    x
                    + self.scale * np.linalg.lstsq(np.vstack([A, N.T]), f, rcond=tolerances.NEUTRAL_SLOPES)[0]
                )
        except (_Long, SolveError, ArithmeticError, ValueError):
            return rest
        return x

    def _neutral(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the slopes, each state counted in its own size, and what nothing changes here: columns.

        At rest a slope may be nothing but the rounding of a state that should be zero, which a look at the
        matrix alone could not tell.
        """
        A = self._relative(self.slopes(x) * self.scale)
        left, sizes, _ = np.linalg.svd(A)
        return A, left[:, sizes <= tolerances.NEUTRAL_SLOPES * sizes.max(initial=0.0)]

    def _relative(self, rates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return rates (rows) over the sizes of the states."""
        size = np.where(self.scale > 0, self.scale, 1.0)
        return np.asarray((rates.T / size).T, dtype=float)

    def _drawn_in(
        self, points: list[NDArray[np.float64]], rest: NDArray[np.float64], L: NDArray[np.float64]
    ) -> bool:
        """Whether a motion is over, or so near to a stable rest that the system is as good as linear there.

        That will not do where something is conserved from one instant to the next only: its value is that at
        the end of the motion.
        """
        if np.all(np.abs(rest - points[-1]) <= 1e-9 * self.scale):
            return True
        A = self.slopes(rest)
        if left_null(A).shape[1] > L.shape[1]:
            return False
        _, rows, columns = equilibrated(A)
        try:
            bent = max(
                np.abs(rows[:, None] * (self.slopes(x) - A) * columns).max()
                for x in points[len(points) // 2 :]
            )
        except (SolveError, ArithmeticError):
            return False
        return bool(bent < tolerances.STRAIGHT_SLOPES)

    def _held(
        self, L: NDArray[np.float64], x: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what must keep its value, and a point that has it: conserved from the start, or from here.

        What is conserved only from one instant to the next (a transformer whose ratio changes) has the value
        that the motion has brought it to.
        """
        here = left_null(self.slopes(x))
        # Move x so that the combinations L have the value of the start, by as little as possible.
        point = x - solved(L.T, L.T @ (x - self.start)) if L.shape[1] else x
        return here if here.shape[1] else L, point

    def _slowest(self, x: NDArray[np.float64]) -> float:
        """Return the rate of the slowest motion that dies away, in 1/s."""
        try:
            p = np.linalg.eigvals(self.slopes(x))
        except (SolveError, ArithmeticError):
            return 1.0
        fast = np.abs(p).max(initial=0.0)
        dying = -p.real[(p.real < -1e-9 * fast)]
        return float(max(dying.min(initial=fast or 1.0), 1e-9 * fast, 1e-300))

    def _moved(self, x: NDArray[np.float64], seconds: float) -> tuple[list[NDArray[np.float64]], bool]:
        """Return points of the motion from x on, and whether it was followed to the end."""
        scale = np.maximum(np.abs(x), np.abs(self.start))
        scale = np.where(scale > 0, scale, scale.max(initial=0.0) or 1.0)
        points: list[NDArray[np.float64]] = []
        at, method = 0.0, "LSODA" if self._stiff(x) else "DOP853"
        instants = seconds * np.linspace(0, 1, tolerances.REST_INSTANTS + 1)[1:]
        for end in instants.tolist():
            try:
                after = self._integrated(x, (at, end), method, 1e-9, 1e-12 * scale)
            except _Long:
                return points or [x], False
            if after is None:
                return points or [x], False
            x, at = after, end
            points.append(x)
            self.scale = np.maximum(self.scale, np.abs(x))
            scale = np.maximum(scale, np.abs(x))
        return points, True

    def _integrated(
        self,
        x: NDArray[np.float64],
        span: tuple[float, float],
        method: str,
        rtol: float,
        atol: NDArray[np.float64],
    ) -> NDArray[np.float64] | None:
        """Return the states at the end of a span of time; None where the integration fails."""
        from scipy.integrate import solve_ivp

        def rates(_: float, z: NDArray[np.float64]) -> NDArray[np.float64]:
            if self._spent > self._most:
                raise _Long
            return self.rates(z)

        solver: Any = solve_ivp
        part = solver(rates, span, x, method=method, rtol=rtol, atol=atol)
        return part.y[:, -1] if part.success else None

    def _stiff(self, x: NDArray[np.float64]) -> bool:
        """Whether something decays much faster than the rest moves."""
        try:
            p = np.linalg.eigvals(self.slopes(x))
        except (SolveError, ArithmeticError):
            return True
        return bool(
            np.abs(p.real).max() > tolerances.STIFF_RATIO * max(np.abs(p.imag).max(), self._slowest(x))
        )

    def _stays(self, x: NDArray[np.float64]) -> bool:
        """Whether a motion that has come here stays: no mode grows."""
        p = np.linalg.eigvals(self.slopes(x))
        return bool(p.real.max() <= 1e-7 * np.abs(p).max(initial=0.0))

    def _agreed(self, points: list[NDArray[np.float64]], seconds: float) -> NDArray[np.float64]:
        """Return the steady state that can be found from every point of a motion that does not end."""
        L = self._conserved([self.start, *points[:: max(1, len(points) // 3)]])
        found: list[NDArray[np.float64]] = []
        for x in points[:: max(1, len(points) // tolerances.REST_INSTANTS)]:
            rest = self._newton(x, L, self.start)
            if rest is None:
                continue
            if not any(np.all(np.abs(rest - y) <= 1e-6 * self.scale) for y in found):
                found.append(rest)
        if not found:
            raise SolveError(self._restless(points[-1], seconds))
        free = null(np.vstack([self.slopes(found[0]), L.T]))
        if len(found) > 1 or free.shape[1]:
            raise SolveError(self._several(found, free, seconds))
        return found[0]

    # ------------------------------------------------------------------ words

    def _restless(self, x: NDArray[np.float64], seconds: float) -> str:
        f = self.rates(x)
        order = np.argsort(-np.abs(f / np.maximum(np.abs(x), 1e-300)))
        worst = [self.system.states[i] for i in order[:4] if f[i]]
        return (
            f"no steady state found: {', '.join(worst)} {'keeps' if len(worst) == 1 else 'keep'} changing "
            f"with these inputs (the motion was followed for {seconds:.3g} s); check whether the system can "
            "come to rest, or give another start with initial={...}"
        )

    def _several(self, found: list[NDArray[np.float64]], free: NDArray[np.float64], seconds: float) -> str:
        names = self.system.states
        if free.shape[1]:
            parts = np.abs(free).max(axis=1)
            which = [n for n, size in zip(names, parts, strict=True) if size > 1e-6]
            return (
                f"the steady state is not unique: {', '.join(which[:6])} may have any value, and the motion "
                f"from the start does not come to rest in {seconds:.3g} s; give it a damper, or another start"
            )
        spread = np.ptp(found, axis=0)
        i = int(np.argmax(spread / np.maximum(np.abs(found).max(axis=0), 1e-300)))
        places = ", ".join(f"{x[i]:.6g}" for x in found[:4])
        return (
            f"there are several steady states ({names[i]} = {places}), and the motion from the start does "
            f"not come to rest in {seconds:.3g} s; which one it will be cannot be known: give it more "
            "damping, or a start that is near one, initial={...}"
        )


class _Long(Exception):  # noqa: N818 - it never leaves this file
    """The motion takes too many evaluations."""


def _less(trial: NDArray[np.float64], f: NDArray[np.float64]) -> bool:
    """Whether a step has made the rates clearly smaller."""
    return bool(np.linalg.norm(trial) < np.linalg.norm(f) * (1 - 1e-9)) or not trial.any()
