"""`bondloop show` and `report`: what is in a file of measurements or of a run, and the report of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bondloop.cli.options import PATH, RATE, json_option
from bondloop.cli.output import print_json
from bondloop.display import at_work
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.results.records import Record


@click.command("report")
@click.argument(
    "files",
    type=PATH,
    nargs=-1,
    required=True,
    metavar="RUN.h5...",
    help="Run files; several are set side by side.",
)
@click.option(
    "--out", "-o", type=PATH, help="The page to write; report.html beside the first file if left out."
)
@click.option("--check/--no-check", default=True, help="Check the test anew, with its figure and margins.")
@json_option
def report(
    files: tuple[Path, ...],
    out: Path | None,
    check: bool,
    as_json: bool,
) -> None:
    """Write a report: what was tested, might it be run, how it went, how to repeat it, what to cite."""
    from bondloop.report import write_report

    for file in files:
        if not file.is_file():
            raise InputError(f"{file}: there is no such file; `bondloop run` and `realtime` write run files")
    path = out or files[0].with_name("report.html")
    with at_work("writing the report", as_json):
        write_report(files, path, check=check)
    if as_json:
        print_json({"runs": [str(f) for f in files], "file": str(path)})
    else:
        print(f"wrote {path}; print it from a browser for a PDF")


@click.command("show")
@click.argument(
    "file",
    type=PATH,
    metavar="FILE",
    help="Measurements (text, .lvm, .mat, .h5, .npz, .tdms, .mf4, .parquet) or a run file.",
)
@click.option("--time", help="The channel that holds the time.")
@click.option("--rate", type=RATE, help="Samples a second, for a file without time stamps.")
@json_option
def show(
    file: Path,
    time: str | None,
    rate: float | None,
    as_json: bool,
) -> None:
    """Tell what is in a file: channels, units, rate, gaps, what looks wrong; of a run how it ended."""
    from bondloop.identify import contents_of, read_contents

    about: dict[str, object] = {}
    if _is_run(file):
        from bondloop.readers import Measurements
        from bondloop.results.records import Record

        record = Record.load(file, isolated=True)
        about = _run(record)
        found = Measurements(str(file), "run file of bondloop")
        found.channels.update({"time": record.time, **record.channels})
        found.units.update({"time": "s", **record.units})
        contents = contents_of(found, time, rate, _sensed(record))
    else:
        contents = read_contents(file, time, rate)
    if as_json:
        print_json({**contents.to_dict(), **({"run": about} if about else {})})
        return
    print(contents)
    for key, value in about.items():
        print(f"{key}: {value}")


def _is_run(file: Path) -> bool:
    """Whether a file is a run of bondloop: told by its first bytes and the word in its attributes."""
    from bondloop.containers import expect_file

    expect_file(file)
    with file.open("rb") as content:
        start = content.read(2**16)
    return start.startswith(b"\x89HDF\r\n\x1a\n") and b"bondloop run" in start


def _sensed(record: Record) -> list[str] | None:
    """Return the channels of a run that sensors made; None where the file does not say what they are."""
    from bondloop.engine.ir import Role

    told = any(meaning.role is not Role.OTHER for meaning in record.meanings.values())
    return record.channels_of(Role.MEASURED) if told else None


def _run(record: Record) -> dict[str, object]:
    """Return what was tested and how it ended, as far as the file says it."""
    from bondloop.errors import BondloopError
    from bondloop.rehearsal import Run

    description, attributes = record.description, record.attributes
    kind = {"HybridTest": "a hybrid test"}.get(str(description.get("test", "")), description.get("test"))
    about: dict[str, object] = {}
    if description.get("name") or kind:
        about["tested"] = f"{description.get('name', 'no name')} ({kind or 'kind not known'})"
    for word in ("rig", "controller"):
        part = description.get(word)
        if isinstance(part, dict) and part.get(word):
            about[word] = part[word]
    settings = description.get("realtime")
    if isinstance(settings, dict) and settings.get("machine"):
        about["rig"] = "a machine"  # the test's own, emulated one was not in force
    if attributes.get("status"):
        about["ended"] = f"{attributes['status']}: {attributes.get('message', '')}"
    for word in ("created", "backend"):
        if attributes.get(word):
            about[word] = attributes[word]
    try:
        run = Run(record)
        about |= {
            word: said for word, said in (("operator", run.operator), ("self-test", run.self_test)) if said
        }
        if run.preflight:
            about["pre-flight"] = "; ".join(f"{i['text']}: {i['kind']}, {i['by']}" for i in run.preflight)
        about["verdict"] = run.verdict
    except (BondloopError, ValueError, TypeError, KeyError, ArithmeticError) as error:
        about["verdict"] = f"cannot be told: {' '.join(str(error).split())[:200]}"
    return about
