"""How many branches of the C that guards people the tests in virtual time take, by gcov.

python tests/mutation/c_coverage.py [--least 95] [--lines]
"""

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = ("guard.c", "executive.c")
ALSO = ("commands.c", "packet.c")
"""Shown, without a bound."""


def branches(folder):
    """Return the branches of each file: line, how often each was taken."""
    data = sorted(path.name for path in folder.glob("*.gcda"))
    command = ["gcov", "--json-format", "--branch-probabilities", *data]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    found = {}
    for path in folder.glob("*.gcov.json.gz"):
        for file in json.loads(gzip.decompress(path.read_bytes()))["files"]:
            taken = [(line["line_number"], b["count"]) for line in file["lines"] for b in line["branches"]]
            found.setdefault(Path(file["file"]).name, []).extend(taken)
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--least", type=float, default=95.0, help="per cent")
    parser.add_argument(
        "--lines", action="store_true", help="show the lines with branches that were not taken"
    )
    options = parser.parse_args()
    if shutil.which("gcov") is None or shutil.which("gcc") is None:
        print("gcov or gcc is missing here: branches of the C are not counted")
        return 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
        subprocess.run(
            [*command, str(ROOT / "tests/realtime/virtual_time")],
            cwd=ROOT,
            check=True,
            env=os.environ | {"BONDLOOP_C_COVERAGE": place, "CC": "gcc"},
        )
        found = branches(folder)
    missing = False
    for name in (*FILES, *ALSO):
        counts = found[name]
        share = 100 * sum(n > 0 for _, n in counts) / len(counts)
        print(f"{name}: {share:.1f} % of {len(counts)} branches")
        if options.lines:
            print("    not taken at lines", ", ".join(str(line) for line, n in counts if not n))
        missing |= name in FILES and share < options.least
    if missing:
        which = " and ".join(FILES)
        print(f"expected at least {options.least:g} % of {which}: write tests for what --lines shows")
    return int(missing)


if __name__ == "__main__":
    sys.exit(main())
