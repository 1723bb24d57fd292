"""Pages: reports of runs, tests that the reader plays in the browser; and what to cite.

>>> from bondloop import report
>>> from bondloop.papers import wagg_three_mass
>>> "wagg2001" in report.cite(wagg_three_mass.test())
True
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["cite", "write_play", "write_report"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
