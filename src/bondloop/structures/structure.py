"""Structure: nodes, elements, supports and constraints, assembled into named matrices; from tables, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from bondloop.engine.data import Kind, family_word, number, plain, register
from bondloop.errors import InputError, unknown_name
from bondloop.structures.assembly import Assembly, assemble_all
from bondloop.structures.checks import raise_faults, refuse_mechanism, structure_faults, unattached_masses
from bondloop.structures.damping import (
    RayleighRegion,
    checked_ratios,
    checked_rayleigh,
    damped_supports,
    damped_whole,
    rayleigh_coefficients,
    region_masses,
    with_regions,
)
from bondloop.structures.dofs import Constraint, RigidFloor, checked_constraint, checked_floor, dof_domain
from bondloop.structures.elements.base import DOFS, Array, Element, Member, Number
from bondloop.structures.ground import Footing, Prescribed, keep_footing
from bondloop.structures.loads import chosen, distributed_load, thermal_load
from bondloop.structures.matrices import Matrices, remember
from bondloop.structures.p_delta import (
    AxialForces,
    Buckling,
    axial_forces,
    buckling,
    checked_axial_forces,
    geometric_stiffness,
    refuse_buckled,
)
from bondloop.structures.readers.matrix_files import read_matrices
from bondloop.structures.storeys import ShearBuilding, checked_column_line
from bondloop.units import quantity

Mass = Literal["consistent", "lumped"]


class Structure:
    """A structure of finite elements.

    Parameters
    ----------
    name
        What errors call it.
    highest_frequency
        First frequency in Hz above which a member's units cannot be right; raise it for micro-structures.

    Examples
    --------
    A cantilever of two elements bends by PL³/3EI.

    >>> import numpy as np
    >>> from bondloop.structures import Beam
    >>> s = Structure("cantilever")
    >>> s.node("root", x=0)
    >>> s.node("tip", x="1 m")
    >>> s.line("root", "tip", n=2, element=Beam("root", "tip", E=210e9, A=1e-4, I=1e-8, rho=7850))
    ('root', 'root-tip.1', 'tip')
    >>> s.support("root", "uy", "rz")
    >>> m = s.assemble()
    >>> m.dofs
    ('tip.uy', 'tip.rz', 'root-tip.1.uy', 'root-tip.1.rz')
    >>> u = np.linalg.solve(m.K.toarray(), s.load_vector({"tip.uy": 63.0}))
    >>> round(float(u[m.index("tip.uy")]), 12)
    0.01
    """

    def __init__(self, name: str = "structure", *, highest_frequency: Number = 1e6) -> None:
        self.name = name
        self.highest_frequency = _si(highest_frequency, "Hz")
        self.nodes: dict[str, tuple[float, float, float]] = {}
        self.elements: dict[str, Element] = {}
        self.supports: dict[str, tuple[str, ...]] = {}
        self.constraints: list[Constraint | RigidFloor] = []
        self.separate: list[tuple[str, ...]] = []
        self.column_line: tuple[str, ...] = ()
        self._counts: dict[str, int] = {}
        self._proportional = (0.0, 0.0)
        self._regions: list[RayleighRegion] = []
        self._ratios: float | tuple[float, ...] | None = None
        self._axial = AxialForces({})
        self._cache: dict[tuple[str, frozenset[str]], Assembly] = {}
        self._assembled: tuple[object, ...] = ()  # nodes, elements, supports, constraints as they were then

    def __repr__(self) -> str:
        return f"<Structure {self.name}: {len(self.nodes)} nodes, {len(self.elements)} elements>"

    @property
    def coordinates(self) -> Array:
        """Coordinates of the nodes in m, in the order of `nodes`, shape (n, 3)."""
        return np.array(list(self.nodes.values()), dtype=float).reshape(-1, 3)

    def node(self, name: str, x: Number = 0.0, y: Number = 0.0, z: Number = 0.0) -> None:
        """Add a node; coordinates in m, or as text with a unit.

        Parameters
        ----------
        name
            By which members and supports refer to it, and the first half of ``"name.ux"``. Each only
            once.
        x, y, z
            Where it lies: numbers in m or texts with a unit; 0 by default, so a plane structure needs no
            z.
        """
        if name in self.nodes:
            raise InputError(f"structure '{self.name}': node '{name}' exists already, at {self.nodes[name]}")
        at = (_si(x, "m"), _si(y, "m"), _si(z, "m"))
        if not np.all(np.isfinite(at)):
            raise InputError(
                f"structure '{self.name}': node '{name}' has coordinates {at} that are not finite"
            )
        self.nodes[name] = at

    def add(self, element: Element, name: str | None = None) -> str:
        """Add an element and return its name: the given one, or such as ``beam[0]``.

        Parameters
        ----------
        element
            What is added; that its nodes exist is looked at when the structure is assembled.
        name
            Each only once; by default the kind of element with a number, from 0.
        """
        count = self._counts.get(element.kind, 0)
        self._counts[element.kind] = count + 1
        name = f"{element.kind}[{count}]" if name is None else name
        if name in self.elements:
            raise InputError(f"structure '{self.name}': element '{name}' exists already")
        self.elements[name] = element
        return name

    def line(
        self,
        a: str,
        b: str,
        *,
        n: int,
        element: Member | Callable[[str, str], Member],
        name: str | None = None,
    ) -> tuple[str, ...]:
        """Subdivide a straight member into n equal elements and return the names of all its nodes.

        Parameters
        ----------
        a, b
            Names of the end nodes; the inner ones become ``a-b.1``, ``a-b.2``, ...
        n
            Number of elements.
        element
            A member whose values every part takes (releases hold at the outer ends only), or a function of
            two node names that makes a part.
        name
            Name of the elements, which become ``name[0]``, ...
        """
        for end in (a, b):
            if end not in self.nodes:
                raise InputError(f"structure '{self.name}': {unknown_name('node', end, self.nodes)}")
        if n < 1:
            raise InputError(f"structure '{self.name}': line {a}-{b} needs at least one element; found {n}")
        start, end_ = np.array(self.nodes[a]), np.array(self.nodes[b])
        inner = [f"{a}-{b}.{i}" for i in range(1, n)]
        for i, node in enumerate(inner, start=1):
            self.node(node, *(float(v) for v in start + (end_ - start) * (i / n)))
        path = (a, *inner, b)
        for i in range(n):
            p, q = path[i], path[i + 1]
            part = (
                element.piece(p, q, first=i == 0, last=i == n - 1)
                if isinstance(element, Member)
                else element(p, q)
            )
            self.add(part, name=None if name is None else f"{name}[{i}]")
        return path

    def support(self, node: str, *dofs: str) -> None:
        """Hold degrees of freedom of a node at zero; all of them where none is named.

        Parameters
        ----------
        node
            Its name; one that does not exist is reported when the structure is assembled.
        *dofs
            ``"ux"``, ``"uy"``, ``"uz"``, ``"rx"``, ``"ry"``, ``"rz"``, one by one; none: all six. A
            second call adds to what is held.
        """
        named: tuple[object, ...] = dofs
        if not all(isinstance(dof, str) for dof in named):
            raise InputError(
                f"structure '{self.name}': support: expected names of degrees of freedom one by one, "
                f"support('{node}', 'ux', 'uy'); found {dofs!r:.60}"
            )
        before = self.supports.get(node, ())
        self.supports[node] = tuple(dict.fromkeys((*before, *(dofs or DOFS))))

    def constrain(self, terms: Mapping[str, float]) -> None:
        """Keep a linear combination of degrees of freedom at zero; the first one named is eliminated.

        ``constrain({"a.ux": 1, "b.ux": -1})`` makes both move alike.

        Parameters
        ----------
        terms
            Coefficients by degree of freedom; at least one must not be zero.
        """
        self.constraints.append(checked_constraint(terms))

    def tie(self, a: str, b: str, *dofs: str) -> None:
        """Make degrees of freedom of node b follow those of node a; none named: all that both have.

        Parameters
        ----------
        a, b
            Names of the nodes: b follows a.
        *dofs
            Which: ``"ux"``, ``"rz"``, ...; none: all that both have.
        """
        for d in dofs or DOFS:
            terms = {f"{b}.{d}": 1.0, f"{a}.{d}": -1.0}
            self.constraints.append(checked_constraint(terms, lenient=not dofs))

    def apart(self, *nodes: str) -> None:
        """Say that members end at one place without being joined there, as braces that cross.

        Parameters
        ----------
        *nodes
            Names of the nodes at that place.
        """
        self.separate.append(tuple(nodes))

    def rigid_floor(self, *, master: str, nodes: Sequence[str], plane: str = "xy") -> None:
        """Make nodes move within a plane like one rigid body led by the node `master`.

        The two translations in the plane and the rotation about its normal follow the master's; what
        happens out of the plane stays free.

        Parameters
        ----------
        master
            Name of the node that leads.
        nodes
            Names of those that follow.
        plane
            ``"xy"``, ``"yz"`` or ``"xz"``; anything else is refused.
        """
        self.constraints.append(checked_floor(master, nodes, plane))

    def storeys(self, *nodes: str) -> None:
        """Say where storeys begin and end: nodes one above the other, from the ground up.

        Drift, shear and acceleration of storey 1, between the first two nodes, can then be recorded as
        ``storey[1].drift_x`` and the like; see `Readings`.

        Parameters
        ----------
        *nodes
            Their names, two at least, each higher than the one before.
        """
        self.column_line = checked_column_line(self, nodes)

    def rayleigh(self, alpha: Number, beta: Number) -> None:
        """Damp in proportion to mass and stiffness: C = αM + βK, added to what elements bring.

        It damps the motion relative to the ground, as all damping of a whole structure here: on ground that
        moves, αM acts on what is left of a velocity when the ground's is taken off.

        Parameters
        ----------
        alpha
            Of the mass: a number in 1/s or a text with its unit, not negative; 0 for none.
        beta
            Of the stiffness: a number in s or a text with its unit, not negative; 0 for none.
        """
        self._proportional = checked_rayleigh((alpha, beta), f"structure '{self.name}'")

    def rayleigh_from(self, zeta1: Number, f1: Number, zeta2: Number, f2: Number) -> tuple[float, float]:
        """Damp with the ratios ζ₁ at f₁ and ζ₂ at f₂ (in Hz); return α and β.

        Parameters
        ----------
        zeta1, zeta2
            Damping ratios, 0.02 for 2 % of critical. Two so far apart that α or β would be negative are
            refused.
        f1, f2
            Where they hold: two different frequencies, numbers in Hz or texts with a unit. Of two equal
            ratios there is less damping between them and more beyond.
        """
        first = number(zeta1, "zeta1", "1"), number(f1, "f1", "Hz")
        second = number(zeta2, "zeta2", "1"), number(f2, "f2", "Hz")
        self.rayleigh(*rayleigh_coefficients(*first, *second))
        return self._proportional

    def rayleigh_of(
        self, *elements: str, alpha: Number = 0.0, beta: Number = 0.0, without: Sequence[str] = ()
    ) -> None:
        """Damp some elements in proportion to their own masses and stiffnesses; several calls add up.

        Parameters
        ----------
        *elements
            Names of elements, or one that several share (``"column"``); none: all.
        alpha, beta
            In 1/s and s, as for `rayleigh`.
        without
            Elements to leave out: isolators and dampers have their own damping.
        """
        pair = checked_rayleigh((alpha, beta), f"structure '{self.name}'")
        region = RayleighRegion(elements, *pair, (without,) if isinstance(without, str) else tuple(without))
        for names in (region.elements, region.without):
            chosen(self, names)
        self._cache.clear()
        self._regions.append(region)

    def modal_damping(self, ratios: Number | Sequence[Number], count: int | None = None) -> None:
        """Damp modes, with supports held, with the given ratios.

        Parameters
        ----------
        ratios
            Ratios of the lowest modes; or one for all modes, whose C is a full matrix.
        count
            With one ratio: of how many of the lowest modes. Large structures need it.
        """
        self._ratios = checked_ratios(ratios, count, f"structure '{self.name}': modal_damping")

    def p_delta(
        self,
        forces: Mapping[str, Number],
        shape: Literal["consistent", "string"] = "consistent",
    ) -> None:
        """Let members carry axial forces that stay: K has their geometric stiffness from now on (P-Δ).

        Parameters
        ----------
        forces
            In N, tension positive, by member or by the name that several share; those of gravity are
            ``axial_forces(static(m, dead))``. An empty mapping takes them off again.
        shape
            ``"consistent"``: members bend under them between their ends too; ``"string"``: only the line
            between the ends leans, as OpenSees' ``PDelta`` has it.
        """
        self._axial = checked_axial_forces(self, forces, shape)
        self._cache.clear()

    def axial_forces(
        self, displacement: Array, free_strain: Mapping[str, Number] | None = None
    ) -> dict[str, float]:
        """Return the axial forces of members in N, tension positive, at displacements of the free ones.

        Parameters
        ----------
        displacement
            Of the free degrees of freedom, as `static` gives them.
        free_strain
            By member or by the name that several share, the strain that needs no force: α ΔT where a load of
            `thermal` is in the displacements, with the factor that it has there.
        """
        return axial_forces(self, displacement, free_strain or {})

    def buckling(self, count: int = 1) -> Buckling:
        """Return by how much the axial forces of `p_delta` may grow until the structure buckles.

        Parameters
        ----------
        count
            Load factors that are wanted, the smallest positive ones.
        """
        return buckling(self.name, self.assembly(), count)

    def faults(self) -> list[str]:
        """Everything that is wrong with nodes, elements, supports and constraints."""
        return structure_faults(self)

    def assembly(self, mass: Mass = "consistent", released: frozenset[str] = frozenset()) -> Assembly:
        """Return the matrices of all degrees of freedom, supported ones too, without overall damping.

        Parameters
        ----------
        mass
            ``"consistent"`` or ``"lumped"``.
        released
            Degrees of freedom, ``"base.ux"``, whose supports are left out.
        """
        if mass not in ("consistent", "lumped"):
            raise InputError(f"mass must be 'consistent' or 'lumped'; found '{mass}'")
        key = (mass, released)
        # All four are public, and may have been changed by hand since.
        now = (dict(self.nodes), dict(self.elements), dict(self.supports), list(self.constraints))
        if now != self._assembled:
            self._cache.clear()
            self._assembled = now
        if key not in self._cache:
            raise_faults(self.name, self.faults())
            assembly = with_regions(self, self._regions, assemble_all(self, mass, released))
            if self._axial.forces:
                G = geometric_stiffness(self, self._axial, assembly)
                assembly = replace(assembly, K=assembly.K + G, G=G)
            self._cache[key] = assembly
            raise_faults(self.name, unattached_masses(self, self._cache[key].names))
        return self._cache[key]

    def assemble(self, mass: Mass = "consistent", *, free: bool = False) -> Matrices:
        """Assemble the matrices of the free degrees of freedom.

        Parameters
        ----------
        mass
            ``"consistent"`` or ``"lumped"``.
        free
            Accept motions without stiffness, such as those of a structure that is not supported.
        """
        matrices = self._matrices(self.assembly(mass), mass, free=free)
        return remember(matrices, "from_structure", structure=plain(self), mass=mass, free=free)

    def describe(self) -> dict[str, Any]:
        """Return nodes, elements, supports, constraints and damping as tables."""
        axial = self._axial
        tables = {
            "structure": "Structure",
            "nodes": plain(self.nodes),
            "elements": plain(self.elements),
            "supports": plain(self.supports),
            "constraints": plain(self.constraints),
            "rayleigh": list(self._proportional),
            "modal_damping": plain(self._ratios),
            "regions": plain(self._regions) or None,
            "apart": [list(names) for names in self.separate] or None,
            "highest_frequency": self.highest_frequency,
            "storeys": list(self.column_line) or None,
            "axial_forces": dict(axial.forces) or None,
            "axial_shape": axial.shape if axial.forces else None,
            "name": self.name,
        }
        return {name: table for name, table in tables.items() if table is not None}

    def _matrices(self, assembly: Assembly, mass: Mass, *, free: bool) -> Matrices:
        M, C, K = (assembly.reduced(part) for part in (assembly.M, assembly.C, assembly.K))
        if not free:
            refuse_mechanism(self.name, K, assembly.free_names, self.coordinates)
            refuse_buckled(self.name, assembly)
        matrices = Matrices(M, C, K, assembly.free_names)
        object.__setattr__(matrices, "_absent", assembly.absent)
        keep_footing(matrices, Footing.of_assembly(assembly, self.coordinates, M, K))
        regions = region_masses(self, self._regions, assembly, mass)
        return damped_whole(matrices, self._proportional, self._ratios, regions)

    def load_vector(self, loads: Mapping[str, Number]) -> Array:
        """Return the forces on the free degrees of freedom from named ones in N or N m.

        Parameters
        ----------
        loads
            By degree of freedom, ``{"tip.uy": "-2 kN"}``: numbers in N or N m or texts with a unit. One
            that is held by a support is refused.
        """
        assembly = self.assembly()
        place = {name: i for i, name in enumerate(assembly.names)}
        f = np.zeros(len(assembly.names))
        for dof, value in loads.items():
            if dof not in place:
                raise InputError(
                    f"structure '{self.name}': load on {unknown_name('degree of freedom', dof, place)}"
                )
            if assembly.held[place[dof]]:
                raise InputError(f"structure '{self.name}': load on '{dof}', which a support holds")
            f[place[dof]] += _si(value, dof_domain(dof).effort.unit)
        return np.asarray(assembly.T.T @ f)

    def distributed(self, *elements: str, fx: Number = 0.0, fy: Number = 0.0, fz: Number = 0.0) -> Array:
        """Return the consistent forces of a uniform load on members, in N per m, in global directions.

        Members are named one by one or by the name they share (``"beam"`` for all ``beam[i]``).

        Parameters
        ----------
        *elements
            Names of members, or one that several share.
        fx, fy, fz
            Load along each global axis: a number in N per m of member or a text with a unit.
        """
        assembly = self.assembly()
        load = distributed_load(self, elements, np.array([_si(f, "N/m") for f in (fx, fy, fz)]))
        return np.asarray(assembly.T.T @ load[assembly.codes])

    def thermal(
        self,
        *elements: str,
        rise: Number = 0.0,
        expansion: Number,
        gradient: Number = 0.0,
        gradient_z: Number = 0.0,
    ) -> Array:
        """Return the forces of members that grow warmer, on the free degrees of freedom.

        Parameters
        ----------
        *elements
            Bars and frame members, one by one or by the name they share.
        rise
            Of the temperature of the axis, in K.
        expansion
            Per K: 12e-6 for steel.
        gradient, gradient_z
            How the temperature rises along the local y and z, in K/m.
        """
        assembly = self.assembly()
        per_kelvin = _si(expansion, "1/K")
        strains = (
            per_kelvin * _si(rise, "K"),
            per_kelvin * _si(gradient, "K/m"),
            per_kelvin * _si(gradient_z, "K/m"),
        )
        load = thermal_load(self, elements, strains[0], strains[1:])
        return np.asarray(assembly.T.T @ load[assembly.codes])

    def influence(self, direction: str) -> Array:
        """Return the motion of the free degrees of freedom when the ground moves by one.

        The direction is one of ``"ux"`` to ``"rz"``; rotations of the ground are about the origin.

        Parameters
        ----------
        direction
            ``"ux"``, ``"uy"``, ``"uz"`` (by 1 m), ``"rx"``, ``"ry"`` or ``"rz"`` (by 1 rad).
        """
        assembly = self.assembly()
        return assembly.rigid(self.coordinates, direction)[assembly.free]

    def base_excitation(self, direction: str, mass: Mass = "consistent") -> Array:
        """Return -M r, the force on the free degrees of freedom per unit of ground acceleration.

        Displacements are relative to the ground. r is the rigid motion of the whole structure: supported
        degrees of freedom move too, so that their coupling by a consistent mass is not lost (a lumped mass
        has none).

        Parameters
        ----------
        direction
            As of `influence`.
        mass
            ``"consistent"`` or ``"lumped"``.
        """
        assembly = self.assembly(mass)
        return np.asarray(-(assembly.T.T @ (assembly.M @ assembly.rigid(self.coordinates, direction))))

    def prescribed(
        self,
        *dofs: str,
        mass: Mass = "consistent",
        free: bool = False,
        damping: Literal["relative", "absolute"] = "relative",
    ) -> Prescribed:
        """Impose the motion of some degrees of freedom, as du Bois 2010 eq. (15).

        A support of such a degree of freedom gives way: this is how the ground moves one foot of a bridge.

        Parameters
        ----------
        *dofs
            The ones that are imposed.
        mass
            ``"consistent"`` or ``"lumped"``.
        free
            Accept motions without stiffness.
        damping
            What αM of Rayleigh's damping acts on: ``"relative"``, what is left of a velocity when that is
            taken off with which the structure follows the imposed motion at rest; ``"absolute"``, all of it,
            as if the air damped it, which αM is seldom meant to be. Modal damping, with imposed motions held,
            is always relative.
        """
        if damping not in ("relative", "absolute"):
            raise InputError(f"damping must be 'relative' or 'absolute'; found {damping!r}")
        assembly = self.assembly(mass, frozenset(dofs))
        M, C, K = (assembly.reduced(x) for x in (assembly.M, assembly.C, assembly.K))
        regions = region_masses(self, self._regions, assembly, mass)
        if regions is not None and damping == "absolute":
            C, regions = C + regions, None
        whole = Matrices(M, C, K, assembly.free_names)
        for d in dofs:
            if d not in whole.dofs:
                words = assembly.absent(d) or unknown_name("degree of freedom", d, whole.dofs)
                raise InputError(f"structure '{self.name}': {words}")
        answer = Prescribed.of(whole, dofs)
        if not free:
            refuse_mechanism(self.name, answer.matrices.K, answer.matrices.dofs, self.coordinates)
        alpha, beta = self._proportional
        if regions is not None:
            kept = whole.indices(answer.matrices.dofs)
            regions = regions.tocsr()[kept][:, kept]
        other = self._ratios is not None or regions is not None
        rest = damped_whole(answer.matrices, self._proportional, self._ratios, regions)
        return damped_supports(answer, rest, alpha, beta, damping, modal=other)


def _si(value: Number, *units: str) -> float:
    return quantity(value, *units) if isinstance(value, str) else float(value)


def structure_from_tables(  # noqa: PLR0913, PLR0917 - each is one table of the description
    nodes: Mapping[str, Sequence[Number]],
    elements: Mapping[str, Element],
    supports: Mapping[str, Sequence[str]] | None = None,
    constraints: Sequence[Constraint | RigidFloor] = (),
    rayleigh: Sequence[Number] = (0.0, 0.0),
    modal_damping: float | Sequence[float] | None = None,
    regions: Sequence[RayleighRegion] = (),
    highest_frequency: Number = 1e6,
    storeys: Sequence[str] = (),
    name: str = "structure",
    apart: Sequence[Sequence[str]] = (),
    axial_forces: Mapping[str, Number] | None = None,
    axial_shape: str = "consistent",
) -> Structure:
    """Return a structure from tables, the inverse of ``structure.describe()``.

    Parameters
    ----------
    nodes, elements
        By name: coordinates x, y, z in m, those left out being zero; and the elements.
    supports
        Degrees of freedom that are held, by node; all of a node where none is named.
    constraints
        Constraints and rigid floors, in their order.
    rayleigh, modal_damping, regions
        As of `Structure.rayleigh`, `Structure.modal_damping` and `Structure.rayleigh_of`.
    highest_frequency, name
        As of `Structure`.
    storeys, apart
        Nodes, as of `Structure.storeys` and, each time two or more, of `Structure.apart`.
    axial_forces, axial_shape
        As of `Structure.p_delta`.

    Examples
    --------
    >>> from bondloop.structures import Spring
    >>> s = structure_from_tables(
    ...     {"a": [0], "b": [1]}, {"spring": Spring("a", "b", k=3.0, dof="ux")}, {"a": []}
    ... )
    >>> s.assemble().K.toarray().tolist()
    [[3.0]]
    """
    structure = Structure(name, highest_frequency=highest_frequency)
    for node, at in nodes.items():
        if len(at) > 3:
            raise InputError(f"node '{node}': expected up to three coordinates x, y, z; found {len(at)}")
        structure.node(node, *at)
    for key, element in elements.items():
        structure.add(element, key)
    for node, dofs in (supports or {}).items():
        structure.support(node, *dofs)
    structure.constraints += list(constraints)
    for names in apart:
        structure.apart(*names)
    structure.rayleigh(*checked_rayleigh(rayleigh, "Structure(rayleigh)"))
    if modal_damping is not None:
        structure.modal_damping(modal_damping)
    for region in regions:
        structure.rayleigh_of(*region.elements, alpha=region.alpha, beta=region.beta, without=region.without)
    if storeys:
        structure.storeys(*storeys)
    structure.p_delta(axial_forces or {}, axial_shape)  # type: ignore[arg-type]
    return structure


def matrices_from_structure(
    structure: Structure | ShearBuilding, mass: str = "consistent", free: bool = False
) -> Matrices:
    """Return M, C and K of a structure's free degrees of freedom.

    Parameters
    ----------
    structure
        Nodes, elements and supports, or a shear building.
    mass
        ``"consistent"`` or ``"lumped"``.
    free
        Accept motions without stiffness.
    """
    if isinstance(structure, ShearBuilding):
        return structure.assemble()
    return structure.assemble(mass, free=free)  # type: ignore[arg-type]


family_word("Structure", "structure", __name__)
register(Kind("structure", "Structure", structure_from_tables))
register(Kind("matrices", "from_structure", matrices_from_structure))
register(Kind("matrices", "file", read_matrices))
