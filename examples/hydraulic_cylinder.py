"""A hydraulic cylinder raises a mass: fluid and mechanical in one bond graph.

Problem: at which frequency does the mass bounce on the oil column, and how fast is it raised with the valve
open? The transformer is the piston (flow to velocity, pressure to force), the compliance is the oil. The
valve is a resistor with a law of its own; the causality asks for its inverse, flow = kv sqrt(pressure drop).
Run: python examples/hydraulic_cylinder.py out
"""

import sys
from pathlib import Path

import numpy as np
import sympy as sp
from matplotlib.figure import Figure

from bondloop.bondgraph import TF, C, I, Model, One, R, Se, Sf, Zero

AREA = 2.0e-3  # piston area, m2
VOLUME = 1.0e-3  # oil between valve and piston, m3
BULK = 1.4e9  # bulk modulus of the oil, Pa
MASS, WEIGHT = 400.0, 400.0 * 9.81  # kg, N
FRICTION = 3.0e3  # N s/m
VALVE = 3.0e-8  # valve coefficient kv, m3/s per root Pa
SUPPLY = 210e5  # supply pressure, Pa


def cylinder(name: str) -> Model:
    """Return chamber, piston and mass at rest; what feeds the chamber is for the caller to add."""
    m = Model(name)
    m.chamber, m.v = Zero(), One()
    m.oil = C(
        stiffness=BULK / VOLUME, initial=WEIGHT / AREA * VOLUME / BULK
    )  # its pressure carries the weight
    m.piston, m.weight = TF(modulus=1 / AREA), Se(effort=-WEIGHT)
    m.mass, m.friction = I(mass=MASS), R(damping=FRICTION)
    m.chamber >> m.oil
    m.chamber >> m.piston >> m.v >> [m.mass, m.friction]
    m.weight >> m.v
    return m


def with_pump() -> Model:
    """Return the cylinder fed by a pump, whose flow does not depend on the pressure."""
    m = cylinder("cylinder_with_pump")
    m.pump = Sf("Q")
    m.pump >> m.chamber
    return m


def with_valve() -> Model:
    """Return the cylinder fed from a constant pressure through a valve."""
    m = cylinder("cylinder_with_valve")
    m.supply, m.line = Se("ps"), One()
    m.valve = R(
        law=lambda q, kv: q * sp.Abs(q) / kv**2, kv=VALVE
    )  # pressure drop of flow; its inverse is found
    m.supply >> m.line >> m.chamber
    m.line >> m.valve
    return m


def main(out: Path) -> dict[str, float]:
    """Find frequency, speed and response; print what was found and return its numbers."""
    out.mkdir(parents=True, exist_ok=True)
    pump = with_pump().compile(outputs=["v.flow"])
    model = with_valve()
    valve = model.compile(outputs=["v.flow", "chamber.effort", "valve.flow"])
    print(valve.equations(), "\n")

    # The oil column's frequency: with the flow imposed, the two poles multiply to A^2 B / (V m).
    frequency = abs(pump.poles()[0]) / (2 * np.pi)
    expected_frequency = np.sqrt(AREA**2 * BULK / (VOLUME * MASS)) / (2 * np.pi)

    # Steady speed with the valve open: A v = kv sqrt(ps - (w + b v) / A), a quadratic equation for v.
    rest = valve.steady_state({"ps": SUPPLY})
    speed = rest["mass.momentum"] / MASS
    expected_speed = max(np.roots([(AREA / VALVE) ** 2, FRICTION / AREA, WEIGHT / AREA - SUPPLY]).real)
    local = valve.linearise(rest, {"ps": SUPPLY})
    pole = local.poles()[-1]
    damping = -pole.real / abs(pole)

    # The valve opens at t = 0.
    run = valve.simulate(0.8, {"ps": SUPPLY}, times=np.linspace(0, 0.8, 1601))
    model.draw(out / "hydraulic_cylinder.svg").savefig(out / "hydraulic_cylinder.png", dpi=200)
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True)
    upper.plot(run.time * 1e3, run["v.flow"], color="#0b5394")
    upper.axhline(expected_speed, color="#5a5a5a", lw=0.8, ls="--", label="steady speed, closed form")
    upper.legend(loc="lower right", frameon=False)
    upper.set_ylabel("velocity of the mass (m/s)")
    lower.plot(run.time * 1e3, run["chamber.effort"] / 1e5, color="#b03a0c")
    lower.set_ylabel("chamber pressure (bar)")
    lower.set_xlabel("time (ms)")
    figure.suptitle(f"Hydraulic cylinder: the valve opens on {SUPPLY / 1e5:g} bar")
    figure.savefig(out / "hydraulic_cylinder_response.png", dpi=150)

    bare = FRICTION / (2 * MASS * 2 * np.pi * frequency)
    print(
        f"Verdict: the mass bounces on oil at {frequency:.3f} Hz (closed form {expected_frequency:.3f}).\n"
        f"With the valve open it rises at {speed:.4f} m/s (closed form {expected_speed:.4f}); the valve "
        f"raises\nthe damping ratio from {bare:.3f} to {damping:.3f}."
    )
    names = ("hydraulic_cylinder.svg", "hydraulic_cylinder.png", "hydraulic_cylinder_response.png")
    print(f"Files: {', '.join(str(out / name) for name in names)}")
    return {
        "frequency": frequency, "expected_frequency": expected_frequency, "speed": speed,
        "expected_speed": expected_speed, "final_speed": run["v.flow"][-1], "damping": damping,
    }  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
