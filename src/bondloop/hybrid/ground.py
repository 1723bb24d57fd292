"""The ground of a test: its signals, the halves that stand on it, and the ground of a pseudo-dynamic test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from bondloop.engine.data import InPython, alias, origin_of
from bondloop.engine.ir import Const, Expr, Update, Var
from bondloop.errors import BondloopError, InputError
from bondloop.integrate import SubStep
from bondloop.results.motions import GroundMotion
from bondloop.signals import Signal
from bondloop.structures import DOFS, StructureModel, acceleration_loads, footing_of, footing_of_model
from bondloop.substructure import GroundFrame, ground_input
from bondloop.units import is_of_kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.bondgraph import Model
    from bondloop.engine.ir import Step
    from bondloop.hybrid.coupling import Switches
    from bondloop.hybrid.pseudo_dynamic import PseudoDynamicTest
    from bondloop.hybrid.test import HybridTest
    from bondloop.integrate.structural import Scheme
    from bondloop.rigs import Specimen
    from bondloop.signals import Signals
    from bondloop.structures import Matrices
    from bondloop.substructure import Coordinates


_Motion = Annotated[GroundMotion, InPython]  # in a file it is a signal
Ground = Mapping[str, Signal | _Motion] | Signal | _Motion | None
"""What a test takes for its ground: accelerations by direction or by support."""
alias("Ground", Ground)

EXAMPLE = "ground={'ux': motion}, with a GroundMotion or a signal in m/s^2"


def ground_signals(ground: object) -> dict[str, Signal]:
    """Return the ground's accelerations by direction or support; one alone moves all supports in ux.

    Parameters
    ----------
    ground
        As a test takes it; None: the ground does not move.

    Examples
    --------
    >>> motion = GroundMotion(np.array([0.0, 1.0, 0.0]), 0.01)
    >>> ground_signals({"uy": motion})["uy"]([0.005, 0.02]).tolist()
    [0.5, 0.0]
    """
    if ground is None:
        return {}
    if isinstance(ground, (Signal, GroundMotion)):
        ground = {"ux": ground}
    if not isinstance(ground, Mapping) or not ground:
        raise InputError(f"ground: expected {EXAMPLE}; found {ground!r:.60}").at("ground")
    names: dict[str, str] = {}
    for where in ground:
        if not isinstance(where, str):
            raise InputError(f"ground: a direction or support is a text, as 'ux'; found {where!r:.40}").at(
                "ground"
            )
        if (other := names.setdefault(ground_input(where), where)) != where:
            raise InputError(
                f"ground: '{other}' and '{where}' would both be the input '{ground_input(where)}'; rename one"
            ).at("ground")
    alike = [where in DOFS for where in ground]
    if any(alike) and not all(alike):
        raise InputError(
            "ground: either all supports move alike, by direction ('ux'), or each for itself, by name "
            f"('pier.ux'); found {', '.join(map(str, ground))}"
        ).at("ground")
    return {where: _signal(where, motion) for where, motion in ground.items()}


def needed_excitation(excitation: object, ground: Ground) -> Any:
    """Return the excitation of a test, which may be left out where its ground moves.

    Parameters
    ----------
    excitation, ground
        As the test takes them.
    """
    if ground is not None and excitation is None:
        return {}
    if not isinstance(excitation, Mapping):
        raise InputError(
            "excitation: expected signals by the name of what they drive, such as {'force': "
            f"bondloop.signals.Sine(...)}}, or {{}} for none; found {excitation!r:.60}"
        )
    for where in ground_signals(ground):
        if ground_input(where) in excitation:
            raise InputError(
                f"excitation['{ground_input(where)}']: that is the ground's own input, which "
                f"ground['{where}'] drives; leave it out, or rename it"
            ).at("excitation", ground_input(where))
    return excitation


def _signal(where: str, motion: object) -> Signal:
    if isinstance(motion, GroundMotion):
        return motion.acceleration()
    if not isinstance(motion, Signal):
        raise InputError(f"ground['{where}']: expected {EXAMPLE}; found {motion!r:.60}").at("ground", where)
    if motion.unit and not is_of_kind(f"1 {motion.unit}", "m/s^2"):
        raise InputError(f"ground['{where}'] is in {motion.unit}; expected an acceleration, in m/s^2").at(
            "ground", where
        )
    return motion


class GroundedHalves:
    """Numerical half and specimen on moving ground.

    Parameters
    ----------
    numerical, physical
        The halves of one cut.
    wheres
        Directions or supports that move.
    coordinates
        What the rig imposes; None: what the specimen needs.

    Attributes
    ----------
    numerical, physical
        Copies on which the ground acts.
    coordinates
        What the rig imposes.
    masses
        Paths of what has mass in the specimen and goes with the ground.
    stands
        Whether the specimen stands on the ground.
    excited
        Inputs of the specimen on which the ground acts itself, and not by the interfaces alone.
    """

    def __init__(
        self, numerical: Model, physical: Model, wheres: Sequence[str], coordinates: Any = None
    ) -> None:
        ours = GroundFrame(numerical, wheres)
        theirs = GroundFrame(physical, wheres, ours.ends())
        self._ours = ours
        self.masses, self.stands = theirs.masses, theirs.at_interfaces == "relative"
        self.coordinates: Coordinates = coordinates or theirs.at_interfaces or "relative"
        self.numerical = ours.moved(self.coordinates)
        self.physical = theirs.moved(self.coordinates)
        self.excited = [name for name in ours.inputs if name in self.physical.parts]

    def switched(self, switches: Switches) -> tuple[Switches, list[str]]:
        """Return switches whose simulated specimen goes with the ground, and the ground's inputs of it.

        Parameters
        ----------
        switches
            As the test has them.
        """
        if switches.simulated is None:
            return switches, []
        model = GroundFrame(switches.simulated, self._ours.wheres, self._ours.ends()).moved(self.coordinates)
        return replace(switches, simulated=model), [n for n in self._ours.inputs if n in model.parts]

    @property
    def cares(self) -> list[tuple[str, str]]:
        """What asks for care, each in a sentence and in some words."""
        if not self.excited:
            return []
        if self.coordinates == "relative" and self.masses:
            remedy = "let a table impose the motion in space, coordinates='absolute'"
            if self.stands:
                remedy = "put its mass into the numerical half"
            text = (
                f"the rig imposes motion relative to the ground, and the specimen has mass "
                f"({', '.join(self.masses[:3])}): in this rehearsal the ground loads it, a floor that stands "
                f"still does not; {remedy}"
            )
            return [(text, "the specimen's mass feels the ground in the rehearsal only")]
        text = (
            "the specimen stands on the ground, and in this rehearsal its foot moves with it: that needs a "
            "table under it; on a floor that stands still take coordinates='relative'"
        )
        return (
            [(text, "the specimen's foot moves in the rehearsal only")]
            if self.coordinates == "absolute"
            else []
        )


def half_loaded_cares(test: HybridTest) -> list[tuple[str, str]]:
    """Return a word of care where an acceleration loads the numerical half and may be the ground's.

    Parameters
    ----------
    test
        A test whose ground does not move.
    """
    cares = []
    for path, part in test.numerical.walk():
        if not isinstance(part, StructureModel):
            continue
        footing = footing_of_model(part)
        rigid = {} if footing is None else footing.rigid
        for name in acceleration_loads(part):
            known = [n for n in (f"{path}.{name}", name) if n in test.excitation]
            masses = next((m for d in rigid if (m := carried_masses(test, d))), [])
            if known and masses:
                text = (
                    f"the excitation '{known[0]}' is an acceleration that loads the numerical half alone, "
                    f"and the specimen has mass too ({', '.join(masses[:3])}): if it is the ground's, give "
                    "it as ground=..., which loads both"
                )
                cares.append((text, "the ground may miss the specimen's mass"))
    return cares


def refuse_half_loaded(test: HybridTest) -> None:
    """Refuse -M r on the numerical half alone where the specimen has mass that the ground would move too.

    Parameters
    ----------
    test
        The test.
    """
    for name, direction in inertia_patterns(test):
        _refuse_half_load(name, direction, carried_masses(test, direction))


def _refuse_half_load(name: str, direction: str, masses: Sequence[str]) -> None:
    """Refuse a load -M r on the numerical half alone where the specimen has masses, which are named."""
    if masses:
        raise InputError(
            f"the excitation '{name}' loads the numerical half with -M r, the ground in {direction}, but "
            f"the specimen has mass too ({', '.join(masses[:3])}), which would not feel the ground; "
            f"leave that load out and give the test its ground, ground={{'{direction}': motion}}: it "
            "loads numerical half, specimen and reference alike"
        ).at("excitation", name)


def _alike(pattern: NDArray[np.float64], load: NDArray[np.float64]) -> bool:
    """Return whether a pattern of forces is a load, which is not nothing."""
    size = float(np.abs(load).max(initial=0.0))
    return (
        pattern.shape == load.shape and size > 0 and np.allclose(pattern, load, rtol=1e-6, atol=1e-9 * size)
    )


def inertia_patterns(test: HybridTest) -> list[tuple[str, str]]:
    """Return the excited inputs of the numerical half that are loads -M r, each with its direction."""
    found = []
    for path, part in test.numerical.walk():
        if not isinstance(part, StructureModel) or (footing := footing_of_model(part)) is None:
            continue
        for name, pattern in acceleration_loads(part).items():
            given = np.array([pattern.get(dof, 0.0) for dof in part.dofs])
            for direction in footing.rigid:
                if _alike(given, footing.load(direction)):
                    known = [n for n in (f"{path}.{name}", name) if n in test.excitation]
                    found += [(n, direction) for n in known[:1]]
    return found


def carried_masses(test: HybridTest, direction: str) -> list[str]:
    """Return the specimen's masses that a ground in a direction would move; none where it cannot be told."""
    try:
        ours = GroundFrame(test.numerical, [direction])
        return GroundFrame(test.rig.physical, [direction], ours.ends()).masses
    except BondloopError:
        return []


@dataclass(frozen=True)
class SteppedGround:
    """How the ground moves a pseudo-dynamic test.

    Attributes
    ----------
    signals
        Accelerations by direction or support.
    loads
        By the same, forces on the numerical half per unit of it, -M r.
    motions
        By the same, how far each interface goes with it.
    coordinates
        What the rig imposes.
    masses
        Whether the specimen has mass that goes with the ground.
    """

    signals: Mapping[str, Signal]
    loads: Mapping[str, NDArray[np.float64]]
    motions: Mapping[str, list[float]]
    coordinates: str
    masses: bool

    @classmethod
    def of(
        cls,
        signals: Mapping[str, Signal],
        numerical: Matrices,
        specimen: Specimen,
        interface: Sequence[str],
        coordinates: str | None,
    ) -> SteppedGround:
        """Return what follows from the matrices of the numerical half and from the specimen."""
        footing = footing_of(numerical)
        for w in signals:
            if np.any(footing.drag(w)):
                raise InputError(
                    f"ground['{w}']: dashpots, or members with damping of their own, pull at the structure "
                    "with the velocity of this support, which a pseudo-dynamic test does not compute; damp "
                    "the structure as a whole (rayleigh, modal_damping), or take a HybridTest"
                )
        loads = {w: footing.load(w) for w in signals}
        motions = {w: [footing.motion(w)[d] for d in interface] for w in signals}
        alike = all(w in DOFS for w in signals)
        tests = motions if alike else {w: [footing.motion(w)[d] for d in interface] for w in footing.rigid}
        need, masses = _needed(specimen, tests)
        if not alike and need == "relative":
            raise InputError(
                "ground: the specimen stands on the ground itself, and on which support cannot be told"
            )
        if not alike:
            need = "absolute"
        if coordinates is not None and need is not None and coordinates != need:
            why = "has mass that goes with the ground" if masses else "stands on the ground itself"
            if not alike:
                why = "hangs between supports that move apart"
            raise InputError(f"coordinates: the specimen {why}, and is moved in {need} coordinates")
        return cls(signals, loads, motions, coordinates or need or "relative", bool(masses))

    def excitation(self) -> dict[str, tuple[Signal, NDArray[np.float64]]]:
        """Return the loads on the numerical half, by the names of inputs."""
        return {ground_input(w): (s, self.loads[w]) for w, s in self.signals.items()}

    def beyond(
        self, whole: Matrices, numerical: Matrices, specimen: Specimen, interface: Sequence[str]
    ) -> dict[str, NDArray[np.float64]]:
        """Return by input what the ground loads the complete structure with, beside the numerical half."""
        parts = (whole, numerical, specimen, interface)
        return {
            ground_input(w): _specimen_load(w, self.motions[w], *parts, self.loads[w]) for w in self.signals
        }


def _needed(specimen: Specimen, motions: Mapping[str, list[float]]) -> tuple[str | None, list[str]]:
    """Return the coordinates in which a specimen has to be moved, and its masses that go along."""
    if specimen.matrices is None:
        origin = origin_of(specimen)
        if origin is None or "physical" not in origin.arguments:
            raise InputError(
                "ground: whether the specimen has mass, or stands on the ground, cannot be told; make it "
                "with Specimen.from_matrices or Specimen.from_model"
            )
        count = len(specimen.motions)
        carried = [{w: m[i] for w, m in motions.items()} for i in range(count)]
        frame = GroundFrame(origin.arguments["physical"], list(motions), carried)
        return frame.at_interfaces, frame.masses
    stands, masses = False, dict[str, None]()
    for moved in motions.values():
        r, left = _carried(specimen, moved)
        stands |= left
        force = np.asarray(specimen.matrices.M @ r)
        masses |= dict.fromkeys(specimen.matrices.dofs[i] for i in np.flatnonzero(force))
    if stands and masses:
        raise InputError(
            "ground: the specimen stands on the ground and has mass of its own; put that mass into the "
            "numerical half"
        )
    return ("relative" if stands else "absolute" if masses else None), list(masses)


def _carried(specimen: Specimen, moved: Sequence[float]) -> tuple[NDArray[np.float64], bool]:
    """Return how far all of a specimen goes with its interface, and whether that needs a force."""
    own = specimen.matrices
    assert own is not None
    K, b = own.K.toarray(), own.indices(specimen.interface)
    i = [j for j in range(len(own)) if j not in b]
    r = np.zeros(len(own))
    r[b] = moved
    if i:
        r[i] = np.linalg.lstsq(K[np.ix_(i, i)], -K[np.ix_(i, b)] @ r[b], rcond=None)[0]
    force = np.abs(K @ r).max(initial=0.0)
    drag = np.abs(own.C @ r).max(initial=0.0)
    size = float(np.abs(r).max(initial=0.0))
    stands = force > 1e-9 * size * np.abs(K).max(initial=0.0)
    return r, bool(stands or drag > 1e-9 * size * np.abs(own.C.toarray()).max(initial=0.0))


def _specimen_load(
    where: str,
    moved: Sequence[float],
    whole: Matrices,
    numerical: Matrices,
    specimen: Specimen,
    interface: Sequence[str],
    load: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return -M r of the specimen in the coordinates of the complete structure."""
    total = np.zeros(len(whole))
    if specimen.matrices is None:
        total += footing_of(whole).load(where)
        total[whole.indices(numerical.dofs)] -= load
        return total
    ends = dict(zip(specimen.interface, interface, strict=True))
    r, _ = _carried(specimen, moved)
    force = -np.asarray(specimen.matrices.M @ r)
    for dof, value in zip(specimen.matrices.dofs, force.tolist(), strict=True):
        total[whole.index(ends.get(dof, dof))] += value
    return total


class GroundInTick:
    """The ground's velocity and displacement in a tick, and how they carry the rig's commands.

    Parameters
    ----------
    ground
        The ground, in absolute coordinates.
    signals
        The excitations of the tick.
    """

    def __init__(self, ground: SteppedGround, signals: Signals) -> None:
        self.ground, self.signals = ground, signals
        names = {w: ground_input(w) for w in ground.signals}
        self.velocity = {w: Var(f"{n}.velocity") for w, n in names.items()}
        self.displacement = {w: Var(f"{n}.displacement") for w, n in names.items()}
        self.states = dict.fromkeys([*self.velocity.values(), *self.displacement.values()], 0.0)

    def _at(self, where: str, passed: Expr) -> Expr:
        return self.signals.within(ground_input(where), self.ground.signals[where], passed)

    def carried(self, commands: Sequence[Expr], control: str, number: Expr, calls: int) -> list[Expr]:
        """Return commands to which the ground's motion is added: a sub-step's mean, or where it ends."""
        totals = list(commands)
        h = self.signals.period
        for w in self.ground.signals:
            if control == "acceleration":
                value = self._at(w, (number + Const(0.5)) / Const(calls))
            else:  # the acceleration changes linearly over the step
                begin, end = self._at(w, Const(0.0)), self._at(w, Const(1.0))
                tau = (number + Const(1.0)) * Const(h / calls)
                curve = begin / Const(2.0) + (end - begin) * tau / Const(6.0 * h)
                value = self.displacement[w] + tau * self.velocity[w] + tau * tau * curve
            for i, share in enumerate(self.ground.motions[w]):
                if share:
                    totals[i] = totals[i] + Const(share) * value
        return totals

    def steps(self) -> list[Step]:
        """Statements that carry the ground to the end of the step."""
        h = self.signals.period
        pairs: list[tuple[Var, Expr]] = []
        for w, v in self.velocity.items():
            begin, end = self._at(w, Const(0.0)), self._at(w, Const(1.0))
            x = self.displacement[w]
            pairs.append((x, x + Const(h) * v + Const(h * h / 6.0) * (Const(2.0) * begin + end)))
            pairs.append((v, v + Const(h / 2.0) * (begin + end)))
        return [Update(tuple(pairs))]

    def shift(self, word: str, interface: int) -> Expr:
        """Return how far, or how fast, the ground has carried an interface."""
        total: Expr = Const(0.0)
        for w in self.ground.signals:
            motion = self.displacement[w] if word == "displacement" else self.velocity[w]
            total = total + Const(self.ground.motions[w][interface]) * motion
        return total


def refuse_stepped_half_loaded(test: PseudoDynamicTest) -> None:
    """Refuse -M r on the numerical half alone where the specimen has mass that the ground would move too.

    Parameters
    ----------
    test
        The test.
    """
    try:
        footing = footing_of(test.numerical)
    except InputError:
        return
    specimen = test.rig.specimen
    for name, (_, pattern) in test.excitation.items():
        for direction in footing.rigid:
            if not _alike(pattern, footing.load(direction)):
                continue
            moved = {direction: [footing.motion(direction)[d] for d in test.interface]}
            try:
                masses = _needed(specimen, moved)[1]
            except BondloopError:
                continue
            _refuse_half_load(name, direction, masses)


def stepped_half_loaded_cares(test: PseudoDynamicTest) -> list[tuple[str, str]]:
    """Return a word of care where every mass of the numerical half is loaded alike, none of the specimen's.

    Parameters
    ----------
    test
        The test.
    """
    own = test.rig.specimen.matrices
    if test.ground is not None or own is None or not np.any(own.M.data):
        return []
    inertia = np.asarray(test.numerical.M.sum(axis=1)).ravel()
    cares = []
    for name, (_, pattern) in test.excitation.items():
        if _alike(pattern, -inertia):
            text = (
                f"the excitation '{name}' loads every mass of the numerical half alike, and none of the "
                "specimen's: if it is the ground, give it as ground=..., which loads both"
            )
            cares.append((text, "the ground may miss the specimen's mass"))
    return cares


def expect_scheme(scheme: Scheme, coordinates: str, time_scale: float, *, masses: bool) -> None:
    """Refuse what cannot carry a specimen with the ground."""
    if coordinates != "absolute":
        return
    if not isinstance(scheme, SubStep):
        raise InputError(
            f"ground: {type(scheme).__name__} does not say when in a step its commands are due, and the "
            "ground's own motion is added to them; take SubStep, or put the specimen's mass into the "
            "numerical half"
        )
    if masses and time_scale != 1:
        raise InputError(
            f"time_scale = {time_scale:g}: the specimen's mass would feel the ground {time_scale**2:.3g} "
            "times weaker; put it into the numerical half, or take time_scale = 1"
        )
