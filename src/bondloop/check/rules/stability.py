"""Rules BL2xx: stability of a loop that is linear."""

# ruff: noqa: ARG001 - every rule is asked with the same three arguments

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.check.linear.lags import away_from_origin
from bondloop.check.tolerances import NO_LAG

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.ensemble import Twin
    from bondloop.check.policy import CheckPolicy
    from bondloop.check.rules.rule import Fields, Predicate
    from bondloop.engine.analysis.spectrum import OneStep
    from bondloop.hybrid import Checkable


# -------------------------------------------------------------------- unstable, and why


def why_unstable(check: Check, test: Checkable, policy: CheckPolicy, step: OneStep) -> str:
    """Return the name of the rule that says why a step is unstable, as far as that is known.

    Parameters
    ----------
    check
        All but its findings.
    test
        The test.
    policy
        The limits in force.
    step
        One step of the loop, which is unstable.
    """
    poles = away_from_origin(check.poles) if check.poles else ()
    reasons = {
        "BL209": check.stepped,
        "BL202": step.spectral_radius > policy.coarse,
        "BL203": bool(check.own),
        "BL204": not test.feedback,
        "BL205": test.compensates,
        "BL206": len(poles) > 0 and max(p.real for p in poles) <= 0,
        "BL207": bool(_lagging(check)),
    }
    return next((name for name, holds in reasons.items() if holds), "BL201")


def _lagging(check: Check) -> list[str]:
    """Return the lags whose negative damping is more than the structure's own damping."""
    return [str(lag) for lag in check.lags if lag.damping < -max(lag.structure, NO_LAG)]


def unstable_fields(check: Check, step: OneStep) -> Fields:
    """Return what is said of an unstable step.

    Parameters
    ----------
    check
        All but its findings.
    step
        One step of the loop.
    """
    return {
        "frequency": step.frequency,
        "growth": step.growth,
        "radius": step.spectral_radius,
        "period": 1e3 * step.period,
        "lags": "; ".join(_lagging(check)),
    }


def _unstable(name: str) -> Predicate:
    """Return the predicate of one reason for which a linear loop is unstable."""

    def found(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
        step = check.step
        if step is None or step.stable or not check.linear:
            return
        if why_unstable(check, test, policy, step) == name:
            yield unstable_fields(check, step)

    return found


# -------------------------------------------------------------------- what eigenvalues do not show


def _hidden_growth(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    if not _stable(check):
        return
    grown = [t for t in check.twins if _grows(check, t, policy)]
    if grown:
        worst = max(grown, key=lambda t: t.last / t.first)
        times = "beyond all bounds" if np.isinf(worst.last) else f"{worst.last / worst.first:.3g} times"
        yield {"time": worst.at, "times": times}


def _grows(check: Check, twin: Twin, policy: CheckPolicy) -> bool:
    """Whether a disturbance of a linear loop has grown; where all eigenvalues are known, by a good deal."""
    assert check.step is not None
    if (check.seconds - twin.at) * check.step.frequency < 2:
        return False  # in less than two periods nothing has grown or died away
    if check.step.spectrum.outside is not None:
        return twin.end > policy.hidden * twin.first > 0 and twin.exponent > 0
    return twin.end > twin.first > 0 and not twin.exponent < 0


def _unanalysed(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    if _partly_known(check, test, policy) and not _long_enough(check, policy):
        assert check.step is not None
        assert check.dry_run is not None
        yield {
            "note": check.step.spectrum.note,
            "seconds": check.dry_run.seconds,
            "wanted": _wanted(check, policy),
        }


def _unknown_rest(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    if _partly_known(check, test, policy) and _long_enough(check, policy):
        assert check.step is not None
        yield {"note": check.step.spectrum.note}


def _own_unstable(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    if check.own and not check.unbounded and not check.linear:
        yield {"growth": max(p.real for p in check.own)}


def _itself(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    """Yield a structure that is unstable, in a linear loop or one in which nothing bounds it."""
    yield from _unstable("BL203")(check, test, policy)
    if check.own and check.unbounded and not check.linear and check.step is not None:
        yield unstable_fields(check, check.step)


def _refined(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    if check.refined:
        yield {"refined": check.refined}


def _stable(check: Check) -> bool:
    """Whether a loop is linear and no eigenvalue that is known speaks against it."""
    return check.dry_run is not None and check.linear and check.step is not None and check.step.stable


def _partly_known(check: Check, test: Checkable, policy: CheckPolicy) -> bool:
    """Whether some eigenvalues of a linear loop are not known, and no disturbance of its rehearsal grew."""
    if not _stable(check) or check.step is None:
        return False
    return check.step.spectrum.outside is None and not any(_hidden_growth(check, test, policy))


def _long_enough(check: Check, policy: CheckPolicy) -> bool:
    """Whether the rehearsal was long enough for the decay of a disturbance to be evidence."""
    assert check.dry_run is not None
    quiet = check.curves is not None and float(np.abs(check.curves.loci).max(initial=0.0)) < 1
    return quiet or check.dry_run.seconds >= _wanted(check, policy)


def _wanted(check: Check, policy: CheckPolicy) -> float:
    """Return the seconds of rehearsal that are needed for that."""
    assert check.step is not None
    return policy.observed + max(check.step.step.delays, default=0) * check.step.period


STABILITY: Mapping[str, Predicate] = {
    "BL201": _unstable("BL201"),
    "BL202": _unstable("BL202"),
    "BL203": _itself,
    "BL204": _unstable("BL204"),
    "BL205": _unstable("BL205"),
    "BL206": _unstable("BL206"),
    "BL207": _unstable("BL207"),
    "BL208": _own_unstable,
    "BL210": _refined,
    "BL209": _unstable("BL209"),
    "BL211": _hidden_growth,
    "BL212": _unanalysed,
    "BL213": _unknown_rest,
}
