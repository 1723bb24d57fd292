"""A condenser microphone: one energy of charge and displacement, and when its plates snap together.

Problem: how far may the bias voltage draw in the membrane of a microphone, and how sensitive is it then?
Capacitor and membrane are one field: force and voltage are the derivatives of its energy. The membrane is
stable up to a third of the gap (pull-in), at V^2 = 8 k d^3 / (27 eps A).
Run: python examples/condenser_microphone.py out
"""

import math
import sys
from pathlib import Path

import numpy as np
import sympy as sp
from matplotlib.figure import Figure

from bondloop.bondgraph import CField, I, Model, One, R, Se
from bondloop.engine.system import System

EPS_A = 8.854e-12 * 1e-4  # permittivity times area of a plate of 1 cm2, F m
GAP, STIFFNESS, MASS = 2e-5, 500.0, 1e-5  # m, N/m, kg


def energy(plates: sp.Expr, membrane: sp.Expr, eA: sp.Expr, d: sp.Expr, k: sp.Expr) -> sp.Expr:
    """Energy of the charge on the plates and of the membrane, which closes the gap."""
    return plates**2 * (d - membrane) / (2 * eA) + k * membrane**2 / 2


def model() -> Model:
    """Return the microphone with its bias voltage behind a resistor, and the sound pressure as a force."""
    mic = Model("condenser_microphone")
    mic.bias, mic.sound = Se("V"), Se("F")
    mic.i, mic.v = One(), One()
    mic.capsule = CField(energy=energy, eA=EPS_A, d=GAP, k=STIFFNESS)
    mic.resistor, mic.membrane, mic.air = R(resistance=1e10), I(mass=MASS), R(damping=0.05)
    mic.bias >> mic.i >> [mic.capsule.plates, mic.resistor]
    mic.sound >> mic.v >> [mic.capsule.membrane, mic.membrane, mic.air]
    return mic


def at_rest(system: System, volts: float) -> dict[str, float]:
    """Return where the microphone rests at a voltage; the resistor says how soon, so it is small here."""
    return system.steady_state({"V": volts}, {"resistor.resistance": 1e7})


def main(out: Path) -> dict[str, float]:
    """Find the deflection up to pull-in, and the sensitivity at a bias; draw; return the numbers."""
    out.mkdir(parents=True, exist_ok=True)
    mic = model()
    system = mic.compile(outputs=["resistor.effort"])
    print(system.equations(), "\n")
    pull_in = math.sqrt(8 * STIFFNESS * GAP**3 / (27 * EPS_A))

    # Deflection against voltage, and the voltage of each deflection in closed form.
    shares = np.array([0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99])
    rest = np.array([at_rest(system, v)["capsule.membrane.displacement"] for v in shares * pull_in])
    back = np.sqrt(2 * STIFFNESS * rest * (GAP - rest) ** 2 / EPS_A)
    error = float(np.abs(back / (shares * pull_in) - 1).max())

    # Sensitivity in the audio band: charge stays (the resistor is large), so V_out / F = -V / ((d - x) k).
    point = at_rest(system, 0.6 * pull_in)
    local = system.linearise(point, {"V": 0.6 * pull_in})
    band = 2 * np.pi * np.logspace(0, 4, 200)
    response = np.abs(local.frequency_response(band)[:, 0, list(system.inputs).index("F")])
    sensitivity = float(np.interp(2 * np.pi * 40, band, response))
    x = point["capsule.membrane.displacement"]
    expected = 0.6 * pull_in / ((GAP - x) * STIFFNESS)

    mic.draw(out / "condenser_microphone.svg").savefig(out / "condenser_microphone.png", dpi=200)
    figure = Figure(figsize=(7, 5.5), layout="constrained")
    upper, lower = figure.subplots(2)
    line = np.linspace(0, GAP / 2, 200)
    upper.plot(
        np.sqrt(2 * STIFFNESS * line * (GAP - line) ** 2 / EPS_A), line * 1e6, color="#5a5a5a", linewidth=0.8
    )
    upper.plot(shares * pull_in, rest * 1e6, "o", color="#0b5394")
    upper.axhline(GAP / 3 * 1e6, color="#b03a0c", linewidth=0.8, linestyle="--")
    upper.set_xlabel("bias voltage (V)")
    upper.set_ylabel("deflection (µm)")
    upper.set_title(f"pull-in at {pull_in:.1f} V and a third of the gap")
    lower.loglog(band / (2 * np.pi), response, color="#0b5394")
    lower.set_xlabel("frequency (Hz)")
    lower.set_ylabel("output (V/N)")
    figure.savefig(out / "condenser_microphone_response.png", dpi=150)

    print(
        f"Verdict: the plates snap together at {pull_in:.2f} V. Up to 99 % of that the membrane rests where\n"
        f"the closed form says (to {error:.1e}); at 60 % the output is {sensitivity:.0f} V/N "
        f"({expected:.0f} by hand)."
    )
    return {"pull_in": pull_in, "error": error, "sensitivity": sensitivity, "expected": expected}


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
