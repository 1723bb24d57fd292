"""What passed which limit when a loop tripped: found in the telemetry of that tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bondloop.program.quantity import Meaning, Role
from bondloop.safety.causes import Cause, limit_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["passed_limit"]

_KINDS = {
    Cause.DISPLACEMENT: "displacement",
    Cause.VELOCITY: "flow",
    Cause.FORCE: "effort",
}


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
