"""The `bondloop` command: its verbs, and how it fails."""

from __future__ import annotations

from typing import Annotated

import typer

from bondloop import __version__
from bondloop.cli import channels, dashboard, doctor, export, identify, realtime, run, show, stop, study, tune
from bondloop.cli import dashboard as play
from bondloop.cli import models as draw
from bondloop.cli import models as equations
from bondloop.cli import models as listing
from bondloop.cli import realtime as rig
from bondloop.cli import realtime as serve
from bondloop.cli import run as check
from bondloop.cli import show as report
from bondloop.cli import tune as benchmark
from bondloop.cli.output import FailingInOneSentence

# Without Rich: importing it would double the time in which --help answers.
app = typer.Typer(
    name="bondloop",
    cls=FailingInOneSentence,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("doctor")(doctor.doctor)
app.command("list")(listing.list_entries)
app.command("equations")(equations.equations)
app.command("draw")(draw.draw)
app.command("run")(run.run)
app.command("check")(check.check)
app.command("study")(study.study)
app.command("benchmark")(benchmark.benchmark)
app.command("tune")(tune.tune)
app.command("schema")(listing.schema)
app.command("identify")(identify.identify)
app.command("show")(show.show)
app.command("realtime")(realtime.realtime)
app.command("rig")(rig.rig)
app.command("stop")(stop.stop)
app.command("dashboard")(dashboard.dashboard)
app.command("play")(play.play)
app.command("serve")(serve.serve)
app.command("report")(report.report)
app.add_typer(channels.channels, name="channels")
app.add_typer(export.export, name="export")


def _print_version(asked: bool) -> None:
    if asked:
        print(f"bondloop {__version__}")
        raise typer.Exit


@app.callback()
def bondloop(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    """Design, rehearse and run real-time hybrid tests, from one model in Python."""
    del version  # its callback has done the work
