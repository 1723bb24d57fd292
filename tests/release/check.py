"""Build the archives of a release, look at them, and try the wheel as a newcomer would.

    python tests/release/check.py [PYTHON ...] [--oldest] [--keep FOLDER]

For every interpreter (without any: this one) the wheel goes into a new environment, and the commands of a
newcomer's first minutes run in an empty folder with an empty cache. ``--oldest`` does it once more with the
oldest versions that pyproject.toml allows. ``make release-check`` calls it.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for archives.py, also where pytest looks for doctests here

import archives

TEST = "gawthrop-three-mass"


def main() -> int:
    """Do it all; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "pythons", nargs="*", default=[sys.executable], help="interpreters to try the wheel on"
    )
    parser.add_argument(
        "--oldest", action="store_true", help="also with the oldest versions that are allowed"
    )
    parser.add_argument("--keep", type=Path, help="folder for the archives")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch) / "dist").resolve()  # what is tried runs elsewhere
        sdist, wheel = archives.build(folder)
        names = archives.names_in_wheel(wheel)
        faults = archives.faults_of_wheel(names)
        faults += [f"npm did not bring {n}" for n in archives.FETCHED if f"bondloop/{n}" not in names]
        faults += archives.faults_of_sdist(archives.names_in_sdist(sdist))
        faults += untracked()
        done = run(
            [sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel)], Path(scratch)
        )
        faults += [] if done.returncode == 0 else [done.stdout + done.stderr]
        say(", ".join(f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in (sdist, wheel)))
        tries = [(python, False) for python in options.pythons]
        tries += [(options.pythons[0], True)] if options.oldest else []
        for number, (python, oldest) in enumerate(tries):
            faults += tried(Path(scratch) / str(number), python, wheel, oldest)
    for fault in faults:
        say(f"FAULT: {fault}")
    say("the release is ready" if not faults else f"{len(faults)} faults")
    return bool(faults)


def tried(folder: Path, python: str, wheel: Path, oldest: bool) -> list[str]:
    """Install a wheel for a Python in a new folder and use it there; return what went wrong."""
    began, worked = time.perf_counter(), processor_seconds()
    home = folder / "home"
    home.mkdir(parents=True)
    binaries = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(binaries / "python"), "-m", "pip"]
    install = [*pip, "install", "--quiet", "--only-binary=:all:", str(wheel), *(floors() if oldest else [])]
    bondloop = str(binaries / "bondloop")
    out = home / "out" / TEST
    to_use = [
        [bondloop, "--version"],
        [bondloop, "doctor"],
        [bondloop, "check", TEST],
        [bondloop, "run", TEST],
        [bondloop, "report", str(out / "run.h5")],
        [bondloop, "run", str(out / "run.h5")],
    ]
    said = ""
    for step in [[python, "-m", "venv", str(folder / "env")], install, *to_use]:
        done = run(step, home, bare=step in to_use)
        said += done.stdout
        if done.returncode:
            return [f"{python}: {' '.join(step)} ended with {done.returncode}: {done.stdout}{done.stderr}"]
    faults = []
    if not (out / "report.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>"):
        faults.append(f"{python}: the report is no page")
    if ", to the last bit" not in said.rpartition("rehearsed")[2]:
        faults.append(f"{python}: the run file was not repeated to the last bit")
    versions = run([*pip, "freeze"], home).stdout
    known = [
        f"{n} {v}"
        for n, v in re.findall(
            r"(?m)^(h5py|matplotlib|numpy|pydantic|scipy|sympy|tomlkit|click)==(.*)$", versions
        )
    ]
    (first,) = [line for line in said.splitlines() if "Python 3" in line][:1] or ["?"]
    say(f"{first.strip()}; {', '.join(known)}")
    took, cost = time.perf_counter() - began, processor_seconds() - worked
    say(f"     {len(to_use)} commands, {took:.0f} s, {cost:.0f} s of processors")
    return faults


def processor_seconds() -> float:
    """Return the time that processors have spent on this program's commands."""
    return os.times().children_user + os.times().children_system


def floors() -> list[str]:
    """Return the oldest versions of hard dependencies, as pip wants them."""
    project = tomllib.loads((archives.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [requirement.replace(">=", "==") for requirement in project["dependencies"]]


def untracked() -> list[str]:
    """Return the files of the package that Git does not know, where there is a Git."""
    done = run(["git", "ls-files", "--others", "--exclude-standard", "src"], archives.ROOT)
    return [f"not in Git, but in the wheel: {name}" for name in done.stdout.splitlines()]


def run(command: list[str], folder: Path, bare: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; a bare one has it as its home too, so that no cache or setting is met."""
    left_out = ("PYTHON", "XDG_", "BONDLOOP", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    home = {"HOME": str(folder), "USERPROFILE": str(folder), "MPLBACKEND": "Agg", "PYTHONNOUSERSITE": "1"}
    return subprocess.run(
        command,
        cwd=folder,
        env=kept | (home if bare else {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
