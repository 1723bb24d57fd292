"""Rules BL5xx: what the ensemble of rehearsals shows."""

# ruff: noqa: ARG001 - every rule is asked with the same three arguments

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from bondloop.check.finding import percent
from bondloop.check.rules.rule import Rule

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.ensemble import Ensemble, Kind, Member, Share
    from bondloop.check.policy import CheckPolicy
    from bondloop.hybrid import Checkable

    Predicate = Callable[[Check, Checkable, CheckPolicy], Iterator["Fields"]]

Fields = Mapping[str, object]


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
    if ensemble is not None and ensemble.noise > policy.sustained:
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


ENSEMBLE = (
    Rule(
        "BL501",
        "Small disturbances grow",
        "stop",
        "a disturbance grows",
        "{count} of {total} small impulses grow: one at t = {at:.3g} s, {first} of the run's own motion soon "
        "after it, comes {size} by t = {when:.3g} s; disturbances grow at {mean:.2g} 1/s on average "
        "({low:.2g} to {high:.2g})",
        "Twins of the run, with the same noise and a small impulse on the measured force, part from it "
        "without end. The loop is unstable along its motion: what disturbs the rig in the laboratory will "
        "grow as the impulses do. Compensate more of the delay, or test a softer specimen.",
        _growing(clearly=True),
    ),
    Rule(
        "BL502",
        "Some small disturbances grow",
        "care",
        "some disturbances grow",
        "{count} of {total} small impulses grow: one at t = {at:.3g} s, {first} of the run's own motion soon "
        "after it, comes {size} by t = {when:.3g} s",
        "Most small disturbances of the run die away, and some do not, or the complete structure itself is "
        "sensitive to them, such as one that buckles. Two runs of this test may differ by more than the "
        "disturbance between them.",
        _growing(clearly=False),
    ),
    Rule(
        "BL503",
        "A motion sustains itself",
        "stop",
        "a motion sustains itself",
        "after the excitation has been held a motion of {level} of the run's own sustains itself, for the "
        "{seconds:.3g} s that were followed, in {count} of {total} rehearsals{noise}",
        "With its excitation held, displacements where they are and forces at zero, the test does not come "
        "to rest: the loop supplies the energy of a limit cycle, which yielding, friction or a saturation "
        "bounds. The level is that of the raw motion, noise included, against the run's own.",
        _sustained,
    ),
    Rule(
        "BL504",
        "A disturbance leaves the limits, or a motion that sustains itself",
        "care",
        "a small impulse can end it",
        "after {count} of {total} small impulses, one at t = {at:.3g} s, the test meets {why}",
        "The run stands as it is, and ends otherwise after a disturbance of a hundredth of its force. What "
        "decides is luck.",
        _sometimes,
    ),
    Rule(
        "BL505",
        "The test does not stand errors of the plant",
        "stop",
        "{share} rehearsals with errors of the plant stand",
        "with errors of specimen, actuator, sensors and delay {share} rehearsals stand ({low} to {high} at "
        "the confidence of the policy); first to break: {why}",
        "Every parameter of specimen and actuator, the sensors' gains and the delay are drawn within the "
        "errors that the policy states, all at once. Too few of these tests stay within their limits and "
        "come to rest. Identify what is uncertain, or leave the loop more margin.",
        _plant(clearly=True),
    ),
    Rule(
        "BL506",
        "Some errors of the plant are not stood",
        "care",
        "{share} rehearsals with errors of the plant stand",
        "with errors of specimen, actuator, sensors and delay {share} rehearsals stand ({low} to {high} at "
        "the confidence of the policy); first to break: {why}",
        "A few of the rehearsals with drawn errors of specimen, actuator, sensors and delay leave their "
        "limits or do not come to rest. The test may be one of them.",
        _plant(clearly=False),
    ),
    Rule(
        "BL507",
        "Little more excitation is stood",
        "care",
        "it stands {stands} times the excitation",
        "the test stands up to {stands} times its excitation; at {breaks} times it meets {why}",
        "The rehearsal was repeated with larger excitations. A specimen that softens, a contact that is not "
        "reached yet, or a limit lies close beyond the motion of the test, and a drive that overshoots or a "
        "stronger record meets it.",
        _more_excitation,
    ),
    Rule(
        "BL508",
        "Less excitation is not stood",
        "care",
        "it does not stand {what}",
        "with {what} the test meets {why}",
        "A test is begun with less than its whole excitation. With less, friction may hold the rig, or gains "
        "that adapt may not learn what they need.",
        _fates("excitation", below=1.0),
    ),
    Rule(
        "BL509",
        "A tunable parameter can end the test",
        "care",
        "tunable: {what}",
        "with {what}, which the operator may set, the test meets {why}; narrow its bounds",
        "The bounds of every tunable parameter were tried, each alone and in corners of all. What an "
        "operator may set while the test runs must not end it.",
        _fates("tunable"),
    ),
    Rule(
        "BL510",
        "A margin that a test should have is missing",
        "care",
        "it does not stand {what}",
        "with {what} the test meets {why}",
        "The loop is not linear, so that its margins are tried on the motion itself: with the delay and the "
        "gain that the policy asks for to spare.",
        _margins,
    ),
    Rule(
        "BL511",
        "Noise alone moves the structure",
        "care",
        "noise moves it by {level}",
        "with the excitation at rest and the force loop open the sensors' noise moves the test by {level} of "
        "the run's own motion",
        "The measured force drives the numerical half, noise included. Take a sensor of a smaller range, a "
        "filter whose delay is compensated, or a larger excitation.",
        _noisy,
    ),
    Rule(
        "BL512",
        "What was learnt makes an unstable loop",
        "care",
        "what it has learnt makes an unstable loop",
        "with what the controller has learnt by t = {time:.3g} s, held as it is, the loop is unstable: a "
        "mode at {frequency:.3g} Hz grows at {growth:.3g} 1/s, and only further adaptation holds it",
        "The loop was linearised along its run with what adapts held as it was. At the end of the run that "
        "loop is unstable: where adaptation is slow, stops or is switched off, the mode grows.",
        _learnt,
    ),
    Rule(
        "BL513",
        "There is no ensemble",
        "care",
        "it was rehearsed once only",
        "the loop is not linear, and there is no ensemble of rehearsals: one rehearsal alone speaks for it",
        "A loop that is not linear is judged by many rehearsals, which need a C compiler (`bondloop doctor`) "
        "and a test that can be compiled.",
        _left_out,
    ),
    Rule(
        "BL514",
        "Unstable where it starts, and nothing moves it",
        "stop",
        "unstable where it starts",
        "where it starts the loop is unstable (a mode at {frequency:.3g} Hz grows at {growth:.3g} 1/s), and "
        "nothing moves it in the dry run, so that nothing is known of what bounds it",
        "Of a loop that is not linear the motion decides, and there is none. The least disturbance sets it "
        "in motion, and what becomes of that has not been rehearsed.",
        _still(unstable=True),
    ),
    Rule(
        "BL515",
        "Nothing moves the test",
        "vain",
        "nothing moves",
        "nothing moves in the dry run, so that nothing is known of a loop that is not linear or adapts; give "
        "it an excitation",
        "Of a loop that is not linear the motion decides, and there is none: a controller that adapts has "
        "learnt nothing, and a contact or a friction law has not been met.",
        _still(unstable=False),
    ),
    Rule(
        "BL516",
        "Halted in full motion it does not come to rest",
        "care",
        "halted in full motion it does not come to rest",
        "with its excitation held where the motion is largest, a motion of {level} of the run's own sustains "
        "itself; let the excitation fade out, and end the test by switching the rig off",
        "The run comes to rest where its excitation fades out, held by friction, play or the steps of a "
        "converter. Set in motion again it goes on in a limit cycle. The loop is unstable where nothing "
        "holds it.",
        _halted,
    ),
    Rule(
        "BL517",
        "Its excitation held, the motion grows to a limit",
        "stop",
        "its excitation held, it leaves its limits",
        "after the excitation has been held the motion grows to more than the run's own, and meets {why}",
        "With its excitation held, displacements where they are and forces at zero, the test does not come "
        "to rest: it moves ever more until a limit stops it. In the run the excitation hides that.",
        _held,
    ),
)
