"""What passed which limit when a loop tripped: found in what its executive noted, or in its telemetry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bondloop.engine.ir import Meaning, Role
from bondloop.errors import InputError
from bondloop.safety import Cause, limit_name
from bondloop.units import multiplied

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_KINDS = {
    Cause.DISPLACEMENT: "displacement",
    Cause.VELOCITY: "flow",
    Cause.FORCE: "effort",
}


def found_channel(
    cause: int, detail: int, names: Sequence[str], metadata: Mapping[str, Any]
) -> tuple[float | None, str]:
    """Return limit and channel of a trip for which the executive itself found a value.

    Parameters
    ----------
    cause, detail
        Numbers of the cause, and of what was found; see ``cause_detail`` in ``segment.h``.
    names
        Of the channels.
    metadata
        What the loop says of itself.

    Examples
    --------
    >>> loop = {"commands": ["command"], "measured": ["measured.force"], "limits": {"command rate": 0.2}}
    >>> names = ["r", "command", "measured.force"]
    >>> found_channel(17, 0, names, loop), found_channel(7, 1, names, loop), found_channel(7, 3, names, loop)
    ((0.2, 'command'), (None, 'command'), (None, 'measured.force'))
    """
    own = metadata.get("limits", {}).get(limit_name(cause))
    if cause == Cause.COMMAND_RATE:  # found on the approach: of the commands, by the limit of all of them
        commands = metadata.get("commands", [])
        return own, commands[detail] if detail < len(commands) else ""
    if cause == Cause.NOT_A_NUMBER:  # beyond no limit; refused measured values come behind the channels
        every = [*names, *metadata.get("measured", [])]
        return None, every[detail] if detail < len(every) else ""
    name = names[detail] if detail < len(names) else ""
    return metadata.get("bounds", {}).get(name, own), name


def cause_unit(cause: int, unit: str) -> str:
    """Return the unit of what tripped at a channel of some unit.

    >>> cause_unit(4, "m"), cause_unit(17, "m"), cause_unit(17, "")
    ('m', 'm/s', '1/s')
    """
    if cause != Cause.COMMAND_RATE:
        return unit
    try:
        return multiplied(unit, "s", -1)
    except InputError:  # a unit of the laboratory's own
        return f"{unit}/s"


def passed_limit(
    cause: int,
    limits: Mapping[str, float],
    names: Sequence[str],
    meanings: Sequence[Meaning],
    row: NDArray[np.float64],
) -> tuple[float | None, float | None, str]:
    """Return value, limit and channel of a trip of the tick's own interlock; None where it cannot be said.

    Parameters
    ----------
    cause
        Number of the cause.
    limits
        Of the interlock, by the name of the cause.
    names, meanings
        Of the channels.
    row
        Their values at the tick that tripped.

    Examples
    --------
    >>> import numpy as np
    >>> force = Meaning(Role.MEASURED, "force", "effort", 0)
    >>> passed_limit(3, {"force": 10.0}, ["measured.force"], [force], np.array([-12.5]))
    (-12.5, 10.0, 'measured.force')
    """
    limit = limits.get(limit_name(cause))
    if cause in _KINDS:
        found = _of(names, meanings, row, Role.MEASURED, _KINDS[Cause(cause)])
    elif cause == Cause.POWER:
        found = _of(names, meanings, row, Role.SAFETY, "power")
    elif cause == Cause.TRACKING_ERROR:
        wanted = _of(names, meanings, row, Role.DESIRED, "displacement")
        seen = {i: x for i, (_, x) in _of(names, meanings, row, Role.MEASURED, "displacement").items()}
        found = {i: (name, x - seen[i]) for i, (name, x) in wanted.items() if i in seen}
    else:
        found = {}  # a command that was refused was not sent, and is not in the telemetry
    if not found:
        return None, limit, ""
    name, value = max(found.values(), key=lambda pair: abs(pair[1]))
    return value, limit, name


def _of(
    names: Sequence[str], meanings: Sequence[Meaning], row: NDArray[np.float64], role: Role, kind: str
) -> dict[int | None, tuple[str, float]]:
    return {
        m.interface: (name, float(x))
        for name, m, x in zip(names, meanings, row, strict=True)
        if m.role is role and m.kind == kind
    }
