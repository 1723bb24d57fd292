"""Which works a test or a run rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import bondloop
from bondloop.report.literature import OWN, SOURCES, WORKS

if TYPE_CHECKING:
    from bondloop.hybrid import Run
    from bondloop.hybrid.rehearsable import Rehearsable

__all__ = ["cite", "works_of"]

MEASURES = ("guo2014", "mercan2007", "mosqueda2007")
"""Behind the measures of every run with a transfer system."""


def cite(source: Rehearsable | Run) -> str:
    """Return the BibTeX entries of bondloop and of the works whose methods a test uses.

    Parameters
    ----------
    source
        A test, or a run of one.

    Examples
    --------
    >>> from bondloop.papers import gawthrop_three_mass
    >>> print(cite(gawthrop_three_mass.test()))
    @software{bondloop,
      author = {{bondloop contributors}},
      title = {{bondloop: real-time hybrid tests from one model in Python}},
      version = {...},
      year = {2026}
    }
    <BLANKLINE>
    @article{gawthrop2005,
    ...
    """
    described = source.describe() if hasattr(source, "describe") else source.record.description
    own = OWN.bibtex("bondloop").replace("  year", f"  version = {{{bondloop.__version__}}},\n  year")
    return "\n\n".join([own, *(WORKS[key].bibtex(key) for key in works_of(described))])


def works_of(description: Mapping[str, object]) -> list[str]:
    """Return the keys of the works behind what a description names, each once, in its order.

    Parameters
    ----------
    description
        Of a test.

    Examples
    --------
    >>> works_of({"controller": {"controller": "MCS"}, "integrator": {"integrator": "RK4"}})
    ['wagg2001']
    """
    found = [key for word in _words(description) for key in SOURCES.get(word, ())]
    if description.get("rig") is not None:
        found += MEASURES
    return list(dict.fromkeys(found))


def _words(value: object) -> Iterator[str]:
    """Yield every text of a description, but those of the recorded tick."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key != "repeat":
                yield from _words(inner)
    elif isinstance(value, list):
        for inner in value[:100]:
            yield from _words(inner)
