"""Experiments on a rig: drive it with a demand of one's own, and record what it does."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.compile import Runner
from bondloop.control.base import Measured
from bondloop.data.described import Parameter
from bondloop.data.ranges import POSITIVE
from bondloop.display import telling
from bondloop.errors import InputError
from bondloop.identify.data import Data
from bondloop.program.block import Context
from bondloop.program.expr import Expr, Var
from bondloop.program.quantity import Role
from bondloop.program.schedule import Assign
from bondloop.program.tick import Channel, Tick
from bondloop.rigs.rig_tick import MEASURED, RigBlock
from bondloop.transfer.coupled import width

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control.base import Controller
    from bondloop.identify.excitation import SteppedSinePlan
    from bondloop.program.signals import Signal
    from bondloop.rigs.emulated import Emulated

__all__ = ["Experiment"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Experiment:
    """A rig with one transfer system that is driven by a demand of one's own: nothing is fed back.

    The demand becomes the command as it is (identification), or through a compensator (verification of an
    inverse model by prescribed signals: du Bois 2010, Figure 7).

    Parameters
    ----------
    rig
        The rig; the specimen may be attached or not.
    rate
        Samples a second.
    compensator
        What makes the command of the demand; None sends the demand itself.
    ahead
        The compensator is given the demand of so many seconds later. A prescribed signal is known beforehand,
        so the delay of an inverse model need not be predicted.

    Examples
    --------
    An empty rig whose actuator is a process model: it answers a step with that model's lag and latency.

    >>> from bondloop.program.signals import Step
    >>> from bondloop.rigs import Emulated, nothing_mounted
    >>> from bondloop.transfer import first_order
    >>> rig = Emulated(nothing_mounted(), first_order(0.98, 0.01).actuator(), latency=0.004)
    >>> data = Experiment(rig, 1000.0).run(Step(1e-3, at=0.0), 0.1)
    >>> data
    <Data: 101 samples at 1000 Hz: demand, command, force, displacement, velocity>
    >>> (1e3 * data["displacement"][[4, 14, 100]]).round(4).tolist()  # mm: 0.98 (1 - e^-1) after a lag
    [0.0, 0.6195, 0.9799]
    """

    rig: Emulated
    rate: Parameter = Parameter(above=0, unit="Hz")
    compensator: Controller | None = None
    ahead: Parameter = Parameter(0.0, unit="s")

    def __post_init__(self) -> None:
        count = sum(width(actuator) for actuator in self.rig.actuator_list())
        if count != 1:
            raise InputError(
                f"an experiment drives one transfer system; the rig has {count}: build a rig with one of them"
            )

    @telling("running the experiment")
    def run(
        self, demand: Signal, seconds: float | str, *, backend: str = "auto", progress: Progress | None = None
    ) -> Data:
        """Drive the rig with a signal: a step, a sweep, a multisine, noise.

        Parameters
        ----------
        demand
            The demanded displacement in m.
        seconds
            How long.
        backend, progress
            As for a rehearsal.

        Returns
        -------
        Data
            Channels ``demand``, ``command``, ``displacement``, ``velocity``, ``force``.
        """
        seconds = POSITIVE.check(seconds, "seconds", "s")
        t = np.arange(round(seconds * self.rate) + 1) / self.rate
        return self._run(_sampled(demand, t), _sampled(demand, t + self.ahead), backend, progress)

    @telling("running the experiment")
    def stepped(
        self, plan: SteppedSinePlan, *, backend: str = "auto", progress: Progress | None = None
    ) -> Data:
        """Drive the rig through a plan of stepped sines, one after another without a pause.

        Parameters
        ----------
        plan
            From `stepped_sine_plan`, at this experiment's rate.
        backend, progress
            As for a rehearsal.
        """
        if abs(plan.sample_period * self.rate - 1) > 1e-9:
            raise InputError(
                f"the plan is made for {1 / plan.sample_period:g} Hz, the experiment runs at {self.rate:g} "
                "Hz; make both the same"
            )
        now, later = [], []
        for point in plan:
            t = np.arange(point.samples) / self.rate
            now.append(_sampled(point.signal, t))
            later.append(_sampled(point.signal, t + self.ahead))
        return self._run(np.concatenate(now), np.concatenate(later), backend, progress)

    def _run(
        self,
        demand: NDArray[np.float64],
        given: NDArray[np.float64],
        backend: str,
        progress: Progress | None,
    ) -> Data:
        tick = self.tick()
        runner = Runner(tick, backend)
        result = runner.run(len(demand), given[:, None], progress=progress)
        if not result.finished:
            raise InputError(f"the experiment was {result.message}; lower the amplitude or mend the rig")
        channels = {"demand": demand, **result.channels}
        units = {c.name: c.unit for c in tick.channels if c.meaning.interface is not None}
        units["demand"] = units["command"]
        return Data(channels, 1 / self.rate, units, source="the experiment")

    def tick(self) -> Tick:
        """Return one sample of the experiment; its input is what the compensator is given."""
        time, count, demand, command = Var("t"), Var("k"), Var("given"), Var("command")
        value: Expr
        period = 1 / self.rate
        rig = self.rig.system()
        block = RigBlock(self.rig, rig, count, period)
        steps = block.measure()
        value = demand
        states: dict[Var, float] = {}
        parameters: dict[Var, float] = {}
        channels = [Channel.of("command", command, rig.commands[0].quantity, Role.COMMAND, 0)]
        for word in MEASURED:
            seen = block.measured[word][0]
            channels.append(Channel.of(word, seen, seen.quantity, Role.MEASURED, 0))
        if self.compensator is not None:
            measured = Measured(*(block.measured[word][0] for word in MEASURED))
            applied = self.compensator.compensate(demand, measured, Context("controller", count, period))
            steps += applied.steps
            value, states, parameters = applied.value, applied.states, applied.parameters
            channels += applied.channels
        steps.append(Assign(command, value))
        steps += block.advance([command])
        return Tick(
            *("experiment", period, time, count, (demand,), {**block.states, **states}),
            *({**block.parameters, **parameters}, tuple(steps), tuple(channels)),
        )


def _sampled(signal: Signal, t: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(signal.sampled(t), dtype=float)
