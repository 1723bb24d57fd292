"""A sheet of the channels: for the wall of the laboratory, and for the file of the test."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

import numpy as np

from bondloop.units import quantity, si_unit

if TYPE_CHECKING:
    from bondloop.realtime.channels.channel import Channels, LabChannel


HEADS = (
    "direction",
    "channel",
    "name",
    "calibration",
    "range",
    "zero",
    "limits",
    "rate",
    "rest",
    "feedback",
    "filter",
    "note",
)


def sheet_text(lab: Channels) -> str:
    """Return the channels as lines of text.

    Parameters
    ----------
    lab
        The channels.

    Examples
    --------
    >>> from bondloop.realtime.channels import Calibration, Channels, LabChannel
    >>> x = LabChannel("command", "output", "mm", "V", "0", Calibration((0.0, 0.005)), low=-10.0, high=10.0)
    >>> print(sheet_text(Channels((x,), link="comedi:///dev/comedi0")))
    channels at comedi:///dev/comedi0
    <BLANKLINE>
    direction  channel  name     calibration          range      zero  rest
    output     0        command  0 mm + (5 mm/V) raw  -10..10 V  0 mm  0 mm
    """
    rows = [HEADS, *(_row(c) for c in lab.channels)]
    used = [i for i in range(len(HEADS)) if any(row[i] for row in rows[1:])]
    rows = [tuple(row[i] for i in used) for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(used))]
    lines = [f"channels at {lab.link or '(the link is given on the command line)'}", ""]
    lines += ["  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, *_beside(lab)])


def _beside(lab: Channels) -> list[str]:
    """Return lines, faults and zeros that were set."""
    lines = [
        f"{word}: line {getattr(lab, word)}" for word in ("stop", "beat", "enable") if getattr(lab, word)
    ]
    lines += [
        f"fault {f.code}: {f.words} ({f.channel}{'' if f.bit is None or not f.type else f', bit {f.bit}'}"
        f"{', low' if not f.active else ''}{', no power then' if f.unpowered else ''})"
        for f in lab.faults
    ]
    lines += [
        f"zero of {z.channel}: {z.before:g} -> {z.after:g}, {z.time}, {z.operator}{', undone' * z.undo}"
        for z in lab.zeroings
    ]
    return ["", *lines] if lines else []


def _row(c: LabChannel) -> tuple[str, ...]:
    one = factor_of(c.unit)

    def span(low: float, high: float, factor: float, unit: str) -> str:
        if not (math.isfinite(low) or math.isfinite(high)):
            return ""
        if max(abs(low), abs(high)) > 1e30:
            return c.type
        return f"{low / factor:g}..{high / factor:g} {unit}".rstrip()

    lag = f"{c.filter:g} Hz, lags {1e3 / (2 * math.pi * c.filter):.3g} ms" if c.filter else ""
    return (
        c.direction,
        f"{c.channel} {c.type}".strip(),
        c.name,
        _calibration(c, one, factor_of(c.raw)),
        span(c.low, c.high, factor_of(c.raw), c.raw),
        f"{c.zero / one:g} {c.unit}".strip(),
        span(c.least, c.most, one, c.unit),
        f"{c.rate / one:g} {c.unit}/s".strip() if c.rate else "",
        shown_number(c.rest, c.unit) if c.direction == "output" else "",
        c.feedback,
        lag,
        c.note,
    )


def factor_of(unit: str) -> float:
    """Return what one of a unit is in SI units; 1 without one."""
    return quantity(f"1 {unit}") if unit else 1.0


def _calibration(c: LabChannel, one: float, raw: float) -> str:
    """Write a calibration in the units of the file."""
    if c.calibration.points:
        pairs = zip(c.calibration.points, c.calibration.values, strict=True)
        return "table: " + ", ".join(f"{p / raw:g} → {v / one:g}" for p, v in pairs)
    numbers = [v / one * raw**k for k, v in enumerate(c.calibration.values)]
    if c.calibration.is_linear:
        per = f"{c.unit or '1'}/{c.raw}" if c.raw else c.unit
        offset = f"{numbers[0]:g} {c.unit}".rstrip()
        return f"{offset} + ({numbers[1]:g} {per})".replace(" )", ")") + " raw"
    terms = [f"{x:+g} raw^{k}" for k, x in enumerate(numbers)]
    return " ".join(terms).replace(" raw^0", "").replace("raw^1 ", "raw ").removeprefix("+")


def sheet_html(lab: Channels) -> str:
    """Return the channels as a page of HTML, with a figure of each calibration.

    Parameters
    ----------
    lab
        The channels.
    """
    head = "".join(f"<th>{h}</th>" for h in (*HEADS, "curve"))
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _row(c)) + f"<td>{_curve(c)}</td></tr>\n"
        for c in lab.channels
    )
    beside = "".join(f"<li>{html.escape(line)}</li>\n" for line in _beside(lab) if line)
    link = html.escape(lab.link or "the link is given on the command line")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Channels</title><style>
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #1a1a1a; background: #fff; }}
table {{ border-collapse: collapse; }}
th, td {{ text-align: left; padding: .3em .7em; border-bottom: 1px solid #ccc; }}
th {{ border-bottom: 2px solid #444; }} td {{ white-space: nowrap; }} small {{ display: block; color: #555; }}
</style></head><body><h1>Channels</h1><p>At <code>{link}</code></p>
<table><tr>{head}</tr>
{rows}</table><ul>{beside}</ul></body></html>
"""


def _curve(c: LabChannel) -> str:
    """Return a small figure: the value over the raw one, in the units of the file."""
    one, raw = factor_of(c.unit), factor_of(c.raw)
    if not (math.isfinite(c.low) and math.isfinite(c.high)) or c.high - c.low > 1e30:
        return ""
    xs = [c.low + (c.high - c.low) * i / 60 for i in range(61)]
    with np.errstate(over="ignore", invalid="ignore"):  # silly numbers have no figure
        ys = [float(c.value(min(max(x, c.low), c.high)) / one) for x in xs]
    low, high = min(ys), max(ys)
    if not (all(map(math.isfinite, ys)) and math.isfinite(high - low)):
        return ""
    tall = (high - low) or 1.0
    points = " ".join(f"{4 + 2 * i:g},{44 - 40 * (y - low) / tall:.1f}" for i, y in enumerate(ys))
    words = f"{c.low / raw:g}..{c.high / raw:g} {c.raw} to {low:.4g}..{high:.4g} {c.unit}"
    return (
        f'<svg width="128" height="48" role="img"><title>{html.escape(words)}</title>'
        f'<rect x="4" y="4" width="120" height="40" fill="none" stroke="#ccc"/>'
        f'<polyline points="{points}" fill="none" stroke="#1f5fa8" stroke-width="1.5"/></svg>'
        f"<small>{low:.4g}..{high:.4g} {html.escape(c.unit)}</small>"
    )


def shown_number(value: float, unit: str) -> str:
    """Write a value in SI units in another unit.

    >>> shown_number(-0.0005, "mm")
    '-0.5 mm'
    """
    return f"{value / factor_of(unit):.5g} {unit}".rstrip()


def shown_value(value: float, channel: LabChannel) -> str:
    """Write a value in SI units in the channel's own.

    >>> from bondloop.realtime.channels import Calibration, LabChannel
    >>> shown_value(0.0125, LabChannel("x", "input", "mm", "V", "0", Calibration((0.0, 1.0))))
    '+12.5 mm'
    """
    return f"{value / factor_of(channel.unit):+.5g} {channel.unit or si_unit(channel.unit)}".rstrip()
