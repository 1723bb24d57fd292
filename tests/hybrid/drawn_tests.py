"""Whole hybrid tests, drawn at random: from a generator of random numbers, or by hypothesis.

What is drawn is a *recipe*, a plain dict of words and numbers; `build` makes the test of it, always the same
one. So a case that fails can be printed, repeated and shrunk. The first option of every choice is the
simplest, and hypothesis shrinks towards it.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))  # for drawn_parts.py

from drawn_parts import build

from bondloop.errors import BondloopError
from bondloop.hybrid import HybridTest

__all__ = ["ADAPTIVE", "Drawn", "build", "case", "draw", "from_recipe", "recipes"]

ADAPTIVE = (
    "mcs", "adaptive prediction", "adaptive time series", "adaptive model based", "adaptive junction",
)  # fmt: skip
CONTROLLERS = {
    "direct": 5, "junction": 4, "wrong junction": 2, "polynomial": 3, "lead": 2, "inverse": 2,
    "mcs": 1, "adaptive prediction": 1, "adaptive time series": 1, "adaptive model based": 1,
    "adaptive junction": 1,
}  # fmt: skip
ACTUATORS = {
    "position": 6, "force": 2, "second order": 1, "first order": 1, "hydraulic linear": 1, "hydraulic": 1,
    "screw": 1, "screw linear": 1, "screw winding": 1, "screw motor": 1,
}  # fmt: skip
SPECIMENS = {
    "spring": 5, "spring and mass": 4, "dashpot": 1, "mass": 1, "cubic": 2, "dead zone": 1, "coulomb": 1,
    "stribeck": 1, "preloaded": 1, "softening": 1, "bistable": 1,
}  # fmt: skip
SENSORS = {
    "ideal": 10, "noise": 2, "fine": 2, "coarse": 1, "load cell": 1, "low-pass": 1, "delay": 1,
    "saturation": 1, "bias": 1, "gain": 1,
}  # fmt: skip
DRIVES = {"ideal": 16, "backlash": 2, "rate limit": 1, "saturation": 1}
EXCITATIONS = {
    "sine": 4, "sweep": 2, "chirp": 1, "noise": 2, "earthquake": 2, "pulse": 1, "step": 1, "none": 1,
}  # fmt: skip
RATES = {1000: 6, 500: 2, 2000: 2, 1024: 1, 256: 1, 200: 1, 5000: 1}
MODELLED = ("position", "force", "second order")
"""Actuators that a mass with spring and damper describes exactly."""
MOST_TICKS = 16_000
"""Longest run in ticks."""


@dataclass
class Choices:
    """Choices of a recipe, all made of whole numbers.

    Attributes
    ----------
    whole
        Gives a number from 0 to the one it is given; 0 is the simplest.
    """

    whole: Callable[[int], int]

    def one(self, options: dict[Any, int]) -> Any:
        """Choose a key by its weight; the first is the simplest."""
        ticket = self.whole(sum(options.values()) - 1)
        for key, weight in options.items():
            ticket -= weight
            if ticket < 0:
                return key
        raise AssertionError

    def chance(self, share: float) -> bool:
        """Return True for a share of the draws."""
        return self.whole(999) >= 1000 - round(1000 * share)

    def real(self, low: float, high: float) -> float:
        """Draw a number with evenly spread logarithm, to four digits."""
        return float(f"{low * (high / low) ** (self.whole(1000) / 1000):.4g}")


@dataclass(frozen=True)
class Drawn:
    """A drawn test.

    Attributes
    ----------
    test
        The test; None where it cannot be built.
    seconds
        Length of its run.
    kind
        Labels: controller, actuator, specimen, imperfections and so on.
    recipe
        Words and numbers from which `build` makes the same test again.
    refused
        Why it cannot be built.
    """

    test: HybridTest | None
    seconds: float
    kind: dict[str, str]
    recipe: dict[str, Any] = field(repr=False)
    refused: str = ""


def draw(rng: np.random.Generator) -> Drawn:
    """Draw a test."""
    return from_recipe(recipe(Choices(lambda most: int(rng.integers(most + 1)))))


def case(seed: int) -> Drawn:
    """Return the drawn test of a number."""
    return draw(np.random.default_rng([seed, 2024]))


def from_recipe(r: dict[str, Any]) -> Drawn:
    """Build the test of a recipe, as far as its tick; a refusal is kept in words."""
    kind = {k: str(r[k]) for k in ("controller", "actuator", "specimen", "excitation", "drive", "form")}
    kind["sensor"] = "+".join(s for s in r["sensors"] if s != "ideal") or "ideal"
    kind["nonlinearity"] = nonlinearity(r)
    try:
        test = build(r)
        _ = test.tick
    except BondloopError as error:
        return Drawn(None, r["seconds"], kind, r, str(error))
    return Drawn(test, r["seconds"], kind, r)


@st.composite
def recipes(draw_from: Any) -> dict[str, Any]:
    """Return a strategy of recipes that shrinks to a direct command without imperfections."""
    return recipe(Choices(lambda most: draw_from(st.integers(0, most))))


def nonlinearity(r: dict[str, Any]) -> str:
    """Say what is not linear in a test, the strongest first."""
    if r["specimen"] not in ("spring", "spring and mass", "dashpot", "mass"):
        return str(r["specimen"])
    if r["drive"] != "ideal":
        return str(r["drive"])
    if r["actuator"] in ("hydraulic", "screw", "screw winding", "screw motor"):
        return "actuator"
    if r["controller"] in ADAPTIVE:
        return "adaptation"
    for word, label in (
        ("saturation", "sensor saturation"), ("coarse", "quantisation"), ("fine", "quantisation"),
        ("load cell", "quantisation"),
    ):  # fmt: skip
        if word in r["sensors"]:
            return label
    return "none"


# ---------------------------------------------------------------------- the recipe


def recipe(pick: Choices) -> dict[str, Any]:
    """Choose everything; what is not used is not chosen, so that it need not be shrunk."""
    r: dict[str, Any] = {
        "controller": pick.one(CONTROLLERS),
        "actuator": pick.one(ACTUATORS),
        "specimen": pick.one(SPECIMENS),
        "form": pick.one({"chain": 14, "building": 1, "modal": 1}),
        "interfaces": pick.one({1: 9, 2: 1}),
        "rate": pick.one(RATES),
    }
    if r["controller"] in ("junction", "wrong junction", "adaptive junction"):
        # Others are refused as a rule: a long inverse, or none.
        r["actuator"] = r["actuator"] if r["actuator"] in MODELLED else MODELLED[0]
    if r["actuator"] == "force" and r["controller"] not in ("direct", "junction", "wrong junction", "mcs"):
        r["actuator"] = "position"  # a compensator sends displacements
    if r["form"] != "chain":
        r["interfaces"] = 1
    if r["interfaces"] == 2 and r["actuator"] in ("first order", "second order"):
        r["actuator"] = "position"
    _structure(r, pick)
    _rig(r, pick)
    _controller(r, pick)
    _excitation(r, pick)
    return r


def _structure(r: dict[str, Any], pick: Choices) -> None:
    heavy = 30.0 if r["actuator"].startswith(("hydraulic", "screw")) else 1.0
    r["masses"] = pick.one({1: 3, 2: 3, 3: 1, 4: 1})
    if r["form"] != "chain" or r["interfaces"] == 2:
        r["masses"] = max(2, r["masses"])
    r["support"] = pick.one({"wall": 5, "ground": 3, "free": 1}) if r["form"] == "chain" else "ground"
    r["mass"] = heavy * pick.real(2.0, 100.0)
    r["frequency"] = pick.real(1.0, min(50.0, r["rate"] / 15))
    r["damping"] = pick.real(0.001, 0.1)
    r["spread"] = [[pick.real(0.6, 1.7), pick.real(0.6, 1.7)] for _ in range(r["masses"])]
    r["damper"] = pick.one({"ground": 1, "beside the spring": 1})
    r["lag"] = pick.real(0.001, 0.03)
    r["margin"] = pick.real(0.3, 1.5) if pick.chance(0.5) else pick.real(0.02, 4.0)
    r["compensated"] = 1.0 if r["controller"] == "direct" else pick.real(1.0, 12.0)
    r["specimen damping"] = pick.real(0.001, 0.1)
    r["specimen mass"] = pick.real(0.02, 1.0)
    r["specimen frequency"] = pick.real(0.3, 3.0)
    r["begins with a mass"] = r["actuator"] not in ("first order", "second order") and pick.chance(0.12)
    if r["specimen"] == "mass" and r["actuator"] in ("first order", "second order"):
        r["specimen"] = "spring"
    r["strength"] = pick.real(0.05, 3.0)


def _rig(r: dict[str, Any], pick: Choices) -> None:
    r["actuator damping"] = pick.real(0.5, 1.5)
    r["actuator stiffness"] = pick.real(3.0, 300.0)
    r["substeps"] = pick.one({4: 6, 1: 1, 2: 1, 8: 1})
    r["rig integrator"] = pick.one({"RK4": 12, "Exact": 1})
    r["sensors"] = [pick.one(SENSORS)] + ([pick.one(SENSORS)] if pick.chance(0.15) else [])
    r["displacement sensor"] = pick.one({"ideal": 4, "LVDT": 1})
    r["sensor size"] = pick.real(0.1, 10.0)
    r["drive"] = pick.one(DRIVES)
    r["drive size"] = pick.real(0.1, 10.0)
    r["latency"] = 0.0
    if pick.chance(0.3):
        periods = pick.one({1: 3, 2: 2, 4: 1, 10: 1}) if pick.chance(0.8) else pick.real(0.1, 8.0)
        r["latency"] = periods / r["rate"]
    r["seed"] = pick.whole(999)


def _controller(r: dict[str, Any], pick: Choices) -> None:
    silly = pick.chance(0.2)
    r["silly"] = silly
    late = r["lag"] + r["latency"] + 0.5 / r["rate"]
    r["delay"] = pick.one({0.06: 1, 0.0: 1, 0.03: 1}) if silly else float(f"{late * pick.real(0.7, 1.4):.4g}")
    r["order"] = pick.one({2: 2, 1: 1, 3: 2, 4: 2, 6: 1})
    r["points"] = pick.one({0: 1, 1: 1}) if silly else pick.one({4: 2, 8: 2, 2: 1})
    r["span"] = pick.real(1.0, 6.0)
    r["ratio"] = 40.0 if silly else pick.real(2.0, 10.0)
    off = 4.0 if silly else 1.5
    r["model error"] = [pick.real(1 / off, off) for _ in range(3)]
    r["wrong sign"] = bool(silly and pick.chance(0.5))
    r["gain"] = 1e3 * pick.real(1.0, 1e3) if silly else pick.real(0.003, 10.0)
    r["settling"] = pick.real(0.01, 0.3)


def _excitation(r: dict[str, Any], pick: Choices) -> None:
    r["excitation"] = pick.one(EXCITATIONS)
    r["tabled"] = not pick.chance(0.25)
    r["amplitude"] = pick.real(1e-4, 5e-3)
    r["relative frequency"] = pick.real(0.3, 1.5)
    r["displacement limit"] = pick.real(3.0, 200.0)
    r["force limit"] = pick.real(0.5, 10.0)
    r["velocity limit"] = pick.real(0.5, 5.0) if pick.chance(0.2) else 0.0
    r["seconds"] = min(float(pick.one({4: 3, 2: 2, 8: 2, 16: 1})), MOST_TICKS / r["rate"])
    r["integrator"] = pick.one({"RK4": 8, "Exact": 2, "Newmark": 2, "Euler": 1})
    if r["integrator"] == "Euler" and math.pi * r["frequency"] / r["rate"] > 0.5 * r["damping"]:
        r["integrator"] = "RK4"  # Euler grows by itself there; that much is known
    if r["integrator"] == "Exact" and r["controller"] in ("mcs", "adaptive junction"):
        r["integrator"] = "RK4"  # the exact step is for linear equations
    if nonlinearity({**r, "controller": "direct", "sensors": []}) != "none":
        r["rig integrator"] = "RK4"
    r["feedback"] = not pick.chance(0.03)
    r["switches"] = pick.chance(0.05)
    r["interlock"] = pick.chance(0.05)
