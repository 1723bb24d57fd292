"""`bondloop dashboard`: the operator's page."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bondloop.cli.quantities import WHOLE
from bondloop.cli.settings import Setting, find_test, own_length
from bondloop.cli.source import short_name
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.dashboard import Subject


def dashboard(  # noqa: PLR0913, PLR0917 - an argument an option
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FILE.py|FILE.toml]",
            help="The test to prepare and to rehearse from the page; left out: only watch and replay.",
        ),
    ] = None,
    run: Annotated[Path | None, typer.Option("--run", help="A run file to replay.")] = None,
    segment: Annotated[
        str, typer.Option("--segment", help="The loop to attach to, as `bondloop realtime` prints it.")
    ] = "",
    port: Annotated[
        int, typer.Option("--port", parser=WHOLE, help="Where to listen; 0: any free port.")
    ] = 8750,
    stop_port: Annotated[
        int | None,
        typer.Option(
            "--stop-port", parser=WHOLE, help="Where the page's stop listens; --port plus one if left out."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; beyond this machine only with a token.")
    ] = "127.0.0.1",
    token: Annotated[
        str, typer.Option("--token", help="Demanded from every browser; others on this machine can see it.")
    ] = "",
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="File with the token, which only you can read.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="Certificate, as PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Its key, as PEM.")] = None,
    no_operator: Annotated[
        str,
        typer.Option(
            "--no-operator",
            metavar="SECONDS,retreat|nothing",
            help="What happens when no operator is there for so long while the rig moves.",
        ),
    ] = "30,nothing",
    runs: Annotated[
        Path, typer.Option("--runs", help="Folder of the run files: to replay, and for rehearsals.")
    ] = Path("out"),
    rehearsal: Annotated[
        str,
        typer.Option(
            "--rehearsal",
            metavar="WORDS",
            help="Further words of `bondloop realtime` for rehearsals: '--priority 80 --cpu 3'.",
        ),
    ] = "",
    settings: Setting = None,
) -> None:
    """Serve the operator's page: watch and steer a running test in the browser, rehearse, replay, prepare.

    It attaches to a loop that runs on this machine. Ending it, or closing the page, disturbs no test.
    """
    from bondloop.dashboard import Absence, Settings, serve

    if token and token_file is not None:
        raise InputError("--token and --token-file both state the token; give one of them")
    for path in (run, tls_cert, tls_key, token_file):
        if path is not None and not path.is_file():
            raise InputError(f"there is no file {path}")
    serve(
        Settings(
            host=host,
            port=port,
            stop_port=stop_port,
            token=token if token_file is None else _read_token(token_file),
            certificate=tls_cert,
            key=tls_key,
            segment=segment,
            subject=None if source is None else _subject(source, settings or [], rehearsal),
            runs=runs,
            run=run,
            absence=Absence.parsed(no_operator),
        ),
        lambda text: print(text, flush=True),
    )


def _read_token(path: Path) -> str:
    if path.stat().st_mode & 0o077:
        raise InputError(f"{path} can be read by others: chmod 600 it")
    return path.read_text(encoding="utf-8").strip()


def _subject(source: str, settings: list[str], rehearsal: str) -> Subject:
    from bondloop.dashboard import Subject

    test, module = find_test(source, settings)
    if not hasattr(test, "computer_tick"):
        raise InputError(f"{short_name(source)} is a plain simulation: it has no rig, and nothing to operate")
    words = tuple(word for text in settings for word in ("--set", text))
    channels = [{"name": c.name, "unit": c.unit, **c.meaning.describe()} for c in test.computer_tick.channels]
    seconds = own_length(test, module, None)
    return Subject(source, words, short_name(source), test.name, seconds, channels, _words(rehearsal))


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"--rehearsal: expected words of a command line; {error} in {text!r:.60}") from None
