"""Are the equations right? Drawn bond graphs against an assembly without causality. Prints Markdown.

Run: python benchmarks/random_graphs.py (--cases 10000, --steady 1000, --motions 150; some minutes)

``drawn(seed, family)`` of tests/bondgraph/drawn_graphs.py gives a graph again.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices: threads only wait for each other
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "bondgraph"))

from agreement import AGREED, OUTCOMES, Verdict, judged
from drawn_graphs import FAMILIES, drawn
from motions import MOVED, Motion, NoReferenceError
from rests import settled

MOST_STATES = 8
"""Larger graphs are not followed in time: the tableau is solved hundreds of times for each."""

Case = tuple[str, int]


def judgement(case: Case) -> tuple[Case, Verdict]:
    """Judge one graph."""
    family, seed = case
    return case, judged(drawn(seed, family), seed)


def motion(case: Case) -> tuple[Case, tuple[float, float, float] | None]:
    """Follow one graph in time: differences of simulation and compiled steps, and of energy."""
    family, seed = case
    graph = drawn(seed, family)
    if family not in MOVED or judged(graph, seed).outcome != AGREED:
        return case, None
    one = Motion(graph, seed)
    if not 0 < len(one.x) <= MOST_STATES:
        return case, None
    try:
        return case, (one.simulated(), one.stepped(), one.energy())
    except NoReferenceError:
        return case, None


def rest(case: Case) -> tuple[Case, tuple[float, bool] | None]:
    """Compare one steady state with the end of a long motion; say whether the graph is linear."""
    family, seed = case
    difference = settled(drawn(seed, family), seed)
    if difference is None:
        return case, None
    return case, (difference, drawn(seed, family).model().compile(outputs=[]).is_linear)


def cases(count: int) -> list[Case]:
    """Return as many cases, the families in turn."""
    return [(FAMILIES[k % len(FAMILIES)], k // len(FAMILIES)) for k in range(count)]


def graphs_table(results: list[tuple[Case, Verdict]]) -> list[str]:
    """Return outcomes by family, largest differences, and every case that went wrong."""
    lines = ["| family | " + " | ".join(OUTCOMES) + " | largest difference | power |"]
    lines.append("|---|" + "---:|" * (len(OUTCOMES) + 2))
    for family in (*FAMILIES, "all"):
        own = [v for (f, _), v in results if family in (f, "all")]
        counts = Counter(v.outcome for v in own)
        worst = max((v.error for v in own if v.outcome == AGREED), default=0.0)
        power = max((v.power for v in own if v.outcome == AGREED), default=0.0)
        row = " | ".join(f"{counts[o]:,}" for o in OUTCOMES)
        lines.append(f"| {family} | {row} | {worst:.0e} | {power:.0e} |")
    linear = sum(v.linear for _, v in results if v.outcome == AGREED)
    agreed = sum(v.outcome == AGREED for _, v in results)
    lines += ["", f"Of {agreed:,} that agree, {linear:,} are linear and {agreed - linear:,} are not."]
    wrong = [(case, v) for case, v in results if v.outcome in OUTCOMES[2:]]
    if wrong:
        lines += ["", "Neither agreed nor singular, smallest seeds first:", ""]
        lines += [
            f"- {f} {s}: {v.outcome}; {v.reason[:110]}" for (f, s), v in sorted(wrong, key=lambda w: w[0][1])
        ]
    return lines


def motions_table(results: list[tuple[Case, tuple[float, float, float]]]) -> list[str]:
    """Return the largest differences of motions by family."""
    lines = ["| family | motions | simulation | compiled steps | energy |", "|---|---:|---:|---:|---:|"]
    for family in (*FAMILIES, "all"):
        own = [d for (f, _), d in results if family in (f, "all")]
        worst = [max((d[k] for d in own), default=0.0) for k in range(3)]
        lines.append(f"| {family} | {len(own)} | " + " | ".join(f"{w:.0e}" for w in worst) + " |")
    return lines


def rest_table(results: list[tuple[Case, tuple[float, bool]]]) -> list[str]:
    """Return the largest differences of steady states by family, with seeds, of linear graphs and others."""
    lines = ["| family | linear | largest difference (seed) | not linear | largest difference (seed) |"]
    lines.append("|---|---:|---:|---:|---:|")
    for family in (*FAMILIES, "all"):
        row = []
        for kind in (True, False):
            own = [(d, c) for c, (d, linear) in results if family in (c[0], "all") and linear == kind]
            worst, (of, seed) = max(own, default=(0.0, ("", -1)))
            where = f"{of} {seed}" if family == "all" else f"{seed}"
            row.append(f"{len(own):,} | {worst:.0e} ({where})" if own else "0 | -")
        lines.append(f"| {family} | {' | '.join(row)} |")
    return lines


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--motions", type=int, default=150)
    parser.add_argument("--steady", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    wanted = parser.parse_args()
    began = time.perf_counter()
    spawn = multiprocessing.get_context("spawn")
    for title, work, some, count, table in (
        (f"{wanted.cases:,} graphs", judgement, cases(wanted.cases), wanted.cases, graphs_table),
        ("Motions", motion, cases(40 * wanted.motions), wanted.motions, motions_table),
        ("Steady states", rest, cases(40 * wanted.steady), wanted.steady, rest_table),
    ):
        results: list[tuple[Case, Any]] = []
        with spawn.Pool(wanted.processes) as pool:  # ended with its work: more is queued than is needed
            for case, value in pool.imap(work, some, 10):
                if value is not None:
                    results.append((case, value))
                if len(results) >= count:
                    break
        print(f"### {title}\n\n" + "\n".join(table(results)) + "\n", flush=True)
    print(f"{wanted.processes} processes, {time.perf_counter() - began:.0f} s.")


if __name__ == "__main__":
    main()
