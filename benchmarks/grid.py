"""How long a grid of masses and springs takes from the model to a running tick in C, and how fast it runs.

Each size is measured in a process of its own, from an empty cache: CPU seconds of all stages, and the largest
memory. The step is compared with Runge-Kutta steps written by hand over a matrix in compressed rows
(``hand_written/grid_csr.c``), built with the same options; both must agree.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

HAND_WRITTEN = Path(__file__).parent / "hand_written" / "grid_csr.c"
RATE, ROUNDS = 1000.0, 30


def _by_hand(folder: Path) -> Any:
    from bondloop.engine.codegen.toolchain import FLAGS, compiler

    using = compiler()
    if using is None:
        raise SystemExit("this benchmark needs a C compiler")
    library = folder / "grid_csr.so"
    flags = [f for f in FLAGS if f != "-fvisibility=hidden"]
    subprocess.run([*using.command, *flags, "-o", str(library), str(HAND_WRITTEN)], check=True)
    return ctypes.CDLL(str(library))


def one(n: int) -> None:
    """Measure one size and print its row."""
    import scipy.sparse  # noqa: F401 - imports are not part of what is measured
    import sympy  # noqa: F401

    from bondgraph import grid
    from bondloop.engine.codegen import Runner
    from bondloop.hybrid.simulation import Simulation

    laps = [time.process_time()]
    model = grid(n)
    laps.append(time.process_time())
    system = model.compile(outputs=["v[0].flow"])
    laps.append(time.process_time())
    simulation = Simulation({"grid": system}, excitation={"F": 1.0}, rate=RATE)
    tick = simulation.tick
    laps.append(time.process_time())
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BONDLOOP_CACHE"] = folder
        runner = Runner(tick, "c")
        laps.append(time.process_time())
        gcc = sum(os.times()[2:4])
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        ratio, step = _step(runner, system, _by_hand(Path(folder)), n)
    build, compiling, writing, running = np.diff(laps)
    total = build + compiling + writing + running + gcc
    print(
        f"| {n} | {len(system.states):,} | {build:.2f} | {compiling:.2f} | {writing:.2f} "
        f"| {running:.2f} | {gcc:.2f} | **{total:.2f}** | {memory:.2f} | {1e6 * step:,.0f} | {ratio:.2f} |",
        flush=True,
    )


def _step(runner: Any, system: Any, library: Any, n: int) -> tuple[float, float]:
    """Return the time of a step against that by hand, and in seconds: best of several rounds, in turns."""
    space = system.numeric().explicit()
    A, b = space.A.tocsr(), np.ascontiguousarray(space.B.toarray()[:, 0])
    size, steps = A.shape[0], max(2, 400_000 // (n * n))
    x = np.random.default_rng(n).normal(size=size)  # at rest, much of a grid would hold subnormal numbers
    runner.reset({f"grid.{name}": float(v) for name, v in zip(system.states, x, strict=True)})
    starts, columns = A.indptr.astype(np.int32), A.indices.astype(np.int32)
    values, work = np.ascontiguousarray(A.data), np.zeros(5 * size)
    arrays = [ctypes.c_void_p(a.ctypes.data) for a in (starts, columns, values, b, x, work)]
    ours, theirs = [], []
    for _ in range(ROUNDS):
        began = time.process_time()
        runner.run(steps)
        middle = time.process_time()
        library.csr_run(ctypes.c_long(steps), ctypes.c_int(size), ctypes.c_double(1 / RATE), *arrays)
        theirs.append(time.process_time() - middle)
        ours.append(middle - began)
    difference = np.abs(np.array(list(runner.state.values())) - x).max() / np.abs(x).max()
    if not difference < 1e-9:
        raise SystemExit(f"the grid of {n} differs from the steps by hand by {difference:.1e}")
    return min(ours) / min(theirs), min(ours) / steps


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=int, help="one size, in this process")
    only = parser.parse_args().only
    if only:
        one(only)
        return
    print("\n### A grid of n by n masses and springs, from the model to a running tick in C\n")
    print(
        "| n | states | objects (s) | equations (s) | tick (s) | C text (s) | C compiler (s) | all (s) "
        "| memory (GB) | step (µs) | step, against CSR by hand |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for n in (20, 40, 100):
        subprocess.run([sys.executable, __file__, "--only", str(n)], check=True)


if __name__ == "__main__":
    main()
