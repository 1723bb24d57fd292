"""The structures of a run, and how they moved: from its record alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import restore
from bondloop.errors import InputError, unknown_name
from bondloop.structures import Structure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.results.records import Record


STRUCTURES = "structures"
"""Entry of a run's description: structures of which something is recorded, by the path of their names."""


def structures_in(record: Record) -> dict[str, Structure]:
    """Return the structures of nodes and elements in a run, by what the names of theirs begin with."""
    kept = record.description.get(STRUCTURES, {})
    made = {path: restore(data) for path, data in kept.items()} if isinstance(kept, dict) else {}
    return {path: s for path, s in made.items() if isinstance(s, Structure)}


def structure_at(record: Record, path: str | None) -> tuple[str, Structure]:
    """Return one structure of a run with its path; the only one, or the first, where none is named."""
    known = structures_in(record)
    if not known:
        raise InputError(
            "this run has nothing of a structure's nodes and members; record its motion, "
            "record='numerical.*.displacement', and make the model of structure.assemble()"
        )
    if path is None:
        return next(iter(known.items()))
    name = path if path in known else f"{path}."
    if name not in known:
        raise InputError(unknown_name("structure", path, known, where="the run"))
    return name, known[name]


def nodal_history(record: Record, path: str, structure: Structure) -> NDArray[np.float64]:
    """Return the motion of every node, shape (times, nodes, 6).

    Parameters
    ----------
    record
        With the displacements of all nodes that move.
    path, structure
        Of `structure_at`.
    """
    assembly = structure.assembly()
    motion = np.zeros((len(record), 6 * len(structure.nodes)))
    missing = []
    for code, name, held in zip(assembly.codes, assembly.names, assembly.held, strict=True):
        channel = f"{path}{name}.displacement"
        if channel in record:
            motion[:, code] = record[channel]
        elif not held:
            missing.append(channel)
    if missing:
        some = ", ".join(missing[:3])
        raise InputError(
            f"the motion of the structure is not all in the record: {some} and "
            f"{max(0, len(missing) - 3)} more are missing; record '{path}*.displacement'"
        )
    return motion.reshape(len(record), -1, 6)
