"""The five assumptions of Gawthrop 2005, checked one by one."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bondloop.bondgraph import interfaces
from bondloop.engine.ir import Expr, Var, variables
from bondloop.errors import BondloopError
from bondloop.substructure.half import NumericalHalf, numerical_half

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.bondgraph import Model
    from bondloop.engine import System


class _TransferLike(Protocol):
    """What is needed of a transfer system here; ``bondloop.transfer.Transfer`` has it."""

    @property
    def system(self) -> System: ...
    @property
    def command(self) -> Var: ...
    @property
    def velocity(self) -> Expr: ...


@dataclass(frozen=True)
class Assumption:
    """One assumption: its number in the paper, whether it holds, and why.

    Parameters
    ----------
    number, title
        As in the paper.
    holds
        Whether the test complies with it.
    reason
        Why, or why not.

    Examples
    --------
    >>> print(Assumption(1, "the numerical half is causal", True, "it takes forces"))
    1. the numerical half is causal: holds. it takes forces
    """

    number: int
    title: str
    holds: bool
    reason: str

    def __str__(self) -> str:
        return f"{self.number}. {self.title}: {'holds' if self.holds else 'DOES NOT HOLD'}. {self.reason}"


@dataclass(frozen=True)
class Assumptions:
    """All five, with the two shortest causal paths of each interface.

    Parameters
    ----------
    items
        The five, in their order.
    numerical_paths, transfer_paths
        The shortest causal path of each interface, in the numerical half and in the transfer system.
    """

    items: tuple[Assumption, ...]
    numerical_paths: tuple[CausalPath | None, ...] = ()
    transfer_paths: tuple[CausalPath | None, ...] = ()

    @property
    def hold(self) -> bool:
        """Whether all hold."""
        return all(a.holds for a in self.items)

    def __str__(self) -> str:
        return "\n".join(str(a) for a in self.items)


def check_assumptions(numerical: Model, physical: Model, transfers: Sequence[_TransferLike]) -> Assumptions:
    """Check a cut with its transfer systems.

    Parameters
    ----------
    numerical, physical
        The halves.
    transfers
        One transfer system per interface, as ``bondloop.transfer.transfer_system`` returns it.

    Examples
    --------
    >>> from bondloop.papers import gawthrop_three_mass
    >>> from bondloop.transfer import MassSpringDamper, transfer_system
    >>> halves = gawthrop_three_mass.model().cut("m2.right >> m3.left")
    >>> assumptions = check_assumptions(*halves, [transfer_system(MassSpringDamper(1, 1, 1))])
    >>> assumptions.hold, [a.holds for a in assumptions.items]
    (True, [True, True, True, True, True])
    """
    half: NumericalHalf | None = None
    first, reason = False, ""
    try:
        half = numerical_half(numerical)
        first, reason = _imposed_force(physical)
    except BondloopError as error:
        reason = str(error)
    count = len(interfaces(numerical))
    fits = len(transfers) == count
    forces = ", ".join(f"force at {s.path}" for s in interfaces(physical))
    sensed = f"a load cell must measure the {forces}"
    numbers = f"{_counted(count, 'interface')}, {_counted(len(transfers), 'transfer system')}"
    inputs = "the motion is imposed through a transfer system with as many inputs as interfaces"
    n_paths, t_paths = [], []
    last = Assumption(5, "sigma_N >= sigma_T", False, "cannot be checked before assumptions 1 and 3 hold")
    if half is not None and fits:
        ends = zip(half.efforts, half.flows, strict=True)
        n_paths = [shortest_causal_path(half.system, e, f) for e, f in ends]
        t_paths = [shortest_causal_path(t.system, t.command, t.velocity) for t in transfers]
        last = _paths(n_paths, t_paths)
    items = (
        Assumption(1, "the physical half imposes a force on the numerical one", first, reason),
        Assumption(2, "what the physical half imposes is measured", True, sensed),
        Assumption(3, inputs, fits, numbers),
        _stability(transfers),
        last,
    )
    return Assumptions(items, tuple(n_paths), tuple(t_paths))


def _imposed_force(physical: Model) -> tuple[bool, str]:
    """Return whether the physical half gives forces at its interfaces, and why or why not."""
    imposed = [f"{s.path}.effort" for s in interfaces(physical)]
    outputs = physical.compile().outputs
    wrong = [name for name in imposed if name not in outputs]
    if wrong:
        words = "it begins with a mass; cut at its spring side"
        return False, f"the physical half does not give {', '.join(wrong)}: {words}"
    words = "the numerical half takes it and gives the velocity"
    return True, f"the physical half gives {', '.join(imposed)}, {words}"


def _stability(transfers: Sequence[_TransferLike], rounding: float = 1e-9) -> Assumption:
    title = "the transfer system is stable, with stable zero dynamics"
    good, words = True, []
    for t in transfers:
        space = t.system.linearise()
        poles, zeros = space.poles(), space.zeros(space.outputs[0], t.command.name)
        near = rounding * max(1.0, float(np.abs(poles).max(initial=0.0)))
        slow_zero = float(zeros.real.max(initial=-np.inf))
        stable = float(poles.real.max(initial=-np.inf)) < -near
        minimum_phase = slow_zero <= near
        good = good and stable and minimum_phase
        if not len(zeros):
            kind = "none"
        elif not minimum_phase:
            kind = "UNSTABLE: it cannot be inverted"
        else:
            kind = "stable, one at the origin (its position)" if slow_zero >= -near else "stable"
        words.append(
            f"{t.system.name}: poles {_numbers(poles)} rad/s {'stable' if stable else 'UNSTABLE'}; zeros "
            f"{_numbers(zeros)} {kind}"
        )
    return Assumption(4, title, good, "; ".join(words))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _numbers(values: NDArray[np.complex128]) -> str:
    shown = [
        f"{v.real:.3g}{v.imag:+.3g}j" if abs(v.imag) > 1e-9 * (1 + abs(v)) else f"{v.real + 0.0:.3g}"
        for v in values[:6]
    ]
    return "[" + ", ".join(shown) + (", ..." if len(values) > 6 else "") + "]"


def _paths(n_paths: Sequence[CausalPath | None], t_paths: Sequence[CausalPath | None]) -> Assumption:
    title = (
        "sigma_N >= sigma_T: the numerical half's shortest causal path is at least as long as the "
        "transfer system's"
    )
    good, words = True, []
    for n, t in zip(n_paths, t_paths, strict=True):
        if t is None:
            good = False
            words.append("no causal path leads from the command to the velocity")
            continue
        sigma_n = np.inf if n is None else n.length
        good = good and sigma_n >= t.length
        words.append(f"sigma_N = {sigma_n} ({n or 'no path'}), sigma_T = {t.length} ({t})")
    return Assumption(5, title, good, "; ".join(words))


@dataclass(frozen=True)
class CausalPath:
    """A causal path: the variables along it, and the storages (integrations) passed.

    Attributes
    ----------
    variables
        Names from the input to the output.
    storages
        Names of the states on the way; their number is the length sigma of the path.

    Examples
    --------
    >>> from bondloop.bondgraph import C, I, Model, One, Se
    >>> from bondloop.substructure import shortest_causal_path
    >>> m = Model("oscillator")
    >>> m.force, m.v = Se("F"), One()
    >>> _ = m.force >> m.v >> [I(mass=1.0), C(stiffness=4.0)]
    >>> system = m.compile(outputs=["C.effort"])
    >>> shortest_causal_path(system, system.input_vars[0], system.output_exprs["C.effort"]).storages
    ('I.momentum', 'C.displacement')
    """

    variables: tuple[str, ...]
    storages: tuple[str, ...]

    @property
    def length(self) -> int:
        """Number of integrations on the path."""
        return len(self.storages)

    def __str__(self) -> str:
        return " -> ".join(self.variables) + f"  (length {self.length})"


def shortest_causal_path(system: System, source: Var, goal: Expr) -> CausalPath | None:
    """Return the path with the fewest storages from an input to an output; None if there is none.

    A step from what an assignment uses to what it assigns costs nothing; a step from a rate to its state
    costs one integration.

    Parameters
    ----------
    system
        The compiled model.
    source
        An input of it.
    goal
        An output.
    """
    users: dict[Var, list[Var]] = {}
    for target, expr in system.definitions.items():
        for v in variables(expr):
            users.setdefault(v, []).append(target)
    fed: dict[Var, list[Var]] = {}
    for state, rate in zip(system.state_vars, system.rate_exprs, strict=True):
        for v in variables(rate):
            fed.setdefault(v, []).append(state)
    ends = set(variables(goal))
    before: dict[Var, Var | None] = {source: None}
    cost = {source: 0}
    queue = deque([source])
    best: Var | None = None
    while queue:
        v = queue.popleft()
        if v in ends:
            best = v
            break
        for following, price in [*((u, 0) for u in users.get(v, ())), *((s, 1) for s in fed.get(v, ()))]:
            total = cost[v] + price
            if following not in cost or total < cost[following]:
                cost[following] = total
                before[following] = v
                (queue.appendleft if price == 0 else queue.append)(following)
    if best is None:
        return None
    trail = [best]
    while (last := before[trail[-1]]) is not None:
        trail.append(last)
    trail.reverse()
    storages = [b.name for a, b in pairwise(trail) if b in system.state_vars and b in fed.get(a, ())]
    return CausalPath(tuple(v.name for v in trail), tuple(storages))
