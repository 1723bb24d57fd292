"""The programs of a loop and its rig: generic C and generated ticks, built into executables or exported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.lazy_names import lazy_names

if TYPE_CHECKING:
    from bondloop.realtime.programs.build import (
        LINKS,
        Programs,
        build_loop,
        build_pair,
        build_rig,
        driver_file,
        drivers_for,
        loop_sources,
        rig_sources,
    )
    from bondloop.realtime.programs.export import export_c
    from bondloop.realtime.programs.interface import command_names, computer_ends, measured_names
    from bondloop.realtime.programs.loop_programs import loop_program, rig_program, signal_table

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
    "export_c",
    "loop_program",
    "loop_sources",
    "measured_names",
    "rig_program",
    "rig_sources",
    "signal_table",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "LINKS": "build",
        "Programs": "build",
        "build_loop": "build",
        "build_pair": "build",
        "build_rig": "build",
        "command_names": "interface",
        "computer_ends": "interface",
        "driver_file": "build",
        "drivers_for": "build",
        "export_c": "export",
        "loop_program": "loop_programs",
        "loop_sources": "build",
        "measured_names": "interface",
        "rig_program": "loop_programs",
        "rig_sources": "build",
        "signal_table": "loop_programs",
    },
)
