"""The check before a test: assumptions, stability, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import BondloopError
from bondloop.program.compose import connect
from bondloop.program.expr import Const, Expr, Var
from bondloop.program.statespace import StateSpace
from bondloop.substructure.assumptions import Assumptions, check_assumptions
from bondloop.transfer.base import Transfer, transfer_system

if TYPE_CHECKING:
    from bondloop.hybrid.test import HybridTest

__all__ = ["Check", "Lag", "check"]


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
            f"interface {self.interface + 1}: a lag of {1e3 * self.seconds:.3g} ms on a stiffness of {self.stiffness:.4g} N/m "
            f"acts as {self.damping:.3g} Ns/m of damping at {self.frequency:.3g} Hz, against {self.structure:.3g} Ns/m in the numerical half"
        )


@dataclass(frozen=True)
class Check:
    """May this cut, this actuator, this controller be run?

    Attributes
    ----------
    assumptions
        The five assumptions of Gawthrop 2005.
    poles
        Poles of the whole loop in rad/s, without sampling; empty where the controller adapts.
    lags
        The effect of each transfer system's lag.
    problems
        Everything that speaks against running, in words.
    """

    assumptions: Assumptions
    poles: tuple[complex, ...] = ()
    lags: tuple[Lag, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

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
                f"The closed loop, without sampling, is {'UNSTABLE' if worst.real > 0 else 'stable'}: its least stable pole is "
                f"{worst.real:.3g}{worst.imag:+.3g}j rad/s ({abs(worst.imag) / (2 * np.pi):.3g} Hz)"
                + (f"; {resting} at the origin (positions that nothing returns)." if resting else ".")
            )
        lines += [f"  {lag}" for lag in self.lags]
        lines += [f"Note: {n}" for n in self.notes]
        lines += [f"PROBLEM: {p}" for p in self.problems]
        lines.append("The check has passed." if self.passed else "Do not run this test on a rig.")
        return "\n".join(lines)


def check(test: HybridTest) -> Check:
    """Analyse a test before anything moves."""
    transfers = [
        transfer_system(a, f"transfer[{i}]." if len(test.rig.actuator_list()) > 1 else "transfer.")
        for i, a in enumerate(test.rig.actuator_list())
    ]
    assumptions = check_assumptions(test.numerical, test.rig.physical, transfers)
    problems = [f"assumption {a.number} does not hold: {a.reason}" for a in assumptions.items if not a.holds]
    notes: list[str] = []
    poles: tuple[complex, ...] = ()
    lags: tuple[Lag, ...] = ()
    if test.design.channels:
        notes.append("the controller adapts, so its loop has no fixed poles; rehearse it instead")
    elif not test.feedback:
        notes.append("the measured force is not fed back; there is no loop to be unstable")
    else:
        try:
            space = closed_loop(test)
            poles = tuple(complex(p) for p in space.poles())
            worst = max(_away_from_origin(poles), key=lambda s: s.real)
            lags = _lags(test, transfers, worst)
            scale = max(abs(p) for p in poles)
            if worst.real > 1e-9 * scale:
                why = "; ".join(str(lag) for lag in lags if lag.damping < 0)
                problems.append(
                    f"the loop is unstable: a mode at {abs(worst.imag) / (2 * np.pi):.3g} Hz grows at {worst.real:.3g} 1/s"
                    + (f", because {why}" if why else "")
                )
        except BondloopError as error:
            notes.append(f"the loop could not be analysed: {error}")
    return Check(assumptions, poles, lags, tuple(problems), tuple(notes))


def _away_from_origin(poles: tuple[complex, ...]) -> list[complex]:
    scale = max(abs(p) for p in poles)
    return [p for p in poles if abs(p) > 1e-7 * scale] or list(poles)


def closed_loop(test: HybridTest) -> StateSpace:
    """The whole loop without sampling, linearised at rest."""
    design, rig = test.design, test.rig_system
    links: dict[Var, Expr] = dict(zip(rig.commands, design.commands, strict=True))
    links.update(
        zip(design.efforts, rig.forces if test.feedback else [Const(0.0)] * len(rig.forces), strict=True)
    )
    links.update(zip(design.displacements, rig.displacements, strict=False))
    links.update(zip(design.velocities, rig.velocities, strict=False))
    whole = connect("loop", [design.system, rig.system], links, {})
    return whole.linearise(whole.initial(), values=test.values_for(whole))


def _lags(test: HybridTest, transfers: list[Transfer], worst: complex) -> tuple[Lag, ...]:
    """Lag of slow motion, stiffness that the specimen opposes to fast motion, damping of the numerical half."""
    omega = abs(worst.imag) or 1.0
    half = test.half
    numerical = half.system.linearise(half.system.initial(), values=test.values_for(half.system))
    mobility = numerical.frequency_response([omega])[0]
    specimen = test.rig.physical.compile().linearise()
    fast = 1e3 * max([1.0, *np.abs(specimen.poles())])
    impedance = specimen.frequency_response([fast])[0]
    slow = 0.01 * min(
        max(float(np.abs(t.system.linearise().poles()).min(initial=1.0)), 1e-3) for t in transfers
    )
    result = []
    for i, ratio in enumerate(_following(test, transfers, slow)):
        sign = half.signs[i]
        own = mobility[i, numerical.inputs.index(half.efforts[i].name)] * -sign
        structure = float(np.real(1 / own)) if own != 0 else np.inf
        stiffness = float(np.real(1j * fast * impedance[i, i])) * sign
        result.append(Lag(i, omega / (2 * np.pi), float(-np.angle(ratio) / slow), stiffness, structure))
    return tuple(result)


def _following(test: HybridTest, transfers: list[Transfer], omega: float) -> list[complex]:
    """Motion of each transfer system, without load, per desired motion, at one frequency."""
    design = test.design
    count = len(design.commands)
    outputs: dict[str, Expr] = {f"command[{i}]": c for i, c in enumerate(design.commands)}
    outputs.update({f"desired[{i}]": v for i, v in enumerate(design.desired_velocities)})
    computer = connect("computer", [design.system], {}, outputs)
    response = computer.linearise(computer.initial(), values=test.values_for(computer)).frequency_response(
        [omega]
    )[0]
    columns = [j for j, u in enumerate(computer.input_vars) if u not in design.efforts]
    ratios = []
    for i, t in enumerate(transfers):
        space = t.system.linearise()
        plant = space.frequency_response([omega])[0, 0, space.inputs.index(t.command.name)]
        drive = max(columns, key=lambda j: abs(response[count + i, j]), default=None)
        desired = 0.0 if drive is None else response[count + i, drive]
        ratios.append(complex(plant * response[i, drive] / desired) if desired != 0 else 1.0 + 0.0j)
    return ratios
