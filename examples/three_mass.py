"""Three masses in a chain, driven at the wall: the first example of Gawthrop, Wallace and Wagg (2005).

Problem: what are the equations of motion of the chain, and does it stay in the well in which it starts?
Run: python examples/three_mass.py out
"""

import sys
from pathlib import Path

import numpy as np

from bondloop.papers import gawthrop_three_mass as paper


def main(out: Path) -> dict[str, float]:
    """Derive, draw, simulate; print what was found and return its numbers."""
    out.mkdir(parents=True, exist_ok=True)

    # The model, with letters and a linear third spring; and with the paper's numbers and its double well.
    letters = paper.symbolic_model().compile(outputs=["m3.v.flow"])
    chain = paper.model()
    system = chain.compile(outputs=["m3.v.flow"])
    print("Three masses in a chain; every damper goes to ground, the wall moves with velocity r.")
    print("The equations, from the bond graph (C: spring, I: mass; momentum / mass is velocity):\n")
    print(letters.equations(), "\n")
    print("In the paper the third spring is a double well, force = -d + d**3:\n")
    print(f"d/dt {system.states[5]} = {system.equations().rows[5][1]}\n")

    # The complete chain, before it is cut: the wall moves with -0.5 sin t m/s.
    run = system.simulate(20, {"r": paper.excitation}, times=np.linspace(0, 20, 801))
    crossings = int(np.count_nonzero(np.diff(np.sign(run["m3.C.displacement"][1:]))))
    at_rest = system.linearise().poles().real.max()
    in_well = system.linearise({"m3.C.displacement": 1.0}).poles().real.max()
    drawing = [out / "three_mass.svg", out / "three_mass.png"]
    chain.draw(drawing[0]).savefig(drawing[1], dpi=200)

    print(
        f"Verdict: about the middle the chain is unstable (a pole at {at_rest:+.3f} 1/s), in either\n"
        f"well it is stable ({in_well:+.3f} 1/s). Driven as in the paper, spring 3 changes sides {crossings} "
        "times in 20 s."
    )
    print(f"Files: {', '.join(str(path) for path in drawing)}")
    return {
        "pole_at_rest": at_rest,
        "pole_in_well": in_well,
        "crossings": crossings,
        "speed_20s": float(run["m3.v.flow"][-1]),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
