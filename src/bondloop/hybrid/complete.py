"""The complete structure run beside a pseudo-dynamic test: the exact coupling force to compare with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine import system_from_matrices
from bondloop.engine.ir import Assign, Const, Expr, Repeat, Step, Var
from bondloop.errors import InputError
from bondloop.integrate import Exact
from bondloop.integrate.structural import combination
from bondloop.structures import Matrices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.rigs import Specimen
    from bondloop.signals import Signal, Signals


FINE = 2.5e-4
"""Longest step of the complete structure in seconds. Its loads are parabolas over a step, which leaves an
error of about 1e-7 at 19 Hz."""


def assembled(numerical: Matrices, specimen: Specimen, interface: tuple[str, ...]) -> Matrices:
    """Return the matrices of numerical half and specimen together.

    Parameters
    ----------
    numerical
        The numerical half.
    specimen
        Made from matrices.
    interface
        Degrees of freedom of the numerical half, in the order of the specimen's own interface.
    """
    own = specimen.matrices
    if own is None:
        raise InputError(
            "the complete structure can be assembled only from a specimen made with Specimen.from_matrices; "
            "give its matrices as reference"
        )
    rename = dict(zip(specimen.interface, interface, strict=True))
    inside = [d for d in own.dofs if d not in rename]
    clash = sorted(set(inside) & set(numerical.dofs))
    if clash:
        raise InputError(f"the numerical half and the specimen both have {', '.join(clash)}; rename one")
    dofs = (*numerical.dofs, *inside)
    place = {d: i for i, d in enumerate(dofs)}
    whole = []
    theirs = [place[rename.get(d, d)] for d in own.dofs]
    for mine, other in ((numerical.M, own.M), (numerical.C, own.C), (numerical.K, own.K)):
        X = np.zeros((len(dofs), len(dofs)))
        n = len(numerical)
        X[:n, :n] += mine.toarray()
        X[np.ix_(theirs, theirs)] += other.toarray()
        whole.append(X)
    M, C, K = whole
    return Matrices(M, C, K, dofs)


class Complete:
    """The complete structure in a tick, in steps of its own, and the coupling force in it.

    Parameters
    ----------
    whole
        Matrices of the complete structure; the numerical half's degrees of freedom among them, by name.
    numerical
        Matrices of the numerical half.
    interface
        Names of the interface's degrees of freedom.
    loads
        Signals by name, each with its pattern over the numerical half.
    beyond
        By the same names, forces per unit on the complete structure beside the numerical half: the ground's
        on the specimen.
    """

    def __init__(
        self,
        whole: Matrices,
        numerical: Matrices,
        interface: tuple[str, ...],
        loads: Mapping[str, tuple[Signal, NDArray[np.float64]]],
        beyond: Mapping[str, NDArray[np.float64]] | None = None,
    ) -> None:
        self.interface = interface
        beyond = beyond or {}
        self.loads = {k: x for k, x in loads.items() if np.any(x[1]) or np.any(beyond.get(k, 0.0))}
        n = len(whole)
        at = whole.indices(numerical.dofs)
        M, C, K = (x.toarray() for x in (whole.M, whole.C, whole.K))
        try:
            inverse = np.linalg.inv(M)
        except np.linalg.LinAlgError:
            raise InputError(
                "the complete structure has a degree of freedom without mass; give it one"
            ) from None
        self.patterns = np.zeros((n, len(self.loads)))
        specimen = np.zeros((n, len(self.loads)))
        for j, (name, (_, pattern)) in enumerate(self.loads.items()):
            self.patterns[at, j] = pattern
            specimen[:, j] = beyond.get(name, 0.0)
        self.patterns += specimen
        A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ K, -inverse @ C]])
        B = np.vstack([np.zeros_like(self.patterns), inverse @ self.patterns])
        states = [f"{d}.{word}" for word in ("displacement", "velocity") for d in whole.dofs]
        names = [f"reference.{s}" for s in states]
        inputs = [f"reference.{k}" for k in self.loads]
        self.system = system_from_matrices(
            A,
            B,
            np.zeros((0, 2 * n)),
            np.zeros((0, len(inputs))),
            states=names,
            inputs=inputs,
            name="reference",
        )
        # What the complete structure has beyond the numerical half is the specimen: its force on the latter.
        for X, own in ((M, numerical.M), (C, numerical.C), (K, numerical.K)):
            X[np.ix_(at, at)] -= own.toarray()
        rows = whole.indices(interface)
        self.force_matrix = -np.hstack([K[rows], C[rows]]) - M[rows] @ A[n:]
        self.force_loads = -M[rows] @ inverse @ self.patterns + specimen[rows]
        self.displacements = [self.system.state_vars[r] for r in rows]

    def steps(self, signals: Signals, period: float) -> tuple[list[Step], list[Var]]:
        """Statements of one tick, and the variables of the coupling forces at its beginning."""
        indices = [f"[{i}]" if len(self.interface) > 1 else "" for i in range(len(self.interface))]
        force = [Var(f"reference.force{i}") for i in indices]
        now = [signals.at(k, s, 0.0) for k, (s, _) in self.loads.items()]
        terms: list[tuple[NDArray[np.float64], Sequence[Expr]]] = [
            (self.force_matrix, self.system.state_vars)
        ]
        if np.any(self.force_loads):
            terms.append((self.force_loads, now))
        steps = combination(force, terms)
        count = max(1, math.ceil(period / FINE - 1e-9))
        fine = period / count
        number = Var("reference.fine_step")
        body: list[Step] = []
        made: dict[float, dict[Var, Expr]] = {}

        def inputs(fraction: float) -> dict[Var, Expr]:
            if fraction not in made:
                made[fraction] = {}
                for u, (name, (signal, _)) in zip(self.system.input_vars, self.loads.items(), strict=True):
                    passed = (number + fraction) / Const(count)
                    var = Var(f"{u.name}@{fraction:g}")
                    body.append(Assign(var, signals.within(name, signal, passed)))
                    made[fraction][u] = var
            return made[fraction]

        rest = Exact("second").discretise(self.system, fine, inputs, []).rest
        return [*steps, Repeat(count, number, (*body, *rest))], force
