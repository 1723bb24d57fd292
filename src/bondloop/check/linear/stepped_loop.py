"""The loop of a pseudo-dynamic test: its tick, linearised where it stands, and how far off its border is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from bondloop.check import tolerances
from bondloop.check.linear.loop_curves import Curves, grid, tracking
from bondloop.check.linear.margins import Margins, border
from bondloop.check.linear.running_loop import RunningLoop
from bondloop.substructure import indexed

if TYPE_CHECKING:
    from bondloop.engine.analysis.spectrum import OneStep
    from bondloop.engine.ir import Expr, Var
    from bondloop.hybrid import Checkable, HybridTest, PseudoDynamicTest


GAIN = "rig.overshoot"
"""The parameter that scales all motions of the machine, and so the loop: a rig moves 1 + overshoot times what
it is told."""


class SteppedLoop(RunningLoop):
    """A pseudo-dynamic test's tick for linear analysis.

    The rig is asked several times in a tick, so there is no single command at which to cut the loop open. It
    is closed by the motion of the rig, whose size is a parameter of the tick: 1 + overshoot.

    Parameters
    ----------
    test
        The test; a reference beside it plays no part in the loop and is left out.
    """

    spared: ClassVar[tuple[str, ...]] = ()
    """None: a table that is commanded by accelerations must share in an impulse, or it drifts away from
    what is computed."""

    def __init__(self, test: PseudoDynamicTest) -> None:
        alone = test.replaced(reference=False)
        self.test, self.tick = cast("HybridTest", alone), alone.tick
        self.count = alone.interfaces
        self.desired, self.actual = (
            indexed(f"{word}.displacement", self.count) for word in ("desired", "actual")
        )
        channels = {c.name: c.value for c in self.tick.channels}
        self.outputs: dict[str, Expr] = {n: channels[n] for n in (*self.desired, *self.actual)}
        self.forces, self.commands = indexed("force", self.count), []
        self.probes: dict[str, Var] = dict(zip(self.forces, alone.measured, strict=True))
        self._probe_excitations(alone.signals_in_tick)
        self.adapted, self.closed = (), True
        self.gain = 1 + float(alone.parameters[GAIN] or 0.0)

    def stands_for(self, test: Checkable) -> bool:  # noqa: ARG002 - of whatever test
        """Return False: its signals are not among what a step can be carried on with."""
        return False

    def with_gain(self, factor: float) -> OneStep:
        """Return one step, as it starts, with all motions of the rig and so the forces times a factor."""
        return self.at(parameters={GAIN: factor * self.gain - 1})

    def curves(self, step: OneStep) -> Curves | None:
        """Return open loop and tracking over frequency; None for a large loop, or one too lively for it.

        With one sub-step the open loop L is the usual one. In general 1 - L is the return difference: the
        characteristic polynomial of the loop over that of the loop with the rig at rest. It encircles the
        origin where the loop L would encircle 1.
        """
        if len(step.states) + step.step.places > tolerances.TRIED_PLACES:
            return None
        f = grid(step)
        z = np.exp(2j * np.pi * f * step.period)[:, None]
        try:
            with np.errstate(all="ignore"):
                closed, opened = (np.linalg.eigvals(s.matrix) for s in (step, self.with_gain(0.0)))
                difference = np.ones(len(f), dtype=complex)
                # Pair by pair, so that hundreds of factors do not overflow; a state that acts only through
                # the rig is left out of the open loop, and its eigenvalue there is 0.
                size = max(len(closed), len(opened))
                closed, opened = (np.pad(np.sort_complex(x), (size - len(x), 0)) for x in (closed, opened))
                for a, b in zip(closed, opened, strict=True):
                    difference *= ((z - a) / (z - b))[:, 0]
                loop = 1 - difference
                response = step.response(f)
                loci, around = loop[:, None], np.abs(loop / difference)
                return Curves(f, loci, loci, around, tracking(self, step, response, f))
        except (np.linalg.LinAlgError, RuntimeError):
            return None

    def margins(self, step: OneStep, where: str = "") -> Margins:
        """Return how much larger or smaller the measured forces of a stable loop may be."""
        places = len(step.states) + step.step.places
        if places > tolerances.TRIED_PLACES:
            return Margins(
                left_out=f"with {places:,} states the margins are left out; they take dozens of spectra"
            )

        return Margins(
            gain=border(self.with_gain, tolerances.GAIN_FACTORS),
            least_gain=border(self.with_gain, [1 / k for k in tolerances.GAIN_FACTORS]),
            where=where,
        )
