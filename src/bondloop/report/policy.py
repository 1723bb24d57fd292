"""How much a report shows of what there is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Extent:
    """What a page of A4 can take; whatever is left out stands in the run file.

    Parameters
    ----------
    listed
        Values of a row, or parts of a whole, that are listed before an ellipsis.
    text
        Characters of the sentence that says what a test is; beyond, the description follows as a file.
    elements
        Elements of a specimen that are listed one by one.
    matrix_entries
        Entries of a matrix that are listed; of a larger one only how many there are.
    events
        Events of a run that are listed, the latest.
    framed_parts
        Parts of a bond graph up to which its sub-models are drawn with frames: more would overlap.
    """

    listed: int = 6
    text: int = 700
    elements: int = 12
    matrix_entries: int = 9
    events: int = 200
    framed_parts: int = 60


EXTENT = Extent()
"""What all reports show."""
