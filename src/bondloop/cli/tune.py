"""`bondloop tune`: which compensator, with which settings; table, sentence, figure, test file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bondloop.cli.cases import range_of, uncertain
from bondloop.cli.output import AsJson, print_json
from bondloop.cli.quantities import PART, TIME, WHOLE
from bondloop.cli.settings import Setting, TestSource, find_test, own_length
from bondloop.cli.source import short_name
from bondloop.display import silent
from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest
    from bondloop.tuning import Recommendation


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
