"""A matrix of process models: a coupled transfer system as it is identified, command by command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import Described, Kind, register, stamp
from bondloop.errors import InputError
from bondloop.transfer.process import Process

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from bondloop.engine import System
from bondloop.engine.ir import Interface, Program


@dataclass(frozen=True)
class ProcessMatrix(Described, member_of="process"):
    """G(s), from the commands to the displacements of actuators that move each other.

    Parameters
    ----------
    entries
        Rows of process models: ``entries[i][j]`` is what command j does to displacement i.

    Examples
    --------
    >>> from bondloop.transfer import first_order
    >>> G = ProcessMatrix(
    ...     (
    ...         (first_order(1.0, 0.01), first_order(0.1, 0.01)),
    ...         (first_order(0.2, 0.02), first_order(0.9, 0.02)),
    ...     )
    ... )
    >>> G.response([0.0])[0].real.tolist()
    [[1.0, 0.1], [0.2, 0.9]]
    """

    entries: tuple[tuple[Process, ...], ...]

    def __post_init__(self) -> None:
        rows: Iterable[Iterable[object]] = self.entries
        try:
            entries = tuple(tuple(row) for row in rows)
        except TypeError:
            entries = ()
        if not entries or any(len(row) != len(entries) for row in entries):
            raise InputError(
                "ProcessMatrix(entries): expected as many rows as columns, ((G11, G12), (G21, G22)); found "
                f"{self.entries!r:.60}"
            )
        for row in entries:
            for entry in row:
                if not isinstance(entry, Process):
                    raise InputError(
                        "ProcessMatrix(entries): expected process models, such as first_order(gain, "
                        f"time_constant); found {type(entry).__name__}"
                    )
        object.__setattr__(self, "entries", entries)

    def __len__(self) -> int:
        return len(self.entries)

    def response(self, frequency: ArrayLike) -> NDArray[np.complex128]:
        """Frequency response at each ``frequency`` in Hz, shape (frequencies, rows, columns)."""
        rows = [np.stack([entry.response(frequency) for entry in row], axis=-1) for row in self.entries]
        return np.stack(rows, axis=-2)

    def actuator(self, pade: int = 0) -> System:
        """Return it as a coupled transfer system for an emulated rig.

        The displacements are G(s) times the commands whatever the loads: perfectly stiff position loops.
        Entries of one column with the same poles share their states.

        Parameters
        ----------
        pade
            Order of a Padé approximation of the entries' delays. With 0 they are left out; one that all
            entries share can be given to the rig, ``Emulated(physical, G.actuator(), latency=delay)``.

        Examples
        --------
        >>> from bondloop.transfer import first_order
        >>> G = ProcessMatrix(
        ...     (
        ...         (first_order(1.0, 0.01), first_order(0.1, 0.01)),
        ...         (first_order(0.2, 0.02), first_order(0.9, 0.02)),
        ...     )
        ... )
        >>> G.actuator().inputs
        ('command[0]', 'command[1]', 'load[0]', 'load[1]')
        """
        from bondloop.bondgraph import TRANSLATION
        from bondloop.engine import System
        from bondloop.engine.ir import Const, Expr, Var

        d = TRANSLATION
        late = {entry.delay for row in self.entries for entry in row}
        if pade < 1 and len(late) > 1:
            raise InputError(
                f"ProcessMatrix.actuator: entries are {min(late):g} to {max(late):g} s late, and without "
                "pade their delays would be left out; give pade=2 or so, or one delay to all and to the rig"
            )
        A, B, C = self._space(pade)
        # The displacements themselves are the first states, so that the rig has no integrals beside them.
        rest = np.linalg.svd(C)[2][len(self) :]
        T = np.vstack([C, rest])
        inverse = np.linalg.inv(T)
        A, B = T @ A @ inverse, T @ B
        n = len(self)
        x = [Var(f"displacement[{i}]", quantity=d.displacement) for i in range(n)]
        x += [Var(f"rest[{i}]") for i in range(len(rest))]
        commands = [Var(f"command[{i}]", quantity=d.displacement) for i in range(n)]
        loads = [Var(f"load[{i}]", quantity=d.effort) for i in range(n)]
        values: dict[Var, float | None] = {}
        rates: list[Expr] = []
        for i in range(len(x)):
            rate: Expr = Const(0.0)
            for letter, row, of in (("A", A[i], x), ("B", B[i], commands)):
                for j, value in enumerate(row):
                    if value:
                        p = Var(f"{letter}[{i},{j}]")
                        values[p] = float(value)
                        rate = rate + p * of[j]
            rates.append(rate)
        velocities = [Var(f"velocity[{i}]", quantity=d.flow) for i in range(n)]
        system = System(
            "actuators",
            Interface(
                dict(zip(x, [*velocities, *rates[n:]], strict=True)),
                (*commands, *loads),
                {v.name: v for v in velocities},
                values,
            ),
            Program(dict(zip(velocities, rates[:n], strict=True))),
        )
        stamp(system, _ACTUATORS, {"process": self, "pade": pade})
        return system

    def _space(self, pade: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return A, B, C: companion forms side by side, one for every denominator of a column."""
        blocks: list[tuple[NDArray[np.float64], int, dict[int, NDArray[np.float64]]]] = []
        for j in range(len(self)):
            shared: dict[tuple[float, ...], dict[int, NDArray[np.float64]]] = {}
            for i, row in enumerate(self.entries):
                G = row[j]
                b, a = G._with_pade(pade) if G.delay else (np.array(G.numerator), np.array(G.denominator))
                if len(b) >= len(a) and b.any():
                    raise InputError(
                        "an actuator needs more poles than zeros: with as many zeros its displacement would "
                        f"jump with the command; found {len(a) - 1} poles and as many zeros in entry "
                        f"({i + 1}, {j + 1})"
                    )
                shared.setdefault(tuple((a / a[0]).tolist()), {})[i] = b / a[0]
            blocks += [(np.array(a), j, rows) for a, rows in shared.items() if len(a) > 1]
        size = sum(len(a) - 1 for a, _, _ in blocks)
        A, B, C = np.zeros((size, size)), np.zeros((size, len(self))), np.zeros((len(self), size))
        at = 0
        for a, j, rows in blocks:
            n = len(a) - 1
            scale = float(np.abs(np.roots(a)).max(initial=0.0)) or 1.0  # states of one size
            powers = scale ** np.arange(n + 1.0)
            k = slice(at, at + n)
            A[k, k] = scale * np.eye(n, k=1)
            A[at + n - 1, k] = -scale * (a / powers)[:0:-1]
            B[at + n - 1, j] = scale
            for i, b in rows.items():
                C[i, k] = (np.concatenate([np.zeros(n + 1 - len(b)), b]) / powers)[:0:-1]
            at += n
        if np.linalg.matrix_rank(C) < len(self):
            raise InputError(
                "ProcessMatrix: some displacement is always a fixed multiple of the others, so the actuators "
                "cannot move the interface everywhere; found rows that depend on each other"
            )
        return A, B, C


def _actuators(process: ProcessMatrix, pade: int = 0) -> System:
    return process.actuator(pade)


_ACTUATORS = register(Kind("system", "actuators", _actuators))
