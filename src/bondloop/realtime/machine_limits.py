"""What a test must say before it may move a machine, and what is added where it says nothing.

On a machine five limits must be stated: displacement, velocity, force, command and its rate. Nobody but who
knows rig and specimen can state them, so a test without them is refused, with a template. The other trips
(tracking error, power, dead sensors, late ticks) are on unless stated, with values from a rehearsal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.ir import Role, channels_of
from bondloop.errors import InputError, LinesError
from bondloop.rehearsal import CHUNK, Rehearsal, shown, steps_of
from bondloop.safety import DISPLACEMENT_SWITCH, Interlock, Limits, PowerTrip

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bondloop.check import Check
    from bondloop.engine.ir import Tick
    from bondloop.hybrid import HybridTest
    from bondloop.realtime.options import LoopOptions
    from bondloop.realtime.policy import MachinePolicy
    from bondloop.safety import RampedSwitch


@dataclass(frozen=True)
class Expected:
    """Largest magnitudes of a rehearsal, over all interfaces.

    Attributes
    ----------
    displacement, velocity, force
        As measured, in m, m/s, N.
    command, command_rate
        In the command's own unit, and that a second.
    tracking_error
        What the rig is to follow less the measured displacement, in m.
    power
        Root of the filtered square of the power discrepancy, in W: what a `PowerTrip` compares.

    Examples
    --------
    >>> from bondloop.papers import gawthrop_two_actuators
    >>> seen = expected(gawthrop_two_actuators.test(), 1.0)
    >>> 0 < seen.tracking_error < 0.1 * seen.displacement
    True
    """

    displacement: float = 0.0
    velocity: float = 0.0
    force: float = 0.0
    command: float = 0.0
    command_rate: float = 0.0
    tracking_error: float = 0.0
    power: float = 0.0


def expected(test: HybridTest, seconds: float) -> Expected:
    """Rehearse a test and return the largest of what is limited on a rig.

    Parameters
    ----------
    test
        The test, with the interlock whose safe position and power filter count.
    seconds
        Its length.
    """
    steps = steps_of(seconds, test.period)
    rehearsal = Rehearsal(test, steps)
    log = _Largest(test)
    while rehearsal.runner.count < steps:
        result = rehearsal.run(min(CHUNK, steps - rehearsal.runner.count))
        if not result.finished:
            raise InputError("the rehearsal stopped before its end, so nothing can be expected from it")
        log.take(result.channels)
    return Expected(**log.most)


class _Largest:
    """Takes a rehearsal part by part."""

    def __init__(self, test: HybridTest) -> None:
        tick, count = test.tick, test.interfaces
        self.position = _sensed(tick, count, "displacement")
        self.velocity = _sensed(tick, count, "flow")
        self.force = _sensed(tick, count, "effort")
        self.desired = channels_of(tick.channels, Role.DESIRED, kind="displacement")[:count]
        self.desired_velocity = channels_of(tick.channels, Role.DESIRED, kind="flow")[:count]
        self.command = channels_of(tick.channels, Role.COMMAND)
        interlock = test.interlock
        self.safe = 0.0 if interlock is None else float(interlock.safe_position)
        trip = PowerTrip(1.0) if interlock is None or interlock.power is None else interlock.power
        self.decay, self.period = trip.decay(test.period), test.period
        self.most: dict[str, float] = {}
        self._filtered = np.zeros(count)
        self._last: NDArray[np.float64] | None = None

    def take(self, channels: Mapping[str, NDArray[np.float64]]) -> None:
        """Take a part of the run."""

        def together(names: list[str]) -> NDArray[np.float64]:
            return np.stack([channels[n] for n in names], axis=1)

        switch = channels.get(DISPLACEMENT_SWITCH)
        delta = 1.0 if switch is None else switch[:, None]
        position, velocity, force = (together(n) for n in (self.position, self.velocity, self.force))
        command = together(self.command)
        before = command[:1] if self._last is None else self._last
        changes = np.diff(np.concatenate([before, command]), axis=0)
        self._last = command[-1:]
        target = self.safe + delta * (together(self.desired) - self.safe)
        power = force * (velocity - delta * together(self.desired_velocity))
        for name, values in (
            ("displacement", position),
            ("velocity", velocity),
            ("force", force),
            ("command", command),
            ("command_rate", changes / self.period),
            ("tracking_error", target - position),
            ("power", np.sqrt(self._smoothed(power * power))),
        ):
            self.most[name] = max(self.most.get(name, 0.0), float(np.abs(values).max(initial=0.0)))

    def _smoothed(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return y(k) = a y(k-1) + (1 - a) P(k)^2, as in the interlock."""
        from scipy.signal import lfilter

        a = self.decay
        smooth, _ = lfilter([1 - a], [1, -a], squares, axis=0, zi=a * self._filtered[None, :])
        self._filtered = smooth[-1]
        return np.maximum(smooth, 0.0)


def _sensed(tick: Tick, count: int, kind: str) -> list[str]:
    """Return what the sensors show of each interface; the motion itself where it is not recorded."""
    for role in (Role.MEASURED, Role.ACTUAL):
        names = {
            c.meaning.interface: c.name
            for c in tick.channels
            if c.meaning.role is role and c.meaning.kind == kind
        }
        if all(i in names for i in range(count)):
            return [names[i] for i in range(count)]
    raise InputError(f"the test records no {kind} of its {count} interfaces")


def rounded_up(value: float) -> float:
    """Return a number with two figures that is not less than one.

    >>> rounded_up(0.01234), rounded_up(98.1), rounded_up(0.0)
    (0.013, 99.0, 0.0)
    """
    if not value > 0:
        return 0.0
    size = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / size * (1 - 1e-12)) * size:.3g}")


NEEDED = ("displacement", "velocity", "force", "command", "command_rate")
"""Limits without which no machine is moved."""

RATED = ("command", "command_rate")
"""Limits from which the time of the retreat follows."""


def template(test: HybridTest, seen: Expected | None, policy: MachinePolicy) -> str:
    """Return what to fill in, as Python and as TOML.

    Parameters
    ----------
    test
        The test.
    seen
        What it is expected to do; None where that is not known.
    policy
        What is suggested.
    """
    given = test.interlock or Interlock()
    limits = given.limits.stricter(test.limits)
    lines: list[tuple[str, str, str]] = []
    for name in NEEDED:
        stated = getattr(limits, name)
        unit = _unit(test, name)
        if stated is not None:
            value, why = f"{stated:g}", "as the test has it"
        else:
            largest = getattr(seen, name) if seen is not None else 0.0
            value = f"{rounded_up(policy.suggested * largest):g}" if largest > 0 else "..."
            why = f"{policy.suggested:g} times the {largest:.3g} of the dry run" if largest > 0 else "fill in"
        lines.append((name, value, f"{unit}: {why}"))
    width = max(len(n) + len(v) for n, v, _ in lines) + 6
    python = [f"{f'{n}={v},':{width}}# {why}" for n, v, why in lines]
    toml = [f"{f'{n} = {v}':{width}}# {why}" for n, v, why in lines]
    suggested = Limits(**{n: float(v) for n, v, _ in lines if n in RATED and v != "..."})
    retreat = max(float(given.retreat), rounded_up(least_retreat(suggested, float(given.safe_position))))
    rest: dict[str, float] = {"release": float(given.release), "retreat": retreat}
    rest["safe_position"] = float(given.safe_position)
    rest |= {n: getattr(given, n) for n in ("stale", "deadline") if getattr(given, n) is not None}
    power = given.power
    trip = [] if power is None else [f"power={power!r},"]
    table = [] if power is None else [f'power = {{safety = "PowerTrip", {_entries(vars(power))}}}']
    head = [*(f"{n} = {v!r}" for n, v in rest.items()), *table]
    return "\n".join(
        [
            "In Python:\n\ninterlock=Interlock(\n    limits=Limits(",
            *(f"        {line}" for line in python),
            "    ),",
            *(f"    {line}" for line in (*(f"{n}={v!r}," for n, v in rest.items()), *trip)),
            '),\n\nIn a test file:\n\n[interlock]\nsafety = "Interlock"',
            *head,
            "\n[interlock.limits]",
            *toml,
            "",
        ]
    )


def least_retreat(limits: Limits, safe: float) -> float:
    """Return seconds in which a raised cosine leads from the limit of the command to safety, within its rate.

    Parameters
    ----------
    limits
        Of command and rate; 0 s where one of them is not stated.
    safe
        The safe position.

    Examples
    --------
    >>> round(least_retreat(Limits(command=2.0, command_rate=1.0), 0.0), 6)  # π/2 · 2/1
    3.141593
    """
    if limits.command is None or limits.command_rate is None:
        return 0.0
    return 0.5 * math.pi * (float(limits.command) + abs(safe)) / float(limits.command_rate)


def _entries(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in values.items())


def _unit(test: HybridTest, name: str) -> str:
    unit = next((c.unit for c in test.computer_tick.channels if c.meaning.role is Role.COMMAND), "")
    units = {
        "tracking_error": "m",
        "displacement": "m",
        "velocity": "m/s",
        "force": "N",
        "command": unit or "1",
    }
    return units.get(name, f"{unit or '1'}/s")


def start_offset_words(test: HybridTest, interface: int, apart: float) -> str:
    """Say how far from where the test begins the rig stood.

    Parameters
    ----------
    test
        The test.
    interface
        Which, from 0.
    apart
        Where the rig stood, less where it should, in m.
    """
    limit = start_within(test)
    where = f" at interface {interface + 1}" if test.interfaces > 1 else ""
    return (
        f"the rig stood {shown(apart, 'm')} from where the test begins{where}; it may stand "
        f"{shown(limit, 'm')} from there (limits.tracking_error of the interlock); "
        "nothing was commanded. Bring it there, or look at sign and zero of its sensor"
    )


def trips_in_words(test: HybridTest, options: LoopOptions) -> str:
    """Say which limits and trips are in force.

    Parameters
    ----------
    test
        As it may move a machine.
    options
        What its loop is told: the interlock does not know of lost links and late ticks.
    """
    interlock = test.interlock
    assert interlock is not None
    assert interlock.power is not None
    limits = interlock.limits
    stated = ", ".join(
        f"{n.replace('_', ' ')} {getattr(limits, n):g} {_unit(test, n)}" for n in (*NEEDED, "tracking_error")
    )
    return (
        f"trips: {stated}, power {interlock.power.threshold:g} W, {interlock.stale} equal samples, "
        f"{options.overrun_limit} late ticks in a row, {options.stale} ticks without news of the rig, "
        f"{options.gap:g} s of standing still, {options.supervisor:g} s without the supervisor; "
        f"warnings from {100 * float(limits.warning or 1):g} %; "
        f"approach in {options.approach:g} s, retreat in {options.retreat:g} s"
    )


def for_a_machine(
    test: HybridTest,
    seconds: float,
    check: Check,
    link: str,
    options: Mapping[str, Any],
    policy: MachinePolicy,
) -> HybridTest:
    """Return a test as it may move a machine: with an interlock that has every limit and trip.

    Parameters
    ----------
    test
        The test.
    seconds
        Length of the run.
    check
        Its check, which has passed, or the operator insists.
    link
        Where the machine is, for messages.
    options
        What the operator has said of the loop.
    policy
        Of what is added.
    """
    given = with_loop_options(test.interlock or Interlock(), options)
    limits = given.limits.stricter(test.limits)
    missing = [name for name in NEEDED if getattr(limits, name) is None]
    derives = None in (limits.tracking_error, given.power)
    seen = expected(test, seconds) if check.passed and (missing or derives) else None
    if missing:
        raise LinesError(
            f"{link} moves a machine, and the test does not say how far, so nothing was started: no limit of "
            f"{_listed(missing)}. State what rig and specimen stand, all of "
            f"{_listed(NEEDED)}; a rig that is only a model is named by emulated=True (--emulated). "
            f"{template(test, seen, policy)}"
        )
    if seen is None and derives:
        raise InputError(
            f"{link} moves a machine and the check has not passed, so no trips can be derived from it: state "
            "limits.tracking_error and power of the interlock, or make the check pass"
        )
    whole = _completed(test, given, limits, seen, check, policy)
    _refuse_unsafe(test, whole)
    return test.replaced(interlock=whole)


def with_loop_options(interlock: Interlock, options: Mapping[str, Any]) -> Interlock:
    """Return an interlock as the operator wants it: deadline and retreat are options of the loop, too.

    So that there is one of each, whoever finds the fault, and it is the one in the file.

    Parameters
    ----------
    interlock
        The interlock.
    options
        Of the loop; ``overrun_limit`` late ticks in a row trip, 1 or more: there is no value for never.

    Examples
    --------
    >>> told = with_loop_options(Interlock(), {"overrun_limit": 3, "retreat": 0.02})
    >>> told.deadline, told.retreat, told.release
    (3, 0.02, 0.02)
    """
    deadline = options.get("overrun_limit", interlock.deadline)
    retreat = float(options.get("retreat", interlock.retreat))
    if (deadline, retreat) == (interlock.deadline, interlock.retreat):
        return interlock
    release = min(interlock.release, retreat) if retreat > 0 else interlock.release
    return replace(interlock, deadline=deadline, retreat=retreat, release=release)


def machine_options(test: HybridTest, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a loop that moves a machine: the first command is approached, not jumped at.

    What would turn a trip off is refused: there is no value for never.

    Parameters
    ----------
    test
        As `for_a_machine` returns it.
    options
        What the operator has said; it stays.
    """
    interlock = test.interlock
    assert interlock is not None
    given = dict(options)
    if not given.get("supervisor", 1) > 0:
        raise InputError(
            f"supervisor: a machine does not go on for ever without one; found {given['supervisor']:g} s"
        )
    needed = least_approach(test)
    given.setdefault("approach", max(float(interlock.retreat), needed))
    if not float(given["approach"]) > 0:
        raise InputError(
            f"approach: a machine is led to the first command in more than 0 s; found {given['approach']:g} s"
        )
    if float(given["approach"]) < needed * (1 - 1e-9):
        raise InputError(
            f"approach: from where the rig may stand, {given['approach']:g} s would be faster than "
            f"limits.command_rate of {float(interlock.limits.command_rate or 0):g} 1/s; make it at least "
            f"{rounded_up(needed):g} s"
        )
    return given


def _completed(
    test: HybridTest,
    given: Interlock,
    limits: Limits,
    seen: Expected | None,
    check: Check,
    policy: MachinePolicy,
) -> Interlock:
    """Return the interlock with what it does not say itself."""
    derived = _derived(limits, seen or Expected(), policy)
    return replace(
        given,
        limits=replace(
            limits,
            tracking_error=limits.tracking_error or derived.tracking_error,
            warning=limits.warning or policy.warning,
        ),
        power=given.power or PowerTrip(derived.power),
        stale=given.stale or max(policy.frozen_samples, math.ceil(policy.frozen * test.rate)),
        deadline=given.deadline or _deadline(test, check),
    )


def _derived(limits: Limits, seen: Expected, policy: MachinePolicy) -> Expected:
    """Return thresholds of tracking error and power."""
    floor = policy.least * float(limits.displacement or 0.0)
    power = policy.least * float(limits.force or 0.0) * float(limits.velocity or 0.0)
    return Expected(
        tracking_error=max(rounded_up(policy.trips * seen.tracking_error), floor),
        power=max(rounded_up(policy.trips * seen.power), power),
    )


def _deadline(test: HybridTest, check: Check) -> int:
    """Return how many ticks in a row may be late: as long as the loop stands so much more delay, or one."""
    delay = None if check.margins is None else check.margins.delay
    most = max(1, math.floor(test.gap / test.period))
    spare = test.period if delay is None else delay.value if delay.found else math.inf
    return min(max(1, math.floor(spare / test.period)), most) if math.isfinite(spare) else most


def _refuse_unsafe(test: HybridTest, interlock: Interlock) -> None:
    """Refuse a safe position beyond the limits, and a way there that is faster than they allow."""
    limits, safe = interlock.limits, abs(float(interlock.safe_position))
    bounds = {"command": float(limits.command or 0)}
    if _commands_places(test):
        bounds["displacement"] = float(limits.displacement or 0)
    for name, most in bounds.items():
        if safe > most:
            raise InputError(
                f"the interlock would bring the rig to {interlock.safe_position:g}, beyond limits.{name} of "
                f"{most:g}: choose a safe_position within the limits"
            )
    needed, seconds = least_retreat(limits, float(interlock.safe_position)), float(interlock.retreat)
    if seconds < needed * (1 - 1e-9):
        raise InputError(
            f"the interlock's retreat of {seconds:g} s would be faster than limits.command_rate of "
            f"{float(limits.command_rate or 0):g} 1/s where it begins at limits.command; make it at least "
            f"{rounded_up(needed):g} s"
        )


def _commands_places(test: HybridTest) -> bool:
    """Whether the rig is commanded where to be, not how much to push."""
    return all(c.unit in ("m", "rad") for c in test.computer_tick.channels if c.meaning.role is Role.COMMAND)


def least_approach(test: HybridTest) -> float:
    """Return seconds in which a raised cosine leads from where the rig may stand to the first command.

    A place is approached from where the rig stands, at most the tracking error's limit from where the test
    begins; anything else from the safe position. What the controller adds to the place is not known here: the
    executive holds every step of the way to the rate.

    Parameters
    ----------
    test
        With an interlock that has every limit.
    """
    interlock = test.interlock
    assert interlock is not None
    limits = interlock.limits
    command, rate = float(limits.command or 0), float(limits.command_rate or math.inf)
    if _commands_places(test):
        way = min(float(limits.tracking_error or math.inf), command + float(limits.displacement or 0))
    else:
        way = command + abs(float(interlock.safe_position))
    return 0.5 * math.pi * way / rate


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def safe_position(test: HybridTest) -> float:
    """Return where a test's commands go when something is wrong: the interlock's safe position, or 0."""
    return 0.0 if test.interlock is None else float(test.interlock.safe_position)


def start_within(test: HybridTest) -> float:
    """Return how far from where a test begins its rig may stand: as far as it may be off at any tick."""
    limit = None if test.interlock is None else test.interlock.limits.tracking_error
    return math.inf if limit is None else float(limit)


def start_rate(test: HybridTest) -> float:
    """Return how fast a test's command may change before the first tick and after the last: as in any."""
    limit = None if test.interlock is None else test.interlock.limits.command_rate
    return math.inf if limit is None else float(limit)


def trip_limits(test: HybridTest) -> dict[str, float]:
    """Return the limits of a test's interlock by the name of the cause of a trip, as `limit_name` has it."""
    if test.interlock is None:
        return {}
    limits = {f.name.replace("_", " "): getattr(test.interlock.limits, f.name) for f in fields(Limits)}
    if test.interlock.power is not None:
        limits["power"] = test.interlock.power.threshold
    return {name: float(x) for name, x in limits.items() if x is not None and name != "warning"}


def switch_facts(test: HybridTest) -> dict[str, dict[str, float | None]]:
    """Return where a test's switches begin and how they go, as `start_words` wants it; empty without any."""
    if test.switches is None:
        return {}
    return {name: _facts(getattr(test.switches, name)) for name in ("displacement", "force")}


def _facts(switch: RampedSwitch) -> dict[str, float | None]:
    assert isinstance(switch.initial, float)
    schedule = switch.schedule if isinstance(switch.schedule, float) else None  # a signal: over time
    return {"initial": switch.initial, "ramp": float(switch.ramp), "schedule": schedule}
