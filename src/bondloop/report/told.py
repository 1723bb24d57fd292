"""A run of which a report tells: read, its test made again and checked anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bondloop.description.recorded import recorded_test
from bondloop.errors import BondloopError
from bondloop.hybrid import HybridTest, PseudoDynamicTest, Run

if TYPE_CHECKING:
    from bondloop.hybrid import Check
    from bondloop.hybrid.rehearsable import Rehearsable

__all__ = ["Told", "seconds_of", "tell"]


@dataclass(frozen=True)
class Told:
    """A run of which a report tells, with all that could be found out about it.

    Attributes
    ----------
    run, name, file
        The run, what it is called here, and its file, where it was read from one.
    test
        The test, made again; None where that could not be done.
    why_not
        Why it could not.
    check
        What the check says of the test now; None where it was not asked.
    """

    run: Run
    name: str
    file: Path | None = None
    test: Rehearsable | None = None
    why_not: str = ""
    check: Check | None = None


def tell(given: Run | str | Path, number: int, all_given: Sequence[object], *, check: bool) -> Told:
    """Return a run with all that can be found out about it.

    Parameters
    ----------
    given
        The run, or its file.
    number, all_given
        Its place among all that the report tells of, from 1 on, and these.
    check
        Whether to check its test anew.
    """
    file = None if isinstance(given, Run) else Path(given)
    run = given if isinstance(given, Run) else Run.load(given, isolated=True)
    name = str(run.record.description.get("name") or "run")
    if len(all_given) > 1:
        name = f"{number}: {name if file is None else _file_name(file, all_given)}"
    try:
        test = recorded_test(run.record.description)
    except BondloopError as error:
        return Told(run, name, file, why_not=str(error))
    answer = None
    if check and isinstance(test, (HybridTest, PseudoDynamicTest)):
        try:
            answer = test.check(_checked_length(test, run))
        except BondloopError as error:
            return Told(run, name, file, test, f"the check could not be made: {error}")
    return Told(run, name, file, test, check=answer)


def _file_name(file: Path, all_given: Sequence[object]) -> str:
    """Return what a run is called by its file, or by its folder where another file has the same name."""
    stems = [Path(given).stem for given in all_given if isinstance(given, (str, Path))]
    return file.stem if stems.count(file.stem) == 1 else file.resolve().parent.name or file.stem


def seconds_of(run: Run) -> float | None:
    """Return how long a run was to be; None where it does not say."""
    seconds = run.record.description.get("seconds")
    return float(seconds) if isinstance(seconds, (int, float)) and seconds > 0 else None


def _checked_length(test: Rehearsable, run: Run) -> float | None:
    """Return how long a check for the report is: as long as the run, or the test where that is longer."""
    seconds = seconds_of(run)
    return None if seconds is None or test.length >= seconds else seconds
