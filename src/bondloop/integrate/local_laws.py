"""The trapezoidal step of a linear system with laws that remember: hinges, bars and bearings of a structure.

E dx/dt = A x + B u + G w, where each force w_i = φ_i(y_i; m) is a law of one motion y_i = (C x + D w)_i and
of what it remembers. The step is linear in x⁺ and w⁺, so y⁺ = y* + H w⁺, with y* known at its beginning: as many
equations as there are laws, however large the structure. With the slopes k of the laws at rest,
y = c + Q g(y), g = φ(y) - k y, Q = (1 - H k)⁻¹ H, c = (1 - H k)⁻¹ y*: where nothing yields, g stays as it is.
They are solved by a fixed number of sweeps, each a Newton step of one law after the other (nonlinear
Gauss-Seidel), forwards and backwards in turn. What is left unbalanced is carried over: the next step begins
with the forces of the motion as it came out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import SolveError
from bondloop.integrate.implicit_step import implicit_products
from bondloop.program.calculus import tangent
from bondloop.program.evaluator import evaluator
from bondloop.program.expr import Const, Expr, Var, substitute, variables
from bondloop.program.schedule import Assign, schedule
from bondloop.program.system import System, is_linear
from bondloop.program.tick import Product, Update

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.program.statespace import StateSpace
    from bondloop.program.tick import Step

__all__ = ["LocalLaws", "local_laws"]


NEAR = 0.1
"""Share of its own influence above which one law's on another is solved for within a sweep."""


@dataclass(frozen=True)
class Law:
    """The force of one law.

    Attributes
    ----------
    force
        Its variable.
    motion
        The one variable of the linear rest that it depends on.
    program
        What computes it from the motion and from what is remembered.
    """

    force: Var
    motion: Var
    program: tuple[Assign, ...]

    def at(self, motion: Expr, known: Mapping[Var, Expr], suffix: str) -> tuple[list[Step], Expr, Expr]:
        """Return the statements that give its force and slope at a motion, and both.

        Parameters
        ----------
        motion
            Where.
        known
            What the memories are.
        suffix
            Added to the names of what is computed.
        """
        table: dict[Var, Expr] = {**known, self.motion: motion}
        seeds: dict[Var, Expr] = {self.motion: Const(1.0)}
        steps: list[Step] = []
        for a in self.program:
            target, slope = Var(a.target.name + suffix), Var(f"{a.target.name}@slope{suffix}")
            change = substitute(tangent(a.expr, seeds), table)
            steps.append(Assign(target, substitute(a.expr, table)))
            table[a.target] = target
            if not (isinstance(change, Const) and change.value == 0.0):
                steps.append(Assign(slope, change))
                seeds[a.target] = slope
        return steps, table[self.force], seeds.get(self.force, Const(0.0))


@dataclass(frozen=True)
class LocalLaws:
    """A system as a linear one with some laws.

    Attributes
    ----------
    linear
        The rest; the forces are its last inputs, the motions its outputs.
    laws
        One for each force.
    """

    linear: System
    laws: tuple[Law, ...]

    def slopes(self, system: System) -> NDArray[np.float64]:
        """Return the slopes of the laws at rest, with nothing remembered but what they begin with."""
        values, start = system.values(), dict(zip(system.state_vars, system.initial(), strict=True))
        result = []
        for law in self.laws:
            steps, _, slope = law.at(Const(0.0), {v: Const(start[v]) for v in system.memories}, "@rest")
            function = evaluator(steps, [tuple(values)], [slope])  # type: ignore[arg-type]
            result.append(function(list(values.values()))[0])
        return np.array(result)

    def step(
        self,
        system: System,
        h: float,
        table: Mapping[Var, Expr],
        ends: tuple[Mapping[Var, Expr], Mapping[Var, Expr]],
        sweeps: int,
    ) -> list[Step]:
        """Return the statements of a step.

        Parameters
        ----------
        system
            The whole.
        h
            The step.
        table
            What variables are at its beginning, forces and memories among them.
        ends
            The inputs at its beginning and at its end.
        sweeps
            How often each law is asked.
        """
        space, states = self.linear.numeric(), self.linear.state_vars
        inputs = system.input_vars
        before = [*(ends[0][u] for u in inputs), *(table[law.force] for law in self.laws)]
        predict, H = _predicted(space, h, len(self.laws))
        k = self.slopes(system)
        inner = np.linalg.inv(np.eye(len(k)) - H * k)
        Q = inner @ H
        named = [law.force.name for law in self.laws]
        known = tuple(Var(f"{n}@elastic") for n in named)
        sources = (*states, *before, *(ends[1][u] for u in inputs))
        matrix = inner @ predict
        matters = np.flatnonzero(np.abs(matrix).max(axis=0) > 0)
        steps: list[Step] = [Product(known, matrix[:, matters], tuple(sources[i] for i in matters))]
        bent: list[Expr] = []
        for law, slope in zip(self.laws, k, strict=True):
            extra = Var(f"{law.force.name}@bent")
            steps.append(Assign(extra, table[law.force] - Const(slope) * table[law.motion]))
            bent.append(extra)
        memories = {v: table[v] for v in system.memories}
        start = [Var(f"{n}@others") for n in named]
        steps.append(Product(tuple(start), Q, tuple(bent)))
        motions: list[Expr] = [Var(f"{n}@trial") for n in named]
        steps += [Assign(y, c + r) for y, c, r in zip(motions, known, start, strict=True)]  # type: ignore[arg-type]
        parts = _groups(Q)
        for sweep in range(sweeps):
            for part in parts if sweep % 2 == 0 else parts[::-1]:
                rest = tuple(Var(f"{named[i]}@rest@{sweep}") for i in part)
                off = Q[part].copy()
                off[range(len(part)), part] = 0.0
                steps.append(Product(rest, off, tuple(bent)))
                for i, others in zip(part, rest, strict=True):
                    # Its own share is solved by a Newton step, with the others as they are.
                    asked, force, slope_now = self.laws[i].at(motions[i], memories, f"@{sweep}")
                    moved, extra = (Var(f"{named[i]}@{word}@{sweep}") for word in ("moved", "bent"))
                    own, at = Const(float(Q[i, i])), motions[i]
                    g, dg = force - Const(k[i]) * at, slope_now - Const(k[i])
                    more = (known[i] + others + own * g - at) / (Const(1.0) - own * dg)
                    steps += [*asked, Assign(moved, at + more), Assign(extra, g + dg * (moved - at))]
                    motions[i], bent[i] = moved, extra
        forces: list[Expr] = []
        for law, motion in zip(self.laws, motions, strict=True):
            asked, force, _ = law.at(motion, memories, "@end")
            steps += asked
            forces.append(force)
        acting = [*before, *(ends[1][u] for u in inputs), *forces]
        targets = tuple(Var(x.name + "@next") for x in states)
        products = implicit_products(space, h, states, targets, acting, full=True)
        if products is None:
            raise SolveError(f"{system.name}: a step of {h:g} s has no solution: its matrix is singular")
        steps += products
        return [*steps, Update(tuple(zip(states, targets, strict=True)))]


def local_laws(system: System) -> LocalLaws | None:
    """Return a system as a linear one with laws that remember, each of one motion; None where it is not that.

    Parameters
    ----------
    system
        Any.
    """
    if not system.memories or system.switching or system.input_rates:
        return None
    parameters, memories = system.parameters_by_var, set(system.memories)
    bent = {
        v: e
        for v, e in system.definitions.items()
        if not is_linear(e, parameters) or memories & set(variables(e))
    }
    rest = {v: e for v, e in system.definitions.items() if v not in bent}
    states = {x: e for x, e in zip(system.state_vars, system.rate_exprs, strict=True) if x not in memories}
    needed = [v for e in (*rest.values(), *states.values()) for v in variables(e)]
    if memories & set(needed) or not all(is_linear(e, parameters) for e in states.values()):
        return None
    laws = []
    for force in dict.fromkeys(v for v in needed if v in bent):
        program = schedule(bent, [force], (), 1)
        if not all(isinstance(a, Assign) for a in program):
            return None
        own = {a.target for a in program if isinstance(a, Assign)}
        read = {v for a in program for e in a.expressions for v in variables(e)}
        motions = read - own - memories - set(parameters)
        if len(motions) != 1 or not motions & ({*states} | {*rest}):
            return None
        laws.append(Law(force, motions.pop(), tuple(a for a in program if isinstance(a, Assign))))
    linear = system.replaced(
        states=states,
        inputs=(*system.input_vars, *(law.force for law in laws)),
        input_defaults={},
        outputs={f"{law.force.name}@motion": law.motion for law in laws},
        definitions=rest,
        memories={},
        initial={v: x for v, x in system.initial_by_var.items() if v not in memories},
    )
    return LocalLaws(linear, tuple(laws)) if laws and linear.is_linear else None


def _groups(Q: NDArray[np.float64]) -> list[list[int]]:
    """Return laws in groups within which none moves another by much: those of a group are asked at once."""
    own = np.sqrt(np.abs(np.outer(Q.diagonal(), Q.diagonal())))
    near = np.abs(Q) > NEAR * own
    groups: list[list[int]] = []
    for i in range(len(Q)):
        for group in groups:
            if not near[i, group].any():
                group.append(i)
                break
        else:
            groups.append([i])
    return groups


def _predicted(space: StateSpace, h: float, laws: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return y* by states, inputs and forces at the beginning and inputs at the end; and H."""
    from scipy.sparse.linalg import splu

    E, A, B, C, D = (M.tocsc() for M in (space.E, space.A, space.B, space.C, space.D))
    ahead = splu((E - h / 2 * A).T.tocsc()).solve(C.T.toarray()).T
    acting = ahead @ (h / 2 * B).toarray()
    later = acting + D.toarray()
    count = B.shape[1] - laws
    return np.hstack([ahead @ (E + h / 2 * A).toarray(), acting, later[:, :count]]), later[:, count:]
