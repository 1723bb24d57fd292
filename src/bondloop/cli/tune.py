"""`bondloop tune` and `benchmark`: which compensator, with which settings; table, figure, test file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bondloop.cli.options import COUNT, PART, PATH, TIME, WHOLE, json_option, set_option, test_argument
from bondloop.cli.output import print_json
from bondloop.cli.settings import find_test, own_length, short_name
from bondloop.cli.study import range_of, uncertain
from bondloop.display import silent
from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest
    from bondloop.tuning import Recommendation


@click.command("benchmark")
@click.option(
    "--controllers", default="", show_default=False, metavar="NAME,NAME", help="Which; all if left out."
)
@click.option("--cases", default="1,2,3,4", metavar="1,4", help="Which of the four.")
@click.option(
    "--plants", type=WHOLE, default=20, help="Plants that differ from the nominal one, in each case."
)
@click.option("--seeds", type=WHOLE, default=3, help="Draws of the noise on the nominal plant.")
@click.option(
    "--record",
    default="",
    show_default=False,
    metavar="FILE",
    help="Ground motion: .AT2, .mat or two columns; El Centro.",
)
@click.option("--scale", type=PART, default=0.4, help="What it is multiplied by.")
@click.option("--jobs", type=COUNT, help="Runs at a time; one a core if left out.")
@click.option("--out", "-o", type=PATH, default=Path("out/benchmark"), help="Folder for tables and figure.")
@click.option("--figures/--no-figures", default=True, help="Draw the figure.")
@json_option
def benchmark(  # noqa: PLR0913, PLR0917 - an argument an option
    controllers: str,
    cases: str,
    plants: int,
    seeds: int,
    record: str,
    scale: float,
    jobs: int | None,
    out: Path,
    figures: bool,
    as_json: bool,
) -> None:
    """Run controllers through the field's benchmark (Silva 2020): criteria, goals, plants that differ."""
    from bondloop.papers import CONTROLLERS, compare, figure, markdown, missed, save_csv, trials

    comparison = compare(
        _listed(controllers) or list(CONTROLLERS),
        [_case(text) for text in _listed(cases)],
        trials(seeds, plants),
        record=record,
        scale=scale,
        jobs=jobs or os.cpu_count() or 1,
        progress=silent if as_json else None,
    )
    out.mkdir(parents=True, exist_ok=True)
    text = markdown(comparison)
    (out / "benchmark.md").write_text(text, encoding="utf-8")
    files = [out / "benchmark.md", save_csv(comparison, out / "benchmark.csv")]
    if figures:
        figure(comparison, path=out / "benchmark.png")
        files.append(out / "benchmark.png")
    if as_json:
        verdicts = {
            name: {
                str(case): {
                    "nominal": missed(comparison, name, case, nominal=True),
                    "plants": missed(comparison, name, case, nominal=False),
                }
                for case in comparison.cases
            }
            for name in comparison.controllers
        }
        print_json(
            {
                "missed": verdicts,
                "floors": {str(case): floor for case, floor in comparison.floors.items()},
                "runs": len(comparison.outcomes),
                "stopped": sum(o.stopped is not None for o in comparison.outcomes),
                "files": [str(f) for f in files],
            }
        )
        return
    print(text)
    for f in files:
        print(f"wrote {f}")


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _case(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"--cases takes numbers from 1 to 4 with commas between; found {text!r}")
    return int(text)


@click.command("tune")
@test_argument
@set_option
@click.option(
    "--process",
    type=PATH,
    help="Model of the transfer system that `bondloop identify` wrote; left out, the test's own "
    "emulated actuator is identified.",
)
@click.option("--family", "families", multiple=True, help="Try only this family of compensators; repeatable.")
@click.option(
    "--target", type=PART, help="Error against the complete structure that is good enough; 5 % if left out."
)
@click.option("--seconds", type=TIME, help="Length of a rehearsal; the test's own if left out.")
@click.option("--budget", type=TIME, default=120.0, help="Seconds in which settings are tried and checked.")
@click.option(
    "--over",
    multiple=True,
    metavar="NAME=DISTRIBUTION",
    help="Tune over uncertain rigs instead, as `study --samples` draws them: settings of the test's "
    "own controller that are best in a quantile; needs --setting.",
)
@click.option(
    "--setting",
    "ranges",
    multiple=True,
    metavar="NAME=LOW..HIGH",
    help="With --over: what is set, and between what.",
)
@click.option("--quantile", type=PART, default=0.95, help="With --over: which one.")
@click.option("--samples", type=WHOLE, default=128, help="With --over: rigs for each setting.")
@click.option("--generations", type=WHOLE, default=12, help="With --over: how often new settings are tried.")
@click.option("--seed", type=WHOLE, default=0, help="With --over: of what is drawn.")
@click.option("--extrapolate/--hold", default=True, help="Carry the measured force on where that is better.")
@click.option("--out", "-o", type=PATH, help="Folder for test file and figure; out/NAME if left out.")
@click.option("--figures/--no-figures", default=True, help="Draw what was tried.")
@json_option
def tune(  # noqa: PLR0913, PLR0917 - an argument an option
    source: str,
    settings: tuple[str, ...],
    process: Path | None,
    families: tuple[str, ...],
    target: float | None,
    seconds: float | None,
    budget: float,
    over: tuple[str, ...],
    ranges: tuple[str, ...],
    quantile: float,
    samples: int,
    generations: int,
    seed: int,
    extrapolate: bool,
    out: Path | None,
    figures: bool,
    as_json: bool,
) -> None:
    """Find the compensator that suits a test, with its settings; exits with 1 where none passes the check.

    Of all that meet the target error, the most robust over actuators and sensors that are off is taken.
    """
    from bondloop.transfer import Process
    from bondloop.tuning import recommend

    test, module = find_test(source, settings)
    if over or ranges:
        tune_rigs(
            test, source, (over, ranges), (quantile, samples, generations, seed),
            own_length(test, module, seconds), out or Path("out") / short_name(source), figures, as_json,
        )  # fmt: skip
        return
    model = None if process is None else Process.load(process)
    answer = recommend(
        model, test, target=target, families=families or None, seconds=own_length(test, module, seconds),
        budget=budget, extrapolate=extrapolate, progress=silent if as_json else None,
    )  # fmt: skip
    folder = out or Path("out") / short_name(source)
    folder.mkdir(parents=True, exist_ok=True)
    wrote: list[Path] = []
    if figures:
        answer.plot(folder / "tuning.png")
        wrote.append(folder / "tuning.png")
    unwritten = _write_test(answer, folder / "tuned.toml", wrote)
    if as_json:
        print_json(
            {"test": short_name(source), **answer.to_dict(), "files": [str(f) for f in wrote],
             **({"unwritten": unwritten} if unwritten else {})}
        )  # fmt: skip
    else:
        print(answer)
        if unwritten:
            print(f"no test file: {unwritten}")
        for path in wrote:
            print(f"wrote {path}")
    if answer.best is None:
        raise SystemExit(1)


def _write_test(answer: Recommendation, path: Path, wrote: list[Path]) -> str:
    """Write the test with its new controller; return why it cannot be written, where it cannot."""
    from bondloop.files import to_toml

    if answer.best is None:
        return "no compensator passes the check"
    try:
        to_toml(answer.test, path)
    except BondloopError as error:  # a part that is a Python object without a description
        return str(error)
    wrote.append(path)
    return ""


def tune_rigs(
    test: HybridTest,
    source: str,
    what: tuple[Sequence[str], Sequence[str]],
    how: tuple[float, int, int, int],
    seconds: float | None,
    folder: Path,
    figures: bool,
    as_json: bool,
) -> None:
    """Search, and tell the best settings, the trade-off, and the probability of a stop before and after."""
    from bondloop.files import to_toml
    from bondloop.studies import trade_off, tune_over

    if not all(what):
        missing = "--over NAME=DISTRIBUTION" if not what[0] else "--setting NAME=LOW..HIGH"
        raise InputError(f"settings are tuned over uncertain rigs with --over and --setting: give {missing}")
    share, samples, generations, seed = how
    found = tune_over(
        test, dict(range_of(text) for text in what[1]), uncertain(what[0], "--over"), share=share,
        samples=samples, generations=generations, seed=seed, progress=silent if as_json else None,
        seconds=seconds if seconds is not None else test.length,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    wrote = []
    if figures and len(found.best.quantiles) > 1:
        trade_off(found, path=folder / "tuning.png")
        wrote.append(folder / "tuning.png")
    try:
        to_toml(found.test, folder / "tuned.toml")
        wrote.append(folder / "tuned.toml")
    except BondloopError as error:  # a part that is a Python object without a description
        if not as_json:
            print(f"no test file: {error}")
    if as_json:
        rows = [{"settings": dict(s.values), "quantiles": dict(s.quantiles)} for s in found.trade_off]
        print_json(
            {
                "test": short_name(source), "settings": dict(found.best.values), "tried": len(found.tried),
                "quantiles": dict(found.best.quantiles), "before": found.before.probability()._asdict(),
                "after": found.after.probability()._asdict(), "trade_off": rows,
                "files": [str(f) for f in wrote],
            }
        )  # fmt: skip
        return
    print(found)
    for f in wrote:
        print(f"wrote {f}")
