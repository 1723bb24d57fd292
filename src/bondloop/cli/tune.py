"""`bondloop tune`: which compensator, with which settings; table, sentence, figure, test file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bondloop.cli.output import AsJson, print_json
from bondloop.cli.settings import (
    COUNT,
    PART,
    TIME,
    WHOLE,
    Setting,
    TestSource,
    find_test,
    own_length,
    short_name,
)
from bondloop.cli.study import range_of, uncertain
from bondloop.display import silent
from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest
    from bondloop.tuning import Recommendation


def benchmark(  # noqa: PLR0913, PLR0917 - each is one option of the verb
    controllers: Annotated[
        str, typer.Option("--controllers", metavar="NAME,NAME", help="Which; all if left out.")
    ] = "",
    cases: Annotated[str, typer.Option("--cases", metavar="1,4", help="Which of the four.")] = "1,2,3,4",
    plants: Annotated[
        int,
        typer.Option("--plants", parser=WHOLE, help="Plants that differ from the nominal one, in each case."),
    ] = 20,
    seeds: Annotated[
        int, typer.Option("--seeds", parser=WHOLE, help="Draws of the noise on the nominal plant.")
    ] = 3,
    record: Annotated[
        str,
        typer.Option("--record", metavar="FILE", help="Ground motion: .AT2, .mat or two columns; El Centro."),
    ] = "",
    scale: Annotated[float, typer.Option("--scale", parser=PART, help="What it is multiplied by.")] = 0.4,
    jobs: Annotated[
        int | None, typer.Option("--jobs", parser=COUNT, help="Runs at a time; one a core if left out.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for tables and figure.")] = Path(
        "out/benchmark"
    ),
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw the figure.")] = True,
    as_json: AsJson = False,
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


def tune(  # noqa: PLR0913, PLR0917 - each is one option of the verb
    source: TestSource,
    settings: Setting = None,
    process: Annotated[
        Path | None,
        typer.Option(
            "--process",
            help="Model of the transfer system that `bondloop identify` wrote; left out, the test's own "
            "emulated actuator is identified.",
        ),
    ] = None,
    families: Annotated[
        list[str] | None,
        typer.Option("--family", help="Try only this family of compensators; repeatable."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", parser=TIME, help="Length of a rehearsal; the test's own if left out."),
    ] = None,
    budget: Annotated[
        float, typer.Option("--budget", parser=TIME, help="Seconds in which settings are tried and checked.")
    ] = 120.0,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="NAME=DISTRIBUTION",
            help="Tune over uncertain rigs instead, as `study --samples` draws them: settings of the test's "
            "own controller that are best in a quantile; needs --setting.",
        ),
    ] = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--setting", metavar="NAME=LOW..HIGH", help="With --over: what is set, and between what."
        ),
    ] = None,
    quantile: Annotated[
        float, typer.Option("--quantile", parser=PART, help="With --over: which one.")
    ] = 0.95,
    samples: Annotated[
        int, typer.Option("--samples", parser=WHOLE, help="With --over: rigs for each setting.")
    ] = 128,
    generations: Annotated[
        int,
        typer.Option("--generations", parser=WHOLE, help="With --over: how often new settings are tried."),
    ] = 12,
    seed: Annotated[int, typer.Option("--seed", parser=WHOLE, help="With --over: of what is drawn.")] = 0,
    extrapolate: Annotated[
        bool,
        typer.Option("--extrapolate/--hold", help="Carry the measured force on where that is better."),
    ] = True,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for test file and figure; out/NAME if left out."),
    ] = None,
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw what was tried.")] = True,
    as_json: AsJson = False,
) -> None:
    """Find the compensator that suits a test, with its settings; exits with 1 where none passes the check."""
    from bondloop.transfer import Process
    from bondloop.tuning import recommend

    test, module = find_test(source, settings or [])
    if over or ranges:
        tune_rigs(
            test, source, (over or [], ranges or []), (quantile, samples, generations, seed),
            own_length(test, module, seconds), out or Path("out") / short_name(source), figures, as_json,
        )  # fmt: skip
        return
    model = None if process is None else Process.load(process)
    answer = recommend(
        model, test, families=families or None, seconds=own_length(test, module, seconds), budget=budget,
        extrapolate=extrapolate, progress=silent if as_json else None,
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
        raise typer.Exit(1)


def _write_test(answer: Recommendation, path: Path, wrote: list[Path]) -> str:
    """Write the test with its new controller; return why it cannot be written, where it cannot."""
    if answer.best is None:
        return "no compensator passes the check"
    try:
        answer.test.to_toml(path)
    except BondloopError as error:  # a part that is a Python object without a description
        return str(error)
    wrote.append(path)
    return ""


def tune_rigs(
    test: HybridTest,
    source: str,
    what: tuple[list[str], list[str]],
    how: tuple[float, int, int, int],
    seconds: float | None,
    folder: Path,
    figures: bool,
    as_json: bool,
) -> None:
    """Search, and tell the best settings, the trade-off, and the probability of a stop before and after."""
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
        found.test.to_toml(folder / "tuned.toml")
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
