"""Channels and a tick: which channel each signal has, what is recorded beside them, and the tables in C."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bondloop.engine.codegen import c_number, c_string
from bondloop.engine.ir import Channel, Var
from bondloop.errors import FaultsError, InputError, nearest, one_or_all
from bondloop.realtime.channels.channel import ROLES, TYPES, PacketSide
from bondloop.realtime.channels.sheet import factor_of, shown_number
from bondloop.units import is_of_kind, si_unit

if TYPE_CHECKING:
    from bondloop.engine.ir import Tick
    from bondloop.hybrid import HybridTest
    from bondloop.realtime.channels.channel import Channels, ControllerFault, LabChannel


MOST = 128
"""Channels each way, as in channels.h."""
NO_VELOCITY = (
    ". Without a velocity transducer: take the velocity that the servo-controller derives, from its output "
    "or its packet, or a driver of your own that derives it (docs/connecting-your-rig.md)"
)
"""What to do where a velocity has no channel."""
_LIMITS = {"displacement": "displacement", "flow": "velocity", "effort": "force"}
"""Limits of an interlock by the kind of what is measured."""


@dataclass(frozen=True)
class Wiring:
    """The channels of a tick's signals.

    Attributes
    ----------
    lab
        All of the file.
    outputs, inputs
        In the order of commands and measured values; what is only recorded comes last.
    recorded
        How many of the inputs that are.
    period
        Seconds between ticks.
    idle
        Outputs that the tick does not command.
    """

    lab: Channels
    outputs: tuple[LabChannel, ...]
    inputs: tuple[LabChannel, ...]
    recorded: int
    period: float
    idle: tuple[LabChannel, ...] = ()


def signal_units(tick: Tick) -> tuple[dict[str, str], dict[str, str]]:
    """Return the units of a computer's commands and measured values; empty where one is not known."""
    from bondloop.realtime.programs.interface import command_names, measured_names

    known = {c.name: c.unit for c in tick.channels}
    for v in tick.measured:
        if v.quantity is not None and not known.get(v.name):
            known[v.name] = v.quantity.unit
    return (
        {name: known.get(name, "") for name in command_names(tick)},
        {name: known.get(name, "") for name in measured_names(tick)},
    )


def faults_against(
    lab: Channels, test: HybridTest, unread: Collection[str] | None = ()
) -> list[tuple[str, str]]:
    """Return what does not fit between channels and a test: the channel's name, or nothing, and words.

    `unread` are channels that are there, but could not be read; None: nobody knows what they are called.
    """
    commands, measured = signal_units(test.computer_tick)
    return [
        *_missing(lab, commands, "output", "command", unread),
        *_missing(lab, measured, "input", "measured value", unread),
        *_beyond(lab, test, commands),
    ]


def refuse_misfits(lab: Channels, test: HybridTest) -> None:
    """Raise an error that says all that does not fit between channels and a test."""
    faults = [f"{name}: {words}" if name else words for name, words in faults_against(lab, test)]
    if faults:
        raise one_or_all("the channels and the test", faults)


def _missing(
    lab: Channels, wanted: dict[str, str], direction: str, kind: str, unread: Collection[str] | None = ()
) -> list[tuple[str, str]]:
    have = {c.name: c for c in lab.channels}
    faults: list[tuple[str, str]] = []
    for name, unit in wanted.items():
        channel = have.get(name)
        if channel is None and (unread is None or name in unread):
            continue  # it may well be there
        if channel is None:
            near = nearest(name, [n for n in have if n not in wanted], count=1)
            near = near or nearest(name, unread or [], count=1)
            hint = f"; is it the one called '{near[0]}'?" if near else ""
            if not hint and direction == "input" and unit and is_of_kind(f"1 {unit}", "m/s"):
                hint = NO_VELOCITY
            faults.append(("", f"the test's {kind} '{name}' has no channel{hint}"))
        elif channel.direction != direction:
            faults.append(
                (name, f"the test's {kind} '{name}' needs direction {direction}; found {channel.direction}")
            )
        elif unit and not is_of_kind(f"1 {channel.unit}", unit):
            faults.append((name, f"the test has '{name}' in {unit}; found the unit {channel.unit}"))
    return faults


def _beyond(lab: Channels, test: HybridTest, commands: dict[str, str]) -> list[tuple[str, str]]:
    """Return limits of the test that lie beyond what a channel can give or show."""
    from bondloop.realtime.machine_limits import safe_position

    have = {c.name: c for c in lab.channels}
    outputs = [have[n] for n in commands if n in have and have[n].direction == "output"]
    limits: list[tuple[LabChannel, str]] = [(c, "command") for c in outputs]
    limits += [
        (have[c.name], _LIMITS[c.meaning.kind])
        for c in test.computer_tick.channels
        if c.name in have and have[c.name].direction == "input" and c.meaning.kind in _LIMITS
    ]
    watched = None if test.interlock is None else test.interlock.limits
    faults: list[tuple[str, str]] = []
    for channel, word in limits:
        stated = [None if x is None else getattr(x, word) for x in (watched, test.limits)]
        limit = min((float(x) for x in stated if x is not None), default=None)  # the first that stops it
        least, most = channel.reach
        if limit is not None and (limit > most or -limit < least):
            words = (
                f"the test allows a {word} of ±{shown_number(limit, channel.unit)}, but the channel "
                f"reaches from {least / factor_of(channel.unit):.5g} to {shown_number(most, channel.unit)}: "
                f"it would be at its end before the test trips"
            )
            faults.append((channel.name, words))
    safe = safe_position(test)
    return faults + [
        (c.name, f"the test's safe position, {shown_number(safe, c.unit)}, is beyond its reach")
        for c in outputs
        if math.isnan(c.raw_of(safe))
    ]


def wire(lab: Channels, tick: Tick) -> tuple[Tick, Wiring]:
    """Find the channel of every signal, and have the rest of what is read recorded, too.

    Parameters
    ----------
    lab
        The channels.
    tick
        The computer's.

    Returns
    -------
    tuple
        The tick with channels ``aux.NAME`` for what is read beside its own measured values, and the wiring.
    """
    commands, measured = signal_units(tick)
    faults = [
        *_missing(lab, commands, "output", "command"),
        *_missing(lab, measured, "input", "measured value"),
    ]
    if faults:
        raise FaultsError("the channels file and the test", [words for _, words in faults])
    rest = [c for c in lab.inputs if c.name not in measured]
    if max(len(measured) + len(rest), len(lab.outputs)) > MOST:
        found = f"{len(lab.outputs)} outputs, {len(measured) + len(rest)} inputs"
        raise InputError(f"at most {MOST} channels each way; found {found}")
    beside = [Var(f"aux.{c.name}") for c in rest]
    shown = [Channel(v.name, v, si_unit(c.unit)) for v, c in zip(beside, rest, strict=True)]
    wider = replace(
        tick,
        inputs=(*tick.inputs, *beside),
        measured=(*tick.measured, *beside),
        channels=(*tick.channels, *shown),
    )
    outputs, inputs = (tuple(lab[name] for name in names) for names in (commands, measured))
    idle = tuple(c for c in lab.outputs if c.name not in commands)
    return wider, Wiring(lab, outputs, (*inputs, *rest), len(rest), tick.period, idle)


def channels_c(wiring: Wiring | None) -> str:
    """Write ``channels_table.c``: what the drivers know of the channels; empty tables without a wiring."""
    head = [
        "/* Written by bondloop; changes here are lost. */",
        "#include <math.h>",
        "#include <stddef.h>",
        "",
    ]
    head += ['#include "channels.h"', ""]
    if wiring is None:
        return "\n".join([*head, "const bl_channels bl_lab = {.outputs = 0};", ""])
    lab = wiring.lab
    rows: list[str] = []
    read = [c.name for c in wiring.inputs]
    for kind, channels in (("output", (*wiring.outputs, *wiring.idle)), ("input", wiring.inputs)):
        for i, c in enumerate(channels):
            rows += _numbers(f"{kind}_{i}", c)
        first = len(channels) - (wiring.recorded if kind == "input" else 0)
        listed = ",\n".join(
            f"    {{{_channel(f'{kind}_{i}', c, wiring.period, read, recorded=i >= first)}}}"
            for i, c in enumerate(channels)
        )
        rows.append(f"static const bl_channel {kind}s[] = {{\n{listed or '    {.name = NULL}'}\n}};")
    faults = ",\n".join(f"    {{{_fault(f)}}}" for f in lab.faults) or "    {.at = NULL}"
    rows.append(f"static const bl_fault_source faults[] = {{\n{faults}\n}};")
    ways = {"send": lab.packet.send, "receive": lab.packet.receive}
    rows += [_side(way, side) for way, side in ways.items()]
    lines = "".join(
        f", .{w} = {c_string(getattr(lab, w))}" for w in ("stop", "beat", "enable") if getattr(lab, w)
    )
    sides = ", ".join(f".{way} = {_side_row(way, side)}" for way, side in ways.items())
    rows.append(
        f"const bl_channels bl_lab = {{.outputs = {len(wiring.outputs)}, .inputs = {len(wiring.inputs)}, "
        f".faults = {len(lab.faults)}, .idles = {len(wiring.idle)},\n"
        f"    .output = outputs, .input = inputs, .fault = faults, "
        f".is_big = {int(lab.packet.byte_order == 'big')}{lines},\n    {sides}}};\n"
    )
    return "\n".join([*head, *rows])


def _numbers(name: str, c: LabChannel) -> list[str]:
    rows = [f"static const double {name}_value[] = {{{', '.join(map(c_number, c.calibration.values))}}};"]
    if c.calibration.points:
        rows.append(
            f"static const double {name}_raw[] = {{{', '.join(map(c_number, c.calibration.points))}}};"
        )
    return rows


def _channel(name: str, c: LabChannel, period: float, inputs: list[str], *, recorded: bool) -> str:
    fields = {
        "name": c_string(c.name),
        "unit": c_string(c.unit),
        "one": c_number(factor_of(c.unit)),
        "raw_unit": c_string(si_unit(c.raw)),
        "at": c_string(c.channel),
        "type": list(TYPES).index(c.type) if c.type else -1,
        "count": len(c.calibration.values),
        "raw": f"{name}_raw" if c.calibration.points else "NULL",
        "value": f"{name}_value",
        "zero": c_number(c.zero),
        "low": c_number(c.low),
        "high": c_number(c.high),
        "least": c_number(c.least),
        "most": c_number(c.most),
        "keep": c_number(math.exp(-2 * math.pi * c.filter * period) if c.filter else 0.0),
        "rest": c_number(c.rest),
        "feedback": inputs.index(c.feedback) if c.feedback in inputs else -1,
        "recorded": int(recorded),
    }
    return ", ".join(f".{word} = {value}" for word, value in fields.items())


def _fault(f: ControllerFault) -> str:
    fields = {
        "at": c_string(f.channel),
        "type": list(TYPES).index(f.type) if f.type else -1,
        "bit": -1 if f.bit is None else f.bit,
        "active": f.active,
        "code": f.code,
        "words": c_string(f.words),
        "unpowered": int(f.unpowered),
    }
    return ", ".join(f".{word} = {value}" for word, value in fields.items())


def _side(name: str, side: PacketSide) -> str:
    rows = ", ".join(
        f"{{{ROLES.index(f.role)}, {list(TYPES).index(f.type)}, {f.at}, {c_number(f.value)}}}"
        for f in side.fields
    )
    return f"static const bl_packet_field {name}_fields[] = {{{rows or '{0, 0, 0, 0.0}'}}};"


def _side_row(name: str, side: PacketSide) -> str:
    return f"{{{side.bytes}, {len(side.fields)}, {name}_fields}}"
