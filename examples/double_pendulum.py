"""A double pendulum by modulated transformers: geometry in the bonds, and four dependent storages.

Problem: do the equations that follow from the bond graph agree with Lagrange's, and is energy kept?
Two bobs (discs) hang on light rods. Modulated transformers turn each rod's angular velocity into velocities
along x and y; their moduli follow the angle, the integral of a detected flow. Two angular momenta are free;
the bobs' four other inertias depend on them. They are found to be in derivative causality, and solved.
Run: python examples/double_pendulum.py out
"""

import sys
from pathlib import Path

import numpy as np
import sympy as sp
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

from bondloop.bondgraph import MTF, Df, I, Model, One, Se, SignalIntegrator, Zero

L1, L2 = 0.5, 0.4  # lengths of the rods, m
M1, M2 = 1.0, 0.6  # masses of the bobs, kg
J1, J2 = 0.5 * M1 * 0.06**2, 0.5 * M2 * 0.05**2  # inertias of the bobs, discs of radius 60 and 50 mm, kg m2
G = 9.81
START = (2.0, 1.2)  # angles from the vertical at rest, rad


class Rod(Model):
    """A rod's rotation, with its angle, and the velocities it gives to its far end along x and y."""

    def __init__(self, length: float, inertia: float, start: float) -> None:
        self.w, self.J = One(), I(inertia=inertia)
        self.w >> self.J
        self.rate, self.angle = Df(), SignalIntegrator(initial=start)
        self.x, self.y = MTF(lambda a: length * sp.cos(a)), MTF(lambda a: length * sp.sin(a))
        self.w >> self.rate >> self.angle >> [self.x, self.y]
        self.w >> [self.x, self.y]


def model() -> Model:
    """Return the bond graph: two rods, the velocities of two bobs, gravity against y."""
    m = Model("double_pendulum")
    m.rod1, m.rod2 = Rod(L1, J1, START[0]), Rod(L2, J2, START[1])
    m.x1, m.y1, m.x2, m.y2 = One(), One(), One(), One()
    m.x, m.y = Zero(), Zero()  # velocity of bob 2 = that of bob 1 + that given by rod 2
    for rod1, rod2, first, joint, second in (
        (m.rod1.x, m.rod2.x, m.x1, m.x, m.x2),
        (m.rod1.y, m.rod2.y, m.y1, m.y, m.y2),
    ):
        rod1 >> first >> joint >> second
        rod2 >> joint
        first >> I(mass=M1)
        second >> I(mass=M2)
    m.weight1, m.weight2 = Se(effort=-M1 * G), Se(effort=-M2 * G)
    m.weight1 >> m.y1
    m.weight2 >> m.y2
    return m


def lagrange(_: float, y: np.ndarray) -> np.ndarray:
    """Return the rates of (a1, a2, w1, w2) from Lagrange's equations, written down by hand."""
    a1, a2, w1, w2 = y
    coupling, d = M2 * L1 * L2, a1 - a2
    mass = [[(M1 + M2) * L1**2 + J1, coupling * np.cos(d)], [coupling * np.cos(d), M2 * L2**2 + J2]]
    torque = [
        -coupling * np.sin(d) * w2**2 - (M1 + M2) * G * L1 * np.sin(a1),
        coupling * np.sin(d) * w1**2 - M2 * G * L2 * np.sin(a2),
    ]
    return np.concatenate([[w1, w2], np.linalg.solve(mass, torque)])


def main(out: Path) -> dict[str, float]:
    """Simulate both ways, check energy; print what was found and return its numbers."""
    out.mkdir(parents=True, exist_ok=True)
    pendulum = model()
    system = pendulum.compile()
    print(*system.notes, sep="\n")
    times = np.linspace(0, 5, 1001)
    run = system.simulate(5, times=times, rtol=1e-11, atol=1e-13)
    a1, a2 = run["rod1.angle.value"], run["rod2.angle.value"]
    reference = solve_ivp(lagrange, (0, 5), [*START, 0, 0], "DOP853", times, rtol=1e-12, atol=1e-13).y
    error = max(np.abs(a1 - reference[0]).max(), np.abs(a2 - reference[1]).max())

    # Energy, from the flows of the bond graph itself.
    flows = {name: run[f"{name}.flow"] for name in ("x1", "y1", "x2", "y2", "rod1.w", "rod2.w")}
    masses = {"x1": M1, "y1": M1, "x2": M2, "y2": M2, "rod1.w": J1, "rod2.w": J2}
    kinetic = sum(0.5 * masses[name] * flow**2 for name, flow in flows.items())
    height1 = -L1 * np.cos(a1)
    energy = kinetic + M1 * G * height1 + M2 * G * (height1 - L2 * np.cos(a2))
    drift = float(np.abs(energy - energy[0]).max())

    pendulum.draw(out / "double_pendulum.svg").savefig(out / "double_pendulum.png", dpi=150)
    figure = Figure(figsize=(7, 5), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True)
    for k, (angle, colour) in enumerate(((a1, "#0b5394"), (a2, "#b03a0c"))):
        upper.plot(times, angle, color=colour, label=f"rod {k + 1}, bond graph")
        upper.plot(times[::25], reference[k][::25], ".", color=colour, label=f"rod {k + 1}, Lagrange")
    upper.set_ylabel("angle from the vertical (rad)")
    upper.legend(frameon=False, ncols=2, fontsize=8)
    lower.plot(times, kinetic, color="#00664b")
    lower.set_ylabel("kinetic energy (J)")
    lower.set_xlabel("time (s)")
    figure.suptitle("Double pendulum released from rest")
    figure.savefig(out / "double_pendulum_response.png", dpi=150)

    print(f"\nVerdict: over 5 s the angles agree with Lagrange's equations to {error:.1e} rad, and the")
    print(f"energy of {energy[0]:.3f} J is kept to {drift:.1e} J.")
    print(
        f"Files: {', '.join(str(out / f'double_pendulum{end}') for end in ('.svg', '.png', '_response.png'))}"
    )
    return {"error": float(error), "drift": drift, "energy": float(energy[0]), "final_angle": float(a2[-1])}


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
