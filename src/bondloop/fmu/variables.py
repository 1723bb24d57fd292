"""The variables of a tick as others see them: one flat list with distinct names, units and first values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from bondloop.engine.data import Range
    from bondloop.engine.ir import Tick


Group = Literal["time", "input", "output", "parameter", "state"]

_ILLEGIBLE = re.compile("[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Variable:
    """One variable of an FMU.

    Parameters
    ----------
    name
        Its own: no other variable has it.
    path
        What it is called in the model; a channel that shows an input has the same as that.
    group
        ``"time"``, ``"input"``, ``"output"``, ``"parameter"`` or ``"state"``.
    reference
        Value reference: the place in the list.
    unit
        In SI, as text; empty where none is known.
    start
        First value; None of what is computed.
    least, most
        Bounds of a parameter.
    rate_of
        Value reference of the state of which it is the rate of change; None for all others.
    fixed
        Whether it is a parameter that is worked into matrices, and cannot be set.

    Examples
    --------
    >>> Variable("m.x", "m.x", "state", 3, "m", 0.0).unit
    'm'
    """

    name: str
    path: str
    group: Group
    reference: int
    unit: str = ""
    start: float | None = None
    least: float = -math.inf
    most: float = math.inf
    rate_of: int | None = None
    fixed: bool = False


def tick_variables(
    tick: Tick, tables: int = 0, rates: int = 0, starts: Mapping[str, float] | None = None
) -> list[Variable]:
    """Return the variables of a tick: the time, inputs, channels, parameters and states, in this order.

    What two groups call by one name (an input that is recorded, a state that is) keeps it in the first of
    them; in the later one its group goes before it: ``output.measured.force``.

    Parameters
    ----------
    tick
        The tick.
    tables
        So many first inputs are tabulated, and none of the variables.
    rates
        So many first channels are rates of as many states.
    starts
        First values of inputs by name; zero of those left out.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import Var
    >>> from bondloop.engine.ir.tick import Channel, Tick
    >>> x, u = Var("x"), Var("u")
    >>> tick = Tick("demo", 0.1, Var("t"), Var("k"), (u,), {x: 1.0}, {}, (), (Channel("u", u),))
    >>> [(v.name, v.group) for v in tick_variables(tick)]
    [('time', 'time'), ('u', 'input'), ('output.u', 'output'), ('x', 'state')]
    """
    inputs = tick.inputs[tables:]
    first_state = 1 + len(inputs) + len(tick.channels) + len(tick.parameters)
    rows: list[tuple[Group, str, dict[str, Any]]] = [("time", "time", {"unit": "s"})]
    rows += [("input", v.name, {"unit": v.unit, "start": (starts or {}).get(v.name, 0.0)}) for v in inputs]
    rows += [
        ("output", c.name, {"unit": c.unit, "rate_of": first_state + i if i < rates else None})
        for i, c in enumerate(tick.channels)
    ]
    worked_in = tick.worked_in
    for v, value in tick.parameters.items():
        fixed = v.name in worked_in
        least, most = (value, value) if fixed else bounds_of(v.range)
        about = {"unit": v.unit, "start": value, "least": least, "most": most, "fixed": fixed}
        rows.append(("parameter", v.name, about))
    rows += [("state", v.name, {"unit": v.unit, "start": x}) for v, x in tick.states.items()]
    names = _distinct((group, name) for group, name, _ in rows)
    return [
        Variable(name, path, group, i, **about)
        for i, (name, (group, path, about)) in enumerate(zip(names, rows, strict=True))
    ]


def described(tick: Tick, tables: int = 0) -> dict[str, Any]:
    """Return what the C of a tick does not tell, fit for JSON: every variable with its name, place and unit.

    Parameters
    ----------
    tick
        The tick.
    tables
        So many first inputs are tabulated.
    """
    places = {"input": tables, "output": 0, "parameter": 0, "state": 0}
    groups: dict[str, list[dict[str, Any]]] = {group: [] for group in places}
    for v in tick_variables(tick, tables)[1:]:
        about: dict[str, Any] = {"name": v.name, "path": v.path, "index": places[v.group], "unit": v.unit}
        if v.start is not None and v.group != "input":
            about["value"] = v.start
        about |= {word: x for word, x in (("least", v.least), ("most", v.most)) if math.isfinite(x)}
        about |= {"fixed": True} if v.fixed else {}
        groups[v.group].append(about)
        places[v.group] += 1
    return {
        "tick": tick.name,
        "period": tick.period,
        "tables": [v.name for v in tick.inputs[:tables]],
        "inputs": groups["input"],
        "channels": groups["output"],
        "parameters": groups["parameter"],
        "states": groups["state"],
    }


def bounds_of(allowed: Range | None) -> tuple[float, float]:
    """Return the least and the greatest number of a range; next to a bound that itself is left out.

    Parameters
    ----------
    allowed
        The range; None for any number.

    Examples
    --------
    >>> from bondloop.engine.data.ranges import Range
    >>> bounds_of(Range(above=0, most=2.0))
    (5e-324, 2.0)
    """
    if allowed is None:
        return -math.inf, math.inf
    least = [-math.inf] if allowed.least is None else [allowed.least]
    most = [math.inf] if allowed.most is None else [allowed.most]
    if allowed.above is not None:
        least.append(math.nextafter(allowed.above, math.inf))
    if allowed.below is not None:
        most.append(math.nextafter(allowed.below, -math.inf))
    return max(least), min(most)


def legible(text: str) -> str:
    r"""Return a text without what XML and FMI forbid in names: control characters become ``\u000a``.

    Parameters
    ----------
    text
        Any.

    Examples
    --------
    >>> legible("a<b\n")
    'a<b\\u000a'
    """
    return _ILLEGIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) or "_"


def _distinct(named: Iterable[tuple[Group, str]]) -> Sequence[str]:
    taken: dict[str, None] = {}
    for group, path in named:
        name = legible(path)
        while name in taken:
            name = f"{group}.{name}"
        taken[name] = None
    return list(taken)
