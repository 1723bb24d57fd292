"""Rules BL2xx: stability of a loop that is linear."""

# ruff: noqa: ARG001 - every rule is asked with the same three arguments

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.check.linear.lags import away_from_origin
from bondloop.check.rules.rule import Rule
from bondloop.check.tolerances import NO_LAG

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.ensemble import Twin
    from bondloop.check.policy import CheckPolicy
    from bondloop.engine.analysis.spectrum import OneStep
    from bondloop.hybrid import Checkable

Fields = Mapping[str, object]


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


def _unstable(name: str) -> Callable[[Check, Checkable, CheckPolicy], Iterator[Fields]]:
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
    if check.step.spectrum.outside is not None:
        return twin.last > policy.hidden * twin.first > 0
    return twin.last > twin.first > 0 and not twin.exponent < 0


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


STABILITY = (
    Rule(
        "BL201",
        "The loop is unstable",
        "stop",
        "the loop is unstable",
        "the loop is unstable: a mode at {frequency:.3g} Hz grows at {growth:.3g} 1/s",
        "One step of the test as it will run, with sampling, hold and latency, has an eigenvalue outside the "
        "unit circle. Any disturbance of that mode grows at the rate that is stated, until a limit stops it. "
        "Nothing in the excitation can help; change the loop.",
        _unstable("BL201"),
    ),
    Rule(
        "BL202",
        "The integration is unstable",
        "stop",
        "the time step is too long",
        "a motion grows {radius:.3g} times from one sample to the next: the time step of the numerical half "
        "or of the emulated rig is too long for what is stiff in it (a friction law over a small width, a "
        "small mass); this may be the emulation's fault alone: take more substeps, Emulated(substeps=...), "
        "or sample faster",
        "Growth of this size within one sample is that of an explicit time step that is too long for a stiff "
        "law, and not of a loop. The numerical half must be stepped finer or more robustly, for it runs as "
        "it is; an emulated rig only needs more substeps.",
        _unstable("BL202"),
    ),
    Rule(
        "BL203",
        "The structure itself is unstable",
        "stop",
        "the structure itself is unstable",
        "a mode at {frequency:.3g} Hz grows at {growth:.3g} 1/s: the structure itself is unstable, in one "
        "piece too; nothing holds it",
        "The complete structure, without cut and transfer system, has an unstable pole. The loop shows it "
        "as it is; no controller of the transfer system is to mend it.",
        _itself,
    ),
    Rule(
        "BL204",
        "A part is unstable by itself",
        "stop",
        "a part of it is unstable by itself",
        "the numerical half, the controller or the rig is unstable by itself: a mode at {frequency:.3g} Hz "
        "grows at {growth:.3g} 1/s",
        "The measured force is not fed back, so that there is no loop that could be unstable: one of the "
        "parts is. Look at each by itself.",
        _unstable("BL204"),
    ),
    Rule(
        "BL205",
        "The loop is unstable with this compensator",
        "stop",
        "the loop is unstable",
        "the loop is unstable: a mode at {frequency:.3g} Hz grows at {growth:.3g} 1/s (spectral radius "
        "{radius:.6f} of one step); the compensator does not fit the rig",
        "A compensator works on the commands, and the loop is unstable all the same: it predicts too little "
        "or too much, or amplifies where the loop has no gain to spare. Tune it to the rig's own delay and "
        "lag (`bondloop tune`).",
        _unstable("BL205"),
    ),
    Rule(
        "BL206",
        "Sampling and latency make the loop unstable",
        "stop",
        "the loop is unstable",
        "sampling and latency make the loop unstable: a mode at {frequency:.3g} Hz grows at {growth:.3g} 1/s "
        "(spectral radius {radius:.6f} of one step), though without them it would be stable; sample faster, "
        "or reduce the latency",
        "In continuous time all poles of the loop lie in the left half plane. What is left is the time that "
        "a sample, a hold and the converters take. A faster rate or a shorter way of the signals helps, or a "
        "prediction over that time.",
        _unstable("BL206"),
    ),
    Rule(
        "BL207",
        "The lag of an actuator makes the loop unstable",
        "stop",
        "the loop is unstable",
        "the loop is unstable: a mode at {frequency:.3g} Hz grows at {growth:.3g} 1/s, because {lags}",
        "A lag in the transfer system acts as negative damping, as large as the specimen's stiffness times "
        "the lag. Where it exceeds the damping of the structure the loop is unstable. Compensate the lag, "
        "or test a softer specimen.",
        _unstable("BL207"),
    ),
    Rule(
        "BL208",
        "The structure itself is unstable at rest",
        "care",
        "the structure itself is unstable at rest",
        "the structure itself is unstable at rest: a mode grows at {growth:.3g} 1/s in one piece too; what "
        "bounds it there bounds it here",
        "The complete structure, uncut, leaves its rest by itself and is bounded by a law that is not "
        "linear, such as a spring that snaps through. Two runs of it part, in one piece as in the test.",
        _own_unstable,
    ),
    Rule(
        "BL210",
        "The emulation of the rig is too coarse",
        "care",
        "the emulated rig was refined",
        "as it is given the emulated rig is unstable by its own time step, and the check was made with "
        "{refined}; this is an error of the rehearsal, not of the test: rehearse with these",
        "An explicit time step that is too long for what is stiff in the emulated rig is an error of the "
        "rehearsal, not of the test. The check refines it; rehearsals with the steps as given run away.",
        _refined,
    ),
    Rule(
        "BL209",
        "The stepped test is unstable",
        "stop",
        "a motion grows",
        "a motion at {frequency:.3g} Hz grows at {growth:.3g} 1/s (spectral radius {radius:.6f} of one step "
        "of {period:.3g} ms): the scheme and this rig are not stable together",
        "In a pseudo-dynamic test the integration scheme and the rig make one map from step to step. Its "
        "spectral radius is beyond 1. Take a shorter time step, more sub-steps, or a scheme that is stable "
        "for the stiffness of this specimen.",
        _unstable("BL209"),
    ),
    Rule(
        "BL211",
        "A disturbance grows although no eigenvalue shows it",
        "stop",
        "a disturbance grows",
        "a disturbance at t = {time:.3g} s does not die away: in the dry run it grows {times}",
        "The eigenvalue of a slow mode can be too close to 1 to be told from that of a position that nothing "
        "returns, and of a large loop not all eigenvalues are known. The rehearsal was disturbed, and the "
        "disturbance grew.",
        _hidden_growth,
    ),
    Rule(
        "BL212",
        "The stability of a large loop is not known",
        "stop",
        "it cannot be analysed",
        "{note} That is not enough to know, and a dry run of {seconds:.3g} s is too short for a "
        "disturbance to tell; check it with seconds={wanted:.3g}, reduce the model, or shorten the delay",
        "Of a loop with very many states only the eigenvalues that matter most are sought, and not all were "
        "found. A disturbance of the rehearsal is the remaining evidence, and it was not followed for long "
        "enough.",
        _unanalysed,
    ),
    Rule(
        "BL213",
        "Not all eigenvalues are known",
        "care",
        "not all eigenvalues are known",
        "{note} None of them grows, and a disturbance dies away in the dry run",
        "Of a loop with very many states only the eigenvalues that matter most are sought, and not all were "
        "found. Those that are known decay, and so did a disturbance of the rehearsal.",
        _unknown_rest,
    ),
)
