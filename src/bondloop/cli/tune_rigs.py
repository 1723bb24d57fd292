"""`bondloop tune --over`: settings that are best in a quantile over uncertain rigs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bondloop.cli.answers import print_json
from bondloop.cli.source import short_name
from bondloop.cli.uncertain import range_of, uncertain
from bondloop.display import silent
from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest

__all__ = ["tune_rigs"]


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
