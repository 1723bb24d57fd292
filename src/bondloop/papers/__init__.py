"""Each paper's examples, ready to run, and the list of them.

The list is light: an entry's module is imported only when its model is asked for.

>>> from bondloop import papers
>>> papers.find("gawthrop-three-mass").kind
'test'
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["entries", "find"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
