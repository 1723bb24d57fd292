"""The archives of a release: how they are built, and what is wrong with them."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]

PARTS = (
    "py.typed",
    "report/style.css",
    "report/play.html",
    "report/play.css",
    "report/play.js",
    "report/play_controls.js",
    "report/play_tick.js",
    "dashboard/page/index.html",
    "dashboard/page/main.js",
    "dashboard/page/style.css",
    "realtime/c/executive.c",
    "realtime/c/executive.h",
    "realtime/c/link_udp.c",
    "papers/mr_damper/LICENSE-mequiroz.txt",
    "papers/marths/LICENSE",
)
"""Files that are no Python, without which something installed does not work or is not lawful."""

FETCHED = ("dashboard/page/vendor/uplot.js", "dashboard/page/vendor/LICENSE-uplot")
"""What hatch_build.py brings from npm: a build without npm works, a release has it."""

SOURCES = (
    "pyproject.toml",
    "hatch_build.py",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CITATION.cff",
    "Makefile",
    "docs/index.md",
    "examples/first_hybrid_test.py",
    "benchmarks/README.md",
    "tests/conftest.py",
    "paper/paper.md",
    "recipe/recipe.yaml",
)
"""What one needs of the sdist beside the package: to build it, to test it, to read on."""

LEFTOVERS = {".pyc", ".pyo", ".so", ".o", ".h5", ".fmu", ".log", ".orig", ".rej"}
"""Endings of files that come of work, and belong into no archive."""

LARGEST = 20e6
"""Bytes; of the sdist, whose figures are most of it."""


def build(folder: Path) -> tuple[Path, Path]:
    """Build sdist and, from it, wheel; return both."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        message = f"python -m build failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        raise RuntimeError(message)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def names_in_wheel(wheel: Path) -> list[str]:
    """Return the files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def names_in_sdist(sdist: Path) -> list[str]:
    """Return the files of an sdist, below its one folder."""
    with tarfile.open(sdist) as archive:
        return [name.partition("/")[2] for name in archive.getnames()]


def package_files() -> set[str]:
    """Return the files of the package as they lie in the source tree, but for what work left there."""
    files = (path for path in (ROOT / "src" / "bondloop").rglob("*") if path.is_file())
    return {
        path.relative_to(ROOT / "src").as_posix()
        for path in files
        if "__pycache__" not in path.parts and path.suffix not in LEFTOVERS
    }


def faults_of_wheel(names: list[str]) -> list[str]:
    """Return what a wheel with these files has too little or too much of, a line each."""
    info = {name for name in names if name.partition("/")[0].endswith(".dist-info")}
    code = set(names) - info
    faults = [f"not in the wheel: bondloop/{part}" for part in PARTS if f"bondloop/{part}" not in code]
    faults += [f"not in the wheel: {name}" for name in sorted(package_files() - code)]
    faults += [f"not of the package: {name}" for name in sorted(code - package_files())]
    faults += [
        f"no {what} in the wheel's metadata"
        for what in ("METADATA", "entry_points.txt", "licenses/LICENSE")
        if not any(name.endswith(f".dist-info/{what}") for name in info)
    ]
    return list(dict.fromkeys(faults))


def faults_of_sdist(names: list[str]) -> list[str]:
    """Return what an sdist with these files has too little or too much of, a line each."""
    faults = [f"not in the sdist: {name}" for name in SOURCES if name not in names]
    faults += [
        f"not in the sdist: src/{name}" for name in sorted(package_files()) if f"src/{name}" not in names
    ]
    hidden = {".venv", ".git", "__pycache__", "out", "dist", ".mypy_cache", ".hypothesis"}
    faults += [
        f"left over: {name}"
        for name in names
        if hidden & set(name.split("/")) or (Path(name).suffix in LEFTOVERS and name.startswith("src/"))
    ]
    return faults
