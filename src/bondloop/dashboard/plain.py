"""Values as JSON can say them: what is not finite becomes nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["plain"]


def plain(value: object) -> Any:
    """Return a value with None for every number that is not finite; NumPy's numbers become Python's.

    Parameters
    ----------
    value
        Number, text, list or dictionary of such.

    Examples
    --------
    >>> plain({"a": float("nan"), "b": [1, float("inf"), "x"]})
    {'a': None, 'b': [1, None, 'x']}
    """
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if value is None or isinstance(value, str | bool):
        return value
    number = value.item() if hasattr(value, "item") else value
    return number if not isinstance(number, float) or math.isfinite(number) else None
