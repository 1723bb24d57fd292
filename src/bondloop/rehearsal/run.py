"""A rehearsal and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bondloop.display import folded, listed, notebook, paragraph, table
from bondloop.engine.data import restore
from bondloop.engine.ir import Role
from bondloop.errors import BondloopError, InputError, unknown_name
from bondloop.rehearsal.against_reference import Comparison, Reference, compared, unbroken
from bondloop.rehearsal.run_findings import check_findings, run_findings
from bondloop.results.assess import FEWEST, Finding, Grade, Judgement, Metrics, metrics
from bondloop.results.records import Record
from bondloop.safety import CAUSE, DISPLACEMENT_SWITCH, cause_words
from bondloop.structures import Structure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.results.figures import RunPlots


STRUCTURES = "structures"
"""Entry of a run's description: structures of which something is recorded, by the path of their names."""


def structures_in(record: Record) -> dict[str, Structure]:
    """Return the structures of nodes and elements in a run, by what the names of theirs begin with."""
    kept = record.description.get(STRUCTURES, {})
    made = {path: restore(data) for path, data in kept.items()} if isinstance(kept, dict) else {}
    return {path: s for path, s in made.items() if isinstance(s, Structure)}


def structure_at(record: Record, path: str | None) -> tuple[str, Structure]:
    """Return one structure of a run with its path; the only one, or the first, where none is named."""
    known = structures_in(record)
    if not known:
        raise InputError(
            "this run has nothing of a structure's nodes and members; record its motion, "
            "record='numerical.*.displacement', and make the model of structure.assemble()"
        )
    if path is None:
        return next(iter(known.items()))
    name = path if path in known else f"{path}."
    if name not in known:
        raise InputError(unknown_name("structure", path, known, where="the run"))
    return name, known[name]


def nodal_history(record: Record, path: str, structure: Structure) -> NDArray[np.float64]:
    """Return the motion of every node, shape (times, nodes, 6).

    Parameters
    ----------
    record
        With the displacements of all nodes that move.
    path, structure
        Of `structure_at`.
    """
    assembly = structure.assembly()
    motion = np.zeros((len(record), 6 * len(structure.nodes)))
    missing = []
    for code, name, held in zip(assembly.codes, assembly.names, assembly.held, strict=True):
        channel = f"{path}{name}.displacement"
        if channel in record:
            motion[:, code] = record[channel]
        elif not held:
            missing.append(channel)
    if missing:
        some = ", ".join(missing[:3])
        raise InputError(
            f"the motion of the structure is not all in the record: {some} and "
            f"{max(0, len(missing) - 3)} more are missing; record '{path}*.displacement'"
        )
    return motion.reshape(len(record), -1, 6)


COMPARISON = "comparison"
"""Attribute of a record with the outcome of the comparison with the exact reference."""

MOTIONS = ("effort", "flow", "displacement", "momentum")
"""Kinds of what moves, as distinct from parameters."""


class CheckOutcome(Protocol):
    """What a check found, as far as a run repeats it."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts."""


def kept_of_check(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run file keeps of a check: its level, its verdict and its findings.

    Parameters
    ----------
    found
        The check's ``to_dict()``.
    """
    return {word: found[word] for word in ("level", "verdict", "findings") if word in found}


class Run:
    """A finished run: its record, how well the rig followed, figures.

    Like its record, and like a table of pandas, it holds channels by name, and is as long as they are.

    Attributes
    ----------
    record
        All channels over time, with the full description of the test.

    Parameters
    ----------
    record
        The same.
    reference
        Computes the exact reference of the test, or says why there is none. It is called when a verdict is
        asked for.

    Examples
    --------
    >>> from bondloop.results import Record
    >>> run = Run(Record(np.arange(3.0), {"x": np.zeros(3), "force": np.ones(3)}))
    >>> list(run), "force" in run, len(run), {name: float(run[name].max()) for name in run}
    (['x', 'force'], True, 3, {'x': 0.0, 'force': 1.0})
    """

    def __init__(self, record: Record, reference: Callable[[], Reference | str] | None = None) -> None:
        self.record = record
        self._reference = reference

    def __getstate__(self) -> dict[str, object]:
        """Return it for another process or a file: with the outcome of the comparison, not with the test."""
        return {"record": self._told().record, "_reference": None}

    def __repr__(self) -> str:
        """Return the test's name, its length and the verdict, in a line.

        >>> from bondloop.results import Record
        >>> done = {"status": "completed"}
        >>> Run(Record(np.arange(3.0), {"x": np.zeros(3)}, {"x": "m"}, {"name": "brace"}, done))
        Run of 'brace', 2 s: The run was completed.
        """
        name = self.record.description.get("name")
        head = f"Run of '{name}'" if name else "Run"
        length = float(self.time[-1]) if len(self.time) else 0.0
        return f"{head}, {length:.4g} s: {self.verdict}"

    def _repr_html_(self) -> str:
        of = [m._repr_html_() for m in self.metrics]
        rows = table(("measure", "followed", "finding"), self.judgement.html_rows())
        head, _, _ = repr(self).partition(": ")
        names = listed([f"{n} [{u}]" if u else n for n, u in self.record.units.items()], 40)
        cleared = [(item["text"], item["by"], item["at"], item["evidence"]) for item in self.preflight]
        head_of = ("pre-flight", "by", "at", "evidence")
        more = [folded("Pre-flight", table(head_of, cleared))] if cleared else []
        return notebook(
            head, [paragraph(self.verdict), rows, *of, *more, folded("Channels", paragraph(names))]
        )

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """Return a channel."""
        return self.record[name]

    def __contains__(self, name: object) -> bool:
        return name in self.record

    def __iter__(self) -> Iterator[str]:
        return iter(self.record)

    def __len__(self) -> int:
        return len(self.record)

    @property
    def time(self) -> NDArray[np.float64]:
        """Sample instants in seconds."""
        return self.record.time

    @property
    def completed(self) -> bool:
        """Whether the run reached its end."""
        return bool(self.record.attributes.get("status") == "completed")

    @property
    def operator(self) -> str:
        """Who armed or started it; empty where the file holds nobody."""
        return str(self.record.attributes.get("operator") or "")

    @property
    def preflight(self) -> list[dict[str, str]]:
        """The pre-flight list of a machine: ``text``, ``kind``, ``by``, ``at`` and ``evidence`` of each item.

        Empty for a rehearsal, and for a test that was started without a list.
        """
        listed = self.record.attributes.get("preflight")
        words = ("text", "kind", "by", "at", "evidence")
        found = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
        return [{word: str(item.get(word, "")) for word in words} for item in found]

    @property
    def self_test(self) -> str:
        """What the safety layer's self-test found at the start; empty where there was none."""
        found = self.record.attributes.get("self_test")
        if not isinstance(found, dict) or not found:
            return ""
        outcome = "passed" if found.get("passed") else f"FAILED: {found.get('words')}"
        left = [str(what) for what in found.get("not_tried") or [] if what]
        return f"{outcome}, {found.get('cases')} cases" + (f"; not tried: {'; '.join(left)}" if left else "")

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Desired and actual displacement of every interface."""
        record = self.record
        names = record.channels_of(Role.DESIRED, kind="displacement")
        found = ((n, record.at_interface(n, Role.ACTUAL, "displacement")) for n in names)
        return [(desired, actual) for desired, actual in found if actual is not None]

    @cached_property
    def trip(self) -> tuple[float, str] | None:
        """When the interlock tripped first, in s, and why; None if it did not."""
        if CAUSE not in self.record:
            return None
        causes = self.record[CAUSE]
        if not causes.any():
            return None
        first = int(np.argmax(causes != 0))
        return float(self.time[first]), cause_words(causes[first])

    @cached_property
    def coupled(self) -> Record:
        """The part of the record in which the rig was to follow: the displacement switch closed, no trip."""
        if CAUSE not in self.record and DISPLACEMENT_SWITCH not in self.record:
            return self.record
        together = np.ones(len(self.time), dtype=bool)
        if DISPLACEMENT_SWITCH in self.record:
            together &= self.record[DISPLACEMENT_SWITCH] >= 1
        if self.trip is not None:
            together &= self.time < self.trip[0]
        if not together.any():
            return self.record.between(np.inf, np.inf)
        first = int(np.argmax(together))
        apart = ~together[first:]
        last = first + (int(np.argmax(apart)) if apart.any() else len(apart)) - 1
        return self.record.between(self.time[first], self.time[last])

    @cached_property
    def metrics(self) -> list[Metrics]:
        """How well each transfer system followed, while it was to follow (and no tick is missing)."""
        result: list[Metrics] = []
        part = unbroken(self.coupled)
        if len(part) < FEWEST:
            return result
        for desired, actual in self.pairs:
            force = self.record.at_interface(actual, Role.ACTUAL, "effort")
            result.append(metrics(part, desired=desired, actual=actual, force=force, motion="displacement"))
        return result

    @cached_property
    def judgement(self) -> Judgement:
        """Every measure of the run with its grade; the worst counts."""
        if not self.completed:
            why = f"The run was stopped: {self.record.attributes.get('message', '')}."
            stop = Finding("stop", float("nan"), Grade.NOT_AT_ALL, why)
            return Judgement((stop, *self._holes, *check_findings(self.record)))
        findings: list[Finding] = []
        if self.trip is not None:
            what = (
                f"The interlock tripped at t = {self.trip[0]:.4g} s: {self.trip[1]}; the rig was brought to "
                "its safe position."
            )
            findings.append(Finding("trip", self.trip[0], Grade.NOT_AT_ALL, what))
        findings += self._holes
        return Judgement((*findings, *run_findings(self.coupled, self.pairs, self.record, self.comparison)))

    @cached_property
    def comparison(self) -> Comparison:
        """Motion, force and chatter against the exact reference, or why there was no comparison.

        It is computed when it is first looked at, or was when the run was saved.
        """
        known = self.record.attributes.get(COMPARISON)
        if isinstance(known, dict):
            return Comparison.from_dict(known)
        if not self.record.description.get("feedback", True):
            return Comparison(missing="the measured force was not fed back")
        if self._reference is None:
            return Comparison(missing="the run was made or saved without one")
        try:
            return compared(self.coupled, self._reference())
        except BondloopError as error:
            return Comparison(missing=str(error))

    def _told(self) -> Run:
        """Return it with the outcome of the comparison in its record."""
        if self._reference is None or COMPARISON in self.record.attributes or not self.completed:
            return self
        attributes = {**self.record.attributes, COMPARISON: self.comparison.to_dict()}
        return Run(replace(self.record, attributes=attributes), self._reference)

    def with_reference(self, reference: Callable[[], Reference | str]) -> Run:
        """Return the run to be compared with an exact reference, unless it has one or its outcome.

        Parameters
        ----------
        reference
            Computes it, or says why there is none.
        """
        return Run(self.record, self._reference or reference)

    def with_check(self, check: CheckOutcome | Mapping[str, Any]) -> Run:
        """Return the run with what the check of its test had found.

        Its open findings become part of the verdict and of the run file. A run that the check advised
        against, or that is not worth making, is graded poorly at best.

        Parameters
        ----------
        check
            The check, or its ``to_dict()``.

        Examples
        --------
        >>> from bondloop.papers import gawthrop_two_actuators
        >>> test = gawthrop_two_actuators.test(controller="direct")
        >>> test.unlimited().run(0.5).with_check(test.check(0.5)).judgement.level.words
        'not at all'
        """
        found = check if isinstance(check, Mapping) else check.to_dict()
        attributes = {**self.record.attributes, "check": kept_of_check(found)}
        return Run(replace(self.record, attributes=attributes), self._reference)

    @property
    def _holes(self) -> list[Finding]:
        """What is to be said of ticks that were executed and not recorded."""
        missing = self.record.attributes.get("samples_missing") or 0
        if missing <= 0:
            return []
        steps = self.record.attributes.get("steps", len(self.time) + missing)
        if not len(self.time):
            return [Finding("record", 1.0, Grade.NOT_AT_ALL, f"None of {steps:,} ticks is in the record.")]
        what = f"{missing:,} of {steps:,} ticks are not in the record"
        return [Finding("record", missing / steps, None, f"{what}; what is said here is said of the others.")]

    @property
    def verdict(self) -> str:
        """The outcome in words; `judgement` has all that it was made from."""
        return self.judgement.verdict

    @property
    def adapted(self) -> list[str]:
        """Channels of what the controller adapts: its gains, or what it estimates of the transfer system.

        What an observer estimates of the motion is no such thing.
        """
        meanings = self.record.meanings
        names = self.record.channels_of(Role.GAIN, Role.ESTIMATE)
        return [n for n in names if meanings[n].role is Role.GAIN or meanings[n].kind not in MOTIONS]

    @cached_property
    def plot(self) -> RunPlots:
        """Figures of this run."""
        from bondloop.results.figures import RunPlots

        labels = (
            ["transfer system"]
            if len(self.pairs) == 1
            else [f"transfer system {i + 1}" for i in range(len(self.pairs))]
        )
        pairs = dict(zip(labels, self.pairs, strict=True))
        return RunPlots(self.record, pairs, gain_names=self.adapted, compared=self.coupled, nodal=self._nodal)

    def _nodal(self, structure: str | None) -> tuple[Structure, NDArray[np.float64]]:
        path, frame = structure_at(self.record, structure)
        return frame, nodal_history(self.record, path, frame)

    @property
    def structures(self) -> dict[str, Structure]:
        """The structures of which something is recorded, by what the names of their channels begin with."""
        return structures_in(self.record)

    def animate(
        self,
        path: str | Path,
        *,
        structure: str | None = None,
        start: float | str = 0.0,
        end: float | str = np.inf,
        speed: float = 1.0,
        fps: int = 25,
        scale: float | None = None,
    ) -> Path:
        """Save a structure in motion as a moving picture: ``.html`` or ``.mp4``.

        Parameters
        ----------
        path
            Where to save; MP4 needs the program ffmpeg.
        structure
            Which, by the path of its names, ``"numerical.frame"``; the first by default. All its nodes'
            displacements must be recorded, ``record="numerical.frame.*.displacement"``.
        start, end
            Part of the run, in s or as text.
        speed
            How many times faster than life.
        fps
            Pictures a second.
        scale
            How much displacements are enlarged; by default so that they are well seen.
        """
        from bondloop.results.figures import animate_motion

        part = self.record.between(start, end)
        at, frame = structure_at(self.record, structure)
        motion = nodal_history(part, at, frame)
        return animate_motion(frame, part.time, motion, path, speed=speed, fps=fps, scale=scale)

    def save(self, path: str | Path) -> Path:
        """Save as one HDF5 file, from which the run can be repeated exactly.

        Parameters
        ----------
        path
            Where to write it, replacing what is there; it is returned. Another ending than ``.h5``, such
            as ``.csv``, writes what `Record.save` says, from which it cannot be repeated.
        """
        self.record = self._told().record
        self.record.save(path)
        return Path(path)

    @classmethod
    def load(cls, path: str | Path, *, isolated: bool = False) -> Run:
        """Load a saved run.

        Parameters
        ----------
        path
            A run file.
        isolated
            Whether another process reads it, as is wise with a stranger's: see `Record.load`.
        """
        return cls(Record.load(path, isolated=isolated))
