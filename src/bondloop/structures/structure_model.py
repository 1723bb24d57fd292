"""Structures as bond graphs: the network form of da Silva 1994 and the field form, with devices between.

Both have one 1-junction per degree of freedom, ``model.tip.uy``, to which anything can be bonded, and both
obey M ü + C u̇ + K u = F. The network form has a spring from every degree of freedom to ground and one between
every coupled pair; the field form has one inertia, one compliance and one resistor field, and twice as many
states as degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.bondgraph import MIXED, ROTATION, Model, One, Zero, bond, name_or_kind, own_part, place
from bondloop.bondgraph.elements import TF, C, CField, I, IField, Input, MSe, R, RField, Se
from bondloop.devices import LargeBar, OdeSpecimen
from bondloop.engine.data import POSITIVE, describable
from bondloop.errors import InputError, unknown_name
from bondloop.structures.dofs import dof_domain
from bondloop.structures.ground import Footing, footing_of
from bondloop.structures.tolerances import ENTRY_ROUNDING
from bondloop.units import is_of_kind, quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.bondgraph import Part, Terminal
    from bondloop.structures.elements.base import Number
    from bondloop.structures.matrices import Matrices, Sparse
    from bondloop.structures.structure import Structure


class StructureModel(Model):
    """A structure as a bond graph; its degrees of freedom are 1-junctions ``node.dof``.

    Parameters
    ----------
    name
        Name of the model.
    dofs
        Names ``node.dof`` of the degrees of freedom.
    """

    def __init__(self, name: str, dofs: Iterable[str]) -> None:
        super().__init__(name)
        self._junctions: dict[str, One] = {}
        self._forces = 0
        self._absent: Callable[[str], str] | None = None  # why a degree of freedom is not there
        self._matrices: Matrices | None = None  # what it was made of, where it was made of matrices
        self._patterns: dict[str, dict[str, float]] = {}  # loads in m/s^2, by input
        self._footing: Footing | None = None  # how it goes with the ground
        self._devices: dict[str, tuple[OdeSpecimen, tuple[dict[str, float], ...]]] = {}  # by `attach`
        self._device_parts: list[str] = []  # names of what `attach` put in: the devices, and what bonds them
        self._carriers: dict[int, One] = {}  # 1-junctions of the coordinates that the ground's loads act on
        for dof in dofs:
            self._junctions[dof] = _placed(self, dof)
            self._junctions[dof].domain = dof_domain(dof)

    @property
    def dofs(self) -> tuple[str, ...]:
        """Names of the degrees of freedom."""
        return tuple(self._junctions)

    @property
    def matrices(self) -> Matrices | None:
        """M, C and K of which it was made; None where it was not made of matrices."""
        return self._matrices

    def junction(self, dof: str) -> One:
        """Return the 1-junction of a degree of freedom ``dof``; an unknown one is refused."""
        found = self._junctions.get(dof)
        if found is None:
            absent = "" if self._absent is None else self._absent(dof)
            raise InputError(
                absent
                or unknown_name("degree of freedom", dof, self._junctions, where=self._name or "structure")
            )
        return found

    def device_parts(self) -> set[Part]:
        """Return the parts of attached devices, with the junctions and levers by which they are bonded."""
        return {self._parts[name] for name in self._device_parts if name in self._parts}

    def _stand_on(self, matrices: Matrices, carriers: Iterable[One]) -> None:
        """Remember how the structure goes with the ground, where that can be told."""
        self._absent, self._matrices = matrices.missing, matrices
        try:
            self._footing = footing_of(matrices)
        except InputError:
            return
        self._carriers = dict(enumerate(carriers))

    def ground_motion(self, where: str) -> dict[str, float]:
        """Return by degree of freedom how far it goes with the ground, per unit of the ground's motion.

        Parameters
        ----------
        where
            A direction in which all supports move, ``"ux"`` to ``"rz"``, or one support's ``"foot.ux"``.
        """
        return known_footing(self).motion(where)

    def floats(self, where: str) -> bool:
        """Return whether it goes along with a rigid motion without any force, standing on no ground.

        Parameters
        ----------
        where
            A direction, as of `ground_motion`.
        """
        footing = known_footing(self)
        if self._matrices is None or footing.basis is not None or where not in footing.rigid:
            return False
        r = footing.rigid[where][0]
        parts = (self._matrices.K, self._matrices.C)
        return all(np.abs(part @ r).max() <= 1e-9 * abs(part).max() for part in parts)

    def ground_load(self, where: str) -> list[tuple[One, float]]:
        """Return the forces per unit of the ground's acceleration, and the 1-junctions they act on.

        Parameters
        ----------
        where
            As of `ground_motion`.
        """
        return self._on_carriers(known_footing(self).load(where))

    def ground_drag(self, where: str) -> list[tuple[One, float]]:
        """Return the forces per unit of the ground's velocity, and the 1-junctions they act on.

        Parameters
        ----------
        where
            As of `ground_motion`.
        """
        return self._on_carriers(known_footing(self).drag(where))

    def _on_carriers(self, forces: NDArray[np.float64]) -> list[tuple[One, float]]:
        pairs = zip(self._carriers.values(), forces.tolist(), strict=True)
        return [(one, force) for one, force in pairs if force]

    def apply_forces(self, forces: Mapping[str, str] | Iterable[str]) -> None:
        """Put force inputs on degrees of freedom: names, or a mapping to input names.

        Parameters
        ----------
        forces
            Degrees of freedom, whose inputs are called ``F_tip_uy`` for ``"tip.uy"``; or a mapping from
            them to names of inputs.
        """
        named = (
            dict(forces) if isinstance(forces, Mapping) else {d: f"F_{d.replace('.', '_')}" for d in forces}
        )
        for dof, name in named.items():
            source = Se(name)
            setattr(self, f"force_{self._forces}", source)
            self._forces += 1
            bond(source, self.junction(dof))

    def apply_pattern(self, pattern: Mapping[str, float], name: str, *, unit: str | None = None) -> None:
        """Put one input on many degrees of freedom: forces in a fixed pattern, as wind or -M r of the ground.

        Parameters
        ----------
        pattern
            Force per unit of the input, by degree of freedom; zeros are left out.
        name
            Name of the input.
        unit
            What the input measures: ``"m/s^2"`` for an acceleration of the ground; None if unknown.
        """
        acting = {dof: float(weight) for dof, weight in pattern.items() if weight}
        if not acting:
            raise InputError(f"load '{name}' acts nowhere: every force of its pattern is zero")
        if unit is not None and is_of_kind(f"1 {unit}", "m/s^2"):
            self._patterns[name] = acting
        source = Input(name, unit=unit)
        setattr(self, f"{name}_input", source)
        for i, (dof, weight) in enumerate(acting.items()):
            force = MSe(lambda s, weight=weight: weight * s)
            setattr(self, f"{name}_force_{i}", force)
            bond(source, force)
            bond(force, self.junction(dof))


# Asked by functions: nodes of a structure are attributes of its model, and one may well be called footing.


def footing_of_model(model: StructureModel) -> Footing | None:
    """Return how a structure goes with the ground; None where that is not known."""
    return model._footing


def known_footing(model: StructureModel) -> Footing:
    """Return how a structure goes with the ground; one of which that is not known is refused."""
    if model._footing is None:
        raise InputError(
            f"ground: how the structure '{name_or_kind(model)}' goes with the ground is not known; make it "
            "of the matrices that Structure.assemble() gives, reduced or not, or call degrees of freedom as "
            "in 'floor.ux'"
        )
    return model._footing


def acceleration_loads(model: StructureModel) -> Mapping[str, Mapping[str, float]]:
    """Return the patterns of `StructureModel.apply_pattern` whose input is an acceleration, by input."""
    return dict(model._patterns)


@describable("model")
def field_form(
    matrices: Matrices, name: str = "structure", forces: Mapping[str, str] | Iterable[str] = ()
) -> StructureModel:
    """Return the field form: I-, C- and R-fields on the 1-junctions, 2 n states.

    Parameters
    ----------
    matrices
        M, C, K with named degrees of freedom; every one needs mass.
    name
        Name of the model.
    forces
        Degrees of freedom on which a force acts, with input names if wished.
    """
    _check_mass(matrices)
    model = StructureModel(name, matrices.dofs)
    model._matrices = matrices
    junctions = [model.junction(d) for d in matrices.dofs]
    model._stand_on(matrices, junctions)
    for attribute, matrix, kind in (
        ("inertia", matrices.M, IField),
        ("stiffness", matrices.K, CField),
        ("damping", matrices.C, RField),
    ):
        rows = np.flatnonzero(np.diff(matrix.indptr)) if kind is not IField else np.arange(len(matrices))
        if not len(rows):
            continue
        field = kind(matrix[rows][:, rows].tocsr())
        setattr(model, attribute, field)
        for port, row in enumerate(rows):
            bond(junctions[row], field[port])
    model.apply_forces(forces)
    return model


@describable("model")
def network_form(
    matrices: Matrices, name: str = "structure", forces: Mapping[str, str] | Iterable[str] = ()
) -> StructureModel:
    """Return the network form of da Silva 1994.

    Every degree of freedom i has a spring to ground, k_i = sum of K_ij over j, and every pair that the
    stiffness matrix couples has a spring -K_ij between them; dampers likewise. Coupling springs of beams are
    partly negative: that is right. A pair whose entry is stored but zero (contributions of two elements
    cancel) keeps its spring, as in the paper's figure 8. A mass matrix that is not diagonal is kept as a
    field.

    Parameters
    ----------
    matrices, name, forces
        As for :func:`field_form`.
    """
    _check_mass(matrices)
    model = StructureModel(name, matrices.dofs)
    model._matrices = matrices
    junctions = [model.junction(d) for d in matrices.dofs]
    model._stand_on(matrices, junctions)
    if _is_coupled(matrices.M):
        model.inertia = IField(matrices.M)
        for i, j in enumerate(junctions):
            bond(j, model.inertia[i])
    else:
        model.inertia = [
            _inertia(d, float(m)) for d, m in zip(matrices.dofs, matrices.M.diagonal(), strict=True)
        ]
        for j, part in zip(junctions, model.inertia, strict=True):
            bond(j, part)
    _network(model, junctions, matrices.K, "spring", lambda v, **given: C(stiffness=v, **given))
    if abs(matrices.C).sum() > 0:
        _network(model, junctions, matrices.C, "damper", lambda v, **given: R(damping=v, **given))
    model.apply_forces(forces)
    return model


def _network(
    model: StructureModel, junctions: list[One], matrix: Any, word: str, element: Callable[..., C | R]
) -> None:
    ground = np.asarray(matrix.sum(axis=1)).ravel()
    # A row that sums to what rounding leaves has no spring to ground: its entries hold no smaller one.
    ground[np.abs(ground) <= ENTRY_ROUNDING * np.asarray(abs(matrix).sum(axis=1)).ravel()] = 0.0
    to_ground = [element(float(v)) for v in ground]
    setattr(model, f"{word}_to_ground", to_ground)
    for j, part in zip(junctions, to_ground, strict=True):
        bond(j, part)
    pairs = matrix.tocoo()
    chosen = sorted(
        (int(i), int(j), float(v)) for i, j, v in zip(*pairs.coords, pairs.data, strict=True) if i < j
    )
    if not chosen:
        return
    # Between a rotation and a translation a spring is a mere number.
    mixed = [junctions[i].domain != junctions[j].domain for i, j, _ in chosen]
    between = [
        element(-v if v else 0.0, **({"domain": MIXED.name} if m else {}))
        for (_, _, v), m in zip(chosen, mixed, strict=True)
    ]
    stretches = [Zero(domain=MIXED.name if m else None) for m in mixed]
    setattr(model, f"{word}_between", between)
    setattr(model, f"{word}_stretch", stretches)
    for (one, other, _), part, stretch in zip(
        chosen, between, getattr(model, f"{word}_stretch"), strict=True
    ):
        bond(junctions[one], stretch)
        bond(stretch, junctions[other])
        bond(stretch, part)


def _inertia(dof: str, value: float) -> I:
    """Return the inertia of a degree of freedom, by the word of its domain."""
    return I(inertia=value) if dof_domain(dof) is ROTATION else I(mass=value)


def _placed(model: Model, dof: str) -> One:
    """Put the 1-junction of ``node.dof`` into a model; nodes become models inside it."""
    *nodes, motion = dof.split(".")
    if not all([*nodes, motion]):
        raise InputError(f"a degree of freedom is named as in 'tip.uy'; found {dof!r}")
    for node in nodes:
        inner = own_part(model, node)
        if inner is None:
            inner = Model()
            place(model, node, inner)
        if not isinstance(inner, Model):
            raise InputError(f"'{dof}': '{node}' is a degree of freedom already, so it cannot be a node")
        model = inner
    junction = One()
    place(model, motion, junction)
    return junction


def _is_coupled(M: Sparse) -> bool:
    """Whether masses couple degrees of freedom by more than rounding, as in turned lumped elements."""
    entries = M.tocoo()
    i, j = entries.coords
    size = np.sqrt(M.diagonal())
    return bool(np.any(np.abs(entries.data[i != j]) > ENTRY_ROUNDING * (size[i] * size[j])[i != j]))


def _check_mass(matrices: Matrices) -> None:
    bare = [d for d, m in zip(matrices.dofs, matrices.M.diagonal(), strict=True) if not m > 0]
    if bare:
        raise InputError(
            f"degrees of freedom without mass: {', '.join(bare[:6])}{' ...' if len(bare) > 6 else ''}; "
            "give them mass (consistent mass, a point mass), hold them, or reduce the structure (guyan) to "
            "those with mass"
        )


def attach(model: StructureModel, name: str, device: OdeSpecimen, way: Mapping[str, float]) -> None:
    """Put a device between degrees of freedom of a structure, in either form.

    Its displacement is the sum of weights times degrees of freedom, and its force acts on each with that
    weight: between two floors ``{"two.ux": 1, "one.ux": -1}``, of a truss bar `elongation`. A plastic hinge
    is a device between the rotations of two nodes at one place that are tied in all else (`Structure.tie`).

    Parameters
    ----------
    model
        From `field_form` or `network_form`.
    name
        Of the device in the model, by which its parameters are set.
    device
        A device, or a specimen of one's own with one interface.
    way
        Weights by degree of freedom.

    Examples
    --------
    >>> from bondloop.devices import Bilinear
    >>> from bondloop.structures import ShearBuilding, attach, field_form
    >>> building = ShearBuilding(masses=[2000, 1500], stiffnesses=[8e5, 6e5])
    >>> model = field_form(building.assemble(), "building", forces={"floor[2].ux": "wind"})
    >>> attach(model, "brace", Bilinear("1 kN/mm", "5 kN"), {"floor[2].ux": 1, "floor[1].ux": -1})
    >>> sorted(p for p in model.compile().parameters if p.startswith("brace"))[:2]
    ['brace.hardening', 'brace.isotropic']
    """
    given: object = device
    if not isinstance(given, OdeSpecimen) or given.interfaces != 1:
        raise InputError(f"attach: expected a device with one interface; found {device!r:.60}")
    try:
        weights = {dof: float(weight) for dof, weight in way.items() if weight}
    except (AttributeError, TypeError, ValueError):
        weights = {}
    if not weights or not np.isfinite([*weights.values()]).all():
        raise InputError(
            "attach: expected finite weights by degree of freedom, {'b.ux': 1, 'a.ux': -1}; found "
            f"{way!r:.60}"
        )
    element = device.element()
    _put(model, name, element)
    _bond_along(model, name, element, weights)
    model._devices[name] = (device, (weights,))


def attach_bar(
    model: StructureModel,
    name: str,
    structure: Structure,
    a: str,
    b: str,
    *,
    EA: Number,
    tension: Number = 0.0,
    tension_only: bool = False,
) -> None:
    """Put a bar or a cable between two nodes that may move by any amount: its force follows its axis.

    It has no mass; give its nodes theirs. `Bar` is the same for small displacements, where it stays linear.

    Parameters
    ----------
    model
        From `field_form` or `network_form`, whose degrees of freedom are those of the structure.
    name
        Of the bar in the model.
    structure
        With the nodes.
    a, b
        Names of its ends.
    EA
        Modulus times area, N.
    tension
        Force that it carries between the nodes as they are described, N.
    tension_only
        Whether it goes slack when it is pushed: a cable.

    Examples
    --------
    A cable of two pieces across 2 m, without a force in it, sags under a load in its middle:

    >>> from bondloop.structures import PointMass, Structure, attach_bar, field_form, static
    >>> s = Structure("line")
    >>> for node, x in (("left", 0.0), ("middle", 1.0), ("right", 2.0)):
    ...     s.node(node, x=x)
    ...     _ = s.add(PointMass(node, m=2.0, dofs=("ux", "uy")))
    >>> for end in ("left", "right"):
    ...     s.support(end)
    >>> model = field_form(s.assemble(free=True), "line")
    >>> for name, ends in {"one": ("left", "middle"), "other": ("middle", "right")}.items():
    ...     attach_bar(model, name, s, *ends, EA="1 MN", tension="2 kN", tension_only=True)
    >>> static(model, {"middle.uy": -1000.0}).round(4).tolist()
    [0.0, -0.0869]
    """
    for node in (a, b):
        if node not in structure.nodes:
            raise InputError(f"attach_bar: {unknown_name('node', node, structure.nodes)}")
    stiffness = POSITIVE.check(EA, "attach_bar(EA)", "N")
    force = quantity(tension, "N") if isinstance(tension, str) else float(tension)
    if not -stiffness < force < np.inf:
        raise InputError(f"attach_bar(tension): expected more than -EA = {-stiffness:g} N; found {force:g} N")
    span = np.array(structure.nodes[b]) - structure.nodes[a]
    length = float(np.linalg.norm(span))
    assembly = structure.assembly()
    ways = []
    for letter, part in zip("xyz", span.tolist(), strict=True):
        ends = {f"{b}.u{letter}": 1.0, f"{a}.u{letter}": -1.0}
        free = [dof for dof in ends if dof in model.dofs]
        for dof in ends:
            if dof not in free and dof in assembly.names and not assembly.held[assembly.names.index(dof)]:
                model.junction(dof)  # which says why it is not there
        ways.append({dof: ends[dof] for dof in free})
        if part and not free:
            raise InputError(
                f"attach_bar: neither {a} nor {b} can move along {letter}, but the bar between them extends "
                f"there by {part:g} m; bars between nodes that move in the plane lie in it"
            )
    flat = not ways[2]
    if not ways[0] or not ways[1]:
        raise InputError(
            f"attach_bar: the nodes {a} and {b} cannot move in x and y; give one of them both degrees of "
            "freedom (a PointMass with dofs=('ux', 'uy'))"
        )
    bar = LargeBar(
        stiffness=stiffness,
        length=length / (1 + force / stiffness),
        **dict(zip(("span_x", "span_y", "span_z"), span.tolist(), strict=True)),
        dimensions=2 if flat else 3,
        tension_only=tension_only,
    )
    element = bar.element()
    _put(model, name, element)
    for i, way in enumerate(ways[: bar.interfaces]):
        _bond_along(model, f"{name}_{'xyz'[i]}", getattr(element, element.port_names[i]), way)
    model._devices[name] = (bar, tuple(ways[: bar.interfaces]))
    _keep_places(model, [dof for way in ways for dof in way])


def _keep_places(model: StructureModel, dofs: Iterable[str]) -> None:
    """Let degrees of freedom that nothing else holds know where they are: a spring of no stiffness."""
    K = model.matrices.K if model.matrices is not None else None
    for dof in dofs:
        place = f"{dof.replace('.', '_')}_place"
        if K is None or own_part(model, place) is not None or K[[model.dofs.index(dof)]].nnz:
            continue
        setattr(model, place, C(stiffness=0.0))
        bond(model.junction(dof), getattr(model, place))


def _put(model: StructureModel, name: str, part: Part) -> None:
    """Put a part of a device into a structure, which remembers that it is none of its own."""
    setattr(model, name, part)
    model._device_parts.append(name)


def _bond_along(
    model: StructureModel, name: str, port: Part | Terminal, weights: Mapping[str, float]
) -> None:
    """Bond a port of an element to the sum of weights times degrees of freedom."""
    junctions = [model.junction(dof) for dof in weights]
    stretch = Zero()
    _put(model, f"{name}_stretch", stretch)
    for i, (junction, weight) in enumerate(zip(junctions, weights.values(), strict=True)):
        ends = (junction, stretch) if weight > 0 else (stretch, junction)
        if abs(weight) == 1:
            bond(*ends)
            continue
        lever = TF(modulus=abs(weight) if weight > 0 else 1 / abs(weight))
        _put(model, f"{name}_lever_{i}", lever)
        bond(ends[0], lever)
        bond(lever, ends[1])
    bond(stretch, port)
