"""A system as an FMU for co-simulation: integrated inside it, in fixed steps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bondloop.engine.analysis.simulation import starting_states
from bondloop.engine.data import POSITIVE
from bondloop.engine.ir import Channel, Expr, Tick, Var, identifier, substitute
from bondloop.errors import InputError
from bondloop.fmu import write_tick_fmu
from bondloop.integrate.runge_kutta import RK4

if TYPE_CHECKING:
    from bondloop.engine import System
    from bondloop.integrate.base import Integrator


def write_stepped_fmu(
    system: System,
    path: str | os.PathLike[str],
    *,
    rate: float | str,
    integrator: Integrator | None = None,
    version: int = 3,
    binary: bool = True,
) -> Path:
    """Write a system as an FMU for co-simulation; return the path.

    Parameters
    ----------
    system
        The system; its inputs are those of the FMU, and are held over a step.
    path
        Of the file.
    rate
        Steps a second, or text (``"1 kHz"``).
    integrator
        Scheme; RK4 if not given.
    version
        Of FMI, 2 or 3.
    binary
        Whether the binary for this platform is built.
    """
    period = 1.0 / POSITIVE.check(rate, "rate", "Hz")
    if system.input_rates:
        names = ", ".join(u.name for u in system.input_rates)
        raise InputError(f"{system.name} needs the rates of its inputs ({names}), which an FMU is not given")
    held: dict[Var, Expr] = {u: u for u in system.input_vars}
    goals = list(system.output_exprs.values())
    made = (integrator or RK4()).discretise(system, period, lambda _: held, goals)
    channels = tuple(
        Channel.of(n, substitute(e, made.table), system.quantity(n)) for n, e in system.output_exprs.items()
    )
    tick = Tick(
        identifier(system.name, "system_"),
        period, Var("t"), Var("k"), system.input_vars, starting_states(system), system.values(),
        (*made.first, *made.rest), channels,
    )  # fmt: skip
    return write_tick_fmu(
        tick, path, version=version, name=system.name, starts=system.input_defaults, binary=binary
    )
