"""Design, rehearse and run real-time hybrid tests, from one model in Python.

``import bondloop as bl`` costs next to nothing: the rooms of the package (``bl.bondgraph``, ``bl.papers``,
...) are imported when they are first named.

>>> import bondloop as bl
>>> bl.errors.InputError.__name__
'InputError'
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__version__ = "0.1.0"

__all__ = [
    "HybridTest",
    "PseudoDynamicTest",
    "Run",
    "Simulation",
    "Switches",
    "__version__",
    "bondgraph",
    "check",
    "cite",
    "control",
    "devices",
    "engine",
    "errors",
    "extend",
    "files",
    "fmu",
    "hybrid",
    "identify",
    "integrate",
    "interop",
    "math",
    "papers",
    "readers",
    "realtime",
    "rehearsal",
    "report",
    "rerun",
    "results",
    "rigs",
    "safety",
    "signals",
    "structures",
    "studies",
    "substructure",
    "transfer",
    "tuning",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
