"""Design, rehearse and run real-time hybrid tests, from one model in Python.

``import bondloop as bl`` costs next to nothing: the rooms of the package (``bl.bondgraph``, ``bl.papers``,
...) are imported when they are first named.

>>> import bondloop as bl
>>> bl.errors.InputError.__name__
'InputError'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bondloop import (
        assess,
        bondgraph,
        control,
        description,
        devices,
        errors,
        extend,
        external,
        fmu,
        hybrid,
        identify,
        integrate,
        math,
        measurements,
        papers,
        plots,
        program,
        realtime,
        records,
        report,
        rigs,
        safety,
        structures,
        studies,
        substructure,
        transfer,
        tuning,
    )
    from bondloop.hybrid import HybridTest, PseudoDynamicTest, Run, Simulation, Switches, rerun
    from bondloop.program import signals
    from bondloop.report import cite

__version__ = "0.1.0"

__all__ = [
    "HybridTest",
    "PseudoDynamicTest",
    "Run",
    "Simulation",
    "Switches",
    "__version__",
    "assess",
    "bondgraph",
    "cite",
    "control",
    "description",
    "devices",
    "errors",
    "extend",
    "external",
    "fmu",
    "hybrid",
    "identify",
    "integrate",
    "math",
    "measurements",
    "papers",
    "plots",
    "program",
    "realtime",
    "records",
    "report",
    "rerun",
    "rigs",
    "safety",
    "signals",
    "structures",
    "studies",
    "substructure",
    "transfer",
    "tuning",
]

# Where each lazy name lives: "module", or "module:attribute" for one thing out of a module. A name added here
# goes into __all__ and, for type checkers, into the TYPE_CHECKING block above.
_LAZY = {
    "HybridTest": "bondloop.hybrid:HybridTest",
    "PseudoDynamicTest": "bondloop.hybrid:PseudoDynamicTest",
    "Run": "bondloop.hybrid:Run",
    "Simulation": "bondloop.hybrid:Simulation",
    "Switches": "bondloop.hybrid:Switches",
    "assess": "bondloop.assess",
    "bondgraph": "bondloop.bondgraph",
    "cite": "bondloop.report:cite",
    "control": "bondloop.control",
    "description": "bondloop.description",
    "devices": "bondloop.devices",
    "errors": "bondloop.errors",
    "extend": "bondloop.extend",
    "external": "bondloop.external",
    "fmu": "bondloop.fmu",
    "hybrid": "bondloop.hybrid",
    "identify": "bondloop.identify",
    "integrate": "bondloop.integrate",
    "math": "bondloop.math",
    "measurements": "bondloop.measurements",
    "papers": "bondloop.papers",
    "plots": "bondloop.plots",
    "program": "bondloop.program",
    "realtime": "bondloop.realtime",
    "records": "bondloop.records",
    "report": "bondloop.report",
    "rigs": "bondloop.rigs",
    "safety": "bondloop.safety",
    "signals": "bondloop.program.signals",
    "structures": "bondloop.structures",
    "studies": "bondloop.studies",
    "substructure": "bondloop.substructure",
    "transfer": "bondloop.transfer",
    "tuning": "bondloop.tuning",
    "rerun": "bondloop.hybrid:rerun",
}


def __getattr__(name: str) -> object:
    """Import the room, or the one thing out of it, that `name` stands for (PEP 562)."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=None)
    module, _, attribute = _LAZY[name].partition(":")
    found: object = import_module(module)
    if attribute:
        found = getattr(found, attribute)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Show the public names, before they are imported too."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
