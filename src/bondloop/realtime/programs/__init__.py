"""The programs of a loop and its rig: generic C and generated ticks, built into executables or exported."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "LINKS",
    "Programs",
    "build_loop",
    "build_pair",
    "build_rig",
    "command_names",
    "computer_ends",
    "driver_file",
    "drivers_for",
    "loop_program",
    "loop_sources",
    "measured_names",
    "rig_program",
    "rig_sources",
    "signal_table",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
