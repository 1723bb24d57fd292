"""A run held against the exact reference: motion, force and chatter at the interfaces.

The reference is the complete structure, integrated uncut and independently of the test's scheme and rate. The
room that computes it stands above this one, so it comes as a function, called when a verdict is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bondloop.engine.ir import Role
from bondloop.errors import BondloopError
from bondloop.rehearsal.rehearsal import POWER
from bondloop.results.assess import (
    ASSESSMENT,
    FEWEST,
    SCALES,
    Chatter,
    Finding,
    Grade,
    band_edge,
    chatter_of,
    finite_part,
    graded,
    mean_period,
    percent,
    ratio,
    rms,
    vibration,
)
from bondloop.rigs import Chain, Quantisation, Sensor, WhiteNoise
from bondloop.safety import FORCE_SWITCH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.results.records import Record
    from bondloop.rigs import Imperfection

    Samples = NDArray[np.float64]


class Reference(Protocol):
    """Motion and force at the interfaces of the complete structure."""

    @property
    def time(self) -> Samples:
        """Of the ticks of the test, in s."""

    @property
    def channels(self) -> Mapping[str, Samples]:
        """Values by the names of the test's channels."""

    @property
    def agrees_until(self) -> float:
        """Seconds up to which the reference is certain."""

    @property
    def missing(self) -> str:
        """Why there is none; empty where there is one."""


@dataclass(frozen=True)
class Comparison:
    """What a run looks like against its exact reference.

    Attributes
    ----------
    findings
        On motion, force and chatter.
    missing
        Why there was no comparison; empty where there was one.

    Examples
    --------
    >>> found = Comparison((graded("force error", 0.49, "The force was 49 % off."),))
    >>> Comparison.from_dict(found.to_dict()) == found
    True
    """

    findings: tuple[Finding, ...] = ()
    missing: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for a run file."""
        told = [
            {"measure": f.measure, "value": f.value, "sentence": f.sentence, "remark": f.remark}
            for f in self.findings
        ]
        return {"missing": self.missing, "findings": told}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Comparison:
        """Return what `to_dict` wrote; grades are given anew, and what is none of ours is left out.

        Parameters
        ----------
        data
            Of a run file, which somebody may have edited.
        """
        listed = data.get("findings")
        found = []
        for entry in listed if isinstance(listed, list) else []:
            if not isinstance(entry, Mapping) or entry.get("measure") not in SCALES:
                continue
            value = entry.get("value")
            number = float(value) if isinstance(value, (int, float)) else math.nan
            words = (str(entry.get("sentence", "")), str(entry.get("remark", "")))
            found.append(graded(entry["measure"], number, *words))
        return cls(tuple(found), str(data.get("missing", "")))


RATES = {"m": 0, "rad": 0, "m/s": 1, "rad/s": 1, "m/s^2": 2, "rad/s^2": 2, "N": 2, "N m": 2}
"""How often a quantity is a displacement's rate, by its unit; a force is one as much as an acceleration."""


def coupled_by_force(record: Record) -> Record:
    """Return the part of a record in which the measured force is fed back: all where nothing switches it.

    Parameters
    ----------
    record
        The run, or a part of it.
    """
    if FORCE_SWITCH not in record:
        return record
    closed = record[FORCE_SWITCH] >= 1
    start = float(record.time[int(np.argmax(closed))]) if closed.any() else math.inf
    return record.between(start, math.inf)


def unbroken(record: Record) -> Record:
    """Return the longest part of a record in which no tick is missing: spectra need even samples.

    Parameters
    ----------
    record
        The run, or a part of it.
    """
    steps = np.diff(record.time)
    if not steps.size or steps.max() <= 1.5 * np.median(steps):
        return record
    edges = np.concatenate(([0], np.flatnonzero(steps > 1.5 * np.median(steps)) + 1, [len(record)]))
    longest = int(np.argmax(np.diff(edges)))
    return record.between(record.time[edges[longest]], record.time[edges[longest + 1] - 1])


def compared(record: Record, reference: Reference | str) -> Comparison:
    """Return what a run looks like against its exact reference.

    Parameters
    ----------
    record
        The part of the run in which the rig was to follow.
    reference
        The reference, or why there is none.
    """
    missing = reference if isinstance(reference, str) else reference.missing
    if missing or isinstance(reference, str):
        return Comparison(missing=missing)
    part = coupled_by_force(record).between(-math.inf, reference.agrees_until)
    if len(part) < FEWEST:
        return Comparison(missing="no part of the run can be compared with it")
    period = float(reference.time[1] - reference.time[0])
    ticks = np.rint(part.time / period).astype(int)
    off_grid = np.abs(part.time - ticks * period).max() > 0.01 * period
    if off_grid or ticks[0] < 0 or ticks[-1] >= len(reference.time):
        return Comparison(missing="the samples of the run stand at other times than those of the reference")
    own = {name: values[ticks] for name, values in reference.channels.items()}
    return Comparison(tuple(_compared(part, own)))


def _compared(part: Record, own: Mapping[str, Samples]) -> Iterator[Finding]:
    motion = _motion_error(part, own)
    if motion is not None:
        yield motion
    force = _force_error(part, own)
    if force is not None:
        yield force
    found = chatter_finding(part, own)
    if found is not None:
        yield found


def place(record: Record, channel: str) -> str:
    """Return at which interface a channel is, for a sentence.

    Parameters
    ----------
    record
        The run.
    channel
        One of its names.
    """
    several = len(record.channels_of(Role.DESIRED, kind="displacement")) > 1
    interface = record.meanings[channel].interface
    return "the interface" if interface is None or not several else f"interface {interface + 1}"


def _motion_error(record: Record, own: Mapping[str, Samples]) -> Finding | None:
    """Judge displacement and velocity of the numerical half: the worst of all interfaces."""
    pairs: dict[str, tuple[Samples, Samples]] = {}
    for name in record.channels_of(Role.DESIRED):
        (ours,), _ = finite_part(record, (name,))
        if name in own and ours.size >= FEWEST:
            pairs[name] = own[name][: ours.size], ours
    sizes = {name: rms(right) for name, (right, _) in pairs.items()}
    errors: dict[str, float] = {}
    for name, (right, ours) in pairs.items():
        unit = record.units[name]
        floor = ASSESSMENT.slight * max(size for n, size in sizes.items() if record.units[n] == unit)
        if sizes[name] > 0:
            errors[name] = rms(ours - right) / max(sizes[name], floor)
        moving = vibration(mean_period(record), right, ours, rates=RATES.get(unit, 1))
        if moving is not None:
            part, other = moving.signals
            errors[name] = max(errors[name], rms(other - part) / max(rms(part), floor))
    if not errors:
        return None
    worst = max(errors, key=lambda name: errors[name])
    error = errors[worst]
    bad = SCALES["reference error"].grade(error) >= Grade.POORLY
    effect = ": this is not the response of the structure" if bad else ""
    return graded(
        "reference error",
        error,
        f"The motion at {place(record, worst)} was {percent(error)} (rms) off the exact reference, the "
        f"complete structure computed uncut{effect}.",
    )


# ---------------------------------------------------------------- force


def felt_forces(record: Record) -> dict[str, str]:
    """Return the channels of the force that the numerical half feels, by those of the force at the specimen.

    Parameters
    ----------
    record
        The run.
    """
    forces = record.channels_of(Role.ACTUAL, kind="effort")
    forces = [name for name in forces if record.meanings[name].interface is not None]
    return {name: record.at_interface(name, Role.MEASURED, "effort") or name for name in forces}


def sensor_noise(description: Mapping[str, object]) -> float:
    """Return the rms noise of a test's force sensor in its unit, of amplifier and converter; 0 where unknown.

    Parameters
    ----------
    description
        Of the test.

    Examples
    --------
    >>> from bondloop.rigs import LoadCell
    >>> cell = LoadCell("1 kN", noise="3 N", bits=10)
    >>> round(sensor_noise({"rig": {"sensors": {"force": cell.describe()}}}), 2)
    3.05
    """
    rig = description.get("rig")
    sensors = rig.get("sensors") if isinstance(rig, Mapping) else None
    entry = sensors.get("force") if isinstance(sensors, Mapping) else None
    if not isinstance(entry, Mapping):
        return 0.0
    try:
        return math.sqrt(_variance(Sensor.from_description(entry).imperfections))
    except BondloopError:  # a sensor of someone's own
        return 0.0


def _variance(parts: Sequence[Imperfection]) -> float:
    """Return the sum of the variances of noise and of steps, which are uniform over one step."""
    total = 0.0
    for part in parts:
        if isinstance(part, (Sensor, Chain)):
            total += _variance(part.imperfections if isinstance(part, Sensor) else part.parts)
        elif isinstance(part, WhiteNoise):
            assert isinstance(part.rms, float)
            total += part.rms**2
        elif isinstance(part, Quantisation):
            total += part.resolution**2 / 12
    return total


def force_floors(record: Record, forces: Mapping[str, Samples]) -> dict[str, float]:
    """Return the rms below which a force is too small to be compared with itself, by channel.

    Parameters
    ----------
    record
        The run.
    forces
        The right forces, by channel.
    """
    noise = ASSESSMENT.noise * sensor_noise(record.description)
    sizes = {name: rms(values) for name, values in forces.items()}
    (power,) = finite_part(record, (POWER,))[0] if POWER in record else (np.zeros(0),)
    supplied = float(np.abs(power).max(initial=0.0))
    floors = {}
    for name in forces:
        unit = record.units[name]
        largest = max(size for other, size in sizes.items() if record.units[other] == unit)
        flow = record.at_interface(name, Role.DESIRED, "flow")
        speed = rms(finite_part(record, (flow,))[0][0]) if flow is not None else 0.0
        idle = ASSESSMENT.idle * supplied / speed if speed > 0 else 0.0
        floors[name] = max(noise, ASSESSMENT.slight * largest, idle)
    return floors


def share_off(right: Samples, found: Samples, period: float, floor: float, measure: str) -> float:
    """Return the rms error of a force over its rms; without mean and drift where that is a worse grade.

    NaN where there is no force, and nothing that says how large one would be.

    Parameters
    ----------
    right, found
        The force as it should be, and as it is.
    period
        Between samples, in s.
    floor
        The least rms that it is compared with.
    measure
        Whose scale grades it.
    """
    size = rms(right)
    error = ratio(rms(found - right), max(size, floor)) if size > 0 or floor > 0 else math.nan
    moving = vibration(period, right, found, rates=2) if size > floor else None
    if moving is not None:
        part, other = moving.signals
        without = ratio(rms(other - part), max(rms(part), floor))
        if SCALES[measure].grade(without) > SCALES[measure].grade(error):
            return without
    return error


def _force_error(record: Record, own: Mapping[str, Samples]) -> Finding | None:
    """Judge the force that the numerical half feels: the worst of all interfaces."""
    felt = {name: mine for name, mine in felt_forces(record).items() if name in own}
    pairs: dict[str, tuple[Samples, Samples]] = {}
    for name, mine in felt.items():
        (found,), _ = finite_part(record, (mine,))
        if found.size >= FEWEST:
            pairs[name] = own[name][: found.size], found
    error, worst = _worst_share(record, pairs, "force error")
    if not worst:
        return None
    whose = "measured force" if felt[worst] != worst else "force"
    bad = SCALES["force error"].grade(error) >= Grade.POORLY
    effect = ": the numerical half felt another specimen than the one that is meant" if bad else ""
    return graded(
        "force error",
        error,
        f"The {whose} at {place(record, worst)} was {percent(error)} (rms) off the exact reference, the "
        f"complete structure computed uncut{effect}.",
    )


def _worst_share(
    record: Record, pairs: Mapping[str, tuple[Samples, Samples]], measure: str
) -> tuple[float, str]:
    """Return the greatest error of some pairs of right and found forces, and the channel where it is."""
    floors = force_floors(record, {name: right for name, (right, _) in pairs.items()})
    period = mean_period(record)
    errors = {
        name: share_off(right, found, period, floors[name], measure) for name, (right, found) in pairs.items()
    }
    errors = {name: error for name, error in errors.items() if not math.isnan(error)}
    worst = max(errors, key=lambda name: errors[name], default="")
    return errors.get(worst, math.nan), worst


def measured_force_finding(record: Record) -> Finding | None:
    """Judge what the force sensors make of the force at the specimen, where a rehearsal knows both.

    Parameters
    ----------
    record
        The part of the run in which the rig was to follow.
    """
    pairs: dict[str, tuple[Samples, Samples]] = {}
    for name, mine in felt_forces(record).items():
        (right, found), _ = finite_part(record, (name, mine))
        if mine != name and right.size >= FEWEST and np.any(right != found):  # else there is no sensor
            pairs[name] = right, found
    error, worst = _worst_share(record, pairs, "measured force")
    if not worst:
        return None
    bad = SCALES["measured force"].grade(error) >= Grade.POORLY
    effect = "; see to the gain, the range and the filter of its sensor" if bad else ""
    words = (
        f"The measured force at {place(record, worst)} was {percent(error)} (rms) off the force at the "
        f"specimen{effect}."
    )
    return graded("measured force", error, words)


# ---------------------------------------------------------------- chatter


def chatter_finding(record: Record, own: Mapping[str, Samples] | None = None) -> Finding | None:
    """Judge what force and command have above the band of the motion: the worst of all interfaces.

    Of the force it is that at the specimen, where it is known: noise of a load cell is no chatter. Without a
    reference, and of a command, only an oscillation counts: an impact is none.

    Parameters
    ----------
    record
        The part of the run in which the rig was to follow.
    own
        The reference's channels at the same samples; None without one.
    """
    part = unbroken(record)
    if own is not None and len(part) < len(record):
        first = int(np.searchsorted(record.time, part.time[0]))
        own = {name: values[first : first + len(part)] for name, values in own.items()}
    found: list[tuple[Chatter, str, str]] = []
    for name in part.channels_of(Role.DESIRED, kind="displacement"):
        found += _chatters(part, own, name)
    if not found:
        return None
    worst, name, what = max(found, key=lambda one: one[0].share)
    where = place(record, name)
    if SCALES["chatter"].grade(worst.share) < Grade.WELL:
        part_of = "Hardly any" if worst.share < 1e-3 else percent(worst.share)
        words = f"{part_of} of the power of the {what} at {where} lay above the band of the motion."
        return graded("chatter", worst.share, words)
    return graded(
        "chatter",
        worst.share,
        f"The {what} at {where} chattered at {worst.frequency:.3g} Hz: {percent(worst.share)} of its power "
        "lay above the band of the motion.",
    )


def _chatters(
    part: Record, own: Mapping[str, Samples] | None, displacement: str
) -> Iterator[tuple[Chatter, str, str]]:
    """Yield the chatter of force and command at an interface, with channel and words."""
    velocity = part.at_interface(displacement, Role.DESIRED, "flow")
    force = part.at_interface(displacement, Role.ACTUAL, "effort")
    if velocity is None or force is None:
        return
    (x, v, f), _ = finite_part(part, (displacement, velocity, force))
    if x.size < FEWEST:
        return
    period = mean_period(part)
    theirs: Samples | None = None
    if own is not None and {displacement, velocity, force} <= set(own):
        x, v, theirs = (own[name][: f.size] for name in (displacement, velocity, force))
    edge = band_edge(x, v, period)
    forces = {name: part[name][: f.size] for name in part.channels_of(Role.ACTUAL, kind="effort")}
    floor = force_floors(part, forces).get(force, 0.0) if force in forces else 0.0
    of_force = chatter_of(f, period, edge, theirs, floor)
    if theirs is not None or of_force.lone >= ASSESSMENT.lone:
        yield of_force, force, "force"
    else:
        yield Chatter(0.0, math.nan, 0.0), force, "force"
    command = _command_at(part, displacement)
    if command is None:
        return
    (c,), _ = finite_part(part, (command,))
    c = c[: f.size]
    rated = RATES.get(part.units[command]) == 0  # what moves the valve is the rate of a position
    of_command = chatter_of(np.gradient(c, period) if rated else c, period, edge)
    if c.size >= FEWEST and of_command.lone >= ASSESSMENT.lone:
        yield of_command, command, "rate of the command" if rated else "command"


def _command_at(part: Record, displacement: str) -> str | None:
    interface = part.meanings[displacement].interface
    names = part.channels_of(Role.COMMAND)
    return next((n for n in names if part.meanings[n].interface == interface), None)


ReferenceCall = Callable[[], "Reference | str"]
"""Computes a reference, or says why there is none; called when a verdict is asked for."""
