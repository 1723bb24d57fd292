"""`bondloop channels`: the laboratory's channels: look, set zeros, move one output slowly, print a sheet."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bondloop.cli.output import AsJson, print_json
from bondloop.cli.settings import COUNT, RATE, TIME, find_test
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest
    from bondloop.realtime import Measured, Status
    from bondloop.realtime.channels import Bench, Channels


channels = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The laboratory's channels: check their file, show live values, set zeros, move one output slowly, "
    "print a sheet.",
)

File = Annotated[Path, typer.Argument(metavar="CHANNELS.toml", help="The channels file.")]
Name = Annotated[str, typer.Argument(metavar="CHANNEL", help="Name of a channel.")]
Test = Annotated[
    str | None, typer.Option("--test", help="A test whose signals must have channels that fit: name or file.")
]
Link = Annotated[str | None, typer.Option("--link", help="Where the channels are, if not as the file says.")]
Rate = Annotated[float, typer.Option("--rate", parser=RATE, help="Samples a second.")]
Driver = Annotated[
    list[Path] | None, typer.Option("--driver", help="C file of a driver of your own; repeatable.")
]
Library = Annotated[
    list[str] | None, typer.Option("--library", help="Library that a driver needs: name or file; repeatable.")
]
Include = Annotated[
    list[Path] | None, typer.Option("--include", help="Folder of headers that a driver needs; repeatable.")
]
Operator = Annotated[str | None, typer.Option("--operator", help="Who sets it; your user name if left out.")]


@channels.command("check")
def check(file: File, test: Test = None, as_json: AsJson = False) -> None:
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
def sheet(
    file: File,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write it into this file: .html with figures, or text.")
    ] = None,
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
def show(  # noqa: PLR0913, PLR0917 - an argument an option
    file: File,
    test: Test = None,
    link: Link = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", parser=TIME, help="How long; until Ctrl-C if left out.")
    ] = None,
    rate: Rate = 100.0,
    driver: Driver = None,
    library: Library = None,
    include: Include = None,
    as_json: AsJson = False,
) -> None:
    """Show what is read, in the channels' units, until Ctrl-C; nothing is commanded."""
    lab = _read(file, test)
    bench = _bench(lab, link, rate, driver, library, include)
    newest: dict[str, float] = {}
    line = _line(lab, newest, quiet=as_json)
    status = bench.watch(line, seconds)
    if as_json:
        print_json({"values": newest, "cause": status.cause, "commands_sent": status.link["sent"]})
    elif sys.stderr.isatty():
        print(file=sys.stderr)
    _end(status, quiet=as_json)


@channels.command("zero")
def zero(  # noqa: PLR0913, PLR0917 - an argument an option
    file: File,
    name: Name,
    to: Annotated[
        str | None, typer.Option("--to", help="What it shall show now, such as '2 mm'; 0 if left out.")
    ] = None,
    samples: Annotated[
        int, typer.Option("--samples", parser=COUNT, help="Samples of which the mean is taken.")
    ] = 200,
    operator: Operator = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take back the last one instead; nothing is read.")
    ] = False,
    link: Link = None,
    rate: Rate = 100.0,
    driver: Driver = None,
    library: Library = None,
    include: Include = None,
    as_json: AsJson = False,
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
        reading = _bench(lab, link, rate, driver, library, include).read(name, samples)
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
def exercise(  # noqa: PLR0913, PLR0917 - an argument an option
    file: File,
    name: Name,
    to: Annotated[str, typer.Option("--to", help="Where to, such as '5 mm': within the limits of the file.")],
    hold: Annotated[float, typer.Option("--hold", parser=TIME, help="Seconds to stay there.")] = 1.0,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    link: Link = None,
    rate: Rate = 100.0,
    driver: Driver = None,
    library: Library = None,
    include: Include = None,
    as_json: AsJson = False,
) -> None:
    """Move one output slowly there and back, along raised cosines; Ctrl-C leads it to rest.

    It never goes beyond the limits of the file, nor faster than its rate; without these nothing is moved. It
    begins where its feedback shows it, or at rest where it has none.
    """
    from bondloop.realtime.channels import shown_value, stroke_of

    lab = _read(file)
    channel = lab[name]
    stroke = stroke_of(channel, _in_si(to, channel.unit), hold)
    bench = _bench(lab, link, rate, driver, library, include)
    begin = f"from where {channel.feedback} shows it" if channel.feedback else "taken to be at rest now"
    words = (
        f"{name} at channel {channel.channel} of {bench.url}: {begin}, to "
        f"{shown_value(channel.rest, channel)}, "
        f"to {shown_value(stroke.to, channel)} in {stroke.way:.3g} s, {hold:g} s there, and back"
    )
    if not yes:
        print(words, file=sys.stderr)
        if not sys.stdin.isatty() or not typer.confirm("Is nobody near it, and the emergency stop at hand?"):
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


def _bench(
    lab: Channels,
    link: str | None,
    rate: float,
    drivers: list[Path] | None,
    libraries: list[str] | None,
    includes: list[Path] | None,
) -> Bench:
    from bondloop.realtime.channels import Bench

    if not 1.0 <= rate <= 1e5:
        raise InputError(f"expected a rate from 1 to 100,000 samples a second; found {rate:g}")
    return Bench(lab, link or "", rate, drivers or [], libraries or [], includes or [])


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
    from bondloop.realtime.channels import told

    if status.cause:
        if not quiet:
            print(f"stopped: {told(status)}")
        raise typer.Exit(1)
