"""Readings of the structures in a test, as expressions of the equations in which the structures stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from bondloop.engine.ir import Const, Expr, Var, tangent, variables
from bondloop.errors import InputError, UnknownNameError
from bondloop.structures import DOFS, Readings, StructureModel, matching, structure_data
from bondloop.substructure import ground_input

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.engine import System
    from bondloop.engine.ir import Quantity
    from bondloop.structures import Matrices


EVERYTHING = "*"
"""In the name of what is recorded: anything may stand here."""


class StructureReadings:
    """What can be read off one structure of a test.

    Parameters
    ----------
    path
        What the names of its readings begin with: ``"numerical.frame."``.
    matrices
        Of the structure.
    motion
        Gives the displacement, velocity or acceleration (the word) of a degree of freedom (its number).
    ground
        Accelerations of the ground, from which the motion is counted, by direction or by support; none where
        it does not move.
    """

    def __init__(
        self,
        path: str,
        matrices: Matrices,
        motion: Callable[[str, int], Expr],
        ground: Mapping[str, Expr] | None = None,
    ) -> None:
        self.path, self.matrices, self.motion, self.ground = path, matrices, motion, dict(ground or {})

    @classmethod
    def in_system(
        cls, path: str, matrices: Matrices, system: System, ground: Mapping[str, Expr]
    ) -> StructureReadings:
        """Return the readings of a structure that stands in a bond graph, by the equations of that."""

        def motion(word: str, i: int) -> Expr:
            at = f"{path}{matrices.dofs[i]}"
            if word == "displacement":
                return system.expression(f"{at}.displacement")
            velocity = system.expression(f"{at}.flow")
            return velocity if word == "velocity" else _rate(system, velocity)

        return cls(path, matrices, motion, ground)

    @cached_property
    def readings(self) -> Readings:
        """All of them, by name."""
        return Readings(self.matrices)

    def names(self, pattern: str) -> list[str]:
        """Return the full names that a name with ``*`` stands for; none where it is no structure's."""
        try:
            known = self.readings
        except InputError:  # matrices from elsewhere
            return []
        form = pattern if pattern.startswith(EVERYTHING) else pattern[len(self.path) :]
        inside = pattern.startswith((self.path, EVERYTHING))
        return [f"{self.path}{name}" for name in known.matching(form)] if inside else []

    def find(self, name: str) -> tuple[Expr, Quantity]:
        """Return the expression of a reading, by its full name, and what it measures."""
        reading = self.readings[name[len(self.path) :]]
        apart = [where for where in self.ground if where not in DOFS]
        if apart and (reading.ground or reading.quantity.kind == "effort"):
            raise InputError(
                f"cannot record '{name}': supports that move apart ({', '.join(apart[:2])}) strain the "
                "structure by themselves, which is not read off; record displacements, or move all alike"
            )
        return reading.expression(self.motion, self.ground), reading.quantity

    def all(self, word: str) -> list[Expr]:
        """Return the displacement, velocity or acceleration of every degree of freedom."""
        return [self.motion(word, i) for i in range(len(self.matrices))]


def readings_in(
    model: Model | None, prefix: str, system: System | None, wheres: Sequence[str] = ()
) -> list[StructureReadings]:
    """Return the readings of all structures in a model whose equations have names with a prefix.

    Parameters
    ----------
    model
        With the structures; None for none.
    prefix
        What the names of its variables begin with.
    system
        Its equations.
    wheres
        Directions or supports in which the ground moves, from which motions are counted.
    """
    if model is None or system is None:
        return []
    inputs = {u.name: u for u in system.input_vars}
    names = {where: f"{prefix}{ground_input(where)}" for where in wheres}
    ground = {where: inputs[name] for where, name in names.items() if name in inputs}
    parts = [("", model), *model.walk()]
    return [
        StructureReadings.in_system(f"{prefix}{path}{'.' if path else ''}", part.matrices, system, ground)
        for path, part in parts
        if isinstance(part, StructureModel) and part.matrices is not None
    ]


def _rate(system: System, value: Expr) -> Expr:
    """Return the rate of an expression that follows from states alone."""
    states: Mapping[Var, Expr] = dict(zip(system.state_vars, system.rate_exprs, strict=True))
    seeds: dict[Var, Expr] = {}
    for v in variables(value):
        if v in states:
            seeds[v] = states[v]
        elif v in system.definitions:
            seeds[v] = _rate(system, system.definitions[v])
        elif v in system.input_vars:
            raise InputError(
                f"the acceleration of what follows '{v.name}' is not known: that is an input, whose rate "
                "nothing gives; record its velocity"
            )
    return tangent(value, seeds) if seeds else Const(0.0)


def described(structures: Sequence[StructureReadings], record: Sequence[str]) -> dict[str, object]:
    """Return the descriptions of structures of which something is recorded, by their paths."""
    found: dict[str, object] = {}
    for s in structures:
        data = structure_data(s.matrices)
        if data is not None and any(name.startswith((s.path, EVERYTHING)) for name in record):
            found[s.path] = data
    return found


def read_off(
    path: str, structures: Sequence[StructureReadings], error: UnknownNameError
) -> tuple[Expr, Quantity]:
    """Return what a path reads off a structure; where it reads nothing, an error that knows readings too.

    Parameters
    ----------
    path
        What is recorded.
    structures
        Of the test.
    error
        That no variable is called so.
    """
    for structure in structures:
        if path.startswith(structure.path) and path[len(structure.path) :] in structure.readings:
            return structure.find(path)
        if path.startswith(structure.path) and path[len(structure.path) :] in structure.readings.absent:
            why = structure.readings.absent[path[len(structure.path) :]]
            raise InputError(f"cannot record '{path}': {why}") from None
    known = [n for s in structures if path.startswith(s.path) for n in s.names(f"{s.path}*")]
    raise UnknownNameError(error.kind, path, (*error.known, *known), error.where) from None


def chosen(names: Sequence[str], structures: Sequence[StructureReadings], known: Sequence[str]) -> list[str]:
    """Return names with those that have a ``*`` spelt out, each once.

    Parameters
    ----------
    names
        As the user gives them.
    structures
        Whose readings they may be.
    known
        What else a ``*`` may stand for.
    """
    result: dict[str, None] = {}
    for name in names:
        if EVERYTHING not in name:
            result[name] = None
            continue
        found = [n for s in structures for n in s.names(name)] + matching(name, known)
        if not found:
            paths = ", ".join(f"'{s.path}...'" for s in structures) or "none"
            raise InputError(
                f"cannot record '{name}': nothing is called so; readings of structures begin with {paths}"
            )
        result.update(dict.fromkeys(found))
    return list(result)
