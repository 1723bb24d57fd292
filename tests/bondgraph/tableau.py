"""The sparse tableau of a drawn graph: every effort, flow and content unknown, every law one equation.

Nothing is eliminated and no causality is assigned, so nothing of bondloop's derivation is used. The equations
F(dz, y, u) = 0 hold for y = (efforts, flows, contents) with dz the rates of the contents; their slopes are
taken by complex steps, all columns at once, exact to rounding (Squire and Trapp 1998).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # for drawn_kinds.py

from drawn_kinds import Functions, Junction, Place

STEP = 2.0**-100
"""Complex step: its square vanishes beside any number here, and slopes of linear laws are not rounded."""

PROBES = np.array([0.31 + 0.83j, -0.57 + 1.37j, 1.13 - 0.41j])
"""Values of s at which a pencil is looked at; one that is singular at all of them is singular."""

SINGULAR = 1e-14
"""Smallest over largest singular value, after scaling, below which a pencil is called singular."""


class Tableau:
    """Equations of a drawn graph.

    Attributes
    ----------
    names
        For every unknown what bondloop calls it; empty where it has no name.
    held
        Whether modulated parts take signals for given numbers, instead of what they are.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        n = len(graph.bonds)
        self.bonds = n
        self.ports: list[list[tuple[int, int]]] = [[(-1, 0)] * kind.ports for kind in graph.nodes]
        for b, bond in enumerate(graph.bonds):
            self.ports[bond.tail][bond.tail_port] = (b, -1)
            self.ports[bond.head][bond.head_port] = (b, 1)
        self.names = [self._name(b, "effort") for b in range(n)] + [self._name(b, "flow") for b in range(n)]
        self.first: list[int] = []
        for i, kind in enumerate(graph.nodes):
            self.first.append(len(self.names) - 2 * n)
            self.names += [f"p{i}{word}" for word in kind.contents]
        self.integral: dict[int, int] = {}
        for i, signal in enumerate(graph.signals):
            if signal.what == "integral":
                self.integral[i] = len(self.names) - 2 * n
                self.names.append(f"s{i}.value")
        self.size = len(self.names)
        self.stored = self.size - 2 * n
        self.inputs = {name: i for i, name in enumerate(graph.inputs)}
        self.held = False

    def _name(self, bond: int, word: str) -> str:
        """Return what bondloop calls an effort or flow: by an element beside the bond, else by a junction."""
        b = self.graph.bonds[bond]
        for node, port in ((b.head, b.head_port), (b.tail, b.tail_port)):
            kind = self.graph.nodes[node]
            if not isinstance(kind, Junction):
                return f"p{node}{kind.address(port)}.{word}"
            if kind.zero == (word == "effort"):
                return f"p{node}.{word}"
        return ""

    # ---------------------------------------------------------------- equations

    def residual(self, dz: Any, y: Any, u: Any) -> Any:
        """Return what should be zero; each argument may have a second axis."""
        n = self.bonds
        e, f, z = y[:n], y[n : 2 * n], y[2 * n :]
        values: list[Any] = []
        true: list[Any] = []
        rows: list[Any] = []
        for i, signal in enumerate(self.graph.signals):
            if signal.what == "detector":
                bond = self.ports[signal.source][0][0]
                value = e[bond] if self.graph.nodes[signal.source].zero else f[bond]
            elif signal.what == "integral":
                k = self.integral[i]
                value = z[k]
                rows.append(dz[k] - true[signal.source])
            elif signal.what == "function":
                value = signal.formula(true[signal.source], Functions)
            else:
                value = u[self.inputs[signal.name]]
            true.append(value)
            values.append(np.real(value) * 0 + 0.37 if self.held else value)
        for i, kind in enumerate(self.graph.nodes):
            a, m = self.first[i], len(kind.contents)
            at = Place(
                e=[e[b] for b, _ in self.ports[i]],
                f=[s * f[b] for b, s in self.ports[i]],
                sign=[s for _, s in self.ports[i]],
                z=z[a : a + m], dz=dz[a : a + m],
                s=[values[k] for k in self.graph.takes.get(i, [])],
                u=u[self.inputs[kind.name]] if kind.is_input else None,
            )  # fmt: skip
            rows += kind.equations(at)
        shape = np.broadcast_shapes(np.shape(y)[1:], np.shape(dz)[1:], np.shape(u)[1:])
        return np.array([np.broadcast_to(row, shape) for row in rows])

    def slopes(self, dz: Any, y: Any, u: Any) -> tuple[Any, Any, Any]:
        """Return E, A, B of E dy + A y + B u = 0, the equations linearised at a point."""
        m, n, k = self.stored, self.size, len(self.inputs)
        point = np.concatenate([dz, y, u]).astype(complex)
        columns = point[:, None] + 1j * STEP * np.eye(m + n + k)
        J = self.residual(columns[:m], columns[m : m + n], columns[m + n :]).imag / STEP
        E = np.zeros((len(J), n))
        E[:, n - m :] = J[:, :m]
        return E, J[:, m : m + n], J[:, m + n :]

    # ---------------------------------------------------------------- what rank says

    def needs_second_rates(self, dz: Any, y: Any, u: Any) -> bool:
        """Whether something follows from second rates of inputs: its response grows with s squared."""
        E, A, B = self.slopes(dz, y, u)
        if not B.size:
            return False
        sizes = [np.abs(self.response(s, E, A, B)).max() for s in (1e4j, 1e5j)]
        return bool(sizes[1] > 30 * sizes[0])

    def contradicts(self, dz: Any, y: Any, u: Any) -> bool:
        """Whether efforts or flows are open once all signals are given: a signal is a cause alone."""
        self.held = True
        try:
            return self.pencil_is_singular(dz, y, u)
        finally:
            self.held = False

    def pencil_is_singular(self, dz: Any, y: Any, u: Any) -> bool:
        """Whether the equations linearised at a point do not determine what happens."""
        E, A, _ = self.slopes(dz, y, u)
        if len(A) != self.size:
            return True
        return all(smallness(s * E + A) < SINGULAR for s in PROBES)

    def anywhere(self, rng: np.random.Generator) -> tuple[Any, Any, Any]:
        """Return a point at which nothing is special; the equations need not hold there."""
        return rng.normal(size=self.stored), rng.normal(size=self.size), rng.normal(size=len(self.inputs))

    # ---------------------------------------------------------------- solutions

    def response(self, s: complex, E: Any, A: Any, B: Any) -> Any:
        """Return y for inputs of one each: (s E + A) y = -B, refined with longer numbers."""
        rows, columns = scales(s * E + A)
        M = (s * E + A) * rows[:, None] * columns
        right = -B * rows[:, None]
        long, inverse = M.astype(np.clongdouble), np.linalg.inv(M)
        x = (inverse @ right).astype(np.clongdouble)
        for _ in range(4):
            x = x + inverse @ (right - long @ x).astype(complex)
        return np.asarray(x * columns[:, None], dtype=complex)

    def solve(
        self, states: list[int], x: Any, u: Any, du: Any, start: Any = None, *, steps: int = 60
    ) -> tuple[Any, Any] | None:
        """Return y and dz at which the equations and their rates hold, for some contents and inputs.

        Unknown are y, its rates and the second rates of the contents; the last are not determined and do not
        matter. Damped Gauss-Newton steps; None where they do not come to an end.
        """
        n, m = self.size, self.stored
        fixed = np.array(states, dtype=int)
        y, dy, ddz = np.zeros(n), np.zeros(n), np.zeros(m)
        if start is not None:
            y, dy = start[0].copy(), start[1].copy()
        y[fixed] = x
        free = np.setdiff1d(np.arange(n), fixed)
        keep = np.concatenate([free, np.arange(n, 2 * n + m)])

        def both(y: Any, dy: Any, ddz: Any) -> tuple[Any, Any]:
            E, A, B = self.slopes(dy[n - m :], y, u)
            F = self.residual(dy[n - m :], y, u)
            rates = A @ dy + B @ du + E[:, n - m :] @ ddz
            return np.concatenate([F, rates]) * rows, (E, A)

        E, A, _ = self.slopes(dy[n - m :], y, u)
        row, unit = scales(PROBES[0] * E + A)  # newtons beside pascals
        rows, units = np.tile(row, 2), np.concatenate([unit, unit, unit[n - m :]])
        value, (E, A) = both(y, dy, ddz)
        for _ in range(steps):
            size = np.abs(value).max(initial=0.0)
            if size < 1e-13 * (1 + np.abs(y / unit).max(initial=0.0) + np.abs(dy / unit).max(initial=0.0)):
                return y, dy[n - m :]
            # Second slopes of the laws by a difference: they enter the rates of the equations only.
            J = np.block([[A, E, np.zeros((n, m))], [self._bend(y, dy, u, du, ddz), A, E[:, n - m :]]])
            step = np.zeros(2 * n + m)
            scaled = (rows[:, None] * J * units)[:, keep]
            step[keep] = units[keep] * np.linalg.lstsq(scaled, -value, rcond=1e-13)[0]
            factor = 1.0
            while factor > 1e-6:
                trial = (y + factor * step[:n], dy + factor * step[n : 2 * n], ddz + factor * step[2 * n :])
                with np.errstate(all="ignore"):
                    now, slopes = both(*trial)
                if np.abs(now).max(initial=0.0) < size * (1 - 0.1 * factor) or size < 1e-10:
                    break
                factor /= 2
            else:
                return None
            (y, dy, ddz), value, (E, A) = trial, now, slopes
        return (y, dy[n - m :]) if np.abs(value).max(initial=0.0) < 1e-10 else None

    def _bend(self, y: Any, dy: Any, u: Any, du: Any, ddz: Any) -> Any:
        """Return the slope in y of A(y) dy + B(y) du: differences of complex steps along the motion."""
        n, m = self.size, self.stored
        h = 1e-6
        result = np.zeros((n, n))
        speed = np.concatenate([ddz, dy, du])
        point = np.concatenate([dy[n - m :], y, u])
        shifts = np.concatenate([np.zeros((m, n)), h * np.eye(n), np.zeros((len(u), n))])

        def along(sign: float) -> Any:
            columns = (point[:, None] + sign * shifts) + 1j * STEP * speed[:, None]
            return self.residual(columns[:m], columns[m : m + n], columns[m + n :]).imag / STEP

        result[:] = (along(1.0) - along(-1.0)) / (2 * h)
        return result


def scales(M: Any) -> tuple[Any, Any]:
    """Return factors of rows and columns, powers of two, that bring all entries near one."""
    size = np.abs(M)
    factors = [np.ones(len(M)), np.ones(len(M))]
    for _ in range(6):
        for axis in (0, 1):
            largest = (size * factors[0][:, None] * factors[1]).max(axis=1 - axis)
            factors[axis] /= 2.0 ** np.round(np.log2(np.sqrt(np.where(largest > 0, largest, 1.0))))
    return factors[0], factors[1]


def smallness(M: Any) -> float:
    """Return the smallest singular value over the largest, after scaling."""
    if not len(M):
        return 1.0
    rows, columns = scales(M)
    values = np.linalg.svd(M * rows[:, None] * columns, compute_uv=False)
    return float(values[-1] / values[0]) if values[0] else 0.0
