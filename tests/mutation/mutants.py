"""Mutation testing of what guards people: does a test find each of the small faults that are drawn here?

    python tests/mutation/mutants.py [--count 150] [--seed 37] [--only guard.c] [--resume] [--list]

Each mutant is a copy of `src` with one change; the tests nearest to it run until one fails. A survivor must
be found by a new test, or be argued equivalent in `equivalent.toml`. The draw goes by a hash of file, line
and change, so that an edit elsewhere changes nothing of it.
"""

import argparse
import ast
import concurrent.futures
import functools
import hashlib
import itertools
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

import c_mutants
import python_mutants

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
BUILT = ROOT / "build" / "mutants"
SECONDS = 120
"""After which tests of a mutant are taken to hang: it is found."""

SAFETY, C = "src/bondloop/safety", "src/bondloop/realtime/c"
VIRTUAL = [f"tests/realtime/virtual_time/test_{of}.py" for of in ("guard", "executive", "commands")]
TESTS = {
    f"{SAFETY}/*.py": [["tests/safety", SAFETY]],
    f"{C}/guard.c": [VIRTUAL],
    f"{C}/executive.c": [VIRTUAL],
    f"{C}/packet.c": [["tests/realtime/virtual_time/test_packets.py"]],
    f"{C}/link_udp.c": [["tests/realtime/virtual_time/test_udp_ends.py"]],
    "src/bondloop/identify/least_squares.py": [
        [
            "tests/identify/test_confidence.py",
            "tests/identify/test_residuals.py",
            "src/bondloop/identify/least_squares.py",
        ],
        [
            "tests/identify/test_fit_ranking.py",
            "tests/identify/test_fit_bond_graph.py",
            "tests/identify/test_data.py",
        ],
    ],
}
"""What is mutated, with its tests: the fastest first."""

CHECKS_OF_PACKETS = (
    "loop_drain",
    "is_peer",
    "is_withdrawn",
    "are_finite",
    "rig_hello",
    "port_receive",
    "stop_word",
)
"""Functions of link_udp.c that judge packets; the rest of it sends them."""


@functools.cache
def source(file):
    """Return the text of a file as it was when the mutants were drawn."""
    return (ROOT / file).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Mutant:
    """A change, told by the line it is in: `change` is what stands there instead of what."""

    file: str
    line: str
    change: str
    start: int
    end: int
    new: str

    @property
    def name(self):
        return f"{self.file}: {self.line}\n    {self.change}"

    def text(self):
        whole = source(self.file)
        return whole[: self.start] + self.new + whole[self.end :]

    def makes_sense(self):
        """Whether it compiles: what does not would be found by anybody."""
        if self.file.endswith(".py"):
            try:
                ast.parse(self.text())
            except SyntaxError:
                return False
            return True
        command = ["cc", "-std=gnu11", "-fsyntax-only", "-w", f"-I{ROOT / C}", "-xc", "-"]
        return (
            subprocess.run(command, input=self.text(), text=True, capture_output=True, check=False).returncode
            == 0
        )


def mutants_of(path):
    """Return all mutants of a file."""
    text = source(path.relative_to(ROOT).as_posix())
    made = (python_mutants if path.suffix == ".py" else c_mutants).mutants(text)
    if path.name == "link_udp.c":
        made = [m for m in made if _function(text, m[0]) in CHECKS_OF_PACKETS]
    found, seen = [], {}
    for start, end, new in made:
        first = text.rfind("\n", 0, start) + 1
        line = text[first : text.find("\n", start)].strip()
        old = " ".join(text[start:end].split())
        before = text[first:start].count(text[start:end]) if "\n" not in text[start:end] else 0
        change = f"{old} -> {' '.join(new.split())}" + (f" ({before + 1})" if before else "")
        key = (line, change)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] > 1:  # the same line again
            change += f" [line {seen[key]}]"
        found.append(Mutant(path.relative_to(ROOT).as_posix(), line, change, start, end, new))
    return found


def _function(text, at):
    """Return the name of the C function around a place."""
    heads = [line for line in text[:at].splitlines() if line[:1].isalpha() and "(" in line]
    return heads[-1].partition("(")[0].split()[-1].strip("*") if heads else ""


def drawn(mutants, count, seed):
    """Return so many mutants that compile, by hash."""
    ordered = sorted(mutants, key=lambda m: hashlib.sha256(f"{seed} {m.name}".encode()).digest())
    return list(itertools.islice((m for m in ordered if m.makes_sense()), count))


def tests_of(file):
    return next(tests for pattern, tests in TESTS.items() if Path(file).match(pattern))


class Workplace:
    """A copy of `src`, in which one file at a time is changed."""

    def __init__(self, number):
        self.folder = BUILT / f"copy{number}"
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(ROOT / "src", self.folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        self.instant = 1_000_000_000

    def write(self, file, text):
        path = self.folder / file
        path.write_text(text, encoding="utf-8")
        self.instant += 10  # what Python compiled is told apart by whole seconds
        os.utime(path, (self.instant, self.instant))

    def run(self, tests, seconds=SECONDS):
        """Return what failed first; nothing if all passed."""
        environment = os.environ | {
            "CI": "1", "OPENBLAS_NUM_THREADS": "1", "BONDLOOP_CFLAGS": "-O1", "MPLBACKEND": "Agg",
            "PYTHONPATH": str(self.folder / "src"),
        }  # fmt: skip
        here = [str(self.folder / t) if t.startswith("src") else t for t in tests]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            "--tb=line",
            *here,
        ]
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:  # fmt: skip
            try:
                output, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                return "took too long"
        if process.returncode == 0:
            return ""
        told = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return told[0] if told else f"exit status {process.returncode}: {output[-300:]}"

    def judge(self, mutant):
        """Return by what a mutant was found; nothing if it survived."""
        self.write(mutant.file, mutant.text())
        try:
            return next((found for tests in tests_of(mutant.file) if (found := self.run(tests))), "")
        finally:
            self.write(mutant.file, source(mutant.file))


def equivalents(all_mutants):
    """Return the mutants argued equivalent, with their reasons; refuse those that are none any more."""
    listed = tomllib.loads((HERE / "equivalent.toml").read_text(encoding="utf-8")).get("mutant", [])
    known = {(m.file, m.line, m.change): m for m in all_mutants}
    stale = [e for e in listed if (e["file"], e["line"], e["change"]) not in known]
    if stale:
        sys.exit("equivalent.toml lists what is no mutant any more: " + "\n".join(map(str, stale)))
    return {known[e["file"], e["line"], e["change"]]: e["reason"] for e in listed}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=37)
    parser.add_argument("--only", default="", help="part of the path of the files to mutate")
    parser.add_argument(
        "--resume", action="store_true", help="keep what was found before, and try survivors again"
    )
    parser.add_argument("--list", action="store_true", help="show the mutants that are drawn")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    began = time.monotonic()
    files = [path for pattern in TESTS for path in sorted(ROOT.glob(pattern))]
    every = [m for path in files for m in mutants_of(path)]
    excused = equivalents(every)
    chosen = drawn([m for m in every if options.only in m.file], options.count, options.seed)
    print(f"{len(chosen)} mutants of {len(every)} by seed {options.seed}", flush=True)
    if options.list:
        print("\n".join(m.name for m in chosen))
        return 0
    survivors = tried(chosen, options)
    for m in [m for m in survivors if m in excused]:
        print(f"equivalent: {m.name}\n    {excused[m]}")
    wrong = [m for m in chosen if m in excused and m not in survivors]
    for m in wrong:
        print(f"NOT EQUIVALENT, a test finds it: {m.name}")
    open_ = [m for m in survivors if m not in excused]
    for m in open_:
        print(f"SURVIVOR: {m.name}")
    print(
        f"{len(chosen) - len(survivors)} killed, {len(survivors) - len(open_)} equivalent, "
        f"{len(open_)} survived, in {time.monotonic() - began:.0f} s"
    )
    return 1 if open_ or wrong else 0


def tried(chosen, options):
    """Return the survivors of all mutants, tried in workplaces side by side."""
    BUILT.mkdir(parents=True, exist_ok=True)
    kept = BUILT / "results.jsonl"
    if not options.resume:
        kept.unlink(missing_ok=True)
    before = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    found = {(r["file"], r["line"], r["change"]) for r in before if r["found"]}
    left = [m for m in chosen if (m.file, m.line, m.change) not in found]
    places = queue.SimpleQueue()
    for number in range(options.workers):
        places.put(Workplace(number))
    groups = {tuple(tests) for m in left for tests in tests_of(m.file)}

    def baseline(tests):
        place = places.get()
        failed = place.run(tests)
        places.put(place)
        return failed

    survivors = []

    def judge(m):
        place = places.get()
        found = place.judge(m)
        places.put(place)
        return m, found

    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        for failed in pool.map(baseline, groups):
            if failed:
                sys.exit(f"without a mutant a test fails already: {failed}")
        for done in concurrent.futures.as_completed([pool.submit(judge, m) for m in left]):
            m, by = done.result()
            with kept.open("a") as file:
                file.write(json.dumps(asdict(m) | {"found": by}) + "\n")
            print(f"killed: {m.name}\n    {by[:160]}" if by else f"survives: {m.name}", flush=True)
            if not by:
                survivors.append(m)
    return survivors


if __name__ == "__main__":
    sys.exit(main())
