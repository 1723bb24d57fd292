"""Functions of signals whose parameters can be set by path, as those of elements can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bondloop.bondgraph import Function
from bondloop.bondgraph.laws import check_number

__all__ = ["SignalLaw", "clipped", "unwound"]


class SignalLaw(Function):
    """A signal computed from signals: ``SignalLaw(lambda error, gain: gain * error, gain=30)``.

    Parameters
    ----------
    law
        Function of SymPy expressions: one argument per signal, in the order in which they are bonded to it,
        then the parameters.
    **parameters
        Named parameters of the law, with values; they are parameters of the model, under the part's path.
    """

    def __init__(self, law: Callable[..., Any], **parameters: Any) -> None:
        super().__init__(law)
        self.parameters = {name: check_number(v, f"SignalLaw({name})") for name, v in parameters.items()}


def clipped(value: Any, limit: Any = 1) -> Any:
    """Return a SymPy expression limited to ±limit."""
    import sympy as sp

    return sp.Max(sp.Min(value, limit), -limit)


def unwound(error: Any, total: Any, output: Any, limited: Any) -> Any:
    """Return what to integrate in a controller u = K (e + I/T) whose output may be limited.

    With total = e + I/T it is e - (u - limited)/K, the back-calculation of Fertik and Ross (1967): e while
    nothing is limited, otherwise what leads I to where the output leaves its limit. It is continuous, where
    stopping the integral would chatter, and it is written with the ratio of limited to output, so that the
    gain is not needed a second time.
    """
    import sympy as sp

    tiny = 1e-12
    return error - total * (1 - (sp.Abs(limited) + tiny) / (sp.Abs(output) + tiny))
