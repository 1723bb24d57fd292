"""A DC motor turns a load through a gearbox: electrical and mechanical in one bond graph.

Problem: how fast does the load turn at 24 V, and how quickly does it get there?
The gyrator turns current into torque, the transformer is the gearbox. The gearbox joins rotor and load
rigidly, so the load's inertia depends on the rotor's: it is found to be in derivative causality, and solved.
Run: python examples/dc_motor.py out
"""

import sys
from pathlib import Path

import numpy as np
import sympy as sp
from matplotlib.figure import Figure

from bondloop.bondgraph import GY, TF, I, Model, One, R, Se

VALUES = {
    "L": 1.2e-3,  # armature inductance, H
    "Ra": 0.8,  # armature resistance, Ohm
    "k": 0.05,  # torque constant, N m/A (the same number in V s/rad)
    "Jr": 4.0e-5,  # rotor inertia, kg m2
    "br": 2.0e-5,  # rotor friction, N m s/rad
    "n": 10.0,  # gear ratio: the load turns n times slower than the rotor
    "Jl": 6.0e-3,  # load inertia, kg m2
    "bl": 8.0e-3,  # load friction, N m s/rad
}
VOLTAGE = 24.0


def model() -> Model:
    """Return the bond graph, with letters for its coefficients and the values above."""
    s = {name: sp.Symbol(name, positive=True) for name in VALUES}
    motor = Model("dc_motor")
    motor.supply = Se("V")
    motor.current, motor.rotor, motor.load = One(), One(), One()
    motor.torque = GY(ratio=s["k"])
    motor.gearbox = TF(modulus=1 / s["n"])
    motor.supply >> motor.current >> motor.torque >> motor.rotor >> motor.gearbox >> motor.load
    motor.inductance, motor.winding = I(inductance=s["L"]), R(resistance=s["Ra"])
    motor.current >> [motor.inductance, motor.winding]
    motor.rotor_inertia, motor.bearing = I(inertia=s["Jr"]), R(damping=s["br"])
    motor.rotor >> [motor.rotor_inertia, motor.bearing]
    motor.load_inertia, motor.load_friction = I(inertia=s["Jl"]), R(damping=s["bl"])
    motor.load >> [motor.load_inertia, motor.load_friction]
    return motor.let(**VALUES)


def textbook() -> sp.Expr:
    """Return load speed / voltage as a textbook has it, with the load referred to the rotor."""
    L, Ra, k, Jr, br, n, Jl, bl = sp.symbols("L Ra k Jr br n Jl bl", positive=True)
    s, J, b = sp.Symbol("s"), Jr + Jl / n**2, br + bl / n**2
    return k / n / ((L * s + Ra) * (J * s + b) + k**2)


def main(out: Path) -> dict[str, float]:
    """Derive, compare with the textbook, draw; print what was found and return its numbers."""
    out.mkdir(parents=True, exist_ok=True)
    motor = model()
    system = motor.compile(outputs=["load.flow", "current.flow"])
    print(system.equations(), "\n")

    # Transfer function, symbolically.
    ours = system.transfer_function("load.flow", "V")
    ours = ours.subs(
        {symbol: sp.Symbol(symbol.name, positive=True) for symbol in ours.free_symbols if symbol.name != "s"}
    )
    difference = sp.cancel(ours - textbook())
    print(f"load.flow / V = {sp.factor(ours)}\n")

    # Steady speed, against the closed form; time constants, against the roots of the textbook's denominator.
    v = VALUES
    J, b = v["Jr"] + v["Jl"] / v["n"] ** 2, v["br"] + v["bl"] / v["n"] ** 2
    expected_speed = v["k"] / v["n"] * VOLTAGE / (v["Ra"] * b + v["k"] ** 2)
    rest = system.steady_state({"V": VOLTAGE})
    speed = rest["rotor_inertia.momentum"] / v["Jr"] / v["n"]
    slow_pole = system.poles()[0]
    time_constant = -1 / slow_pole.real
    expected_pole = max(np.roots([v["L"] * J, v["L"] * b + v["Ra"] * J, v["Ra"] * b + v["k"] ** 2]).real)

    # A step of the supply voltage.
    run = system.simulate(0.25, {"V": VOLTAGE}, times=np.linspace(0, 0.25, 501))
    motor.draw(out / "dc_motor.svg").savefig(out / "dc_motor.png", dpi=200)
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True)
    upper.plot(run.time * 1e3, run["load.flow"], color="#0b5394")
    upper.axhline(speed, color="#5a5a5a", linewidth=0.8, linestyle="--")
    upper.set_ylabel("load speed (rad/s)")
    lower.plot(run.time * 1e3, run["current.flow"], color="#b03a0c")
    lower.set_ylabel("current (A)")
    lower.set_xlabel("time (ms)")
    figure.suptitle(f"DC motor with gearbox: step of {VOLTAGE:g} V")
    figure.savefig(out / "dc_motor_response.png", dpi=150)

    print(
        f"Verdict: the load turns at {speed:.3f} rad/s (closed form {expected_speed:.3f}), reached with a\n"
        f"time constant of {time_constant * 1e3:.2f} ms (textbook {-1e3 / expected_pole:.2f}); "
        f"the largest current is {run['current.flow'].max():.1f} A."
    )
    print(f"Files: {', '.join(str(out / f'dc_motor{end}') for end in ('.svg', '.png', '_response.png'))}")
    return {
        "difference": float(difference), "speed": speed, "expected_speed": float(expected_speed),
        "pole": slow_pole.real, "expected_pole": float(expected_pole), "final_speed": run["load.flow"][-1],
    }  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
