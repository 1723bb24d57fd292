"""The ground of a test: what its signals are, and the halves that stand on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from bondloop.engine.data import InPython, alias
from bondloop.errors import BondloopError, InputError
from bondloop.results.motions import GroundMotion
from bondloop.signals import Signal
from bondloop.structures import DOFS, StructureModel, acceleration_loads, footing_of_model
from bondloop.substructure import GroundFrame, ground_input
from bondloop.units import is_of_kind

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.hybrid.switches import Switches
    from bondloop.hybrid.test import HybridTest
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
    if ground is None:
        return excitation
    for where in ground_signals(ground):
        if isinstance(excitation, Mapping) and ground_input(where) in excitation:
            raise InputError(
                f"excitation['{ground_input(where)}']: that is the ground's own input, which "
                f"ground['{where}'] drives; leave it out, or rename it"
            ).at("excitation", ground_input(where))
    return {} if excitation is None else excitation


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
        masses = carried_masses(test, direction)
        if masses:
            raise InputError(
                f"the excitation '{name}' loads the numerical half with -M r, the ground in {direction}, but "
                f"the specimen has mass too ({', '.join(masses[:3])}), which would not feel the ground; "
                f"leave that load out and give the test its ground, ground={{'{direction}': motion}}: it "
                "loads numerical half, specimen and reference alike"
            ).at("excitation", name)


def inertia_patterns(test: HybridTest) -> list[tuple[str, str]]:
    """Return the excited inputs of the numerical half that are loads -M r, each with its direction."""
    found = []
    for path, part in test.numerical.walk():
        if not isinstance(part, StructureModel) or (footing := footing_of_model(part)) is None:
            continue
        for name, pattern in acceleration_loads(part).items():
            given = np.array([pattern.get(dof, 0.0) for dof in part.dofs])
            for direction in footing.rigid:
                load = footing.load(direction)
                close = given.shape == load.shape and np.any(load)
                if close and np.allclose(given, load, rtol=1e-6, atol=1e-9 * float(np.abs(load).max())):
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
