"""The compensator that suits a test, found by trying."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import bondloop
    from bondloop.transfer.process import Process

__all__ = ["recommend"]


def recommend(
    process: Process | None,
    test: bondloop.HybridTest,
    *,
    families: Iterable[str] | None = None,
    seconds: float | str | None = None,
    budget: float | str = 120.0,
    extrapolate: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> bondloop.hybrid.Recommendation:
    """Return the compensator that suits a test, with its settings and why.

    Every family of `bondloop.control.families.FAMILIES` is tried with settings that are derived from the
    process, the rate and the highest frequency of the motion: first each setting by itself about the middle,
    then, where that is not far behind the best, all combinations. What the linear loop shows to be unstable
    is dismissed, the rest is rehearsed; the best eight with different choices are refined, setting by
    setting; the best few are checked in full. Of those that pass, the one with the least error against the
    complete structure is taken or, of those within a tenth of it, the one with the largest margin, then
    the least noise.

    The error is against the test's reference, or else against the structure from which its halves were cut,
    or else that of tracking. A test without excitation gets noise.

    Parameters
    ----------
    process
        Model of the transfer system, as identified; None to identify the test's own emulated actuator.
    test
        The test; its controller does not matter, its rig is what is rehearsed on.
    families
        Names of the families to try; all unless given.
    seconds
        Length of a rehearsal; the test's own, at most 200,000 ticks, unless given.
    budget
        Seconds for the search: after 0.85 of them no further setting is tried, and the best are checked. It
        is over when it is done, as a rule earlier.
    extrapolate
        Whether the test may be given a `bondloop.hybrid.Extrapolation`: the measured force is then held in
        one try and carried on in another, and the sentence says which to take. False for the controller
        alone. A test with an extrapolation of its own keeps it.
    progress
        Called with (settings done, settings in all).

    Examples
    --------
    >>> import bondloop as bl
    >>> from bondloop.papers import silva_benchmark
    >>> test, process = silva_benchmark.test(), silva_benchmark.Plant().process()
    >>> answer = bl.control.recommend(process, test, families=["Direct", "InverseModel"], seconds=8)
    >>> answer.check.passed, type(answer.controller).__name__
    (True, 'InverseModel')
    """
    import bondloop  # the search stands above this room

    return bondloop.hybrid.tuning.recommended(
        process, test, families=families, seconds=seconds, budget=budget, extrapolate=extrapolate,
        progress=progress,
    )  # fmt: skip
