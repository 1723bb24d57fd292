"""The check before a test: assumptions, stability, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.bondgraph.cut import interfaces, rejoin
from bondloop.errors import BondloopError
from bondloop.hybrid.switches import FORCE
from bondloop.hybrid.wiring import loop_links
from bondloop.program.compose import connect, prefixed, with_values
from bondloop.program.expr import Const
from bondloop.program.one_step import OneStep, one_step
from bondloop.rigs.rig_tick import MEASURED
from bondloop.substructure.assumptions import Assumptions, check_assumptions
from bondloop.transfer.base import Transfer, transfer_system

if TYPE_CHECKING:
    from bondloop.hybrid.test import HybridTest
    from bondloop.program.expr import Expr
    from bondloop.program.statespace import StateSpace

__all__ = ["Check", "Lag", "check"]

TINY = 1e-6
"""Lags in ms and dampings in Ns/m below this are rounding."""


@dataclass(frozen=True)
class Lag:
    """What a lagging transfer system does to the structure at one frequency.

    Attributes
    ----------
    interface
        Number of the interface, from 0.
    frequency
        Frequency in Hz at which it is evaluated: that of the loop's least stable mode.
    seconds
        Lag of the transfer system behind the numerical half.
    stiffness
        Stiffness in N/m that the specimen shows at this frequency.
    structure
        Damping in Ns/m that the numerical half itself has there.
    """

    interface: int
    frequency: float
    seconds: float
    stiffness: float
    structure: float

    @property
    def damping(self) -> float:
        """Damping in Ns/m that the lag adds: minus stiffness times lag."""
        return -self.stiffness * self.seconds

    def __str__(self) -> str:
        return (
            f"interface {self.interface + 1}: a lag of {_clean(1e3 * self.seconds):.3g} ms on a stiffness of "
            f"{self.stiffness:.4g} N/m acts as {_clean(self.damping):.3g} Ns/m of damping at "
            f"{self.frequency:.3g} Hz, against {self.structure:.3g} Ns/m in the numerical half"
        )


@dataclass(frozen=True)
class Check:
    """Whether this cut, this actuator and this controller may be run.

    Attributes
    ----------
    assumptions
        The five assumptions of Gawthrop 2005.
    poles
        Poles of the whole loop in rad/s, without sampling; empty where the controller adapts.
    own
        Unstable poles that the structure has in one piece, without any cut: a double well, say.
    lags
        The effect of each transfer system's lag.
    problems
        Everything that speaks against running, in words.
    step
        One step of the test as it will run, with sampling and latency, linearised at its initial state; None
        where there is no loop, or where the coupling is continuous.
    """

    assumptions: Assumptions
    poles: tuple[complex, ...] = ()
    lags: tuple[Lag, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    own: tuple[complex, ...] = ()
    step: OneStep | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against running."""
        return not self.problems

    def __str__(self) -> str:
        lines = ["The five assumptions of Gawthrop 2005:", *(f"  {a}" for a in self.assumptions.items)]
        if self.poles:
            moving = _away_from_origin(self.poles)
            worst = max(moving, key=lambda s: s.real)
            resting = len(self.poles) - len(moving)
            lines.append(
                f"The closed loop, without sampling, is {'UNSTABLE' if worst.real > 0 else 'stable'}"
                f"{' at rest, as the structure itself is' if worst.real > 0 and self.own else ''}: its least "
                f"stable pole is {worst.real:.3g}{worst.imag:+.3g}j rad/s "
                f"({abs(worst.imag) / (2 * np.pi):.3g} Hz)"
                + (f"; {resting} at the origin (positions that nothing returns)." if resting else ".")
            )
        if self.step is not None:
            lines.append(
                f"As it will run, sampled every {1e3 * self.step.period:.3g} ms, it is "
                f"{'stable' if self.step.stable else 'UNSTABLE'}: "
                f"spectral radius {self.step.spectral_radius:.6f} of one step, "
                f"its mode at {self.step.frequency:.3g} Hz "
                f"{'decays' if self.step.growth < 0 else 'grows'} at {abs(self.step.growth):.3g} 1/s."
            )
        lines += [f"  {lag}" for lag in self.lags]
        lines += [f"Note: {n}" for n in self.notes]
        lines += [f"PROBLEM: {p}" for p in self.problems]
        lines.append("The check has passed." if self.passed else "Do not run this test on a rig.")
        return "\n".join(lines)


def check(test: HybridTest) -> Check:
    """Analyse a test before anything moves."""
    transfers = [_in_force(test, i, a) for i, a in enumerate(test.rig.actuator_list())]
    assumptions = check_assumptions(test.numerical, test.rig.physical, transfers)
    problems: list[str] = []
    notes: list[str] = []
    for a in assumptions.items:
        if not a.holds:
            if a.number == 5 and not test.controller.inverts:
                notes.append("assumption 5 does not hold, so a virtual junction could not be used")
            else:
                problems.append(f"assumption {a.number} does not hold: {a.reason}")
    notes += _still_sensors(test)
    if test.switches is not None or test.interlock is not None:
        closed = None if test.switches is None else test.switches.closed()
        test = test.replaced(switches=closed, interlock=None)
        if closed is not None:
            notes.append("the loop is analysed with both switches closed")
    result = Check(assumptions)
    if test.design.channels or test.controller.adapts:
        notes.append("the controller adapts, so its loop has no fixed poles; rehearse it instead")
    elif not test.feedback:
        notes.append("the measured force is not fed back; there is no loop to be unstable")
    else:
        try:
            result = _loop(test, transfers, result, problems, notes)
        except BondloopError as error:
            notes.append(f"the loop could not be analysed: {error}")
    return replace(result, problems=tuple(problems), notes=tuple(notes))


def _still_sensors(test: HybridTest) -> list[str]:
    """Say so where an interlock would take the rest of a sensor without noise for a fault."""
    if test.interlock is None or test.interlock.stale is None:
        return []
    still = [w for w in MEASURED if not (w in test.rig.sensors and test.rig.sensors[w].streams)]
    if not still:
        return []
    words = (
        f"the interlock trips when a value repeats {test.interlock.stale} times, and the emulated sensors of "
        f"{' and '.join(still)} have no noise, so they repeat at rest; give them some"
    )
    return [words]


def _loop(
    test: HybridTest, transfers: list[Transfer], result: Check, problems: list[str], notes: list[str]
) -> Check:
    """Add the stability of the loop, without sampling and as it will run."""
    own = tuple(_unstable(structure(test).poles()))
    result = replace(result, own=own)
    added: list[complex] = []
    if test.controller.sampled:
        notes.append("the compensator works sample by sample; the loop is analysed as it will run")
    else:
        poles = tuple(complex(p) for p in closed_loop(test).poles())
        added = _added(_unstable(poles), own)
        worst = max(added or _away_from_origin(poles), key=lambda s: s.real)
        lags = _lags(test, transfers, worst)
        result = replace(result, poles=poles, lags=lags)
        if added:
            problems.append(_unstable_because(worst, lags))
    if own and not added:
        notes.append(
            f"the structure itself is unstable at rest: a mode grows at {max(p.real for p in own):.3g} 1/s "
            "in one piece too; the loop adds no unstable mode"
        )
    if test.coupling == "sampled":
        step = one_step(test.tick)
        result = replace(result, step=step)
        allowed = max((p.real for p in own), default=0.0)
        if not added and not step.stable and step.growth > 1.01 * allowed:
            problems.append(_unstable_sampled(step, compensated=test.controller.sampled))
    return result


def _unstable_because(worst: complex, lags: tuple[Lag, ...]) -> str:
    why = "; ".join(str(lag) for lag in lags if lag.damping < -max(lag.structure, TINY))
    return (
        f"the loop is unstable: a mode at {abs(worst.imag) / (2 * np.pi):.3g} Hz grows at {worst.real:.3g} "
        "1/s" + (f", because {why}" if why else "")
    )


def _unstable_sampled(step: OneStep, *, compensated: bool) -> str:
    mode = (
        f"a mode at {step.frequency:.3g} Hz grows at {step.growth:.3g} 1/s (spectral radius "
        f"{step.spectral_radius:.6f} of one step)"
    )
    if compensated:
        return f"the loop is unstable: {mode}; the compensator does not fit the rig: identify it anew"
    return (
        f"sampling and latency make the loop unstable: {mode}, though without them it would be stable; "
        "sample faster, or reduce the latency"
    )


def _in_force(test: HybridTest, i: int, actuator: Any) -> Transfer:
    """Return a transfer system of the rig with the values in force."""
    several = len(test.rig.actuator_list()) > 1
    transfer = transfer_system(actuator, f"rig.transfer[{i}]." if several else "rig.transfer.")
    return replace(transfer, system=with_values(transfer.system, test.values_for(transfer.system)))


def _away_from_origin(poles: Sequence[complex]) -> list[complex]:
    scale = max((abs(p) for p in poles), default=0.0)
    return [p for p in poles if abs(p) > 1e-7 * scale] or list(poles) or [0j]


def _unstable(poles: Any) -> list[complex]:
    scale = max((abs(p) for p in poles), default=0.0)
    return [complex(p) for p in poles if p.real > 1e-7 * scale]


def _added(unstable: list[complex], own: Sequence[complex]) -> list[complex]:
    """Return the unstable poles that the structure in one piece does not account for."""
    left = list(unstable)
    for p in own:
        if left:
            left.remove(min(left, key=lambda q: abs(q - p)))
    return left


def _clean(value: float) -> float:
    """Return zero for what is only rounding."""
    return value if abs(value) > TINY else 0.0


def closed_loop(test: HybridTest) -> StateSpace:
    """Return the whole loop without sampling, linearised at its initial state."""
    design, rig = test.design, test.rig_system
    links = loop_links(design, rig)
    links.update({u: Const(1.0) for u in design.system.input_vars if u.name == FORCE})
    whole = connect("loop", [design.system, rig.system], links, {})
    return whole.linearise(whole.initial())


def structure(test: HybridTest) -> StateSpace:
    """Return the two halves joined without any transfer system, linearised at the initial state."""
    whole = rejoin(test.numerical, test.rig.physical).compile()
    renamed = {re.sub(r"^rig\.specimen\.", "physical.", path): v for path, v in test.overrides.items()}
    return whole.linearise(
        whole.initial(), values={k: v for k, v in renamed.items() if k in whole.parameters}
    )


def _lags(test: HybridTest, transfers: list[Transfer], worst: complex) -> tuple[Lag, ...]:
    """Find lags of slow motion, stiffnesses that oppose fast motion, dampings of the numerical half."""
    omega = abs(worst.imag) or 1.0
    half = test.half
    numerical = half.system.linearise(half.system.initial())
    mobility = numerical.frequency_response([omega])[0]
    plain = prefixed(test.rig.physical.compile(), "rig.specimen.")
    specimen = plain.linearise(plain.initial(), values=test.values_for(plain))
    fast = 1e3 * max([1.0, *np.abs(specimen.poles())])
    impedance = specimen.frequency_response([fast])[0]
    slow = 0.01 * min(
        max(float(np.abs(t.system.linearise().poles()).min(initial=1.0)), 1e-3) for t in transfers
    )
    result = []
    ends = zip(interfaces(test.numerical), interfaces(test.rig.physical), strict=True)
    for i, (ratio, (near, far)) in enumerate(zip(_following(test, transfers, slow), ends, strict=True)):
        effort, flow = (f"rig.specimen.{far.path}.{word}" for word in ("effort", "flow"))
        if flow not in specimen.inputs:
            continue  # the specimen begins with a mass: it opposes no stiffness
        sign = half.signs[i]
        row = numerical.outputs.index(f"numerical.{near.path}.flow")
        own = mobility[row, numerical.inputs.index(half.efforts[i].name)] * -sign
        damping = float(np.real(1 / own)) if own != 0 else np.inf
        felt = impedance[specimen.outputs.index(effort), specimen.inputs.index(flow)]
        stiffness = float(np.real(1j * fast * felt)) * sign
        result.append(Lag(i, omega / (2 * np.pi), float(-np.angle(ratio) / slow), stiffness, damping))
    return tuple(result)


def _following(test: HybridTest, transfers: list[Transfer], omega: float) -> list[complex]:
    """Return the motion of each transfer system, without load, per desired motion, at one frequency."""
    design = test.design
    count = len(design.commands)
    outputs: dict[str, Expr] = {f"command[{i}]": c for i, c in enumerate(design.commands)}
    outputs.update({f"desired[{i}]": v for i, v in enumerate(design.desired_velocities)})
    computer = connect("computer", [design.system], {}, outputs)
    response = computer.linearise(computer.initial()).frequency_response([omega])[0]
    columns = [j for j, u in enumerate(computer.input_vars) if u not in design.efforts]
    ratios = []
    for i, t in enumerate(transfers):
        space = t.system.linearise()
        plant = space.frequency_response([omega])[0, 0, space.inputs.index(t.command.name)]
        drive = max(columns, key=lambda j: abs(response[count + i, j]), default=None)
        desired = 0.0 if drive is None else response[count + i, drive]
        ratios.append(complex(plant * response[i, drive] / desired) if desired != 0 else 1.0 + 0.0j)
    return ratios
