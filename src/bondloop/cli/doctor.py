"""`bondloop doctor`: what works on this machine, and what to install for the rest."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

import bondloop
from bondloop.cli.options import json_option
from bondloop.cli.output import print_json
from bondloop.display import at_work
from bondloop.errors import BondloopError

EXTRAS = {
    "control": (("control",), "transfer functions to and from python-control"),
    "cluster": (("dask", "pandas", "pyarrow"), "studies on several machines, tables of results"),
    "xarray": (("xarray",), "runs as labelled arrays"),
    "zig": (("ziglang",), "a C compiler from PyPI, and programs for ARM"),
    "dashboard": (("starlette", "uvicorn", "websockets"), "the operator's page"),
    "tdms": (("npTDMS",), "LabVIEW's TDMS files"),
    "mdf": (("asammdf",), "MDF4 files"),
}
"""Packages of each extra, and what they are for."""

MEMORY = 64 * 2**20
"""Bytes that a loop locks at most, with its ring."""


@dataclass(frozen=True)
class Answer:
    """What was found of one thing.

    Attributes
    ----------
    what
        The thing.
    state
        ``"good"``, ``"care"``: works, not as well as it could, ``"missing"``: an option that is not there,
        ``"bad"``: something that every test needs does not work.
    found
        In words.
    remedy
        What to do; empty where there is nothing to be done.
    """

    what: str
    state: Literal["good", "care", "missing", "bad"]
    found: str
    remedy: str = ""


def answers() -> list[Answer]:
    """Ask everything; a question that fails is itself an answer."""
    asked: list[Answer] = [_python(), _compiler(), _cache(), *_real_time(), _graphics()]
    asked += [_extra(name, packages, why) for name, (packages, why) in EXTRAS.items() if _is_extra(name)]
    return asked


def _python() -> Answer:
    system = f"{platform.system()} {platform.machine()}"
    found = f"bondloop {bondloop.__version__}, Python {platform.python_version()}, {system}"
    return Answer("bondloop", "good", found)


def _compiler() -> Answer:
    """Compile and run a test, which is what a compiler is for."""
    from bondloop.engine.codegen import compiler
    from bondloop.papers import test

    remedy = "install one (Debian: apt install gcc), or: pip install 'bondloop[zig]'"
    try:
        found = compiler()
        if found is None:
            return Answer(
                "C compiler", "care", "none: tests run in Python, some hundred times slower", remedy
            )
        run = test().run(0.1)
    except (BondloopError, OSError) as error:
        return Answer("C compiler", "bad", str(error).splitlines()[0], remedy)
    if run.record.attributes["backend"] != "c":
        return Answer("C compiler", "bad", str(run.record.attributes["backend_message"]), remedy)
    return Answer("C compiler", "good", f"{' '.join(found.command)}; a test was built and rehearsed with it")


def _cache() -> Answer:
    from bondloop.engine.codegen import cache_folder

    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        size = sum(f.stat().st_size for f in folder.iterdir() if f.is_file())
    except (BondloopError, OSError) as error:
        return Answer("cache", "care", str(error), "set BONDLOOP_CACHE to a folder of your own")
    return Answer("cache", "good", f"{folder}, {size / 2**20:.0f} MB")


def _real_time() -> list[Answer]:
    if sys.platform != "linux":
        return [Answer("real time", "missing", "needs Linux; rehearsals and `bondloop export c` work here")]
    return [_kernel(), _priority(), _locked(), _shared(), _governor()]


def _kernel() -> Answer:
    version = platform.version()
    if "PREEMPT_RT" in version:
        return Answer("kernel", "good", f"{platform.release()}, PREEMPT_RT")
    remedy = "rehearsals need none; for a machine see docs/realtime-linux.md: a PREEMPT_RT kernel"
    return Answer("kernel", "care", f"{platform.release()}, not PREEMPT_RT", remedy)


def _priority() -> Answer:
    """Try SCHED_FIFO in a process of its own, which ends at once."""
    asking = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(80))"
    call = [sys.executable, "-c", asking]
    tried = subprocess.run(call, capture_output=True, timeout=60, check=False)  # noqa: S603 - our own words
    if tried.returncode == 0:
        return Answer("priority", "good", "real-time priority 80 is granted")
    remedy = "/etc/security/limits.d: '@realtime - rtprio 90', see docs/realtime-linux.md"
    return Answer("priority", "care", "real-time priority is not granted", remedy)


def _locked() -> Answer:
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft == resource.RLIM_INFINITY or soft >= MEMORY or os.geteuid() == 0:
        return Answer("locked memory", "good", "as much as a loop needs")
    remedy = "/etc/security/limits.d: '@realtime - memlock unlimited', see docs/realtime-linux.md"
    return Answer("locked memory", "care", f"{soft / 2**20:.0f} MB at most", remedy)


def _shared() -> Answer:
    folder = Path("/dev/shm")  # noqa: S108 - where the segments live
    if not os.access(folder, os.W_OK):
        remedy = "mount a tmpfs there: the loop's telemetry lives in it"
        return Answer("shared memory", "bad", f"{folder} cannot be written", remedy)
    about = os.statvfs(folder)
    free = about.f_bavail * about.f_frsize
    state: Literal["good", "care"] = "good" if free >= 2 * MEMORY else "care"
    remedy = "" if state == "good" else "a container needs --shm-size=256m"
    return Answer("shared memory", state, f"{free / 2**20:,.0f} MB free in {folder}", remedy)


def _governor() -> Answer:
    files = sorted(Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
    found = sorted({f.read_text(encoding="ascii").strip() for f in files})
    cores = f"{os.cpu_count()} processors"
    if not found:
        return Answer("processors", "good", f"{cores}, their frequency is not this system's to choose")
    if found == ["performance"]:
        return Answer("processors", "good", f"{cores}, governor performance")
    remedy = "for a machine: cpupower frequency-set -g performance"
    return Answer("processors", "care", f"{cores}, governor {', '.join(found)}", remedy)


def _graphics() -> Answer:
    from bondloop.engine.codegen import gpu_obstacle

    obstacle = gpu_obstacle()
    if obstacle:
        return Answer("graphics processor", "missing", f"{obstacle} (only for studies of many rehearsals)")
    return Answer("graphics processor", "good", "studies can run on it: --backend cuda")


def _is_extra(name: str) -> bool:
    """Whether the installed package offers an extra of this name."""
    return _offered(name, lambda: importlib.metadata.metadata("bondloop").get_all("Provides-Extra") or [])


def _offered(name: str, offers: Callable[[], list[str]]) -> bool:
    """Whether an extra is offered; all are where the package itself is not installed, but only on the path.

    >>> _offered("zig", lambda: ["control"]), _offered("zig", lambda: ["zig"])
    (False, True)
    """
    try:
        return name in offers()
    except importlib.metadata.PackageNotFoundError:
        return True


def _extra(name: str, packages: tuple[str, ...], why: str) -> Answer:
    """Say which packages of an extra are there.

    >>> _extra("nothing", ("no-such-package",), "an example")
    Answer(what='nothing', state='missing', found='no-such-package not installed: an example', remedy=...)
    """
    versions, absent = [], []
    for package in packages:
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            absent.append(package)
    if absent:
        remedy = f"pip install 'bondloop[{name}]'"
        return Answer(name, "missing", f"{', '.join(absent)} not installed: {why}", remedy)
    return Answer(name, "good", f"{', '.join(versions)}: {why}")


MARKS = {"good": "ok   ", "care": "care ", "missing": "-    ", "bad": "BAD  "}


@click.command("doctor")
@json_option
@click.option(
    "--strict", is_flag=True, help="Exit with 1 also where something is only not as good as can be."
)
def doctor(
    as_json: bool,
    strict: bool,
) -> None:
    """Say what works on this machine: compiler, real time, graphics processor, optional packages.

    Exits with 1 when something that every test needs does not work.
    """
    with at_work("looking around", as_json):
        found = answers()
    if as_json:
        print_json([{"what": a.what, "state": a.state, "found": a.found, "remedy": a.remedy} for a in found])
    else:
        print(_text(found))
    worst = {a.state for a in found}
    if "bad" in worst or (strict and "care" in worst):
        raise SystemExit(1)


def _text(found: list[Answer]) -> str:
    r"""Write the answers, a line each, what to do beneath.

    >>> print(_text([Answer("compiler", "bad", "none", "install gcc"), Answer("NumPy", "good", "2.1")]))
    BAD  compiler  none
                   install gcc
    ok   NumPy     2.1
    """
    width = max(len(a.what) for a in found)
    lines = []
    for a in found:
        lines.append(f"{MARKS[a.state]}{a.what:<{width}}  {a.found}")
        if a.remedy:
            lines.append(f"{'':{5 + width}}  {a.remedy}")
    return "\n".join(lines)
