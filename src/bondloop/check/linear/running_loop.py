"""The loop of a test as it runs: its tick, linearised where it stands, with probes at the interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.engine.analysis.spectrum import OneStep, Point, one_step, within
from bondloop.substructure import indexed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.ir import Expr, Var
    from bondloop.hybrid import Checkable, HybridTest
    from bondloop.signals import Signals


RATE = "d/dt "
"""How the rate of a signal is called in a tick."""


def coupled(test: HybridTest) -> HybridTest:
    """Return the test coupled from the start, as the loop is analysed: switches closed, without interlock."""
    if test.switches is None and test.interlock is None:
        return test
    switches = None if test.switches is None else test.switches.closed()
    return test.replaced(switches=switches, interlock=None)


class RunningLoop:
    """A test's tick for linear analysis.

    Parameters
    ----------
    test
        The test; with switches, one whose switches are closed.

    Attributes
    ----------
    count
        Number of interfaces.
    desired, actual
        Names of the outputs that are their displacements.
    forces, commands
        Names of the probes and outputs at the measured (or computed) forces and at the commands; empty where
        the coupling is continuous, which has neither.
    probes, outputs
        All of them, by name.
    adapted
        What the controller adapts.
    closed
        Whether there is a loop at all.
    """

    spared: ClassVar[tuple[str, ...]] = ("rig", "measured", "command")
    """States that an impulse leaves as they are: a model of a rig would take a command that jumps for an
    impossible blow."""

    def __init__(self, test: HybridTest) -> None:
        self.test, self.tick, wiring = test, test.tick, test.wiring
        self.count = wiring.count_of_interfaces
        channels = {c.name: c.value for c in self.tick.channels}
        self.desired, self.actual = (
            indexed(f"{word}.displacement", self.count) for word in ("desired", "actual")
        )
        self.outputs: dict[str, Expr] = {n: channels[n] for n in (*self.desired, *self.actual)}
        self.probes: dict[str, Var] = {}
        self.forces: list[str] = []
        self.commands: list[str] = []
        if wiring.measured:
            # Where forces are computed, what a load cell reads closes no loop.
            forces = wiring.computer.computed or wiring.measured["force"]
            self.forces, self.commands = [f.name for f in forces], indexed("command", self.count)
            self.probes.update(zip(self.forces, forces, strict=True))
            self.probes.update(zip(self.commands, wiring.computer.commands, strict=True))
            self.outputs.update({n: self.probes[n] for n in (*self.forces, *self.commands)})
        self._probe_excitations(wiring.signals)
        self.adapted = tuple(wiring.computer.adapted)
        # Without feedback nothing closes the loop.
        self.closed = test.feedback and bool(self.forces or test.coupling == "continuous")

    def _probe_excitations(self, signals: Signals) -> None:
        """Add a probe at every signal."""
        # Of a tabulated signal the two samples are inputs; what lies between them follows from them.
        self._excitations: list[tuple[str, str, float]] = []
        variables = {(n, 0.0): now for n, (_, now, _) in signals.tables.items()}
        variables |= {(n, 1.0): after for n, (_, _, after) in signals.tables.items()}
        variables |= {k: v for k, v in signals.made.items() if k[0] not in signals.tables}
        for (name, fraction), variable in variables.items():
            probe = f"excitation {name}@{fraction:g}"
            self.probes[probe] = variable
            self._excitations.append((probe, name, fraction))

    def at(
        self,
        point: Point | None = None,
        parameters: Mapping[str, float] | None = None,
        more: Iterable[str] = (),
    ) -> OneStep:
        """Return one step at a point of a run, with what the controller adapts held still.

        Parameters
        ----------
        point
            Where; the start of the test if none is given.
        parameters
            Values by name instead of the tick's own.
        more
            Names of channels that are wanted among the outputs too.
        """
        channels = {c.name: c.value for c in self.tick.channels}
        return one_step(
            self.tick,
            parameters,
            at=point,
            probes=self.probes,
            outputs={**{n: channels[n] for n in more}, **self.outputs},
            frozen=self.adapted,
            always=("numerical", "simulated", "rig"),
        )

    def stands_for(self, test: Checkable) -> bool:
        """Whether the loop is the whole test, so that its step, if linear, can be carried on instead."""
        return self.test is test

    def impulse(self, step: OneStep) -> dict[str, float]:
        """Return what a short impulse on the interfaces does to the states, for a unit of force."""
        kick = step.P[:, [step.probes.index(f) for f in self.forces]].sum(axis=1)
        return {
            n: float(x) for n, x in zip(step.states, kick, strict=True) if x and not within(n, *self.spared)
        }

    def excitations(self) -> list[str]:
        """Return the names of the signals that drive the test."""
        return list(dict.fromkeys(name.removeprefix(RATE) for _, name, _ in self._excitations))

    def signals(self, step: OneStep, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the step's probes at times, one column a probe: signals as they come, the rest as it is."""
        wiring, test = self.test.wiring, self.test
        assert step.at is not None
        table = np.tile(step.at.u, (len(times), 1))
        own = {u.name: s for u, s in test.design.signals.items()}
        for probe, name, fraction in self._excitations:
            plain = name.removeprefix(RATE)
            signal = own.get(plain) or test.signal(plain)
            scale = 1.0
            if plain in own or plain in test.excitation:
                scale = 1.0 if name in wiring.signals.tables else test.scale  # tables are scaled in the tick
            values = (signal.derivative() if name.startswith(RATE) else signal)(
                times + fraction * step.period
            )
            table[:, step.probes.index(probe)] = scale * values
        return table

    def driven(
        self, step: OneStep, response: NDArray[np.complex128], frequencies: NDArray[np.float64], name: str
    ) -> NDArray[np.complex128]:
        """Return the outputs per unit of a sine in one signal, shape (frequencies, outputs).

        A step of the integrator reads the signal at its beginning, in its middle and at its end, and its rate
        where a storage is driven directly; each has the phase of its instant.
        """
        s = 2j * np.pi * frequencies
        total = np.zeros(response.shape[:2], dtype=complex)
        for probe, signal, fraction in self._excitations:
            if signal.removeprefix(RATE) != name:
                continue
            factor = np.exp(s * fraction * step.period) * (s if signal.startswith(RATE) else 1.0)
            total += response[:, :, step.probes.index(probe)] * factor[:, None]
        return total
