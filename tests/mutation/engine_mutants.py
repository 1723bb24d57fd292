"""Mutants of the engine: drawn once, before it was rebuilt, and found again by the code around them.

    python tests/mutation/engine_mutants.py [--list] [--seconds 1200] [--tiers 2] [--again]
    python tests/mutation/engine_mutants.py --draw SRC COMMIT [--count 100] [--seed 41]

`engine.json`, which `--draw` writes, names for each the function it is in, its statement, the change, and the
statements around: modules and functions may be moved, merged and renamed. The nearest tests run until one
fails (tier 0), then the quick ones of the engine (tier 1), then all of the engine's (tier 2). Results are
written to `build/mutants/engine.jsonl`, and a second call goes on where the first ended. A mutant whose
statement does not exist any more is listed as gone. One that no test can find is listed in
`engine_equivalent.toml`, with the reason.
"""

import argparse
import ast
import difflib
import hashlib
import json
import queue
import sys
import threading
import time
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

import python_mutants
from mutants import BUILT, HERE, ROOT, Workplace

STORED = HERE / "engine.json"
BEFORE = HERE / "engine_before.json"
"""Which of them tests found in the sources they were drawn from; the others were not tried to the end."""

ROOMS = ("engine", "codegen", "bondgraph", "integrate")
"""The folders of tests that mirror those of the engine."""

SOURCES = (
    "program/*.py",
    "compile/*.py",
    "bondgraph/flatten.py",
    "bondgraph/causality.py",
    "bondgraph/derive.py",
    "integrate/**/*.py",
)
LIKE = 0.75
"""How like a statement of a function of the same name must be to be the one that a mutant was drawn in."""


@dataclass(frozen=True)
class Place:
    """A statement (of a compound one the head), the function that it is in, and its neighbours."""

    file: str
    function: str
    statement: str
    before: str
    after: str


@dataclass(frozen=True)
class Mutant:
    """A change of a statement: its number among all changes of it, and what is written instead of what."""

    place: Place
    number: int
    change: str

    @property
    def key(self):
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:12]

    @property
    def name(self):
        return (
            f"{self.key} {self.place.file} {self.place.function}: {self.place.statement}\n    {self.change}"
        )


def head(statement):
    """Return a statement on one line, without those within it."""
    if isinstance(statement, ast.ClassDef):
        return f"{statement.name}()"
    if isinstance(statement, ast.FunctionDef):
        return f"{statement.name}({ast.unparse(statement.args)})"
    text = ast.unparse(statement)
    return text.partition("\n")[0] if hasattr(statement, "body") else " ".join(text.split())


def places(tree, file):
    """Yield each statement of a module with its place."""

    def within(body, function):
        for i, statement in enumerate(body):
            before = head(body[i - 1]) if i else ""
            after = head(body[i + 1]) if i + 1 < len(body) else ""
            yield statement, Place(file, function, head(statement), before, after)
            is_named = isinstance(statement, ast.FunctionDef | ast.ClassDef)
            name = f"{function}.{statement.name}".lstrip(".") if is_named else function
            for part in ("body", "orelse", "finalbody"):
                yield from within(getattr(statement, part, []), name)
            for handler in getattr(statement, "handlers", []):
                yield from within(handler.body, name)
            for case in getattr(statement, "cases", []):
                yield from within(case.body, name)

    yield from within(tree.body, "")


class Module:
    """A module with its statements, and the mutants of each."""

    def __init__(self, path, root):
        self.path, self.file = path, path.relative_to(root).as_posix()
        self.text = path.read_text(encoding="utf-8")
        self.statements = list(places(ast.parse(self.text), self.file))

    def changes(self):
        """Return the changes of each statement: (start, end, new text, what it says), in their order."""
        lines, starts = self.text.splitlines(keepends=True), [0]
        for line in lines:
            starts.append(starts[-1] + len(line))

        def at(row, column):  # Python counts columns in bytes
            return starts[row - 1] + len(lines[row - 1].encode()[:column].decode())

        spans = [  # the innermost statement around a place counts
            (at(s.lineno, s.col_offset), at(s.end_lineno, s.end_col_offset), place)
            for s, place in self.statements
        ]
        of = {}
        for start, end, new in python_mutants.mutants(self.text):
            inside = [(e - b, i) for i, (b, e, _) in enumerate(spans) if b <= start and end <= e]
            if inside:
                old = " ".join(self.text[start:end].split())
                says = f"{old} -> {' '.join(new.split())}"
                of.setdefault(min(inside)[1], []).append((start, end, new, says))
        return {i: (spans[i][2], found) for i, found in of.items()}


def draw(source, commit, count, seed):
    """Write the mutants that a seed draws from the sources of a commit."""
    root, every = Path(source) / "bondloop", []
    for path in sorted({path for pattern in SOURCES for path in root.glob(pattern)}):
        module = Module(path, root)
        for place, changes in module.changes().values():
            for number, (start, end, new, says) in enumerate(changes):
                try:
                    ast.parse(module.text[:start] + new + module.text[end:])
                except SyntaxError:
                    continue
                every.append(Mutant(place, number, says))
    every = list(dict.fromkeys(every))
    chosen = sorted(every, key=lambda m: hashlib.sha256(f"{seed} {m.key}".encode()).digest())[:count]
    data = {"commit": commit, "seed": seed, "of": len(every), "mutants": [asdict(m) for m in chosen]}
    STORED.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def stored():
    data = json.loads(STORED.read_text(encoding="utf-8"))
    print(f"{len(data['mutants'])} mutants of {data['of']} by seed {data['seed']}, commit {data['commit']}")
    return [Mutant(Place(**m["place"]), m["number"], m["change"]) for m in data["mutants"]]


def like(a, b):
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()


class Package:
    """The package as it is now, in which mutants are looked for."""

    def __init__(self, root):
        self.modules = [Module(path, root) for path in sorted(root.rglob("*.py"))]
        self.by_statement, self.by_function, self.changes = {}, {}, {}
        for module in self.modules:
            for i, (_, place) in enumerate(module.statements):
                self.by_statement.setdefault(place.statement, []).append((module, i, place))
                self.by_function.setdefault(place.function.rpartition(".")[2], []).append((module, i, place))

    def find(self, mutant):
        """Return the module, the place and the change that a mutant is today; None where its code is gone."""
        was = mutant.place
        candidates = self.by_statement.get(was.statement, [])
        if not candidates:
            named = self.by_function.get(was.function.rpartition(".")[2], [])
            candidates = [c for c in named if like(c[2].statement, was.statement) >= LIKE]
        for module, i, place in sorted(candidates, key=lambda c: self._nearness(c[2], was), reverse=True):
            if module not in self.changes:
                self.changes[module] = module.changes()
            changes = self.changes[module].get(i, (place, []))[1]
            if changes:
                order = range(len(changes))
                best = max(order, key=lambda n: (like(changes[n][3], mutant.change), n == mutant.number))
                return module, place, changes[best]
        return None

    @staticmethod
    def _nearness(place, was):
        return (
            2 * like(place.function, was.function)
            + like(place.statement, was.statement)
            + (like(place.before, was.before) + like(place.after, was.after)) / 2
            + 0.2 * (place.file == was.file)
        )


QUICK = "not slow and not long and not realtime"
ALSO = (
    "tests/test_systems.py",
    "tests/test_math.py",
    "tests/papers/test_gawthrop_numbers.py",
    "tests/hybrid/test_check.py",
    "tests/structures/test_attached.py",
)
"""Outside the rooms: what would notice if a whole test went wrong."""


def tests_of(module, place, tier):
    """Return the arguments of pytest for the tests of a tier."""
    names = {part for part in place.function.split(".") if len(part) > 3} | {module.path.stem}
    room, stems = module.file.partition("/")[0], set(module.path.stem.split("_"))

    def weight(path):
        text = path.read_text(encoding="utf-8")
        words = set(path.stem.removeprefix("test_").split("_"))
        return sum(text.count(n) for n in names) + 10 * len(words & stems)

    folders = [ROOT / "tests" / name for name in sorted(ROOMS, key=lambda name: name != room)]
    files = [sorted(folder.rglob("test_*.py"), key=weight, reverse=True) for folder in folders]
    ranked = [p.relative_to(ROOT).as_posix() for folder in files for p in folder]
    nearest = sorted(ranked, key=lambda p: weight(ROOT / p), reverse=True)[:4]
    if tier == 0:
        return ["-m", QUICK, f"src/bondloop/{module.file}", *nearest]
    if tier == 1:
        return ["-m", QUICK, *ranked]
    return [*ranked, *(p for p in ALSO if (ROOT / p).exists())]


class EnginePlace(Workplace):
    """A copy of `src` in a folder of its own, so that it may run beside `mutants.py`."""

    def __init__(self, number):
        super().__init__(f"_engine{number}")

    def judge(self, found, tier):
        """Return by what a mutant was found; a test that hangs for two minutes fails."""
        module, place, (start, end, new, _) = found
        file = f"src/bondloop/{module.file}"
        self.write(file, module.text[:start] + new + module.text[end:])
        try:
            return self.run(["--timeout=120", *tests_of(module, place, tier)], TIERS[tier])
        finally:
            self.write(file, module.text)


TIERS = (300, 1200, 7200)
"""Seconds after which the tests of a tier are given up as a hang."""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--draw", nargs=2, metavar=("SRC", "COMMIT"))
    parser.add_argument("--list", action="store_true", help="show where the mutants are today")
    parser.add_argument("--again", action="store_true", help="forget what was found before")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no mutant after that")
    parser.add_argument("--tiers", type=int, default=3, choices=(1, 2, 3), help="how far the tests go")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if options.draw:
        draw(*options.draw, options.count, options.seed)
    chosen, package = stored(), Package(ROOT / "src" / "bondloop")
    excused = {e["key"]: e["reason"] for e in _toml("engine_equivalent.toml").get("mutant", [])}
    today = {m.key: package.find(m) for m in chosen}
    for m in chosen:
        if not today[m.key]:
            print(f"gone: {m.name}" + (f"\n    {excused[m.key]}" if m.key in excused else ""))
        elif options.list:
            module, place, change = today[m.key]
            print(f"{m.name}\n    now {module.file} {place.function}: {change[3]}")
    if options.list or options.draw:
        return 0
    found = judged([m for m in chosen if today[m.key]], today, options)
    print(summary(chosen, found, excused))
    return int(any(not found[m.key].by and m.key not in excused for m in chosen if m.key in found))


def summary(chosen, found, excused):
    """Return how many were found, and which were not, with the tier up to which they were tried."""
    lines = []
    for m in chosen:
        if m.key in found and not found[m.key].by:
            why = (
                f"equivalent, {excused[m.key]}" if m.key in excused else f"SURVIVES tier {found[m.key].tier}"
            )
            lines.append(f"{why}: {m.name}")
    before = json.loads(BEFORE.read_text(encoding="utf-8"))["found"]
    lost = [m for m in chosen if m.key in before and m.key in found and not found[m.key].by]
    lines += [f"FOUND BEFORE, by {before[m.key]}: {m.name}" for m in lost]
    killed = sum(bool(f.by) for f in found.values())
    lines.append(
        f"{killed} killed, {len(found) - killed} not found, {len(chosen) - len(found)} gone or not tried"
    )
    return "\n".join(lines)


@dataclass(frozen=True)
class Judgement:
    """By what a mutant was found, if it was, and with the tests of which tier."""

    by: str
    tier: int


def _toml(name):
    path = HERE / name
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def judged(mutants, today, options):
    """Return the judgement of each mutant, those of former calls with them."""
    BUILT.mkdir(parents=True, exist_ok=True)
    results = BUILT / "engine.jsonl"
    if options.again:
        results.unlink(missing_ok=True)
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    found = {r["key"]: Judgement(r["by"], r["tier"]) for r in map(json.loads, lines)}
    todo = queue.SimpleQueue()
    for tier in range(options.tiers):
        for m in mutants:
            before = found.get(m.key, Judgement("", -1))
            if not before.by and before.tier < tier:
                todo.put((m, tier))
    ends, lock = time.monotonic() + options.seconds, threading.Lock()

    def work(number):
        workplace = EnginePlace(number)
        while time.monotonic() < ends:
            try:
                m, tier = todo.get_nowait()
            except queue.Empty:
                return
            if m.key in found and found[m.key].by:
                continue
            by = workplace.judge(today[m.key], tier)
            with lock:
                found[m.key] = Judgement(by, tier)
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": m.key, "by": by, "tier": tier}) + "\n")
                print(f"killed: {m.name}\n    {by[:160]}" if by else f"survives {tier}: {m.name}", flush=True)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(options.workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


if __name__ == "__main__":
    sys.exit(main())
