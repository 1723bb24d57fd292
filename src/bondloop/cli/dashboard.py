"""`bondloop dashboard`: the operator's page."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bondloop.cli.output import AsJson, print_json
from bondloop.cli.settings import TIME, WHOLE, Setting, TestSource, find_test, own_length, plain, short_name
from bondloop.display import at_work
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.dashboard import Subject
    from bondloop.hybrid import HybridTest


def play(
    source: TestSource,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page to write; NAME.html if left out.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", parser=TIME, help="Length of the test; the test's own if left out."),
    ] = None,
    settings: Setting = None,
    slider: Annotated[
        list[str] | None,
        typer.Option(
            "--slider",
            help="A parameter that the reader may move: PATH, or PATH=LEAST:MOST. May be repeated.",
        ),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            "--variant",
            help="The test once more with other settings: 'direct: controller=direct'. May be repeated.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write one self-contained page in which the very tick runs in the browser, with sliders."""
    from bondloop.report import write_play

    path = out or Path(f"{short_name(source)}.html")
    first, module = find_test(source, settings or [])
    length = own_length(first, module, seconds)
    tests: dict[str, HybridTest] = {"as it is": _hybrid(first, source)}
    for text in variant or []:
        name, own = variant_of(text)
        tests[name] = _hybrid(find_test(source, [*(settings or []), *own])[0], source)
    with at_work("compiling for the browser", as_json):
        write_play(tests, path, seconds=length, sliders=dict(slider_of(s) for s in slider or []))
    if as_json:
        print_json({"test": short_name(source), "file": str(path)})
    else:
        print(f"wrote {path}: open it in a browser")


def _hybrid(test: object, source: str) -> HybridTest:
    from bondloop.hybrid import HybridTest

    if not isinstance(test, HybridTest):
        raise InputError(f"{short_name(source)} is no hybrid test, and only these can be played")
    return test


def variant_of(text: str) -> tuple[str, list[str]]:
    """Return the name of a variant and its settings.

    >>> variant_of("slow: controller=direct, rate=500 Hz")
    ('slow', ['controller=direct', 'rate=500 Hz'])
    >>> variant_of("controller=direct")
    ('controller=direct', ['controller=direct'])
    """
    name, colon, rest = text.partition(":")
    settings = [part.strip() for part in (rest if colon else text).split(",") if part.strip()]
    if not settings or not name.strip() or not all("=" in s for s in settings):
        raise InputError(f"--variant: expected 'NAME: setting=value, ...'; found {text!r}")
    return name.strip(), settings


def slider_of(text: str) -> tuple[str, tuple[float, float] | None]:
    """Return the path of a parameter, and the ends of its slider if there are any.

    >>> slider_of("rig.transfer.damper.damping=1:100"), slider_of("excitation.scale")
    (('rig.transfer.damper.damping', (1.0, 100.0)), ('excitation.scale', None))
    """
    path, equals, ends = text.partition("=")
    if not equals:
        return path.strip(), None
    try:
        least, most = (plain(part) for part in ends.split(":"))
    except ValueError:
        raise InputError(f"--slider: expected PATH=LEAST:MOST in SI units; found {text!r}") from None
    return path.strip(), (least, most)


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
