"""What could bound Figure 13 (a) and (c) of Gawthrop 2005, and leave the residual of Figures 14 and 15.

Each effect is built into the drives; they are identified without load as in section 5.1, and the test of
section 5.2 is run with the models that come out. Then the other way round: how much damping would bound it?

Run: python examples/papers/gawthrop_rig_effects.py
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from gawthrop_rig import SPEED, Rig

from bondloop.bondgraph import R
from bondloop.control import Direct
from bondloop.engine.analysis.spectrum.linear_step import one_step
from bondloop.hybrid import HybridTest
from bondloop.papers import gawthrop_two_actuators as two
from bondloop.rigs import Emulated
from bondloop.transfer import MassSpringDamper

__all__ = ["EFFECTS", "Row", "damped", "damping_needed", "row", "table"]

EFFECTS = {
    "none": Rig(),
    "bearings of the middle mass, 4 N": Rig(bearing=4.0),
    "top speed, 640 mm/s": Rig(top_speed=SPEED),
    "friction in the drives, 0.2 N": Rig(friction=0.2),
    "friction in the drives, 1 N": Rig(friction=1.0),
    "friction in the drives, 5 N": Rig(friction=5.0),
    "rotors of 0.55 kg": Rig(rotor=0.55),
    "rotors of 0.55 kg, screws of 200 N/mm": Rig(rotor=0.55, screw=2e5),
    "all, with 1 N in the drives": Rig(1.0, 4.0, 0.55, 2e5, SPEED),
}


class Row(NamedTuple):
    """What one effect does.

    Attributes
    ----------
    fit
        How well the model of figure 11 fits the step response of drive 1, %.
    models
        Identified damping and stiffness of both drives.
    same, different
        Errors of both actuators with virtual junction at 5/5 and at 3/5 Hz.
    open_force
        The same without virtual junction and force feedback, at 5/5 Hz.
    stopped
        When the test without virtual junction reaches the stroke, s; infinity if it does not within 10 s.
    """

    fit: float
    models: tuple[tuple[float, float], ...]
    same: tuple[float, ...]
    different: tuple[float, ...]
    open_force: tuple[float, ...]
    stopped: float


def row(rig: Rig) -> Row:
    """Identify a rig and test it, as the authors did."""

    def errors(controller: str, case: str, *, feedback: bool = True) -> tuple[float, ...]:
        run = rig.test(controller, case, feedback=feedback).run(two.SECONDS)
        return tuple(two.findings(run).values()) if run.completed else (np.inf, np.inf)

    direct = rig.test("direct").run(two.SECONDS)
    return Row(
        rig.identified[0].fit.fit["spring.displacement"],
        tuple((found.damping, found.stiffness) for found in rig.identified),
        errors("virtual-junction", "5/5"),
        errors("virtual-junction", "3/5"),
        errors("direct", "5/5", feedback=False),
        np.inf if direct.completed else float(direct.time[-1]),
    )


def table(effects: dict[str, Rig] | None = None) -> dict[str, Row]:
    """Return a row for every effect."""
    return {name: row(rig) for name, rig in (effects or EFFECTS).items()}


def damping_needed() -> dict[str, float]:
    """Return by how much each kind of damper must be larger to bound the loop without virtual junction.

    In N s/m, to 1; infinity where 2000 do not suffice: with the middle mass held fast both sides still grow.
    """
    kinds = {
        "numerical dampers": ("numerical.outer1.R.damping", "numerical.outer2.R.damping"),
        "dampers of the springs on the rig": (
            "rig.specimen.link1.R.damping",
            "rig.specimen.link2.R.damping",
        ),
        "bearings of the middle mass": ("rig.specimen.bearing.damping",),
    }
    return {kind: _needed(paths) for kind, paths in kinds.items()}


def _needed(paths: tuple[str, ...]) -> float:
    structure = two.model()
    structure.bearing = R(damping=1e-6)
    structure.m3.v >> structure.bearing
    numerical, physical = structure.cut(*two.CUTS)
    actuators = [MassSpringDamper(two.MASS, c, k, drive="position") for c, k in two.TABLE_I]
    walls = two.excitations("5/5", 1e-3)
    test = HybridTest(
        numerical, rig=Emulated(physical, actuators), controller=Direct(), excitation=walls, rate=1000
    )
    own = 1e-6 if "bearing" in paths[0] else two.DAMPING

    def stable(extra: float) -> bool:
        return one_step(test.with_values(dict.fromkeys(paths, own + extra)).tick).stable

    low, high = 0.0, 2000.0
    if not stable(high):
        return np.inf
    while high - low > 1.0:
        middle = (low + high) / 2
        low, high = (low, middle) if stable(middle) else (middle, high)
    return high


def damped(numerical_damping: float = 66.0) -> tuple[float, ...]:
    """Return both errors at 5/5 Hz without virtual junction, with larger numerical dampers, in N s/m."""
    run = Rig().test("direct", numerical_damping=numerical_damping).run(two.SECONDS)
    return tuple(two.findings(run).values())


def _percent(errors: tuple[float, ...]) -> str:
    return " ".join(f"{100 * e:5.1f}" if np.isfinite(e) else " stop" for e in errors)


if __name__ == "__main__":
    print(f"{'':40s} c_t1  k_t1  fit 1   5/5 Hz [%]   3/5 Hz [%]   open [%]     direct")
    for name, r in table().items():
        (c, k), _ = r.models
        stop = f"stroke after {r.stopped:.2f} s" if np.isfinite(r.stopped) else "bounded"
        print(
            f"{name:40s} {c:5.0f} {k:6.0f} {r.fit:5.1f}  {_percent(r.same)}  {_percent(r.different)}  "
            f"{_percent(r.open_force)}  {stop}"
        )
    for kind, extra in damping_needed().items():
        print(
            f"Further damping at which the loop without virtual junction is stable, {kind}: {extra:.0f} N s/m"
        )
    print(f"With 66 N s/m in each numerical damper it follows to {_percent(damped())} %")
