"""The check in words, and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.check.finding import LEVELS, multiple, percent
from bondloop.check.lags import away_from_origin
from bondloop.rehearsal import shown

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.finding import Finding
    from bondloop.check.margins import Border, Margins
    from bondloop.check.regimes import Regime


def check_text(check: Check) -> str:
    """Return the check as a text of some lines, the verdict last."""
    lines: list[str] = []
    if check.step is not None:
        lines += _step(check)
    if check.dry_run is not None:
        lines += _dry(check)
    if check.margins is not None:
        lines += _margins(check.margins)
    if check.lags:
        lines += ["Each actuator's lag as the damping that it is:", *(f"  {lag}" for lag in check.lags)]
    if check.assumptions is not None:
        broken = [f"  {a}" for a in check.assumptions.items if not a.holds]
        if broken and not check.inverts:
            numbers = ", ".join(str(a.number) for a in check.assumptions.items if not a.holds)
            lines.append(
                f"A virtual junction could not be used: assumption {numbers} of Gawthrop 2005 does not hold."
            )
        elif broken:
            lines += ["Of the five assumptions of Gawthrop 2005, which a virtual junction needs:", *broken]
        else:
            lines += ["The five assumptions of Gawthrop 2005 hold: a virtual junction can be used."]
    lines += [f"Note: {n}." for n in check.notes]
    if check.policy.changes():
        lines.append(f"Limits of this laboratory: {check.policy}.")
    lines += [_finding(f) for f in sorted(check.findings, key=lambda f: LEVELS.index(f.level))]
    lines.append(f"Verdict: {check.verdict}")
    return "\n".join(lines)


def _finding(finding: Finding) -> str:
    """Return a finding as one line of the text."""
    text = finding.text.rstrip(".")
    if finding.accepted:
        return f"Accepted {finding.rule}: {text}. Reason: {finding.accepted.rstrip('.')}."
    leads = {"run": "Fine", "care": "Care", "vain": "WORTHLESS", "stop": "PROBLEM"}
    return f"{leads[finding.level]} {finding.rule}: {text}."


def _step(check: Check) -> list[str]:
    step = check.step
    assert step is not None
    mode = (
        f"its mode at {step.frequency:.3g} Hz {'decays' if step.growth < 0 else 'grows'} at "
        f"{abs(step.growth):.3g} 1/s"
    )
    verdict = "stable" if step.stable else "UNSTABLE"
    if step.stable and step.spectrum.outside is None:
        verdict = "stable as far as its eigenvalues are known"
    where = "" if step.linear else " where it starts"
    words = (
        f"As it will run, sampled every {1e3 * step.period:.3g} ms, it is {verdict}{where}: spectral radius "
        f"{step.spectral_radius:.6f} of one step, {mode}."
    )
    lines = [words]
    if step.spectrum.note:
        lines.append(f"  {step.spectrum.note}")
    if check.poles:
        moving = away_from_origin(check.poles)
        worst = max(moving, key=lambda s: s.real)
        resting = len(check.poles) - len(moving)
        lines.append(
            f"Without sampling its least stable pole is {worst.real:.3g}{worst.imag:+.3g}j rad/s "
            f"({abs(worst.imag) / (2 * np.pi):.3g} Hz)"
            + (f"; {resting} at the origin (positions that nothing returns)." if resting else ".")
        )
    if check.regimes:
        told = _together(check.regimes)
        lines.append(f"It is not linear; in the dry run it was linearised in {_count(len(told))}:")
        lines += [_regime(r) for r in told[:6]]
    if check.unvisited:
        lines.append("Modes in which it was at no instant that was looked at:")
        lines += [_regime(r) for r in check.unvisited[:6]]
    return lines


def _together(regimes: Sequence[Regime]) -> list[Regime]:
    """Return regimes with those of the same words together: one side and the other."""
    told: dict[str, Regime] = {}
    for regime in regimes:  # the least stable comes first
        first = told.get(regime.words, replace(regime, share=0.0))
        told[regime.words] = replace(first, share=first.share + regime.share)
    return list(told.values())


def _regime(regime: Regime) -> str:
    step = regime.step
    return (
        f"  {100 * regime.share:.0f} %: {regime.words or 'as at the start'}: "
        f"{'stable' if step.stable else 'UNSTABLE'}, {step.growth:.3g} 1/s at {step.frequency:.3g} Hz"
    )


def _count(n: int) -> str:
    return "one regime" if n == 1 else f"{n} regimes"


def _dry(check: Check) -> list[str]:
    ran = check.dry_run
    assert ran is not None
    how = "went to its end" if ran.completed else "stopped early"
    lines = [f"A dry run with the test's own excitation and limits {how}, at t = {ran.seconds:.4g} s."]
    used = []
    for name, share in ran.usage.items():
        peak, bound = (shown(x, ran.units.get(name, "")) for x in (ran.peaks[name], ran.bounds[name]))
        used.append(f"{name} {peak} of {bound} ({100 * share:.0f} %)")
    if used:
        lines.append("  It used " + ", ".join(used) + ".")
    else:
        lines.append("  The test has no limits; give it some: a rig has them.")
    errors = [percent(e) for e in ran.error if np.isfinite(e)]
    if errors and ran.completed:
        lines.append(f"  The rig followed the numerical half with an error of {', '.join(errors)} (rms).")
    for d in ran.disturbances:
        fate = "died away" if d.ratio < 0.1 else "faded" if d.ratio < 1 else "grew"
        end = f"to {percent(d.ratio)} of its first size at the end"
        end = "beyond all bounds" if np.isinf(d.ratio) else end
        lines.append(f"  A knock of {1e3 * d.size:.2g} mm at t = {d.at:.3g} s {fate}, {end}.")
    if ran.free is not None:
        left = f"{percent(ran.free.last)} of the run's own motion was left"
        later = f"{ran.free.seconds:.3g} s later"
        fate = f"the motion ran away: {ran.free.ended}" if ran.free.ended else f"{later} {left}"
        lines.append(f"  After the excitation had ended a knock was given, and {fate}.")
    return lines


def _margins(m: Margins) -> list[str]:
    lines = []
    if m.delay is not None and m.delay.found:
        indicator = m.indicator or 0.0
        how = "slightly" if indicator > 0.7 else "moderately" if indicator > 0 else "extremely"
        lines.append(
            f"  {1e3 * m.delay.value:.3g} ms of extra delay would make it unstable, at "
            f"{m.delay.frequency:.3g} Hz (predictive stability indicator {m.indicator:.2f}: {how} sensitive)"
            f"{_elsewhere(m, m.delay)}"
        )
    elif m.delay is not None:
        lines.append("  no extra delay was found that would make it unstable")
    lines += _factor(m, "the measured force")
    if m.stiffer is not None:
        lines += [_times(m, m.stiffer, "as stiff")]
    if m.lighter is not None:
        lines += [_times(m, m.lighter, "as heavy", "a third")]
    if m.model_error is not None:
        lines.append(
            f"  the actuator may answer {100 * m.model_error.value:.3g} % differently, most delicate at "
            f"{m.model_error.frequency:.3g} Hz"
            if m.model_error.found
            else "  no error of the actuator's model matters"
        )
    if m.followed:
        bands = ", ".join(f"up to {f:.3g} Hz" if f else "at no frequency" for f in m.followed)
        lines.append(f"  the motion is followed to 5 % {bands}")
    if m.left_out:
        lines.append(f"  {m.left_out}")
    if m.where and m.model_error is not None:
        lines.append("  these are margins of small motions about the run's; a large one may break sooner")
    head = f"How far it is from the border, {m.where}:" if m.where else "How far it is from the border:"
    return [head, *lines] if lines else []


def _elsewhere(m: Margins, border: Border) -> str:
    """Say in which regime a border is, where it is another than that of the most delicate actuator."""
    return f", {border.where}" if border.where != m.where else ""


def _factor(m: Margins, what: str) -> list[str]:
    most, least = m.gain, m.least_gain
    if most is None or least is None:
        return []
    both = (least, most)
    words = [f"{multiple(b.value)} times ({b.frequency:.3g} Hz{_elsewhere(m, b)})" for b in both if b.found]
    if not words:
        return [f"  {what} may be at least ten times smaller and ten times larger"]
    return [f"  unstable with {what} {' or '.join(words)} as large"]


def _times(m: Margins, border: Border, how: str, far: str = "three times") -> str:
    if not border.found:
        return f"  the specimen may be {far} {how}, at least"
    where = _elsewhere(m, border)
    times = multiple(border.value)
    return f"  unstable with the specimen {times} times {how}, at {border.frequency:.3g} Hz{where}"


def check_dict(check: Check) -> dict[str, Any]:
    """Return the check as plain numbers and texts."""
    ran, step, m = check.dry_run, check.step, check.margins
    answer: dict[str, Any] = {
        "passed": check.passed,
        "level": check.level,
        "verdict": check.verdict,
        "findings": [asdict(f) for f in check.findings],
        "policy": check.policy.to_dict(),
        "accepted": dict(check.acceptances),
        "notes": list(check.notes),
    }
    answer |= dict.fromkeys(("step", "dry_run", "margins", "assumptions"))
    if step is not None:
        answer["step"] = {
            "stable": step.stable,
            "linear": step.linear,
            "spectral_radius": step.spectral_radius,
            "frequency": step.frequency,
            "growth": step.growth,
            "method": step.spectrum.method,
            "complete": step.spectrum.complete,
            "eigenvalues": [[z.real, z.imag] for z in step.eigenvalues[:200].tolist()],
        }
    answer["regimes"] = [
        {
            "words": r.words,
            "share": r.share,
            "time": r.time,
            "stable": r.step.stable,
            "growth": r.step.growth,
            "frequency": r.step.frequency,
        }
        for r in (*check.regimes, *check.unvisited)
    ]
    if ran is not None:
        answer["dry_run"] = {
            "seconds": ran.seconds,
            "completed": ran.completed,
            "message": ran.message,
            "usage": ran.usage,
            "peaks": {n: ran.peaks[n] for n in ran.bounds if n in ran.peaks},
            "error": list(ran.error),
            "saturated": dict(ran.saturated),
            "disturbances": [{"at": d.at, "size": d.size, "ratio": d.ratio} for d in ran.disturbances],
            "free_motion": None
            if ran.free is None
            else {
                "seconds": ran.free.seconds,
                "first": ran.free.first,
                "last": ran.free.last,
                "grew": ran.free.grew,
                "lasts": ran.free.lasts,
            },
            "repetitions": list(ran.repetitions),
        }
    if m is not None:
        names = ("delay", "gain", "least_gain", "stiffer", "lighter", "model_error")
        answer["margins"] = {
            n: None
            if (b := getattr(m, n)) is None
            else {"found": b.found, "value": b.value, "frequency": b.frequency, "where": b.where}
            for n in names
        }
        answer["margins"] |= {
            "indicator": m.indicator,
            "followed": list(m.followed),
            "left_out": m.left_out,
            "where": m.where,
        }
    if check.assumptions is not None:
        answer["assumptions"] = [
            {"number": a.number, "title": a.title, "holds": a.holds, "reason": a.reason}
            for a in check.assumptions.items
        ]
    answer["poles"] = [[p.real, p.imag] for p in check.poles]
    answer["lags"] = [
        {
            "interface": lag.interface,
            "lag": lag.seconds,
            "stiffness": lag.stiffness,
            "damping": lag.damping,
            "structure_damping": lag.structure,
        }
        for lag in check.lags
    ]
    return {name: _finite(value) for name, value in answer.items()}


def _finite(value: object) -> object:
    """Return a value with None for what JSON has no number for: NaN and the infinities."""
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(v) for name, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, list) else value
