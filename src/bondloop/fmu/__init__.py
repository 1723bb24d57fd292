"""FMUs: models that other programs can simulate, and models of theirs.

A Functional Mock-up Unit (FMI 2.0 or 3.0, https://fmi-standard.org) is a zip of a description in XML, C
sources and native code.
"""

from __future__ import annotations

from bondloop.fmu.export import binary_folder, write_tick_fmu
from bondloop.fmu.foreign import ForeignFmu, ForeignVariable, read_fmu
from bondloop.fmu.model_exchange import write_system_fmu
from bondloop.fmu.variables import Variable, described, tick_variables

__all__ = [
    "ForeignFmu",
    "ForeignVariable",
    "Variable",
    "binary_folder",
    "described",
    "read_fmu",
    "tick_variables",
    "write_system_fmu",
    "write_tick_fmu",
]
