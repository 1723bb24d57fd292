"""How fast a bond graph becomes equations: bondloop, and BondGraphTools 0.4.6 beside it where installed.

Prints a table in Markdown. CPU time of this process, after all imports.
Run: python benchmarks/bondgraph.py (--without-peers leaves out BondGraphTools, which takes minutes)
"""

import argparse
import contextlib
import gc
import io
import math
import os
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import scipy.sparse.csgraph
import scipy.sparse.linalg  # noqa: F401 - imported here so that no import is timed
import sympy
from sympy.core.cache import clear_cache

import bondloop.bondgraph.derive
import bondloop.program.linear  # noqa: F401
from bondloop.bondgraph import C, Model, Sf
from bondloop.papers.gawthrop_three_mass import Mass


def cpu(job: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds a job takes, and its result; SymPy's cache starts empty."""
    clear_cache()
    gc.collect()
    start = time.process_time()
    result = job()
    return time.process_time() - start, result


def median(job: Callable[[], Any], runs: int = 5) -> float:
    """Return the median CPU seconds of several runs."""
    return statistics.median(cpu(job)[0] for _ in range(runs))


def chain(n: int, cubic: bool = False, letters: bool = False) -> Model:
    """Return n mass-spring-damper cells in a row, hung from a moving wall."""
    model = Model("chain")
    model.wall = Sf("r")

    def value(name: str, i: int, number: float) -> Any:
        return sympy.Symbol(f"{name}{i}", positive=True) if letters else number

    def spring(i: int) -> C:
        if cubic:
            return C(law=lambda d, k, h: k * d + h * d**3, k=1.0, h=0.5)
        return C(stiffness=value("k", i, 1.0))

    model.cell = [Mass(value("m", i, 1.0), value("c", i, 0.1), spring(i)) for i in range(n)]
    left: Any = model.wall
    for cell in model.cell:
        left >> cell.left
        left = cell.right
    return model


def peer_chain(bgt: Any, n: int) -> Any:
    """Return the same chain in BondGraphTools."""
    model = bgt.new(name=f"chain{n}")
    left = bgt.new("Sf", name="wall")
    bgt.add(model, left)
    for i in range(n):
        zero, one = bgt.new("0", name=f"z{i}"), bgt.new("1", name=f"v{i}")
        spring, mass = bgt.new("C", name=f"k{i}", value=1.0), bgt.new("I", name=f"m{i}", value=1.0)
        damper = bgt.new("R", name=f"c{i}", value=0.1)
        bgt.add(model, zero, one, spring, mass, damper)
        for tail, head in ((left, zero), (zero, spring), (zero, one), (one, mass), (one, damper)):
            bgt.connect(tail, head)
        left = one
    return model


def find_peer() -> tuple[Any, str]:
    """Return BondGraphTools, or None and why there is none."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it warns of a solver that is not used here
            import BondGraphTools
    except ImportError as error:
        return None, f"not installed ({error.name}): pip install 'bondloop[benchmark]'"
    return BondGraphTools, f"BondGraphTools {version('BondGraphTools')}"


def symbolic(peers: bool) -> None:
    """State equations as text, from the drawn model to the last line."""
    bgt, about = find_peer() if peers else (None, "left out")
    print("\n### Symbolic state equations of a chain of n cells\n")
    print(f"Peer: {about}. Both include building the model.\n")
    print("| n | states | bondloop (s) | bondloop, letters (s) | BondGraphTools (s) | ratio |")
    print("|---:|---:|---:|---:|---:|---:|")
    for n in (5, 10, 20):
        ours = median(lambda n=n: str(chain(n).compile().equations()), 7)
        letters = median(lambda n=n: str(chain(n, letters=True).compile().equations()), 7)
        theirs = ratio = "-"
        if bgt is not None:
            seconds, relations = cpu(lambda n=n: peer_chain(bgt, n).constitutive_relations)
            assert len(relations) == 2 * n
            theirs, ratio = f"{seconds:.2f}", f"{seconds / ours:,.0f}"
        print(f"| {n} | {2 * n} | {ours:.3f} | {letters:.3f} | {theirs} | {ratio} |", flush=True)


def large() -> None:
    """Sparse A and B of long chains."""
    print("\n### Sparse numeric A and B of a chain of n cells\n")
    print("| n | states | build objects (s) | compile (s) | numeric (s) | compile + numeric (s) |")
    print("|---:|---:|---:|---:|---:|---:|")
    totals = {}
    for n in (1_000, 3_000, 10_000):
        rows = []
        for _ in range(5):
            build, model = cpu(lambda n=n: chain(n))
            compiling, system = cpu(model.compile)
            numeric, matrices = cpu(system.numeric)
            assert matrices.A.shape == (2 * n, 2 * n)
            rows.append((build, compiling, numeric, compiling + numeric))
            del model, system, matrices
        build, compiling, numeric, total = (statistics.median(column) for column in zip(*rows, strict=True))
        totals[n] = total
        print(
            f"| {n:,} | {2 * n:,} | {build:.3f} | {compiling:.3f} | {numeric:.3f} | {total:.3f} |", flush=True
        )
    exponent = math.log10(totals[10_000] / totals[1_000])
    print(f"\nGrowth of compile + numeric from n = 1,000 to 10,000: n^{exponent:.2f}.")


def cubic() -> None:
    """Nonlinear chain: equations and both Jacobians."""
    print("\n### 20-state chain with cubic springs\n")
    print("| step | CPU (s) |")
    print("|---|---:|")
    rows = []
    for _ in range(7):
        model = chain(10, cubic=True)
        equations, system = cpu(lambda model=model: _equations(model))
        states, A = cpu(lambda system=system: system.symbolic.jacobian("rates", "states"))
        parameters, P = cpu(lambda system=system: system.symbolic.jacobian("rates", "parameters"))
        assert A.shape == (20, 20)
        assert P.shape == (20, 40)
        rows.append((equations, states, parameters, equations + states + parameters))
    names = ("equations", "Jacobian, states", "Jacobian, parameters", "all three")
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        print(f"| {name} | {statistics.median(column):.3f} |")


def _equations(model: Model) -> Any:
    system = model.compile()
    str(system.equations())
    return system


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--without-peers", action="store_true", help="leave out BondGraphTools")
    peers = not parser.parse_args().without_peers
    print(f"CPU seconds on {os.cpu_count()} cores, medians of several runs (BondGraphTools: one run).")
    str(chain(2, letters=True).compile().equations())  # SymPy's printers load on first use
    large()
    cubic()
    symbolic(peers)


if __name__ == "__main__":
    main()
