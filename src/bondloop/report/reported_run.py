"""A run that is reported on: read, its rig named, its test made again and checked anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from bondloop.errors import BondloopError
from bondloop.files import recorded_test
from bondloop.hybrid import HybridTest, PseudoDynamicTest
from bondloop.rehearsal import Run

if TYPE_CHECKING:
    from bondloop.check import Check
    from bondloop.hybrid import Rehearsable


FMU = "fmu://"
"""What a link to an FMU begins with."""

OWN = ("loopback", "none")
"""Links behind which nothing but the emulated rig can be."""


def link_of(description: Mapping[str, object]) -> str:
    """Return where the rig of a run was; empty for a rehearsal."""
    settings = description.get("realtime")
    return str(settings.get("link", "")) if isinstance(settings, Mapping) else ""


def other_rig(description: Mapping[str, Any]) -> str:
    """Return which rig a run had, in words, where it was not the emulated one of its test; else nothing.

    >>> other_rig({"realtime": {"link": "fmu://my%20rig.fmu?command=u", "emulated": True}})
    'the FMU my rig.fmu'
    >>> other_rig({"realtime": {"link": "udp://10.0.0.7:5005", "emulated": False}})
    'a machine at udp://10.0.0.7:5005'
    >>> other_rig({"realtime": {"link": "shm://rig", "emulated": True, "own_rig": True}}), other_rig({})
    ('', '')
    """
    link = link_of(description)
    if link.startswith(FMU):
        return f"the FMU {PurePath(unquote(link.removeprefix(FMU).partition('?')[0])).name}"
    if not link or link.partition("://")[0] in OWN:
        return ""
    settings = description["realtime"]
    emulated = settings.get("emulated", not settings.get("machine"))
    if settings.get("own_rig", emulated):
        return ""
    return f"one that another process played at {link}" if emulated else f"a machine at {link}"


@dataclass(frozen=True)
class ReportedRun:
    """A run of which a report tells, with all that could be found out about it.

    Attributes
    ----------
    run, name, file
        The run, what it is called here, and its file, where it was read from one.
    test
        The test, made again; None where that could not be done.
    why_not
        Why it could not.
    check
        What the check says of the test now; None where it was not asked.
    """

    run: Run
    name: str
    file: Path | None = None
    test: Rehearsable | None = None
    why_not: str = ""
    check: Check | None = None


def gather(given: Run | str | Path, number: int, all_given: Sequence[object], *, check: bool) -> ReportedRun:
    """Return a run with all that can be found out about it.

    Parameters
    ----------
    given
        The run, or its file.
    number, all_given
        Its place among all that the report tells of, from 1 on, and these.
    check
        Whether to check its test anew.
    """
    file = None if isinstance(given, Run) else Path(given)
    run = given if isinstance(given, Run) else Run.load(given, isolated=True)
    name = str(run.record.description.get("name") or "run")
    if len(all_given) > 1:
        name = f"{number}: {name if file is None else _file_name(file, all_given)}"
    try:
        test = recorded_test(run.record.description)
    except BondloopError as error:
        return ReportedRun(run, name, file, why_not=str(error))
    answer = None
    if check and isinstance(test, (HybridTest, PseudoDynamicTest)):
        try:
            answer = test.check(_checked_length(test, run))
        except BondloopError as error:
            return ReportedRun(run, name, file, test, f"the check could not be made: {error}")
    return ReportedRun(run, name, file, test, check=answer)


def _file_name(file: Path, all_given: Sequence[object]) -> str:
    """Return what a run is called by its file, or by its folder where another file has the same name."""
    stems = [Path(given).stem for given in all_given if isinstance(given, (str, Path))]
    return file.stem if stems.count(file.stem) == 1 else file.resolve().parent.name or file.stem


def seconds_of(run: Run) -> float | None:
    """Return how long a run was to be; None where it does not say."""
    seconds = run.record.description.get("seconds")
    return float(seconds) if isinstance(seconds, (int, float)) and seconds > 0 else None


def _checked_length(test: Rehearsable, run: Run) -> float | None:
    """Return how long a check for the report is: as long as the run, or the test where that is longer."""
    seconds = seconds_of(run)
    return None if seconds is None or test.length >= seconds else seconds
