"""Elements of OpenSees, and what damps and loads them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bondloop.structures.elements import Bar, Dashpot, Frame2D, Frame3D, PointMass, Spring
from bondloop.structures.elements.axes import plane_axes, space_axes
from bondloop.structures.foreign.opensees_arguments import Arguments, UnknownOptionError
from bondloop.structures.foreign.opensees_model import LeftOut
from bondloop.structures.foreign.opensees_parts import Material, Model, Parts, Section, new_tag, of_tag

__all__ = ["ElementReader"]


class ElementReader:
    """Reads what elements are made of.

    Parameters
    ----------
    model
        The model as it is read.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.parts = Parts(model)
        self.members: dict[int, str] = {}
        self.damped: list[str] = []
        self.lumped: set[str] = set()
        self.rayleigh: dict[str, tuple[float, float]] = {}
        self.at_nodes: dict[str, tuple[float, float]] = {}
        self.known: dict[str, Callable[[Arguments], None]] = {
            "element": self.element, "rayleigh": self.proportional, "eleLoad": self.member_load,
            **self.parts.known,
        }  # fmt: skip

    def element(self, a: Arguments) -> None:
        """One element of a kind that is known."""
        self.model.need_model(a)
        kind = a.take("the kind of element")
        known = {
            "elasticBeamColumn": self.beam,
            "truss": self.truss,
            "Truss": self.truss,
            "zeroLength": self.zero,
        }
        if kind.text in ("corotTruss", "CorotTruss"):
            why = "a corotational truss has large displacements; write truss for a linear one"
            raise UnknownOptionError(kind.line, kind.column, why)
        if kind.text not in known:
            raise UnknownOptionError(
                kind.line, kind.column, f"the element {kind.text[:40]!r} is not understood"
            )
        a.label = f"element {kind.text}"
        tag = new_tag(a, "element", self.members)
        ends = (self.model.place(a.tag("a node"), a), self.model.place(a.tag("a node"), a))
        known[kind.text](a, tag, *ends)

    def span(self, one: str, other: str, a: Arguments) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Return the ends of a member, shape (1, 2, 3)."""
        xyz = np.array([[self.model.structure.nodes[one], self.model.structure.nodes[other]]])
        if not np.linalg.norm(xyz[0, 1] - xyz[0, 0]) > 0:
            raise a.fault("it has no length: its nodes are at the same place")
        return xyz

    def beam(self, a: Arguments, tag: int, one: str, other: str) -> None:
        """``tag i j (A E Iz | A E G J Iy Iz | section) transformation`` and options."""
        options = next((i for i in range(len(a.words)) if a.is_option(a.words[i])), len(a.words))
        space = self.model.dimensions == 3
        if self.model.dofs != (6 if space else 3):
            raise a.fault(f"a beam needs rotations; found -ndf {self.model.dofs}")
        if options == 2:
            section = of_tag(self.parts.sections, a.tag("a section"), "section", a)
        elif space:
            A, E, G, J, Iy, Iz = a.numbers(6, "A, E, G, J, Iy or Iz")
            section = Section(E, A, Iz, Iy, G, J)
        else:
            A, E, Iz = a.numbers(3, "A, E or Iz")
            section = Section(E, A, Iz)
        kind, reference = of_tag(self.parts.transformations, a.tag("a transformation"), "transformation", a)
        if kind != "Linear":
            self.note(a, f"taken as Linear: large displacements ({kind}) are left out")
        mass, consistent = 0.0, False
        released: dict[str, int] = {}
        while a:
            option = a.option(("-mass", "-cMass", "-releasez", "-releasey"))
            if option == "-mass":
                mass = a.number("the mass per length")
            elif option == "-cMass":
                consistent = True
            else:
                released[f"r{option[-1]}"] = a.tag("a release")
        self.add_beam(a, tag, (one, other), section, reference, mass, consistent, released)

    def note(self, a: Arguments, why: str) -> None:
        """Say what of a line is not as it is in OpenSees."""
        self.model.left_out.append(LeftOut(a.command.line, a.command.text, why, matters=True))

    def add_beam(
        self,
        a: Arguments,
        tag: int,
        ends: tuple[str, str],
        section: Section,
        reference: tuple[float, float, float] | None,
        mass: float,
        consistent: bool,
        released: dict[str, int],
    ) -> None:
        """Add a member in the units of the model."""
        L, F = self.model.length, self.model.force
        xyz = self.span(*ends, a)
        if not set(released.values()) <= {0, 1, 2, 3} or mass < 0:
            raise a.fault(f"expected releases of 0 to 3 and no negative mass; found {released}, {mass:g}")
        release_a, release_b = (tuple(d for d, code in released.items() if code & bit) for bit in (1, 2))
        per_length = mass * F / L**2
        E, A = section.E * F / L**2, section.A * L**2
        rho = per_length / A if consistent and A else 0.0
        name = f"beam[{tag}]"
        member: Frame2D | Frame3D
        if section.Iy is not None and section.G is not None and section.J is not None:
            member = Frame3D(
                *ends, E=E, A=A, rho=rho, G=section.G * F / L**2, Iy=section.Iy * L**4, Iz=section.Iz * L**4,
                J=section.J * L**4, reference=reference, release_a=release_a, release_b=release_b,
            )  # fmt: skip
            if consistent and mass:
                self.note(a, "its inertia in torsion is taken by Iy + Iz; OpenSees takes J")
        else:
            I = section.Iz * L**4
            member = Frame2D(*ends, E=E, A=A, rho=rho, I=I, release_a=release_a, release_b=release_b)
        self.model.structure.add(member, name)
        if consistent and mass and (release_a or release_b):
            self.note(a, "its mass is that of the released member; OpenSees takes that of the whole one")
        self.damped.append(name)
        self.members[tag] = name
        if per_length and not consistent:
            self.halves(tag, ends, per_length * float(np.linalg.norm(xyz[0, 1] - xyz[0, 0])), damped=True)

    def halves(self, tag: int, ends: tuple[str, str], mass: float, *, damped: bool) -> None:
        """Put half of a member's mass on each end, along translations alone, as OpenSees does."""
        for side, node in zip("ab", ends, strict=True):
            name = self.model.structure.add(PointMass(node, m=mass / 2), f"mass of element {tag}, {side}")
            self.lumped.add(name)
            if damped:
                self.damped.append(name)

    def truss(self, a: Arguments, tag: int, one: str, other: str) -> None:
        """``tag i j A material`` and options."""
        L, F = self.model.length, self.model.force
        A = a.number("A")
        material = of_tag(self.parts.materials, a.tag("a material"), "material", a)
        mass, consistent, damped = 0.0, 0, 0
        while a:
            option = a.option(("-rho", "-cMass", "-doRayleigh"))
            if option == "-rho":
                mass = a.number("the mass per length")
            elif option == "-cMass":
                consistent = a.tag("0 or 1")
            else:
                damped = a.tag("0 or 1")
        size = float(np.linalg.norm(np.diff(self.span(one, other, a)[0], axis=0)))
        per_length = mass * F / L**2
        name = f"truss[{tag}]"
        rho = per_length / (A * L**2) if consistent and A else 0.0
        if material.stiffness:
            bar = Bar(one, other, E=material.stiffness * F / L**2, A=A * L**2, rho=rho)
            self.model.structure.add(bar, name)
            self.members[tag] = name
            if damped:
                self.damped.append(name)
        if material.damping:
            c = material.damping * F / L**2 * A * L**2 / size  # of strain rates
            self.model.structure.add(Dashpot(one, other, c=c), f"dashpot[{tag}]")
        if per_length and not consistent:
            self.halves(tag, (one, other), per_length * size, damped=bool(damped))

    def zero(self, a: Arguments, tag: int, one: str, other: str) -> None:
        """``tag i j -mat ... -dir ...`` and options."""
        L, F = self.model.length, self.model.force
        directions = {1: "ux", 2: "uy", 3: "uz", 4: "rx", 5: "ry", 6: "rz"}
        if self.model.dimensions == 2:
            directions = {1: "ux", 2: "uy", **({3: "rz", 6: "rz"} if self.model.dofs == 3 else {})}
        elif self.model.dimensions == 1:
            directions = {1: "ux"}
        materials: list[Material] = []
        along: list[int] = []
        damped = 0
        while a:
            option = a.option(("-mat", "-dir", "-doRayleigh"))
            if option == "-mat":
                materials = [of_tag(self.parts.materials, t, "material", a) for t in a.tags("a material")]
            elif option == "-dir":
                along = a.tags("a direction")
            else:
                damped = a.tag("0 or 1")
        if len(materials) != len(along) or not along:
            raise a.fault(f"{len(materials)} materials for {len(along)} directions")
        if not set(along) <= set(directions) or (
            self.model.dofs == 3 and self.model.dimensions == 3 and max(along) > 3
        ):
            raise a.fault(f"directions {along}; this model has {', '.join(map(str, directions))}")
        for number, material in zip(along, materials, strict=True):
            dof = directions[number]
            unit = F * L if dof[0] == "r" else F / L
            if material.stiffness:
                name = f"zeroLength[{tag}, {number}]"
                self.model.structure.add(Spring(one, other, k=material.stiffness * unit, dof=dof), name)
                if damped:
                    self.damped.append(name)
            if material.damping:
                dashpot = Dashpot(one, other, c=material.damping * unit, dof=dof)
                self.model.structure.add(dashpot, f"dashpot[{tag}, {number}]")
        self.members[tag] = ""

    def member_load(self, a: Arguments) -> None:
        """``-ele tags -type -beamUniform Wy (Wz) Wx``, in the member's own axes."""
        if self.model.pattern is None:
            raise a.fault("it stands in no pattern")
        tags: list[int] = []
        load: list[float] = []
        while a:
            option = a.option(("-ele", "-range", "-type"))
            if option == "-ele":
                tags += a.tags("an element")
            elif option == "-range":
                first, last = a.tag("an element"), a.tag("an element")
                tags += [t for t in self.members if first <= t <= last]
            else:
                a.option(("-beamUniform",))
                load = a.numbers(len(a.words), "a load")
        space = self.model.dimensions == 3
        if not tags or not (2 if space else 1) <= len(load) <= (3 if space else 2):
            raise a.fault("expected -ele TAG ... -type -beamUniform Wy Wx, in space Wy Wz Wx")
        across = [*load[:2], *load[2:], 0.0][:3] if space else [load[0], 0.0, *load[1:], 0.0][:3]
        local = np.array([across[2], across[0], across[1]]) * self.model.force / self.model.length
        for tag in tags:
            name = self.members.get(tag, "")
            member = self.model.structure.elements.get(name)
            if not isinstance(member, (Frame2D, Frame3D)):
                raise a.fault(f"element {tag} is no beam that was read")
            xyz = np.array([[self.model.structure.nodes[node] for node in member.nodes]])
            if isinstance(member, Frame3D):
                axes = space_axes(xyz, np.array([member.reference], dtype=float))[0]
            else:
                axes = plane_axes(xyz)[0]
            f = axes.T @ local
            self.model.pattern.members.append((name, (float(f[0]), float(f[1]), float(f[2]))))

    def proportional(self, a: Arguments) -> None:
        """``alphaM betaK betaKinit betaKcomm``; all three stiffnesses are one in a linear model."""
        alpha, *betas = a.numbers(4, "a coefficient")
        if min(alpha, sum(betas)) < 0:
            raise a.fault(f"alpha = {alpha:g} and beta = {sum(betas):g}; expected none below 0")
        # OpenSees gives the coefficients to the nodes and elements that there are; later ones stay undamped.
        self.rayleigh |= dict.fromkeys(self.damped, (alpha, sum(betas)))
        self.at_nodes |= dict.fromkeys(self.model.structure.nodes, (alpha, sum(betas)))

    def finish(self) -> None:
        """Damp what OpenSees damps: nodal masses and beams; others if told to (-doRayleigh)."""
        structure = self.model.structure
        regions: dict[tuple[float, float], list[str]] = {}
        for name, element in structure.elements.items():
            # Nodal masses are damped as their nodes, those of members as their members are.
            nodal = isinstance(element, PointMass) and name not in self.lumped
            pair = self.at_nodes.get(element.nodes[0]) if nodal else self.rayleigh.get(name)
            if pair and any(pair):
                regions.setdefault(pair, []).append(name)
        for (alpha, beta), names in regions.items():
            structure.rayleigh_of(*names, alpha=alpha, beta=beta)
