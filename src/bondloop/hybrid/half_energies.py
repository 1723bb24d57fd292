"""Energies of the numerical half of a hybrid test, or of a simulated model, from its bond graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from bondloop.bondgraph.elements import C, CField, I, IField, R, RField
from bondloop.hybrid.energies import WORDS, Balance, Moving
from bondloop.program.paths import within
from bondloop.structures.reading import total

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.hybrid.structure_readings import StructureReadings
    from bondloop.program.expr import Expr, Var

__all__ = ["HalfEnergies"]

STORES = (C, CField, I, IField, R, RField)
"""Parts that store energy or lose it."""


class HalfEnergies:
    """What the energies of a model of structures are made of, as expressions of its equations.

    Parameters
    ----------
    model
        With the structures.
    structures
        Their readings.
    prefix
        What the names of the model's variables begin with.
    supplied
        Power of its sources; None where it cannot be told.
    taken
        Power that its interfaces take, one for each.
    """

    def __init__(
        self,
        model: Model,
        structures: Sequence[StructureReadings],
        prefix: str,
        supplied: Expr | None,
        taken: Sequence[Expr],
    ) -> None:
        self.supplied, self.taken = supplied, list(taken)
        self.structures = list(structures)
        self.missing: dict[str, str] = {
            "hysteretic": "the elastic stiffness of the specimen is not known here, only in a pseudo-dynamic "
            "test whose scheme has a specimen_stiffness; record energy.specimen, all that it took"
        }
        if supplied is None:
            self.missing["input"] = "the power of the sources cannot be told"
        if not structures:
            self.missing |= dict.fromkeys(
                ("kinetic", "strain", "damping"), "there is no structure made of matrices"
            )
        lacking = next((self.missing[w] for w in WORDS[:5] if w in self.missing), None)
        if lacking is not None:
            self.missing["error"] = lacking
        paths = [s.path[:-1] for s in structures]
        others = [
            path
            for path, part in model.walk()
            if isinstance(part, STORES)
            and not any(p == prefix[:-1] or within(prefix + path, p) for p in paths)
        ]
        if others:
            some = ", ".join(others[:4])
            self.missing["error"] = f"energies of parts beside the structures are not counted: {some}"

    @cached_property
    def motions(self) -> list[tuple[StructureReadings, list[Expr], list[Expr]]]:
        """Displacements and velocities of every structure."""
        return [(s, s.all("displacement"), s.all("velocity")) for s in self.structures]

    def names(self, prefix: str) -> list[str]:
        """Return the names of all energies that are known."""
        return [f"{prefix}energy.{word}" for word in WORDS if word not in self.missing]

    @property
    def goals(self) -> list[Expr]:
        """Everything that has to be known of the equations."""
        motion = [e for _, u, v in self.motions for e in (*u, *v)]
        return [*motion, *self.taken, *([] if self.supplied is None else [self.supplied])]

    def balance(self, prefix: str, count: Var, period: float, put: Callable[[Expr], Expr]) -> Balance:
        """Return the energies, with what stands for the variables of the equations in a tick."""
        powers = {"specimen": put(total(self.taken))}
        if self.supplied is not None:
            powers["input"] = put(self.supplied)
        moving = [
            Moving(s.path, s.matrices, [put(e) for e in u], [put(e) for e in v]) for s, u, v in self.motions
        ]
        return Balance(prefix, count, period, moving, powers=powers, missing=self.missing)
