"""`bondloop run` and `check`: rehearse a test, or check it; verdict, figures, run file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bondloop.cli.options import (
    PATH,
    WHOLE,
    accept_option,
    checking,
    figures_option,
    json_option,
    limits_option,
    run_argument,
    seconds_option,
    set_option,
    test_argument,
)
from bondloop.cli.output import print_json
from bondloop.cli.settings import find_test, length_of, own_length, short_name
from bondloop.display import at_work, silent
from bondloop.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bondloop.check import Check
    from bondloop.rehearsal import Run


@click.command("check")
@test_argument
@seconds_option
@set_option
@click.option("--figure", type=PATH, help="Draw the check into this file: .png, .svg or .pdf.")
@accept_option
@limits_option
@click.option("--suggest", is_flag=True, help="Search for a change with which a refused test may be run.")
@json_option
def check(
    source: str,
    seconds: float | None,
    settings: tuple[str, ...],
    figure: Path | None,
    accept: tuple[str, ...],
    limits: Path | None,
    suggest: bool,
    as_json: bool,
) -> None:
    """Check a test before anything moves: stability, dry run, margins; exit with 1 if it should not run."""
    if figure is not None and figure.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError(f"--figure: expected a file that ends in .png, .svg or .pdf; found {figure}")
    test, module = find_test(source, settings)
    length = own_length(test, module, seconds)
    asked = checking(source, accept, limits)
    with at_work("checking", as_json):
        answer = _checked(test, length, source, asked)
        suggestion = answer.suggest() if suggest else None
    if figure is not None:
        answer.plot(figure)
    if as_json:
        more: dict[str, object] = {} if figure is None else {"figure": str(figure)}
        if suggestion is not None:
            more["suggestion"] = suggestion.to_dict()
        print_json({"test": short_name(source), **answer.to_dict(), **more})
    else:
        print(answer)
        if suggestion is not None:
            print(suggestion)
        if figure is not None:
            print(f"wrote {figure}")
    if not answer.passed:
        raise SystemExit(1)


def _checked(test: object, seconds: float | None, source: str, asked: Mapping[str, Any]) -> Check:
    """Check a test of either kind."""
    from bondloop.hybrid import HybridTest, PseudoDynamicTest

    if isinstance(test, (HybridTest, PseudoDynamicTest)):
        return test.check(seconds, **asked)
    raise InputError(
        f"{short_name(source)} is a simulation: it has no rig and no loop to check; `bondloop run` runs it"
    )


@click.command("run")
@run_argument
@seconds_option
@set_option
@click.option("--backend", default="auto", help="c, numpy, or auto: C where a compiler is found.")
@click.option(
    "--out",
    "-o",
    type=PATH,
    help="Folder for figures and the run file; out/NAME if left out, out/NAME-again for a saved run.",
)
@click.option("--every", type=WHOLE, default=1, help="Record every so many samples.")
@figures_option
@json_option
def run(
    source: str,
    seconds: float | None,
    settings: tuple[str, ...],
    backend: str,
    out: Path | None,
    every: int,
    figures: bool,
    as_json: bool,
) -> None:
    """Rehearse a test, or repeat a saved run (FILE.h5) exactly.

    Exits with 1 when the run had to be stopped; its record up to then is saved all the same.
    """
    folder = out or Path("out") / _name(source)
    found: dict[str, float] = {}
    own_figures: Callable[[Run, Path], list[Path]] | None = None
    if source.endswith((".h5", ".hdf5")):
        from bondloop.rehearsal import rerun

        if settings or seconds is not None:
            raise InputError(f"{source} is repeated exactly as it was; --set and --seconds do not apply")
        made = rerun(source, backend=backend, isolated=True)
        if folder.resolve() == Path(source).resolve().parent:
            folder = folder / "repeated"
    else:
        test, module = find_test(source, settings)
        length = length_of(test, module, seconds)
        made = test.run(length, backend=backend, every=every, progress=silent if as_json else None)
        own_figures = getattr(module, "figures", None)
        findings = getattr(module, "findings", None)
        if findings is not None and len(made.time) > 1:
            with at_work("working out the findings", as_json):
                found = findings(made)
    folder.mkdir(parents=True, exist_ok=True)
    files = [made.save(folder / "run.h5")]
    if figures and len(made.time) > 3:
        with at_work("drawing", as_json):
            files += _figures(made, folder, own_figures)
    _answer(source, made, found, files, as_json)
    if not made.completed:
        raise SystemExit(1)


def _name(source: str) -> str:
    """Return what a run is called: of a saved one, its folder's name or its own, and that it is a repetition.

    >>> _name("out/shear/run.h5"), _name("first.h5"), _name("tests/mine.toml")
    ('shear-again', 'first-again', 'mine')
    """
    if not source.endswith((".h5", ".hdf5")):
        return short_name(source)
    path = Path(source)
    return f"{path.resolve().parent.name if path.stem == 'run' else path.stem}-again"


def _answer(source: str, made: Run, found: dict[str, float], files: list[Path], as_json: bool) -> None:
    attributes = made.record.attributes
    if as_json:
        print_json(
            {
                "test": _name(source),
                "completed": made.completed,
                "message": attributes["message"],
                "verdict": made.verdict,
                "judgement": made.judgement.to_dict(),
                "findings": found,
                **({"difference": attributes["difference"]} if "difference" in attributes else {}),
                "metrics": [m.to_dict() for m in made.metrics] if len(made.time) > 3 else [],
                "backend": attributes["backend"],
                "wall_seconds": attributes["wall_seconds"],
                "files": [str(f) for f in files],
            }
        )
        return
    if attributes["backend_message"]:
        print(f"note: {attributes['backend_message']}", file=sys.stderr)
    simulated = float(made.time[-1]) if len(made.time) else 0.0
    wall = max(float(attributes["wall_seconds"]), 1e-9)
    print(
        f"{simulated:g} s rehearsed in {wall:.3g} s ({simulated / wall:,.0f} times real time, "
        f"{attributes['backend']})"
    )
    for m in made.metrics if len(made.time) > 3 else []:
        print(m)
    for name, value in found.items():
        print(f"{name.replace('_', ' ')}: {value:.4g}")
    print(made.verdict)
    if "difference" in attributes:
        found_difference = attributes["difference"]
        print(
            f"NOT equal to {source}: {found_difference}"
            if found_difference
            else f"equal to {source}, to the last bit"
        )
    for f in files:
        print(f"wrote {f}")


def _figures(made: Run, folder: Path, own: Callable[[Run, Path], list[Path]] | None) -> list[Path]:
    """Draw what there is to draw of a run: transfer systems, drifts, energies; and what the test offers."""
    plot = made.plot
    plots: dict[str, Callable[..., Figure]] = {}
    if made.pairs:
        plots |= {"overview": plot.overview, "subspace": plot.subspace, "spectra": plot.spectra}
        if made.adapted:
            plots["gains"] = plot.gains
    measured = {meaning.quantity for meaning in made.record.meanings.values()}
    if any("storey drift" in quantity for quantity in measured):
        plots["drifts"] = plot.drifts
    if "strain energy" in measured:
        plots["energies"] = plot.energies
    files = []
    for name, draw in plots.items():
        path = folder / f"{name}.png"
        draw(path=path)
        files.append(path)
    return [*files, *(own(made, folder) if own is not None else [])]
