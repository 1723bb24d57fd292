"""Writing ``interface.c``: what the generic C must know of the ticks that it is linked with."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bondloop.engine.codegen import Plan, c_number, c_string
from bondloop.engine.ir import Meaning, Role, Tunable, calls, channels_of
from bondloop.errors import InputError, unknown_name
from bondloop.rehearsal import allowed
from bondloop.safety import CAUSE, DISPLACEMENT_SWITCH, INTERLOCK, TRIP, Cause
from bondloop.substructure import indexed

if TYPE_CHECKING:
    from bondloop.engine.ir import Tick, Var
    from bondloop.safety import Interlock


_CAUSES = {
    "displacement": Cause.DISPLACEMENT,
    "flow": Cause.VELOCITY,
    "effort": Cause.FORCE,
}

_WATCHED = {
    "displacement": Cause.DISPLACEMENT,
    "velocity": Cause.VELOCITY,
    "force": Cause.FORCE,
}
"""Limits of measured values, by their names in `Limits` and in what is measured."""


def command_names(tick: Tick) -> list[str]:
    """Return the channels of a computer's tick that go to the rig: those whose role it is."""
    return channels_of(tick.channels, Role.COMMAND)


def measured_names(tick: Tick) -> list[str]:
    """Return the inputs of a computer's tick that come from the rig."""
    return [v.name for v in tick.measured]


@dataclass(frozen=True)
class Ends:
    """One tick's end of the link.

    Attributes
    ----------
    tick
        The computer's or the rig's.
    commands, measured
        Names of the signals, in the order in which they cross the link.
    command_at, measured_at
        Their indices among the tick's channels or inputs.
    safe
        Commands in the safe state.
    within
        How far from where the test begins the rig may stand at the start, in m.
    rate
        Largest change of a command a second, on the way to the first one.
    recorded
        How many of the measured values, the last ones, are recorded and no part of the loop.
    interlock
        What the test states of its interlock, by which the program tests itself; None where it has none.
    """

    tick: Tick
    commands: tuple[str, ...]
    measured: tuple[str, ...]
    command_at: tuple[int, ...]
    measured_at: tuple[int, ...]
    safe: tuple[float, ...] = ()
    within: float = math.inf
    rate: float = math.inf
    about: Mapping[str, object] = field(default_factory=dict)
    recorded: int = 0
    interlock: Interlock | None = None

    @property
    def signature(self) -> int:
        """CRC-32 of the names: both ends of a link must have the same."""
        return zlib.crc32("\n".join((*self.commands, "", *self.measured)).encode())


def computer_ends(
    tick: Tick,
    *,
    safe: Mapping[str, float] | None = None,
    about: Mapping[str, object] | None = None,
    **stated: Any,
) -> Ends:
    """Find commands among the channels and measured values among the inputs of a computer's tick.

    Parameters
    ----------
    tick
        Its inputs are the tabulated signals and then the measured values.
    safe
        Commands of the safe state by name; 0 for those not named.
    about
        Kept in the metadata of the telemetry.
    **stated
        What else the loop must know: ``within``, ``rate``, ``recorded``, ``interlock`` of `Ends`.
    """
    commands, measured = command_names(tick), measured_names(tick)
    if not commands:
        raise InputError(f"tick '{tick.name}' has no channel with the role of a command to send to a rig")
    names = [v.name for v in tick.inputs]
    tables = len(names) - len(measured)
    channels = [c.name for c in tick.channels]
    for name in safe or {}:
        if name not in commands:
            raise InputError(unknown_name("command", name, commands, tick.name))
    return Ends(
        tick,
        tuple(commands),
        tuple(measured),
        tuple(channels.index(n) for n in commands),
        tuple(range(tables, len(names))),
        tuple(float((safe or {}).get(n, 0.0)) for n in commands),
        about=dict(about or {}),
        **stated,
    )


def rig_ends(
    tick: Tick, commands: Sequence[str] | None = None, measured: Sequence[str] | None = None
) -> Ends:
    """Find commands among the inputs and measured values among the channels of a rig's tick.

    Parameters
    ----------
    tick
        The rig's tick; every input must be a command.
    commands, measured
        The names in the order of the link: those of the computer's tick. All of the tick's own if not given.
    """
    inputs, channels = [v.name for v in tick.inputs], [c.name for c in tick.channels]
    commands = list(inputs if commands is None else commands)
    if measured is None:
        measured = channels_of(tick.channels, Role.MEASURED)
    if sorted(commands) != sorted(inputs):
        raise InputError(
            f"the rig '{tick.name}' takes the commands {', '.join(inputs) or 'none'}; the loop sends "
            f"{', '.join(commands) or 'none'}"
        )
    for name in measured:
        if name not in channels:
            raise InputError(unknown_name("measured value", name, channels, tick.name))
    return Ends(
        tick,
        tuple(commands),
        tuple(measured),
        tuple(inputs.index(n) for n in commands),
        tuple(channels.index(n) for n in measured),
        (0.0,) * len(commands),
    )


def interface_c(computer: Ends | None, rig: Ends | None) -> str:
    """Write ``interface.c``: a table for each tick.

    Parameters
    ----------
    computer, rig
        The ticks linked into the program.
    """
    parts = ["/* Written by bondloop; changes here are lost. */", "#include <math.h>", "#include <stddef.h>"]
    parts += ['#include "interface.h"', ""]
    for role, ends in (("computer", computer), ("rig", rig)):
        if ends is None:
            parts.append(f"const bl_interface *const bl_{role} = NULL;\n")
        else:
            parts.append(_table(role, ends))
    return "\n".join(parts)


def links_c(drivers: Sequence[str]) -> str:
    """Write ``drivers.c``: the list of the links.

    Parameters
    ----------
    drivers
        Schemes of the links: ``udp`` stands for the constant ``bl_link_udp``.
    """
    parts = ["/* Written by bondloop. */", "#include <stddef.h>", '#include "link.h"', ""]
    own = [d for d in drivers if d not in ("udp", "shm", "loopback", "none")]
    parts += [f"extern const bl_link bl_link_{d};" for d in own]
    listed = "".join(f"    &bl_link_{d},\n" for d in drivers)
    parts.append(f"const bl_link *const bl_links[] = {{\n{listed}    NULL,\n}};\n")
    return "\n".join(parts)


def _table(role: str, ends: Ends) -> str:
    """Return the table of a tick: its arrays, and the `bl_interface` that names them."""
    tick, plan = ends.tick, Plan(ends.tick)
    once = f"{tick.name}_tick_once"
    lines = [f"extern int {once}(double *, const double *, const double *, double, double, double *);"]
    for name, values in _values(ends, plan).items():
        lines.append(
            f"static const double {role}_{name}[] = {{{', '.join(map(c_number, values)) or '0.0'}}};"
        )
    for name, texts in _texts(ends).items():
        quoted = ", ".join(map(c_string, texts)) or '""'
        lines.append(f"static const char *const {role}_{name}[] = {{{quoted}}};")
    for kind, arrays in (("long", _indices(ends)), ("int", _flags(role, ends))):
        for name, numbers in arrays.items():
            listed = ", ".join(map(str, numbers)) or "0"
            lines.append(f"static const {kind} {role}_{name}[] = {{{listed}}};")
    metadata = _characters(json.dumps(_metadata(role, ends)))
    lines.append(f"static const char {role}_metadata[] = {{\n{metadata}\n}};")
    fields = _fields(role, ends, plan)
    stated = [] if role == "rig" else _stated(ends)
    if stated:
        rows = "".join(f"    {{{row}}},\n" for row in stated)
        lines.append(f"static const bl_stated {role}_stated[] = {{\n{rows}}};")
        fields |= {"stated": f"{role}_stated", "stateds": len(stated)}
    if ends.interlock is not None:
        power = ends.interlock.power
        fields |= {"is_watched": 1, "memory": "0.0" if power is None else repr(power.decay(tick.period))}
    fields["calls"] = int(bool(calls(tick)))
    rows = "".join(f"    .{name} = {value},\n" for name, value in fields.items())
    lines.append(f"static const bl_interface {role}_interface = {{\n{rows}}};")
    lines.append(f"const bl_interface *const bl_{role} = &{role}_interface;\n")
    return "\n".join(lines)


def _index(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else -1


def _tables(role: str, ends: Ends) -> int:
    """Return how many inputs are tabulated signals: the first ones of a computer's tick."""
    return len(ends.tick.inputs) - len(ends.measured) if role == "computer" else 0


def _metadata(role: str, ends: Ends) -> dict[str, object]:
    """Return what the telemetry says of the tick."""
    tick = ends.tick
    return {
        "tick": tick.name,
        "period": tick.period,
        "channels": [
            {"name": c.name, "unit": c.unit, "meaning": c.meaning.describe()} for c in tick.channels
        ],
        "parameters": [v.name for v in tick.parameters],
        "ranges": {v.name: v.range.describe() for v in tick.parameters if v.range is not None},
        "about_parameters": [about_parameter(tick, v) for v in tick.parameters],
        "bounds": {n: b for n, b in tick.bounds.items() if math.isfinite(b)},
        "commands": list(ends.commands),
        "measured": list(ends.measured),
        "tables": [v.name for v in tick.inputs[: _tables(role, ends)]],
        "signature": ends.signature,
        **ends.about,
    }


def _values(ends: Ends, plan: Plan) -> dict[str, list[float]]:
    tick = ends.tick
    return {
        "initial": plan.initial().tolist(),
        "values": list(tick.parameters.values()) or [0.0],
        "parameter_least": [allowed(tick, v)[0] for v in tick.parameters],
        "parameter_most": [allowed(tick, v)[1] for v in tick.parameters],
        "safe": list(ends.safe),
        "place_within": [ends.within] * len(ends.commands),
        "command_rate": [ends.rate] * len(ends.commands),
        "channel_bound": [tick.bounds.get(c.name, math.inf) for c in tick.channels],
    }


def _texts(ends: Ends) -> dict[str, Sequence[str]]:
    tick = ends.tick
    return {
        "parameter_names": [v.name for v in tick.parameters],
        "parameter_units": [v.unit for v in tick.parameters],
        "channel_names": [c.name for c in tick.channels],
        "channel_units": [c.unit for c in tick.channels],
        "input_names": [v.name for v in tick.inputs],
        "input_units": [v.unit for v in tick.inputs],
        "state_names": [v.name for v in tick.states],
        "state_units": [v.unit for v in tick.states],
        "command_names": ends.commands,
        "measured_names": ends.measured,
    }


def _indices(ends: Ends) -> dict[str, Sequence[int]]:
    channels = [c.name for c in ends.tick.channels]
    return {
        "command_at": ends.command_at,
        "measured_at": ends.measured_at,
        "measured_channel": [_index(channels, name) for name in ends.measured],
        **_places(ends),
    }


def _flags(role: str, ends: Ends) -> dict[str, Sequence[int]]:
    tick = ends.tick
    is_place = [int(c.unit in ("m", "rad")) for c in tick.channels]
    return {
        "is_place": [is_place[i] for i in ends.command_at if role == "computer"],
        "parameter_nonzero": [int(v.range is not None and v.range.nonzero) for v in tick.parameters],
        "channel_cause": [_cause(c.meaning) for c in tick.channels],
    }


def _fields(role: str, ends: Ends, plan: Plan) -> dict[str, object]:
    """Return the fields of `bl_interface`."""
    tick = ends.tick
    own = {
        word: f"{role}_{word}"
        for word in ("place_measured", "place_channel", "place_within", "is_place", "command_rate")
    }
    return {
        "name": c_string(tick.name),
        "period": repr(float(tick.period)),
        "tick_once": f"{tick.name}_tick_once",
        "states": plan.size,
        "inputs": len(tick.inputs),
        "parameters": len(tick.parameters),
        "channels": len(tick.channels),
        "initial": f"{role}_initial",
        "parameter_values": f"{role}_values",
        "parameter_least": f"{role}_parameter_least",
        "parameter_most": f"{role}_parameter_most",
        "parameter_nonzero": f"{role}_parameter_nonzero",
        "named_states": len(tick.states),
        **{word: f"{role}_{word}" for word in _texts(ends)},
        "metadata": f"{role}_metadata",
        "commands": len(ends.commands),
        "measured": len(ends.measured),
        "judged": len(ends.measured) - ends.recorded,
        "command_at": f"{role}_command_at",
        "measured_at": f"{role}_measured_at",
        "signature": f"{ends.signature}u",
        "tables": _tables(role, ends),
        "safe": f"{role}_safe",
        "measured_channel": f"{role}_measured_channel",
        "channel_bound": f"{role}_channel_bound",
        "channel_cause": f"{role}_channel_cause",
        "interlock_cause": _index([c.name for c in tick.channels], CAUSE),
        "interlock_trip": _index([v.name for v in tick.parameters], TRIP),
        **own,
    }


def _places(ends: Ends) -> dict[str, list[int]]:
    """Return where each command's interface stands and where it is wanted: a measured value, a channel."""
    sensed: dict[int | None, int] = {}
    wanted: dict[int | None, int] = {}
    for i, c in enumerate(ends.tick.channels):
        if c.meaning.kind == "displacement" and c.meaning.role is Role.MEASURED and c.name in ends.measured:
            sensed[c.meaning.interface] = ends.measured.index(c.name)
        elif c.meaning.kind == "displacement" and c.meaning.role is Role.DESIRED:
            wanted[c.meaning.interface] = i
    by_name = {c.name: c.meaning.interface for c in ends.tick.channels}
    interfaces = [by_name.get(name, -1) for name in ends.commands]
    return {
        "place_measured": [sensed.get(i, -1) for i in interfaces],
        "place_channel": [wanted.get(i, -1) for i in interfaces],
    }


def _stated(ends: Ends) -> list[str]:
    """Return what the test states of its interlock, as rows of `bl_stated` in interface.h.

    They come from the interlock's own fields and from names, so that the tick is judged by another road than
    the one on which its statements were made.
    """
    interlock, tick = ends.interlock, ends.tick
    if interlock is None:
        return []
    channels, parameters, states = (
        [v.name for v in those] for those in (tick.channels, tick.parameters, tick.states)
    )
    wanted = _places(ends)["place_channel"]
    count = len(ends.commands)

    def row(cause: Cause, most: float, word: str = "", **more: int) -> str:
        values = dict.fromkeys(("command", "measured", "velocity", "state", "other", "channel", "share"), -1)
        limit = f"{INTERLOCK}.limits.{word}"
        values |= {"parameter": _index(parameters, limit), "held": _index(states, f"{limit}.now"), **more}
        return ", ".join(
            [f".cause = {int(cause)}", f".most = {most!r}", *(f".{n} = {v}" for n, v in values.items())]
        )

    rows = []
    for i in range(count):
        label = f"[{i}]" if count > 1 else ""
        sensed = {word: _index(ends.measured, f"measured.{word}{label}") for word in _WATCHED}
        for word, cause in _WATCHED.items():
            limit = getattr(interlock.limits, word)
            if limit is not None:
                rows.append(row(cause, float(limit), word, measured=sensed[word]))
            if interlock.stale is not None:
                kept = indexed(f"{INTERLOCK}.{word}", count)[i]
                state, good = states.index(f"{kept}.repeats"), states.index(f"{kept}.good")
                rows.append(
                    row(Cause.STALE, float(interlock.stale), measured=sensed[word], state=state, other=good)
                )
        limits = interlock.limits
        if limits.command is not None:
            rows.append(row(Cause.COMMAND, float(limits.command), "command", command=i))
        if limits.command_rate is not None:
            state = states.index(f"{INTERLOCK}{label}.before")
            rows.append(
                row(Cause.COMMAND_RATE, float(limits.command_rate), "command_rate", command=i, state=state)
            )
        if limits.tracking_error is not None:
            rows.append(
                row(
                    Cause.TRACKING_ERROR,
                    float(limits.tracking_error),
                    "tracking_error",
                    command=i,
                    measured=sensed["displacement"],
                    channel=wanted[i],
                    share=_index(channels, DISPLACEMENT_SWITCH),
                )
            )
        if interlock.power is not None:
            state = states.index(f"{INTERLOCK}.power{label}.filtered")
            rows.append(
                row(
                    Cause.POWER,
                    float(interlock.power.threshold),
                    measured=sensed["force"],
                    velocity=sensed["velocity"],
                    state=state,
                )
            )
        elapsed, last = states.index(f"{INTERLOCK}.elapsed"), states.index(f"{INTERLOCK}.last{label}")
        rows.append(row(Cause.OPERATOR, float(interlock.retreat), command=i, state=elapsed, other=last))
    return rows


def _cause(meaning: Meaning) -> int:
    """Return the cause of a trip when a channel leaves its bounds; a value that fits none has diverged."""
    if meaning.role is Role.COMMAND:
        return int(Cause.COMMAND)
    found = _CAUSES.get(meaning.kind) if meaning.interface is not None else None
    return int(Cause.NOT_A_NUMBER if found is None else found)


def _characters(text: str, width: int = 24) -> str:
    """Return a text of ASCII as numbers: C99 promises no string longer than 4,095 characters."""
    numbers = [*text.encode("ascii"), 0]
    rows = [numbers[i : i + width] for i in range(0, len(numbers), width)]
    return "\n".join("    " + "".join(f"{n}, " for n in row).rstrip() for row in rows)


def about_parameter(tick: Tick, parameter: Var) -> dict[str, object]:
    """Return what the telemetry's metadata says of a parameter, beside its name.

    Parameters
    ----------
    tick
        Of the loop.
    parameter
        One of its parameters.
    """
    least, most = allowed(tick, parameter)
    declared = (tick.tunable or {}).get(parameter.name, Tunable())
    channels = {c.name for c in tick.channels}
    entries = {
        "unit": parameter.unit,
        "tunable": least <= most,
        "least": least if math.isfinite(least) else None,
        "most": most if math.isfinite(most) else None,
        "rate": declared.rate,
        "description": declared.description,
        "channel": parameter.name if parameter.name in channels else "",
    }
    return {name: value for name, value in entries.items() if value not in (None, "")}
