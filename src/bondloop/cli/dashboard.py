"""`bondloop dashboard` and `play`: the operator's page, and a page in which a tick runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bondloop.cli.options import PATH, WHOLE, json_option, plain, seconds_option, set_option, test_argument
from bondloop.cli.output import print_json
from bondloop.cli.settings import find_test, own_length, short_name
from bondloop.display import at_work
from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.dashboard import Subject
    from bondloop.hybrid import HybridTest


@click.command("play")
@test_argument
@click.option("--out", "-o", type=PATH, help="The page to write; NAME.html if left out.")
@seconds_option
@set_option
@click.option(
    "--slider",
    multiple=True,
    help="A parameter that the reader may move: PATH, or PATH=LEAST:MOST. May be repeated.",
)
@click.option(
    "--variant",
    multiple=True,
    help="The test once more with other settings: 'direct: controller=direct'. May be repeated.",
)
@json_option
def play(
    source: str,
    out: Path | None,
    seconds: float | None,
    settings: tuple[str, ...],
    slider: tuple[str, ...],
    variant: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write one self-contained page in which the very tick runs in the browser, with sliders."""
    from bondloop.report import write_play

    path = out or Path(f"{short_name(source)}.html")
    first, module = find_test(source, settings)
    length = own_length(first, module, seconds)
    tests: dict[str, HybridTest] = {"as it is": _hybrid(first, source)}
    for text in variant:
        name, own = variant_of(text)
        tests[name] = _hybrid(find_test(source, [*(settings), *own])[0], source)
    with at_work("compiling for the browser", as_json):
        write_play(tests, path, seconds=length, sliders=dict(slider_of(s) for s in slider))
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


@click.command("dashboard")
@click.argument(
    "source",
    required=False,
    metavar="[NAME|FILE.py|FILE.toml]",
    help="The test to prepare and to rehearse from the page; left out: only watch and replay.",
)
@click.option("--run", type=PATH, help="A run file to replay.")
@click.option(
    "--segment",
    default="",
    show_default=False,
    help="The loop to attach to, as `bondloop realtime` prints it.",
)
@click.option("--port", type=WHOLE, default=8750, help="Where to listen; 0: any free port.")
@click.option("--stop-port", type=WHOLE, help="Where the page's stop listens; --port plus one if left out.")
@click.option(
    "--host", default="127.0.0.1", help="Address to listen at; beyond this machine only with a token."
)
@click.option(
    "--token",
    default="",
    show_default=False,
    help="Demanded from every browser; others on this machine can see it.",
)
@click.option("--token-file", type=PATH, help="File with the token, which only you can read.")
@click.option("--tls-cert", type=PATH, help="Certificate, as PEM.")
@click.option("--tls-key", type=PATH, help="Its key, as PEM.")
@click.option(
    "--no-operator",
    default="30,nothing",
    metavar="SECONDS,retreat|nothing",
    help="What happens when no operator is there for so long while the rig moves.",
)
@click.option(
    "--runs", type=PATH, default=Path("out"), help="Folder of the run files: to replay, and for rehearsals."
)
@click.option(
    "--rehearsal",
    default="",
    show_default=False,
    metavar="WORDS",
    help="Further words of `bondloop realtime` for rehearsals: '--priority 80 --cpu 3'.",
)
@set_option
def dashboard(  # noqa: PLR0913, PLR0917 - an argument an option
    source: str | None,
    run: Path | None,
    segment: str,
    port: int,
    stop_port: int | None,
    host: str,
    token: str,
    token_file: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    no_operator: str,
    runs: Path,
    rehearsal: str,
    settings: tuple[str, ...],
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
            subject=None if source is None else _subject(source, settings, rehearsal),
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


def _subject(source: str, settings: Sequence[str], rehearsal: str) -> Subject:
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
