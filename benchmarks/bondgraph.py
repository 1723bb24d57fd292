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
import tracemalloc
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse.csgraph
import scipy.sparse.linalg  # noqa: F401 - imported here so that no import is timed
import sympy
from sympy.core.cache import clear_cache

from bondloop.bondgraph import C, CField, I, IField, Model, One, R, Se, Sf, Zero
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


def grid(n: int) -> Model:
    """Return n by n masses, each joined to its neighbours by springs, a force on the first."""
    model = Model("grid")
    model.v = [One() for _ in range(n * n)]
    model.force = Se("F")
    model.force >> model.v[0]
    for i in range(n):
        for j in range(n):
            here = model.v[i * n + j]
            here >> I(mass=1.0)
            for other in ([i * n + j + 1] if j + 1 < n else []) + ([(i + 1) * n + j] if i + 1 < n else []):
                between = Zero()
                here >> between >> model.v[other]
                between >> C(stiffness=100.0)
    return model


def grids() -> None:
    """Grids of masses and springs, from objects to matrices and to a Python function."""
    print("\n### A grid of n by n masses and springs\n")
    print("| n | states | build objects (s) | compile (s) | numeric (s) | order (s) | function (s) |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    totals = {}
    for n in (30, 100):
        build, model = cpu(lambda n=n: grid(n))
        compiling, system = cpu(lambda model=model: model.compile(outputs=["v[0].flow"]))
        numeric, _ = cpu(system.numeric)
        order, _ = cpu(lambda system=system: system.statements)
        function, _ = cpu(lambda system=system: system.rates)
        totals[n] = compiling + numeric + order + function
        print(
            f"| {n} | {len(system.states):,} | {build:.3f} | {compiling:.3f} | {numeric:.3f} | {order:.3f} "
            f"| {function:.3f} |",
            flush=True,
        )
    exponent = math.log(totals[100] / totals[30]) / math.log(len(grid(100).v) / len(grid(30).v))
    print(f"\nGrowth from {30 * 30:,} to {100 * 100:,} masses: n^{exponent:.2f}.")


def ladder(n: int) -> Model:
    """Return n loops of two resistors each, in letters, with a capacitor at the end."""
    model = Model("ladder")
    model.source = Se("u")
    model.one, model.zero = [One() for _ in range(n)], [Zero() for _ in range(n)]
    left: Any = model.source
    for i in range(n):
        left >> model.one[i] >> model.zero[i] >> R(resistance=sympy.Symbol(f"g{i}"))
        model.one[i] >> R(resistance=sympy.Symbol(f"r{i}"))
        left = model.zero[i]
    left >> C(capacitance=sympy.Symbol("c"))
    return model


def loops() -> None:
    """Symbolic equations through loops of many unknowns; solved, they would be ratios of determinants."""
    print("\n### Equations of a ladder of n loops, in letters\n")
    print("| n | equations (s) | characters | solved (s) | ratio |")
    print("|---:|---:|---:|---:|---:|")
    for n in (3, 4, 5, 20, 100):
        system = ladder(n).compile(outputs=["one[0].flow"])
        seconds, text = cpu(lambda system=system: str(system.equations()))
        solved = ratio = "-"
        if n < 6:
            whole, _ = cpu(lambda n=n: _matrices(ladder(n).compile(outputs=["one[0].flow"])))
            solved, ratio = f"{whole:.3f}", f"{whole / seconds:,.0f}"
        print(f"| {n} | {seconds:.3f} | {len(text):,} | {solved} | {ratio} |", flush=True)


def _matrices(system: Any) -> Any:
    return system.A, system.B, system.C, system.D


def fields() -> None:
    """Fields of many ports: as products, and one parameter an entry where that is still possible."""
    from bondloop.bondgraph.passes import field_laws

    print("\n### Two dense fields of n ports, mass and stiffness\n")
    print("| n | data (MB) | as | compile (s) | objects (MB) | numeric (s) | function (s) | one call (ms) |")
    print("|---:|---:|---|---:|---:|---:|---:|---:|")
    for n, few in ((60, 60), (60, 8), (500, 8)):
        field_laws.FEW_PORTS = few
        A = np.random.default_rng(0).normal(size=(n, n))
        model = Model("field")
        model.v, model.force = One(size=n), Se("F")
        model.v >> [IField(A @ A.T + n * np.eye(n)), CField(A @ A.T)]
        model.force >> model.v[0]
        compiling, system = cpu(model.compile)
        tracemalloc.start()
        again = model.compile()
        size = tracemalloc.get_traced_memory()[0] / 1e6
        tracemalloc.stop()
        numeric, _ = cpu(system.numeric)
        function, rates = cpu(lambda system=system: system.rates)
        x, p = [0.1] * (2 * n), list(again.values().values())
        rates(x, [1.0], [], p)
        call = median(lambda: rates(x, [1.0], [], p))  # noqa: B023 - called here and now
        how = "entries" if n <= few else "products"
        print(
            f"| {n} | {16e-6 * n * n:.2f} | {how} | {compiling:.3f} | {size:.1f} | {numeric:.3f} "
            f"| {function:.3f} | {1000 * call:.2f} |",
            flush=True,
        )
    field_laws.FEW_PORTS = 8


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
    grids()
    cubic()
    loops()
    fields()
    symbolic(peers)


if __name__ == "__main__":
    main()
