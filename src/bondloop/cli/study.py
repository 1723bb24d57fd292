"""`bondloop study`: a test over a grid of options and parameters; table, heat maps."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bondloop.cli.options import NUMBER, PATH, TIME, WHOLE, json_option, set_option, test_argument
from bondloop.cli.output import print_json
from bondloop.cli.settings import find_test, length_of, short_name
from bondloop.display import silent
from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from types import ModuleType, SimpleNamespace

    from bondloop.hybrid import HybridTest
    from bondloop.rehearsal import Run
    from bondloop.studies import Case, Interrupted, Sampled

    Module = ModuleType | SimpleNamespace


class Cases:
    """Tests that differ in some settings.

    Parameters
    ----------
    source
        Where the test comes from.
    settings
        What all of them have in common, as ``PATH=VALUE``.
    """

    def __init__(self, source: str, settings: Sequence[str]) -> None:
        self._source, self._settings = source, settings
        self._built: dict[tuple[str, ...], tuple[HybridTest, Module, frozenset[str]]] = {}
        self._one_at_a_time = threading.Lock()

    def __call__(self, values: Mapping[str, str | float]) -> tuple[HybridTest, Module]:
        """Return the test with other settings, by name, and the module that defines it."""
        from bondloop.cli.settings import is_of_safety

        paths = {name for name in values if "." in name and not is_of_safety(name)}
        # Which paths are parameters is known once a test is built: entries of a test file are not.
        test, module, parameters = self._base({n: v for n, v in values.items() if n not in paths})
        if not paths <= parameters:
            test, module, parameters = self._base({n: v for n, v in values.items() if n not in parameters})
        data = {name: values[name] for name in paths & parameters}
        return (test.with_values(data) if data else test), module

    def test(self, values: Mapping[str, str | float]) -> HybridTest:
        """Return the test with other settings alone."""
        return self(values)[0]

    def _base(self, options: Mapping[str, str | float]) -> tuple[HybridTest, Module, frozenset[str]]:
        """Return a test, its module and the paths of its parameters; each is built once."""
        own = tuple(f"{name}={as_setting(value)}" for name, value in options.items())
        with self._one_at_a_time:
            if own not in self._built:
                test, module = find_test(self._source, [*self._settings, *own])
                self._built[own] = test, module, frozenset(v.name for v in test.tick.parameters)
            return self._built[own]


def as_setting(value: str | float) -> str:
    """Return a value as `--set` takes it: a whole number as one, for it may count something.

    >>> as_setting(3.0), as_setting(0.004), as_setting("4 ms")
    ('3', '0.004', '4 ms')
    """
    if isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() else repr(float(value))


OVERLAID = 8
"""Histories at most that are drawn over each other."""


def uncertain(texts: Sequence[str], option: str = "--vary") -> dict[str, str]:
    """Return distributions by name, from ``NAME=DISTRIBUTION`` and from TOML files with a table ``[vary]``.

    Parameters
    ----------
    texts
        As they were given.
    option
        By which.
    """
    from bondloop.studies import read_uncertainty

    found: dict[str, str] = {}
    for text in texts:
        name, equals, rest = (part.strip() for part in text.partition("="))
        if not equals and text.endswith(".toml"):
            more = read_uncertainty(text)
        elif not equals or not name or not rest:
            raise InputError(
                f"{option} takes NAME=DISTRIBUTION, such as rig.mass=normal(2, 5%), or a TOML file with a "
                f"table [vary]; found {text!r}"
            )
        else:
            more = {name: rest}
        for one, what in more.items():
            if one in found:
                raise InputError(f"each thing is varied once; found {one} twice")
            found[one] = what
    return found


def range_of(text: str) -> tuple[str, tuple[float, float]]:
    """Return name and ends of ``NAME=LOW..HIGH``.

    Examples
    --------
    >>> range_of("controller.lead=0..40 ms")
    ('controller.lead', (0.0, 0.04))
    """
    from bondloop.studies import axis_from

    match = re.fullmatch(r"\s*([^=]+?)\s*=\s*(.+?)\s*\.\.\s*(.+?)\s*", text)
    if match is None:
        raise InputError(f"--setting takes NAME=LOW..HIGH, such as controller.lead=0..40 ms; found {text!r}")
    numbers = axis_from(f"{match[1]}={match[2]}..{match[3]}/2").numbers
    if numbers is None or len(numbers) != 2:
        raise InputError(f"--setting takes NAME=LOW..HIGH; found {text!r}")
    return match[1], (numbers[0], numbers[1])


def as_command(source: str, settings: Sequence[str], values: dict[str, float], seconds: float) -> str:
    """Return the command that runs a test with these values.

    Examples
    --------
    >>> as_command("my test.toml", [], {"rig.transfer.mass.mass": 1.25}, 2.0)
    "bondloop run 'my test.toml' --set rig.transfer.mass.mass=1.25 --seconds 2.0"
    """
    from shlex import join

    chosen = [*settings, *(f"{name}={as_setting(value)}" for name, value in values.items())]
    options = [word for text in chosen for word in ("--set", text)]
    return join(["bondloop", "run", source, *options, "--seconds", repr(seconds)])


def keep_tests(
    found: Sampled, cases: Cases, measure: str, which: str, folder: Path, *, figures: bool
) -> list[Path]:
    """Write the histories of chosen tests, and the tests themselves as files that can be run.

    Parameters
    ----------
    found, measure, which
        As of `Sampled.histories`.
    cases
        Of the test that was sampled.
    folder
        Where to.
    figures
        Whether to draw their motions over each other.
    """
    from bondloop.files import to_toml
    from bondloop.rehearsal import DIVERGED
    from bondloop.studies import overlay

    test = cases({})[0]
    chosen = found.choose(measure, which)
    wrote: list[Path] = []
    drawn: dict[str, Run] = {}
    for name, number in chosen.items():
        stem = name.replace(" %", "-percent").replace(" ", "-")
        run = found.history(test, number, cases.test)  # one at a time: a history is large
        wrote.append(Path(run.save(folder / f"{stem}.h5")))
        if len(chosen) <= OVERLAID:
            drawn[name] = run
        try:
            one = cases.test(found.row(number))
            one.seconds = found.length
            to_toml(one, folder / f"{stem}.toml")
        except BondloopError:  # a part that is a Python object without a description, a state
            continue
        wrote.append(folder / f"{stem}.toml")
    channel = next((actual for run in drawn.values() for _, actual in run.pairs), None)
    if figures and channel is not None:
        bound = test.tick.bounds.get(channel, DIVERGED)
        overlay(drawn, channel, limit=bound if bound < DIVERGED else None, path=folder / "kept.png")
        wrote.append(folder / "kept.png")
    return wrote


MOST_ROWS = 100_000
"""Tests up to which every one is written as a row."""


@click.command("study")
@test_argument
@click.option(
    "--vary",
    multiple=True,
    required=True,
    metavar="NAME=VALUES",
    help="What to vary: 1..12 (whole numbers), 0..1/5 (five numbers), or a,b,c; up to three times. "
    "With --samples a distribution: normal(15 kN/m, 5%), uniform(1, 2), lognormal(2, 10%), "
    "whole(1, 9), truncated(normal(1, 5%), 0.9, 1.1); for what stands under a path "
    "identified(model.json) or correlated(a=normal(1, 5%), b=uniform(1, 2), 0.8); or a TOML file "
    "with a table [vary].",
)
@click.option(
    "--measure",
    default="",
    show_default=False,
    help="What to measure, separated by commas; or anything the test finds. With --samples: error, "
    "trip, trip_time, delay, energy, growth, reference_error, limit, peak:EXPRESSION of "
    "channels, rms: and the like.",
)
@click.option("--samples", type=NUMBER, help="Draw so many tests from distributions, such as 1e6.")
@click.option("--method", default="sobol", help="How they are drawn: sobol, latin or random.")
@click.option("--seed", type=WHOLE, default=0, help="Of what is drawn.")
@click.option(
    "--keep",
    default="",
    show_default=False,
    metavar="WHICH",
    help="With --samples: record the histories of chosen tests by the first measure, and write each "
    "as a test file: 'worst 3, best, 95 %, every 1000'.",
)
@click.option(
    "--sensitivity",
    is_flag=True,
    help="With --samples, a power of two: Sobol's indices, which say what matters most.",
)
@click.option(
    "--workers", type=WHOLE, help="With --samples: run on so many processes of this machine, by Dask."
)
@click.option("--dask", metavar="ADDRESS", help="With --samples: run on a Dask cluster, tcp://host:8786.")
@click.option("--resume", is_flag=True, help="With --samples: go on with a study that was interrupted.")
@set_option
@click.option("--seconds", type=TIME, help="Length of each run; the test's own if left out.")
@click.option(
    "--backend",
    default="auto",
    help="c, numpy, or auto: C where a compiler is found. With --samples: cuda, lanes, 'one by one', "
    "or auto: the first that can be had.",
)
@click.option("--out", "-o", type=PATH, help="Folder for figure and table; out/NAME if left out.")
@click.option("--figures/--no-figures", default=True, help="Draw the heat maps.")
@json_option
def study(  # noqa: PLR0913, PLR0917 - an argument an option
    source: str,
    vary: tuple[str, ...],
    measure: str,
    samples: float | None,
    method: str,
    seed: int,
    keep: str,
    sensitivity: bool,
    workers: int | None,
    dask: str | None,
    resume: bool,
    settings: tuple[str, ...],
    seconds: float | None,
    backend: str,
    out: Path | None,
    figures: bool,
    as_json: bool,
) -> None:
    """Vary options or parameters of a test and measure stability, accuracy, or anything the test finds."""
    from bondloop.studies import between_commas

    folder = out or Path("out") / short_name(source)
    wanted = [name for name in between_commas(measure) if name]
    if samples is None and (keep or sensitivity):
        raise InputError("--keep and --sensitivity are of tests that are drawn: give --samples")
    if samples is not None and sensitivity:
        indices(
            source, vary, wanted or ["error"], settings, samples, seconds, (seed, backend), folder, as_json
        )
        return
    if samples is not None:
        try:
            drawn(
                source,
                vary,
                wanted or ["error"],
                settings,
                samples,
                seconds,
                (method, seed, backend),
                (cluster_of(workers, dask), resume),
                folder,
                figures,
                as_json,
                keep,
            )
        except KeyboardInterrupt:  # before the first test: what comes later says what is kept
            print("\nbondloop: interrupted; no test had been run", file=sys.stderr)
            raise SystemExit(130) from None
        return
    if workers is not None or dask is not None or resume:
        raise InputError(
            "--workers, --dask and --resume need --samples: a grid runs on this machine, at once"
        )
    _grid(source, vary, wanted or ["stable", "error"], settings, seconds, backend, folder, figures, as_json)


def _grid(  # noqa: PLR0913, PLR0917 - as the verb has them
    source: str,
    vary: Sequence[str],
    wanted: Sequence[str],
    settings: Sequence[str],
    seconds: float | None,
    backend: str,
    folder: Path,
    figures: bool,
    as_json: bool,
) -> None:
    """Run every combination of the values, and tell what was measured."""
    from bondloop.studies import Case, axis_from, heat_maps
    from bondloop.studies import study as over_the_grid

    axes = [axis_from(text) for text in vary]

    cases = Cases(source, settings)

    def make(values: Mapping[str, str]) -> Case:
        test, module = cases(values)
        length = length_of(test, module, seconds)
        return Case(test, length, getattr(module, "findings", None), backend)

    # A file of the user's is run anew for every case, in its own folder: one at a time.
    jobs = 1 if source.endswith((".py", ".toml")) else min(os.cpu_count() or 1, 8)
    found = over_the_grid(make, axes, wanted, jobs=jobs, progress=silent if as_json else None)
    folder.mkdir(parents=True, exist_ok=True)
    files = [found.save(folder / "study.csv")]
    if figures:
        heat_maps(found, path=folder / "study.png")
        files.append(folder / "study.png")
    if as_json:
        print_json(
            {
                "test": short_name(source),
                "varied": {a.name: list(a.numbers or a.values) for a in axes},
                "cells": found.cells,
                "files": [str(f) for f in files],
            }
        )
        return
    print(found)
    for f in files:
        print(f"wrote {f}")


def drawn(  # noqa: PLR0913, PLR0917 - as the verb
    source: str,
    vary: Sequence[str],
    wanted: Sequence[str],
    settings: Sequence[str],
    samples: float,
    seconds: float | None,
    how: tuple[str, int, str],
    where: tuple[int | str | None, bool],
    folder: Path,
    figures: bool,
    as_json: bool,
    keep: str = "",
) -> None:
    """Rehearse a test many times with values drawn from distributions."""
    from bondloop.studies import NO_PYARROW, Interrupted, choices, differs, exceedance, has_parquet, sample

    distributions = uncertain(vary)
    if keep:
        choices(keep)  # what is wrong with it is told before hours of tests, not after them
    cases = Cases(source, settings)
    test, module = cases({})
    method, seed, backend = how
    cluster, resume = where
    table = folder / "samples.parquet" if has_parquet() else None
    if resume and table is None:
        raise InputError(f"--resume: {NO_PYARROW}, in which results are kept as they come")
    try:
        found: Sampled = sample(
            test, distributions, samples, wanted, seconds=length_of(test, module, seconds),
            method=method, seed=seed, backend=backend, progress=silent if as_json else None,  # type: ignore[arg-type]
            keep=table, resume=resume, cluster=cluster,
            make=cases.test,
        )  # fmt: skip
    except Interrupted as stop:
        print_interrupted(stop, folder)
        raise SystemExit(130) from None
    folder.mkdir(parents=True, exist_ok=True)
    files = [] if table is None else [table]
    more, note = _as_csv(found, folder, table)
    files += more
    if figures and differs(found):
        exceedance(found, path=folder / "samples.png")
        files.append(folder / "samples.png")
    if keep:
        files += keep_tests(found, cases, wanted[0], keep, folder, figures=figures)
    worst = {m: as_command(source, settings, found.worst(m, 1)[0], found.length) for m in found.measured}
    stopped = found.probability()
    if as_json:
        print_json(
            {
                "test": short_name(source), "samples": len(found), "seconds": found.seconds,
                "backend": found.backend, "stopped": stopped._asdict(),
                "causes": dict(found.causes), "notes": [*found.notes, *note],
                "quantiles": {
                    m: {q: found.quantile(m, q / 100) for q in (5, 50, 95, 99)} for m in found.measured
                },
                "worst": {m: found.worst(m, 3) for m in found.measured}, "run": worst,
                "files": [str(f) for f in files],
            }
        )  # fmt: skip
        return
    print(found)
    if not found.stopped.any():  # of tests none of which tripped, none is the worst
        worst.pop("trip", None)
    for command in dict.fromkeys(worst.values()):
        print(f"worst {', '.join(m for m, c in worst.items() if c == command)}: {command}")
    for f in files:
        print(f"wrote {f}")
    for word in note:
        print(f"note: {word}")


def _as_csv(found: Sampled, folder: Path, table: Path | None) -> tuple[list[Path], list[str]]:
    """Write the tests as CSV, if they are not too many; return the file, and what to say instead."""
    from bondloop.studies import NO_PYARROW

    path = folder / "samples.csv"
    if len(found) > MOST_ROWS:
        path.unlink(missing_ok=True)  # of another study
        return [], [
            f"more than {MOST_ROWS:,} tests are not written as CSV" + ("" if table else f"; {NO_PYARROW}")
        ]
    try:
        return [found.save(path)], []
    except BondloopError as error:
        was = f"; {path} is that of an earlier study" if path.exists() else ""
        whole = f"; {table} is complete" if table else ""
        raise BondloopError(f"{error}{whole}{was}") from error


def indices(  # noqa: PLR0913, PLR0917 - as the verb
    source: str,
    vary: Sequence[str],
    wanted: Sequence[str],
    settings: Sequence[str],
    samples: float,
    seconds: float | None,
    how: tuple[int, str],
    folder: Path,
    as_json: bool,
) -> None:
    """Say which uncertainty matters most."""
    from bondloop.studies import sensitivity, tornado

    test, module = find_test(source, settings)
    found = sensitivity(
        test, uncertain(vary), samples, wanted,
        seconds=length_of(test, module, seconds), seed=how[0], backend=how[1],
        progress=silent if as_json else None,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    tornado(found, path=folder / "sensitivity.png")
    if as_json:
        plain = [
            {m: {n: i._asdict() for n, i in of.items()} for m, of in order.items()}
            for order in (found.first, found.total)
        ]
        files = [str(folder / "sensitivity.png")]
        print_json({"test": short_name(source), "tests": found.tests, "first": plain[0], "total": plain[1],
                    "files": files})  # fmt: skip
        return
    print(found)
    print(f"wrote {folder / 'sensitivity.png'}")


def cluster_of(workers: int | None, dask: str | None) -> int | str | None:
    """Return where a cluster is: so many processes of this machine, or an address."""
    if workers is not None and dask is not None:
        raise InputError("--workers starts a cluster on this machine, --dask names one: give one of them")
    return workers if dask is None else dask


def print_interrupted(stop: Interrupted, folder: Path) -> None:
    """Say what is kept of a study that Ctrl-C ended; without pyarrow, the tests that were done as CSV."""
    kept = "; ".join(getattr(stop, "__notes__", []))
    if not kept and len(stop.sampled):
        folder.mkdir(parents=True, exist_ok=True)
        kept = f"{len(stop.sampled):,} tests are kept in {stop.sampled.save(folder / 'samples.csv')}"
    print(f"\nbondloop: {stop}; {kept or 'no test had been kept'}", file=sys.stderr)
