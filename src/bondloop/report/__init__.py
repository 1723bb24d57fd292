"""Pages: reports of runs, tests that the reader plays in the browser; and what to cite.

>>> from bondloop import report
>>> from bondloop.papers import wagg_three_mass
>>> "wagg2001" in report.cite(wagg_three_mass.test())
True
"""

from __future__ import annotations

from bondloop.report.document import write_report
from bondloop.report.literature import cite
from bondloop.report.playing import write_play

__all__ = ["cite", "write_play", "write_report"]
