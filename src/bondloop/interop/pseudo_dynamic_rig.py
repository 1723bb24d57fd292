"""A pseudo-dynamic test on a rig that is moved from outside: its scheme here, actuator and specimen there."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bondloop.engine.ir import Assign, Call, Const, Expr, Step, Update, Var
from bondloop.errors import InputError
from bondloop.hybrid import PseudoDynamicTest, PseudoDynamicTick
from bondloop.rigs import BuiltRig

if TYPE_CHECKING:
    from bondloop.interop.protocol import Answer
    from bondloop.interop.remote_rig import Movable
    from bondloop.rehearsal import Run
    from bondloop.rigs import SubSteppedRig


def run_pseudo_dynamic(test: PseudoDynamicTest, seconds: float | str, rig: Movable) -> Run:
    """Run a pseudo-dynamic test on a rig that another process moves, in real time or without a clock.

    The scheme is executed here. Each displacement that it commands goes to the rig, which ramps there, holds,
    and answers with the measured force; the test's own time has nothing to do with the rig's. What the test
    has for a rig is what it was checked and rehearsed with, and is not moved.

    Parameters
    ----------
    test
        With a scheme that commands displacements, on `bondloop.rigs.RampHold`.
    seconds
        Length of the test, in the structure's time, or text, ``"2 min"``.
    rig
        A `RemoteRig`, or a `RehearsedRig` in this process.

    Raises
    ------
    RigFaultError
        The rig has come to its safe state; its own run file has what happened.

    Examples
    --------
    >>> import bondloop as bl
    >>> from bondloop.interop import Answer
    >>> from bondloop.integrate.structural import CentralDifference
    >>> from bondloop.structures import Matrices
    >>> column = bl.rigs.Specimen.from_matrices(Matrices([[0.0]], None, [[2e5]], ("top",)), "top")
    >>> test = bl.PseudoDynamicTest(
    ...     Matrices([[500.0]], None, [[1e5]], ("top",)),
    ...     scheme=CentralDifference(),
    ...     rig=bl.rigs.RampHold(column),
    ...     interface="top",
    ...     excitation={"top": bl.signals.Sine("1 kN", frequency="2 Hz")},
    ...     time_step="5 ms",
    ... )
    >>> class Spring:  # stands for a rig: a RemoteRig is moved in the same way
    ...     def move_to(self, displacements, seconds=None):
    ...         return Answer((2e5 * displacements[0],), tuple(displacements), 0.0)
    >>> run = run_pseudo_dynamic(test, 1.0, Spring())
    >>> bool(abs(run["force"] - test.run(1.0)["force"]).max() < 1e-6)
    True
    """
    given: object = test
    if not isinstance(given, PseudoDynamicTest) or given.rig.control != "displacement":
        raise InputError(
            "expected a PseudoDynamicTest whose scheme commands displacements, on RampHold actuators: the "
            "commands of a shaking table are no places to go to and rest at"
        )
    moved = copy.copy(test)
    moved.rig = _RemoteRig(test.rig, rig)  # type: ignore[assignment]
    on_rig = copy.copy(test)  # described as the test that it is, with the tick of the other
    on_rig.__dict__["_writer"] = PseudoDynamicTick(moved)
    return on_rig.run(seconds, backend="numpy")


class _RemoteRig:
    """What a pseudo-dynamic tick asks of its rig, answered by one elsewhere."""

    def __init__(self, own: SubSteppedRig, rig: Movable) -> None:
        self._own, self._rig = own, rig

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def build(
        self,
        period: float,
        prefix: str = "rig.",
        values: Mapping[str, float] | None = None,  # noqa: ARG002 - of the model that is not moved
    ) -> BuiltRig:
        """Write statements that ask the rig, once a sub-step."""
        count = len(self._own.specimen.motions)
        indices = [f"[{i}]" if count > 1 else "" for i in range(count)]
        force, place, speed = (
            [Var(f"{prefix}{word}{i}") for i in indices] for word in ("force", "displacement", "velocity")
        )
        new_force, new_place = (
            [Var(f"{prefix}new_{word}{i}") for i in indices] for word in ("force", "displacement")
        )
        move = lru_cache(maxsize=1)(self._moved)  # once a sub-step, however many readings are wanted of it
        imposed = 0

        def impose(commands: Sequence[Expr], number: Expr) -> list[Step]:
            nonlocal imposed
            imposed += 1
            steps: list[Step] = []
            for i, (f, x) in enumerate(zip(new_force, new_place, strict=True)):
                for word, target in (("force", f), ("displacement", x)):
                    label = f"rig_{word}_{imposed}_{i}"
                    steps.append(Assign(target, Call(label, _reading(move, word, i), (number, *commands))))
            pairs: list[tuple[Var, Expr]] = []
            for old, new in zip(force, new_force, strict=True):
                pairs.append((old, Const(0.0) - new))  # what the specimen resists with, on the numerical half
            for old, new, v in zip(place, new_place, speed, strict=True):
                pairs += [(v, (new - old) / Const(period)), (old, new)]
            return [*steps, Update(tuple(pairs))]

        states = dict.fromkeys([*force, *place, *speed], 0.0)
        motion: dict[str, list[Expr]] = {"displacement": list(place), "velocity": list(speed)}
        return BuiltRig(states, {}, force, motion, impose)

    def _moved(self, _number: float, *commands: float) -> Answer:
        return self._rig.move_to(commands)


def _reading(move: Callable[..., Answer], word: str, index: int) -> Callable[..., float]:
    def read(*arguments: float) -> float:
        values: tuple[float, ...] = getattr(move(*arguments), word)
        return values[index]

    read.__qualname__ = "the rig elsewhere"
    return read
