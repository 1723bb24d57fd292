"""Does the check tell the truth? Drawn tests are checked, then run and judged. Prints tables in Markdown.

Run: python benchmarks/check.py (--cases 20000, some hours on two cores; --first SEED; --minutes N;
--keep FILE, to go on another time; --stepped; --without-papers; --few-blows, a third less work)

In pieces: each with a --first and a --keep of its own, on any machine and at any time, and then all of them
in one table with --report FILE FILE ..., which runs nothing.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "hybrid"))

RAN = ("well", "left limits", "grew", "fragile", "undecided")
DECIDED = RAN[:4]
HABIT = 200
"""Cases after which a process is replaced: compiled ticks stay loaded until their process ends."""


@dataclass(frozen=True)
class Case:
    """A drawn test, checked and judged.

    Attributes
    ----------
    seed
        ``case(seed)`` of tests/hybrid/drawn_tests.py gives the test again.
    passed, level
        What the check said; None and nothing where the test could not be built, or the check failed.
    ran, evidence
        What happened in the run.
    kind
        Labels of the test.
    check_seconds, truth_seconds
        How long both took.
    """

    seed: int
    passed: bool | None
    level: str
    ran: str
    evidence: str
    kind: dict[str, str]
    check_seconds: float = 0.0
    truth_seconds: float = 0.0


def checked(test: Any, seconds: float) -> Any:
    """Check a test; what would make a refused one pass is not looked for."""
    from bondloop.check.checking import check

    return check(test, seconds)


def judged(seed: int, stepped: bool = False, few_blows: bool = False) -> Case:
    """Draw, check and run one test, with a compile cache of its own, so that nothing is kept.

    Parameters
    ----------
    seed
        Of the test.
    stepped
        Whether it is a pseudo-dynamic one.
    few_blows
        Whether blows, and repetitions out of step, are left out where the check lets a test pass that is not
        linear: there they only tell what is fragile or undecided from what ran well. Of those that were
        refused they tell whether it was in vain.
    """
    from drawn_stepped import stepped_case
    from drawn_tests import case
    from truth import outcome

    with tempfile.TemporaryDirectory(prefix="bondloop-check-") as folder:
        os.environ["BONDLOOP_CACHE"] = folder
        drawn = (stepped_case if stepped else case)(seed)
        if drawn.test is None:
            return Case(seed, None, "", "not built", drawn.refused, drawn.kind)
        began = time.perf_counter()
        try:
            answer = checked(drawn.test, drawn.seconds)
        except Exception as error:  # noqa: BLE001 - a check that fails is a result
            return Case(seed, None, "", "check failed", f"{type(error).__name__}: {error}", drawn.kind)
        middle = time.perf_counter()
        found = outcome(drawn, blows=not (few_blows and answer.passed))
        spent = (middle - began, time.perf_counter() - middle)
        level = str(getattr(answer, "level", ""))
        return Case(seed, answer.passed, level, found.ran, found.evidence, drawn.kind, *spent)


def compiling_lightly() -> None:
    """Compile each tick with -O1: it runs once, the numbers are the same, and a case takes a quarter less."""
    from bondloop.engine.codegen import toolchain

    toolchain.FLAGS = tuple("-O1" if flag == "-O3" else flag for flag in toolchain.FLAGS)


def table(cases: list[Case], key: str | None = None) -> list[str]:
    """Return the rows: passed or refused against what happened, for all tests or by a label."""
    head = ["" if key is None else key, "passed, " + RAN[0], *RAN[1:], "refused, " + RAN[0], *RAN[1:]]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * 2 * len(RAN)]
    groups = {"all": cases} if key is None else {}
    if key is not None:
        for case in cases:
            groups.setdefault(case.kind[key], []).append(case)
    for name, group in sorted(groups.items()):
        counts = Counter((c.passed, c.ran) for c in group)
        row = [str(counts[passed, ran]) for passed in (True, False) for ran in RAN]
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    return lines


def report(cases: list[Case]) -> list[str]:
    """Return the whole report."""
    good = [c for c in cases if c.passed is not None]
    passed = [c for c in good if c.passed and c.ran in DECIDED]
    refused = [c for c in good if not c.passed and c.ran in DECIDED]
    from truth import UNBLOWN

    badly = [c for c in passed if c.ran in ("left limits", "grew")]
    left = [c for c in badly if c.ran == "left limits"]
    fragile = [c for c in passed if c.ran == "fragile"]
    blown = [c for c in passed if c.evidence != UNBLOWN]
    wrongly = [c for c in refused if c.ran == "well"]
    shares = Counter(c.ran for c in cases)
    share = 100 * len(wrongly) / max(1, len(refused))
    lines = [f"### {len(cases)} drawn tests", ""]
    lines.append(", ".join(f"{ran} {100 * n / len(cases):.1f} %" for ran, n in shares.most_common()) + ".")
    lines += [
        "", "| what | goal | measured |", "|---|---:|---:|",
        f"| passed, but left its limits in the run | 0 | {len(left)} of {len(passed)} |",
        f"| passed, but grew, in the run or after it | 0 | {len(badly) - len(left)} of {len(passed)} |",
        f"| passed, but a blow after the run makes it grow | | {len(fragile)} of {len(blown)} |",
        f"| refused, but ran well | 2 % | {len(wrongly)} of {len(refused)} ({share:.1f} %) |",
    ]  # fmt: skip
    for name, seconds in (
        ("check", sorted(c.check_seconds for c in good)), ("truth", sorted(c.truth_seconds for c in good)),
    ):  # fmt: skip
        if seconds:
            half, most = seconds[len(seconds) // 2], seconds[-1]
            lines.append(f"| seconds per {name}: median, largest | | {half:.3f}, {most:.2f} |")
    labels = ("controller", "scheme", "nonlinearity", "actuator", "rig")
    for key in (None, *(k for k in labels if all(k in c.kind for c in good))):
        lines += ["", *table(good, key)]
    for title, wrong in (
        ("Passed, but should not have", badly), ("Passed, but fragile", fragile),
        ("Refused, but ran well", wrongly),
        ("Neither", [c for c in cases if c.ran == "check failed"]),
    ):  # fmt: skip
        if wrong:
            lines += ["", f"{title}:", ""]
        for c in sorted(wrong, key=lambda c: c.seed):
            words = [w for w in c.kind.values() if w not in ("ideal", "none", "chain")]
            lines.append(f"- {c.seed} ({', '.join(dict.fromkeys(words))}): {c.ran}, {c.evidence}")
    return lines


# ---------------------------------------------------------------------- the ready-made tests


PAPER = """
import os, sys, tempfile
from bondloop import papers
from benchmarks_check import checked
entry = papers.find(sys.argv[1])
module = entry.load()
make, seconds = getattr(module, "test", None), getattr(module, "SECONDS", 1.0)
if make is None or not hasattr(make(), "check"):
    sys.exit(3)

def spent():  # by this process and by the compiler, whatever else the machine does
    return sum(os.times()[:4])

for _ in range(2):  # the first brings all imports
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BONDLOOP_CACHE"] = folder
        times = []
        for _ in range(4):
            test = make()
            began = spent()
            answer = checked(test, seconds)
            times.append(spent() - began)
print(times[0], min(times[1:]), round(seconds / test.period), answer.passed)
"""


def papers_table() -> list[str]:
    """Time the check of every ready-made test: with an empty compile cache, and again, the best of three."""
    from bondloop import papers

    lines = ["| ready-made test | ticks | cold (CPU s) | warm (CPU s) | passed |", "|---|---:|---:|---:|---|"]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(__file__, Path(folder) / "benchmarks_check.py")
        places = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
        # With matrices as small as these, further threads of linear algebra wait, and count as busy.
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        environment = {**os.environ, **threads, "PYTHONPATH": os.pathsep.join(places)}
        for entry in papers.entries():
            if entry.kind != "test":
                continue
            done = subprocess.run(
                [sys.executable, "-c", PAPER, entry.name],
                env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                why = "no check" if done.returncode == 3 else done.stderr.strip().splitlines()[-1][:80]
                lines.append(f"| {entry.name} | - | - | - | {why} |")
                continue
            cold, warm, ticks, passed = done.stdout.split()[-4:]
            lines.append(
                f"| {entry.name} | {int(ticks):,} | {float(cold):.2f} | {float(warm):.2f} | {passed} |"
            )
    return lines


def kept(file: Path | None) -> list[Case]:
    """Return the cases that an earlier run kept."""
    if file is None or not file.exists():
        return []
    return [Case(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Print the tables, and write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first case")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=Path("out/check.md"))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="report what is done by then")
    parser.add_argument("--keep", type=Path, help="a line a case; cases that stand there are not run again")
    parser.add_argument("--report", type=Path, nargs="+", help="kept files: their table, and nothing is run")
    parser.add_argument("--stepped", action="store_true", help="pseudo-dynamic tests instead")
    parser.add_argument("--few-blows", action="store_true", help="none on what passed and is not linear")
    parser.add_argument("--without-papers", action="store_true")
    given = parser.parse_args()
    if given.report is not None:
        together = {case.seed: case for file in given.report for case in kept(file)}
        print("\n".join(report([together[seed] for seed in sorted(together)])))
        return
    seeds = range(given.first, given.first + given.cases)
    cases = [case for case in kept(given.keep) if case.seed in seeds]
    left = sorted(set(seeds) - {case.seed for case in cases})
    began = time.perf_counter()
    spawned = multiprocessing.get_context("spawn")
    task = partial(judged, stepped=given.stepped, few_blows=given.few_blows)
    with spawned.Pool(given.processes, compiling_lightly, maxtasksperchild=HABIT) as pool:
        for case in pool.imap_unordered(task, left):
            cases.append(case)
            if given.keep is not None:
                with given.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(case)) + "\n")
            if sys.stderr.isatty():
                print(f"\r{len(cases)} of {given.cases}", end="", file=sys.stderr)
            if time.perf_counter() - began > 60 * given.minutes:
                pool.terminate()
                break
    cases.sort(key=lambda c: c.seed)
    lines = report(cases)
    lines += ["", f"{given.processes} processes, {time.perf_counter() - began:.0f} s."]
    if not given.without_papers:
        lines += ["", *papers_table()]
    print("\n".join(lines))
    with contextlib.suppress(OSError):
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
