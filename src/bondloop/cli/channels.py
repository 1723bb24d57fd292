"""`bondloop channels`: the laboratory's channels: look, set zeros, move one output slowly, print a sheet."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bondloop.cli.options import (
    COUNT,
    PATH,
    RATE,
    TIME,
    C,
    driver_option,
    include_option,
    json_option,
    library_option,
)
from bondloop.cli.output import print_json
from bondloop.cli.settings import find_test
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest
    from bondloop.realtime import Measured, Status
    from bondloop.realtime.channels import Bench, Channels


@click.group("channels", no_args_is_help=True)
def channels() -> None:
    """Check the file of the laboratory's channels, show values, set zeros, move an output, print a sheet."""


file_argument = click.argument("file", type=PATH, metavar="CHANNELS.toml", help="The channels file.")
name_argument = click.argument("name", metavar="CHANNEL", help="Name of a channel.")
test_option = click.option("--test", help="A test whose signals must have channels that fit: name or file.")
operator_option = click.option("--operator", help="Who sets it; your user name if left out.")


def reaching(verb: C) -> C:
    """Add the options by which the channels are reached."""
    link = click.option(
        "--link", default="", show_default=False, help="Where the channels are, if not as the file says."
    )
    rate = click.option("--rate", type=RATE, default=100.0, help="Samples a second.")
    for option in (include_option, library_option, driver_option, rate, link):
        verb = option(verb)
    return verb


@channels.command("check")
@file_argument
@test_option
@json_option
def check(
    file: Path,
    test: str | None,
    as_json: bool,
) -> None:
    """Read a channels file, and compare it with a test; all faults at once, by line."""
    lab = _read(file, test)
    if as_json:
        print_json(lab.describe())
        return
    fits = f"; every signal of {test} has its channel" if test else ""
    ways = [c.direction for c in lab.channels]
    found = [_counted(ways.count(way), way) for way in ("output", "input", "auxiliary")]
    print(f"{file}: {', '.join(words for words in found if words)}{fits}")


@channels.command("sheet")
@file_argument
@click.option("--out", "-o", type=PATH, help="Write it into this file: .html with figures, or text.")
def sheet(
    file: Path,
    out: Path | None,
) -> None:
    """Print a sheet of the channels: calibrations, ranges, zeros and who set them."""
    from bondloop.realtime.channels import sheet_html, sheet_text

    lab = _read(file)
    if out is None:
        print(sheet_text(lab))
        return
    out.write_text(sheet_html(lab) if out.suffix == ".html" else sheet_text(lab) + "\n", encoding="utf-8")
    print(f"wrote {out}")


@channels.command("show")
@file_argument
@test_option
@reaching
@click.option("--seconds", type=TIME, help="How long; until Ctrl-C if left out.")
@json_option
def show(
    file: Path,
    test: str | None,
    seconds: float | None,
    as_json: bool,
    **reach: Any,
) -> None:
    """Show what is read, in the channels' units, until Ctrl-C; nothing is commanded."""
    lab = _read(file, test)
    bench = _bench(lab, **reach)
    newest: dict[str, float] = {}
    line = _line(lab, newest, quiet=as_json)
    status = bench.watch(line, seconds)
    if as_json:
        print_json({"values": newest, "cause": status.cause, "commands_sent": status.link["sent"]})
    elif sys.stderr.isatty():
        print(file=sys.stderr)
    _end(status, quiet=as_json)


@channels.command("zero")
@file_argument
@name_argument
@click.option("--to", help="What it shall show now, such as '2 mm'; 0 if left out.")
@click.option("--samples", type=COUNT, default=200, help="Samples of which the mean is taken.")
@operator_option
@click.option("--undo", is_flag=True, help="Take back the last one instead; nothing is read.")
@reaching
@json_option
def zero(
    file: Path,
    name: str,
    to: str | None,
    samples: int,
    operator: str | None,
    undo: bool,
    as_json: bool,
    **reach: Any,
) -> None:
    """Set an input's zero, by what it shows now; the file keeps the old one, the time and the operator."""
    from bondloop.files import set_zero, undo_zero, zero_in_unit
    from bondloop.units import quantity

    who = operator or getpass.getuser()
    if undo:
        note, deviation = undo_zero(file, name, who), 0.0
    else:
        lab = _read(file)
        unit = lab[name].unit
        wanted = 0.0 if to is None else _in_si(to, unit)
        reading = _bench(lab, **reach).read(name, samples)
        one = quantity(f"1 {unit}") if unit else 1.0
        after = zero_in_unit(lab, name) + (reading.mean - wanted) / one
        note, deviation = set_zero(file, name, float(f"{after:.9g}"), who), reading.deviation / one
    unit = _read(file)[name].unit
    if as_json:
        print_json({**vars(note), "unit": unit, "deviation": deviation})
        return
    spread = "" if undo else f" (it varied by {deviation:.2g} {unit})".replace(" )", ")")
    change = f"{note.before:g} -> {note.after:g} {unit}{spread}"
    print(f"zero of {name}: {change}, noted in {file} for {note.operator}")


@channels.command("exercise")
@file_argument
@name_argument
@click.option("--to", required=True, help="Where to, such as '5 mm': within the limits of the file.")
@click.option("--hold", type=TIME, default=1.0, help="Seconds to stay there.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@reaching
@json_option
def exercise(
    file: Path,
    name: str,
    to: str,
    hold: float,
    yes: bool,
    as_json: bool,
    **reach: Any,
) -> None:
    """Move one output slowly there and back, along raised cosines; Ctrl-C leads it to rest.

    It never goes beyond the limits of the file, nor faster than its rate; without these nothing is moved. It
    begins where its feedback shows it, or at rest where it has none.
    """
    from bondloop.realtime.channels import shown_value, stroke_of

    lab = _read(file)
    channel = lab[name]
    stroke = stroke_of(channel, _in_si(to, channel.unit), hold)
    bench = _bench(lab, **reach)
    begin = f"from where {channel.feedback} shows it" if channel.feedback else "taken to be at rest now"
    words = (
        f"{name} at channel {channel.channel} of {bench.url}: {begin}, to "
        f"{shown_value(channel.rest, channel)}, "
        f"to {shown_value(stroke.to, channel)} in {stroke.way:.3g} s, {hold:g} s there, and back"
    )
    if not yes:
        print(words, file=sys.stderr)
        if not sys.stdin.isatty() or not click.confirm("Is nobody near it, and the emergency stop at hand?"):
            raise InputError("nothing was moved; answer yes at the terminal, or give --yes")
    newest: dict[str, float] = {}
    line = _line(lab, newest, quiet=as_json)

    def show_all(command: float, measured: Measured) -> None:
        line({name: (command, ""), **measured})

    status = bench.exercise(stroke, show_all)
    if as_json:
        print_json({"channel": name, "to": stroke.to, "cause": status.cause, "fault": status.fault_words})
    elif sys.stderr.isatty():
        print(file=sys.stderr)
    _end(status, quiet=as_json)


def _counted(count: int, way: str) -> str:
    if way == "auxiliary":
        return f"{count} auxiliary" if count else ""
    return f"{count} {way}{'s' * (count != 1)}"


def _in_si(text: str, unit: str) -> float:
    from bondloop.units import quantity, unit_in

    return quantity(text, unit or "1") if unit_in(text) else quantity(f"{text} {unit}")


def _read(file: Path, test: str | None = None) -> Channels:
    from bondloop.files import read_channels

    found: HybridTest | None = None
    if test is not None:
        plain, _ = find_test(test, [])
        if not hasattr(plain, "computer_tick"):
            raise InputError(f"{test} is a plain simulation: it has no signals that need channels")
        found = plain
    return read_channels(file, found)


def _bench(lab: Channels, rate: float, **reach: Any) -> Bench:
    from bondloop.realtime.channels import Bench

    if not 1.0 <= rate <= 1e5:
        raise InputError(f"expected a rate from 1 to 100,000 samples a second; found {rate:g}")
    return Bench(lab, rate=rate, **reach)


def _line(lab: Channels, newest: dict[str, float], *, quiet: bool) -> Callable[[Measured], None]:
    """Return what writes values in the channels' units: a line that is rewritten, or one each time."""
    from bondloop.realtime.channels import shown_value

    by_name = {(c.name if c.direction != "auxiliary" else f"aux.{c.name}"): c for c in lab.channels}

    def write(measured: Measured) -> None:
        newest.update({name: value for name, (value, _) in measured.items()})
        words = "   ".join(
            f"{known.name} {shown_value(value, known)}" if (known := by_name.get(name)) else f"{name}: {unit}"
            for name, (value, unit) in measured.items()
        )
        if quiet:
            return
        if sys.stderr.isatty():
            print(f"\r\x1b[K{words}", end="", file=sys.stderr, flush=True)
        else:
            print(words, flush=True)

    return write


def _end(status: Status, *, quiet: bool) -> None:
    from bondloop.realtime.channels import end_reason

    if status.cause:
        if not quiet:
            print(f"stopped: {end_reason(status)}")
        raise SystemExit(1)
