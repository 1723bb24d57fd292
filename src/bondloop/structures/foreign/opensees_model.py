"""What a model from OpenSees becomes, and what of it was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.errors import InputError, unknown_name
from bondloop.structures.element_loads import distributed_load

if TYPE_CHECKING:
    from bondloop.structures.elements.base import Array
    from bondloop.structures.structure import Structure

__all__ = ["ForeignModel", "LeftOut", "Pattern"]

SHOWN = 200
"""Lines of the report."""


@dataclass(frozen=True)
class LeftOut:
    """A line of a foreign model that was not taken over.

    Attributes
    ----------
    line
        Its number in the file.
    text
        What it says.
    why
        Why it was left out.
    matters
        Whether the structure would be another with it; not for what only analyses or prints.

    Examples
    --------
    >>> print(LeftOut(12, "source walls.tcl", "this command is not understood", matters=True))
    ! line 12: source walls.tcl: this command is not understood
    """

    line: int
    text: str
    why: str
    matters: bool

    def __str__(self) -> str:
        mark = "!" if self.matters else " "
        return f"{mark} line {self.line}: {self.text[:100]}: {self.why}"


@dataclass
class Pattern:
    """The loads of a pattern: forces on nodes by degree of freedom, and on members in N per m, global."""

    nodal: dict[str, float] = field(default_factory=dict)
    members: list[tuple[str, tuple[float, float, float]]] = field(default_factory=list)

    def scale(self, factor: float) -> None:
        """Multiply all loads, as the factor of a time series does."""
        self.nodal = {dof: factor * f for dof, f in self.nodal.items()}
        self.members = [(name, (factor * x, factor * y, factor * z)) for name, (x, y, z) in self.members]


@dataclass(frozen=True)
class ForeignModel:
    """A structure read from a foreign model.

    Attributes
    ----------
    structure
        Nodes ``n1``, ``n2``, ... by their tags; members ``beam[1]``, ``truss[2]``, ``zeroLength[3]``, ...
    patterns
        Loads by the tag of their pattern.
    left_out
        Every line that was not taken over, with the reason.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bondloop.structures import read_opensees
    >>> file = Path(tempfile.mkdtemp()) / "rod.tcl"
    >>> _ = file.write_text('''
    ... model basic -ndm 1 -ndf 1
    ... set L 2.0
    ... node 1 0.0; node 2 $L
    ... fix 1 1
    ... uniaxialMaterial Elastic 1 210e9
    ... element truss 1 1 2 [expr 1.0e-4] 1
    ... pattern Plain 1 Linear { load 2 1000.0 }
    ... recorder Node -file out.txt -node 2 -dof 1 disp
    ... ''')
    >>> model = read_opensees(file)
    >>> print(model)
    rod: 2 nodes, 1 element, 1 pattern of loads; complete
      line 9: recorder Node -file out.txt -node 2 -dof 1 disp: it analyses or prints
    >>> model.structure.assemble().K.toarray().tolist(), model.load("1").tolist()
    ([[10500000.0]], [1000.0])
    """

    structure: Structure
    patterns: Mapping[str, Pattern]
    left_out: tuple[LeftOut, ...]

    __repr__ = brief

    @property
    def complete(self) -> bool:
        """Whether nothing was left out that the structure is made of."""
        return not any(part.matters for part in self.left_out)

    def load(self, pattern: str) -> Array:
        """Return the forces of a pattern on the free degrees of freedom.

        Parameters
        ----------
        pattern
            Its tag.
        """
        if str(pattern) not in self.patterns:
            raise InputError(unknown_name("pattern", str(pattern), self.patterns))
        loads = self.patterns[str(pattern)]
        assembly = self.structure.assembly()
        f = np.zeros(6 * len(self.structure.nodes))
        for name, force in loads.members:
            f += distributed_load(self.structure, [name], np.array(force))
        forces = f[assembly.codes]
        # Forces on what a support holds go into the ground, as in OpenSees; what nobody uses bears none.
        place = {name: i for i, name in enumerate(assembly.names)}
        for dof, value in loads.nodal.items():
            if dof in place:
                forces[place[dof]] += value
            elif value:
                raise InputError(f"pattern {pattern}: a force on {dof}, which no element uses")
        return np.asarray(assembly.T.T @ forces)

    def __str__(self) -> str:
        s = self.structure
        missing = sum(part.matters for part in self.left_out)
        said = "complete" if not missing else f"NOT COMPLETE: {missing} line{'s' * (missing > 1)} marked !"
        counts = [(len(s.nodes), "node"), (len(s.elements), "element")]
        words = [f"{n} {word}{'s' * (n != 1)}" for n, word in counts]
        loads = f"{len(self.patterns)} pattern{'s' * (len(self.patterns) != 1)} of loads"
        more = [f"  and {len(self.left_out) - SHOWN} more"] if len(self.left_out) > SHOWN else []
        head = f"{s.name}: {', '.join([*words, loads])}; {said}"
        return "\n".join([head, *(str(part) for part in self.left_out[:SHOWN]), *more])
