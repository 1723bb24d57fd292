"""Whole pseudo-dynamic tests, drawn at random: recipes of words and numbers, as in `drawn_tests`."""

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))  # for drawn_parts.py and drawn_tests.py

from drawn_parts import Between, Loose
from drawn_tests import Choices, Drawn

from bondloop import rigs, signals
from bondloop.bondgraph import C, Clutch, Model, One, Port, R, Zero
from bondloop.errors import BondloopError
from bondloop.hybrid import PseudoDynamicTest
from bondloop.integrate import SubStep
from bondloop.integrate.structural.simulate import SCHEMES
from bondloop.rigs import GainError, LowPass, PureDelay, Quantisation, Saturation, WhiteNoise
from bondloop.safety import Limits
from bondloop.structures import Matrices, ShearBuilding

__all__ = ["Plastic", "build", "from_recipe", "recipes", "stepped_case"]

STRUCTURAL = {scheme.__name__: scheme for scheme in SCHEMES}
SCHEME_NAMES = {"SubStep": 8, **dict.fromkeys(STRUCTURAL, 1)}
SPECIMENS = {
    "spring": 4, "mass on a spring": 4, "dashpot": 1, "two interfaces": 1, "cubic": 2, "softening": 1,
    "dead zone": 1, "coulomb": 1, "stribeck": 1, "preloaded": 1, "bistable": 1, "plastic": 2,
}  # fmt: skip
LINEAR = ("spring", "mass on a spring", "dashpot", "two interfaces")
SENSORS = {
    "none": 10, "noise": 2, "quantised": 1, "coarse": 1, "low-pass": 1, "delay": 1, "saturated": 1, "gain": 1,
}  # fmt: skip
EXCITATIONS = {"pulse": 3, "sine": 3, "table": 2, "step": 1, "noise": 1, "none": 1}
MOST_TICKS = 6000


def stepped_case(seed: int) -> Drawn:
    """Return the drawn test of a number."""
    rng = np.random.default_rng([seed, 2025])
    return from_recipe(recipe(Choices(lambda most: int(rng.integers(most + 1)))))


@st.composite
def recipes(draw_from: Any) -> dict[str, Any]:
    """Return a strategy of recipes that shrinks to sub-steps with a spring, without imperfections."""
    return recipe(Choices(lambda most: draw_from(st.integers(0, most))))


def from_recipe(r: dict[str, Any]) -> Drawn:
    """Build the test of a recipe, as far as its tick; a refusal is kept in words."""
    kind = {k: str(r[k]) for k in ("scheme", "rig", "specimen", "sensor", "excitation")}
    bent = r["specimen"] if r["specimen"] not in LINEAR else "none"
    kind["nonlinearity"] = r["sensor"] if bent == "none" and r["sensor"] in STEPPY else bent
    try:
        test = build(r)
        _ = test.tick
    except BondloopError as error:
        return Drawn(None, r["seconds"], kind, r, str(error))
    return Drawn(test, r["seconds"], kind, r)


STEPPY = ("quantised", "coarse", "saturated")


def recipe(pick: Choices) -> dict[str, Any]:
    """Choose everything."""
    r: dict[str, Any] = {"scheme": pick.one(SCHEME_NAMES), "specimen": pick.one(SPECIMENS)}
    table = r["scheme"] == "SubStep" and pick.chance(0.6)
    r["rig"] = "table" if table else "actuator"
    r["masses"] = pick.one({2: 3, 1: 1, 3: 1})
    r["mass"] = pick.real(5.0, 5000.0)
    r["frequency"] = pick.real(0.5, 20.0)
    r["damping"] = pick.real(0.002, 0.1)
    r["angle"] = pick.real(0.02, 1.2) if pick.chance(0.8) else pick.real(0.02, 4.0)
    r["stiffness"] = pick.real(0.02, 3.0)
    r["specimen mass"] = pick.real(0.01, 1.5)
    r["specimen frequency"] = pick.real(0.3, 3.0)
    r["specimen damping"] = pick.real(0.002, 0.2)
    r["strength"] = pick.real(0.05, 3.0)
    r["sub steps"] = pick.one({4: 2, 1: 2, 2: 2, 9: 1})
    r["P"] = pick.one({0.0: 3, -1.0: 2, -0.5: 1})
    r["I"], r["D"] = (pick.real(0.1, 10.0) if pick.chance(0.15) else 0.0 for _ in range(2))
    r["alpha"], r["delta"] = pick.one({(0.25, 0.5): 4, (0.3025, 0.6): 1, (0.5, 0.5): 1})
    r["iterations"] = pick.one({3: 2, 1: 1, 8: 1})
    r["overshoot"] = 0.0
    if pick.chance(0.3):
        r["overshoot"] = pick.one({1: 1, -1: 1}) * pick.real(0.01, 0.5)
    r["bandwidth"] = pick.real(1.0, 40.0) if table and pick.chance(0.3) else 0.0
    r["ramp"] = pick.one({1.0: 2, 0.5: 1, 0.1: 1})
    r["time scale"] = pick.one({1.0: 2, 20.0: 1}) if not table else 1.0
    r["integration steps"] = pick.one({4: 3, 1: 1, 16: 1})
    r["sensor"] = pick.one(SENSORS)
    r["sensor size"] = pick.real(0.05, 5.0)
    r["seed"] = pick.whole(99)
    r["excitation"] = pick.one(EXCITATIONS)
    r["amplitude"] = pick.real(1e-4, 2e-2)
    r["relative frequency"] = pick.real(0.3, 2.0)
    r["tight"] = {
        w: pick.real(0.1, 30.0) for w in ("stroke", "velocity", "acceleration", "force") if pick.chance(0.4)
    }
    r["scale"] = pick.real(0.1, 3.0) if pick.chance(0.15) else 1.0
    step = r["angle"] / (2 * math.pi * r["frequency"])
    r["seconds"] = min(pick.one({30: 2, 10: 2, 100: 1}) / r["frequency"], MOST_TICKS * step)
    return r


# ---------------------------------------------------------------------- from recipe to test


def build(r: dict[str, Any]) -> PseudoDynamicTest:
    """Build the test of a recipe."""
    omega = 2 * math.pi * r["frequency"]
    k = r["mass"] * omega**2
    n = r["masses"] + (r["specimen"] == "two interfaces" and r["masses"] == 1)
    frame = ShearBuilding([r["mass"]] * n, [k] * n, rayleigh=(0.0, 2 * r["damping"] / omega)).assemble()
    size = r["amplitude"]
    rig = _rig(r, _specimen(r, k, omega), k * size * r["stiffness"] * r["sensor size"])
    several = r["specimen"] == "two interfaces"
    load = _signal(r, k * size)
    force = r["tight"].get("force")
    return PseudoDynamicTest(
        frame,
        scheme=_scheme(r),
        rig=rig,
        interface=frame.dofs[-2:] if several else frame.dofs[-1],
        excitation={} if load is None else {frame.dofs[0]: load},
        time_step=r["angle"] / omega,
        time_scale=r["time scale"],
        limits=None if force is None else Limits(force=force * k * size * r["stiffness"]),
        values={"excitation.scale": r["scale"]},
        name="drawn",
    )


def _scheme(r: dict[str, Any]) -> Any:
    if r["scheme"] == "SubStep":
        control = "acceleration" if r["rig"] == "table" else "displacement"
        step = r["angle"] / (2 * math.pi * r["frequency"])
        given = (r["alpha"], r["delta"], r["P"], 0.01 * r["I"] / step, 0.01 * r["D"] * step)
        return SubStep(r["sub steps"], *given, control)
    kind = STRUCTURAL[r["scheme"]]
    fields = kind.__dataclass_fields__
    return kind(iterations=r["iterations"]) if "iterations" in fields else kind()


class Plastic(Model):
    """A column that gives way at a force: a spring in series with what sticks and slides."""

    def __init__(self, k: float, capacity: float) -> None:
        self.left, self.v, self.force = Port(), One(), Zero()
        self.left >> self.v >> self.force
        self.spring, self.slip = C(stiffness=k), Clutch(capacity)
        self.force >> [self.spring, self.slip]


def _specimen(r: dict[str, Any], k: float, omega: float) -> rigs.Specimen:
    ks = r["stiffness"] * k
    cs = 2 * r["specimen damping"] * ks / omega
    kind, size = r["specimen"], r["amplitude"]
    if kind == "spring":
        return rigs.Specimen.from_matrices(Matrices([[0.0]], [[cs]], [[ks]], ("top",)), "top")
    if kind == "dashpot":
        return rigs.Specimen.from_matrices(
            Matrices([[0.0]], [[r["strength"] * cs]], [[0.0]], ("top",)), "top"
        )
    pair = np.array([[1.0, -1.0], [-1.0, 1.0]])
    if kind == "two interfaces":
        return rigs.Specimen.from_matrices(Matrices(0 * pair, cs * pair, ks * pair, ("a", "b")), ["a", "b"])
    if kind == "mass on a spring":
        m = r["specimen mass"] * r["mass"]
        ks = m * (r["specimen frequency"] * omega) ** 2
        cs = 2 * r["specimen damping"] * math.sqrt(ks * m)
        return rigs.Specimen.from_matrices(Matrices(np.diag([0.0, m]), cs * pair, ks * pair, ("a", "b")), "a")
    whole = Model("drawn")
    whole.mass = Loose(r["mass"], 1.0)
    if kind == "plastic":
        whole.specimen = Plastic(ks, r["strength"] * ks * size)
        whole.mass.right >> whole.specimen.left
        return rigs.Specimen.from_model(whole.cut("mass.right >> specimen.left")[1])
    # The width of dry friction is what the specimen moves at, so that one step can follow it.
    width, force = max(0.05 * omega * size, 1e-4), r["strength"] * ks * size
    element = {
        "cubic": lambda: rigs.cubic_spring(ks, r["strength"] * ks / size**2),
        "softening": lambda: C(law=lambda x: ks * x / (1 + (x / (3 * size)) ** 2)),
        "dead zone": lambda: rigs.dead_zone_spring(ks, r["strength"] * size),
        "coulomb": lambda: rigs.coulomb(force, width),
        "stribeck": lambda: rigs.stribeck(force, 1.5 * force, 3 * width, cs, width),
        "preloaded": lambda: rigs.preloaded_spring(ks, force, 0.1 * size),
        "bistable": lambda: rigs.cubic_spring(-0.5 * min(ks, k), ks / size**2),
    }[kind]()
    parts = [element, R(damping=cs)]
    whole.specimen = Between(parts)
    whole.mass.right >> whole.specimen.left
    return rigs.Specimen.from_model(whole.cut("mass.right >> specimen.left")[1])


def _rig(r: dict[str, Any], specimen: rigs.Specimen, force: float) -> Any:
    step = r["angle"] / (2 * math.pi * r["frequency"])
    part = {
        "none": lambda: (), "noise": lambda: (WhiteNoise(0.01 * force),),
        "quantised": lambda: (Quantisation(16, range=20 * force),),
        "coarse": lambda: (Quantisation(6, range=20 * force),),
        "low-pass": lambda: (LowPass(5 * r["frequency"] * r["sensor size"]),),
        "delay": lambda: (PureDelay(step / max(1, r["sub steps"])),) if r["scheme"] == "SubStep" else (),
        "saturated": lambda: (Saturation(5 * force),), "gain": lambda: (GainError(0.1 * r["sensor size"]),),
    }[r["sensor"]]()  # fmt: skip
    sensor = rigs.Sensor(part, unit="N") if part else None
    own = {"sensor": sensor, "seed": r["seed"], "overshoot": r["overshoot"]}
    own["integration_steps"] = r["integration steps"]
    omega, size, tight = 2 * math.pi * r["frequency"], r["amplitude"], r["tight"]
    stroke = None if "stroke" not in tight else tight["stroke"] * size
    if r["rig"] == "actuator":
        return rigs.RampHold(specimen, ramp=r["ramp"], stroke=stroke, **own)
    limits = {w: tight[w] * size * omega**i for i, w in ((1, "velocity"), (2, "acceleration")) if w in tight}
    bandwidth = r["bandwidth"] * r["frequency"] or None
    return rigs.ShakingTable(specimen, bandwidth=bandwidth, stroke=stroke, **limits, **own)


def _signal(r: dict[str, Any], force: float) -> Any:
    f = r["frequency"] * r["relative frequency"]
    return {
        "pulse": lambda: signals.HalfSine(force, start=0.5 / f, width=1 / f),
        "sine": lambda: signals.Sine(0.2 * force, f),
        "table": lambda: _table(r, force, f),
        "step": lambda: signals.Step(0.5 * force, at=0.5 / f),
        "noise": lambda: signals.Noise(0.3 * force, 0.1 * f, f, r["seconds"], r["seed"]),
        "none": lambda: None,
    }[r["excitation"]]()


def _table(r: dict[str, Any], force: float, f: float) -> Any:
    """Return random forces, four in a period, that begin and end with nothing."""
    times = np.arange(0.0, 0.9 * r["seconds"], 0.25 / f)
    values = np.random.default_rng(r["seed"]).uniform(-force, force, len(times))
    values[[0, -1]] = 0.0
    return signals.Table(times, values) if len(times) > 1 else None
