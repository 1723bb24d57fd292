"""A device in statics: its forces and their slopes at displacements that do not change, as a function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.devices.device import Device
from bondloop.devices.ode_specimen import Imposed, changes, finite_formulas
from bondloop.devices.stops_and_cables import LargeBar
from bondloop.engine.ir import Assign, Const, Expr, Var, evaluator, tangent
from bondloop.engine.laws import Traced, array_of, called, entries, formulas, named_parts
from bondloop.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from bondloop.devices.ode_specimen import OdeSpecimen


@dataclass(frozen=True)
class AtRest:
    """The law of a device whose forces follow from displacements and from what it remembers.

    Attributes
    ----------
    interfaces
        At how many places it is moved.
    memory
        What it remembers to begin with.

    Examples
    --------
    >>> from bondloop.devices import Bilinear
    >>> law = AtRest.of(Bilinear(stiffness=1000.0, yield_force=10.0, hardening=0.1), "bar")
    >>> law.at([0.02], law.memory)
    (array([11.]), array([[100.]]))
    """

    interfaces: int
    memory: tuple[float, ...]
    forces: Callable[..., list[float]]
    renewal: Callable[..., list[float]]

    @classmethod
    def of(cls, law: OdeSpecimen, name: str) -> AtRest:
        """Return the law of a device, which must not depend on time.

        Parameters
        ----------
        law
            The device.
        name
            What errors call it.
        """
        kind, several = type(law).__name__, law.interfaces > 1
        states, kept = entries("state.", law.initial_states())
        moved = [Var(f"displacement[{i}]") for i in range(law.interfaces)]
        values = law.parameter_values()
        signals = dict.fromkeys(law.inputs, Traced(Const(0.0)))
        copy = law.running({n: Traced(Const(float(x))) for n, x in values.items()}, states, **signals)
        at: list[Traced] = [Traced(v) for v in moved]
        still = [Traced(Const(0.0)) for _ in moved]
        motion = Imposed(array_of(at), array_of(still)) if several else Imposed(at[0], still[0])
        goals = formulas(called(copy.force, f"{kind}.force", motion), f"{kind}.force")
        memories = [v for known in kept.values() for v, _ in known]
        renewed: dict[Var, Expr] = {}
        for state, word, written in changes(copy, motion, kept, kind):
            if word == "rate":
                raise InputError(
                    f"'{name}' is a {kind}, whose state '{state}' changes in time: what it does under loads "
                    "that stay is not known. Statics takes devices that remember displacements (Bilinear, "
                    "Multilinear, GiuffreMenegottoPinto, ...) and springs; simulate this one"
                )
            renewed.update({v: e for (v, _), e in zip(kept[state], written, strict=True)})
        program, parts = named_parts(finite_formulas(goals, kind), "part")
        slopes = [_slopes(program, parts, v, i) for i, v in enumerate(moved)]
        statements = [*program, *(a for more, _ in slopes for a in more)]
        wanted = [*parts, *(e for _, column in slopes for e in column)]
        start = tuple(x for known in kept.values() for _, x in known)
        own, written_ = named_parts(finite_formulas([renewed[v] for v in memories], kind), "part")
        return cls(
            law.interfaces,
            start,
            evaluator(statements, [memories, moved], wanted),
            evaluator(own, [memories, moved], written_),
        )

    def at(
        self, displacement: Sequence[float], memory: Sequence[float]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return its forces and their slopes, one for each interface and shape (interfaces, interfaces).

        Parameters
        ----------
        displacement
            At its interfaces.
        memory
            What it remembers.
        """
        n = self.interfaces
        values = np.array(self.forces(memory, displacement))
        return values[:n], values[n:].reshape(n, n).T

    def renewed(self, displacement: Sequence[float], memory: Sequence[float]) -> tuple[float, ...]:
        """Return what it remembers of a way to a displacement.

        Parameters
        ----------
        displacement, memory
            As for `at`.
        """
        return tuple(self.renewal(memory, displacement))


def _slopes(
    program: Sequence[Assign], goals: Sequence[Expr], by: Var, number: int
) -> tuple[list[Assign], list[Expr]]:
    """Return the derivatives of goals by a variable, with the statements that they need."""
    seeds: dict[Var, Expr] = {by: Const(1.0)}
    steps: list[Assign] = []
    for a in program:
        change = tangent(a.expr, seeds)
        if not (isinstance(change, Const) and change.value == 0.0):
            target = Var(f"{a.target.name}@slope[{number}]")
            steps.append(Assign(target, change))
            seeds[a.target] = target
    return steps, [tangent(e, seeds) for e in goals]


def elastic_stiffness(law: OdeSpecimen) -> float | None:
    """Return the stiffness by which a device springs back when it is let go; None where that is not known.

    That of a weight that it lifts beside it, `Device.pendulum_stiffness`, is not in it.

    Parameters
    ----------
    law
        The device.
    """
    if isinstance(law, LargeBar):
        return law.stiffness / law.length
    weight = law.pendulum_stiffness if isinstance(law, Device) else 0.0
    if weight is None:
        return None
    try:
        at_rest = AtRest.of(law, type(law).__name__)
    except InputError:
        return None
    slope = float(at_rest.at([0.0] * law.interfaces, at_rest.memory)[1][0, 0]) - weight
    return slope if law.interfaces == 1 and at_rest.memory and slope > 0 else None
