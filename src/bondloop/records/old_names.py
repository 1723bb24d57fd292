"""What the channels of older run files and of tables are: read from their names, here and nowhere else.

Files written before channels carried their meaning, and tables of text, have names and units only. The names
were made by rules, and these are the rules. Everything else asks `Record.meanings`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bondloop.program.quantity import Meaning, Role

__all__ = ["meanings_from_names"]

_KINDS = {
    "displacement": "displacement", "velocity": "flow", "force": "effort", "power": "power",
    "flow": "flow", "effort": "effort", "momentum": "momentum",
}  # fmt: skip
_ROLES = {
    "desired": Role.DESIRED,
    "actual": Role.ACTUAL,
    "measured": Role.MEASURED,
    "synchronisation": Role.ERROR,
    "error": Role.ERROR,
}
_INTERFACE = re.compile(
    r"(?:(desired|actual|measured|synchronisation|error|reference)\.)?(displacement|velocity|force)(?:\[(\d+)\])?"
)
_COMMAND = re.compile(r"command(?:\[(\d+)\])?")
_BEFORE = ("desired.", "", "numerical.", "rig.specimen.")
"""What stood before the name of a channel with which the reference was compared."""


def meanings_from_names(units: Mapping[str, str]) -> dict[str, Meaning]:
    """Return what channels are, as far as their names say.

    Parameters
    ----------
    units
        Of all channels by name.

    Examples
    --------
    >>> meanings = meanings_from_names({"desired.velocity[1]": "m/s", "controller.K[0]": ""})
    >>> meanings["desired.velocity[1]"]
    Meaning(role=<Role.DESIRED: 'desired'>, quantity='velocity', kind='flow', interface=1, counterpart='')
    >>> meanings["controller.K[0]"].role
    <Role.GAIN: 'gain'>
    """
    several = any(name.endswith("[1]") and _INTERFACE.fullmatch(name) for name in units)
    return {name: _meaning(name, units, 0 if not several else None) for name in units}


def _meaning(name: str, units: Mapping[str, str], only: int | None) -> Meaning:
    last = re.sub(r"\[\d+\]$", "", name.rpartition(".")[2])
    kind = _KINDS.get(last, "")
    at_interface, command = _INTERFACE.fullmatch(name), _COMMAND.fullmatch(name)
    found = at_interface or command
    index = None if found is None else found.groups()[-1]
    number = (only if index is None else int(index)) if found is not None else None
    if command is not None:
        return Meaning(Role.COMMAND, interface=number)
    if at_interface is not None and at_interface[1] != "reference" and (at_interface[1] or last == "force"):
        return Meaning(_ROLES.get(at_interface[1], Role.ACTUAL), last, kind, number)
    if name.startswith("reference."):
        rest = name.removeprefix("reference.")
        ours = (start + rest for start in _BEFORE)
        pair = next((n for n in ours if n in units and units[n] == units[name]), "")
        return Meaning(Role.REFERENCE, "", kind, number, pair)
    starts = {
        "controller.K": Role.GAIN,
        "switch.": Role.SAFETY,
        "interlock.": Role.SAFETY,
        "excitation.": Role.EXCITATION,
    }
    role = next((r for start, r in starts.items() if name.startswith(start)), Role.OTHER)
    return Meaning(role, "", kind)
