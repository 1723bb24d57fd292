"""An FMU inside a tick: its outputs as calls that C and Python can make."""

from __future__ import annotations

import ctypes
import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from bondloop.engine.codegen import compiler, load
from bondloop.engine.ir import Call
from bondloop.errors import CompileError, InputError

if TYPE_CHECKING:
    from bondloop.engine.ir import Expr
    from bondloop.fmu.foreign import ForeignFmu, ForeignVariable


_OWN = re.compile(r"\b(?:host|HOST|in_tick)(?:_\w+)?\b")
"""Names of the C that runs an FMU."""

_MESSAGE = """
__attribute__((visibility("default"))) const char *host_message(void)
{
    return host_DIGEST.message;
}
"""


class ForeignStep:
    """One FMU that takes a step in every tick.

    At tick n its inputs are set and its outputs read, at one instant; then the inputs are held until the
    next. A run begins with its initialisation. There is one instance in a process.

    Parameters
    ----------
    fmu
        The FMU.
    inputs, outputs
        The variables that are connected, in order.
    parameters
        Values by name that are set before the initialisation.
    """

    def __init__(
        self,
        fmu: ForeignFmu,
        inputs: Sequence[ForeignVariable],
        outputs: Sequence[ForeignVariable],
        parameters: Mapping[str, float] | None = None,
    ) -> None:
        self.fmu, self.inputs, self.outputs = fmu, tuple(inputs), tuple(outputs)
        own = (resources.files(__package__) / "c" / "in_tick.c").read_text(encoding="utf-8")
        body = f"{fmu.host_c(inputs, outputs, 0.0, parameters)}\n{own}"
        digest = hashlib.sha256(body.encode()).hexdigest()[:12]
        self.name = f"fmu_{digest}"
        body += "".join(self._function(i) for i in range(len(self.outputs)))
        # A tick may have two of them, and all of this is one file.
        self.source = _OWN.sub(lambda found: f"{found[0]}_{digest}", body)
        self._digest = digest
        self._library: ctypes.CDLL | None = None

    def __deepcopy__(self, memo: dict[int, object]) -> ForeignStep:
        """Return itself: a model may be copied, a running program may not."""
        return self

    def _function(self, i: int) -> str:
        given = "".join(f", double u{j}" for j in range(len(self.inputs)))
        listed = ", ".join(f"u{j}" for j in range(len(self.inputs))) or "0.0"
        return (
            '\n__attribute__((visibility("default")))\n'
            f"double {self.name}_{i}(double n, double t{given})\n{{\n"
            f"    const double inputs[] = {{{listed}}};\n"
            f"    return in_tick_output({i}, n, t, inputs);\n}}\n"
        )

    def calls(self, number: Expr, time: Expr, inputs: Sequence[Expr]) -> list[Call]:
        """Return the outputs as expressions.

        Parameters
        ----------
        number, time
            Of the tick; the number counts from 0.
        inputs
            What the inputs are at this instant.
        """
        arguments = (number, time, *inputs)
        return [
            Call(f"{self.name}_{i}", self._asked(i), arguments, self.source) for i in range(len(self.outputs))
        ]

    def _asked(self, i: int) -> Callable[..., float]:
        def ask(*arguments: float) -> float:
            value = float(self._loaded(i)(*arguments))
            if math.isnan(value):
                raise InputError(f"{self.message} (at t = {arguments[1]:.6g} s)")
            return value

        ask.__qualname__ = f"the FMU {self.fmu.path.name}"
        return ask

    @property
    def message(self) -> str:
        """What went wrong, in the words of the FMU's host."""
        message: Any = self._open().host_message
        message.restype = ctypes.c_char_p
        return (message() or b"").decode(
            errors="replace"
        ) or f"{self.fmu.path.name}: an output is not a number"

    def first(self, inputs: Sequence[float] = ()) -> list[float]:
        """Initialise the FMU and return its outputs at t = 0; this runs its code.

        Parameters
        ----------
        inputs
            What the inputs are; zero if not given.
        """
        given = [*inputs] or [0.0] * len(self.inputs)
        return [self._asked(i)(0.0, 0.0, *given) for i in range(len(self.outputs))]

    def _open(self) -> ctypes.CDLL:
        if self._library is None:
            using = compiler()
            if using is None:
                raise CompileError("no C compiler found ($CC, cc, gcc, clang), which an FMU in a test needs")
            said = _MESSAGE.replace("DIGEST", self._digest)
            self._library = load(self.source + said, self.name, using, entry="0")
        return self._library

    def _loaded(self, i: int) -> Any:
        function: Any = getattr(self._open(), f"{self.name}_{i}")
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * (2 + len(self.inputs))
        return function
