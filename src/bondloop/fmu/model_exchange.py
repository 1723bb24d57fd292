"""A system as an FMU for model exchange: rates, outputs, directional derivatives; the importer integrates."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bondloop.engine.analysis.simulation import starting_states
from bondloop.engine.ir import (
    Channel,
    Expr,
    Tick,
    Var,
    identifier,
    instantiate,
    substitute,
    tangent,
    variables,
)
from bondloop.errors import InputError
from bondloop.fmu.export import write_tick_fmu

if TYPE_CHECKING:
    from bondloop.engine import System


def write_system_fmu(
    system: System, path: str | os.PathLike[str], *, version: int = 3, binary: bool = True
) -> Path:
    """Write a system as an FMU for model exchange; return the path.

    Parameters
    ----------
    system
        The system; it must not switch or remember, and need no rates of its inputs.
    path
        Of the file.
    version
        Of FMI, 2 or 3.
    binary
        Whether the binary for this platform is built.
    """
    _refuse(system)
    name = identifier(system.name, "system_")
    return write_tick_fmu(
        _rates_tick(system, name),
        path,
        version=version,
        name=system.name,
        tangent=_slopes_tick(system, f"{name}_slopes"),
        kind="ModelExchange",
        starts=system.input_defaults,
        binary=binary,
    )


def _refuse(system: System) -> None:
    remedy = "export it in steps, bl.Simulation({...}, rate=...).write_fmu(...)"
    if system.switching:
        raise InputError(
            f"{system.name} switches, and its events are not written for model exchange; {remedy}"
        )
    if system.memories:
        raise InputError(
            f"{system.name} remembers its displacements from step to step, and model exchange knows rates "
            f"only; {remedy}"
        )
    if system.input_rates:
        names = ", ".join(u.name for u in system.input_rates)
        raise InputError(
            f"{system.name} needs the rates of its inputs ({names}), which model exchange does not give; "
            f"{remedy}"
        )


def _rates_tick(system: System, name: str) -> Tick:
    goals = [*system.rate_exprs, *system.output_exprs.values()]
    channels = [
        Channel.of(f"der({x.name})", rate, x.quantity and x.quantity.rate)
        for x, rate in zip(system.state_vars, system.rate_exprs, strict=True)
    ]
    channels += [Channel.of(n, e, system.quantity(n)) for n, e in system.output_exprs.items()]
    return _tick(system, name, system.input_vars, goals, channels)


def _slopes_tick(system: System, name: str) -> Tick:
    """Return the tick of one direction: each assignment with its tangent, as in `sensitivity_system`."""
    seeds: dict[Var, Expr] = {v: Var(f"seed({v.name})") for v in (*system.input_vars, *system.state_vars)}
    given = tuple(s for s in seeds.values() if isinstance(s, Var))
    users: dict[Var, list[Var]] = {}
    for target, expr in system.definitions.items():
        for v in variables(expr):
            users.setdefault(v, []).append(target)
    work = list(seeds)
    while work:
        for target in users.get(work.pop(), ()):
            if target not in seeds:
                seeds[target] = Var(f"slope({target.name})")
                work.append(target)
    definitions = dict(system.definitions)
    tears = list(system.tears)
    for v, expr in system.definitions.items():
        slope = seeds.get(v)
        if isinstance(slope, Var):
            definitions[slope] = tangent(expr, seeds)
            tears += [slope] if v in system.tears else []
    goals = [tangent(e, seeds) for e in (*system.rate_exprs, *system.output_exprs.values())]
    names = [*(f"der({x.name})" for x in system.state_vars), *system.output_exprs]
    channels = [Channel(f"slope({n})", e) for n, e in zip(names, goals, strict=True)]
    wider = system.replaced(definitions=definitions, tears=tears)
    return _tick(wider, name, (*system.input_vars, *given), goals, channels)


def _tick(
    system: System, name: str, inputs: tuple[Var, ...], goals: list[Expr], channels: list[Channel]
) -> Tick:
    steps, table = instantiate(system.schedule(goals), {}, "")
    shown = tuple(replace(c, value=substitute(c.value, table)) for c in channels)
    return Tick(
        name, 1.0, Var("t"), Var("k"), inputs, starting_states(system), system.values(), tuple(steps), shown
    )
