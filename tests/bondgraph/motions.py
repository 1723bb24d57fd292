"""Motions of drawn graphs: simulation and compiled steps against rates from the tableau; energy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

sys.path.insert(0, str(Path(__file__).parent))  # for tableau.py

from drawn_graphs import FAMILIES
from tableau import Tableau

from bondloop.engine.codegen import Runner
from bondloop.hybrid.simulation import Simulation

SECONDS, PERIOD, TICKS = 0.4, 0.01, 20

MOVED = tuple(family for family in FAMILIES if family != "mixed domains")
"""Families that are followed in time; pascals beside metres make the tableau a poor reference for that."""


class NoReferenceError(ArithmeticError):
    """The iteration on the tableau found no solution, so there is nothing to compare with."""


class Motion:
    """A compiled graph from a drawn start, with constant inputs, beside its tableau."""

    def __init__(self, graph: Any, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.tableau = t = Tableau(graph)
        self.graph = graph
        self.system = system = graph.model().compile(outputs=sorted({n for n in t.names if n}))
        self.places = [t.names.index(name) for name in system.states]
        self.x = 0.5 * rng.normal(size=len(system.states))
        self.u = 0.5 * rng.normal(size=len(system.inputs))
        self._last: Any = None

    def rates(self, x: Any) -> Any:
        """Return the rates of bondloop's states from the tableau."""
        t = self.tableau
        u = self.u[[self.system.inputs.index(name) for name in t.inputs]]
        found = t.solve(self.places, x, u, np.zeros(len(u)), self._last)
        if found is None:
            raise NoReferenceError
        y, dz = found
        first = t.size - t.stored
        self._last = (y, np.concatenate([np.zeros(first), dz]))
        return dz[[k - first for k in self.places]]

    def apart(self, ours: Any, theirs: Any) -> float:
        """Return the largest difference of two states, against their size."""
        return float(np.abs(ours - theirs).max() / np.abs(theirs).max())

    def simulated(self) -> float:
        """Return the difference of ``simulate`` from an integration of the tableau's rates."""
        inputs = dict(zip(self.system.inputs, self.u.tolist(), strict=True))
        run = self.system.simulate(SECONDS, inputs, self.x, times=[0.0, SECONDS], rtol=1e-11, atol=1e-13)
        theirs = solve_ivp(
            lambda _, x: self.rates(x), (0, SECONDS), self.x, "DOP853", rtol=1e-11, atol=1e-13
        ).y[:, -1]
        return self.apart(run.states[-1], theirs)

    def stepped(self, backend: str = "c") -> float:
        """Return the difference of compiled Runge-Kutta steps from the same steps by the tableau."""
        start = dict(zip(self.system.state_vars, self.x.tolist(), strict=True))
        inputs = dict(zip(self.system.inputs, self.u.tolist(), strict=True))
        system = self.system.replaced(initial=start, outputs={v.name: v for v in self.system.state_vars})
        test = Simulation({"g": system}, excitation=inputs, rate=1 / PERIOD)
        result = Runner(test.tick, backend).run(TICKS + 1)
        assert result.finished, result.message
        x, h = self.x, PERIOD
        for _ in range(TICKS):
            k1 = self.rates(x)
            k2 = self.rates(x + h / 2 * k1)
            k3 = self.rates(x + h / 2 * k2)
            x = x + h / 6 * (k1 + 2 * (k2 + k3) + self.rates(x + h * k3))
        ours = np.array([result.channels[f"g.{name}"][-1] for name in system.states])
        return self.apart(ours, x)

    def energy(self) -> float:
        """Return what is missing where stored energy is what sources gave and resistors left."""
        nodes, weights = np.polynomial.legendre.leggauss(8)
        panels = np.linspace(0, SECONDS, 21)
        half = np.diff(panels)[:, None] / 2
        inner = (panels[:-1, None] + half * (1 + nodes)).ravel()
        times = np.array([0.0, *inner, SECONDS])
        inputs = dict(zip(self.system.inputs, self.u.tolist(), strict=True))
        run = self.system.simulate(SECONDS, inputs, self.x, times=times, rtol=1e-11, atol=1e-13)
        t, system = self.tableau, self.system
        power = np.zeros(len(times))
        change, size = 0.0, 0.0
        for i, kind in enumerate(self.graph.nodes):
            if kind.storage:
                z = run.evaluate([system.expression(f"p{i}{word}") for word in kind.contents])
                before, after = kind.energy(z[0]), kind.energy(z[-1])
                change, size = change + after - before, size + abs(before) + abs(after)
            elif not kind.conserves:
                for b, sign in t.ports[i]:
                    e, f = run.evaluate([system.expression(t.names[k]) for k in (b, t.bonds + b)]).T
                    power += sign * e * f
                    size += SECONDS * float(np.abs(e * f).max())
        lost = float((half * weights * power[1:-1].reshape(half.size, -1)).sum())
        return abs(change + lost) / max(size, 1e-300)
