"""Three masses in a chain, driven at the wall: the first example of Gawthrop, Wallace and Wagg (2005).

Problem: what are the equations of motion of the chain, and does it stay in the well in which it starts?
Run: python examples/three_mass.py out
"""

import sys
from pathlib import Path

import numpy as np
import sympy as sp
from matplotlib.figure import Figure

from bondloop.papers import gawthrop_three_mass as paper


def main(out: Path) -> dict[str, float]:
    """Derive, draw, simulate; print what was found and return its numbers."""
    out.mkdir(parents=True, exist_ok=True)

    # The model, with letters and a linear third spring; and with the paper's numbers and its double well.
    letters = paper.symbolic_model().compile(outputs=["m3.v.flow"])
    chain = paper.model()
    system = chain.compile(outputs=["m3.v.flow"])

    print("Three masses in a chain; every damper goes to ground, the wall moves with velocity r.\n")
    print("Equations with letters (C: spring, I: mass; momentum / mass is velocity):\n")
    print(letters.equations(), "\n")
    print("A =")
    print(sp.pretty(letters.A, use_unicode=False), "\n")
    print("B transposed =")
    print(sp.pretty(letters.B.T, use_unicode=False), "\n")
    print("Equations with the paper's third spring, force = -d + d**3 (stiffness -1 about the middle):\n")
    print(system.equations(), "\n")

    # The test: the wall moves with -0.5 sin t m/s for 50 s.
    run = system.simulate(50, {"r": paper.excitation}, times=np.linspace(0, 50, 2001))
    stretch, speed = run["m3.C.displacement"], run["m3.v.flow"]
    crossings = int(np.count_nonzero(np.diff(np.sign(stretch[1:801]))))  # up to 20 s; later the chaos decides
    at_rest = system.linearise().poles().real.max()
    in_well = system.linearise({"m3.C.displacement": 1.0}).poles().real.max()

    # The figures.
    drawing = [out / "three_mass.svg", out / "three_mass.png"]
    chain.draw(drawing[0]).savefig(drawing[1], dpi=200)
    response = out / "three_mass_response.png"
    figure = Figure(figsize=(7, 5), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True)
    upper.plot(run.time, speed, color="#0b5394")
    upper.set_ylabel("velocity of mass 3 (m/s)")
    lower.plot(run.time, stretch, color="#b03a0c")
    for well in (-1, 1):
        lower.axhline(well, color="#5a5a5a", linewidth=0.8, linestyle="--")
    lower.set_ylabel("stretch of spring 3 (m)")
    lower.set_xlabel("time (s)")
    lower.lines[1].set_label("rest positions of spring 3")
    lower.set_ylim(-2.1, 3.1)
    lower.legend(loc="upper right", frameon=False)
    figure.suptitle("Three-mass chain, wall velocity r = -0.5 sin t m/s")
    figure.savefig(response, dpi=150)

    print(
        f"Verdict: about the middle the chain is unstable (a pole at {at_rest:+.3f} 1/s), in either "
        f"well\nit is stable ({in_well:+.3f} 1/s). Driven as in the paper, spring 3 changes "
        f"sides {crossings} times in 20 s."
    )
    print(f"Files: {', '.join(str(path) for path in (*drawing, response))}")
    return {
        "pole_at_rest": at_rest,
        "pole_in_well": in_well,
        "crossings": crossings,
        "speed_20s": float(speed[800]),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
