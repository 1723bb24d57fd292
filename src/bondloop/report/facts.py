"""A run that is reported on, its test checked anew; and its facts, measures and limits as tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from bondloop.engine.data import in_python
from bondloop.engine.ir import Role
from bondloop.errors import BondloopError
from bondloop.files import recorded_test
from bondloop.hybrid import HybridTest, PseudoDynamicTest, exact_reference_of
from bondloop.rehearsal import Run, shown
from bondloop.report.plain_words import short_numbers
from bondloop.results.figures import pretty

if TYPE_CHECKING:
    from bondloop.check import Check
    from bondloop.hybrid import Rehearsable

LISTED_ENTRIES = 9
"""Entries of a matrix that are listed; of a larger one only how many there are."""

LISTED_EVENTS = 200
"""Events of a run that are listed, the latest."""

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
    if isinstance(test, (HybridTest, PseudoDynamicTest)) and _as_described(run, test):
        run = run.with_reference(partial(exact_reference_of, test, {}, seconds_of(run) or test.length))
    answer = None
    if check and isinstance(test, (HybridTest, PseudoDynamicTest)):
        try:
            answer = test.check(_checked_length(test, run))
        except BondloopError as error:
            return ReportedRun(run, name, file, test, f"the check could not be made: {error}")
    if answer is not None and "check" not in run.record.attributes:
        run = run.with_check(answer)
    return ReportedRun(run, name, file, test, check=answer)


def _as_described(run: Run, test: HybridTest | PseudoDynamicTest) -> bool:
    """Return whether the specimen of a run was the model that the test has, and nobody changed parameters."""
    description = run.record.description
    if link_of(description):
        own = not other_rig(description) and not run.record.attributes.get("served")
        return own and isinstance(test, HybridTest) and not test.computer_tick.tunable
    return not _table(description.get("repeat")).get("sets")


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


REFERENCE, RIG = "reference.", "rig."
"""What the names of the reference's parameters begin with, and those of the emulated rig."""


LIMITED = {"displacement": "displacement", "velocity": "flow", "force": "effort", "command": None}
"""Kind of the channels that each limit is about."""


def how_it_ran(run: Run) -> str:
    """Say whether this was a rehearsal, a real-time run on a model of the rig, or a test, and who led it."""
    led = "; another program led it" if _served(run) else ""
    return f"{_where_it_ran(run)}{led}"


def _where_it_ran(run: Run) -> str:
    settings = run.record.description.get("realtime")
    if not isinstance(settings, Mapping):
        return "rehearsal in the computer alone"
    fmu = link_of(run.record.description).startswith(FMU)
    if run.record.attributes.get("lock_step"):
        return f"rehearsal: loop and {'an FMU as its rig' if fmu else 'rig'} in lock-step, without a clock"
    if settings.get("machine"):
        return "TEST: in real time, on a machine"
    return f"rehearsal: in real time, on an {'FMU as its' if fmu else 'emulated'} rig"


def _served(run: Run) -> Mapping[str, object]:
    """Return what a run that another program led says of that program; empty where none did."""
    return _table(run.record.attributes.get("served"))


def _table(entry: object) -> Mapping[str, Any]:
    """Return a table of a file; an empty one for what is none, for a file may have been edited."""
    return entry if isinstance(entry, Mapping) else {}


def _who_and_what(run: Run) -> list[tuple[str, str]]:
    """Return rows of the program that led a run, and of the FMU that was its rig."""
    rows, served, link = [], _served(run), link_of(run.record.description)
    if served:
        moves = served.get("moves")
        whom = f"at {served['by']}, {served.get('protocol')}" if served.get("by") else "in the same process"
        rows.append(("led by", f"a program {whom}; {moves} move{'' if moves == 1 else 's'}"))
    if link.startswith(FMU):
        rows.append(("rig", f"{other_rig(run.record.description)} ({link})"))
    return rows


def facts(run: Run) -> list[tuple[str, str]]:
    """Return what is to be known first of a run, as rows of two."""
    record, attributes = run.record, run.record.attributes
    rate = record.description.get("rate")
    length = float(run.time[-1]) if len(run.time) else 0.0
    versions = _table(attributes.get("versions"))
    said = [str(attributes[key]) for key in ("status", "message") if attributes.get(key)]
    outcome = ": ".join(part.removeprefix("finished ") for part in said)  # "completed: 1001 steps in 0.1 s"
    rows = [
        ("how", how_it_ran(run)),
        *_who_and_what(run),
        ("when", str(attributes.get("created", "not recorded"))),
        ("length", f"{length:.6g} s, {len(run.time):,} samples of {len(record.channels)} channels"),
        ("rate", f"{rate:,.6g} Hz" if isinstance(rate, (int, float)) else "not recorded"),
        ("outcome", outcome or "unknown"),
        ("seed", str(attributes["seed"]) if attributes.get("seed") is not None else "none"),
        ("software", ", ".join(f"{k} {v}" for k, v in versions.items()) or "not recorded"),
    ]
    if "machine" in attributes:
        rows.append(("computer", str(attributes["machine"])))
    return rows


def parameter_rows(
    description: Mapping[str, object], units: Mapping[str, str] | None = None, *, in_force: bool = True
) -> list[tuple[str, ...]]:
    """Return the parameters that were in force, two to a row; the reference's are those of the structure.

    Those of the emulated rig were not where the rig was another: with ``in_force=False`` they alone are
    returned. Values are in SI units; where one is known, it is written. Of large matrices the entries are
    counted.

    >>> made = {"parameters": {"a.mass": 2.0, "b.mass": None, "rig.k": 1.0, "reference.a.mass": 2.0}}
    >>> parameter_rows(made), parameter_rows(made, in_force=False)
    ([('a.mass', '2', 'rig.k', '1')], [])
    >>> parameter_rows({"parameters": {"a.mass": 2.0}}, {"a.mass": "kg"})
    [('a.mass', '2 kg', '', '')]
    >>> made["realtime"] = {"link": "fmu://other.fmu"}
    >>> parameter_rows(made), parameter_rows(made, in_force=False)
    ([('a.mass', '2', '', '')], [('rig.k', '1', '', '')])
    """
    values, other = _table(description.get("parameters")), bool(other_rig(description))
    chosen = {
        name: value
        for name, value in values.items()
        if isinstance(value, (int, float))
        and not name.startswith(REFERENCE)
        and in_force != (other and name.startswith(RIG))
    }
    sizes = Counter(_matrix(name) for name in chosen)
    large = {matrix: count for matrix, count in sizes.items() if matrix and count > LISTED_ENTRIES}
    known = [
        (name, f"{value:.6g} {pretty((units or {}).get(name, ''))}".rstrip())
        for name, value in chosen.items()
        if _matrix(name) not in large
    ]
    known += [(matrix, f"{count} entries") for matrix, count in large.items()]
    half = (len(known) + 1) // 2
    return [known[i] + (known[half + i] if half + i < len(known) else ("", "")) for i in range(half)]


def _matrix(name: str) -> str:
    """Return the matrix that a parameter is an entry of; nothing where it is none.

    >>> _matrix("rig.transfer.A[2,1]"), _matrix("rig.transfer.a[0]")
    ('rig.transfer.A', '')
    """
    matrix, bracket, place = name.rpartition("[")
    return matrix if bracket and "," in place else ""


def measure_rows(runs: Sequence[Run], names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table: a row a measure, a column for each transfer system of each run."""
    of = [
        (", ".join(filter(None, (name, system if len(run.metrics) > 1 else ""))) or "value", m)
        for run, name in zip(runs, names, strict=True)
        for system, m in ((f"transfer system {i}", m) for i, m in enumerate(run.metrics, 1))
    ]
    words = dict.fromkeys(name for _, m in of for name in m)
    rows = [[w.replace("_", " "), *(m.in_words(w) if w in m else "" for _, m in of)] for w in words]
    return ["measure", *(head for head, _ in of)], rows


def limits_used(run: Run) -> list[tuple[str, str, str, str]]:
    """Return rows of a limit's name, the largest value of the run, the limit, and the share used.

    A test's limits are those of what is, an interlock's those of what it measures.
    """
    record, rows = run.record, []
    interlock = _table(record.description.get("interlock"))
    watched = {k: v for k, v in _table(interlock.get("limits")).items() if v is not None}
    limits = {**_table(record.description.get("limits")), **watched}
    for name, kind in LIMITED.items():
        bound = limits.get(name)
        roles = (Role.ACTUAL, Role.MEASURED) if name in watched else (Role.ACTUAL,)
        channels = record.channels_of(*roles, kind=kind) if kind else record.channels_of(Role.COMMAND)
        if not isinstance(bound, (int, float)) or not channels or not len(run.time):
            continue
        peaks = {n: float(np.nanmax(np.abs(record[n]))) for n in channels if not np.isnan(record[n]).all()}
        if peaks:
            worst = max(peaks, key=peaks.__getitem__)
            unit = record.units[worst]
            share = f"{100 * peaks[worst] / bound:.0f} %"
            rows.append((name, f"{shown(peaks[worst], unit)} ({worst})", shown(bound, unit), share))
    return rows


def event_rows(events: Sequence[Mapping[str, object]]) -> list[tuple[str, ...]]:
    """Return rows of what happened to a loop: when, what, old and new value, who; the last of many.

    >>> event_rows(
    ...     [
    ...         {
    ...             "time": 1.5,
    ...             "kind": "set",
    ...             "name": "excitation.scale",
    ...             "before": 0.0,
    ...             "value": 0.5,
    ...             "who": "Ada",
    ...             "refused": "",
    ...         }
    ...     ]
    ... )
    [('1.5 s', 'set excitation.scale', '0', '0.5', 'Ada')]
    """
    rows: list[tuple[str, ...]] = []
    for event in events[-LISTED_EVENTS:]:
        what = f"{event.get('kind', '')} {event.get('name', '')}".strip()
        if event.get("refused"):
            what += f" (refused: {event['refused']})"
        told = event.get("kind") == "set"
        before, after = (_number(event.get(word)) if told else "" for word in ("before", "value"))
        rows.append((f"{_number(event.get('time'))} s", what, before, after, str(event.get("who", ""))))
    return rows


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, (int, float)) and math.isfinite(value) else "-"


def differences(runs: Sequence[Run]) -> list[list[str]]:
    """Return rows of what differs in the descriptions of several runs: its path, its value in each."""
    flats = [_flat(run.record.description) for run in runs]
    keys = dict.fromkeys(key for flat in flats for key in flat)
    return [
        [key, *(flat.get(key, "-") for flat in flats)]
        for key in keys
        if len({flat.get(key) for flat in flats}) > 1
    ]


def _flat(value: object, path: str = "") -> dict[str, str]:
    """Return a description as texts by path, but for the recorded tick and what follows from the rest."""
    if isinstance(value, Mapping):
        found: dict[str, str] = {}
        for key, inner in value.items():
            if path or key not in ("repeat", "parameters", "remedies", "realtime"):
                found |= _flat(inner, f"{path}.{key}" if path else str(key))
        return found
    text = value if isinstance(value, str) else short_numbers(in_python(value))
    return {path: text if len(text) <= 60 else f"{text[:60]} ..."}
