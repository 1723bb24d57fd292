"""Which rig a run had: the emulated one of its test, or another that its description does not know."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote

__all__ = ["FMU", "link_of", "other_rig"]

FMU = "fmu://"
"""What a link to an FMU begins with."""

OWN = ("loopback", "none")
"""Links behind which nothing but the emulated rig can be."""


def link_of(description: Mapping[str, object]) -> str:
    """Return where the rig of a run was; empty for a rehearsal."""
    settings = description.get("realtime")
    return str(settings.get("link", "")) if isinstance(settings, Mapping) else ""


def other_rig(description: Mapping[str, Any]) -> str:
    """Return which rig a run had, in words, where it was not the emulated one of its test; else nothing.

    >>> other_rig({"realtime": {"link": "fmu://my%20rig.fmu?command=u", "emulated": True}})
    'the FMU my rig.fmu'
    >>> other_rig({"realtime": {"link": "udp://10.0.0.7:5005", "emulated": False}})
    'a machine at udp://10.0.0.7:5005'
    >>> other_rig({"realtime": {"link": "shm://rig", "emulated": True, "own_rig": True}}), other_rig({})
    ('', '')
    """
    link = link_of(description)
    if link.startswith(FMU):
        return f"the FMU {PurePath(unquote(link.removeprefix(FMU).partition('?')[0])).name}"
    if not link or link.partition("://")[0] in OWN:
        return ""
    settings = description["realtime"]
    emulated = settings.get("emulated", not settings.get("machine"))
    if settings.get("own_rig", emulated):
        return ""
    return f"one that another process played at {link}" if emulated else f"a machine at {link}"
