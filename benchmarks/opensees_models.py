"""Models read by bondloop beside the same commands given to OpenSeesPy: frequencies, statics, vibration.

Run: python benchmarks/opensees_models.py [MODEL.tcl ...] --opensees PYTHON

OpenSeesPy has no Tcl, so bondloop's reader puts in the variables and unrolls the loops, and OpenSees is given
the commands that remain, one by one. It may live in an environment of its own, which PYTHON names; that runs
`opensees_commands.py`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from bondloop.structures import read_opensees
from bondloop.structures.foreign.tcl import Command, Script

MODELS = Path(__file__).parents[1] / "tests" / "structures" / "models"
MODES, STEPS, H = 6, 40, 0.01
PLACES = {3: ("ux", "uy", "rz"), 6: ("ux", "uy", "uz", "rx", "ry", "rz")}


def commands(path: Path) -> list[list[str]]:
    """Return the commands of a model with variables put in and loops unrolled."""
    flat: list[list[str]] = []

    def handle(command: Command) -> None:
        words = [word.text for word in command.words]
        if command.name == "pattern":
            flat.append(words[:4])
            script.run(words[-1])
        else:
            flat.append(words)

    script = Script(handle, lambda _, error: print(error))
    script.run(path.read_text(encoding="utf-8"))
    return flat


def vibration(M: Any, C: Any, K: Any, u: Any) -> Any:
    """Newmark's average acceleration from a shape at rest; as OpenSees, without acceleration at the start."""
    v = a = 0 * u
    A = M + H / 2 * C + H**2 / 4 * K
    motion = []
    for _ in range(STEPS):
        shape, speed = u + H * v + H**2 / 4 * a, v + H / 2 * a
        a = np.linalg.solve(A, -C @ speed - K @ shape)
        u, v = shape + H**2 / 4 * a, speed + H / 2 * a
        motion.append(u)
    return np.array(motion)


def compare(path: Path, python: str) -> dict[str, float]:
    """Return the largest differences, each in parts of the largest value."""
    model = read_opensees(path)
    matrices, assembly = model.structure.assemble(), model.structure.assembly()
    nodes = [int(name[1:]) for name in model.structure.nodes]
    pattern = next(iter(model.patterns))
    dofs = 6 if any(name.endswith("rx") for name in assembly.names) else 3
    told = json.dumps(
        {"commands": commands(path), "dofs": dofs, "pattern": int(pattern), "nodes": nodes, "modes": MODES,
         "steps": STEPS, "h": H}
    )  # fmt: skip
    script = Path(__file__).with_name("opensees_commands.py")
    answer = subprocess.run([python, str(script)], input=told, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SystemExit(f"OpenSees failed on {path}: {answer.stderr[-500:]}")
    theirs = json.loads(answer.stdout.splitlines()[-1])
    M, C, K = (matrix.toarray() for matrix in (matrices.M, matrices.C, matrices.K))
    from scipy import linalg

    massive = M.diagonal() > 0  # condensed: a massless rotation has no frequency
    rest = ~massive
    Kc = K[np.ix_(massive, massive)]
    if rest.any():
        Kc = Kc - K[np.ix_(massive, rest)] @ np.linalg.solve(K[np.ix_(rest, rest)], K[np.ix_(rest, massive)])
    squares = linalg.eigh(Kc, M[np.ix_(massive, massive)], eigvals_only=True)[:MODES]
    u = np.linalg.solve(K, model.load(pattern))
    places = [(i, j, f"n{n}.{d}") for i, n in enumerate(nodes) for j, d in enumerate(PLACES[dofs])]
    rows = [(i, j, assembly.names.index(name)) for i, j, name in places if name in assembly.names]
    i, j, k = (np.array(column) for column in zip(*rows, strict=True))
    static, motion = np.array(theirs["static"]), np.array(theirs["motion"])
    mine = vibration(M, C, K, u) @ assembly.T.toarray().T
    return {
        "frequencies": float(np.abs(np.sqrt(squares / np.array(theirs["squares"])) - 1).max()),
        "static": float(np.abs((assembly.T @ u)[k] - static[i, j]).max() / np.abs(static).max()),
        "vibration": float(np.abs(mine[:, k] - motion[:, i, j]).max() / np.abs(motion).max()),
    }


def main() -> None:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", type=Path, default=sorted(MODELS.glob("*.tcl")))
    parser.add_argument("--opensees", default=sys.executable, help="a Python that has OpenSeesPy")
    options = parser.parse_args()
    print("| model | frequencies | static case | damped vibration |\n|---|---|---|---|")
    for path in options.models:
        off = compare(path, options.opensees)
        print(f"| {path.stem} | {off['frequencies']:.0e} | {off['static']:.0e} | {off['vibration']:.0e} |")


if __name__ == "__main__":
    main()
