"""Linear tests for the margins of delay: drawn as plain numbers, and built with the package."""

import itertools
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # for late_edges.py

from late_edges import Case

from bondloop import control, rigs, transfer
from bondloop.bondgraph import C, I, Model, One, Port, R, Sf, Zero
from bondloop.engine.system import system_from_matrices
from bondloop.hybrid import HybridTest
from bondloop.signals import Sine

__all__ = ["drawn", "made"]


def spread(rng, low, high):
    """Draw a number with evenly spread logarithm."""
    return float(low * (high / low) ** rng.random())


def drawn(seed: int, stream: int) -> Case:
    """Draw a case; whether it is stable has to be seen."""
    rng = np.random.default_rng([seed, stream])
    rate = float(rng.choice([200, 250, 500, 1000, 1024, 2000, 4000]))
    T = 1 / rate
    second = rng.random() < 0.65
    near_mass = second and rng.random() < 0.5
    count = int(rng.integers(1, 3))
    m = spread(rng, 1.0, 1000.0)
    omega = 2 * math.pi * min(spread(rng, 0.5, 12.0), rate / 40)
    masses = [m * spread(rng, 0.5, 2.0) for _ in range(count)]
    springs = [x * omega**2 * spread(rng, 0.7, 1.5) for x in masses]
    zeta = spread(rng, 0.01, 0.1)
    dampers = [2 * zeta * math.sqrt(k * x) for k, x in zip(springs, masses, strict=True)]
    ks = springs[-1] * spread(rng, 0.03, 1.5)
    cs = spread(rng, 0.002, 0.2) * math.sqrt(ks * m)
    substeps = int(rng.integers(1, 9))
    fastest = min(spread(rng, 8, 120) * omega, 0.9 * substeps * rate)
    near = far = 0.0
    if near_mass:
        near = m * spread(rng, 0.003, 0.8)
    if rng.random() < 0.3:
        far = ks / (omega * spread(rng, 0.5, 3.0)) ** 2
    if second:
        ka = ks * spread(rng, 3, 100)
        damping = spread(rng, 0.3, 1.0)
        mass = ka / fastest**2
        servo = (mass, 2 * damping * math.sqrt(mass * ka), ka)
        lag = servo[1] / ka
    else:
        lag = 1 / fastest
        servo = (lag, ks * spread(rng, 3, 100))
    latency = float(rng.choice([0.0, 0.0, rng.random(), float(rng.integers(1, 6)), 4 * rng.random()]))
    compensator = str(rng.choice(["direct", "direct", "polynomial", "inverse"]))
    order = int(rng.integers(1, 4))
    ahead = (lag + (latency + 0.5) * T) * spread(rng, 0.7, 1.2)
    return Case(
        tuple(masses), tuple(springs), tuple(dampers), "second order" if second else "first order", servo,
        near, far, ks, cs, compensator, ahead, order, rate, latency, substeps, seed,
    )  # fmt: skip


def _given(A, B, out, D):
    return system_from_matrices(A, B, out, D, inputs=["command", "load"], outputs=["velocity"], name="given")


def made(case: Case) -> HybridTest:
    """Build the test of a case."""
    whole = Model("whole")
    whole.wall = Sf("v_wall")
    cells = []
    for m, k, c in zip(case.masses, case.springs, case.dampers, strict=True):
        cell = Model()
        cell.left, cell.right, cell.force, cell.stretch, cell.v = Port(), Port(), Zero(), One(), One()
        cell.left >> cell.force >> cell.v >> cell.right
        cell.mass, cell.spring, cell.damper = I(mass=m), C(stiffness=k), R(damping=c)
        cell.v >> cell.mass
        cell.force >> cell.stretch >> [cell.spring, cell.damper]
        cells.append(cell)
    whole.cells = cells
    whole.wall >> cells[0].left
    for one, other in itertools.pairwise(cells):
        one.right >> other.left
    s = Model()
    s.left, s.v = Port(), One()
    s.left >> s.v
    if case.near:
        s.near = I(mass=case.near)
        s.v >> s.near
    s.spring, s.damper = C(stiffness=case.stiffness), R(damping=case.damping)
    if case.far:
        s.force, s.stretch, s.w, s.far = Zero(), One(), One(), I(mass=case.far)
        s.v >> s.force >> s.w >> s.far
        s.force >> s.stretch >> [s.spring, s.damper]
    else:
        s.v >> [s.spring, s.damper]
    whole.specimen = s
    cells[-1].right >> s.left
    numerical, physical = whole.cut(f"cells[{len(cells) - 1}].right >> specimen.left")
    if case.actuator == "second order":
        actuator = transfer.MassSpringDamper(*case.servo, drive="position")
    else:
        lag, ka = case.servo
        row = [1 / lag, -1 / (ka * lag)]
        actuator = _given([[-1 / lag]], [row], [[-1 / lag]], [row])
    T = 1 / case.rate
    controller = {
        "direct": control.Direct,
        "polynomial": lambda: control.PolynomialPrediction(
            case.ahead, case.order, span=max(case.order, 1) * T, points=case.order + 1
        ),
        "inverse": lambda: control.InverseModel(transfer.first_order(1.0, case.ahead)),
    }[case.compensator]()
    return HybridTest(
        numerical,
        rig=rigs.Emulated(physical, actuator, latency=case.latency * T, substeps=case.substeps),
        controller=controller,
        excitation={"v_wall": Sine("1 mm", 1.0).derivative()},
        rate=case.rate,
        name="drawn",
    )
