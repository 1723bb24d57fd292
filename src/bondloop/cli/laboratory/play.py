"""`bondloop play`: a page in which the reader runs the test, with sliders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bondloop.cli.output import AsJson, print_json
from bondloop.cli.quantities import TIME, plain
from bondloop.cli.settings import Setting, TestSource, find_test, own_length
from bondloop.cli.source import short_name
from bondloop.display import at_work
from bondloop.errors import InputError

if TYPE_CHECKING:
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
