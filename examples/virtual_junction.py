"""A virtual junction, derived: the simulation example of Gawthrop, Wallace and Wagg (2005), section 4.

Problem: the third mass of a chain stands on a transfer system. Which force makes it move as if it hung on the
chain, and how exact is that? Nothing is typed in but the bond graphs; equations (7) to (10) come out.
Run: python examples/virtual_junction.py out
"""

import sys
from pathlib import Path

import numpy as np
import sympy as sp
from matplotlib.figure import Figure

import bondloop as bl
from bondloop.papers import gawthrop_three_mass as paper


def main(out: Path) -> dict[str, float]:
    """Derive, compare with the paper, rehearse; print what was found and return its numbers."""
    out.mkdir(parents=True, exist_ok=True)

    # The augmented numerical substructure in letters: chain, cut, transfer system turned round.
    numerical, _ = paper.symbolic_model().cut(paper.CUT)
    transfer = bl.transfer.MassSpringDamper(*sp.symbols("m_t c_t k_t"))
    augmented = bl.control.VirtualJunction(transfer).augment(numerical)
    short = {
        symbol: sp.Symbol(symbol.name.removeprefix("controller.transfer."))
        for symbol in (augmented.C.free_symbols | augmented.D.free_symbols)
    }
    found = [
        sp.simplify(matrix.subs(short)) for matrix in (augmented.A, augmented.B, augmented.C, augmented.D)
    ]
    print(f"States: {', '.join(augmented.states)}")
    print(f"In derivative causality: {', '.join(augmented.dependent)}\n")
    for name, matrix in zip("ABCD", found, strict=True):
        print(f"{name} =\n{sp.pretty(matrix, use_unicode=False)}\n")

    # The same as printed in the paper.
    m1, m2, c1, c2, k1, k2 = sp.symbols("m1 m2 c1 c2 k1 k2")
    m_t, c_t, k_t = sp.symbols("m_t c_t k_t")
    printed = [
        sp.Matrix([
            [0, -1 / m1, 0, 0, 0], [k1, -c1 / m1, -k2, 0, 0], [0, 1 / m1, 0, -1 / m2, 0],
            [0, 0, k2, -c2 / m2, 0], [0, 0, 0, 1 / m2, 0],
        ]),
        sp.Matrix([[0, 1], [0, 0], [0, 0], [-1, 0], [0, 0]]),
        sp.Matrix([[0, 0, k2 * m_t / m2, (-c2 * m_t + c_t * m2) / m2**2, k_t]]),
        sp.Matrix([[(m2 - m_t) / m2, 0]]),
    ]  # fmt: skip
    same = all(sp.simplify(a - b).is_zero_matrix for a, b in zip(found, printed, strict=True))

    # Rehearsals: at rest at first (exact), with the paper's 0.01 m/s in the transfer system, and sampled.
    numbers, runs = {}, {}
    print("Largest difference of the velocity of mass 3 between substructured and complete system:")
    for name, options in {
        "continuous, at rest": {"velocity": 0.0},
        "continuous, 0.01 m/s": {},
        "continuous, 0.01 m/s, hardening": {"spring": "hardening"},
        "sampled at 1 kHz, at rest, hardening": {
            "velocity": 0.0,
            "spring": "hardening",
            "coupling": "sampled",
        },
    }.items():
        runs[name] = run = paper.test(**options).run(paper.SECONDS)
        difference = np.abs(run["rig.specimen.m3.v.flow"] - run["reference.m3.v.flow"])
        first, last = difference[run.time <= 20].max(), difference[run.time >= 40].max()
        numbers[name] = float(first)
        numbers[f"{name}, last 10 s"] = float(last)
        print(f"  {name:38} {first:8.2g} m/s in the first 20 s, {last:8.2g} m/s in the last 10 s")

    run = runs["continuous, 0.01 m/s"]
    path = out / "gawthrop_figure_7.png"
    figure = Figure(figsize=(7, 4.6), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True)
    upper.plot(run.time, run["reference.m3.v.flow"], color="#1a1a1a", label="desired: complete, $y_d$")
    upper.plot(
        run.time,
        run["rig.specimen.m3.v.flow"],
        color="#D55E00",
        ls="--",
        label="actual: substructured, $y_s$",
    )
    upper.set_ylabel("velocity of mass 3 (m/s)")
    upper.legend(loc="lower right", ncols=2, frameon=False, bbox_to_anchor=(1, 1))
    lower.plot(run.time, run["command"], color="#0072B2")
    lower.set(xlabel="time (s)", ylabel="command (N)", xlim=(0, 50))
    figure.savefig(path, dpi=110)

    exact = numbers["continuous, at rest"]
    print(
        f"\nVerdict: the four matrices are{'' if same else ' NOT'} those of the paper, and from rest the two "
        f"systems\nagree to {exact:.0e} m/s. A disturbance dies away where the structure forgets; "
        "the double well does not."
    )
    print(f"Files: {path}")
    return {"same": same, **numbers}


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
