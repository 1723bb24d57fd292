"""What a run says of the structure as a whole: beside its reference, and by the energy it was given."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.ir import Meaning, Role
from bondloop.rehearsal.channel_bounds import POWER
from bondloop.results.assess import (
    FEWEST,
    SCALES,
    Finding,
    Grade,
    energy_error,
    finite_part,
    graded,
    mean_period,
    normalised_rms_error,
    percent,
    vibration,
    work,
)
from bondloop.safety import FORCE_SWITCH

if TYPE_CHECKING:
    from bondloop.results.records import Record


RATES = {"m": 0, "rad": 0, "m/s": 1, "rad/s": 1, "m/s^2": 2, "rad/s^2": 2, "N": 2, "N m": 2}
"""How often a quantity is a displacement's rate, by its unit; a force is one as much as an acceleration."""


def structure_findings(record: Record, pairs: Sequence[tuple[str, str]], whole: Record) -> Iterator[Finding]:
    """Yield the error against the reference, and the energy of the transfer systems beside the excitation's.

    The share of false energy says by how much the damping is wrong, and so how far the response may be off:
    in resonance by as much, elsewhere by less. Where a reference tells how far it is off, that counts.
    """
    errors = reference_errors(record)
    if errors:
        worst = max(errors, key=lambda name: errors[name])
        yield _off_reference(worst, record.meanings[worst], errors[worst], len(pairs) > 1)
    share = _supplied_share(record, pairs, whole)
    if share is not None:
        yield _supplied(share, len(pairs) > 1, compared=bool(errors))


def reference_errors(record: Record) -> dict[str, float]:
    """Return the normalised rms errors of all that can be compared with the reference, by channel.

    Each is the worse of two: of the whole signal, and without its mean and drift.
    """
    if FORCE_SWITCH in record:
        closed = record[FORCE_SWITCH] >= 1
        if not closed.any():
            return {}
        record = record.between(float(record.time[int(np.argmax(closed))]), math.inf)
    errors: dict[str, float] = {}
    for name in record:
        ours = record.meanings[name].counterpart
        if ours not in record:
            continue
        (x, y), _ = finite_part(record, (name, ours))
        if x.size < FEWEST:
            continue
        both = [normalised_rms_error(x, y)]
        moving = vibration(mean_period(record), x, y, rates=RATES.get(record.units[name], 1))
        if moving is not None:
            both.append(normalised_rms_error(*moving.signals))
        if not math.isnan(both[0]):
            errors[ours] = max(both)
    return errors


def _off_reference(channel: str, meaning: Meaning, error: float, several: bool) -> Finding:
    what = f"'{channel}'"
    if meaning.interface is not None:
        where = f"interface {meaning.interface + 1}" if several else "the interface"
        what = f"The {'force' if meaning.kind == 'effort' else 'motion'} at {where}"
    bad = SCALES["reference error"].grade(error) >= Grade.POORLY
    effect = ": another structure was tested than was meant" if bad else ""
    return graded(
        "reference error",
        error,
        f"{what} was {percent(error)} (rms) off the reference, the complete structure computed beside the "
        f"test{effect}.",
    )


def _supplied_share(record: Record, pairs: Sequence[tuple[str, str]], whole: Record) -> float | None:
    """Return the energy of the transfer systems over what the excitation supplied; None where unknown."""
    if POWER not in record or not pairs:
        return None
    total = 0.0
    for desired, actual in pairs:
        force = record.at_interface(actual, Role.ACTUAL, "effort")
        if force is None:
            return None
        (x, y, f), _ = finite_part(record, (desired, actual, force))
        if x.size < FEWEST:
            return None
        energy = float(energy_error(f, x, y)[-1])
        # Of several, which way the bonds point is not in the record: their sizes add up.
        total += abs(energy) if len(pairs) > 1 else energy * sense(whole, actual)
    until = whole.between(-math.inf, float(record.time[-1]))
    (power,), _ = finite_part(until, (POWER,))
    if power.size < FEWEST:
        return None
    # The most that had been supplied at any time: what was dissipated and held, also where some came back.
    supplied = float(work(power, until.time[: power.size]).max())
    if supplied > 0:
        return total / supplied
    return math.inf if total > 0 and np.any(power) else None


def _supplied(share: float, several: bool, *, compared: bool) -> Finding:
    who = "The transfer systems" if several else "The transfer system"
    did, effect = energy_words(0.0 if several else share)
    words = f"{who} {did} {percent(abs(share))} as much energy as the excitation supplied, {effect}"
    if math.isinf(share):
        words = f"{who} put in all of the energy, for the excitation supplied none, as negative damping would"
    if compared:
        return Finding("supplied energy", share, None, f"{words}.")
    more = f"{words}; a reference would tell how far that changed the response."
    return graded("supplied energy", share, more)


def energy_words(energy: float) -> tuple[str, str]:
    """Return what was done and what it acts like; zero where the direction is not known."""
    if energy > 0:
        return "put in", "as negative damping would"
    if energy < 0:
        return "took out", "as additional damping would"
    return "put in or took out", "as false damping would"


def sense(whole: Record, actual: str) -> int:
    """Return +1 where force times velocity is the power into the specimen, -1 where it is that out of it.

    Which way the cut bond points is not in a record, but a specimen at rest has nothing to give: up to any
    time, work has gone into it. 0 where there is no force.

    Examples
    --------
    >>> from bondloop.results import Record
    >>> x = np.sin(np.linspace(0, 20, 500))
    >>> kinds = {n: Meaning(Role.ACTUAL, kind=k) for n, k in (("x", "displacement"), ("f", "effort"))}
    >>> sense(Record(np.arange(500.0), {"x": x, "f": -3 * x}, meanings=kinds), "x")
    -1
    """
    force = whole.at_interface(actual, Role.ACTUAL, "effort")
    if force is None:
        return 0
    (f, y), _ = finite_part(whole, (force, actual))
    return int(np.sign(work(f, y).sum())) if f.size else 0
