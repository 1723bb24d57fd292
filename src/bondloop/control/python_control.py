"""A controller that is any Python function: for rehearsals only."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.control.base import Compensator, Controller, Measured
from bondloop.control.control_law import Desired
from bondloop.engine.data import is_truth
from bondloop.engine.ir import Assign, Call, Const, Expr, Op, Var, substitute
from bondloop.engine.passes import Applied, Context
from bondloop.errors import InputError, ModelError

if TYPE_CHECKING:
    from bondloop.control.base import Design


@dataclass(frozen=True)
class PythonControl(Compensator):
    """Any Python function as a controller: it may use ``if``, NumPy, a neural network, a file.

    bondloop knows nothing of it but what it returns. So it can be rehearsed, in Python; it cannot be written
    as C, run in real time or repeated from a run file, and the check cannot linearise its loop and therefore
    never passes it. What is meant for a rig is written as a `ControlLaw`. A function given to a test in place
    of a controller is made one of these.

    Parameters
    ----------
    function
        ``function(desired, measured, time)`` returns the command: called once at every sample, with numbers
        (`Desired`, `Measured`, the time in s). Of several transfer systems these are arrays, and it returns
        as many commands. If it keeps something from sample to sample it must have a method ``reset``, which
        is called at the first sample of every run.

    Examples
    --------
    >>> def bang(desired, measured, time):
    ...     return 1.0 if desired.displacement > measured.displacement else -1.0
    >>> PythonControl(bang).describe()["controller"]
    'PythonControl'
    """

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(f"PythonControl: expected a function; found {self.function!r:.60}")
        try:
            inspect.signature(self.function).bind(None, None, None)
        except TypeError as error:
            raise InputError(
                f"PythonControl: {self.opaque} must take three arguments, (desired, measured, time); {error}"
            ) from None
        except ValueError:  # of some built-in functions nothing is known
            pass

    @property
    def opaque(self) -> str:
        """Module and name of the function, or of the class of what is called."""
        named = self.function if hasattr(self.function, "__qualname__") else type(self.function)
        module = getattr(named, "__module__", None)
        known = "" if module in (None, "__main__") else f"{module}."
        return f"{known}{named.__qualname__}"

    def compensate(self, desired: Expr, measured: Measured, context: Context) -> Applied:  # noqa: ARG002
        """Refuse: without a test there is nobody to call it."""
        raise ModelError(f"{self.opaque} is a Python function; it can be called in hybrid tests only")

    def commands(
        self,
        design: Design,
        values: Mapping[Var, Expr],
        measured: Sequence[Measured],
        contexts: Sequence[Context],
    ) -> list[Applied]:
        """Return the statements that call it, one for each command."""
        count, table = len(design.commands), dict(values)
        caller = _Caller(self, count)
        context = contexts[0]
        arguments: list[Expr] = [context.count, Op("mul", (context.count, Const(context.period)))]
        for exprs in (design.commands, design.desired_velocities):
            arguments += [substitute(e, table) for e in exprs]
        for word in ("force", "displacement", "velocity"):
            arguments += [getattr(m, word) for m in measured]
        applied = []
        for i, name in enumerate(contexts):
            target = Var(f"{name.name}.command")
            call = Call(f"python_command_{i}", caller.command(i), tuple(arguments))
            applied.append(Applied([Assign(target, call)], target))
        return applied


class _Caller:
    """Calls a function once a sample, however often its commands are asked for."""

    def __init__(self, control: PythonControl, count: int) -> None:
        self.control, self.count = control, count
        self.arguments: tuple[float, ...] = ()
        self.commands: list[float] = []

    def command(self, index: int) -> Callable[..., float]:
        def ask(*arguments: float) -> float:
            if arguments != self.arguments:
                self.commands = self._called(*arguments)
                self.arguments = arguments
            return self.commands[index]

        ask.__qualname__ = self.control.opaque
        return ask

    def _called(self, k: float, time: float, *values: float) -> list[float]:
        function, n = self.control.function, self.count
        if k == 0 and hasattr(function, "reset"):
            function.reset()
        x: list[Any] = [values[i * n : (i + 1) * n] for i in range(5)]
        x = [v[0] if n == 1 else np.array(v) for v in x]
        result = function(Desired(*x[:2]), Measured(*x[2:]), time)
        try:
            commands = [
                float(c) for c in ([result] if n == 1 else result) if not (isinstance(c, str) or is_truth(c))
            ]
        except (TypeError, ValueError):
            commands = []
        if len(commands) != n:
            wanted = "a number, the command" if n == 1 else f"{n} numbers, the commands"
            raise InputError(
                f"{self.control.opaque}: expected {wanted}; found {result!r:.60} at t = {time:.6g} s"
            )
        return commands


def as_controller(value: Controller | Callable[..., Any]) -> Controller:
    """Return a function as a controller that calls it; a controller, or what is neither, as it is.

    Parameters
    ----------
    value
        What was given for a controller.
    """
    if callable(value) and not isinstance(value, (type, Controller)):
        return PythonControl(value)
    return value  # type: ignore[return-value]  # a class is refused by whoever needs one of its values
