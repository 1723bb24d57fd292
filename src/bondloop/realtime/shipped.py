"""Drivers that come with the package, and are built into a loop when its link asks for one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

__all__ = ["LIBRARIES", "driver_file", "drivers_for"]

LIBRARIES: dict[str, tuple[str, ...]] = {
    "comedi": ("comedi",),
    "ethercat": ("soem",),
    "nidaqmx": ("nidaqmx",),
    "packet": (),
}
"""Libraries that each driver needs."""


def driver_file(scheme: str) -> Path:
    """Return the C file of a driver.

    >>> driver_file("packet").name
    'link_packet.c'
    """
    return Path(__file__).parent / "drivers" / f"link_{scheme}.c"


def drivers_for(
    scheme: str, drivers: Sequence[Path], libraries: Sequence[str]
) -> tuple[list[Path], list[str]]:
    """Return drivers and libraries with those of a scheme, unless there is a driver of one's own for it.

    Parameters
    ----------
    scheme
        Of the link.
    drivers, libraries
        Those that were given.

    Examples
    --------
    >>> drivers_for("comedi", [], [])[1], drivers_for("udp", [], [])
    (['comedi'], ([], []))
    """
    own = driver_file(scheme)
    if scheme not in LIBRARIES or any(path.name == own.name for path in drivers):
        return list(drivers), list(libraries)
    named = [name for name in LIBRARIES[scheme] if name not in libraries] if not libraries else []
    return [*drivers, own], [*libraries, *named]
