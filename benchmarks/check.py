"""The check beside a judge that shares nothing with it: drawn tests, verdicts, what became of each.

Every seed is a test (`tests/check/drawn_loops.py`). The check gives its verdict first; then the judge
(`tests/check/plain_physics.py`) runs the test and compares with the exact motion of the complete structure. A
case is a line of JSON in the file that is kept, so that a stopped run goes on where it was::

    python benchmarks/check.py --seeds 0:100 --keep out/check.jsonl --jobs 2
    python benchmarks/check.py --report out/check.jsonl
    python benchmarks/check.py --ready-made

With ``--plant-errors`` each test to which the check says 'run it' is judged once more with every error of the
plant at once: it stands if it stays within its limits and comes to rest. ``--ready-made`` times the check of
the tests that the package brings.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LEVELS = ("run", "care", "vain", "stop")
CLASSES = ("well", "between", "bad")

NAMES: dict[str, tuple[tuple[str, ...], str]] = {
    "limits": (("BL4",), r"limit|stroke|capacit|saturat|more than .* (?:has|can)"),
    "sustained": (("BL2", "BL3", "BL5"), r"unstable|sustain|limit cycle|chatter|does not come to rest|grow"),
    "off": (("BL5", "BL6"), r"off the|accura|reference|error of"),
}
"""Which finding names a fault: one whose rule begins so, or whose text has one of the words. Only one that
asks at least for care names anything."""

GOALS = {
    "run_bad": "'run it' that leave limits, sustain themselves or are more than 30 % off: at most 1 in 300",
    "care_bad_unnamed": "'with care' that do so without a finding that names it: at most 3 in 300",
    "refused_well": "refusals that would have gone well: at most 3 % of them",
    "well_unhedged": "tests that do well with an unhedged 'run it': at least half",
    "stands": "'run it' that stand every plant error at once: at least 57 of 60",
}


def case(seed: int, plant_errors: bool) -> dict[str, Any]:
    """Return what the check says of a drawn test, and what became of it."""
    sys.path.insert(0, str(ROOT / "tests" / "check"))
    import numpy as np
    from drawn_loops import Plant, draw
    from plain_physics import judge

    row: dict[str, Any] = {"seed": seed}
    try:
        begun = time.perf_counter()
        drawn = draw(seed)
        row |= {"words": drawn.words(), "intent": drawn.intent, "family": drawn.control.family}
        row["draw_seconds"] = time.perf_counter() - begun
        begun = time.perf_counter()
        check = drawn.test().check(drawn.seconds)
        row["check_seconds"] = time.perf_counter() - begun
        row |= {"level": str(check.level), "verdict": str(check.verdict)}
        words = ("rule", "level", "short", "text")
        row["findings"] = [
            {word: str(getattr(f, word)) for word in words} | {"open": bool(f.open)} for f in check.findings
        ]
        begun = time.perf_counter()
        outcome = judge(drawn, known=drawn.truth)
        row |= {
            "outcome": outcome.verdict, "faults": list(outcome.faults), "limits": outcome.limits,
            "off": _finite(outcome.off), "sustained": _finite(outcome.sustained),
            "evidence": outcome.evidence,
        }  # fmt: skip
        row["judge_seconds"] = time.perf_counter() - begun
        if plant_errors and row["level"] == "run":
            plant = Plant.drawn(np.random.default_rng([seed, 1]))
            with_errors = judge(drawn, plant=plant)
            row["stands"] = not ({"limits", "sustained"} & set(with_errors.faults))
            row["plant_evidence"] = with_errors.evidence
    except Exception as error:  # noqa: BLE001 - a case that fails is published, and the others go on
        row["error"] = f"{type(error).__name__}: {error}"
        row["where"] = traceback.format_exc().strip().splitlines()[-3:]
    return row


def _finite(x: float) -> float:
    """Return a number that JSON has."""
    return float(min(x, 1e30)) if not math.isnan(x) else 1e30


def named(row: dict[str, Any], fault: str) -> bool:
    """Whether a finding names a fault."""
    rules, words = NAMES[fault]
    for f in row["findings"]:
        if f["level"] not in LEVELS[1:]:
            continue
        if f["rule"].startswith(rules) or re.search(words, f"{f['short']} {f['text']}", re.IGNORECASE):
            return True
    return False


def kept(paths: Iterable[Path]) -> dict[int, dict[str, Any]]:
    """Return the cases of some files by seed; a line that was cut off counts as not run."""
    rows: dict[int, dict[str, Any]] = {}
    for path in paths:
        for line in path.read_text().splitlines() if path.exists() else ():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            rows[row["seed"]] = row
    return rows


def ran(seeds: list[int], jobs: int, plant_errors: bool) -> Iterator[dict[str, Any]]:
    """Yield the cases as they are done; a worker that dies costs its case alone."""
    left = list(seeds)
    while left:
        done: list[int] = []
        try:
            with ProcessPoolExecutor(jobs) as pool:
                waiting = {pool.submit(case, s, plant_errors): s for s in left}
                for future in as_completed(waiting):
                    row = future.result()
                    done.append(row["seed"])
                    yield row
        except BrokenProcessPool:
            first = next(s for s in left if s not in done)
            done.append(first)
            yield {"seed": first, "error": "the process died, at this case or at one run beside it"}
        left = [s for s in left if s not in done]


def report(rows: dict[int, dict[str, Any]]) -> str:
    """Return the table, and every failure with its seed, in Markdown."""
    good = [r for r in rows.values() if "error" not in r]
    counts = Counter((r["level"], r["outcome"]) for r in good)
    lines = ["| the check says | well | between | bad | all |", "|---|---|---|---|---|"]
    for level in LEVELS:
        numbers = [counts[level, c] for c in CLASSES]
        lines.append(f"| {level} | {' | '.join(map(str, numbers))} | {sum(numbers)} |")
    totals = [sum(counts[level, c] for level in LEVELS) for c in CLASSES]
    lines += [f"| all | {' | '.join(map(str, totals))} | {len(good)} |", ""]
    failures = failed(good)
    run, refused = ([r for r in good if r["level"] in levels] for levels in (("run",), ("vain", "stop")))
    well = [r for r in good if r["outcome"] == "well"]
    unhedged = [r for r in well if r["level"] == "run" and r["verdict"].strip() == "Run it."]
    judged = [r for r in run if "stands" in r]
    found = {
        "run_bad": f"{len(failures['run_bad'])} of {len(run)}",
        "care_bad_unnamed": f"{len(failures['care_bad_unnamed'])}",
        "refused_well": f"{len(failures['refused_well'])} of {len(refused)}",
        "well_unhedged": f"{len(unhedged)} of {len(well)}",
        "stands": f"{sum(r['stands'] for r in judged)} of {len(judged)}" if judged else "not run",
    }
    lines += ["| goal | found |", "|---|---|"]
    lines += [f"| {GOALS[name]} | {value} |" for name, value in found.items()]
    times = [
        sum(r[f"{part}_seconds"] for r in good) / max(len(good), 1) for part in ("draw", "check", "judge")
    ]
    lines += [
        "",
        "Seconds a case, to draw, to check and to judge: " + ", ".join(f"{t:.2f}" for t in times) + ".",
        "",
    ]
    for name, cases in failures.items():
        for r in cases:
            rules = ", ".join(sorted({f["rule"] for f in r["findings"]})) or "no finding"
            evidence = r["plant_evidence"] if name == "stands" else r["evidence"]
            lines.append(
                f"- {name}, seed {r['seed']}: {r['words']}. Judge: {evidence}. Check: {r['level']} ({rules})."
            )
    for r in rows.values():
        if "error" in r:
            lines.append(f"- error, seed {r['seed']}: {r['error']} {r.get('words', '')}")
    return "\n".join(lines)


def failed(good: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the failures by the goal that they count against."""
    return {
        "run_bad": [r for r in good if r["level"] == "run" and r["outcome"] == "bad"],
        "care_bad_unnamed": [
            r
            for r in good
            if r["level"] == "care" and r["outcome"] == "bad" and not all(named(r, f) for f in r["faults"])
        ],
        "refused_well": [r for r in good if r["level"] in ("vain", "stop") and r["outcome"] == "well"],
        "stands": [r for r in good if r.get("stands") is False],
    }


READY_MADE = """
import os, sys
from bondloop import papers
module = papers.find(sys.argv[1]).load()
times = []
for _ in range(4):
    test = module.test()
    began = sum(os.times()[:4])  # of this process and of the compiler, whatever else the machine does
    answer = test.check(seconds := getattr(module, "SECONDS", 1.0))
    times.append(sum(os.times()[:4]) - began)
print(times[0], min(times[1:]), round(seconds / test.period), answer.level)
"""
"""Checks a test of the package four times: the first compiles, and brings all imports."""


def ready_made() -> str:
    """Return CPU seconds of the check of every ready-made test in Markdown: first, and the best of three."""
    from bondloop import papers

    lines = [
        "| ready-made test | ticks | first (CPU s) | again (CPU s) | level |",
        "|---|---:|---:|---:|---|",
    ]
    # With matrices as small as these, further threads of linear algebra wait, and count as busy.
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
    for entry in papers.entries():
        if entry.kind == "test":
            with tempfile.TemporaryDirectory() as cache:
                done = subprocess.run(
                    [sys.executable, "-c", READY_MADE, entry.name],
                    env={**os.environ, **threads, "BONDLOOP_CACHE": cache},
                    capture_output=True, text=True, check=False,
                )  # fmt: skip
            if done.returncode:
                why = done.stderr.strip().splitlines()[-1][:80]
                lines.append(f"| {entry.name} | | | | {why} |")
            else:
                first, again, ticks, level = done.stdout.split()[-4:]
                lines.append(
                    f"| {entry.name} | {int(ticks):,} | {float(first):.2f} | {float(again):.2f} | {level} |"
                )
    return "\n".join(lines)


def main() -> None:
    """Run the cases that are asked for, or report those that are kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", default="0:20", help="first and one past the last, A:B")
    parser.add_argument("--keep", type=Path, default=Path("out/check.jsonl"), help="a line a case")
    parser.add_argument("--report", type=Path, nargs="+", help="files to report; nothing is run")
    parser.add_argument("--ready-made", action="store_true", help="time the check of the package's tests")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--plant-errors", action="store_true")
    options = parser.parse_args()
    if options.report:
        print(report(kept(options.report)))
        return
    if options.ready_made:
        print(ready_made())
        return
    # Before anything is compiled: a tick compiles in a third of the time, and runs for a moment only.
    os.environ.setdefault("BONDLOOP_CFLAGS", "-O1")
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    first, last = map(int, options.seeds.split(":"))
    known = kept([options.keep])
    seeds = [s for s in range(first, last) if s not in known]
    with options.keep.open("a") as file:
        for row in ran(seeds, options.jobs, options.plant_errors):
            file.write(json.dumps(row) + "\n")
            file.flush()
            words = row.get("error") or f"{row['level']}, {row['outcome']}: {row['words']}"
            print(f"{row['seed']}: {words}", flush=True)
    asked = {s: r for s, r in kept([options.keep]).items() if first <= s < last}
    print(report(asked))


if __name__ == "__main__":
    main()
