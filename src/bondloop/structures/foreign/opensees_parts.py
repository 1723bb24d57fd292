"""Materials, sections and transformations of OpenSees: what its elements are made of."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from bondloop.structures.foreign.opensees_arguments import Arguments, UnknownOptionError

if TYPE_CHECKING:
    from bondloop.structures.foreign.opensees_model import LeftOut, Pattern
    from bondloop.structures.structure import Structure

__all__ = ["Material", "Model", "Parts", "Section", "new_tag", "of_tag"]

T = TypeVar("T")


class Model(Protocol):
    """What elements need to know of the model that is read."""

    structure: Structure
    length: float
    force: float
    dimensions: int
    dofs: int
    pattern: Pattern | None
    left_out: list[LeftOut]

    def place(self, tag: int, a: Arguments) -> str:
        """Return the name of a node."""

    def need_model(self, a: Arguments) -> None:
        """Refuse what stands above the line ``model``."""


@dataclass(frozen=True)
class Material:
    """Stiffness (or modulus) and damping, in the units of the model."""

    stiffness: float
    damping: float


@dataclass(frozen=True)
class Section:
    """Values of a member, in the units of the model; None for what a plane member has not."""

    E: float
    A: float
    Iz: float
    Iy: float | None = None
    G: float | None = None
    J: float | None = None


class Parts:
    """Reads what elements are made of.

    Parameters
    ----------
    model
        The model as it is read.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.materials: dict[int, Material] = {}
        self.sections: dict[int, Section] = {}
        self.transformations: dict[int, tuple[str, tuple[float, float, float] | None]] = {}
        self.known: dict[str, Callable[[Arguments], None]] = {
            "uniaxialMaterial": self.material,
            "section": self.section,
            "geomTransf": self.transformation,
        }

    def material(self, a: Arguments) -> None:
        """``Elastic tag E (eta)`` and ``Viscous tag C 1``."""
        kind = a.take("the kind of material")
        if kind.text not in ("Elastic", "Viscous"):
            raise UnknownOptionError(
                kind.line,
                kind.column,
                f"the material {kind.text[:40]!r} is not understood; Elastic and Viscous are",
            )
        tag = new_tag(a, "material", self.materials)
        first = a.number("the stiffness" if kind.text == "Elastic" else "the damping")
        rest = a.numbers(len(a.words), "a value")
        if kind.text == "Viscous":
            if rest[:1] != [1.0] or len(rest) > 1:
                raise UnknownOptionError(
                    kind.line, kind.column, "only a Viscous material of power 1 is linear"
                )
            self.materials[tag] = Material(0.0, first)
        elif len(rest) > 2 or (len(rest) == 2 and rest[1] != first):
            raise UnknownOptionError(kind.line, kind.column, "another stiffness in compression is not linear")
        else:
            self.materials[tag] = Material(first, rest[0] if rest else 0.0)

    def section(self, a: Arguments) -> None:
        """``Elastic tag E A Iz``, in space ``E A Iz Iy G J``."""
        self.model.need_model(a)
        kind = a.take("the kind of section")
        if kind.text != "Elastic":
            raise UnknownOptionError(
                kind.line, kind.column, f"the section {kind.text[:40]!r} is not understood"
            )
        tag = new_tag(a, "section", self.sections)
        E, A, Iz = a.numbers(3, "E, A or Iz")
        if self.model.dimensions == 3:
            Iy, G, J = a.numbers(3, "Iy, G or J")
            self.sections[tag] = Section(E, A, Iz, Iy, G, J)
        else:
            self.sections[tag] = Section(E, A, Iz)
        if a:
            raise UnknownOptionError(
                kind.line, kind.column, f"{a.words[0].text[:40]!r} of a section is not understood"
            )

    def transformation(self, a: Arguments) -> None:
        """``Linear tag``, in space with the vector in the local x–z plane."""
        self.model.need_model(a)
        kind = a.take("the kind of transformation")
        if kind.text not in ("Linear", "PDelta", "Corotational"):
            raise a.fault("expected Linear, PDelta or Corotational", kind)
        tag = new_tag(a, "transformation", self.transformations)
        vector = None
        if self.model.dimensions == 3:
            x, y, z = a.numbers(3, "vecxz")
            vector = (x, y, z)
        if a:
            raise UnknownOptionError(
                kind.line, kind.column, f"geomTransf: {a.words[0].text[:40]!r} is not understood"
            )
        self.transformations[tag] = (kind.text, vector)


def new_tag(a: Arguments, what: str, known: Collection[int]) -> int:
    """Take a tag that nothing of its kind has yet."""
    tag = a.tag(what)
    if tag in known:
        raise a.fault(f"{what} {tag} exists already")
    return tag


def of_tag(known: dict[int, T], tag: int, what: str, a: Arguments) -> T:
    """Return what has a tag."""
    if tag not in known:
        raise UnknownOptionError(
            a.command.line,
            a.command.words[0].column,
            f"{what} {tag} is not defined above, or was left out",
        )
    return known[tag]
