"""What a simulation returns: every variable of the model over time, and what switched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import SolveError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.analysis.simulation.settling import Key, ModeFunctions
    from bondloop.engine.ir import Expr, Memory, SystemData


@dataclass(frozen=True)
class Event:
    """A change of mode, or a blow.

    Attributes
    ----------
    time
        In s.
    path
        Of the element.
    mode
        Its mode afterwards, in words; ``"rebound"`` where a stop sends the flow back and stays free.
    before, after
        All states before and after, by name.
    """

    time: float
    path: str
    mode: str
    before: Mapping[str, float] = field(repr=False)
    after: Mapping[str, float] = field(repr=False)


class Trajectory:
    """A simulated response: time, and any variable of the model by its path name.

    >>> # trajectory["m3.v.flow"] is an array over trajectory.time
    """

    events: tuple[Event, ...] = ()
    """What a system that switches did: changes of mode, and blows."""

    def __init__(
        self,
        system: SystemData,
        time: NDArray[np.float64],
        x: NDArray[np.float64],
        u: NDArray[np.float64],
        rates: NDArray[np.float64],
        parameters: list[float],
    ) -> None:
        self.system = system
        self.time = time
        self.states = x
        self.inputs = u
        self._rates = rates
        self._parameters = parameters

    def __repr__(self) -> str:
        events = f", {len(self.events)} events" if self.system.switching else ""
        return (
            f"<{type(self).__name__} of {self.system.name}: {self.time[0]:.6g} to {self.time[-1]:.6g} s, "
            f"{len(self.time)} instants, {self.states.shape[1]} states{events}>"
        )

    def __getitem__(self, path: str) -> NDArray[np.float64]:
        """Return a variable over time."""
        if path in self.system.states:
            return self.states[:, self.system.states.index(path)]
        if path in self.system.inputs:
            return self.inputs[:, self.system.inputs.index(path)]
        return self.evaluate([self.system.expression(path)])[:, 0]

    def evaluate(self, goals: list[Expr]) -> NDArray[np.float64]:
        """Evaluate expressions at every instant; shape (instants, goals)."""
        f = self.system.function(goals)
        memory: Memory = {}
        rows = zip(
            self.time.tolist(), self.states.tolist(), self.inputs.tolist(), self._rates.tolist(), strict=True
        )
        values = []
        for t, x, u, r in rows:
            try:
                values.append(f(x, u, r, self._parameters, memory=memory))
            except SolveError as error:
                raise SolveError(f"{self.system.name} at t = {t:.6g} s: {error}") from error
        return np.array(values)

    @property
    def outputs(self) -> NDArray[np.float64]:
        """The outputs, shape (instants, outputs)."""
        return self.evaluate(list(self.system.output_exprs.values()))


class SwitchingTrajectory(Trajectory):
    """A simulated response with events; a mode is a variable like any other: ``run["diode.mode"]``."""

    _modes: ModeFunctions

    def evaluate(self, goals: list[Expr]) -> NDArray[np.float64]:
        """Evaluate expressions at every instant, each in the mode that was in force."""
        values = np.zeros((len(self.time), len(goals)))
        made: dict[Key, Callable[..., list[float]]] = {}
        rows = zip(self.states.tolist(), self.inputs.tolist(), self._rates.tolist(), strict=True)
        for i, (x, u, r) in enumerate(rows):
            modes = self._modes.of(x)
            if modes not in made:
                made[modes] = partial(self._modes.made(modes, goals), memory={})
            values[i] = made[modes](x, u, r, self._parameters)
        return values
