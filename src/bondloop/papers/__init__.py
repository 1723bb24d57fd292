"""Each paper's examples, ready to run, and the list of them.

The list is light: an entry's module is imported only when its model is asked for.

>>> from bondloop import papers
>>> papers.find("gawthrop-three-mass").kind
'test'
"""

from __future__ import annotations

from bondloop.papers.catalogue import Entry, entries, find

__all__ = ["Entry", "entries", "find"]
