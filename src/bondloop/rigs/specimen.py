"""A specimen for pseudo-dynamic tests: moved at its interface, it answers with forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import interfaces
from bondloop.display import brief
from bondloop.engine import system_from_matrices
from bondloop.engine.data import FAMILIES, Kind, family_word, register, stamp
from bondloop.engine.passes import connect, prefixed
from bondloop.errors import InputError, ModelError
from bondloop.substructure import orientation

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.engine import System
    from bondloop.engine.ir import Expr, Var
    from bondloop.structures import Matrices


WORDS = ("displacement", "velocity", "acceleration")


@dataclass(frozen=True)
class Specimen:
    """A system whose interface motion is imposed.

    Attributes
    ----------
    system
        Its equations.
    motions
        For each interface the inputs ``"displacement"``, ``"velocity"``, ``"acceleration"`` that it has.
    forces
        Expressions of the coupling forces on the numerical half, one per interface, in N.
    matrices
        The matrices it was made from, if it was: with them the complete structure can be assembled.
    interface
        Names of the interface's degrees of freedom, or paths in the bond graph.
    """

    system: System
    motions: tuple[dict[str, Var], ...]
    forces: tuple[Expr, ...]
    matrices: Matrices | None = None
    interface: tuple[str, ...] = ()

    __repr__ = brief

    @classmethod
    def from_matrices(cls, matrices: Matrices, interface: str | Sequence[str]) -> Specimen:
        """Return the specimen of M ü + C u̇ + K u = F with some degrees of freedom moved by the rig.

        With b for the interface and i for the inside, M_ii ü_i + C_ii u̇_i + K_ii u_i = -(M_ib ü_b + C_ib
        u̇_b + K_ib u_b), and the force on the numerical half is -(M_b ü + C_b u̇ + K_b u). Where the
        interface itself has a mass, the force follows the imposed acceleration at once.

        Parameters
        ----------
        matrices
            Of the specimen alone, the interface's degrees of freedom among them.
        interface
            Their names.

        Examples
        --------
        >>> from bondloop.structures import Matrices
        >>> spring = [[100.0, -100.0], [-100.0, 100.0]]
        >>> one = Matrices(np.diag([0.0, 2.0]), None, spring, ("base.ux", "top.ux"))
        >>> specimen = Specimen.from_matrices(one, "base.ux")
        >>> specimen.system.inputs, specimen.system.states
        (('base.ux.displacement',), ('top.ux.displacement', 'top.ux.velocity'))
        """
        names = [interface] if isinstance(interface, str) else list(interface)
        b = matrices.indices(names)
        if not b or len(set(b)) < len(b):
            raise InputError(f"the interface must name each of its degrees of freedom once; found {names}")
        i = [j for j in range(len(matrices)) if j not in b]
        M, C, K = (x.toarray() for x in (matrices.M, matrices.C, matrices.K))
        inside = [matrices.dofs[j] for j in i]
        try:
            inverse = np.linalg.inv(M[np.ix_(i, i)])
        except np.linalg.LinAlgError:
            raise InputError(
                "the specimen has a degree of freedom without mass inside; condense it, or give it a mass"
            ) from None
        n, m = len(i), len(b)
        rows, columns = np.ix_(i, b), np.ix_(b, i)
        A = np.block(
            [[np.zeros((n, n)), np.eye(n)], [-inverse @ K[np.ix_(i, i)], -inverse @ C[np.ix_(i, i)]]]
        )
        imposed = [K, C, M]
        into = np.hstack([-inverse @ x[rows] for x in imposed])
        B = np.vstack([np.zeros((n, 3 * m)), into])
        out = -np.hstack([K[columns], C[columns]]) - M[columns] @ A[n:, :]
        D = -np.hstack([x[np.ix_(b, b)] for x in imposed]) - M[columns] @ into
        inputs = [f"{d}.{word}" for word in WORDS for d in names]
        needed = [j for j in range(3 * m) if np.any(B[:, j]) or np.any(D[:, j])]
        states = [f"{d}.{word}" for word in WORDS[:2] for d in inside]
        system = system_from_matrices(
            A, B[:, needed], out, D[:, needed], states=states, inputs=[inputs[j] for j in needed],
            outputs=[f"{d}.force" for d in names], name="specimen",
        )  # fmt: skip
        made = cls._of(system, names, [system.output_exprs[f"{d}.force"] for d in names], matrices)
        stamp(made, FAMILIES["specimen"]["from_matrices"], {"matrices": matrices, "interface": names})
        return made

    @classmethod
    def from_model(cls, physical: Model) -> Specimen:
        """Return the specimen of a bond graph: the physical half of a cut, which takes velocities there."""
        system = physical.compile()
        ends = [end.path for end in interfaces(physical)]
        by_name = dict(zip(system.inputs, system.input_vars, strict=True))
        others = [u.name for u in system.input_vars if u.name not in {f"{e}.flow" for e in ends}]
        if others:
            raise ModelError(
                f"the specimen takes {', '.join(others)}: at its interface it must take a velocity "
                "(begin with a spring or damper), and it must have no source of its own; cut elsewhere"
            )
        if system.input_rates:
            names = ", ".join(u.name for u in system.input_rates)
            raise ModelError(
                f"the specimen would need the rate of {names}: it begins with a mass; cut elsewhere"
            )
        motions = tuple({"velocity": by_name[f"{e}.flow"]} for e in ends)
        forces = []
        for e, direction in zip(ends, orientation(physical), strict=True):
            effort = system.output_exprs[f"{e}.effort"]
            forces.append(-effort if direction < 0 else effort)
        made = cls(system, motions, tuple(forces), None, tuple(ends))
        stamp(made, FAMILIES["specimen"]["from_model"], {"physical": physical})
        return made

    @classmethod
    def _of(cls, system: System, names: list[str], forces: list[Expr], matrices: Matrices) -> Specimen:
        by_name = dict(zip(system.inputs, system.input_vars, strict=True))
        motions = tuple({w: by_name[f"{d}.{w}"] for w in WORDS if f"{d}.{w}" in by_name} for d in names)
        return cls(system, motions, tuple(forces), matrices, tuple(names))

    def prefixed(self, prefix: str) -> Specimen:
        """Return a copy with ``prefix`` before every path name."""
        outputs = {f"force[{i}]": f for i, f in enumerate(self.forces)}
        whole = connect(self.system.name, [self.system], {}, {**self.system.output_exprs, **outputs})
        copy = prefixed(whole, prefix)
        new = dict(zip(self.system.input_vars, copy.input_vars, strict=True))
        return Specimen(
            copy,
            tuple({w: new[u] for w, u in m.items()} for m in self.motions),
            tuple(copy.output_exprs[f"{prefix}force[{i}]"] for i in range(len(self.forces))),
            self.matrices,
            self.interface,
        )


family_word("Specimen", "specimen", __name__)
register(Kind("specimen", "from_matrices", Specimen.from_matrices))
register(Kind("specimen", "from_model", Specimen.from_model))
