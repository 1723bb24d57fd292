"""What a file says of a run, before it is a record: what readers of files return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.program.quantity import Meaning

__all__ = ["Content"]


class Content(NamedTuple):
    """What a file says of a run; the fields of `Record`, not yet checked.

    Attributes
    ----------
    time, channels, units, description, attributes, meanings
        As of `Record`.
    """

    time: NDArray[np.float64]
    channels: Mapping[str, NDArray[np.float64]]
    units: Mapping[str, str]
    description: dict[str, Any]
    attributes: dict[str, Any]
    meanings: Mapping[str, Meaning]
