"""Writing ``interface.c``: what the generic C must know of the ticks that it is linked with."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bondloop.compile.plan import Plan
from bondloop.errors import InputError, unknown_name
from bondloop.program.quantity import Meaning, Role, channels_of
from bondloop.safety.causes import Cause

if TYPE_CHECKING:
    from bondloop.program.tick import Tick

__all__ = ["Ends", "command_names", "computer_ends", "interface_c", "measured_names", "rig_ends"]

_CAUSES = {
    "displacement": Cause.DISPLACEMENT,
    "flow": Cause.VELOCITY,
    "effort": Cause.FORCE,
}


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
    bound
        Largest believable magnitude of each measured value.
    """

    tick: Tick
    commands: tuple[str, ...]
    measured: tuple[str, ...]
    command_at: tuple[int, ...]
    measured_at: tuple[int, ...]
    safe: tuple[float, ...] = ()
    bound: tuple[float, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def signature(self) -> int:
        """CRC-32 of the names: both ends of a link must have the same."""
        return zlib.crc32("\n".join((*self.commands, "", *self.measured)).encode())


def computer_ends(
    tick: Tick,
    *,
    safe: Mapping[str, float] | None = None,
    bounds: Mapping[str, float] | None = None,
    about: Mapping[str, Any] | None = None,
) -> Ends:
    """Find commands among the channels and measured values among the inputs of a computer's tick.

    Parameters
    ----------
    tick
        Its inputs are the tabulated signals and then the measured values.
    safe
        Commands of the safe state by name; 0 for those not named.
    bounds
        Largest believable magnitudes of measured values by name; any finite value where there is none.
    about
        Kept in the metadata of the telemetry.
    """
    commands, measured = command_names(tick), measured_names(tick)
    if not commands:
        raise InputError(f"tick '{tick.name}' has no channel with the role of a command to send to a rig")
    names = [v.name for v in tick.inputs]
    tables = len(names) - len(measured)
    channels = [c.name for c in tick.channels]
    for kind, known, given in (("command", commands, safe or {}), ("measured value", measured, bounds or {})):
        for name in given:
            if name not in known:
                raise InputError(unknown_name(kind, name, known, tick.name))
    return Ends(
        tick,
        tuple(commands),
        tuple(measured),
        tuple(channels.index(n) for n in commands),
        tuple(range(tables, len(names))),
        tuple(float((safe or {}).get(n, 0.0)) for n in commands),
        tuple(float((bounds or {}).get(n, math.inf)) for n in measured),
        dict(about or {}),
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
        (math.inf,) * len(measured),
    )


def interface_c(computer: Ends | None, rig: Ends | None, drivers: Sequence[str]) -> str:
    """Write ``interface.c``.

    Parameters
    ----------
    computer, rig
        The ticks linked into the program.
    drivers
        Schemes of the links: ``udp`` stands for the constant ``bl_link_udp``.
    """
    parts = ["/* Written by bondloop; changes here are lost. */", "#include <math.h>", "#include <stddef.h>"]
    parts += ['#include "interface.h"', '#include "link.h"', ""]
    for role, ends in (("computer", computer), ("rig", rig)):
        if ends is None:
            parts.append(f"const bl_interface *const bl_{role} = NULL;\n")
        else:
            parts.append(_table(role, ends))
    own = [d for d in drivers if d not in ("udp", "shm", "loopback", "none")]
    parts += [f"extern const bl_link bl_link_{d};" for d in own]
    listed = "".join(f"    &bl_link_{d},\n" for d in drivers)
    parts.append(f"const bl_link *const bl_links[] = {{\n{listed}    NULL,\n}};\n")
    return "\n".join(parts)


def _table(role: str, ends: Ends) -> str:
    tick, plan = ends.tick, Plan(ends.tick)
    channels = [c.name for c in tick.channels]
    parameters = [v.name for v in tick.parameters]
    tables = len(tick.inputs) - len(ends.measured) if role == "computer" else 0

    def index(names: list[str], name: str) -> int:
        return names.index(name) if name in names else -1

    shown = [index(channels, n) for n in ends.measured]
    metadata = json.dumps(
        {
            "tick": tick.name,
            "period": tick.period,
            "channels": [
                {"name": c.name, "unit": c.unit, "meaning": c.meaning.describe()} for c in tick.channels
            ],
            "parameters": parameters,
            "ranges": {v.name: v.range.describe() for v in tick.parameters if v.range is not None},
            "commands": list(ends.commands),
            "measured": list(ends.measured),
            "tables": [v.name for v in tick.inputs[:tables]],
            "signature": ends.signature,
            **ends.about,
        }
    )
    values = {
        "initial": plan.initial().tolist(),
        "values": list(tick.parameters.values()) or [0.0],
        "safe": list(ends.safe),
        "bound": list(ends.bound),
        "channel_bound": [tick.bounds.get(n, math.inf) for n in channels],
    }
    once = f"{tick.name}_tick_once"
    lines = [f"extern int {once}(double *, const double *, const double *, double, double, double *);"]
    lines += [f"static const double {role}_{n}[] = {{{_doubles(v)}}};" for n, v in values.items()]
    for name, texts in (("parameter_names", parameters), ("channel_names", channels)):
        quoted = ", ".join(map(_quoted, texts)) or '""'
        lines.append(f"static const char *const {role}_{name}[] = {{{quoted}}};")
    for name, numbers in (
        ("command_at", ends.command_at),
        ("measured_at", ends.measured_at),
        ("measured_channel", shown),
    ):
        lines.append(f"static const long {role}_{name}[] = {{{', '.join(str(n) for n in numbers) or '0'}}};")
    causes = ", ".join(str(_cause(c.meaning)) for c in tick.channels) or "0"
    lines.append(f"static const int {role}_channel_cause[] = {{{causes}}};")
    lines.append(f"static const char {role}_metadata[] =\n{_wrapped(metadata)};")
    fields = {
        "name": _quoted(tick.name),
        "period": repr(float(tick.period)),
        "tick_once": once,
        "states": plan.size,
        "inputs": len(tick.inputs),
        "parameters": len(parameters),
        "channels": len(channels),
        "initial": f"{role}_initial",
        "parameter_values": f"{role}_values",
        "parameter_names": f"{role}_parameter_names",
        "channel_names": f"{role}_channel_names",
        "metadata": f"{role}_metadata",
        "commands": len(ends.commands),
        "measured": len(ends.measured),
        "command_at": f"{role}_command_at",
        "measured_at": f"{role}_measured_at",
        "signature": f"{ends.signature}u",
        "tables": tables,
        "safe": f"{role}_safe",
        "bound": f"{role}_bound",
        "measured_channel": f"{role}_measured_channel",
        "channel_bound": f"{role}_channel_bound",
        "channel_cause": f"{role}_channel_cause",
        "interlock_cause": index(channels, "interlock.cause"),
        "interlock_trip": index(parameters, "interlock.trip"),
    }
    rows = "".join(f"    .{name} = {value},\n" for name, value in fields.items())
    lines.append(f"static const bl_interface {role}_interface = {{\n{rows}}};")
    lines.append(f"const bl_interface *const bl_{role} = &{role}_interface;\n")
    return "\n".join(lines)


def _cause(meaning: Meaning) -> int:
    """Return the cause of a trip when a channel leaves its bounds; a value that fits none has diverged."""
    if meaning.role is Role.COMMAND:
        return int(Cause.COMMAND)
    found = _CAUSES.get(meaning.kind) if meaning.interface is not None else None
    return int(Cause.NOT_A_NUMBER if found is None else found)


def _doubles(values: Sequence[float]) -> str:
    def text(x: float) -> str:
        return repr(float(x)) if math.isfinite(x) else ("INFINITY" if x > 0 else "-INFINITY")

    return ", ".join(map(text, values)) or "0.0"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return f'"{escaped}"'


def _wrapped(text: str, width: int = 96) -> str:
    """Return a text as C string literals, one per line: compilers limit a literal's length, not their sum."""
    pieces = [text[i : i + width] for i in range(0, len(text), width)]
    return "\n".join(f"    {_quoted(p)}" for p in pieces)
