"""The check in words, and as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.check.finding import LEVELS, multiple, percent
from bondloop.check.linear.lags import away_from_origin
from bondloop.rehearsal import shown

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.dry_run import DryRun
    from bondloop.check.ensemble import Ensemble
    from bondloop.check.finding import Finding
    from bondloop.check.linear.margins import Border, Margins
    from bondloop.engine.analysis.spectrum import OneStep


def check_text(check: Check) -> str:
    """Return the check as a text of some lines, the verdict last."""
    lines: list[str] = []
    if check.step is not None:
        lines += _step(check)
    if check.dry_run is not None:
        lines += [*_dry(check), *_ensemble(check)]
    if check.margins is not None:
        lines += _margins(check.margins)
    if check.lags:
        lines += ["Each actuator's lag as the damping that it is:", *(f"  {lag}" for lag in check.lags)]
    lines += _assumptions(check)
    lines += [f"Note: {n}." for n in check.notes]
    if check.policy.changes():
        lines.append(f"Limits of this laboratory: {check.policy}.")
    lines += [_finding(f) for f in sorted(check.findings, key=lambda f: LEVELS.index(f.level))]
    lines.append(f"Verdict: {check.verdict}")
    return "\n".join(lines)


def _assumptions(check: Check) -> list[str]:
    if check.assumptions is None:
        return []
    broken = [a for a in check.assumptions.items if not a.holds]
    if not broken:
        return ["The five assumptions of Gawthrop 2005 hold: a virtual junction can be used."]
    if check.inverts:
        head = "Of the five assumptions of Gawthrop 2005, which a virtual junction needs:"
        return [head, *(f"  {a}" for a in broken)]
    numbers = ", ".join(str(a.number) for a in broken)
    return [f"A virtual junction could not be used: assumption {numbers} of Gawthrop 2005 does not hold."]


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
    if check.instants:
        loose = [i for i in check.instants if not i.step.stable]
        words = f"It is not linear; linearised at {len(check.instants)} instants of the dry run it is "
        if not loose:
            slowest = max(i.step.growth for i in check.instants)
            lines.append(f"{words}stable at each, with a mode that decays at {-slowest:.3g} 1/s or faster.")
        else:
            fastest = max(loose, key=lambda i: i.step.growth)
            lines.append(
                f"{words}unstable at {len(loose)}, at most by {fastest.step.growth:.3g} 1/s at "
                f"{fastest.step.frequency:.3g} Hz, at t = {fastest.time:.3g} s. Its motion decides."
            )
    return lines


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
    return [*lines, *_reference(check)]


def _reference(check: Check) -> list[str]:
    lines = []
    if check.off:
        which = "exact reference, the complete structure" if check.reference else "test's own reference"
        errors = ", ".join(f"{name} {percent(error)}" for name, error in check.off.items())
        lines.append(f"  Off the {which} (rms): {errors}.")
    elif check.reference.missing:
        lines.append(f"  It is not compared with the complete structure: {check.reference.missing}.")
    scheme = check.reference.scheme_error if check.reference else None
    if scheme is not None and scheme > 1e-3:
        lines.append(f"  The integration scheme alone is off by {percent(scheme)}.")
    return lines


def _ensemble(check: Check) -> list[str]:
    found = check.ensemble
    if found is None or not found:
        return []
    assert found.ran is not None
    stand = sum(not b for b in found.beyond)
    lines = [f"An ensemble of {len(found.members)} rehearsals, of which {stand} stand:"]
    rest = percent(found.rest[0])
    lines.append(
        f"  {rest} of the run's own motion is left {found.ran.followed:.3g} s after the excitation was held"
        + (" and sustains itself." if found.sustained[0] else ".")
    )
    if found.twins:
        mean, low, high = found.exponents
        grown = len(found.growing)
        fate = "all die away or stay small" if not grown else f"{grown} grow"
        rate = f", at {mean:.2g} 1/s on average ({low:.2g} to {high:.2g})" if np.isfinite(mean) else ""
        lines.append(f"  Of {len(found.twins)} small impulses {fate}{rate}.")
    plant = found.share("plant")
    if plant.total:
        lines.append(f"  With errors of specimen, actuator, sensors and delay {plant} stand.")
    more = found.excitations
    name, share = found.nearest
    limit = f"; the nearest limit is that of '{name}', used to {percent(share)}" if name else ""
    if more.why:
        lines.append(f"  It stands up to {more.stands:.3g} times the excitation; then {more.why}{limit}.")
    elif more.stands > 1:
        lines.append(f"  It stands at least {more.stands:.3g} times the excitation{limit}.")
    if found.left_out:
        lines.append(f"  There are fewer members than the policy has: {found.left_out}.")
    return lines


def _margins(m: Margins) -> list[str]:
    lines = [*_delays(m), *_factor(m, "the measured force")]
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


def _delays(m: Margins) -> list[str]:
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
    if m.jitter is not None and m.jitter.found and m.jitter != m.delay:
        lines.append(
            f"  {1e3 * m.jitter.value:.3g} ms more delay of every other command would, at "
            f"{m.jitter.frequency:.3g} Hz{_elsewhere(m, m.jitter)}"
        )
    return lines


def _elsewhere(m: Margins, border: Border) -> str:
    """Say where a border is, where it is another place than that of the most delicate actuator."""
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
    exact = check.reference
    assumptions = check.assumptions
    answer: dict[str, Any] = {
        "passed": check.passed,
        "level": check.level,
        "verdict": check.verdict,
        "findings": [asdict(f) for f in check.findings],
        "policy": check.policy.to_dict(),
        "accepted": dict(check.acceptances),
        "notes": list(check.notes),
        "step": None if check.step is None else _step_dict(check.step),
        "instants": [
            {"time": i.time, "stable": i.step.stable, "growth": i.step.growth, "frequency": i.step.frequency}
            for i in check.instants
        ],
        "off": dict(check.off),
        "chatter": {n: {"share": c.share, "frequency": c.frequency} for n, c in check.chatter.items()},
        "reference": {
            "exact": bool(exact), "missing": exact.missing, "scheme_error": exact.scheme_error,
            "agrees_until": exact.agrees_until,
        },
        "ensemble": _ensemble_dict(check.ensemble),
        "dry_run": None if check.dry_run is None else _dry_dict(check.dry_run),
        "margins": None if check.margins is None else _margins_dict(check.margins),
        "assumptions": None
        if assumptions is None
        else [
            {"number": a.number, "title": a.title, "holds": a.holds, "reason": a.reason}
            for a in assumptions.items
        ],
        "poles": [[p.real, p.imag] for p in check.poles],
        "lags": [
            {
                "interface": lag.interface, "lag": lag.seconds, "stiffness": lag.stiffness,
                "damping": lag.damping, "structure_damping": lag.structure,
            }
            for lag in check.lags
        ],
    }  # fmt: skip
    return {name: _finite(value) for name, value in answer.items()}


def _step_dict(step: OneStep) -> dict[str, Any]:
    return {
        "stable": step.stable, "linear": step.linear, "spectral_radius": step.spectral_radius,
        "frequency": step.frequency, "growth": step.growth, "method": step.spectrum.method,
        "complete": step.spectrum.complete,
        "eigenvalues": [[z.real, z.imag] for z in step.eigenvalues[:200].tolist()],
    }  # fmt: skip


def _dry_dict(ran: DryRun) -> dict[str, Any]:
    return {
        "seconds": ran.seconds, "completed": ran.completed, "message": ran.message, "usage": ran.usage,
        "peaks": {n: ran.peaks[n] for n in ran.bounds if n in ran.peaks},
        "error": list(ran.error), "saturated": dict(ran.saturated), "limited": dict(ran.limited),
    }  # fmt: skip


def _margins_dict(m: Margins) -> dict[str, Any]:
    names = ("delay", "jitter", "gain", "least_gain", "stiffer", "lighter", "model_error")
    borders = {
        n: None
        if (b := getattr(m, n)) is None
        else {"found": b.found, "value": b.value, "frequency": b.frequency, "where": b.where}
        for n in names
    }
    rest = {"indicator": m.indicator, "followed": list(m.followed), "left_out": m.left_out, "where": m.where}
    return borders | rest


def _ensemble_dict(found: Ensemble | None) -> dict[str, Any] | None:
    """Return an ensemble as plain numbers and texts."""
    if found is None or not found:
        return None
    more, (mean, low, high), plant = found.excitations, found.exponents, found.share("plant")
    members = [
        {"kind": m.kind, "words": m.words, "factor": m.factor, "rest": rest, "beyond": why}
        for m, rest, why in zip(found.members, found.rest, found.beyond, strict=True)
    ]
    twins = [
        {"at": t.at, "first": t.first, "last": t.last, "when": t.when, "exponent": t.exponent}
        for t in found.twins
    ]
    return {
        "members": members, "twins": twins, "growing": len(found.growing),
        "exponents": {"mean": mean, "low": low, "high": high}, "noise": found.noise,
        "plant": {"count": plant.count, "total": plant.total, "low": plant.low, "high": plant.high},
        "excitations": {"stands": more.stands, "breaks": more.breaks, "why": more.why},
        "seconds": found.seconds, "left_out": found.left_out,
    }  # fmt: skip


def _finite(value: object) -> object:
    """Return a value with None for what JSON has no number for: NaN and the infinities."""
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(v) for name, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, list) else value
