"""Newmark's average-acceleration scheme: the trapezoidal step, by products and factors that stay sparse.

(E - h/2 A) x⁺ = (E + h/2 A) x + h/2 B (u + u⁺). A state whose rate is one other state alone (a displacement)
is eliminated first: what is left, M + h/2 C + h²/4 K of a structure, is symmetric where the structure is, and
its factors are those of a structural program.
"""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bondloop.engine.data import Whole
from bondloop.engine.ir import (
    Assign,
    Const,
    Expr,
    Factored,
    Product,
    SingularError,
    Update,
    Var,
    evaluator,
    instantiate,
    is_linear,
    schedule,
    substitute,
    tangent,
    variables,
    without_loops,
    worth_factors,
)
from bondloop.errors import SolveError
from bondloop.integrate.base import Discretised, InputsAt, Integrator, check_period, linear_space, worked_in
from bondloop.integrate.tolerances import NEAR_LAWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy import sparse

    from bondloop.engine import System
    from bondloop.engine.ir import StateSpace, Step


def implicit_products(
    space: StateSpace,
    h: float,
    states: Sequence[Var],
    targets: Sequence[Var],
    inputs: Sequence[Expr],
    *,
    full: bool = False,
    worked_in: frozenset[str] = frozenset(),
) -> list[Product] | None:
    """Return the products of a step; None where one with a full matrix is less work.

    Parameters
    ----------
    space
        The system.
    h
        The step.
    states, targets
        Variables of the states now and at the end of the step.
    inputs
        The inputs now, then those at the end of the step.
    full
        Where factors are more work than an inverse, take that of the states that are not eliminated; and
        eliminate stretches, too.
    worked_in
        Names of the parameters that the system's matrices are made of.
    """
    from scipy import sparse

    E, A, B = space.E, space.A, space.B
    follows = followers(E, A, stretches=full)
    lead, follow = np.flatnonzero(~follows).tolist(), np.flatnonzero(follows).tolist()
    left = sparse.csr_array(E - h / 2 * A)
    right = sparse.csr_array(sparse.hstack([E + h / 2 * A, h / 2 * B, h / 2 * B]))
    over = sparse.diags_array(1.0 / left.diagonal()[follow]) if len(follow) else sparse.csr_array((0, 0))
    moved = over @ -left[follow][:, lead]  # how the eliminated states follow the others
    known = over @ right[follow]
    among = left[lead][:, lead] + left[lead][:, follow] @ moved
    factors = Factored(among)
    inner: Factored | NDArray[np.float64] = factors
    try:
        if not worth_factors(factors):
            if not full:
                return None
            inner = np.linalg.inv(among.toarray())
    except SingularError:
        return None  # the full matrix says so, too
    sums = tuple(Var(f"{states[i].name}@right") for i in lead)
    leading = tuple(targets[i] for i in lead)
    sources = (*states, *inputs)
    products = [
        Product(sums, _kept(right[lead] - left[lead][:, follow] @ known), sources, worked_in),
        Product(leading, inner, sums),
    ]
    if len(follow):
        rest = _kept(sparse.hstack([known, moved]))
        products.append(Product(tuple(targets[i] for i in follow), rest, (*sources, *leading)))
    return products


def followers(
    E: sparse.csr_array[np.float64], A: sparse.csr_array[np.float64], *, stretches: bool
) -> NDArray[np.bool_]:
    """Find states that stand in E on the diagonal alone and whose rate is one state, none of them.

    Parameters
    ----------
    E, A
        Of the system.
    stretches
        Whether to find those whose rate is a sum of states that do not follow, too: devices' displacements.
    """
    from scipy import sparse

    E, A = (sparse.csr_array(M, copy=True) for M in (E, A))
    for M in (E, A):
        M.eliminate_zeros()
    n = E.shape[0]
    alone = (np.diff(E.indptr) == 1) & (np.diff(sparse.csc_array(E).indptr) == 1) & (E.diagonal() != 0)
    candidates = alone & (np.diff(A.indptr) == 1)
    leader = np.full(n, -1)
    leader[candidates] = A.indices[A.indptr[:-1][candidates]]
    follows = np.asarray(candidates & (leader >= 0) & ~candidates[leader], dtype=bool)
    if stretches:
        row = np.repeat(np.arange(n), np.diff(A.indptr))
        more = alone & ~follows & (np.bincount(row, follows[A.indices], n) == 0) & (np.diff(A.indptr) > 0)
        follows = follows | (more & (np.bincount(row, more[A.indices], n) == 0))
    return follows


def _kept(matrix: Any) -> sparse.csr_array[np.float64]:
    from scipy import sparse

    kept = sparse.csr_array(matrix)
    kept.eliminate_zeros()
    return kept


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
        states, inputs, k = self.linear.state_vars, system.input_vars, self.slopes(system)
        places = [states.index(law.motion) for law in self.laws]
        elastic, pull = _with_slopes(self.linear.numeric(), k, places)
        named = [law.force.name for law in self.laws]
        held: list[Expr] = [Var(f"{n}@held") for n in named]
        steps: list[Step] = [
            Assign(g, table[law.force] - Const(slope) * law.motion)  # type: ignore[arg-type]
            for g, law, slope in zip(held, self.laws, k, strict=True)
        ]
        acting = [x for end in ends for x in (*(end[u] for u in inputs), *held)]
        trial = tuple(Var(x.name + "@trial") for x in states)
        # The laws' own parameters are not worked in: with other values k is not their slope any more, but
        # still what is subtracted from their forces and added again.
        products = implicit_products(
            elastic, h, states, trial, acting, full=True, worked_in=worked_in(self.linear)
        )
        if products is None:
            raise SolveError(f"{system.name}: a step of {h:g} s has no solution: its matrix is singular")
        steps += products
        Q, corrected = _influence(elastic, h, pull, places)
        motions: list[Expr] = [trial[i] for i in places]
        bent: list[Expr] = [Const(0.0) for _ in named]
        memories = {v: table[v] for v in system.memories}
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
                    g, dg = force - Const(k[i]) * at - held[i], slope_now - Const(k[i])
                    more = (trial[places[i]] + others + own * g - at) / (Const(1.0) - own * dg)
                    steps += [*asked, Assign(moved, at + more), Assign(extra, g + dg * (moved - at))]
                    motions[i], bent[i] = moved, extra
        change = tuple(Var(f"{n}@change") for n in named)
        for i, law in enumerate(self.laws):
            asked, force, _ = law.at(motions[i], memories, "@end")
            steps += [*asked, Assign(change[i], force - Const(k[i]) * motions[i] - held[i])]
        lead, dense, spread = corrected
        more_of = tuple(Var(f"{states[i].name}@more") for i in lead)
        targets = tuple(Var(x.name + "@next") for x in states)
        steps += [Product(more_of, dense, change), Product(targets, spread, (*trial, *more_of))]
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
    laws = _laws([v for v in needed if v in bent], bent, {*memories, *parameters}, {*states})
    linear = system.replaced(
        states=states,
        inputs=(*system.input_vars, *(law.force for law in laws)),
        input_defaults={},
        outputs={f"{law.force.name}@motion": law.motion for law in laws},
        definitions=rest,
        memories={},
        initial={v: x for v, x in system.initial_by_var.items() if v not in memories},
    )
    return LocalLaws(linear, laws) if laws and linear.is_linear else None


def _laws(
    forces: Sequence[Var], bent: Mapping[Var, Expr], known: set[Var], states: set[Var]
) -> tuple[Law, ...]:
    """Return the laws of forces; none where one of them is no law."""
    found = [_law(force, bent, known, states) for force in dict.fromkeys(forces)]
    laws = tuple(law for law in found if law is not None)
    return laws if len(laws) == len(found) else ()


def _law(force: Var, bent: Mapping[Var, Expr], known: set[Var], states: set[Var]) -> Law | None:
    """Return the law of a force that follows from one state and what is known; None where it does not."""
    program = without_loops(schedule(bent, [force], (), 1))
    if program is None:
        return None
    own = {a.target for a in program}
    motions = {v for a in program for v in a.reads} - own - known
    return Law(force, motions.pop(), program) if len(motions) == 1 and motions <= states else None


def _groups(Q: NDArray[np.float64]) -> list[list[int]]:
    """Return laws in groups within which none moves another by much: those of a group are asked at once."""
    own = np.sqrt(np.abs(np.outer(Q.diagonal(), Q.diagonal())))
    near = np.abs(Q) > NEAR_LAWS * own
    groups: list[list[int]] = []
    for i in range(len(Q)):
        for group in groups:
            if not near[i, group].any():
                group.append(i)
                break
        else:
            groups.append([i])
    return groups


def _with_slopes(
    space: StateSpace, k: NDArray[np.float64], places: list[int]
) -> tuple[StateSpace, sparse.csc_array[np.float64]]:
    """Return a space with k times a state in the place of its last inputs, and what those act on."""
    from scipy import sparse

    n, count = space.A.shape[0], space.B.shape[1] - len(k)
    pull = space.B.tocsc()[:, count:]
    stretch = sparse.csr_array((k, (range(len(k)), places)), shape=(len(k), n))
    return replace(space, A=sparse.csr_array(space.A + pull @ stretch)), pull


def _influence(
    space: StateSpace, h: float, pull: sparse.csc_array[np.float64], places: list[int]
) -> tuple[NDArray[np.float64], tuple[list[int], NDArray[np.float64], sparse.csr_array[np.float64]]]:
    """Return what changes of the last inputs at the end of a step do to the laws' motions, and to all states.

    The second: states that are not eliminated, by how much each change moves those, and all states as they
    would be without a change with what moves them.
    """
    from scipy import sparse
    from scipy.sparse.linalg import splu

    left = sparse.csr_array(space.E - h / 2 * space.A)
    moved = splu(left.tocsc()).solve(h / 2 * pull.toarray())
    follows = followers(space.E, space.A, stretches=True) & (abs(pull).sum(axis=1) == 0)
    lead, follow = np.flatnonzero(~follows).tolist(), np.flatnonzero(follows).tolist()
    n = left.shape[0]
    along = sparse.lil_array((n, len(lead)))
    along[lead, range(len(lead))] = 1.0
    if follow:
        along[follow] = (sparse.diags_array(1.0 / left.diagonal()[follow]) @ -left[follow][:, lead]).toarray()
    return moved[places], (lead, moved[lead], sparse.csr_array(sparse.hstack([sparse.eye_array(n), along])))


@dataclass(frozen=True)
class NewmarkAverage(Integrator):
    """Newmark with beta = 1/4, gamma = 1/2 (constant average acceleration), OpenSees ``Newmark 0.5 0.25``.

    On first-order states it is the trapezoidal rule, x(t+h) = x + h/2 (f(t) + f(t+h)): displacements then
    follow from average velocities and velocities from average accelerations. Unconditionally stable, no
    numerical damping, second order. A linear system needs one matrix product a step, a nonlinear one a
    Newton iteration with a fixed number of steps; one that is linear but for laws that remember
    (plastic hinges) sweeps over those alone, `bondloop.integrate.newmark`.

    Parameters
    ----------
    iterations
        Newton steps of a nonlinear system, or sweeps over its laws, the same number in every step; with
        none (0) the laws are as they were when it began.
    newest
        Which step a sample's inputs belong to. False: the one that begins with the sample, so a measured
        force moves the structure one sample later. True: the one that ends with it, as in a structural
        program, where the newest force gives the newest displacement, at once; for linear systems. Before the
        first sample the inputs count as zero.
    """

    order: ClassVar[int] = 2
    iterations: Whole = Whole(6, least=0, most=1000)
    newest: bool = False

    def discretise(self, system: System, period: float, inputs: InputsAt, goals: list[Expr]) -> Discretised:
        """Write one step: a matrix product, or a Newton iteration where the system is nonlinear."""
        h = check_period(period).value
        if self.newest:
            return self._with_newest(system, h, inputs, goals)
        states = system.state_vars
        if system.is_linear and not system.input_rates:
            space = system.numeric()
            acting = [inputs(c)[u] for c in (0.0, 1.0) for u in system.input_vars]
            targets = tuple(Var(x.name + "@next") for x in states)
            products = implicit_products(space, h, states, targets, acting, worked_in=worked_in(system))
            # A step by factors needs no rates, and so no second factorisation, of the masses alone.
            first, table = self.at_start(system, period, inputs, goals, rates=products is None)
            if products is None:
                E, A, B = (M.toarray() for M in (space.E, space.A, space.B))
                left = np.linalg.inv(E - h / 2 * A)
                matrix = np.hstack([left @ (E + h / 2 * A), left @ B * (h / 2), left @ B * (h / 2)])
                products = [Product(targets, matrix, (*states, *acting), worked_in(system))]
            return Discretised(first, table, [*products, Update(tuple(zip(states, targets, strict=True)))])
        local = local_laws(system)
        if local is not None:
            wanted = [*goals, *(v for law in local.laws for v in (law.force, law.motion))]
            first, table = self.at_start(system, period, inputs, wanted, rates=False)
            return Discretised(
                first, table, local.step(system, h, table, (inputs(0.0), inputs(1.0)), self.iterations)
            )
        first, table = self.at_start(system, period, inputs, goals)
        end: dict[Var, Expr] = {x: Var(x.name + "@next") for x in states}
        end.update(inputs(1.0))
        definitions: dict[Var, Expr] = {}
        for v in system.definitions:
            end[v] = Var(v.name + "@next")
        for v, e in system.definitions.items():
            target = end[v]
            assert isinstance(target, Var)
            definitions[target] = substitute(e, end)
        nexts = [end[x] for x in states]
        for x, target, rate in zip(states, nexts, system.rate_exprs, strict=True):
            assert isinstance(target, Var)
            slope = substitute(rate, table) + substitute(rate, end)
            definitions[target] = x + Const(h / 2) * slope
        roots = [v for v in nexts if isinstance(v, Var)]
        steps = schedule(definitions, roots, roots, self.iterations)
        return Discretised(first, table, [*steps, Update(tuple(zip(states, nexts, strict=True)))])

    @staticmethod
    def _with_newest(system: System, h: float, inputs: InputsAt, goals: list[Expr]) -> Discretised:
        """Write one step with the inputs of its end.

        x(k) = F x(k-1) + G u(k-1) + G u(k). Kept is z(k) = x(k) - G u(k), which is known a sample before:
        z(k+1) = F x(k) + G u(k).
        """
        space = linear_space(system, "Newmark (newest)")
        A, B = space.A.toarray(), space.B.toarray()
        n = len(A)
        left = np.linalg.inv(np.eye(n) - h / 2 * A)
        F, G = left @ (np.eye(n) + h / 2 * A), left @ B * (h / 2)
        states = system.state_vars
        now = inputs(0.0)
        sources = [now[u] for u in system.input_vars]
        at, ahead = ([Var(x.name + end, quantity=x.quantity) for x in states] for end in ("@now", "@next"))
        given: dict[Var, Expr] = {**dict(zip(states, at, strict=True)), **now}
        steps, table = instantiate(system.schedule(goals), given, "")
        first: list[Step] = [Product(tuple(at), np.hstack([np.eye(n), G]), (*states, *sources)), *steps]
        rest: list[Step] = [
            Product(tuple(ahead), np.hstack([F, G]), (*at, *sources), worked_in(system)),
            Update(tuple(zip(states, ahead, strict=True))),
        ]
        return Discretised(first, table, rest)
