"""The ground of a pseudo-dynamic test: what it loads, and how far it carries the specimen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import origin_of
from bondloop.engine.ir import Const, Expr, Update, Var
from bondloop.errors import BondloopError, InputError
from bondloop.integrate import SubStep
from bondloop.structures import DOFS, footing_of
from bondloop.substructure import GroundFrame, ground_input

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.ir import Step
    from bondloop.hybrid.pseudo_dynamic import PseudoDynamicTest
    from bondloop.integrate.structural import Scheme
    from bondloop.rigs import Specimen
    from bondloop.signals import Signal, Signals
    from bondloop.structures import Matrices


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
        return cls(signals, loads, motions, coordinates or need or "relative", masses)

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


def _needed(specimen: Specimen, motions: Mapping[str, list[float]]) -> tuple[str | None, bool]:
    """Return the coordinates in which a specimen has to be moved, and whether it has mass that goes along."""
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
        return frame.at_interfaces, bool(frame.masses)
    stands, masses = False, False
    for moved in motions.values():
        r, left = _carried(specimen, moved)
        stands |= left
        masses |= bool(np.any(specimen.matrices.M @ r))
    if stands and masses:
        raise InputError(
            "ground: the specimen stands on the ground and has mass of its own; put that mass into the "
            "numerical half"
        )
    return ("relative" if stands else "absolute" if masses else None), masses


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
    for name, (_, pattern) in test.excitation.items():
        for direction in ("ux", "uy", "uz"):
            if direction not in footing.rigid:
                continue
            load = footing.load(direction)
            if not np.any(load) or not np.allclose(pattern, load, rtol=1e-6, atol=1e-9 * np.abs(load).max()):
                continue
            moved = {direction: [footing.motion(direction)[d] for d in test.interface]}
            try:
                masses = _needed(test.rig.specimen, moved)[1]
            except BondloopError:
                continue
            if masses:
                raise InputError(
                    f"the excitation '{name}' loads the numerical half with -M r, the ground in {direction}, "
                    "but the specimen has mass too, which would not feel the ground; leave that load out and "
                    f"give the test its ground, ground={{'{direction}': motion}}: it loads numerical half, "
                    "specimen and reference alike"
                )


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
        if np.any(inertia) and np.allclose(pattern, -inertia, rtol=1e-6, atol=1e-9 * np.abs(inertia).max()):
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
