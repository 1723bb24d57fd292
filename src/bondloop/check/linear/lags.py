"""Why a loop is unstable, in the words of structural dynamics: each actuator's lag is negative damping.

The loop is looked at without sampling: its poles, the lag of each transfer system behind the numerical half,
and what that lag does with the stiffness that it works against. It explains; whether a test may run is
decided on the tick itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import interfaces, rejoin
from bondloop.check.tolerances import NO_LAG
from bondloop.engine.ir import Const
from bondloop.engine.passes import connect, prefixed
from bondloop.rehearsal import loop_links
from bondloop.safety import FORCE_SWITCH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.ir import Expr, StateSpace
    from bondloop.hybrid import HybridTest
    from bondloop.transfer import Transfer


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
        Stiffness in N/m that the specimen shows to a fast motion, its masses at rest.
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


def away_from_origin(poles: Sequence[complex]) -> list[complex]:
    """Return the poles that do not belong to positions that nothing returns."""
    scale = max((abs(p) for p in poles), default=0.0)
    return [p for p in poles if abs(p) > 1e-7 * scale] or list(poles) or [0j]


def unstable(poles: NDArray[np.complex128]) -> list[complex]:
    """Return the poles in the right half plane, those at the origin left out."""
    scale = max((abs(p) for p in poles), default=0.0)
    return [complex(p) for p in poles if p.real > 1e-7 * scale]


def _clean(value: float) -> float:
    """Return zero for what is only rounding."""
    return value if abs(value) > NO_LAG else 0.0


def closed_loop(test: HybridTest) -> StateSpace:
    """Return the whole loop without sampling, linearised at its initial state."""
    design, rig = test.design, test.rig_system
    links = loop_links(design, rig)
    links.update({u: Const(1.0) for u in design.system.input_vars if u.name == FORCE_SWITCH})
    whole = connect("loop", [design.system, rig.system], links, {})
    return whole.linearise(whole.initial())


def structure(test: HybridTest) -> tuple[StateSpace, bool]:
    """Return the two halves in one piece, linearised where they start, and whether they are linear anyway."""
    whole = rejoin(test.numerical, test.rig.physical).compile()
    renamed = {re.sub(r"^rig\.specimen\.", "physical.", path): v for path, v in test.overrides.items()}
    values = {k: v for k, v in renamed.items() if k in whole.parameters}
    return whole.linearise(whole.initial(), values=values), whole.is_linear


def lags(test: HybridTest, transfers: list[Transfer], worst: complex) -> tuple[Lag, ...]:
    """Find lags of slow motion, stiffnesses that oppose fast motion, dampings of the numerical half.

    Parameters
    ----------
    test
        The test.
    transfers
        The equations of its transfer systems.
    worst
        The loop's least stable pole, in rad/s.
    """
    omega = abs(worst.imag) or 1.0
    half = test.half
    numerical = half.system.linearise(half.system.initial())
    mobility = numerical.frequency_response([omega])[0]
    plain = prefixed(test.rig.physical.compile(), "rig.specimen.")
    specimen = plain.linearise(plain.initial(), values=test.values_for(plain))
    fast = 1e3 * max([1.0, *np.abs(specimen.poles())])
    impedance = specimen.frequency_response([fast])[0]
    # Slow against the actuators, but not against an integral part far below the structure's motion.
    speeds = [np.abs(t.system.linearise().poles()) for t in transfers]
    slow = 0.01 * min(max(float(p[p > 0.1 * omega].min(initial=omega)), 1e-3) for p in speeds)
    result = []
    ends = zip(interfaces(test.numerical), interfaces(test.rig.physical), strict=True)
    for i, (ratio, (near, far)) in enumerate(zip(_following(test, transfers, slow), ends, strict=True)):
        effort, flow = (f"rig.specimen.{far.path}.{word}" for word in ("effort", "flow"))
        if flow not in specimen.inputs:
            continue  # the specimen begins with a mass: it opposes no stiffness
        sign = half.signs[i]
        row = numerical.outputs.index(f"numerical.{near.path}.flow")
        yields = mobility[row, numerical.inputs.index(half.efforts[i].name)] * -sign
        damping = float(np.real(1 / yields)) if yields != 0 else np.inf
        felt = impedance[specimen.outputs.index(effort), specimen.inputs.index(flow)]
        stiffness = float(np.real(1j * fast * felt)) * sign
        if not plain.is_linear and abs(felt.real) * omega > abs(stiffness):
            continue  # at rest dry friction is a wall; its slope there says nothing of the motion
        if not stiffness > 0:
            continue  # a mass behind a damper: a fast motion meets no spring
        result.append(
            Lag(i, omega / (2 * np.pi), float(-np.angle(ratio) / slow) + test.rig.latency, stiffness, damping)
        )
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
