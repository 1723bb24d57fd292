"""Equilibrium of a structure with devices under loads that stay: Newton's method with a line search.

K u + Σ Wᵀ φ(W u; m) = f₀ + λ p, where φ are the forces of the devices and m what they remember. Either λ is
given, or the displacement c · u; then λ is an unknown too and the equations are bordered by c, which lets
them pass peaks of the load (Batoz and Dhatt 1979).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.bondgraph import own_part
from bondloop.devices import AtRest, OdeElement
from bondloop.errors import InputError, SolveError
from bondloop.structures.tolerances import FORCE_ROUNDING, NEGATIVE_PIVOT

if TYPE_CHECKING:
    from scipy import sparse

    from bondloop.structures.elements.base import Array
    from bondloop.structures.structure_model import StructureModel


@dataclass(frozen=True)
class Held:
    """A device in a structure: its law, and how degrees of freedom move it, shape (interfaces, n)."""

    name: str
    law: AtRest
    way: Array


@dataclass(frozen=True)
class State:
    """Where a structure is: displacements, load factor, and what every device remembers."""

    u: Array
    factor: float
    memory: tuple[tuple[float, ...], ...]


class _NoEquilibriumError(SolveError):
    """No equilibrium was found."""


@dataclass
class Equilibrium:
    """The equations of a structure with devices.

    Parameters
    ----------
    model
        With its devices.
    constant
        Forces f₀ that stay.
    pattern
        Forces p per unit of the load factor.
    """

    model: StructureModel
    constant: Array
    pattern: Array
    K: sparse.csc_array[np.float64] = field(init=False)
    held: list[Held] = field(init=False)

    def __post_init__(self) -> None:
        matrices = self.model.matrices
        if matrices is None:
            raise InputError("statics: the model was not made of matrices; use field_form or network_form")
        self.K = matrices.K.tocsc()
        self._magnitude = abs(self.K)
        self.held = []
        n = len(matrices)
        for path, part in self.model.walk():
            if isinstance(part, OdeElement) and path not in self.model._devices:
                raise InputError(
                    f"statics: how '{path}' is moved is not known, as it was not put there by attach(...); "
                    "build the model anew and attach it"
                )
        for name, (device, ways) in self.model._devices.items():
            if own_part(self.model, name) is None:
                continue  # taken off again
            rows = np.zeros((len(ways), n))
            for row, way in zip(rows, ways, strict=True):
                row[matrices.indices(way)] = list(way.values())
            self.held.append(Held(name, AtRest.of(device, name), rows))
        scale = np.array(abs(self.K).max(axis=1).todense(), dtype=float).ravel()
        rest = self.at_rest()
        for h, memory in zip(self.held, rest.memory, strict=True):
            slope = h.law.at([0.0] * h.law.interfaces, memory)[1]
            scale = np.maximum(scale, np.abs(h.way.T @ slope @ h.way).max(axis=1))
        self._weight = 1 / np.sqrt(np.where(scale > 0, scale, 1.0))

    def at_rest(self) -> State:
        """Return where everything begins."""
        return State(np.zeros(self.K.shape[0]), 0.0, tuple(h.law.memory for h in self.held))

    def forces(
        self, u: Array, memory: tuple[tuple[float, ...], ...]
    ) -> tuple[Array, sparse.csc_array[np.float64]]:
        """Return the forces that displacements need, and their slopes."""
        from scipy import sparse

        need, rows, columns, values = self.K @ u, [], [], []
        for h, m in zip(self.held, memory, strict=True):
            f, k = h.law.at((h.way @ u).tolist(), m)
            need = need + h.way.T @ f
            at = np.flatnonzero(np.any(h.way, axis=0))
            block = h.way[:, at].T @ k @ h.way[:, at]
            i, j = np.meshgrid(at, at, indexing="ij")
            rows.append(i.ravel())
            columns.append(j.ravel())
            values.append(block.ravel())
        if not rows:
            return need, self.K
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return need, (self.K + sparse.coo_array(entries, shape=self.K.shape)).tocsc()

    def find(
        self,
        start: State,
        target: float,
        control: Array | None,
        *,
        iterations: int = 40,
        halvings: int = 8,
        tolerance: float = 1e-10,
    ) -> State:
        """Return the equilibrium at a load factor or, with a control, at a displacement; memory not renewed.

        Parameters
        ----------
        start
            From where.
        target
            The load factor, or control · u.
        control
            Weights of the displacement that is given; None where the load factor is.
        iterations, halvings
            At most, the latter of one iteration.
        tolerance
            Unbalanced forces that are left, as a share of those that act.
        """
        u, factor = start.u, start.factor if control is not None else target
        need, slopes = self.forces(u, start.memory)
        for turn in range(iterations):
            out = self.constant + factor * self.pattern - need
            missing = 0.0 if control is None else target - float(control @ u)
            du, change = self._direction(slopes, out, control, missing)
            size, share = self._size(out), 1.0
            for halving in range(halvings + 1):
                w, at = u + share * du, factor + share * change
                need, slopes = self.forces(w, start.memory)
                left = self._size(self.constant + at * self.pattern - need)
                # The first step goes to the given displacement, so it may unbalance forces.
                if left < size or (turn == 0 and halving == 0) or not np.isfinite(left):
                    break
                share /= 2
            u, factor = w, at
            acting = self._size(np.abs(self.constant) + np.abs(factor * self.pattern) + np.abs(need))
            if not np.isfinite(left):
                break
            # In a stiff member, such as a rigid link, large forces cancel: their rounding is always left.
            cancelling = self._size(self._magnitude @ np.abs(u))
            enough = max(tolerance * acting, FORCE_ROUNDING * cancelling)
            if left <= enough and (control is None or turn > 0 or missing == 0.0):
                if control is None and self._falls(slopes):
                    break
                return State(u, factor, start.memory)
        raise _NoEquilibriumError(f"no equilibrium after {iterations} iterations")

    def renewed(self, state: State) -> State:
        """Return a state with what the devices remember of the way to it."""
        pairs = zip(self.held, state.memory, strict=True)
        memory = tuple(h.law.renewed((h.way @ state.u).tolist(), m) for h, m in pairs)
        return State(state.u, state.factor, memory)

    def advance(
        self, start: State, target: float, control: Array | None, smallest: int = 10
    ) -> list[tuple[State, State]]:
        """Go on to a target, in smaller steps where it has to be; return every state before and after.

        Parameters
        ----------
        start, target, control
            As for `find`.
        smallest
            How often a step may be halved.
        """
        ways: list[tuple[State, State]] = []
        here = start
        begun = start.factor if control is None else float(control @ start.u)
        done, share = 0.0, 1.0
        while done < 1:
            ahead = min(1.0, done + share)
            try:
                found = self.find(here, begun + ahead * (target - begun), control)
            except _NoEquilibriumError:
                share /= 2
                if share < 2.0**-smallest:
                    raise SolveError(self._stuck(here, target, control)) from None
                continue
            ways.append((here, found))
            here, done = self.renewed(found), ahead
        return ways

    def _stuck(self, here: State, target: float, control: Array | None) -> str:
        reached = here.factor if control is None else float(control @ here.u)
        if control is None and self._falls(self.forces(here.u, here.memory)[1]):
            return (
                f"the structure has buckled at {reached:.6g} of the load: with what axial forces take from "
                "it its stiffness is negative; what is balanced there does not stand. Give p_delta smaller "
                "forces, or stiffer members"
            )
        if control is None:
            return (
                f"no equilibrium beyond {reached:.6g} of the load ({target:.6g} was asked for): the "
                "structure cannot bear more, or snaps to another shape; to go on give control= and to=, a "
                "displacement"
            )
        return (
            f"no equilibrium beyond a displacement of {reached:.6g} ({target:.6g} was asked for), at a load "
            f"factor of {here.factor:.6g}; ask for more steps, for less, or control another degree of freedom"
        )

    def _falls(self, slopes: Any) -> bool:
        """Whether a load that stays pushes the structure on: its stiffness is negative in some direction."""
        from scipy import sparse
        from scipy.sparse.linalg import splu

        scaled = slopes.multiply(self._weight[:, None]).multiply(self._weight)
        symmetric = {"SymmetricMode": True}
        try:  # without an exchange of rows the pivots have the signs of the eigenvalues (Sylvester)
            lu = splu(
                sparse.csc_array(scaled), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=symmetric
            )
        except RuntimeError:
            return False  # nothing holds it, but nothing pushes it on
        return bool(lu.U.diagonal().min() < -NEGATIVE_PIVOT or not np.array_equal(lu.perm_r, lu.perm_c))

    def _size(self, force: Array) -> float:
        """Return a size of forces that compares those on rotations with those on translations."""
        return float(np.linalg.norm(self._weight * force))

    def _direction(
        self, slopes: Any, out: Array, control: Array | None, missing: float
    ) -> tuple[Array, float]:
        """Return Newton's step of displacements and load factor."""
        from scipy import sparse
        from scipy.sparse.linalg import splu

        d = self._weight
        scaled = sparse.csc_array(slopes.multiply(d[:, None]).multiply(d))
        right = d * out
        if control is not None:
            across = (d * self.pattern)[:, None]
            size = float(np.abs(across).max()) or 1.0
            along = (d * control)[None, :]
            reach = float(np.abs(along).max()) or 1.0
            blocks: Any = [[scaled, -across / size], [along / reach, None]]
            scaled = sparse.csc_array(sparse.block_array(blocks))
            right = np.append(right, missing / reach)
        try:
            step = splu(scaled).solve(right)
        except RuntimeError:
            raise _NoEquilibriumError("the stiffness is singular") from None
        if not np.isfinite(step).all() or np.abs(step).max() > 1e12 * max(1.0, np.abs(right).max()):
            raise _NoEquilibriumError("the stiffness is singular")
        if control is None:
            return d * step, 0.0
        return d * step[:-1], float(step[-1]) / size
