"""Rules BL5xx: what the ensemble of rehearsals shows."""

# ruff: noqa: ARG001 - every rule is asked with the same three arguments

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from bondloop.check.finding import percent
from bondloop.check.tolerances import MOTION_FLOOR
from bondloop.safety import DISPLACEMENT_SWITCH

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.ensemble import Ensemble, Kind, Member, Share
    from bondloop.check.policy import CheckPolicy
    from bondloop.check.rules.rule import Fields, Predicate
    from bondloop.hybrid import Checkable


def _stands(check: Check) -> Ensemble | None:
    """Return the ensemble of a test that stands as it is; None where there is none, or worse to say."""
    found = check.ensemble
    return None if found is None or not found or found.beyond[0] else found


def _first(fates: Sequence[tuple[Member, str]]) -> str:
    """Say what breaks most often."""
    words = [why for _, why in fates]
    return max(dict.fromkeys(words), key=words.count)


# -------------------------------------------------------------------- growth and motion that stays


def _growing(*, clearly: bool) -> Predicate:
    """Return the predicate of impulses that grow: `clearly` where the share that does not is too small."""

    def found(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
        ensemble = check.ensemble
        if ensemble is None or not ensemble or not ensemble.growing or check.linear:
            return
        from bondloop.check.ensemble import Share

        calm = Share(len(ensemble.twins) - len(ensemble.parted), len(ensemble.twins), policy.confidence)
        if clearly == (calm.high < policy.standing and not check.own):
            worst = max(ensemble.growing, key=lambda t: t.last)
            mean, low, high = ensemble.exponents
            size = "beyond all bounds" if math.isinf(worst.last) else f"to {percent(worst.last)}"
            yield {
                "count": len(ensemble.growing), "total": len(ensemble.twins), "at": worst.at, "size": size,
                "first": percent(worst.first), "when": worst.when, "mean": mean, "low": low, "high": high,
            }  # fmt: skip

    return found


def _sustained(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    ensemble = check.ensemble
    if ensemble and ensemble.sustained[0] and not check.linear:  # eigenvalues say whether a linear one does
        assert ensemble.ran is not None
        yield {
            "level": percent(ensemble.rest[0]), "seconds": ensemble.ran.followed,
            "noise": _noise(ensemble.noise), "count": sum(ensemble.sustained),
            "total": len(ensemble.members),
        }  # fmt: skip


def _held(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    ensemble = check.ensemble
    if ensemble and ensemble.beyond[0] and not ensemble.sustained[0] and not check.linear:
        yield {"why": ensemble.beyond[0]}


def _noise(level: float) -> str:
    return "" if not level > 0 else f"; with the force loop open noise alone moves {percent(level)}"


def _sometimes(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    ensemble = _stands(check)
    if ensemble is None:
        return
    fates = ensemble.fates("impulse")
    if fates:
        share = ensemble.share("impulse")
        yield {"count": len(fates), "total": share.total, "why": _first(fates), "at": fates[0][0].at}


def _halted(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    ensemble = _stands(check)
    if ensemble is not None and ensemble.halted > 0:
        yield {"level": percent(ensemble.halted)}


def _noisy(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    ensemble = _stands(check)
    if ensemble is not None and ensemble.noise > policy.off:
        yield {"level": percent(ensemble.noise)}


def _learnt(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    if not check.adapts or not check.instants or check.own:
        return
    last = check.instants[-1]
    if not last.step.stable and last.step.growth * policy.observed > 1:
        yield {"time": last.time, "growth": last.step.growth, "frequency": last.step.frequency}


# -------------------------------------------------------------------- errors of the plant, and margins


def _plant(*, clearly: bool) -> Predicate:
    """Return the predicate of rehearsals with errors of the plant that do not stand."""

    def found(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
        ensemble = _stands(check)
        if ensemble is None:
            return
        share = ensemble.share("plant")
        fates = ensemble.fates("plant")
        if fates and clearly == (share.high < policy.refused):
            yield {**_share(share), "why": _first(fates)}

    return found


def _share(share: Share) -> Fields:
    return {"share": str(share), "low": percent(share.low), "high": percent(share.high)}


def _more_excitation(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    ensemble = _stands(check)
    if ensemble is None:
        return
    found = ensemble.excitations
    if found.why and found.stands < policy.excitation_margin:
        yield {"stands": f"{found.stands:.3g}", "breaks": f"{found.breaks:.3g}", "why": found.why}


def _fates(*kinds: Kind, below: float = math.inf) -> Predicate:
    """Return the predicate of members of some kinds that do not stand, one finding each."""

    def found(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
        ensemble = _stands(check)
        if ensemble is None:
            return
        for member, why in ensemble.fates(*kinds):
            if member.factor < below:
                yield {"what": member.words, "why": why}

    return found


def _margins(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    if not check.linear:  # of a linear loop the exact margins are known
        yield from _fates("margin")(check, test, policy)


def _left_out(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    if check.linear or check.opaque or check.dry_run is None:
        return
    whole = check.dry_run.completed and check.dry_run.tripped is None
    if whole and (check.ensemble is None or not check.ensemble):
        yield {}


def _still(*, unstable: bool) -> Predicate:
    """Return the predicate of a loop that is not linear and that nothing has moved, `unstable` or not."""

    def found(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
        ran = check.dry_run
        if check.linear or check.opaque or test.led or ran is None or not ran.completed or ran.moved:
            return  # a loop that another program closes has no excitation here
        step = check.step
        grows = step is not None and not step.stable and not check.own
        if unstable == grows:
            yield {} if step is None else {"growth": step.growth, "frequency": step.frequency}

    return found


def _idle(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    ran = check.dry_run
    if check.linear or check.opaque or ran is None or not ran.completed or not ran.moved:
        return
    if ran.peaks.get(DISPLACEMENT_SWITCH, 1.0) < 1:
        return  # the rig was not to move
    for i, peaks in enumerate(ran.windows.T):
        if not peaks.max(initial=0.0) > MOTION_FLOOR:
            yield {"interface": i + 1}


ENSEMBLE: Mapping[str, Predicate] = {
    "BL501": _growing(clearly=True),
    "BL502": _growing(clearly=False),
    "BL503": _sustained,
    "BL504": _sometimes,
    "BL505": _plant(clearly=True),
    "BL506": _plant(clearly=False),
    "BL507": _more_excitation,
    "BL508": _fates("excitation", below=1.0),
    "BL509": _fates("tunable"),
    "BL510": _margins,
    "BL511": _noisy,
    "BL512": _learnt,
    "BL513": _left_out,
    "BL514": _still(unstable=True),
    "BL515": _still(unstable=False),
    "BL516": _halted,
    "BL517": _held,
    "BL518": _idle,
}
